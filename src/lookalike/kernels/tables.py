"""Make the keys of tables of buckets, and sort them part by part."""

import numpy as np

from lookalike.kernels.hashing import GOLDEN, kernel, mix
from lookalike.kernels.sets import sort_hashes


@kernel
def sorted_part(keys, bits, part, mask):
    """Return the sorted numbers of those keys whose highest `bits` bits are `part`.

    The numbers are those of `theory.banding.sort_keys`: the high bits of a key, and its position in
    the bits of `mask`. So the parts, one after another, are all the numbers in order.
    """
    up, down, part = np.uint64(bits), np.uint64(63 - bits), np.uint64(part)  # 63, as a shift by 64 is not defined
    numbers = np.empty(len(keys), np.uint64)
    n = 0
    for i in range(len(keys)):
        if (keys[i] >> np.uint64(1)) >> down == part:
            numbers[n] = ((keys[i] & ~mask) | np.uint64(i)) << up  # without the common bits they are evenly spread
            n += 1
    sort_hashes(numbers[:n], np.empty(n, np.uint64), np.empty(2 * n + 1, np.int32))
    common = (part << down) << np.uint64(1)
    for i in range(n):
        numbers[i] = (numbers[i] >> up) | common
    return numbers[:n].copy()


@kernel
def masked_keys(words, rows, mask):
    """Return a hash of each given row of words, of which only the bits of `mask` count."""
    out = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        for w in range(len(mask)):
            out[i] = mix((out[i] ^ (words[rows[i], w] & mask[w])) + GOLDEN)
    return out
