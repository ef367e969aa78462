"""Read texts in pieces, for a run that several processes share: sketch all texts, and make sets of candidates."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import all_left_out
from lookalike.core.run import Run, Tick
from lookalike.core.shared import Gathered, SharedStorage
from lookalike.core.storage import Kinds
from lookalike.core.workdir import tables_of
from lookalike.io.documents import Source
from lookalike.items.sets import Sets

if TYPE_CHECKING:
    from lookalike.search.makers import SourceSets

PIECES = 512  # of the inputs, about
LEAST, MOST = 1 << 20, 1 << 30  # bytes of a piece in the files
SKETCHED = "documents"

Sketch = Callable[[pa.Table], list[np.ndarray]]  # returns the columns of some documents


def pieces_of(source: Source) -> list[Source]:
    """Return the pieces of a source that are tasks; they do not depend on the number of processes."""
    stored = sum(part.stored_size() for part in source.parts)
    return source.pieces(min(MOST, max(LEAST, stored // PIECES)))


def starts_of(storage: SharedStorage, pieces: list[Source]) -> np.ndarray:
    """Return how many documents are before each piece, and in all, once they have been sketched.

    The pieces then number their rows among all rows.
    """
    facts = [storage.shards.facts(f"{SKETCHED}.{at}") for at in range(len(pieces))]
    for piece, before in zip(pieces, accumulate((one["rows"] for one in facts), initial=0), strict=False):
        piece.rows_before = before
    return np.array([0, *accumulate(one["documents"] for one in facts)])


def sketch_in_pieces(
    source: Source, kinds: Kinds, sketch: Sketch, run: Run, storage: SharedStorage, tick: Tick
) -> list[Any]:
    """Return the columns of all documents, and at last tables of their ids."""
    pieces = pieces_of(source)

    def work(at: int, table: pa.Table) -> tuple[list[np.ndarray], pa.Table]:
        return sketch(table), table.select(["id"])

    def gather(at: int, made: list[tuple[list[np.ndarray], pa.Table]]) -> Gathered:
        columns = [[np.empty(0, kind), *(one[i] for one, _ in made)] for i, kind in enumerate(kinds.values())]
        ids = [np.empty(0, np.uint8), *(_as_bytes(table) for _, table in made)]
        piece = pieces[at]
        facts = {"documents": piece.documents, "rows": piece.rows_read, "skipped": piece.skipped}
        return [*columns, ids], {**facts, "fault": piece._first_fault, "numbered": piece.numbers(piece.parts[0])}

    names = storage.in_pieces(SKETCHED, len(pieces), lambda at: pieces[at].batches(run), work, gather, run, tick)
    facts = [storage.shards.facts(name) for name in names]
    rows, skipped = (sum(one[what] for one in facts) for what in ("rows", "skipped"))
    if skipped and skipped == rows:
        raise all_left_out(source.parts[0].name, skipped, next(one["fault"] for one in facts if one["fault"]))
    before = [0, *accumulate(one["rows"] for one in facts)]

    def place(column: int, piece: int, array: np.ndarray) -> np.ndarray:
        """Return row numbers that are ids as numbers among all rows, and other columns as they are."""
        if column < len(kinds) or not facts[piece]["numbered"]:
            return array
        tables = (_later(table, before[piece]) for table in tables_of(array))
        return np.concatenate([np.empty(0, np.uint8), *map(_as_bytes, tables)])

    *columns, ids = storage.joined(SKETCHED, [*kinds, "ids"], names, place)
    source.documents, source.rows_read, source.skipped = sum(one["documents"] for one in facts), rows, skipped
    return [*columns, tables_of(ids)]


def sets_in_pieces(
    maker: "SourceSets", rows: np.ndarray, name: str, run: Run, storage: SharedStorage, tick: Tick
) -> Sets:
    """Return the sets of documents at ascending positions."""
    (source,) = maker.sources  # no command compares two collections in several processes
    pieces = pieces_of(source)
    starts = starts_of(storage, pieces)
    makers = [maker.of(piece, size) for piece, size in zip(pieces, np.diff(starts).tolist(), strict=True)]

    def tasks(at: int) -> Iterator[Any]:
        first, last = np.searchsorted(rows, starts[at : at + 2])
        return makers[at].tasks(rows[first:last] - starts[at], run)

    def gather(at: int, made: list[Sets]) -> Gathered:
        elements = [np.empty(0, np.uint64), *(one.elements for one in made)]
        sizes = [np.empty(0, np.int64), *(one.sizes for one in made)]
        return [elements, sizes], {"documents": sum(map(len, sizes))}

    names = storage.in_pieces(name, len(pieces), tasks, lambda at, task: makers[at].make(task), gather, run, tick)
    elements, sizes = storage.joined(name, ["elements", "sizes"], names)
    return Sets(np.concatenate(([0], np.cumsum(sizes))), elements)


def _later(table: pa.Table, rows: int) -> pa.Table:
    """Return a table of row numbers, counted from so many rows earlier."""
    return pa.table({"id": pa.array(table["id"].to_numpy() + rows)})


def _as_bytes(table: pa.Table) -> np.ndarray:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)
