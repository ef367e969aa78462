"""Keep texts, sets, vectors and bit codes in an index, each kind in its own way."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, choice
from lookalike.families.base import as_keys
from lookalike.families.simhash import SimHash
from lookalike.index.base import Coding, Content, Encoded, Settings, in_bytes, joined
from lookalike.index.texts import Phrasebook
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.kernels.differences import pack_differences, unpack_rows
from lookalike.kernels.sets import hash_rows, overlaps_between
from lookalike.kernels.sketch import fold_bands
from lookalike.measures import MEASURES
from lookalike.search.fitting import fit
from lookalike.search.plan import Plan, make_plan
from lookalike.search.saved import plan_of
from lookalike.search.sketching import band_keys
from lookalike.search.spaces import BitSpace, Space, VectorSpace, space_of
from lookalike.search.tables import part_tables
from lookalike.search.vector_plan import VectorPlan, fit_tables, make_vector_plan
from lookalike.search.vectors import fit_for


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
        indptr, elements = unpack_rows(np.frombuffer(b"".join(payloads) or b"\0", np.uint8), ends)
        if not len(indptr):
            raise ValueError("a set has no length")
        return Sets(indptr, elements)

    def measure(self, rows: Any, others: Sequence[Content], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        read = self._rows(others)
        shared = overlaps_between(rows.indptr, rows.elements, read.indptr, read.elements, left, right)
        return MEASURES[self.plan.measure].of_overlaps(shared, rows.sizes[left], read.sizes[right])

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
        width = -(-self.size // 64) if self.kind == "bits" else self.size
        if any(len(payload) != width * self.dtype.itemsize for payload in payloads):
            raise ValueError("an item has another length")
        rows = np.frombuffer(b"".join(payloads), self.dtype).reshape(len(payloads), width)
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


def coding_of(settings: Settings) -> Coding:
    """Restore a coding from its settings."""
    return (SetCoding if settings["kind"] in ("texts", "sets") else VectorCoding).of_settings(settings)


def shingle_settings(shingles: Shingles) -> Settings:
    """Return the settings that restore these shingles."""
    return {name: sorted(v) if isinstance(v, frozenset) else v for name, v in asdict(shingles).items()}
