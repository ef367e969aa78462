"""Looks up the items of a result by id, in the files they came from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, argument
from lookalike.io.documents import Source
from lookalike.io.sets import SetSource
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.results import Holder

ById = Callable[[list[str]], Mapping[str, Any]]  # returns the items found for these ids, which are strings


@dataclass(frozen=True)
class ItemsById:
    """Items of one collection, or of each of two, by their ids."""

    sides: Sequence[ById]
    shingles: Shingles | None = None  # for texts

    @property
    def two(self) -> bool:
        """Whether there are two collections."""
        return len(self.sides) > 1

    def holder(self, *ids: pa.Array) -> "HeldItems":
        """Return a holder of the items with these ids, of one collection or of two in turn."""
        return HeldItems([one.cast(pa.string()).to_pylist() for one in ids], self.sides, self.shingles)


@dataclass(frozen=True)
class HeldItems(Holder):
    """Items by position: first all ids of the first collection, then those of the second."""

    ids: list[list[str]]
    sides: Sequence[ById]
    shingles: Shingles | None = None

    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the items at ascending positions, with None for those not found."""
        found: list[Any] = []
        start = 0
        for at, ids in enumerate(self.ids):
            names = [ids[row - start] for row in rows[(rows >= start) & (rows < start + len(ids))].tolist()]
            items = self.sides[min(at, len(self.sides) - 1)](names)
            if names and not items:
                example = f"such as {names[0]!r}"
                raise DataError(
                    f"none of the ids of the result, {example}, is in the items; "
                    f"name their column with {argument('id')}."
                )
            found.extend(items.get(name) for name in names)
            start += len(ids)
        return found


def texts_by_id(source: Source) -> ById:
    """Look up documents by reading the whole source each time."""

    def look(names: list[str]) -> dict[str, str]:
        wanted = pa.array(names, pa.string())
        found: dict[str, str] = {}
        for table in source.batches():
            ids = table["id"].cast(pa.string())
            there = table.set_column(0, "id", ids).filter(pc.is_in(ids, wanted))
            found.update(zip(there["id"].to_pylist(), there["text"].to_pylist(), strict=True))
        return found

    return look


def vectors_by_id(vectors: Vectors | Bits) -> ById:
    """Look up vectors or codes in memory."""
    ids = pa.array(np.arange(len(vectors))) if vectors.ids is None else vectors.ids
    names = ids.cast(pa.string())

    def look(wanted: list[str]) -> dict[str, np.ndarray]:
        rows = np.flatnonzero(pc.is_in(names, pa.array(wanted, pa.string())))
        found: Any
        if isinstance(vectors, Bits):
            found = vectors.take(rows).matrix()
        else:
            found = [vectors.values[[row]] for row in rows] if vectors.sparse else np.asarray(vectors.values[rows])
        return dict(zip(names.take(pa.array(rows)).to_pylist(), found, strict=True))

    return look


def sets_by_id(source: SetSource) -> ById:
    """Look up sets by reading their elements from the source again."""

    def look(names: list[str]) -> dict[str, Any]:
        found = zip(names, source.named(pa.array(names, pa.string())), strict=True)
        return {name: elements for name, elements in found if elements}

    return look


def named_by_id(sets: Sets, ids: pa.Array) -> ById:
    """Look up sets whose elements are in memory."""
    places = {name: at for at, name in enumerate(ids.cast(pa.string()).to_pylist())}

    def look(names: list[str]) -> dict[str, Any]:
        assert sets.named is not None
        there = [name for name in names if name in places]
        return dict(zip(there, sets.named(np.array([places[name] for name in there], np.int64)), strict=True))

    return look


def records_by_id(table: pa.Table, ids: pa.Array, columns: Sequence[str]) -> ById:
    """Look up records of a table as values of some columns, None for a column it does not have."""
    places = {name: at for at, name in enumerate(ids.cast(pa.string()).to_pylist())}
    values = [table[name] if name in table.column_names else None for name in columns]

    def look(names: list[str]) -> dict[str, list[Any]]:
        there = {name: places[name] for name in names if name in places}
        return {name: [None if one is None else one[at].as_py() for one in values] for name, at in there.items()}

    return look
