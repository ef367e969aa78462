"""The k nearest: exactly, block by block, and which of the pairs found are of an item's first k."""

import numpy as np

from lookalike.core.run import Run, Tick, slices
from lookalike.search.spaces import Space
from lookalike.search.tables import near_some

ROWS = 4096  # items whose neighbours are looked for at a time
FEW, LOOK = 512, 1024  # items of which all distances are looked at, and from how many at a time
SHARE = 16  # of more, one in so many tells how far to look


def nearest(
    space: Space, left: np.ndarray, right: np.ndarray, k: int, run: Run, tick: Tick = lambda amount: None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k of `right` nearest to each of `left`, or all if there are fewer: (left, right, values), best first."""
    found = [(left[:0], right[:0], space.measured(left[:0], right[:0]))]
    for part in slices(len(left) if len(right) else 0, ROWS):
        one, other, values = near_some(space, left[part], right, run, reach(space, left[part], right, k, run))
        best = first_k(one, other, values, k, space.alike)
        found.append((one[best], other[best], values[best]))
        tick(part.stop - part.start)
    one, other, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return one, other, values


def reach(space: Space, left: np.ndarray, right: np.ndarray, k: int, run: Run) -> np.ndarray:
    """How far each of `left` has to look, at most, to see k of `right`, or all if there are fewer.

    The k-th nearest of a part is no nearer than that of the whole, so of many a random part tells. Of few all distances
    are looked at: which are least is told from about right ones, how far those k are exactly.
    """
    k = min(k, len(right))
    if len(right) > max(FEW, 2 * k):
        order = np.random.default_rng(len(right)).permutation(len(right))
        some = right[np.sort(order[: max(FEW, 2 * k, len(right) // SHARE)])]
        return last_of(nearest(space, left, some, k, run)[2], len(left))
    far = [space.measured(left[:0], left[:0])]
    for part in slices(len(left), LOOK):
        rows = left[part]
        chosen = right[np.argpartition(space.between(rows, right), k - 1, axis=1)[:, :k]]
        values = space.measured(np.repeat(rows, k), chosen.ravel()).reshape(len(rows), k)
        far.append(values.min(axis=1) if space.alike else values.max(axis=1))
    return np.concatenate(far)


def last_of(values: np.ndarray, items: int) -> np.ndarray:
    """The last value of each item's equally many."""
    return values.reshape(items, -1)[:, -1]


def first_k(left: np.ndarray, right: np.ndarray, values: np.ndarray, k: int, alike: bool) -> np.ndarray:
    """The places of the k best pairs of each left item, best first; of equally good ones those that come first."""
    order = np.lexsort((right, -values if alike else values, left))
    ordered = left[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    chosen: np.ndarray = order[rank < k]
    return chosen
