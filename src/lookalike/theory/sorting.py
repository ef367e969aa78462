"""Sort keys, in several threads."""

import numpy as np

from lookalike.core.arrays import even_slices
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.kernels.sorting import count_parts, place_keys, sort_parts

SLICE = 1 << 18  # keys per task
PART = 14  # a part has about 2**14 keys, which the processor's cache holds,
MOST_PARTS = 11  # unless more than 2**11 parts were needed


def sort_keys(keys: np.ndarray, run: Run = ONE_THREAD) -> tuple[np.ndarray, np.uint64]:
    """Sort keys together with their positions: (ordered, mask).

    Each number holds the high bits of a key, and the key's position in the bits of the mask. Keys
    lose their low bits: with a million items 44 bits remain, and false matches are found later.
    """
    mask, high = low_bits(len(keys)), min(max(len(keys).bit_length() - PART, 1), MOST_PARTS)
    tasks = slices(len(keys), SLICE)
    counts = np.zeros((1 << high, len(tasks) + 1), np.int64)  # of each part in each slice, after a column of zeros
    for at, counted in enumerate(run.map(lambda task: count_parts(keys[task], high), tasks)):
        counts[:, at + 1] = counted
    bounds = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    places = np.cumsum(counts, axis=1)[:, :-1] + bounds[:-1, None]
    out = np.empty(len(keys), np.uint64)

    def place(at: int) -> None:
        start = tasks[at].start
        place_keys(keys[tasks[at]], start, high, mask, np.ascontiguousarray(places[:, at]), out)

    run.each(place, range(len(tasks)))
    run.each(lambda part: sort_parts(out, bounds[part.start : part.stop + 1], high), even_slices(bounds, SLICE))
    return out, mask


def low_bits(items: int) -> np.uint64:
    """Return a mask of the low bits that hold the numbers of this many items."""
    return np.uint64((1 << max(1, (items - 1).bit_length())) - 1)
