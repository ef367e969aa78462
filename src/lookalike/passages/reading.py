"""Read documents into pieces of about a megabyte, with the anchors of their windows.

Texts are kept in memory, or with limited memory in files, since passages are verified on them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.core.storage import Kinds, Storage
from lookalike.core.wording import counted
from lookalike.io.documents import Source
from lookalike.io.tables import in_one, join_ids
from lookalike.items.segments import Cutter
from lookalike.items.shingles import Shingles
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.passages import choose_anchors
from lookalike.results import Holder
from lookalike.search.ids import unique_ids
from lookalike.search.sketching import pieces

WHOLE, HASH, SMALL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.int32)


@dataclass(eq=False)
class Corpus(Holder):
    """The documents of one collection or two, in order, and their units."""

    cutter: Cutter
    storage: Storage
    ids: list[pa.Array]  # one array per collection
    texts: list[pa.LargeStringArray]  # piece by piece
    counts: np.ndarray  # units of each document
    entries: np.ndarray  # anchors of each document
    anchors: np.ndarray
    firsts: np.ndarray  # the first window of each anchor in its document
    batch_starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))  # of earlier data; see `earlier`
    piece_starts: np.ndarray = field(init=False)  # the first document of each piece, and the number of documents

    def __post_init__(self) -> None:
        self.piece_starts = np.cumsum([0, *map(len, self.texts)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def earlier(self) -> int:
        """The number of documents of earlier data; they come first, and their ids are the first array."""
        return int(self.batch_starts[-1])

    @property
    def shingles(self) -> Shingles:  # type: ignore[override]
        """The normal form in which texts are compared."""
        return self.cutter.shingles

    @property
    def sides(self) -> Sides:
        """Which documents belong to which collection, if there are two."""
        return ALONE if self.earlier else Sides.of([len(ids) for ids in self.ids])

    @property
    def before(self) -> int:
        """The number of documents before those of the last collection."""
        return len(self) - len(self.ids[-1])

    @cached_property
    def every_id(self) -> pa.Array:
        """The ids of all documents."""
        return join_ids(map(pa.chunked_array, [[ids] for ids in self.ids]))

    @cached_property
    def unit_starts(self) -> np.ndarray:
        """The number of units before each document, and of all units."""
        return np.concatenate(([0], np.cumsum(self.counts)))

    @cached_property
    def entry_starts(self) -> np.ndarray:
        """The number of anchors before each document, and of all anchors."""
        return np.concatenate(([0], np.cumsum(self.entries)))

    def look(self, rows: np.ndarray) -> list[str]:
        """Return the texts of documents at ascending positions."""
        pieces = np.searchsorted(self.piece_starts, rows, "right") - 1
        inside = (rows - self.piece_starts[pieces]).tolist()
        return [self.texts[piece][at].as_py() for piece, at in zip(pieces.tolist(), inside, strict=True)]

    def document_of(self, units: np.ndarray) -> np.ndarray:
        """Return the documents that hold these units, counted over all documents."""
        found: np.ndarray = np.searchsorted(self.unit_starts, units, "right") - 1
        return found

    def piece_from(self, document: int) -> int:
        """Return the piece that begins with a document."""
        return int(np.searchsorted(self.piece_starts, document))

    def split_of(self, starts: np.ndarray) -> int:
        """Return where the second collection begins among things that documents have, given their starts."""
        sides = self.sides
        return int(starts[sides.offset]) if sides.two else sides.split


class SidePiece(NamedTuple):
    """Some documents of one side, in the order of reading."""

    side: int
    ids: pa.Table
    texts: pa.LargeStringArray


def read_corpus(sources: list[Source], cutter: Cutter, run: Run, storage: Storage) -> Corpus:
    """Read all documents, and choose the anchors of their windows."""
    sides = [f"ids{side}" for side in range(len(sources))]
    kinds: Kinds = {"counts": WHOLE, "entries": SMALL, "anchors": HASH, "firsts": SMALL, "texts": None}
    grown = storage.growing("passages", kinds | dict.fromkeys(sides))
    done = grown.done
    if done:
        run.say(f"resuming: {counted(done, 'document')} already read")

    def work(piece: SidePiece) -> tuple[SidePiece, list[np.ndarray]]:
        indptr, units = cutter.hashes(piece.texts)
        entries, anchors, firsts = choose_anchors(indptr, units, cutter.length)
        small = [one.astype(np.int32) for one in (np.diff(entries), firsts)]
        return piece, [np.diff(indptr), small[0], anchors, small[1]]

    with run.stage("read") as tick:
        tick(done)
        for piece, columns in run.map(work, _pieces(sources, done, run) if not grown.complete else iter(())):
            done += len(piece.texts)
            ids = [piece.ids if at == piece.side else piece.ids.slice(0, 0) for at in range(len(sources))]
            grown.append(done, [*columns, pa.table({"text": piece.texts}), *ids])
            tick(len(piece.texts))
        counts, entries, anchors, firsts, tables, *named = grown.finish(run)
    ids = [unique_ids([table["id"] for table in some if len(table)], "Source", run) for some in named]
    texts = [in_one(table["text"]) for table in tables]
    return Corpus(cutter, storage, ids, texts, counts, entries, anchors, firsts)


def _pieces(sources: list[Source], done: int, run: Run) -> Iterator[SidePiece]:
    """Yield the documents of all sources in pieces, without the first `done`."""
    for side, source in enumerate(sources):
        for table in _without(source.batches(run), done):
            start = 0
            for texts in pieces(in_one(table["text"])):
                yield SidePiece(side, table.select(["id"]).slice(start, len(texts)), texts)
                start += len(texts)
        done = max(0, done - source.documents)


def _without(tables: Iterable[pa.Table], done: int) -> Iterator[pa.Table]:
    """Yield the tables without their first `done` rows."""
    for table in tables:
        if done < len(table):
            yield table.slice(done)
        done = max(0, done - len(table))
