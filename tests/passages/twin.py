"""A plain twin of everything about passages: by brute force, on lists of units."""


def window(units, at, length):
    """Return the window that starts there, or None if there is none."""
    return tuple(units[at : at + length]) if 0 <= at <= len(units) - length else None


def all_windows(documents, length):
    """Yield the place of each window, a document and a position in it, in reading order."""
    for document, units in enumerate(documents):
        for at in range(len(units) - length + 1):
            yield document, at


def occurrences(documents, length):
    """Return the places of each window by its content, in reading order."""
    places = {}
    for document, at in all_windows(documents, length):
        places.setdefault(window(documents[document], at, length), []).append((document, at))
    return places


def repeated(documents, length, split=None):
    """Return the windows that are at two places, with these; of two collections, in both.

    `split` is the first document of the second collection.
    """
    groups = occurrences(documents, length)
    if split is None:
        return {content: places for content, places in groups.items() if len(places) > 1}
    return {content: places for content, places in groups.items() if places[0][0] < split <= places[-1][0]}


def agree(side, other, step, length):
    """Return whether the windows that are `step` away on both sides, (units, place), are there and equal."""
    one, two = (window(units, at + step, length) for units, at in (side, other))
    return one is not None and one == two


def passages(documents, length, split=None):
    """Return (document, start, stop, copies, first document, first start), in units, in reading order.

    A passage begins with the next window that is in no passage yet and has an earlier copy. It goes
    along with the first copy to both sides as far as the windows agree. Those within it are left out.
    """
    groups = repeated(documents, length, split)
    found = []
    past = (-1, -1)  # the last window in a passage so far
    for document, at in all_windows(documents, length):
        places = groups.get(window(documents[document], at, length), [])
        if not places or places[0] == (document, at) or (document, at) <= past or (split and document < split):
            continue
        first, beside = places[0]
        sides = (documents[document], at), (documents[first], beside)
        back, ahead = 0, 0
        while agree(*sides, -back - 1, length):
            back += 1
        while agree(*sides, ahead + 1, length):
            ahead += 1
        inside = [window(documents[document], at + step, length) for step in range(-back, ahead + 1)]
        while found and found[-1][:2] >= (document, at - back):
            found.pop()
        copies = min(sum(place[0] >= (split or 0) for place in groups[content]) for content in inside)
        found.append((document, at - back, at + ahead + length, copies, first, beside - back))
        past = (document, at + ahead)
    return found


def cut_units(documents, length, keep):
    """Return which units of each document are in a window that is a copy too many.

    The first `keep` places of a window that do not overlap stay, and those that overlap the last of them.
    """
    cut = [[False] * len(units) for units in documents]
    for places in occurrences(documents, length).values():
        stays, last = 0, None
        for document, at in places:
            if last is not None and document == last[0] and at < last[1] + length:
                continue
            if stays < keep:
                stays, last = stays + 1, (document, at)
            else:
                cut[document][at : at + length] = [True] * length
    return cut
