"""Items of all kinds a batch at a time, each with its id."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.index.codings import Coding, Encoded
from lookalike.index.records import Id, is_id
from lookalike.io.documents import Source
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import as_array
from lookalike.items.vectors import Vectors
from lookalike.measures.table import OF_VECTORS
from lookalike.search.inputs import as_items

BATCH = 10_000  # items that are taken at a time

Batch = tuple[Any, list[Id]]  # items, and their ids


class Waiting:
    """Items that are to be written together."""

    def __init__(self) -> None:
        self.ids: list[Id] = []
        self.encoded: list[Encoded] = []
        self.texts: list[str] = []
        self.byte_size = 0  # about

    def append(self, ids: list[Id], encoded: Encoded, texts: list[str]) -> None:
        """Some more."""
        self.ids.extend(ids)
        self.encoded.append(encoded)
        self.texts.extend(texts)
        self.byte_size += encoded.keys.nbytes + sum(map(len, encoded.payloads)) + sum(map(len, texts))


class Encoder:
    """Encodes batches of items, by the coding that there is or that the first of them leads to."""

    def __init__(self, coding: Coding | None, fit: Callable[[Any], Coding], store_text: bool) -> None:
        self.coding, self.fit, self.store_text = coding, fit, store_text

    def fitting(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, when the first of them has told the coding, as it must before any is encoded."""
        for batch, names in batches:
            if self.coding is None:
                self.coding = self.fit(batch)
            yield batch, names

    def encode(self, task: Batch) -> tuple[list[Id], Encoded, list[str]]:
        """The ids, the items and, if they are to be kept, the texts of a batch."""
        batch, names = task
        encoded = self.fitted().encode(batch)
        return names, encoded, batch.to_pylist() if self.store_text and self.fitted().kind == "texts" else []

    def fitted(self) -> Coding:
        """The coding, when there was a batch."""
        assert self.coding is not None
        return self.coding


def joined(parts: list[Encoded]) -> Encoded:
    """The items of all parts."""
    keys, contents = (np.concatenate(columns) for columns in zip(*(part[:2] for part in parts), strict=True))
    return Encoded(keys, contents, [payload for part in parts for payload in part.payloads])


def parts_of(items: Source | Sets | Vectors | Bits) -> Iterator[tuple[Any, list[Any] | None]]:
    """Items a batch at a time, with the ids they have."""
    if isinstance(items, Source):
        for table in items.batches():
            for start in range(0, len(table), BATCH):
                part = table.slice(start, BATCH)
                yield part["text"].combine_chunks(), part["id"].to_pylist() if items.has_ids() else None
        return
    for start in range(0, len(items), BATCH):
        rows = np.arange(start, min(start + BATCH, len(items)))
        yield rows_of(items, rows), None if items.ids is None else items.ids.take(pa.array(rows)).to_pylist()


def batches_of(
    items: Any, measure: str, kind: str | None, ids: Iterator[Id] | None, run: Run
) -> Iterator[tuple[Any, list[Id] | None]]:
    """Items a batch at a time, with the ids they are given or have, if any; lists are of the kind that is wanted."""
    taken = as_items(as_kind(items, kind, measure) if type(items) is list else items, measure, run)
    if taken is not None:
        for batch, names in parts_of(taken):
            yield batch, named(names, len(batch), ids)


def as_kind(items: list[Any], kind: str | None, measure: str) -> Any:
    """A list of items as what an index holds; if it holds none yet, as what the measure and the first item say."""
    if not items or isinstance(items[0], Path):
        return items
    kind = kind or kind_by(measure, items[0])
    for place, item in enumerate(items):
        if kind != "bits" and isinstance(item, str) != (kind == "texts"):
            got = "text" if isinstance(item, str) else type(item).__name__
            raise DataError(f"the index holds {kind}; items[{place}] is a {got}.")
    if kind == "texts":
        return as_array(items)
    if kind == "sets":
        return Sets.of(map(Counter, items) if measure == "bag_jaccard" else items)
    return Bits.of(items) if kind == "bits" else Vectors.of(items)


def kind_by(measure: str, item: Any = "") -> str:
    """The kind of items that a measure compares, of which this is one."""
    if measure in OF_VECTORS:
        return "bits" if measure == "hamming" else "vectors"
    return "texts" if isinstance(item, str) else "sets"


def numbered(batches: Iterable[tuple[Any, list[Id] | None]], first: int = 0) -> Iterator[tuple[Any, list[Id]]]:
    """The batches, with numbers from `first` on for items that have no ids."""
    for batch, names in batches:
        yield batch, list(range(first, first + len(batch))) if names is None else names
        first += len(batch)


def named(own: list[Any] | None, size: int, given: Iterator[Id] | None = None) -> list[Id] | None:
    """The ids of so many items: those given, or their own."""
    names = own if given is None else list(islice(given, size))
    if names is None:
        return None
    if len(names) < size:
        raise DataError("ids must name each item; there are fewer of them.")
    return [as_id(name) for name in names]


def as_id(name: Any) -> Id:
    """A string or a whole number as it is; anything else, such as a date, by its string."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not is_id(int(name)):
            raise DataError(f"an id that is a number must have at most 64 bits; got {name}.")
        return int(name)
    return name if isinstance(name, str) else str(name)


def check_all_named(ids: Iterator[Id] | None, items: int) -> None:
    """An error if there are ids left when all items have theirs."""
    if ids is not None and next(ids, None) is not None:
        raise DataError(f"ids must name each item; there are more than the {items:,} items.")


def rows_of(items: Any, rows: np.ndarray) -> Any:
    """Some rows of sets, vectors or bits."""
    if isinstance(items, Vectors):
        return Vectors(items.values[rows])
    return items.take(rows)


def same_type(ids: list[Any]) -> pa.Array:
    """Ids in one array: numbers, or strings if any of them is one."""
    texts = any(isinstance(name, str) for name in ids)
    return pa.array([str(name) if texts else name for name in ids], pa.string() if texts else pa.int64())
