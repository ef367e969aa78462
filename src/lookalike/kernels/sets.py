"""Sort, hash and intersect rows of 64-bit hashes as sets.

Rows are as in `sketch`; here each is sorted and without repeats, so that two can be merged.
"""

import numpy as np

from lookalike.kernels.bounds import JACCARD, need
from lookalike.kernels.hashing import GOLDEN, kernel, mix
from lookalike.kernels.weights import shared_weight


@kernel
def sort_hashes(values, spare, counts, same=0):
    """Sort `values` in place, given that their high bits are evenly spread. O(n) expected.

    Values go to about n slots by their high bits, which leaves each a step or two from its place;
    an insertion sort does the rest. `spare` holds at least n values and `counts` 2n + 1 numbers. The
    highest bits, as many as `same`, are the same in all values; those after them choose the slot.
    """
    n = len(values)
    same = np.uint64(same)
    if n > 24:
        bits = 1
        while 1 << bits < n:
            bits += 1
        shift = np.uint64(64 - bits)
        slots = 1 << bits
        counts[: slots + 1] = 0
        for x in values:
            counts[((x << same) >> shift) + np.uint64(1)] += 1
        for slot in range(slots):
            counts[slot + 1] += counts[slot]
        for x in values:
            slot = (x << same) >> shift
            spare[counts[slot]] = x
            counts[slot] += 1
    else:
        spare[:n] = values
    for i in range(n):
        x = spare[i]
        j = i
        while j > 0 and values[j - 1] > x:
            values[j] = values[j - 1]
            j -= 1
        values[j] = x


@kernel
def sorted_hashes(values):
    """Return a sorted copy of `values`, whose high bits must be evenly spread."""
    out = values.copy()
    sort_hashes(out, np.empty(len(out), np.uint64), np.empty(2 * len(out) + 1, np.int32))
    return out


@kernel
def sort_rows(indptr, elements, bag):
    """Return each row as a sorted set: (indptr, elements). Repeats are dropped, or kept in a bag.

    In a bag the second copy of x becomes the element (x, 2) and so on, all hashed: the overlap of
    two such sets is then that of the bags, the sum of the lesser counts.
    """
    rows = len(indptr) - 1
    longest = 0
    for row in range(rows):
        longest = max(longest, indptr[row + 1] - indptr[row])
    spare = np.empty(longest, np.uint64)
    counts = np.empty(2 * longest + 1, np.int32)
    out_indptr = np.zeros(rows + 1, np.int64)
    out = np.empty(len(elements), np.uint64)
    at = 0
    for row in range(rows):
        start = at
        values = out[start : start + indptr[row + 1] - indptr[row]]
        values[:] = elements[indptr[row] : indptr[row + 1]]
        sort_hashes(values, spare, counts)
        last, copy = np.uint64(0), np.uint64(0)
        for i in range(len(values)):
            x = values[i]
            if i > 0 and x == last:
                if not bag:
                    continue
                copy += np.uint64(1)
            else:
                last, copy = x, np.uint64(0)
            out[at] = x if copy == 0 else mix(x + copy * GOLDEN)
            at += 1
        if bag:
            sort_hashes(out[start:at], spare, counts)
        out_indptr[row + 1] = at
    return out_indptr, out[:at].copy()


@kernel
def grown(values, n):
    """Return a copy of `values` with room for more than n."""
    out = np.empty(2 * n + 16, values.dtype)
    out[:n] = values[:n]
    return out


@kernel
def take_rows(starts, sizes, elements):
    """Return the rows that start here and have these sizes, one after another: (indptr, elements)."""
    indptr = np.zeros(len(starts) + 1, np.int64)
    for i in range(len(starts)):
        indptr[i + 1] = indptr[i] + sizes[i]
    out = np.empty(indptr[-1], elements.dtype)
    for i in range(len(starts)):
        out[indptr[i] : indptr[i + 1]] = elements[starts[i] : starts[i] + sizes[i]]
    return indptr, out


