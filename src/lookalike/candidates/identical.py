"""Identical items: each group of them is handled as its first item until the end."""

from dataclasses import dataclass

import numpy as np

from lookalike.candidates.banding import all_pairs, sort_keys, too_many
from lookalike.kernels.buckets import ONE, members


@dataclass(frozen=True)
class Groups:
    """Items by content: `first` of an item (by position) is the item that stands for its group, -1 for none.

    `heads` are the items that stand for a group, in ascending order.
    """

    first: np.ndarray
    heads: np.ndarray

    @property
    def identical(self) -> int:
        """How many items are the same as an earlier one."""
        return int(np.count_nonzero(self.first >= 0)) - len(self.heads)

    def spread(
        self, left: np.ndarray, right: np.ndarray, similarity: np.ndarray, split: int, limit: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of heads to pairs of all items: (left, right, similarity), in order of position."""
        items = np.argsort(self.first, kind="stable")
        items = items[np.searchsorted(self.first[items], 0) :]  # by group; those of no group come first
        starts = np.searchsorted(self.first[items], np.append(self.heads, len(self.first)))
        sizes = np.diff(starts)
        a, b = np.searchsorted(self.heads, left), np.searchsorted(self.heads, right)
        counts = sizes[a] * sizes[b]
        within = 0 if split != ONE else int((sizes * (sizes - 1) // 2).sum())
        if counts.sum() + within > limit:
            raise too_many(int(counts.sum() + within), limit)
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)  # within its pair
        width = np.repeat(sizes[b], counts)
        one = items[np.repeat(starts[a], counts) + number // np.maximum(width, 1)]
        other = items[np.repeat(starts[b], counts) + number % np.maximum(width, 1)]
        similarity = np.repeat(similarity, counts)
        if within:
            same, alike = all_pairs(starts[: len(self.heads) + 1], items, within)
            one, other = np.concatenate((one, same)), np.concatenate((other, alike))
            similarity = np.concatenate((similarity, np.ones(within)))
        left, right = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((right, left))
        return left[order], right[order], similarity[order]


def group_identical(contents: np.ndarray, order: np.ndarray, split: int = ONE) -> Groups:
    """Group the items in `order` by content; the first of a group in that order stands for it.

    `contents` holds two 64-bit hashes an item. Items on the two sides of a `split` are never in one group.
    """
    first = np.full(len(contents), -1)
    for side in (order[order < split], order[order >= split]):
        keys = contents[side]
        indptr, items = members(*sort_keys(np.ascontiguousarray(keys[:, 0])))
        head = np.arange(len(side))
        leader = np.repeat(items[indptr[:-1]], np.diff(indptr))
        same = (keys[items] == keys[leader]).all(axis=1)
        head[items[same]] = leader[same]
        first[side] = side[head]
    return Groups(first, np.flatnonzero(first == np.arange(len(first))))
