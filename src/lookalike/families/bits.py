"""Bit sampling, the family for Hamming distance: each function looks at one position."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, whole
from lookalike.families.base import Family
from lookalike.families.draws import samples, words
from lookalike.items.bits import Bits
from lookalike.measures.rows import as_symbols


class BitSampling(Family):
    """The components of vectors at `hashes` random positions; default: all positions, in order.

    Two vectors that differ in d of n positions agree in a random one with probability 1 - d / n.
    There are only as many functions as positions, unless `repeat=True` draws positions with
    replacement. Without replacement they are not quite independent: r of them all agree with
    probability C(n - d, r) / C(n, r), which is less than (1 - d / n)**r, so bands of them differ a
    little from their curve.

    >>> BitSampling(6).signatures(["000000", "110011"]).tolist() == [[48] * 6, [49, 49, 48, 48, 49, 49]]
    True
    """

    measure = "hamming"

    def __init__(self, dimensions: int, hashes: int | None = None, seed: int = 1, repeat: bool = False):
        self.dimensions = whole("dimensions", dimensions)
        self.hashes = self.dimensions if hashes is None else whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)
        self.repeat = repeat
        self.all = hashes is None  # whether to use all positions, in order
        if self.hashes > self.dimensions and not repeat:
            raise UsageError(
                f"hashes must be at most {self.dimensions}, the number of positions: there are no more functions; "
                f"got {self.hashes}. repeat=True uses positions more than once."
            )

    @cached_property
    def positions(self) -> np.ndarray:
        """Return the position that each function looks at, counted from 0."""
        if self.repeat:
            drawn: np.ndarray = words(self.seed, 1, self.hashes)[0] % np.uint64(self.dimensions)
            return drawn
        if self.all:
            return np.arange(self.dimensions, dtype=np.uint64)
        chosen: np.ndarray = samples(self.seed, 1, self.hashes, self.dimensions)[0].astype(np.uint64)
        return chosen

    @classmethod
    def from_positions(cls, positions: Sequence[int], dimensions: int) -> "BitSampling":
        """Make the functions that look at these positions, counted from 0."""
        family = cls(dimensions, hashes=len(positions), repeat=True)
        family.positions = np.array(
            [whole("position", at, least=0, most=dimensions - 1) for at in positions], np.uint64
        )
        return family

    def part(self, start: int, stop: int) -> "BitSampling":
        """Return the functions from `start` to `stop`."""
        return BitSampling.from_positions(self.positions[start:stop].tolist(), self.dimensions)

    @property
    def farthest(self) -> float:
        """Return the distance of vectors that differ in all positions."""
        return float(self.dimensions)

    @property
    def most(self) -> float:
        """Return the number of positions, or infinity if they can repeat."""
        return math.inf if self.repeat else self.dimensions

    def _law(self, distance: np.ndarray) -> np.ndarray:
        return 1 - distance / self.dimensions

    def _distance(self, share: float) -> float:
        return self.dimensions * (1 - share)

    def signatures(self, items: Any) -> np.ndarray:
        """Return the components (for strings, code points) at the positions: items x hashes."""
        if isinstance(items, Bits):
            return self._bits(items)
        symbols = as_symbols(items)
        if symbols.shape[1] != self.dimensions:
            if len(symbols):
                raise DataError(f"items must have {self.dimensions} components; got {symbols.shape[1]}.")
            return np.empty((0, self.hashes), np.uint8)
        if symbols.dtype.kind == "f":
            raise DataError(f"components must be whole numbers, truth values or characters; got {symbols.dtype}.")
        if symbols.dtype.itemsize == 8 and symbols.size and symbols.max() == np.iinfo(symbols.dtype).max:
            raise DataError(f"components must be less than {symbols.max()}.")
        return symbols[:, self.positions]

    def _bits(self, items: Bits) -> np.ndarray:
        if items.length != self.dimensions:
            raise DataError(f"items must have {self.dimensions} bits; got {items.length}.")
        place = self.positions.astype(np.int64)
        bits: np.ndarray = (items.words[:, place // 64] >> (self.positions % np.uint64(64))) & np.uint64(1)
        return bits
