"""Find windows, N consecutive units of a text, that occur at several places.

Texts come as rows of unit hashes, those of text t at indptr[t]:indptr[t + 1]. Anchors (winnowing,
Schleimer, Wilkerson and Aiken 2003) tell which windows can be repeated, without storing them all.
The keys of those that can are numbered in reading order, with a blank (EMPTY) where a window is left
out and where a text ends. So two windows follow each other in a text exactly if their numbers do.
"""

import numpy as np

from lookalike.kernels.hashing import BASE, EMPTY, kernel, mix
from lookalike.kernels.sets import grown
from lookalike.kernels.text import windows

ALL = np.uint64(0xFFFFFFFF_FFFFFFFF)


@kernel
def choose_anchors(indptr, units, length):
    """Return the anchors of the windows of each text: (entries, hashes, firsts). O(units) expected.

    The anchor of a window is the least hash of the k-grams in it. It is the same for equal windows,
    and usually for neighbours, so it is listed once for a run of windows, from window firsts[i] on.
    A run that has its anchor at two places, as in "a a a a", lists it twice. So of two equal windows
    at different places, each has an anchor that is listed twice or more: if both are in one run, the
    shift that turns one into the other moves the anchor as well.
    """
    size = (length + 1) // 2  # k-grams in a window
    k = length - size + 1
    entries = np.zeros(len(indptr), np.int64)
    room = 2 * (len(units) // size) + 16
    hashes, firsts = np.empty(room, np.uint64), np.empty(room, np.int64)
    longest = 0
    for t in range(len(indptr) - 1):
        longest = max(longest, indptr[t + 1] - indptr[t])
    grams = np.empty(longest, np.uint64)
    n = 0
    for t in range(len(indptr) - 1):
        here = indptr[t + 1] - indptr[t]
        if here >= length:
            windows(units[indptr[t] : indptr[t + 1]], here, k, ALL, grams)
        place = -1  # the last k-gram with the least hash
        twice = False
        for i in range(here - length + 1):
            again = False
            new = i + size - 1
            if place < i:
                least = EMPTY if place < 0 else grams[place]
                changed = place < 0
                place = i
                for j in range(i + 1, new + 1):
                    if grams[j] <= grams[place]:
                        again = grams[j] == grams[place]
                        place = j
                changed = changed or grams[place] != least
                again = again or not changed
            else:
                changed = grams[new] < grams[place]
                again = grams[new] == grams[place]
                if changed or again:
                    place = new
            if changed:
                twice = False
            again = again and not twice
            if n + 2 > len(hashes):
                hashes, firsts = grown(hashes, n), grown(firsts, n)
            for _ in range(np.int64(changed) + np.int64(again)):
                hashes[n], firsts[n] = grams[place], i
                n += 1
            twice = twice or again
        entries[t + 1] = n
    return entries, hashes[:n].copy(), firsts[:n].copy()


@kernel
def members_of_keys(ordered, keys, mask):
    """Return the groups of two or more numbers with the same key: (indptr, items).

    Like `buckets.members`, but it compares whole keys. `ordered` holds the high bits of a key and
    its number in the bits of the mask, sorted. Blanks (EMPTY) are in no group.
    """
    indptr, items = np.empty(len(ordered) // 2 + 1, np.int64), np.empty(len(ordered), np.int64)
    others = np.empty(len(ordered), np.int64)
    indptr[0] = 0
    groups, n, start = 0, 0, 0
    for i in range(1, len(ordered) + 1):
        if i < len(ordered) and (ordered[i] ^ ordered[start]) & ~mask == 0:
            continue
        left = i - start
        for j in range(left):
            others[j] = np.int64(ordered[start + j] & mask)
        while left > 1:
            key, more = keys[others[0]], 0
            for j in range(left):
                if keys[others[j]] == key:
                    items[n] = others[j]
                    n += 1
                else:
                    others[more] = others[j]
                    more += 1
            if n - indptr[groups] > 1 and key != EMPTY:
                groups += 1
                indptr[groups] = n
            n = indptr[groups]
            left = more
        start = i
    return indptr[: groups + 1].copy(), items[:n].copy()


@kernel
def members_that_count(indptr, items, split, begin):
    """Return the items of all groups that have one from `begin` on; of two collections, on both sides of `split`."""
    out = np.empty(len(items), np.int64)
    n = 0
    for group in range(len(indptr) - 1):
        first, last = items[indptr[group]], items[indptr[group + 1] - 1]
        if last >= begin and (split < 0 or first < split <= last):
            for item in items[indptr[group] : indptr[group + 1]]:
                out[n] = item
                n += 1
    return out[:n].copy()


@kernel
def window_keys(indptr, units, length, seed, entries, firsts, wanted):
    """Hash the windows whose anchor is wanted: (keys, numbers, places).

    Each run of such windows ends with a blank. Run i begins with the window numbered numbers[i],
    which begins with unit places[i].
    """
    base = BASE + np.uint64(2) * np.uint64(seed)
    power = np.uint64(1)  # base**(length - 1)
    for _ in range(length - 1):
        power *= base
    room, runs_room = 0, 0
    for t in range(len(indptr) - 1):
        count = indptr[t + 1] - indptr[t] - length + 1
        for e in range(entries[t], entries[t + 1]):
            if wanted[e]:
                room += (firsts[e + 1] if e + 1 < entries[t + 1] else count) - firsts[e] + 1
                runs_room += 1
    keys = np.empty(room, np.uint64)
    numbers, places = np.empty(runs_room, np.int64), np.empty(runs_room, np.int64)
    n, runs = 0, 0
    for t in range(len(indptr) - 1):
        count = indptr[t + 1] - indptr[t] - length + 1
        done = -1  # the last window that was hashed
        rolling = np.uint64(0)
        for e in range(entries[t], entries[t + 1]):
            stop = firsts[e + 1] if e + 1 < entries[t + 1] else count
            if not wanted[e] or firsts[e] == stop:
                continue
            start = indptr[t] + firsts[e]
            if done < 0 or done + 1 < firsts[e]:
                if done >= 0:
                    keys[n] = EMPTY
                    n += 1
                numbers[runs], places[runs] = n, start
                runs += 1
                rolling = np.uint64(0)
                for u in range(start, start + length - 1):
                    rolling = rolling * base + units[u]
            for u in range(start, indptr[t] + stop):
                rolling = rolling * base + units[u + length - 1]
                key = mix(rolling)
                rolling -= units[u] * power
                keys[n] = key - np.uint64(key == EMPTY)
                n += 1
            done = stop - 1
        if done >= 0:
            keys[n] = EMPTY
            n += 1
    return keys[:n].copy(), numbers[:runs].copy(), places[:runs].copy()


@kernel
def place_of(number, numbers, places):
    """Return the place of the window with this number."""
    run = np.searchsorted(numbers, number, "right") - 1
    return places[run] + number - numbers[run]


@kernel
def link_copies(indptr, items, split, begin, numbers, places, length, keep):
    """Return, for the windows of all groups, the first of the group, how many there are, and which to cut.

    That is (windows, first, copies, extra). Groups without windows from `begin` on are left out. So are, of
    two collections, those without windows on both sides of `split`, and copies are then those on the right.
    Otherwise `extra` marks all windows but the first `keep` that do not overlap each other, and those that
    overlap these.
    """
    windows, first = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    copies, extra = np.empty(len(items), np.int32), np.zeros(len(items), np.bool_)
    n = 0
    for group in range(len(indptr) - 1):
        inside = items[indptr[group] : indptr[group + 1]]
        if inside[-1] < begin or (split >= 0 and not inside[0] < split <= inside[-1]):
            continue
        count = 0
        for item in inside:
            count += item >= split
        kept, last = 0, 0
        for item in inside:
            windows[n], first[n], copies[n] = item, inside[0], count
            near = kept > 0 and item - last < length  # else they are as far apart in the text, too
            if not near or place_of(item, numbers, places) - place_of(last, numbers, places) >= length:
                if kept < keep:
                    kept, last = kept + 1, item
                else:
                    extra[n] = True
            n += 1
    return windows[:n].copy(), first[:n].copy(), copies[:n].copy(), extra[:n].copy()


@kernel
def send(windows, firsts, counts, extras, bits, filled, place, first, copies, extra):
    """Send what was found of windows to their regions of 2**bits, of which the first filled[region] places are used."""
    for i in range(len(windows)):
        region = windows[i] >> bits
        at = (region << bits) + filled[region]
        filled[region] += 1
        place[at] = windows[i] - (region << bits)
        first[at], copies[at], extra[at] = firsts[i], counts[i], extras[i]


@kernel
def settle(used, place, first, copies, extra):
    """Put what was sent to a region into place; windows of which nothing was found have no first and no copies."""
    at, firsts, counts, extras = place[:used], first[:used].copy(), copies[:used].copy(), extra[:used].copy()
    first[:], copies[:], extra[:] = -1, 0, False
    for i in range(used):
        first[at[i]], copies[at[i]], extra[at[i]] = firsts[i], counts[i], extras[i]


@kernel
def follow(first, copies, start, stop):
    """Return the runs of windows that repeat earlier ones: (left, right, sizes, counts).

    Run r is sizes[r] windows from right[r] on, each equal to the one as far from left[r]; it cannot
    be made longer at either end. `counts` are the fewest copies of a window in it. Each window from
    `start` to `stop` that is not the first of its group is in a run: it begins with the first that
    is in no run so far, beside the first copy of that one. Runs that lie within a later one are
    left out, so the runs ascend by both ends.
    """
    room = 1024
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    sizes, counts = np.empty(room, np.int64), np.empty(room, np.int64)
    n = 0
    i = start
    while i < stop:
        if copies[i] == 0 or first[i] == i:
            i += 1
            continue
        j = first[i]
        back, ahead = 0, 1
        while j > back and i - back > start and first[i - back - 1] == first[j - back - 1] and copies[i - back - 1] > 0:
            back += 1
        while i + ahead < stop and first[i + ahead] == first[j + ahead] and copies[i + ahead] > 0:
            ahead += 1
        while n > 0 and right[n - 1] >= i - back:
            n -= 1
        if n == len(left):
            left, right, sizes, counts = grown(left, n), grown(right, n), grown(sizes, n), grown(counts, n)
        left[n], right[n], sizes[n] = j - back, i - back, back + ahead
        counts[n] = copies[i]
        for at in range(i - back, i + ahead):
            counts[n] = min(counts[n], copies[at])
        n += 1
        i += ahead
    return left[:n].copy(), right[:n].copy(), sizes[:n].copy(), counts[:n].copy()
