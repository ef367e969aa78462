"""Split items of all kinds into batches, each item with its id."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.wording import counted
from lookalike.index.base import Coding, Encoded, joined, rows_of
from lookalike.index.entries import NO_ENTRIES, Entries, entries_of
from lookalike.index.grouping import Change
from lookalike.index.records import LARGEST_COUNTED, Id, is_id
from lookalike.io.documents import Source
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import as_array
from lookalike.items.vectors import Vectors
from lookalike.measures.table import OF_VECTORS
from lookalike.search.inputs import as_items

BATCH = 10_000  # items per batch

Batch = tuple[Any, list[Id]]  # items, and their ids


class ItemEncoder:
    """An encoder of batches, with the coding of the index or one chosen from the first batch."""

    def __init__(self, coding: Coding | None, fit: Callable[[Any], Coding], salt: int) -> None:
        self.coding, self.fit, self.salt = coding, fit, salt

    def fitting(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, once the coding is chosen from the first, before any is encoded."""
        for batch, names in batches:
            if self.coding is None:
                self.coding = self.fit(batch)
            yield batch, names

    def encode(self, task: Batch) -> Entries:
        """Return the entries of a batch."""
        return self.encode_rows(task)[0]

    def encode_rows(self, task: Batch) -> tuple[Entries, Encoded]:
        """Return the entries of a batch, with the items themselves."""
        batch, names = task
        encoded = self.fitted().encode(batch)
        return entries_of(names, encoded, self.fitted().payloads(encoded), self.salt), encoded

    def encode_column(self, task: tuple[list[Id], pa.Array]) -> Entries:
        """Return the entries of the ids and items of a table that was exported."""
        names, column = task
        encoded = self.fitted().of_column(column)
        return entries_of(names, encoded, self.fitted().payloads(encoded), self.salt)

    def encode_together(self, changes: Sequence[Change], first: int) -> tuple[Entries, list[range]]:
        """Return the entries of all changes at once, and for each change the places of its own.

        Items without ids get numbers from `first` on.
        """
        adding = [change for change in changes if change.items is not None]
        names: list[Id] = []
        for change in adding:
            own = list(range(first, first + len(change.items))) if change.ids is None else change.ids
            first = max([first, *(name + 1 for name in own if isinstance(name, int) and name < LARGEST_COUNTED)])
            names += own
        entries = self.encode((joined([change.items for change in adding]), names)) if adding else NO_ENTRIES
        sizes = [0 if change.items is None else len(change.items) for change in changes]
        ends = accumulate(sizes)
        return entries, [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    def fitted(self) -> Coding:
        """Return the coding, which exists after the first batch."""
        assert self.coding is not None
        return self.coding


def parts_of(items: Source | Sets | Vectors | Bits, run: Run = ONE_THREAD) -> Iterator[tuple[Any, list[Any] | None]]:
    """Yield items in batches, with the ids they have."""
    if isinstance(items, Source):
        for table in items.batches(run):
            for start in range(0, len(table), BATCH):
                part = table.slice(start, BATCH)
                yield whole_column(part["text"]), part["id"].to_pylist() if items.has_ids() else None
        return
    for start in range(0, len(items), BATCH):
        rows = np.arange(start, min(start + BATCH, len(items)))
        yield rows_of(items, rows), None if items.ids is None else items.ids.take(pa.array(rows)).to_pylist()


def whole_column(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without copying it if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def batches_of(
    items: Any, measure: str, kind: str | None, ids: Iterator[Id] | None, run: Run
) -> Iterator[tuple[Any, list[Id] | None]]:
    """Yield items in batches, with the ids given or their own, if any; lists become this kind."""
    taken = as_items(as_kind(items, kind, measure) if type(items) is list else items, measure, run)
    if taken is not None:
        for batch, names in parts_of(taken, run):
            yield batch, named(names, len(batch), ids)


def as_kind(items: list[Any], kind: str | None, measure: str) -> Any:
    """Convert a list to the items an index holds, or to those that measure and first item imply."""
    if not items or isinstance(items[0], Path):
        return items
    kind = kind or kind_by(measure, items[0])
    for place, item in enumerate(items):
        if kind != "bits" and isinstance(item, str) != (kind == "texts"):
            got = "text" if isinstance(item, str) else type(item).__name__
            raise DataError(f"the index holds {kind}; the type of items[{place}] is {got}.")
    if kind == "texts":
        return as_array(items)
    if kind == "sets":
        return Sets.of(map(Counter, items) if measure == "bag_jaccard" else items)
    return Bits.of(items) if kind == "bits" else Vectors.of(items)


def kind_by(measure: str, item: Any = "") -> str:
    """Return the kind of items that a measure compares, of which this is one."""
    if measure in OF_VECTORS:
        return "bits" if measure == "hamming" else "vectors"
    return "texts" if isinstance(item, str) else "sets"


def rest_of(batches: Iterable[tuple[Any, list[Id] | None]], done: int) -> Iterator[tuple[Any, list[Id] | None]]:
    """Yield batches of texts without the first `done` of all."""
    for batch, names in batches:
        if done < len(batch):
            yield (batch.slice(done), None if names is None else names[done:]) if done else (batch, names)
        done = max(0, done - len(batch))


def numbered(batches: Iterable[tuple[Any, list[Id] | None]], first: int = 0) -> Iterator[tuple[Any, list[Id]]]:
    """Yield the batches, with numbers from `first` on for items without ids."""
    for batch, names in batches:
        yield batch, list(range(first, first + len(batch))) if names is None else names
        first += len(batch)


def named(own: list[Any] | None, size: int, given: Iterator[Id] | None = None) -> list[Id] | None:
    """Return the ids of `size` items: those given, or their own."""
    names = own if given is None else list(islice(given, size))
    if names is None:
        return None
    if len(names) < size:
        raise DataError("there must be as many ids as items; got fewer ids than items.")
    return names if {*map(type, names)} == {str} else [as_id(name) for name in names]


def check_ids(ids: Any) -> None:
    """Raise an error unless ids come as a collection; a single string would be read letter by letter."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise UsageError(f"ids must be a list of ids; got {ids!r}.")


def as_id(name: Any) -> Id:
    """Return a string or an integer as it is; anything else, such as a date, as a string."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool):
        if not is_id(int(name)):
            raise DataError(f"an id that is a number must fit in 64 bits; got {name}.")
        return int(name)
    return name if isinstance(name, str) else str(name)


def check_all_named(ids: Iterator[Id] | None, items: int) -> None:
    """Raise an error if ids are left after all items have theirs."""
    if ids is not None and next(ids, None) is not None:
        got = f"more than {counted(items, 'id')} for {counted(items, 'item')}"
        raise DataError(f"there must be as many ids as items; got {got}.")


def same_type(ids: list[Any]) -> pa.Array:
    """Return ids in one array: numbers, or strings if any of them is a string."""
    texts = any(isinstance(name, str) for name in ids)
    return pa.array([str(name) if texts else name for name in ids], pa.string() if texts else pa.int64())
