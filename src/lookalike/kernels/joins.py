"""Exact joins of sets: prefix filtering, and looking up a few sets among many.

Rows are sorted sets as in `sets`. Pairs come out with the size of their intersection.
"""

import numpy as np

from lookalike.kernels.bounds import JACCARD, least, need, prefix_lengths
from lookalike.kernels.buckets import ONE
from lookalike.kernels.hashing import kernel
from lookalike.kernels.sets import shared_of

LENGTH, PREFIX, POSITION, SUFFIX = range(4)  # stages of filtering, each with those before it


@kernel
def count_elements(elements, shift, counts):
    """Add one to counts[x >> shift] for each element x."""
    for x in elements:
        counts[x >> shift] += 1


@kernel
def prefixes(indptr, elements, rows, ranks, shift, kind, p, q):
    """The elements of each of `rows` to look up: (indptr, elements, places, kept).

    Elements are ordered by ranks[x >> shift], low ranks first, then by hash: an order that all rows share,
    which is all that a prefix index asks for. `places` are their positions in it, from 0, and `kept` tells
    which belong to the shorter prefix that is indexed. Rank 0 stands for elements that no other set has; they
    fill the prefix but are of no use in it, and are left out.
    """
    total = 0
    for row in rows:
        total += prefix_lengths(kind, indptr[row + 1] - indptr[row], p, q)[0]
    out_indptr = np.zeros(len(rows) + 1, np.int64)
    out, places, kept = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.bool_)
    starts = np.empty(257, np.int64)
    at = 0
    for r in range(len(rows)):
        values = elements[indptr[rows[r]] : indptr[rows[r] + 1]]
        probe, index = prefix_lengths(kind, len(values), p, q)
        starts[:] = 0
        for x in values:
            starts[np.int64(ranks[x >> shift]) + 1] += 1
        for rank in range(256):
            starts[rank + 1] += starts[rank]
        unique = min(starts[1], probe)  # the elements of rank 0 come first
        for x in values:
            rank = np.int64(ranks[x >> shift])
            place = starts[rank]
            starts[rank] += 1
            if rank > 0 and place < probe:
                token = at + place - unique
                out[token], places[token], kept[token] = x, place, place < index
        at += probe - unique
        out_indptr[r + 1] = at
    return out_indptr, out[:at].copy(), places[:at].copy(), kept[:at].copy()


@kernel
def post(ordered, mask, tokens, owners, places, kept):
    """From sorted tokens (element bits over a token's number) to postings: (values, rows, spots, begins, ends).

    Tokens of one element lie side by side, in order of their rows; those `kept` are posted, with their element, their
    row and their place in it. The postings of earlier rows for the element of token t are from begins[t] to
    ends[t] - 1, as are those of elements that differ from it in the bits of the mask alone.
    """
    rows, spots = np.empty(len(ordered), np.int32), np.empty(len(ordered), np.int32)
    values = np.empty(len(ordered), np.uint64)
    begins, ends = np.empty(len(ordered), np.int64), np.empty(len(ordered), np.int64)
    n, begin = 0, 0
    for i in range(len(ordered)):
        if i > 0 and (ordered[i] ^ ordered[i - 1]) & ~mask != 0:
            begin = n
        token = np.int64(ordered[i] & mask)
        begins[token], ends[token] = begin, n
        if kept[token]:
            values[n], rows[n], spots[n] = tokens[token], owners[token], places[token]
            n += 1
    return values[:n].copy(), rows[:n].copy(), spots[:n].copy(), begins, ends


@kernel
def with_room(n, one, two, three):
    """Three arrays of which n values are filled, as they are if there is room for one more, or longer copies."""
    if n < len(one):
        return one, two, three
    return grown(one, n), grown(two, n), grown(three, n)


@kernel
def grown(values, n):
    """A copy of `values` with room for more than n."""
    out = np.empty(2 * n + 16, values.dtype)
    out[:n] = values[:n]
    return out


@kernel
def may_be(stage, kind, a, i, b, j, least, p, q):
    """Whether sets of a and b elements may share `least` of them, if the first they share is i-th in one and j-th in
    the other, counted from 0.

    At most min(a - i, b - j) are shared: the test of positions and suffix lengths. That of positions alone does not
    look at what follows in the other set: at most a - i are shared, and j more are in the union of the two.
    """
    if stage == SUFFIX:
        return min(a - i, b - j) >= least
    if stage == POSITION:
        return q * (a - i) >= p * (a + j) if kind == JACCARD else a - i >= least
    return True


