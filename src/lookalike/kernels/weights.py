"""Compare sets whose elements have weights: sums of weights take the place of numbers of elements.

Rows are as in `sets`, with a weight for each element: that of elements[i] is weights[i], and an
element weighs the same in every row. The total of a row is the sum of its weights. Sums are in
double precision and in the order of the elements, so they do not depend on threads or batches.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

SAFE = 1 - 1e-9  # a bound that is lowered by this factor holds in spite of rounding


@kernel
def row_totals(indptr, weights):
    """Return the total of each row."""
    out = np.zeros(len(indptr) - 1)
    for row in range(len(out)):
        for i in range(indptr[row], indptr[row + 1]):
            out[row] += weights[i]
    return out


@kernel
def shared_weight(indptr, elements, weights, totals, left, right, p, q):
    """Return the weight that two rows share, or -1 if their weighted similarity is below p / q.

    That is the weight of the elements in both rows over the weight of those in either. The merge
    stops as soon as what is left in one row cannot be enough.
    """
    whole = totals[left] + totals[right]
    least = SAFE * (p / (p + q)) * whole  # s / (whole - s) >= p / q
    left_spare, right_spare = totals[left] - least, totals[right] - least
    i, i_stop = indptr[left], indptr[left + 1]
    j, j_stop = indptr[right], indptr[right + 1]
    shared, left_only, right_only = 0.0, 0.0, 0.0
    while i < i_stop and j < j_stop:
        x, y = elements[i], elements[j]
        if x == y:
            shared += weights[i]
            i += 1
            j += 1
        elif x < y:
            left_only += weights[i]
            i += 1
        else:
            right_only += weights[j]
            j += 1
        if left_only > left_spare or right_only > right_spare:
            return -1.0
    return shared if shared > 0 and shared * q >= p * (whole - shared) else -1.0


@kernel
def weighted_prefixes(indptr, elements, weights, totals, rows, p, q, most):
    """Return the elements of each of `rows` to look up: (indptr, elements).

    Elements are ordered by weight, heavy ones first, then by hash, which is the same order in every
    row. The elements after the prefix weigh less than p/q of the row, so that a similar row, which
    shares at least that much, shares an element of the prefix; by the same argument the first
    element in this order that both share is in both prefixes. Elements that weigh `most` are in no
    other row; they count in the prefix but are left out.
    """
    out_indptr = np.zeros(len(rows) + 1, np.int64)
    size = 0
    for row in rows:
        size += indptr[row + 1] - indptr[row]
    out = np.empty(size, np.uint64)
    at = 0
    for r in range(len(rows)):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        after = totals[rows[r]]  # of the elements not yet in the prefix
        least = SAFE * p / q * totals[rows[r]]
        for i in np.argsort(-weights[start:stop], kind="mergesort"):  # stable: elements of one weight stay in order
            if after < least:
                break
            after -= weights[start + i]
            if weights[start + i] < most:
                out[at] = elements[start + i]
                at += 1
        out_indptr[r + 1] = at
    return out_indptr, out[:at].copy()


@kernel
def weighted_join(
    start, stop, met, rows, prefix_indptr, begins, ends, posted, indptr, elements, weights, totals, p, q, split
):  # fmt: skip
    """Return similar pairs whose heavier row is in range(start, stop), and how many were candidates.

    `rows` are in order of their totals. For token t of a prefix, posted[begins[t]:ends[t]] are the
    earlier rows with that token, as numbers in this order; they are walked back until one is too
    light to be similar. Unless `split` is -1, only pairs across it count. `met` is as in `prefix_join`.
    """
    left, right, shared = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.float64)
    n, candidates = 0, 0
    for number in range(start, stop):
        row = rows[number]
        least = SAFE * p / q * totals[row]
        for token in range(prefix_indptr[number], prefix_indptr[number + 1]):
            for at in range(ends[token] - 1, begins[token] - 1, -1):
                other = posted[at]
                it = rows[other]
                if totals[it] < least:
                    break
                if met[other] == number or (split != -1 and (it < split) == (row < split)):
                    continue
                met[other] = number
                candidates += 1
                both = shared_weight(indptr, elements, weights, totals, row, it, p, q)
                if both >= 0:
                    if n == len(left):
                        left, right, shared = doubled(left), doubled(right), doubled(shared)
                    left[n], right[n], shared[n] = min(row, it), max(row, it), both
                    n += 1
    return left[:n], right[:n], shared[:n], candidates


@kernel
def doubled(values):
    """Return a copy of `values` with as much room again."""
    out = np.empty(2 * len(values), values.dtype)
    out[: len(values)] = values
    return out


@kernel
def probe_weights(indptr, elements, weights, slots, shift, ordered, owners, totals, p, q):
    """Compare every row with every set of a small index; return similar pairs: (row, set).

    The index is that of `joins.probe`, and `totals` are those of its sets.
    """
    sums, touched = np.zeros(len(totals)), np.empty(len(totals), np.int64)
    rows, sets = np.empty(16, np.int64), np.empty(16, np.int64)
    n = 0
    for row in range(len(indptr) - 1):
        met, total = 0, 0.0
        for at in range(indptr[row], indptr[row + 1]):
            x = elements[at]
            total += weights[at]
            slot = x >> shift
            while slots[slot] >= 0 and ordered[slots[slot]] != x:
                slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
            i = slots[slot]
            while 0 <= i < len(ordered) and ordered[i] == x:
                if sums[owners[i]] == 0:
                    touched[met] = owners[i]
                    met += 1
                sums[owners[i]] += weights[at]
                i += 1
        for owner in touched[:met]:
            if sums[owner] * q >= p * (total + totals[owner] - sums[owner]):
                if n == len(rows):
                    rows, sets = doubled(rows), doubled(sets)
                rows[n], sets[n] = row, owner
                n += 1
            sums[owner] = 0.0
    return rows[:n], sets[:n]
