"""Turn sets of 64-bit hashes into sign sketches: the sides of random hyperplanes that they are on.

Sets come as rows: the elements of row i are elements[indptr[i]:indptr[i + 1]]; repeats add up. Each
function has a random number for every possible element, made from the element's hash alone:
together they are the normal vector of a hyperplane through the space of all sets.
"""

from statistics import NormalDist

import numpy as np

from lookalike.kernels.hashing import GOLDEN, kernel, mix


def _normal_numbers():
    """Return the means of 256 equal parts of the normal distribution, lowest first, in thousandths.

    The mean of the part between a and b is (density(a) - density(b)) / probability.
    """
    normal = NormalDist()
    density = [normal.pdf(normal.inv_cdf(part / 256)) for part in range(128, 256)] + [0.0]
    above = [round(1000 * 256 * (density[i] - density[i + 1])) for i in range(128)]
    return np.array([-x for x in reversed(above)] + above, np.int64)


NORMAL = _normal_numbers()


@kernel
def add_element(x, weight, seed, sums):
    """Add an element's random numbers times its weight to the `sums`, a multiple of eight of them.

    Each byte of the element's hash picks a number from the table: one hash serves eight functions.
    """
    step = seed
    for start in range(0, len(sums), 8):
        step += GOLDEN
        draw = mix(x ^ step)
        for i in range(8):
            sums[start + i] += weight * NORMAL[(draw >> np.uint64(8 * i)) & np.uint64(255)]


@kernel
def pack_signs(sums, out):
    """Set bit i % 64 of out[i // 64] to 1 if sums[i] is positive or zero."""
    for word in range(len(out)):
        bits = np.uint64(0)
        for i in range(64 * word, min(64 * word + 64, len(sums))):
            bits |= np.uint64(sums[i] >= 0) << np.uint64(i % 64)
        out[word] = bits


@kernel
def sign_rows(indptr, elements, seed, hashes):
    """Return the signs of all rows, 64 per word: an array rows x ceil(hashes / 64).

    An empty row has no bit set. O(n K) for n elements and K functions, in whole numbers, so that
    the order of elements makes no difference.
    """
    out = np.zeros((len(indptr) - 1, (hashes + 63) // 64), np.uint64)
    sums = np.empty((hashes + 7) // 8 * 8, np.int64)
    for row in range(len(out)):
        if indptr[row] == indptr[row + 1]:
            continue
        sums[:] = 0
        for x in elements[indptr[row] : indptr[row + 1]]:
            add_element(x, 1, seed, sums)
        pack_signs(sums[:hashes], out[row])
    return out


@kernel
def sign_weighted_rows(indptr, elements, weights, seed, hashes):
    """Return the same with weights[i] as the weight of elements[i]; weight 0 means no element.

    Sums are of floating-point numbers, in the order of the elements.
    """
    out = np.zeros((len(indptr) - 1, (hashes + 63) // 64), np.uint64)
    sums = np.empty((hashes + 7) // 8 * 8, np.float64)
    for row in range(len(out)):
        sums[:] = 0
        weightless = True
        for i in range(indptr[row], indptr[row + 1]):
            if weights[i] != 0:
                add_element(elements[i], weights[i], seed, sums)
                weightless = False
        if not weightless:
            pack_signs(sums[:hashes], out[row])
    return out


@kernel
def unpack_signs(words, hashes):
    """Return packed signs as 0 and 1: an array rows x hashes."""
    out = np.empty((len(words), hashes), np.uint64)
    for row in range(len(words)):
        for i in range(hashes):
            out[row, i] = (words[row, i // 64] >> np.uint64(i % 64)) & np.uint64(1)
    return out
