"""Cut large arrays into tasks of equal work, and join the results."""

from itertools import pairwise
from typing import Any

import numpy as np

from lookalike.core.run import Run, slices

SLICE = 1 << 18  # values per task


def even_slices(bounds: np.ndarray, step: int) -> list[slice]:
    """Cut items into slices of about `step` units of work; item i does bounds[i + 1] - bounds[i].

    >>> even_slices(np.array([0, 1, 2, 3, 9, 10]), 3)
    [slice(0, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    cuts = np.searchsorted(bounds, np.arange(0, bounds[-1], step))
    return [slice(start, stop) for start, stop in pairwise(np.unique([*cuts, len(bounds) - 1]).tolist())]


def join_arrays(parts: list[Any], run: Run) -> np.ndarray:
    """Return all parts in one array; the list is emptied, so that each part's memory can be freed."""
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    out = np.empty(bounds[-1], parts[0].dtype if parts else np.int64)

    def copy(at: int) -> None:
        out[bounds[at] : bounds[at + 1]] = parts[at]
        parts[at] = None

    run.each(copy, range(len(parts)))
    parts.clear()
    return out


def take(values: np.ndarray, places: np.ndarray, run: Run) -> np.ndarray:
    """Return the values at these places."""
    out = np.empty(len(places), values.dtype)

    def copy(part: slice) -> None:
        out[part] = values[places[part]]

    run.each(copy, slices(len(places), SLICE))
    return out
