"""Keep items of some kind in an index: bucket keys, bytes to compare, and a hash of the content.

A coding also compares items by their bytes, and knows the probability of finding a similar item.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.vectors import Vectors
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.search.plan import Plan
from lookalike.search.vector_plan import VectorPlan

Settings = dict[str, Any]  # JSON values
Content = bytes | memoryview


class Encoded(NamedTuple):
    """Items as an index compares them, and what they are found under."""

    keys: np.ndarray  # items x tables; EMPTY for no bucket
    contents: np.ndarray  # items x 2 hashes, equal exactly for identical items
    rows: Any  # the items as they are compared: sets, vectors or bits
    texts: pa.LargeStringArray | None = None  # that the sets are made from


class Coding(ABC):
    """A way to store and compare items of one kind."""

    kind: str  # "texts", "sets", "vectors" or "bits"
    size = 0  # dimensions or bits
    farthest: float = math.inf  # the greatest possible distance
    plan: Plan

    @abstractmethod
    def encode(self, items: Any) -> Encoded:
        """Encode the items, each by itself."""

    @abstractmethod
    def payloads(self, encoded: Encoded) -> pa.LargeBinaryArray:
        """Return the bytes that keep each item."""

    @abstractmethod
    def measure(self, rows: Any, others: Sequence[Content], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the similarities or distances of pairs: of rows, and of others, given their payloads."""

    @abstractmethod
    def settings(self) -> Settings:
        """Return the settings that restore this coding."""

    @abstractmethod
    def recall(self, threshold: float) -> float:
        """Return the probability of finding an item right at a threshold."""

    @abstractmethod
    def again(self, payloads: Sequence[Content]) -> Encoded:
        """Encode items again, from their payloads."""

    @abstractmethod
    def column(self, payloads: Sequence[Content]) -> tuple[str, pa.Array]:
        """Return what the bytes of some items keep, as a column of a table, and the name of the column."""

    @abstractmethod
    def of_column(self, column: pa.Array) -> Encoded:
        """Encode the items of such a column."""

    def shown(self, payload: Content) -> Any:
        """Return an item as a user would give it, or None if the payload does not hold it."""
        return None

    @property
    def tables(self) -> int:
        """The number of tables."""
        if isinstance(self.plan, VectorPlan):
            return self.plan.tables
        assert self.plan.bands is not None
        return self.plan.bands.bands

    def near(self, values: np.ndarray, threshold: float) -> np.ndarray:
        """Return which of the values are within a threshold."""
        return self.plan.row.within(values, threshold)

    def _check(self, items: Any) -> None:
        """Raise an error if the items are of another kind."""
        got = type(items).__name__.lower() if isinstance(items, Sets | Vectors | Bits) else "texts"
        if got != self.kind:
            raise DataError(f"the index holds {self.kind}; got {got}.")

    @staticmethod
    def _spread(keys: np.ndarray) -> np.ndarray:
        """Make the keys of different tables different, since all are stored together."""
        return np.where(keys == EMPTY, EMPTY, keys ^ numbers_of_tables(keys.shape[1]))


@cache
def numbers_of_tables(tables: int) -> np.ndarray:
    """Return a number for each table that its keys are combined with."""
    with np.errstate(over="ignore"):
        numbers: np.ndarray = mix.py_func(np.arange(1, tables + 1, dtype=np.uint64) * GOLDEN)
    return numbers


def in_bytes(indptr: np.ndarray, values: np.ndarray) -> pa.LargeBinaryArray:
    """Return the bytes of each row; row r has the values from indptr[r] to indptr[r + 1]."""
    bounds = values.itemsize * indptr.astype(np.int64, copy=False)
    return pa.Array.from_buffers(pa.large_binary(), len(indptr) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(values)])


def rows_of(items: Any, rows: np.ndarray) -> Any:
    """Return some rows of sets, vectors or bits."""
    if isinstance(items, Vectors):
        return Vectors(items.values[rows])
    return items.take(rows)


def joined(parts: Sequence[Any]) -> Any:
    """Return texts, sets, vectors or bits, one after another."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Sets):
        return Sets.concatenate(parts)
    if isinstance(parts[0], Bits):
        if len({part.length for part in parts}) > 1:
            raise DataError("all bit codes must have the same length.")
        return Bits(np.concatenate([part.words for part in parts]), parts[0].length)
    if isinstance(parts[0], Vectors):
        if len({part.dimensions for part in parts}) > 1:
            raise DataError("all vectors must have as many dimensions.")
        return Vectors(np.concatenate([part.values for part in parts]))
    return pa.concat_arrays(parts)