@kernel
def group_rows(count, rows, elements):
    """Return elements by row, in order, given each one's row of range(count): (indptr, elements)."""
    indptr = np.zeros(count + 1, np.int64)
    last, grouped = 0, True
    for row in rows:
        grouped &= row >= last
        last = row
        indptr[row + 1] += 1
    for row in range(count):
        indptr[row + 1] += indptr[row]
    if grouped:
        return indptr, elements
    out, nexts = np.empty(len(elements), np.uint64), indptr.copy()
    for i in range(len(rows)):
        out[nexts[rows[i]]] = elements[i]
        nexts[rows[i]] += 1
    return indptr, out


@kernel
def hash_rows(indptr, elements):
    """Return two independent hashes of each row's elements, rows x 2, to find equal sets."""
    out = np.empty((len(indptr) - 1, 2), np.uint64)
    for row in range(len(out)):
        one = np.uint64(indptr[row + 1] - indptr[row])
        two = ~one
        for x in elements[indptr[row] : indptr[row + 1]]:
            one = mix(one ^ x)
            two = mix(two + x)
        out[row, 0] = one
        out[row, 1] = two
    return out


@kernel
def add_rows(table, rows):
    """Add rows of two hashes to a table of slots x 2; return which were not in it.

    A free slot holds zeros. The table must have room.
    """
    new = np.zeros(len(rows), np.bool_)
    for row in range(len(rows)):
        one, two = rows[row, 0], rows[row, 1]
        slot = np.int64(one & np.uint64(len(table) - 1))
        while (table[slot, 0] != one or table[slot, 1] != two) and (table[slot, 0] != 0 or table[slot, 1] != 0):
            slot = (slot + 1) & (len(table) - 1)
        new[row] = table[slot, 0] != one or table[slot, 1] != two
        table[slot, 0], table[slot, 1] = one, two
    return new


@kernel
def overlap(indptr, elements, weights, left, right, p, q):
    """Return the size of the intersection of two rows, or -1 if their similarity is below p / q.

    `weights` is None, or the weights of elements and the totals of rows: then the size of the
    intersection is its weight, and the similarity is the weighted one.
    """
    if weights is None:  # decided when the kernel is compiled
        return size_shared(indptr, elements, left, right, p, q)
    return shared_weight(indptr, elements, weights[0], weights[1], left, right, p, q)


@kernel
def size_shared(indptr, elements, left, right, p, q):
    """Return the same for elements without weights."""
    a, b = indptr[left + 1] - indptr[left], indptr[right + 1] - indptr[right]
    return shared_of(indptr, elements, left, right, need(JACCARD, a, b, p, q))


@kernel
def shared_of(indptr, elements, left, right, least):
    """Return the size of the intersection of two rows, or -1 if it is below `least`, at least 1."""
    one, two = elements[indptr[left] : indptr[left + 1]], elements[indptr[right] : indptr[right + 1]]
    return shared_between(one, two, least)


@kernel
def shared_between(one, two, least):
    """Return the same for two sorted sets; the merge stops as soon as `least` is out of reach."""
    i, j, shared = 0, 0, 0
    i_spare, j_spare = len(one) - least, len(two) - least
    while i < len(one) and j < len(two):
        if i - shared > i_spare or j - shared > j_spare:
            return -1
        x, y = one[i], two[j]
        i += x <= y
        j += y <= x
        shared += x == y
    return shared if shared >= least else -1


@kernel
def nothing(weights):
    """Return 0 in the type of what sets share: a number of elements, or a weight."""
    if weights is None:
        return 0
    return 0.0


@kernel
def overlaps_between(indptr, elements, others, other_elements, left, right):
    """Return the sizes of the intersections of pairs of rows: the left ones of `elements`, the right ones of others."""
    out = np.empty(len(left), np.int64)
    for i in range(len(left)):
        one = elements[indptr[left[i]] : indptr[left[i] + 1]]
        two = other_elements[others[right[i]] : others[right[i] + 1]]
        out[i] = shared_between(one, two, 0)
    return out


@kernel
def overlaps(indptr, elements, weights, left, right, p, q):
    """Apply `overlap` to many pairs of rows."""
    out = left * nothing(weights)
    for i in range(len(left)):
        out[i] = overlap(indptr, elements, weights, left[i], right[i], p, q)
    return out
