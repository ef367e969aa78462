"""Sort keys and numbers, in several threads."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lookalike.core.arrays import even_slices, join_arrays
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.kernels.sorting import count_parts, place_keys, place_whole, sort_parts

SLICE = 1 << 18  # keys per task
PART = 14  # a part has about 2**14 keys, which the processor's cache holds,
MOST_PARTS = 11  # unless more than 2**11 parts were needed
SAMPLE = 64  # numbers of a slice that show how all are spread


def sort_keys(keys: np.ndarray, run: Run = ONE_THREAD) -> tuple[np.ndarray, np.uint64]:
    """Sort keys together with their positions: (ordered, mask).

    Each number holds the high bits of a key, and the key's position in the bits of the mask. Keys
    lose their low bits: with a million items 44 bits remain, and false matches are found later.
    """
    mask, high = low_bits(len(keys)), min(max(len(keys).bit_length() - PART, 1), MOST_PARTS)
    tasks, bounds, places = _places(keys, high, run)
    out = np.empty(len(keys), np.uint64)

    def place(at: int) -> None:
        place_keys(keys[tasks[at]], tasks[at].start, high, mask, places(at), out)

    run.each(place, range(len(tasks)))
    run.each(lambda part: sort_parts(out, bounds[part.start : part.stop + 1], high), even_slices(bounds, SLICE))
    return out, mask


def keys_in_parts(
    keys: np.ndarray, high: int, empty: Callable[[str, int, Any], np.ndarray], run: Run
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put keys with the same `high` highest bits together: (keys, positions, bounds), in order within a part.

    `empty` makes the arrays. All are read and written from one end to the other, so they can be in files.
    """
    tasks, bounds, places = _places(keys, high, run)
    out, numbers = empty("keys", len(keys), np.uint64), empty("numbers", len(keys), np.int64)

    def place(at: int) -> None:
        place_whole(keys[tasks[at]], tasks[at].start, high, places(at), out, numbers)

    run.each(place, range(len(tasks)))
    return out, numbers, bounds


def _places(keys: np.ndarray, high: int, run: Run) -> tuple[list[slice], np.ndarray, Callable[[int], np.ndarray]]:
    """Return slices of the keys, the bounds of all parts, and where the keys of a slice begin in each part."""
    tasks = slices(len(keys), SLICE)
    counts = np.zeros((1 << high, len(tasks) + 1), np.int64)  # of each part in each slice, after a column of zeros
    for at, counted in enumerate(run.map(lambda task: count_parts(keys[task], high), tasks)):
        counts[:, at + 1] = counted
    bounds = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    places = np.cumsum(counts, axis=1)[:, :-1] + bounds[:-1, None]
    return tasks, bounds, lambda at: np.ascontiguousarray(places[:, at])


def low_bits(items: int) -> np.uint64:
    """Return a mask of the low bits that hold the numbers of this many items."""
    return np.uint64((1 << max(1, (items - 1).bit_length())) - 1)


def order_of(keys: np.ndarray, run: Run) -> np.ndarray:
    """Return the order of numbers, however they are spread.

    Equal ones stay in the order given if they are small: with its position, a number has 63 bits.

    Slices are sorted first; then each task sorts what all of them have in one range of numbers. Some
    numbers of each slice show where ranges of about equal size begin.
    """
    tasks = slices(len(keys), SLICE)
    if len(tasks) < 2 or run.threads == 1:
        return _order(keys)
    places = list(run.map(lambda part: part.start + _order(keys[part]), tasks))
    some = np.sort(np.concatenate([keys[place[:: len(place) // SAMPLE + 1]] for place in places]))
    firsts = some[SAMPLE::SAMPLE]
    cuts = list(run.map(lambda place: [0, *np.searchsorted(keys[place], firsts).tolist(), len(place)], places))

    def merge(at: int) -> np.ndarray:
        found = np.concatenate([place[cut[at] : cut[at + 1]] for place, cut in zip(places, cuts, strict=True)])
        ordered: np.ndarray = found[_order(keys[found])]
        return ordered

    return join_arrays(list(run.map(merge, range(len(firsts) + 1))), run)


def best_first(values: np.ndarray, scores: np.ndarray, run: Run) -> np.ndarray:
    """Return the order of items from the highest value to the lowest; of one value, by falling score, then as given.

    Each task sorts the items in one range of values. Some values show where ranges of about equal
    size begin.
    """
    some = np.sort(values[:: len(values) // (SAMPLE * SAMPLE) + 1])
    firsts = np.unique(some[SAMPLE::SAMPLE])
    parts = slices(len(values), SLICE)
    joined = join_arrays(list(run.map(lambda part: np.searchsorted(firsts, values[part], side="right"), parts)), run)

    def sort(at: int) -> np.ndarray:
        items = np.flatnonzero(joined == at)
        ordered: np.ndarray = items[np.lexsort((-scores[items], -values[items]))]
        return ordered

    return join_arrays(list(run.map(sort, reversed(range(len(firsts) + 1)))), run)


def _order(keys: np.ndarray) -> np.ndarray:
    """Return the order of numbers, sorted together with their positions if both fit."""
    if not len(keys):
        return np.zeros(0, np.int64)
    bits, low = len(keys).bit_length(), keys.min()
    if (int(keys.max()) - int(low)) << bits >= 1 << 63:
        return np.argsort(keys)
    order: np.ndarray = np.sort(((keys - low) << bits) | np.arange(len(keys))) & ((1 << bits) - 1)
    return order
