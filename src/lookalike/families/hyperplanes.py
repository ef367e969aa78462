"""Random hyperplanes, the family for angles: vectors collide on the same side of a hyperplane."""

from copy import copy
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, choice, whole
from lookalike.families.base import Family
from lookalike.families.draws import gaussians, signs
from lookalike.families.projections import along, as_directions, of_size_one
from lookalike.measures.rows import as_matrix, finite

VECTORS: dict[str, Any] = {"gaussian": gaussians, "signs": signs}


class Hyperplanes(Family):
    """The signs of dot products with the normal vectors of `hashes` hyperplanes (Charikar 2002).

    A hyperplane through the origin separates two vectors at an angle of d degrees with probability
    d / 180. That is exact for `vectors="gaussian"`, whose directions are uniform; vectors of +1 and
    -1 (`"signs"`) come close to it if many dimensions matter, and need only additions.
    `from_vectors` uses given vectors.

    >>> family = Hyperplanes(hashes=4096, seed=1)
    >>> a, b = family.signatures([[1, 2, -1], [2, 1, 1]])
    >>> abs(family.estimate(a, b) - 60) < 3
    True
    """

    measure = "angle"

    def __init__(self, hashes: int = 128, seed: int = 1, vectors: str = "gaussian"):
        self.hashes = whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        self.vectors = choice("vectors", vectors, VECTORS)
        self.given: np.ndarray | None = None
        self.first = 0  # number of the first function among those of the seed
        self._normals = np.empty((0, 0))

    def part(self, start: int, stop: int) -> "Hyperplanes":
        """Return the functions from `start` to `stop`."""
        some = copy(self)
        some.hashes, some.first, some._normals = stop - start, self.first + start, np.empty((0, 0))
        some.given = None if self.given is None else self.given[start:stop]
        return some

    @classmethod
    def from_vectors(cls, vectors: Any) -> "Hyperplanes":
        """Make the functions of these normal vectors, one per row.

        >>> family = Hyperplanes.from_vectors([[1, -1, 1, 1], [-1, 1, -1, 1], [1, 1, -1, -1]])
        >>> family.signatures([[3, 4, 5, 6], [4, 3, 2, 1]]).tolist()
        [[1, 1, 0], [1, 0, 1]]
        """
        matrix = as_matrix(vectors)
        family = cls(hashes=len(matrix))
        family.given = of_size_one(finite(matrix, np.arange(len(matrix))))
        return family

    @property
    def farthest(self) -> float:
        """Return the angle between opposite directions."""
        return 180.0

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance / 180

    def signatures(self, items: Any) -> np.ndarray:
        """Return 1 for a dot product of at least zero, 0 for a negative one: items x hashes.

        Items are the rows of a matrix, dense or sparse (SciPy). A zero vector, which is on no side
        of a hyperplane, is an error.
        """
        return self.with_alternatives(items)[0]

    def with_alternatives(self, items: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the signatures, their opposites, and the distances to the hyperplanes."""
        rows = as_directions(items)
        return self.alternatives_of(along(rows, self.normals(rows.shape[1])))

    @staticmethod
    def alternatives_of(products: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `with_alternatives` does, from given dot products."""
        above = (products >= 0).view(np.uint8)
        return above, 1 - above, np.abs(products)

    def sketches(self, items: Any) -> np.ndarray:
        """Return the signatures as packed bits: an array of bytes, items x ceil(hashes / 8)."""
        return np.packbits(self.signatures(items), axis=1, bitorder="little")

    def _distance(self, share: float) -> float:
        return 180 * (1 - share)

    def angles(self, sketches: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Estimate angles of pairs of packed sketches: 180 degrees times the share that differs."""
        if sketches.ndim != 2 or sketches.shape[1] != (self.hashes + 7) // 8:
            raise UsageError(f"sketches must have {(self.hashes + 7) // 8} bytes per row; got shape {sketches.shape}.")
        apart = np.bitwise_count(sketches[left] ^ sketches[right]).sum(axis=1, dtype=np.int64)
        angles: np.ndarray = 180 * apart / self.hashes
        return angles

    def normals(self, dimensions: int) -> np.ndarray:
        """Return the normal vectors: an array dimensions x hashes."""
        if self.given is None:
            if self._normals.shape[0] != dimensions or not dimensions:
                drawn = VECTORS[self.vectors](self.seed, self.hashes, dimensions, first=self.first)
                self._normals = np.ascontiguousarray(drawn.T)
            return self._normals
        if dimensions not in (0, self.given.shape[1]):
            raise DataError(f"items must have {self.given.shape[1]} dimensions, as the vectors do; got {dimensions}.")
        return np.ascontiguousarray(self.given.T)
