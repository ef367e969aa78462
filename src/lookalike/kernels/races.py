"""Sketch sets whose elements have weights, by races of exponential clocks.

Rows and weights are as in `weights`.
"""

import numpy as np

from lookalike.kernels.hashing import BASE, GOLDEN, kernel, mix

MARGIN = 3.0  # a first horizon leaves a bin empty with probability exp(-MARGIN), about 5%


@kernel
def race(elements, weights, seed, times):
    """Fill the K bins of `times` with the time at which the first element arrives there.

    Element x arrives at times of a Poisson process with rate K w(x), drawn from a hash of its own,
    each time in a random bin. So its arrivals in one bin are a process with rate w(x), and those in
    different bins are independent. Only times up to a horizon are drawn, which is doubled until
    every bin has been reached; it does not change what is found. O(n + K log K) draws.
    """
    bins = len(times)
    times[:] = np.inf
    total = 0.0
    for w in weights:
        total += w
    if total == 0:
        return
    horizon = (np.log(float(bins)) + MARGIN) / total
    empty = bins
    while empty > 0:
        for i in range(len(elements)):
            step = mix(elements[i] ^ seed)
            rate = bins * weights[i]
            time = 0.0
            while True:
                step += GOLDEN
                u = (np.float64(mix(step) >> np.uint64(11)) + 0.5) * 2.0**-53
                if 1 - u > (horizon - time) * rate:  # a bound on -log(u) that saves most logarithms
                    break
                time -= np.log(u) / rate
                if time > horizon:
                    break
                place = ((mix(step ^ BASE) >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)
                times[place] = min(times[place], time)
        empty = 0
        for time in times:
            empty += time == np.inf
        horizon *= 2


@kernel
def race_rows(indptr, elements, weights, seed, hashes):
    """Return the times of all rows, rows x hashes; infinite in an empty row."""
    out = np.empty((len(indptr) - 1, hashes), np.float64)
    for row in range(len(out)):
        race(elements[indptr[row] : indptr[row + 1]], weights[indptr[row] : indptr[row + 1]], seed, out[row])
    return out
