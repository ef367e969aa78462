"""Group identical items, so that each group is handled as its first item until the end."""

from dataclasses import dataclass
from threading import Lock

import numpy as np

from lookalike.core.arrays import join_arrays, take
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.sets import add_rows
from lookalike.theory.banding import all_pairs, in_buckets, too_many
from lookalike.theory.sorting import order_of

PAIRS = 1 << 17  # pairs per task


@dataclass(frozen=True)
class Groups:
    """Items grouped by content: `first` maps each item to the head of its group, or to -1.

    `heads` are the items that stand for a group, in ascending order.
    """

    first: np.ndarray
    heads: np.ndarray

    @property
    def identical(self) -> int:
        """The number of items that are identical to an earlier one."""
        return int(np.count_nonzero(self.first >= 0)) - len(self.heads)

    def spread(
        self,
        left: np.ndarray,
        right: np.ndarray,
        values: np.ndarray,
        own: np.ndarray,
        sides: Sides,
        limit: int,
        directed: bool = False,
        run: Run = ONE_THREAD,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expand pairs of heads to pairs of all items: (left, right, values), in order of position.

        `own` is the value of each head with an item identical to it. Directed pairs keep their
        direction, and identical items form a pair in both directions.
        """
        if not self.identical and not directed and len(left) <= limit:
            before = (left[:-1] < left[1:]) | ((left[:-1] == left[1:]) & (right[:-1] < right[1:]))
            if before.all() and (left < right).all():  # already in order
                return left, right, values
        items = np.argsort(self.first, kind="stable")
        items = items[np.searchsorted(self.first[items], 0) :]  # by group; items without a group come first
        starts = np.searchsorted(self.first[items], np.append(self.heads, len(self.first)))
        sizes: np.ndarray = np.diff(starts)
        groups: np.ndarray = np.empty(len(self.first), np.int64)  # of the heads; to search for them takes longer
        groups[self.heads] = np.arange(len(self.heads))
        tasks = slices(len(left), PAIRS)

        def places(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            a, b = groups[left[part]], groups[right[part]]
            return a, b, sizes[a] * sizes[b]

        counts = run.map(lambda part: int(places(part)[2].sum()), tasks)
        none = sides.two or sides.groups is not None  # identical items are then on one side, or in one group
        alike = np.zeros_like(sizes) if none else sizes * (sizes - 1) // 2  # pairs of identical items
        total = sum(counts) + (1 + directed) * int(alike.sum())
        if total > limit:
            raise too_many(total, limit)

        def expand(part: slice) -> tuple[np.ndarray, ...]:
            a, b, times = places(part)
            number = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)  # within its pair
            width = np.repeat(sizes[b], times)
            one = items[np.repeat(starts[a], times) + number // np.maximum(width, 1)]
            other = items[np.repeat(starts[b], times) + number % np.maximum(width, 1)]
            return one, other, np.repeat(values[part], times)

        found: tuple[list[np.ndarray], ...] = ([items[:0]], [items[:0]], [values[:0]])
        for part in run.map(expand, tasks):
            for column, some in zip(found, part, strict=True):
                column.append(some)
        one, other, values = (join_arrays(column, run) for column in found)
        if alike.any():
            same, twin = all_pairs(starts[: len(self.heads) + 1], items, int(alike.sum()))
            mine = np.repeat(own, alike)
            one, other, values = (np.concatenate(two) for two in ((one, same), (other, twin), (values, mine)))
            if directed:
                one, other, values = (np.concatenate(two) for two in ((one, twin), (other, same), (values, mine)))
        if not directed:
            one, other = np.minimum(one, other), np.maximum(one, other)
        order = order_of(one * len(self.first) + other, run)
        return take(one, order, run), take(other, order, run), take(values, order, run)


class Contents:
    """The contents met so far, each as two hashes; threads can share it."""

    def __init__(self) -> None:
        self._table, self._held, self._lock = np.zeros((1 << 10, 2), np.uint64), 0, Lock()

    def add(self, contents: np.ndarray) -> np.ndarray:
        """Add contents; return which of them are new."""
        with self._lock:
            if 2 * (self._held + len(contents)) > len(self._table):
                there = self._table[self._table.any(axis=1)]
                self._table = np.zeros((1 << (4 * (self._held + len(contents))).bit_length(), 2), np.uint64)
                add_rows(self._table, there)
            new: np.ndarray = add_rows(self._table, contents)
            self._held += int(np.count_nonzero(new))
            return new


def first_of(contents: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return, for each item that is not known, a known item with the same content, which must exist."""
    rows, others = np.flatnonzero(known), np.flatnonzero(~known)
    rows = rows[np.argsort(contents[rows, 0])]
    places = np.searchsorted(contents[rows, 0], contents[others, 0])
    while (wrong := contents[rows[places], 1] != contents[others, 1]).any():  # hardly ever: the first hashes agree
        places[wrong] += 1
    found: np.ndarray = rows[places]
    return found


def group_identical(
    contents: np.ndarray, order: np.ndarray, sides: Sides = ALONE, memory: int | None = None, run: Run = ONE_THREAD
) -> Groups:
    """Group the items in `order` by content; the first of a group in that order stands for it.

    `contents` holds two 64-bit hashes per item. Two collections have no groups in common.
    """
    first = np.full(len(contents), -1)
    for side in sides.apart(order) if sides.two else [order]:
        indptr, items = in_buckets(contents[side, 0], memory, run)
        head = np.arange(len(side))
        leader = np.repeat(items[indptr[:-1]], np.diff(indptr))
        same = (contents[side[items]] == contents[side[leader]]).all(axis=1)
        head[items[same]] = leader[same]
        first[side] = side[head]
    return Groups(first, np.flatnonzero(first == np.arange(len(first))))
