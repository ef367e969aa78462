"""Vectors and random directions."""

import numpy as np

from lookalike.kernels.hashing import kernel


@kernel
def project(rows, directions):
    """Dot products of all rows with all directions: an array rows x directions, given as dimensions x directions.

    Each is summed in the order of the dimensions, so that it depends on nothing but the two vectors: not on how many
    others there are, as with a matrix product. The loop over directions is the inner one, which is vectorised.
    """
    items, dimensions = rows.shape
    count = directions.shape[1]
    out = np.zeros((items, count))
    for item in range(items):
        sums = out[item]
        for i in range(dimensions):
            x = rows[item, i]
            if x != 0:
                along = directions[i]
                for j in range(count):
                    sums[j] += x * along[j]
    return out
