"""Make the keys of tables of buckets."""

import numpy as np

from lookalike.kernels.hashing import GOLDEN, kernel, mix


@kernel
def masked_keys(words, rows, mask):
    """Return a hash of each given row of words, of which only the bits of `mask` count."""
    out = np.zeros(len(rows), np.uint64)
    for i in range(len(rows)):
        for w in range(len(mask)):
            out[i] = mix((out[i] ^ (words[rows[i], w] & mask[w])) + GOLDEN)
    return out
