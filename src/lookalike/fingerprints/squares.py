"""Look up prints by buckets of random squares, as in *Mining of Massive Datasets*.

A print is the set of grid squares that hold a minutia. A function of the family `GridSquares` has
one bucket: the prints with minutiae in all its squares. Looking up a print returns the union of the
buckets that it is in; with several groups of functions, the prints in the union of every group.
"""

import numpy as np

from lookalike.core.errors import DataError, UsageError, fraction, whole
from lookalike.core.run import slices
from lookalike.families.draws import uniforms
from lookalike.families.squares import GridSquares
from lookalike.items.vectors import BLOCK
from lookalike.theory.amplify import And, Or


class SquareIndex:
    """An index of prints: `groups` groups of `functions` functions, each of `squares` squares.

    >>> grids = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1]], bool)
    >>> SquareIndex(grids, squares=2, functions=50).look_up(np.array([1, 1, 0, 0], bool)).tolist()
    [0, 1]
    """

    def __init__(
        self, grids: np.ndarray, *, squares: int = 3, functions: int = 1024, groups: int = 1, seed: int = 1
    ) -> None:
        self.size, self.cells = grids.shape
        functions, groups = whole("functions", functions), whole("groups", groups)
        family = GridSquares(squares, functions * groups, self.cells, seed=seed)
        self.chosen = family.chosen.reshape(groups, functions, squares)
        held = np.packbits(grids.T.astype(np.bool_), axis=1)  # per square, one bit per print
        self.buckets = held[self.chosen[..., 0]]  # per function
        for square in range(1, squares):
            self.buckets &= held[self.chosen[..., square]]

    def look_up(self, grid: np.ndarray) -> np.ndarray:
        """Return positions of the prints to compare with one that has minutiae in these squares."""
        if np.shape(grid) != (self.cells,):
            raise DataError(f"a grid must have {self.cells} truth values; got shape {np.shape(grid)}.")
        inside = np.asarray(grid, np.bool_)[self.chosen].all(axis=2)
        unions = [np.bitwise_or.reduce(group[mine]) for group, mine in zip(self.buckets, inside, strict=True)]
        return np.flatnonzero(np.unpackbits(np.bitwise_and.reduce(unions), count=self.size))


def expected_rates(
    squares: int = 3, functions: int = 1024, groups: int = 1, *, density: float = 0.2, repeat: float = 0.8
) -> tuple[float, float]:
    """Return the probability of finding a print of the same finger, and of comparing another one.

    A share `density` of all squares holds a minutia; where one impression of a finger has one,
    another has it with probability `repeat`. As in *Mining of Massive Datasets*, squares, functions
    and groups are assumed to be independent. They are not quite: prints with many minutiae are in
    many buckets.

    >>> [round(rate, 3) for rate in expected_rates()]
    [0.985, 0.063]
    >>> [round(rate, 4) for rate in expected_rates(groups=2)]
    [0.9703, 0.004]
    """
    family = GridSquares(squares, density=density)
    curve = Or(whole("functions", functions)) >> And(whole("groups", groups))
    same, other = (float(curve(family.collision(1 - share))) for share in (fraction("repeat", repeat), density))
    return same, other


def two_impressions(
    prints: int, *, cells: int = 1000, density: float = 0.2, repeat: float = 0.8, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return made-up grids of two impressions of `prints` fingers: two arrays, prints x cells.

    For `density` and `repeat` see `expected_rates`; the same `seed` gives the same grids.

    >>> one, two = two_impressions(1000)
    >>> one.shape, round(float(one.mean()), 2), round(float(two[one].mean()), 2)
    ((1000, 1000), 0.2, 0.8)
    """
    prints, cells = whole("prints", prints, least=0), whole("cells", cells)
    fraction("density", density), fraction("repeat", repeat)
    again = density * (1 - repeat) / max(1 - density, 1e-9)  # where the first has none; keeps the density the same
    if again > 1:
        raise UsageError(f"repeat must be at least {2 - 1 / density:g} for a density of {density:g}; got {repeat:g}.")
    one, two = np.empty((prints, cells), np.bool_), np.empty((prints, cells), np.bool_)
    for part in slices(prints, max(1, BLOCK // cells)):  # streams that no function is drawn from
        chances = [uniforms(seed, part.stop - part.start, cells, stream, part.start) for stream in (2, 3)]
        one[part] = chances[0] <= density
        two[part] = chances[1] <= np.where(one[part], repeat, again)
    return one, two
