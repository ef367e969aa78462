"""Encode items for an index: bucket keys, the bytes to compare, and a hash of the content.

A coding also compares items by their bytes, and knows the probability of finding a similar item.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, choice
from lookalike.families.base import as_keys
from lookalike.families.simhash import SimHash
from lookalike.index.texts import Phrasebook
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.kernels.differences import pack_differences, row_sizes, unpack_differences
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.kernels.sets import hash_rows, overlaps
from lookalike.kernels.sketch import fold_bands
from lookalike.measures import MEASURES
from lookalike.search.collection import band_keys
from lookalike.search.plan import Plan, fit, make_plan
from lookalike.search.saved import plan_of
from lookalike.search.spaces import BitSpace, Space, VectorSpace, space_of
from lookalike.search.tables import part_tables
from lookalike.search.vector_plan import VectorPlan, fit_tables, make_vector_plan
from lookalike.search.vectors import fit_for

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


class SetCoding(Coding):
    """Texts, sets or bags under Jaccard similarity: their elements, and banded minhashes.

    What is kept of an item, to compare it with others, is either its sorted hashes, as differences,
    or the text itself, which is made into shingles again.
    """

    def __init__(self, plan: Plan, shingles: Shingles | None, texts: Phrasebook | None, plain: bool = False) -> None:
        assert plan.bands is not None
        self.kind = "sets" if shingles is None else "texts"
        self.plan, self.shingles, self.bands = plan, shingles, plan.bands
        self.texts, self.plain = texts, plain  # plain: hashes of 8 bytes each, as in formats 1 and 2

    @classmethod
    def fitted(
        cls, sets: Sets, shingles: Shingles | None, items: int, given: Settings, texts: Phrasebook | None = None
    ) -> "SetCoding":
        """Choose a coding for about `items` items, of which these are some; keep `texts` as such, if given."""
        what = "sets" if shingles is None else str(shingles)
        return cls(fit(make_plan(method="lsh", what=what, **given), sets, items), shingles, texts)

    def renewed(self, texts: Phrasebook | None) -> "SetCoding":
        """Return the coding of the present format for the same items and buckets."""
        return SetCoding(self.plan, self.shingles, texts)

    @classmethod
    def of_settings(cls, settings: Settings) -> "SetCoding":
        """Restore a coding from its settings."""
        given = settings["shingles"]
        shingles = None if given is None else Shingles(**given)
        plan = plan_of(settings)
        assert plan is not None
        kept = settings.get("kept", "plain")
        choice("kept", kept, ("plain", "hashes", "texts"))
        texts = Phrasebook.restored(settings["phrases"]) if kept == "texts" else None
        return cls(plan, shingles, texts, kept == "plain")

    def encode(self, items: Any) -> Encoded:
        self._check(items)
        return self._encode(items) if self.shingles is None else self._encode(self.shingles.sets(items), items)

    def again(self, payloads: Sequence[Content]) -> Encoded:
        return self._encode(self._rows(payloads))

    def shown(self, payload: Content) -> Any:
        return self.texts.decode([payload])[0].as_py() if self.texts is not None else None

    def column(self, payloads: Sequence[Content]) -> tuple[str, pa.Array]:
        if self.texts is not None:
            return "text", self.texts.decode(payloads)
        rows = self._rows(payloads)
        return "hashes", pa.LargeListArray.from_arrays(pa.array(rows.indptr), pa.array(rows.elements))

    def of_column(self, column: pa.Array) -> Encoded:
        if self.texts is not None:
            return self.encode(column.cast(pa.large_string()))
        lists = column.cast(pa.large_list(pa.uint64()))
        indptr = np.append(0, np.cumsum(lists.value_lengths().to_numpy().astype(np.int64)))
        return self._encode(Sets.sorted(indptr, lists.flatten().to_numpy(), bag=False))

    def _encode(self, sets: Sets, texts: pa.LargeStringArray | None = None) -> Encoded:
        keys = self._spread(band_keys(self.plan, sets.indptr, sets.elements))
        return Encoded(keys, hash_rows(sets.indptr, sets.elements), sets, texts)

    def payloads(self, encoded: Encoded) -> pa.LargeBinaryArray:
        sets = encoded.rows
        if self.texts is not None:
            return self.texts.encode(encoded.texts)
        if self.plain:
            return in_bytes(sets.indptr, sets.elements.astype("<u8", copy=False))
        content, bounds = pack_differences(sets.indptr, sets.elements)
        return in_bytes(bounds, content)

    def _rows(self, payloads: Sequence[Content]) -> Sets:
        """Return the sets that these bytes keep."""
        if self.texts is not None and self.shingles is not None:
            return self.shingles.sets(self.texts.decode(payloads))
        ends = np.fromiter(accumulate(map(len, payloads), initial=0), np.int64, len(payloads) + 1)
        if self.plain:
            return Sets(ends // 8, np.frombuffer(b"".join(payloads), "<u8").astype(np.uint64))
        data = np.frombuffer(b"".join(payloads) or b"\0", np.uint8)
        sizes = row_sizes(data, ends[:-1], ends[1:])
        if (sizes < 0).any():
            raise ValueError("a set has no length")
        indptr = np.append(0, np.cumsum(sizes))
        return Sets(indptr, unpack_differences(data, ends[:-1], ends[1:], indptr))

    def measure(self, rows: Any, others: Sequence[Content], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        read = self._rows(others)
        indptr = np.append(rows.indptr, read.indptr[1:] + rows.indptr[-1])
        right = right + len(rows)
        shared = np.maximum(
            0, overlaps(indptr, np.concatenate((rows.elements, read.elements)), None, left, right, 0, 1)
        )
        sizes = np.diff(indptr)
        return MEASURES[self.plan.measure].of_overlaps(shared, sizes[left], sizes[right])

    def recall(self, threshold: float) -> float:
        functions = self.plan.functions(1)
        chance = functions.chance_of_jaccard(threshold) if isinstance(functions, SimHash) else threshold
        return float(self.bands.curve(chance))

    def settings(self) -> Settings:
        shingles = None if self.shingles is None else shingle_settings(self.shingles)
        kept = {"kept": "plain" if self.plain else "hashes"}
        if self.texts is not None:
            kept = {"kept": "texts", "phrases": self.texts.saved()}
        return {**self.plan.saved(), "kind": self.kind, "shingles": shingles, **kept}


class VectorCoding(Coding):
    """Vectors or bit codes as they are, and the tables of their family.

    Lines that measure distances go through a centre, which stays that of the first items.
    """

    plan: VectorPlan

    def __init__(self, plan: VectorPlan, size: int, dtype: str, centre: list[float] | None) -> None:
        self.kind = "bits" if plan.measure == "hamming" else "vectors"
        self.centre = None if centre is None else np.array(centre)
        self.plan, self.size, self.dtype = plan, size, np.dtype(dtype)
        self.farthest = {"hamming": size, "angle": 180.0}.get(plan.measure, math.inf)

    @classmethod
    def fitted(cls, rows: Vectors | Bits, items: int, given: Settings) -> "VectorCoding":
        """Choose a coding for about `items` items, of which these are some."""
        rows = fit_for(rows, given["measure"])
        if isinstance(rows, Vectors) and rows.sparse:
            raise DataError("an index holds dense vectors; got a sparse matrix.")
        size = rows.length if isinstance(rows, Bits) else rows.dimensions
        plan = make_vector_plan(method="auto", what=f"{size} dimensions", length=size, **given)
        space = space_of([rows], plan.measure, float(plan.threshold))
        centre = space.centre.tolist() if isinstance(space, VectorSpace) and plan.measure == "euclidean" else None
        dtype = "<u8" if isinstance(rows, Bits) else rows.values.dtype.newbyteorder("<").str
        return cls(fit_tables(plan, space, items), size, dtype, centre)

    @classmethod
    def of_settings(cls, settings: Settings) -> "VectorCoding":
        """Restore a coding from its settings."""
        plan = plan_of(settings)
        assert isinstance(plan, VectorPlan)
        return cls(plan, settings["size"], settings["dtype"], settings["centre"])

    def encode(self, items: Any) -> Encoded:
        self._check(items)
        rows = fit_for(items, self.plan.measure)
        size = rows.length if isinstance(rows, Bits) else rows.dimensions
        if size != self.size:
            raise DataError(f"{self.kind} must have {self.size} dimensions, like those of the index; got {size}.")
        if isinstance(rows, Vectors):
            rows = replace(rows, values=np.ascontiguousarray(rows.values, self.dtype.newbyteorder("=")))
        space = space_of([rows], self.plan.measure, float(self.plan.threshold))
        return Encoded(self._spread(self._keys(space)), space.contents(), rows)

    def payloads(self, encoded: Encoded) -> pa.LargeBinaryArray:
        values = encoded.rows.words if isinstance(encoded.rows, Bits) else encoded.rows.values
        starts = values.shape[1] * np.arange(len(values) + 1)
        return in_bytes(starts, np.ascontiguousarray(values, self.dtype))

    def again(self, payloads: Sequence[Content]) -> Encoded:
        return self.encode(self._items(payloads))

    def column(self, payloads: Sequence[Content]) -> tuple[str, pa.Array]:
        items = self._items(payloads)
        values = items.words if isinstance(items, Bits) else items.values
        name = "bits" if isinstance(items, Bits) else "vector"
        return name, pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])

    def of_column(self, column: pa.Array) -> Encoded:
        values = column.flatten().to_numpy().reshape(len(column), -1)
        return self.encode(Bits(values, self.size) if self.kind == "bits" else Vectors(values))

    def shown(self, payload: Content) -> Any:
        items = self._items([payload])
        if isinstance(items, Vectors):
            return items.values[0].tolist()
        return "".join(map(str, items.matrix()[0].astype(int).tolist()))

    def _items(self, payloads: Sequence[Content]) -> Vectors | Bits:
        rows = np.stack([np.frombuffer(payload, self.dtype) for payload in payloads])
        rows = rows.astype(self.dtype.newbyteorder("="))
        return Bits(rows, self.size) if self.kind == "bits" else Vectors(rows)

    def _keys(self, space: Space) -> np.ndarray:
        plan = self.plan
        if plan.parts:
            assert isinstance(space, BitSpace)
            tables = part_tables(space.words, space.dimensions, plan.parts, int(plan.threshold), plan.seed)
            return np.stack(list(tables.keys), axis=1)
        assert plan.bands is not None
        family = space.family(plan.bands.hashes, plan.seed, plan.width)
        items = space.take(np.arange(len(space)))
        if self.centre is not None:
            assert isinstance(space, VectorSpace)
            items = Vectors(space.values - self.centre)
        signatures = as_keys(family.signatures(items))
        keys: np.ndarray = fold_bands(signatures, plan.bands.bands, plan.bands.rows)
        return keys

    def measure(self, rows: Any, others: Sequence[Content], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        space = space_of([joined([rows, self._items(others)])], self.plan.measure, float(self.plan.threshold))
        return space.measured(left, len(rows) + right)

    def recall(self, threshold: float) -> float:
        if self.plan.parts:
            return float(threshold <= self.plan.threshold)
        assert self.plan.bands is not None
        items = Bits.of(["0" * self.size]) if self.kind == "bits" else Vectors(np.ones((1, self.size)))
        space = space_of([items], self.plan.measure, float(threshold))
        return float(self.plan.bands.curve(space.family(1, 1, self.plan.width).collision(space.distance)))

    def settings(self) -> Settings:
        centre = None if self.centre is None else self.centre.tolist()
        own = {"kind": self.kind, "size": self.size, "dtype": self.dtype.str, "centre": centre}
        return {**self.plan.saved(), **own}


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


def coding_of(settings: Settings) -> Coding:
    """Restore a coding from its settings."""
    return (SetCoding if settings["kind"] in ("texts", "sets") else VectorCoding).of_settings(settings)


def shingle_settings(shingles: Shingles) -> Settings:
    """Return the settings that restore these shingles."""
    return {name: sorted(v) if isinstance(v, frozenset) else v for name, v in asdict(shingles).items()}
