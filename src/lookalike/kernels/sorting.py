"""Sort keys in parts, so that several threads can share the work.

Keys are 64-bit hashes, so their high bits are evenly spread. A part holds the keys that have the
same high bits. Each slice of the keys counts those of each part, and then puts them into place.
"""

import numpy as np

from lookalike.kernels.hashing import kernel
from lookalike.kernels.sets import sort_hashes


@kernel
def count_parts(keys, high):
    """Return how many keys belong to each part; a key's `high` highest bits are its part's number."""
    counts = np.zeros(np.int64(1) << np.int64(high), np.int64)
    for x in keys:
        counts[x >> np.uint64(64 - high)] += 1
    return counts


@kernel
def place_keys(keys, first, high, mask, places, out):
    """Write each key to its part, with its position in the bits of the mask, in order.

    Positions count from `first`, and the next key of part i goes to out[places[i]].
    """
    for i in range(len(keys)):
        part = keys[i] >> np.uint64(64 - high)
        out[places[part]] = (keys[i] & ~mask) | np.uint64(first + i)
        places[part] += 1


@kernel
def place_whole(keys, first, high, places, out, numbers):
    """Do the same with whole keys: their positions go to `numbers`."""
    for i in range(len(keys)):
        part = keys[i] >> np.uint64(64 - high)
        out[places[part]], numbers[places[part]] = keys[i], first + i
        places[part] += 1


@kernel
def sort_parts(values, bounds, high):
    """Sort the parts values[bounds[i]:bounds[i + 1]], each in place."""
    longest = 0
    for i in range(len(bounds) - 1):
        longest = max(longest, bounds[i + 1] - bounds[i])
    spare = np.empty(longest, np.uint64)
    counts = np.empty(2 * longest + 1, np.int32)
    for i in range(len(bounds) - 1):
        sort_hashes(values[bounds[i] : bounds[i + 1]], spare, counts, high)


@kernel
def sorted_part(keys, high, part, mask):
    """Return one part of the keys, sorted, each with its position in the bits of the mask.

    The parts, one after another, are all keys in order. Each looks through all keys for its own.
    """
    numbers = np.empty(len(keys), np.uint64)
    n = 0
    for i in range(len(keys)):
        if (keys[i] >> np.uint64(1)) >> np.uint64(63 - high) == np.uint64(part):  # a shift by 64 is not defined
            numbers[n] = (keys[i] & ~mask) | np.uint64(i)
            n += 1
    sort_hashes(numbers[:n], np.empty(n, np.uint64), np.empty(2 * n + 1, np.int32), high)
    return numbers[:n].copy()
