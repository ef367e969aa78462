"""Find the k nearest items exactly, block by block, and choose the k best pairs of each item."""

from collections import defaultdict
from itertools import pairwise

import numpy as np

from lookalike.core.run import Run, Tick, slices
from lookalike.search.on_device import Joiner
from lookalike.search.spaces import Space
from lookalike.search.tables import near_blocks

ROWS = 1 << 14  # items whose neighbours are searched at a time
CHOSEN = 256  # items whose neighbours a task chooses
FEW = 512  # up to this many items, all distances are computed
PART, MOST_PARTS = 1 << 16, 64  # pairs sorted per task; each task looks through all pairs for its own
SHARE = 16  # of more items, one in SHARE shows how far to look
SHARE_ON_DEVICE = 4  # the same for a device, which compares far faster than pairs are measured


def nearest(
    space: Space,
    left: np.ndarray,
    right: np.ndarray,
    k: int,
    run: Run,
    tick: Tick = lambda amount: None,
    joiner: Joiner | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k of `right` nearest to each of `left`, best first: (left, right, values).

    Items of `left` ascend, and all come before those of `right`. With a joiner, a device finds them.
    """
    found = [(left[:0], right[:0], space.measured(left[:0], right[:0]))]
    for part in slices(len(left) if len(right) else 0, ROWS):
        found += choose(space, left[part], right, k, run, joiner)
        tick(part.stop - part.start)
    one, other, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return one, other, values


def choose(
    space: Space, left: np.ndarray, right: np.ndarray, k: int, run: Run, joiner: Joiner | None = None
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the k nearest of some items, in parts, in order."""
    bounds = np.zeros_like(space.bounds)
    bounds[left] = space.bound(reach(space, left, right, k, run, joiner))
    near: dict[int, list[np.ndarray]] = defaultdict(list)  # by the first item of a block
    tasks = []
    for block, numbers in near_blocks(space, left, right, bounds, run, joiner):
        if block.start not in near:
            tasks += [(block.start, left[block][part]) for part in slices(block.stop - block.start, CHOSEN)]
        near[block.start].append(numbers)

    def work(task: tuple[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        block, items = task
        ends = items[0] * len(space), (items[-1] + 1) * len(space)
        some = [numbers[slice(*np.searchsorted(numbers, ends))] for numbers in near[block]]
        one, other = np.divmod(np.concatenate(some), len(space))
        values = space.measured(one, other)
        best = first_k(one, other, values, k, space.alike)
        return one[best], other[best], values[best]

    return list(run.map(work, tasks))


def reach(
    space: Space, left: np.ndarray, right: np.ndarray, k: int, run: Run, joiner: Joiner | None = None
) -> np.ndarray:
    """Return how far each of `left` must look, at most, to see k of `right`, or all of fewer.

    A part's k-th nearest is no nearer than that of the whole, so of many items a random part is
    used. Of few, approximate distances select the k nearest, which are then measured exactly.
    """
    k = min(k, len(right))
    if len(right) > max(FEW, 2 * k):
        order = np.random.default_rng(len(right)).permutation(len(right))
        share = SHARE if joiner is None else SHARE_ON_DEVICE
        some = right[np.sort(order[: max(FEW, 2 * k, len(right) // share)])]
        return last_of(nearest(space, left, some, k, run, joiner=joiner)[2], len(left))

    def work(part: slice) -> np.ndarray:
        rows = left[part]
        chosen = right[np.argpartition(space.between(rows, right), k - 1, axis=1)[:, :k]]
        values = space.measured(np.repeat(rows, k), chosen.ravel()).reshape(len(rows), k)
        far: np.ndarray = values.min(axis=1) if space.alike else values.max(axis=1)
        return far

    return np.concatenate([space.measured(left[:0], left[:0]), *run.map(work, slices(len(left), CHOSEN))])


def last_of(values: np.ndarray, items: int) -> np.ndarray:
    """Return the last value of each item; all items have equally many."""
    return values.reshape(items, -1)[:, -1]


def both_directions(
    left: np.ndarray, right: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List each pair of one collection twice: as (left, right) and as (right, left)."""
    return np.concatenate((left, right)), np.concatenate((right, left)), np.concatenate((values, values))


def first_k(
    left: np.ndarray, right: np.ndarray, values: np.ndarray, k: int, alike: bool, run: Run | None = None
) -> np.ndarray:
    """Return the positions of each left item's k best pairs, best first; the first wins a tie.

    Threads sort the pairs of some of the items each.
    """
    parts = min(MOST_PARTS, 1 + len(left) // PART)
    drawn = np.sort(left[:: 1 + len(left) // (64 * parts)])
    cuts = [0, *np.unique(drawn[len(drawn) * np.arange(1, parts) // parts]).tolist(), left.max(initial=0) + 1]

    def work(ends: tuple[int, int]) -> np.ndarray:
        places = np.flatnonzero((left >= ends[0]) & (left < ends[1]))
        some = values[places]
        order = np.lexsort((right[places], -some if alike else some, left[places]))
        ordered = left[places[order]]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return places[order[rank < k]]

    return np.concatenate(list((run or Run(1)).map(work, pairwise(cuts))))
