"""Grid squares, the family for fingerprints: prints collide if both fill a function's squares."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, fraction, whole
from lookalike.families.base import Family
from lookalike.families.draws import samples
from lookalike.kernels.hashing import EMPTY


class GridSquares(Family):
    """`hashes` functions, each a set of `squares` random squares of a grid of `cells`.

    A print is the set of grid squares that hold a minutia. A function has one bucket, for the
    prints with minutiae in all its squares; it says nothing about others. The measure is a
    containment: the share c of one print's minutiae that the other has too. If a share `density` of
    all squares has a minutia, both are in the bucket with probability (density * c) ** squares.
    Prints of the same finger have, say, c = 0.8; those of different fingers, c = density.

    >>> same_finger, different = 1 - 0.8, 1 - 0.2
    >>> [round(p, 6) for p in GridSquares(squares=3, density=0.2).sensitivity(same_finger, different)[2:]]
    [0.004096, 6.4e-05]
    """

    measure = "containment"

    def __init__(self, squares: int = 3, hashes: int = 1024, cells: int = 400, density: float = 0.2, seed: int = 1):
        self.squares = whole("squares", squares)
        self.hashes = whole("hashes", hashes)
        self.cells = whole("cells", cells)
        self.density = fraction("density", density)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        if self.squares > self.cells:
            raise UsageError(f"squares must be at most {self.cells}, the number of cells; got {self.squares}.")
        self._chosen: np.ndarray | None = None

    @classmethod
    def from_squares(cls, functions: Sequence[Sequence[int]], cells: int, density: float = 0.2) -> "GridSquares":
        """Make functions from sequences of cell numbers, counted from 0, all of the same length.

        >>> family = GridSquares.from_squares([(0, 1), (1, 2)], cells=4)
        >>> (family.signatures([{0, 1, 2}, {1, 2, 3}]) == 0).tolist()
        [[True, True], [False, True]]
        """
        sizes = {len(function) for function in functions}
        if len(sizes) != 1:
            raise UsageError("give at least one function; all must have the same number of squares.")
        family = cls(sizes.pop(), hashes=len(functions), cells=cells, density=density)
        given = [[whole("square", cell, least=0, most=cells - 1) for cell in function] for function in functions]
        for function in given:
            if len(set(function)) < len(function):
                raise UsageError(f"the squares of a function must be different; got {function}.")
        family._chosen = np.array(given)
        return family

    @property
    def chosen(self) -> np.ndarray:
        """Return the squares of each function: an array hashes x squares."""
        if self._chosen is None:
            self._chosen = samples(self.seed, self.hashes, self.squares, self.cells)
        return self._chosen

    def _law(self, distance: np.ndarray) -> np.ndarray:
        law: np.ndarray = (self.density * (1 - distance)) ** self.squares
        return law

    def _distance(self, share: float) -> float:
        return float(max(0.0, 1 - share ** (1 / self.squares) / self.density))

    def signatures(self, items: Any) -> np.ndarray:
        """Return 0 where a print fills all squares of a function, else EMPTY: items x hashes."""
        present = self._grid(items)
        inside = np.ones((len(present), self.hashes), np.bool_)
        for square in self.chosen.T:
            inside &= present[:, square]
        return np.where(inside, np.uint64(0), EMPTY)

    def _grid(self, items: Any) -> np.ndarray:
        """Return which cells hold a minutia, items x cells, given that or as sets of cells."""
        if isinstance(items, np.ndarray):
            if items.ndim != 2 or items.shape[1] != self.cells or items.dtype.kind not in "biu":
                got = f"shape {items.shape} of {items.dtype}"
                raise DataError(f"items must be rows of {self.cells} truth values, one per cell; got {got}.")
            return items.astype(np.bool_)
        prints: list[Any] = list(items)
        grid = np.zeros((len(prints), self.cells), np.bool_)
        for row, cells in enumerate(prints):
            if not isinstance(cells, Collection) or len(set(cells)) < len(cells):
                raise DataError(
                    f"a print must be the cells that hold a minutia, each once; print {row} is {cells!r}. "
                    "Rows of truth values must be an array."
                )
            for cell in cells:
                if isinstance(cell, bool) or cell not in range(self.cells):
                    raise DataError(f"cells must be in range({self.cells}); print {row} has {cell!r}.")
                grid[row, int(cell)] = True
        return grid
