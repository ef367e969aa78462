"""Bit sampling: the family for Hamming distance. Each function looks at one position of a vector."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lookalike.errors import LARGEST_SEED, DataError, UsageError, whole
from lookalike.families.base import Family
from lookalike.families.draws import samples, words


class BitSampling(Family):
    """The components of vectors of length `dimensions` at `hashes` random positions, all of them by default.

    Two vectors that differ in d positions agree in a random one with probability 1 - d / dimensions. There are only as
    many functions as positions: more can be had with `repeat=True` alone, which draws positions with replacement.
    Different positions are not quite independent: the fewer are left out, the more surely they hold all differences.

    >>> BitSampling(6).signatures(["000000", "110011"]).tolist() == [[48] * 6, [49, 49, 48, 48, 49, 49]]
    True
    """

    measure = "hamming"

    def __init__(self, dimensions: int, hashes: int | None = None, seed: int = 1, repeat: bool = False):
        self.dimensions = whole("dimensions", dimensions)
        self.hashes = self.dimensions if hashes is None else whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        if repeat:
            self.positions = words(self.seed, 1, self.hashes)[0] % np.uint64(self.dimensions)
        elif self.hashes > self.dimensions:
            raise UsageError(
                f"hashes must be at most {self.dimensions}, the number of positions: there are no more functions; "
                f"got {self.hashes}. With repeat=True positions are used more than once."
            )
        elif self.hashes == self.dimensions:
            self.positions = np.arange(self.dimensions, dtype=np.uint64)
        else:
            self.positions = samples(self.seed, 1, self.hashes, self.dimensions)[0].astype(np.uint64)

    @classmethod
    def from_positions(cls, positions: Sequence[int], dimensions: int) -> "BitSampling":
        """The functions that look at these positions, counted from 0."""
        family = cls(dimensions, hashes=len(positions), repeat=True)
        family.positions = np.array(
            [whole("position", at, least=0, most=dimensions - 1) for at in positions], np.uint64
        )
        return family

    @property
    def farthest(self) -> float:
        """Different everywhere."""
        return float(self.dimensions)

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance / self.dimensions

    def estimate(self, a: np.ndarray, b: np.ndarray) -> float:
        """The Hamming distance of two vectors, from their signatures."""
        return self.dimensions * (1 - self.agreement(a, b))

    def signatures(self, items: Any) -> np.ndarray:
        """The components at the positions: an array items x hashes; the code points of characters."""
        return as_symbols(items, self.dimensions)[:, self.positions]


def as_symbols(items: Any, dimensions: int) -> np.ndarray:
    """A matrix of integers: strings of one length give their characters' code points."""
    if isinstance(items, str):
        raise DataError("items must be a sequence of strings or vectors; got one string.")
    if len(items) and all(isinstance(item, str) for item in items):
        items = [[ord(character) for character in item] for item in items]
    try:
        symbols = np.asarray(items)
    except ValueError:
        raise DataError(f"items must all have {dimensions} components.") from None
    if symbols.ndim != 2 or symbols.shape[1] != dimensions:
        raise DataError(f"items must be rows of {dimensions} components; got shape {symbols.shape}.")
    if symbols.dtype.kind not in "biu":
        raise DataError(f"components must be whole numbers, truth values or characters; got {symbols.dtype}.")
    return symbols
