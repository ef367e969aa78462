"""Count in how many rows elements occur, look such counts up, and drop elements by them.

Counts are made in two rounds. First every element adds to a counter that it shares with others:
that of its high bits. Only elements whose counter reaches the number asked for are then counted one
by one, so the result is exact and needs memory for few elements.
"""

import numpy as np

from lookalike.kernels.hashing import kernel
from lookalike.kernels.sets import sort_hashes


@kernel
def reaching(elements, counters, shift, least):
    """Return the elements whose counter is at least `least`."""
    out = np.empty(len(elements), np.uint64)
    n = 0
    for x in elements:
        out[n] = x
        n += counters[x >> shift] >= least
    return out[:n].copy()


@kernel
def add_part(fresh, high, part, elements, counts):
    """Add to the counts of one part's elements: (elements, counts), in order.

    A part has the elements with the same `high` highest bits; each looks through all `fresh` ones.
    """
    mine = np.empty(len(fresh), np.uint64)
    n = 0
    for x in fresh:
        mine[n] = x
        n += (x >> np.uint64(1)) >> np.uint64(63 - high) == np.uint64(part)  # a shift by 64 is not defined
    sort_hashes(mine[:n], np.empty(n, np.uint64), np.empty(2 * n + 1, np.int32), high)
    out, sums = np.empty(len(elements) + n, np.uint64), np.empty(len(elements) + n, np.int64)
    i, j, made = 0, 0, 0
    while i < len(elements) or j < n:
        if j == n or (i < len(elements) and elements[i] <= mine[j]):
            out[made], sums[made] = elements[i], counts[i]
            i += 1
        else:
            out[made], sums[made] = mine[j], 0
        while j < n and mine[j] == out[made]:
            sums[made] += 1
            j += 1
        made += 1
    return out[:made].copy(), sums[:made].copy()


@kernel
def count_of(x, slots, shift, ordered, counts, default):
    """Return the count of an element, or `default`; `slots` is the table of `joins.index_elements`."""
    slot = x >> shift
    while slots[slot] >= 0:
        if ordered[slots[slot]] == x:
            return counts[slots[slot]]
        slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
    return default


@kernel
def idf(items, count):
    """Return the weight of an element that is in `count` of the items: log(1 + items / count)."""
    return np.log1p(items / count)


@kernel
def idf_weights(elements, slots, shift, ordered, counts, items, out):
    """Write the weights of elements, of which those that are not in the table are in one item."""
    for i in range(len(elements)):
        out[i] = idf(items, count_of(elements[i], slots, shift, ordered, counts, np.int64(1)))


@kernel
def drop_counted(indptr, elements, slots, shift, ordered, counts, limit):
    """Drop the elements with a count above `limit` from rows in any order: (indptr, elements).

    A row that would lose all its elements keeps them.
    """
    out_indptr, out = np.zeros(len(indptr), np.int64), np.empty(len(elements), np.uint64)
    at = 0
    for row in range(len(indptr) - 1):
        start = at
        for x in elements[indptr[row] : indptr[row + 1]]:
            out[at] = x
            at += count_of(x, slots, shift, ordered, counts, np.int64(0)) <= limit
        if at == start:
            for x in elements[indptr[row] : indptr[row + 1]]:
                out[at] = x
                at += 1
        out_indptr[row + 1] = at
    return out_indptr, out[:at].copy()
