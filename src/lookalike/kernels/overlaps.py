"""Compare what two rows have in common, and what only one of them has, by weighted elements.

Row i has the elements elements[indptr[i]:indptr[i + 1]], in ascending order.
"""

import numpy as np

from lookalike.kernels.hashing import kernel


@kernel
def sums_of_rows(indptr, elements, weights):
    """Return the sum of the weights of each row's elements."""
    sums = np.zeros(len(indptr) - 1)
    for row in range(len(sums)):
        for i in range(indptr[row], indptr[row + 1]):
            sums[row] += weights[elements[i]]
    return sums


@kernel
def overlaps(indptr, elements, weights, left, right):
    """Weigh the common elements of pairs of rows: (sums, largest, largest_left, largest_right).

    `sums` adds up the weights of the elements that both rows have and `largest` is the largest of
    them; the other two are the largest weight that only the left, or the right, row has. Without
    such elements they are 0. O(the sizes of both rows) per pair.
    """
    sums, largest = np.zeros(len(left)), np.zeros(len(left))
    largest_left, largest_right = np.zeros(len(left)), np.zeros(len(left))
    for pair in range(len(left)):
        i, i_stop = indptr[left[pair]], indptr[left[pair] + 1]
        j, j_stop = indptr[right[pair]], indptr[right[pair] + 1]
        while i < i_stop or j < j_stop:
            if j == j_stop or (i < i_stop and elements[i] < elements[j]):
                largest_left[pair] = max(largest_left[pair], weights[elements[i]])
                i += 1
            elif i == i_stop or elements[j] < elements[i]:
                largest_right[pair] = max(largest_right[pair], weights[elements[j]])
                j += 1
            else:
                sums[pair] += weights[elements[i]]
                largest[pair] = max(largest[pair], weights[elements[i]])
                i += 1
                j += 1
    return sums, largest, largest_left, largest_right


@kernel
def common_weights(indptr, elements, weights, left, right):
    """Return the sums of `overlaps` alone: the weights of the elements that both rows of each pair have."""
    sums = np.zeros(len(left))
    for pair in range(len(left)):
        i, i_stop = indptr[left[pair]], indptr[left[pair] + 1]
        j, j_stop = indptr[right[pair]], indptr[right[pair] + 1]
        while i < i_stop and j < j_stop:
            one, other = elements[i], elements[j]
            if one == other:
                sums[pair] += weights[one]
            i += one <= other
            j += other <= one
    return sums


@kernel
def count_apart(indptr, elements, left, right, count):
    """Count in how many pairs each of `count` elements is in both rows, and in only one: (both, one)."""
    both, one = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for pair in range(len(left)):
        i, i_stop = indptr[left[pair]], indptr[left[pair] + 1]
        j, j_stop = indptr[right[pair]], indptr[right[pair] + 1]
        while i < i_stop or j < j_stop:
            if j == j_stop or (i < i_stop and elements[i] < elements[j]):
                one[elements[i]] += 1
                i += 1
            elif i == i_stop or elements[j] < elements[i]:
                one[elements[j]] += 1
                j += 1
            else:
                both[elements[i]] += 1
                i += 1
                j += 1
    return both, one


@kernel
def two_best(left, right, values, count):
    """Return the best and second-best value of the pairs of each of `count` rows, -inf where there are none."""
    best, second = np.full(count, -np.inf), np.full(count, -np.inf)
    for at in range(len(left)):
        value = values[at]
        for row in (left[at], right[at]):
            if value > best[row]:
                second[row] = best[row]
                best[row] = value
            elif value > second[row]:
                second[row] = value
    return best, second


@kernel
def count_nearest(left, right, values, best):
    """Count for each row the pairs in which it is nearest to the other: those with the other's best value."""
    counts = np.zeros(len(best), np.int64)
    for at in range(len(left)):
        counts[left[at]] += values[at] >= best[right[at]]
        counts[right[at]] += values[at] >= best[left[at]]
    return counts
