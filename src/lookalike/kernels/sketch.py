"""Turn sets of 64-bit hashes into MinHash signatures, and signatures into band keys.

Sets come as rows: row i is elements[indptr[i]:indptr[i + 1]]. Repeats do not matter.
"""

import numpy as np

from lookalike.kernels.hashing import BASE, EMPTY, GOLDEN, kernel, mix


@kernel
def sketch(elements, seed, out):
    """Sketch one set into the K bins of `out`: Fast Similarity Sketching (Dahlgaard et al. 2017).

    In round i every element draws a bin and a fraction v from a hash of its own, and the bin keeps
    the least i + v, here as i * 2**32 + v. Rounds end when no bin is empty; from round K on all
    elements draw bin i - K, so that 2K rounds always suffice. An element draws the same in every
    set, so sets agree in a bin with probability equal to their similarity. O(n + K log K) hashes.
    """
    bins = len(out)
    out[:] = EMPTY
    if len(elements) == 0:
        return
    low = np.uint64(0xFFFFFFFF)
    step = seed
    filled = 0  # the bins before this one are filled, and stay so
    for i in range(2 * bins):
        step += GOLDEN
        round_ = np.uint64(i) << np.uint64(32)
        if i < bins:
            for x in elements:
                draw = mix(x ^ step)
                b = ((draw >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)
                out[b] = min(out[b], round_ | (draw & low))
        elif out[i - bins] == EMPTY:
            for x in elements:
                out[i - bins] = min(out[i - bins], round_ | (mix(x ^ step) & low))
        while out[filled] != EMPTY:
            filled += 1
            if filled == bins:
                return


@kernel
def sketch_rows(indptr, elements, seed, hashes):
    """Return the signatures of all rows, rows x hashes. An empty row has EMPTY everywhere."""
    out = np.empty((len(indptr) - 1, hashes), np.uint64)
    for row in range(len(out)):
        sketch(elements[indptr[row] : indptr[row + 1]], seed, out[row])
    return out


@kernel
def fold_bands(signatures, bands, rows):
    """Return one key per band, a hash of its `rows` values, items x bands; EMPTY if a value is."""
    out = np.empty((len(signatures), bands), np.uint64)
    for item in range(len(signatures)):
        for band in range(bands):
            key = np.uint64(0)
            nowhere = False
            for row in range(band * rows, (band + 1) * rows):
                key = (key ^ mix(signatures[item, row])) * BASE
                nowhere |= signatures[item, row] == EMPTY
            out[item, band] = EMPTY if nowhere else mix(key)
    return out


@kernel
def count_agreements(signatures, places):
    """Return how many pairs of rows agree in 0, 1, ... K positions; EMPTY agrees with nothing.

    The second row of the result counts the pairs from one place, the first row all others.
    """
    items, hashes = signatures.shape
    out = np.zeros((2, hashes + 1), np.int64)
    for a in range(items):
        for b in range(a):
            same = 0
            for i in range(hashes):
                same += signatures[a, i] == signatures[b, i] and signatures[a, i] != EMPTY
            out[np.int64(places[a] == places[b]), same] += 1
    return out
