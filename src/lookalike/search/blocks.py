"""Cut buckets into blocks of pairs, and group blocks into tasks of about equal work."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.items.sides import Sides

SIDE = 2048  # items per block
REACH = 8192  # the most items that a block is compared with
GATHERED = 64  # reading an item takes about as long as comparing this many pairs


class Blocks(NamedTuple):
    """Items in order of their buckets, and blocks of pairs that share one: see `kernels.near`."""

    order: np.ndarray
    rectangles: np.ndarray

    @property
    def pairs(self) -> int:
        """The number of pairs in the blocks."""
        a, b = self._sides()
        same = self.rectangles[:, 0] == self.rectangles[:, 2]
        return int(np.where(same, a * (b - 1) // 2, a * b).sum())

    def tasks(self, area: int) -> list[np.ndarray]:
        """Group the blocks into tasks that take about as long as `area` pairs."""
        a, b = self._sides()
        work = np.cumsum(a * b + GATHERED * (a + b))
        return np.split(self.rectangles, 1 + np.flatnonzero(np.diff(work // area)))

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how many items each block has on its two sides."""
        return self.rectangles[:, 1] - self.rectangles[:, 0], self.rectangles[:, 3] - self.rectangles[:, 2]


def make_blocks(indptr: np.ndarray, items: np.ndarray, sides: Sides) -> Blocks:
    """Return blocks of the buckets items[indptr[b]:indptr[b + 1]].

    With two collections, only pairs across them are in the blocks, and those of the first come first in a bucket.
    """
    starts, stops = indptr[:-1], indptr[1:]
    if not sides.two:
        blocks = np.stack((starts, stops, starts, stops), axis=1)
    else:
        firsts = np.cumsum(np.concatenate(([0], items < sides.split)))  # of the first collection before each position
        middles = starts + firsts[stops] - firsts[starts]
        blocks = np.stack((starts, middles, middles, stops), axis=1)
    return Blocks(items, cut(blocks))


def make_probed_blocks(indptr: np.ndarray, items: np.ndarray, own: np.ndarray, sides: Sides) -> Blocks:
    """Return blocks of buckets in which the items that probe, not `own`, follow those that belong there."""
    owners = np.cumsum(np.concatenate(([0], own)))
    firsts = np.cumsum(np.concatenate(([0], own & (items < sides.split))))  # of the first collection, if there are two
    starts, stops = indptr[:-1], indptr[1:]
    ends = starts + owners[stops] - owners[starts]  # of the items in their own bucket
    middles = starts + firsts[stops] - firsts[starts]  # ends of the first collection's items
    return Blocks(items, cut(np.concatenate((
        np.stack((starts, middles, middles, ends) if sides.two else (starts, ends, starts, ends), axis=1),
        np.stack((ends, stops, middles, ends), axis=1),
    ))))  # fmt: skip


def cut(blocks: np.ndarray) -> np.ndarray:
    """Split blocks that are too large, and remove empty ones."""
    blocks = blocks[(blocks[:, 1] > blocks[:, 0]) & (blocks[:, 3] > blocks[:, 2])]
    small = (blocks[:, 1] - blocks[:, 0] <= SIDE) & (blocks[:, 3] - blocks[:, 2] <= REACH)
    large = [block for one in blocks[~small].tolist() for block in _cut(*one)]
    return np.concatenate((np.array(large, np.int64).reshape(-1, 4), blocks[small]))


def _cut(a0: int, a1: int, b0: int, b1: int) -> Iterator[tuple[int, int, int, int]]:
    """Split a large block into smaller ones."""
    for start in range(a0, a1, SIDE):
        stop = min(start + SIDE, a1)
        first = b0
        if a0 == b0:
            yield start, stop, start, stop
            first = stop
        for other in range(first, b1, REACH):
            yield start, stop, other, min(other + REACH, b1)
