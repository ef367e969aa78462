"""Exact joins of sets: prefix filtering, and looking up a few sets among many.

Rows are sorted sets as in `sets`. Pairs come out with the size of their intersection.
"""

import numpy as np

from lookalike.kernels.buckets import ONE
from lookalike.kernels.hashing import kernel
from lookalike.kernels.sets import overlap


@kernel
def count_elements(elements, shift, counts):
    """Add one to counts[x >> shift] for each element x."""
    for x in elements:
        counts[x >> shift] += 1


@kernel
def prefixes(indptr, elements, rows, ranks, shift, p, q):
    """The prefix of each of `rows`, without the elements of rank 0: (indptr, elements).

    Elements are ordered by ranks[x >> shift], low ranks first, then by hash: an order that all rows share,
    which is all that a prefix index asks for. Sets of similarity p/q or more share at least ceil(n p/q) of
    the n elements of either, so that their prefixes of n - ceil(n p/q) + 1 elements have one in common.
    Rank 0 stands for elements that no other set has; they fill the prefix but are of no use in it.
    """
    total = 0
    for row in rows:
        n = indptr[row + 1] - indptr[row]
        total += n - (p * n + q - 1) // q + 1 if n else 0
    out_indptr = np.zeros(len(rows) + 1, np.int64)
    out = np.empty(total, np.uint64)
    starts = np.empty(257, np.int64)
    at = 0
    for r in range(len(rows)):
        values = elements[indptr[rows[r]] : indptr[rows[r] + 1]]
        n = len(values)
        room = n - (p * n + q - 1) // q + 1 if n else 0
        starts[:] = 0
        for x in values:
            starts[np.int64(ranks[x >> shift]) + 1] += 1
        for rank in range(256):
            starts[rank + 1] += starts[rank]
        unique = min(starts[1], room)  # the elements of rank 0 come first
        filled = 0
        for x in values:
            rank = np.int64(ranks[x >> shift])
            place = starts[rank]
            starts[rank] += 1
            if rank > 0 and place < room:
                out[at + place - unique] = x
                filled += 1
        at += filled
        out_indptr[r + 1] = at
    return out_indptr, out[:at].copy()


@kernel
def post(ordered, mask, rows_of):
    """From sorted tokens (element bits over a token's number) to postings: (rows, positions, firsts).

    Tokens of one element lie side by side; rows[i] is the row of the i-th, firsts[i] whether its element
    differs from the one before, and positions[t] the place of token t.
    """
    rows = np.empty(len(ordered), np.int32)
    positions = np.empty(len(ordered), np.int64)
    firsts = np.empty(len(ordered), np.bool_)
    for i in range(len(ordered)):
        token = np.int64(ordered[i] & mask)
        rows[i] = rows_of[token]
        positions[token] = i
        firsts[i] = i == 0 or (ordered[i] ^ ordered[i - 1]) & ~mask != 0
    return rows, positions, firsts


@kernel
def grown(values, n):
    """A copy of `values` with room for at least one more than n."""
    out = np.empty(2 * n + 16, values.dtype)
    out[:n] = values[:n]
    return out


@kernel
def prefix_join(start, stop, rows, prefix_indptr, posted, positions, firsts, indptr, elements, p, q, split):
    """Pairs of similarity p/q or more with the row numbered start to stop - 1 as the larger one.

    `rows` are in order of size, and `posted` holds their numbers in it. From each prefix element's own place
    in the postings we walk back over the rows that are smaller, until one is too small to be similar.
    Returns (left, right, shared, candidates).
    """
    met = np.full(len(rows), -1, np.int32)  # the last row for which a row was a candidate
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    n, candidates = 0, 0
    for number in range(start, stop):
        row = rows[number]
        size = indptr[row + 1] - indptr[row]
        least = (p * size + q - 1) // q
        for token in range(prefix_indptr[number], prefix_indptr[number + 1]):
            i = positions[token]
            while not firsts[i]:
                i -= 1
                other = posted[i]
                it = rows[other]
                if indptr[it + 1] - indptr[it] < least:
                    break
                if other == number or met[other] == number or (split != ONE and (it < split) == (row < split)):
                    continue
                met[other] = number
                candidates += 1
                both = overlap(indptr, elements, row, it, p, q)
                if both >= 0:
                    if n == len(left):
                        left, right, shared = grown(left, n), grown(right, n), grown(shared, n)
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
                if n == len(rows):
                    rows, sets, shared = grown(rows, n), grown(sets, n), grown(shared, n)
                rows[n], sets[n], shared[n] = row, owner, counts[owner]
                n += 1
            counts[owner] = 0
    return rows[:n], sets[:n], shared[:n]