@kernel
def prefix_join(
    start, stop, rows, prefix_indptr, tokens, places, values, posted, spots, begins, ends,
    indptr, elements, kind, p, q, stage, split,
):  # fmt: skip
    """Similar pairs with the row numbered start to stop - 1 as the larger one: (left, right, shared, candidates).

    `rows` are in order of size, and `posted` holds their numbers in it. For each element to look up we walk back over
    the postings of smaller rows, until one is too small to be similar. A row is met first at the first element that
    both prefixes share, which is the first that both sets do, so that its positions tell whether they may be similar.
    """
    met = np.full(len(rows), -1, np.int32)  # the last row for which a row was met
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, candidates = 0, 0
    for number in range(start, stop):
        row = rows[number]
        size = indptr[row + 1] - indptr[row]
        smallest = least(kind, size, p, q)
        for token in range(prefix_indptr[number], prefix_indptr[number + 1]):
            for at in range(ends[token] - 1, begins[token] - 1, -1):
                it = rows[posted[at]]
                its = indptr[it + 1] - indptr[it]
                if its < smallest:
                    break
                if values[at] != tokens[token] or met[posted[at]] == number:
                    continue
                if split != ONE and (it < split) == (row < split):
                    continue
                met[posted[at]] = number
                must = need(kind, size, its, p, q)
                if not may_be(stage, kind, size, places[token], its, spots[at], must, p, q):
                    continue
                candidates += 1
                both = shared_of(indptr, elements, row, it, must)
                if both >= 0:
                    left, right, shared = with_room(n, left, right, shared)
                    left[n], right[n], shared[n] = min(row, it), max(row, it), both
                    n += 1
    return left[:n], right[:n], shared[:n], candidates


@kernel
def length_join(start, stop, rows, indptr, elements, kind, p, q, split):
    """The same by comparing each row with all smaller ones that are not too small."""
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, candidates = 0, 0
    for number in range(start, stop):
        row = rows[number]
        size = indptr[row + 1] - indptr[row]
        smallest = least(kind, size, p, q)
        for other in range(number - 1, -1, -1):
            it = rows[other]
            its = indptr[it + 1] - indptr[it]
            if its < smallest:
                break
            if split != ONE and (it < split) == (row < split):
                continue
            candidates += 1
            both = shared_of(indptr, elements, row, it, need(kind, size, its, p, q))
            if both >= 0:
                left, right, shared = with_room(n, left, right, shared)
                left[n], right[n], shared[n] = min(row, it), max(row, it), both
                n += 1
    return left[:n], right[:n], shared[:n], candidates


@kernel
def index_elements(ordered, shift):
    """A hash table from an element to its first place in the sorted array `ordered`; -1 marks a free slot."""
    slots = np.full(np.int64(1) << (64 - np.int64(shift)), -1, np.int64)
    for i in range(len(ordered)):
        if i > 0 and ordered[i] == ordered[i - 1]:
            continue
        slot = ordered[i] >> shift
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
        slots[slot] = i
    return slots


@kernel
def probe(indptr, elements, slots, shift, ordered, owners, sizes, p, q):
    """Compare every row with every set of a small index: (row, set, shared) of pairs of similarity p/q or more.

    `ordered` holds the elements of the indexed sets, sorted, `owners` the set each belongs to, `slots` the
    table of `index_elements`. A row counts what it shares with each set it meets. O(elements + meetings).
    """
    counts = np.zeros(len(sizes), np.int64)
    touched = np.empty(len(sizes), np.int64)
    rows, sets, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n = 0
    for row in range(len(indptr) - 1):
        met = 0
        for x in elements[indptr[row] : indptr[row + 1]]:
            slot = x >> shift
            while slots[slot] >= 0 and ordered[slots[slot]] != x:
                slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
            i = slots[slot]
            while 0 <= i < len(ordered) and ordered[i] == x:
                if counts[owners[i]] == 0:
                    touched[met] = owners[i]
                    met += 1
                counts[owners[i]] += 1
                i += 1
        size = indptr[row + 1] - indptr[row]
        for owner in touched[:met]:
            if counts[owner] * (p + q) >= p * (size + sizes[owner]):
                rows, sets, shared = with_room(n, rows, sets, shared)
                rows[n], sets[n], shared[n] = row, owner, counts[owner]
                n += 1
            counts[owner] = 0
    return rows[:n], sets[:n], shared[:n]
