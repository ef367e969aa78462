"""Find test items in texts: sequences of shingles, each of which can occur with changes.

A *shingle* here is a window of consecutive words. Those that many items share are *common*, the
others *telling*. An item is found in a text where a stretch of at most `width` consecutive windows
has at least `need` of its different shingles and at least `need_telling` of its telling ones, or
`run` of its shingles one after the other. `leaks.items` derives these numbers from the options.
"""

import numpy as np

from lookalike.kernels.hashing import kernel
from lookalike.kernels.text import windows, words

ALL_BITS = np.uint64(0xFFFFFFFF_FFFFFFFF)
COLUMNS = 6  # of `find_items`
WINDOW = 0xFFFFFFFF  # the bits of a hit that are the number of a window; the others are the item
SPARSE = 16  # bits of the filter per shingle, and slots of the table per 4 shingles


@kernel
def shingle_table(shingles):
    """Return (filter, keys, codes), by which `code_of` finds the position of a hash in `shingles`."""
    slots = 64
    while slots < SPARSE * len(shingles):
        slots *= 2
    bits = np.zeros(slots // 64, np.uint64)
    keys = np.zeros(slots // 4, np.uint64)
    codes = np.full(slots // 4, -1, np.int32)
    for code in range(len(shingles)):
        shingle = shingles[code]
        bit = shingle & np.uint64(slots - 1)
        bits[np.int64(bit >> np.uint64(6))] |= np.uint64(1) << (bit & np.uint64(63))
        at = np.int64(shingle & np.uint64(len(keys) - 1))
        while codes[at] >= 0:
            at = (at + 1) & (len(keys) - 1)
        keys[at], codes[at] = shingle, code
    return bits, keys, codes


@kernel
def code_of(shingle, bits, keys, codes):
    """Return the position of a shingle in the list that the table was made from, or -1.

    The filter is small enough for the processor's cache and answers for most words of most texts.
    """
    bit = shingle & np.uint64(64 * len(bits) - 1)
    if bits[np.int64(bit >> np.uint64(6))] >> (bit & np.uint64(63)) & np.uint64(1) == 0:
        return np.int32(-1)
    at = np.int64(shingle & np.uint64(len(keys) - 1))
    while codes[at] >= 0 and keys[at] != shingle:
        at = (at + 1) & (len(keys) - 1)
    return codes[at]


@kernel
def find_items(data, starts, stops, rules, table, looked_up, items, limits):
    """Return the places of items in texts, one row each, ordered by text, rule and item.

    The columns are: text, item, first word, word after the last, different shingles of the item
    found there, and the longest run of them. Places of one item do not overlap.

    rules: what windows are made of, one row each: whether punctuation marks are words, and how many
        words a window has. All windows of an item follow one rule.
    table: `shingle_table` of all shingles of all items.
    looked_up: (starts, items): by which shingles an item is looked up, as lists of items by shingle.
    items: (starts, ordered, places, telling): the codes of the shingles of each item in ascending
        order, where those of each item begin, their places in it, and whether they are telling.
    limits: (need, need_telling, run, width) of each item, and the rule it follows.

    O(words) for texts that share no shingle with an item, and O(width) for each shingle that an
    item is looked up by.
    """
    longest = 1
    for t in range(len(starts)):
        longest = max(longest, stops[t] - starts[t])
    units = np.empty(longest, np.uint64)
    hashes = np.empty(longest, np.uint64)
    met = np.empty(longest, np.int32)
    hits = np.empty(256, np.int64)
    out = np.empty((64, COLUMNS), np.int64)
    filled = 0
    for t in range(len(starts)):
        n = -1
        for r in range(len(rules)):
            k = rules[r, 1]
            if n < 0 or rules[r, 0] != rules[r - 1, 0]:
                n = words(data, starts[t], stops[t], rules[r, 0] == 1, units)
            if n < k:
                continue
            made = windows(units, n, k, ALL_BITS, hashes)
            count = 0
            for p in range(made):
                met[p] = code_of(hashes[p], *table)
                if met[p] < 0:
                    continue
                for at in range(looked_up[0][met[p]], looked_up[0][met[p] + 1]):
                    if limits[4][looked_up[1][at]] != r:
                        continue
                    if count == len(hits):
                        hits = np.concatenate((hits, np.empty_like(hits)))
                    hits[count] = looked_up[1][at] << 32 | p
                    count += 1
            if count == 0:
                continue
            found = np.sort(hits[:count])
            h = 0
            while h < count:
                item, at = found[h] >> 32, found[h] & WINDOW
                width = limits[3][item]
                first, last = max(0, at - width + 1), min(made, at + width)
                h += 1
                while h < count and found[h] >> 32 == item and (found[h] & WINDOW) - width < last:
                    last = min(made, (found[h] & WINDOW) + width)
                    h += 1
                out, filled = _places(t, item, met, first, last, k, items, limits, out, filled)
    return out[:filled]


@kernel
def _places(t, item, met, first, last, k, items, limits, out, filled):
    """Add the places of one item among the windows met[first:last] to `out`.

    Once a stretch is good enough, the best of those that end up to a width later is the place; the
    search goes on behind it.
    """
    begin, end = items[0][item], items[0][item + 1]
    ordered, places, telling = items[1][begin:end], items[2][begin:end], items[3][begin:end]
    need, need_telling, run, width = limits[0][item], limits[1][item], limits[2][item], limits[3][item]
    while first < last:
        times = np.zeros(end - begin, np.int32)  # how often a shingle occurs in the stretch, by its rank
        runs = np.zeros(end - begin, np.int64)  # the run of shingles that ended at a place of the item,
        ended = np.full(end - begin, -2, np.int64)  # and the window at which it did
        left, different, told, longest = first, 0, 0, 0
        best, best_left, best_end, until = 0, first, first, last
        good = False
        at = first
        while at < until:
            if at - left >= width:
                rank = _rank(ordered, met[left])
                if rank >= 0:
                    times[rank] -= 1
                    different -= times[rank] == 0
                    told -= times[rank] == 0 and telling[rank]
                left += 1
            rank = _rank(ordered, met[at])
            if rank >= 0:
                times[rank] += 1
                different += times[rank] == 1
                told += times[rank] == 1 and telling[rank]
                longest = max(longest, _extend(ordered, places, rank, at, runs, ended))
                if not good and ((different >= need and told >= need_telling) or longest >= run):
                    good, until = True, min(last, at + width)
                if good and different > best:
                    best, best_left, best_end = different, left, at + 1
            at += 1
        if not good:
            break
        while _rank(ordered, met[best_left]) < 0:
            best_left += 1
        while best_end < last and _rank(ordered, met[best_end]) >= 0:  # shingles that occurred before
            best_end += 1
        if filled == len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[filled] = t, item, best_left, best_end - 1 + k, best, longest
        filled += 1
        first = best_end
    return out, filled


@kernel
def _rank(ordered, code):
    """Return the first position of a code among those of an item in ascending order, or -1."""
    if code < 0:
        return -1
    at = np.searchsorted(ordered, code)
    return at if at < len(ordered) and ordered[at] == code else -1


@kernel
def _extend(ordered, places, rank, at, runs, ended):
    """Extend the runs that the window `at` continues; return the length of the longest of these."""
    longest = 0
    last = rank
    while last + 1 < len(ordered) and ordered[last + 1] == ordered[rank]:
        last += 1
    for r in range(last, rank - 1, -1):  # from the last place on, so that none is extended twice
        place = places[r]
        before = runs[place - 1] if place > 0 and ended[place - 1] == at - 1 else 0
        runs[place], ended[place] = before + 1, at
        longest = max(longest, before + 1)
    return longest


@kernel
def own_places(data, starts, stops, rules, table, items, limits, homes, p, q, least, found):
    """Return which rows of `find_items` are of items that are there themselves, not just another one like them.

    Two items of a file at overlapping places can share most shingles, as two questions about one text do.
    Each has shingles of its own, without the shared ones. If p/q of these are there of one item, and not of
    the other, the other is not there, unless it was found by a run. Both count if one has fewer than `least`
    of its own, as the same question in other words. `homes` are the files of items, -1 for several.

    O(width * log(width)) for each pair of items at overlapping places.
    """
    there = np.ones(len(found), np.bool_)
    plain = -1  # the rule of items in which punctuation does not count; the others are there word for word
    for r in range(len(rules)):
        plain = r if rules[r, 0] == 0 else plain
    begin = 0
    while begin < len(found):
        end = begin
        while end < len(found) and found[end, 0] == found[begin, 0]:
            end += 1
        rows = np.array([row for row in range(begin, end) if limits[4][found[row, 1]] == plain], np.int64)
        rows = rows[np.argsort(found[rows, 2], kind="mergesort")]
        begin = end
        met = np.zeros(0, np.int32)
        for a in range(len(rows)):
            one = found[rows[a]]
            for b in range(a + 1, len(rows)):
                other = found[rows[b]]
                if other[2] >= one[3] or not there[rows[a]]:
                    break
                if not there[rows[b]] or homes[one[1]] != homes[other[1]] or homes[one[1]] < 0:
                    continue
                if len(met) == 0:
                    met = _codes(data, starts[one[0]], stops[one[0]], rules[plain, 1], table)
                stretch = met[one[2] : max(one[3], other[3]) - rules[plain, 1] + 1]
                mine, mine_there = _own(one[1], other[1], stretch, items)
                others, others_there = _own(other[1], one[1], stretch, items)
                if min(mine, others) < least or max(mine, others) == 0:
                    continue
                good, other_good = mine_there * q >= p * mine, others_there * q >= p * others
                if other_good and not good:
                    there[rows[a]] = one[5] >= limits[2][one[1]]
                elif good and not other_good:
                    there[rows[b]] = other[5] >= limits[2][other[1]]
    return there


@kernel
def _codes(data, start, stop, k, table):
    """Return the positions of the shingles of a text in the table, -1 for those that no item has."""
    units = np.empty(stop - start, np.uint64)
    n = words(data, start, stop, False, units)
    hashes = np.empty(n, np.uint64)
    made = windows(units, n, k, ALL_BITS, hashes)
    codes = np.empty(made, np.int32)
    for at in range(made):
        codes[at] = code_of(hashes[at], *table)
    return codes


@kernel
def _own(item, other, stretch, items):
    """Return how many different shingles an item has that another one lacks, and how many are in a stretch.

    If the two share none, there is nothing to tell apart: (0, 0).
    """
    mine = items[1][items[0][item] : items[0][item + 1]]
    others = items[1][items[0][other] : items[0][other + 1]]
    own = np.zeros(len(mine), np.bool_)
    count = shared = 0
    for rank in range(len(mine)):
        if rank == 0 or mine[rank] != mine[rank - 1]:
            own[rank] = _rank(others, mine[rank]) < 0
            count += own[rank]
            shared += not own[rank]
    if shared == 0:
        return 0, 0
    seen = 0
    for code in stretch:
        rank = _rank(mine, code)
        if rank >= 0 and own[rank]:
            own[rank] = False
            seen += 1
    return count, seen


@kernel
def find_answers(indptr, words, starts, stops, texts, places, items, bounds, answers_at, answers, reach, most):
    """Return where an answer of each item ends that begins shortly after a place in a text, or -1.

    The words of text t are words[indptr[t]:indptr[t + 1]], and `starts` and `stops` their places; the
    answers of item i are bounds[i]:bounds[i + 1], with the words answers[answers_at[a]:answers_at[a + 1]].
    An answer must begin at most `reach` words later. Of a long one, the first `most` words must be
    there; it ends where the text goes on otherwise. Of several, the first counts, then the longest.
    O(log(words of the text) + reach * most) for each answer of each item.
    """
    ends = np.full(len(places), -1, np.int64)
    for p in range(len(places)):
        low, high = indptr[texts[p]], indptr[texts[p] + 1]
        begin = low + np.searchsorted(starts[low:high], places[p])
        within = min(reach, high - begin)
        end = -1
        for a in range(bounds[items[p]], bounds[items[p] + 1]):
            wanted = answers[answers_at[a] : answers_at[a + 1]]
            least = min(len(wanted), most)
            for at in range(within + 1 if least else 0):
                limit = min(len(wanted), high - begin - at)
                same = 0
                while same < limit and words[begin + at + same] == wanted[same]:
                    same += 1
                if same >= least:
                    after = begin + at + same
                    end = after if at < within else max(end, after)
                    within = at
                    break
        if end >= 0:
            ends[p] = stops[end - 1]
    return ends
