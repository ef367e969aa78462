"""Which positions belong to which collection, for one collection or for two that are matched."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lookalike.kernels.buckets import ONE

SIDE_NAMES = ("left", "right")  # in results


@dataclass(frozen=True)
class Sides:
    """One collection, or two to match, with consecutive numbers: left first, then right.

    >>> Sides.of([3, 2]).split, Sides.of([3]).split == ONE
    (3, True)
    """

    first: int | None = None  # number of items in the left collection; None if there is just one
    same: bool = False  # whether both are one collection, listed twice to find the neighbours of its items
    groups: np.ndarray | None = field(default=None, compare=False)  # of items that form no pairs with their own

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Sides":
        """Make sides from the sizes of one collection or two."""
        return cls(sizes[0] if len(sizes) > 1 else None)

    @property
    def two(self) -> bool:
        """Return whether there are two collections."""
        return self.first is not None

    @property
    def split(self) -> int:
        """Return where the right collection begins, in the form that kernels expect."""
        return ONE if self.first is None else self.first

    @property
    def offset(self) -> int:
        """Return the position of the first item that can be on the right of a pair."""
        return self.first or 0

    def among(self, rows: np.ndarray) -> "Sides":
        """Return the sides of some rows, which ascend and are renumbered from 0."""
        groups = None if self.groups is None else self.groups[rows]
        if self.first is None:
            return self if groups is None else Sides(groups=groups)
        return Sides(int(np.searchsorted(rows, self.first)), self.same, groups)

    def apart(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of each side; with one collection, all rows are on both."""
        return (rows, rows) if self.first is None else (rows[rows < self.first], rows[rows >= self.first])

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return which pairs (left < right) count: with two collections, or with groups, those between them."""
        counts: np.ndarray = np.ones(len(left), np.bool_)
        if self.first is not None:
            counts = (left < self.first) & (right >= self.first)
        if self.groups is not None:
            counts &= self.groups[left] != self.groups[right]
        return counts


ALONE = Sides()  # one collection
