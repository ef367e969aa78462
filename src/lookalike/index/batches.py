"""Items of all kinds a batch at a time, each with its id."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.data import Bits, Sets, Vectors
from lookalike.errors import DataError
from lookalike.index.codings import Encoded
from lookalike.index.store import Id
from lookalike.read import Source

BATCH = 10_000  # items that are taken at a time


class Waiting(NamedTuple):
    """Items that are to be written together."""

    ids: list[Id]
    encoded: list[Encoded]
    texts: list[str]


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
                yield part["text"].combine_chunks(), part["id"].to_pylist()
        return
    for start in range(0, len(items), BATCH):
        rows = np.arange(start, min(start + BATCH, len(items)))
        yield rows_of(items, rows), None if items.ids is None else items.ids.take(pa.array(rows)).to_pylist()


def named(own: list[Any] | None, size: int, given: Iterator[Id] | None, first: int) -> list[Id]:
    """The ids of so many items: those given, their own, or numbers."""
    names = own if given is None else list(islice(given, size))
    if names is None:
        return list(range(first, first + size))
    if len(names) < size:
        raise DataError("ids must name each item; there are fewer of them.")
    return [name if isinstance(name, int | str) else str(name) for name in names]


def rows_of(items: Any, rows: np.ndarray) -> Any:
    """Some rows of sets, vectors or bits."""
    if isinstance(items, Vectors):
        return Vectors(items.values[rows])
    return items.take(rows)


def same_type(ids: list[Any]) -> pa.Array:
    """Ids in one array: numbers, or strings if any of them is one."""
    texts = any(isinstance(name, str) for name in ids)
    return pa.array([str(name) if texts else name for name in ids], pa.string() if texts else pa.int64())
