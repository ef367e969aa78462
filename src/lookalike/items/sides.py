"""One collection, or two that are matched: which of the positions belong to which."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.kernels.buckets import ONE


@dataclass(frozen=True)
class Sides:
    """One collection, or two to be matched, whose items are numbered one after the other.

    >>> Sides.of([3, 2]).split, Sides.of([3]).split == ONE
    (3, True)
    """

    first: int | None = None  # items of the first of two collections; None if there is just one

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Sides":
        """From the sizes of one collection or two."""
        return cls(sizes[0] if len(sizes) > 1 else None)

    @property
    def two(self) -> bool:
        """Whether there are two collections."""
        return self.first is not None

    @property
    def split(self) -> int:
        """Where the second collection begins, as kernels take it."""
        return ONE if self.first is None else self.first

    @property
    def offset(self) -> int:
        """The position of the first item of the side that right items are of."""
        return self.first or 0

    def among(self, rows: np.ndarray) -> "Sides":
        """The sides of ascending rows, numbered anew."""
        return self if self.first is None else Sides(int(np.searchsorted(rows, self.first)))

    def apart(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of each side; of one collection all rows are on both."""
        return (rows, rows) if self.first is None else (rows[rows < self.first], rows[rows >= self.first])

    def across(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Which pairs, left before right, count: of two collections those across."""
        counts: np.ndarray = np.ones(len(left), np.bool_)
        return counts if self.first is None else (left < self.first) & (right >= self.first)


ALONE = Sides()  # one collection
