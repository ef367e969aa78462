"""The interface of a device that compares rows, and what all devices compute in the same way.

A device multiplies *heads*: short vectors of integers from -127 to 127, whose products are exact in
32 bits. Two rows are a candidate if the product of their heads and the sum of their *allowances*,
32-bit integers, is at least 0. `search.heads` derives both from rows, so that no near pair fails.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.run import Run

MOST = 127  # of a head's components
ALWAYS, LEAST, NEVER = 1 << 28, -(1 << 27), -(1 << 29)  # allowances: of a row that passes with all, ..., of no row
WIDEST = 4096  # components of a head: their products stay below ALWAYS + LEAST

Fill = Callable[[np.ndarray, slice], None]  # copies a slice of the rows to an array


@dataclass(frozen=True)
class Frame:
    """How rows become heads: times an orthonormal basis, in steps, padded with zeros to a width.

    A row is (values - centre) * scale. Without a basis, rows are bit codes in words of 64 bits, and
    heads have 1 for a set bit and -1 for others.
    """

    dimensions: int  # of rows, or bits of codes
    width: int
    centre: np.ndarray | None = None
    basis: np.ndarray | None = None
    step: float = 1.0
    axes: np.ndarray | None = None  # orthonormal directions of the places of rows, to order them by


@dataclass(frozen=True)
class Rows:
    """Rows to load: how many, of what type, and how to copy some of them; `scales` has one for each.

    With `keep`, their values stay on the device, not only their heads. If a `tensor` of the user has
    them on a card already, all of its rows or those at `positions`, they need not be copied from here.
    """

    number: int
    columns: int
    dtype: Any
    fill: Fill
    scales: np.ndarray | None = None
    keep: bool = True
    tensor: Any = None
    positions: np.ndarray | None = None


@dataclass(frozen=True)
class Loaded:
    """Rows on a device: their heads, padded to whole blocks, and, if they were kept, their values.

    `squares` (3 x rows) are on the host: the squared lengths of rows, of their products with the
    basis, and of what rounding to whole steps left of these. So are the `places` of rows (rows x
    axes + 1): their components along the axes, and the length of what these leave. Heads can be in
    another order than the rows; `order` then has the row of each head.
    """

    number: int
    heads: Any
    squares: np.ndarray
    values: Any = None
    scales: Any = None
    centre: Any = None
    places: np.ndarray | None = None
    order: Any = None


@dataclass(frozen=True)
class Side:
    """Loaded rows with what they need to be compared.

    Allowances are in the order of the heads. A pair is near if x.y - halves[y] >= least[x], for x
    on the left and y on the right; these limits are in the order of the rows.
    """

    loaded: Loaded
    allowances: Any
    limits: Any = None  # least of rows on the left, halves of rows on the right


class Device(ABC):
    """What a search needs of a device; arrays on it are seen by its own methods only."""

    name: str
    block: int  # rows per block
    memory: int  # bytes that may be used
    slowness = 1.0  # how many times as long as an H200 it takes
    ordering = 3e5  # picoseconds to put a row into another order, and to find the boxes of blocks

    @abstractmethod
    def load(self, rows: Rows, frame: Frame, run: Run) -> Loaded:
        """Copy rows to the device, and make their heads."""

    @abstractmethod
    def arranged(self, loaded: Loaded, order: np.ndarray) -> Loaded:
        """Return loaded rows with their heads in this order."""

    @abstractmethod
    def side(self, loaded: Loaded, allowances: np.ndarray, limits: np.ndarray | None) -> Side:
        """Copy the allowances and limits of loaded rows to the device."""

    @abstractmethod
    def candidates(self, left: Side, right: Side, frame: Frame, tasks: np.ndarray, same: bool) -> np.ndarray | None:
        """Return the candidates (n x 2) of some pairs of blocks, or None if there is no room for them.

        There is always room for the candidates of one pair of blocks. If both sides are the same
        rows, each pair is returned once, the first row before the second. If the values of both are
        on the device, they are compared in double precision as well, so that few candidates are not near.
        """

    def blocks(self, number: int) -> int:
        """Return how many blocks a number of rows fills."""
        return -(-number // self.block)

    @abstractmethod
    def close(self) -> None:
        """Free what the device holds."""


def rounded(rows: Any, basis: Any, step: float) -> tuple[Any, Any, Any, Any]:
    """Return the heads of rows, not yet as integers, and three squared lengths: see `Loaded`.

    Rows and basis are arrays of one library, NumPy or torch, in double precision.
    """
    products = rows @ basis
    heads, rest = in_steps(products, step)
    return heads, (rows * rows).sum(1), (products * products).sum(1), rest


def places(rows: Any, axes: Any, squares: Any) -> tuple[Any, Any]:
    """Return the components of rows along axes, and the squared length of what these leave of them."""
    parts = rows @ axes
    return parts, squares - (parts * parts).sum(1)


def in_steps(products: Any, step: float) -> tuple[Any, Any]:
    """Round products to whole steps: return the number of steps, and the squared lengths of what is left."""
    heads = (products / step).round().clip(-MOST, MOST)
    rest = products - heads * step
    return heads, (rest * rest).sum(1)


def padded(allowances: np.ndarray, length: int) -> np.ndarray:
    """Return allowances for whole blocks, in which rows that do not exist pass with none."""
    whole = np.full(length, NEVER, np.int32)
    whole[: len(allowances)] = allowances
    return whole
