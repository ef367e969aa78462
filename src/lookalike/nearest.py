"""The k nearest: how far an item's k-th neighbour is, and which of the pairs found are of its first k."""

import numpy as np

from lookalike.run import Run, slices
from lookalike.spaces import Space

ROWS, COLUMNS = 256, 1 << 14  # of distances that are looked at at a time


def reach(space: Space, left: np.ndarray, right: np.ndarray, k: int, run: Run) -> np.ndarray:
    """How far each of `left` has to look to see k of `right`, or all if there are fewer: values of the measure.

    Which k are nearest is told from distances that are about right; how far they are is measured exactly. So the k
    nearest of all are never farther than this, and neither are the k nearest of any more items than `right`.
    """
    k = min(k, len(right))

    def work(part: slice) -> np.ndarray:
        rows = left[part]
        best, chosen = np.empty((len(rows), 0)), np.empty((len(rows), 0), np.int64)
        for block in slices(len(right), COLUMNS):
            some = right[block]
            best = np.concatenate((best, space.between(rows, some)), axis=1)
            chosen = np.concatenate((chosen, np.broadcast_to(some, (len(rows), len(some)))), axis=1)
            if best.shape[1] > k:
                first = np.argpartition(best, k - 1, axis=1)[:, :k]
                best, chosen = np.take_along_axis(best, first, axis=1), np.take_along_axis(chosen, first, axis=1)
        values = space.measured(np.repeat(rows, k), chosen.ravel()).reshape(len(rows), k)
        farthest: np.ndarray = values.min(axis=1) if space.alike else values.max(axis=1)
        return farthest

    found = [space.measured(left[:0], left[:0])]
    with run.stage("look for neighbours", len(left)) as tick:
        for one in run.map(work, slices(len(left), ROWS)):
            found.append(one)
            tick(len(one))
    return np.concatenate(found)


def first_k(left: np.ndarray, right: np.ndarray, values: np.ndarray, k: int, alike: bool) -> np.ndarray:
    """The places of the k best pairs of each left item, best first; of equally good ones those that come first."""
    order = np.lexsort((right, -values if alike else values, left))
    ordered = left[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    chosen: np.ndarray = order[rank < k]
    return chosen
