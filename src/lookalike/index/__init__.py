"""A collection that lives: items are added and removed, and others are looked up among them.

An `Index` is a folder. Every answer is verified on the items themselves, and the index tells how surely an item right
at the threshold is found.

Lives here: `store` and `tables` (what is in the files), `codings` (how items of each kind are kept and compared),
`asking` (queries), `sifting` (deduplication against an index), `batches` and `records`.
May import: `find`, `search` and what is below them. To keep another kind of item, derive a `codings.Coding`.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.core.errors import (
    LARGEST_SEED,
    AlreadyThere,
    DataError,
    NotThere,
    StoreError,
    choice,
    fraction,
    whole,
)
from lookalike.core.run import Run
from lookalike.index.asking import Asking
from lookalike.index.batches import (
    BATCH,
    Encoder,
    Waiting,
    as_id,
    check_all_named,
    joined,
    numbered,
    rows_of,
)
from lookalike.index.codings import Coding, SetCoding, VectorCoding, shingle_settings
from lookalike.index.records import Id
from lookalike.index.sifting import Sieve, Sifted, all_sifted, drop, sieve_of
from lookalike.index.store import FORMAT, Store, building, check_new
from lookalike.index.tables import Writer
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.measures.table import BANDED, OF_VECTORS, SHORT
from lookalike.search.plan import parse_threshold
from lookalike.search.vector_plan import parse_distance

BULK = 1_000_000  # items that are written at a time when an index is built
BATCH_BYTES = 300_000_000  # or of so many bytes
SAMPLE = 1000  # items that the bands are chosen by
LONGEST_CODE = 1 << 31


class Index(Asking):
    """An index in a folder, of documents, sets, vectors or bit codes: whichever are added first.

    >>> from tempfile import mkdtemp
    >>> index = Index.create(Path(mkdtemp()) / "news.index", threshold=0.5, shingles="char:4")
    >>> index.add(["the cat sat on the mat", "something else"], ids=["cat", "other"])
    2
    >>> [(name, round(similarity, 2)) for name, similarity in index.query("the cat sat on the hat")]
    [('cat', 0.71)]
    >>> index.remove(["cat"]), index.query("the cat sat on the hat")
    (1, [])
    >>> index.close()
    """

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        threshold: Any = 0.8,
        measure: str = "jaccard",
        recall: float = 0.99,
        shingles: Shingles | str = "char:9",
        expected: int = 1_000_000,
        store_text: bool = False,
        seed: int = 1,
        notes: dict[str, Any] | None = None,
    ) -> "Index":
        """A new index without items.

        Bands are chosen when the first items are added, for about `expected` items in all, so that one right at the
        threshold is found with probability `recall`. With `store_text` documents can be had back. `notes`, of what JSON
        can hold, are kept in the settings.
        """
        path = Path(path)
        check_new(path)
        measure = choice("measure", banded_name(measure), (*BANDED, *OF_VECTORS))
        if measure in OF_VECTORS:
            parse_distance(measure, threshold, LONGEST_CODE)
        else:
            parse_threshold(measure, threshold)
        parsed = shingles if isinstance(shingles, Shingles) else Shingles.parse(shingles)
        settings = {
            "format": FORMAT,
            "version": __version__,
            "wanted": {
                "measure": measure,
                "threshold": str(threshold),
                "recall": fraction("recall", recall),
                "seed": whole("seed", seed, least=0, most=LARGEST_SEED),
            },
            "shingles": shingle_settings(dataclasses.replace(parsed, bag=measure == "bag_jaccard")),
            "expected": whole("expected", expected),
            "store_text": bool(store_text),
            "notes": notes or {},
            "coding": None,
        }
        store = Store(path, create=True)
        with store.writing() as writer:
            writer.put_settings(settings)
        return cls(store, settings)

    @classmethod
    def build(cls, path: str | Path, items: Any, ids: Iterable[Id] | None = None, **options: Any) -> "Index":
        """A new index of these items, which appears whole or not at all; the options are those of `create` and `run`.

        All is written in order, which is faster than to add the items, and takes less room.
        """
        path, run = Path(path), options.pop("run", None)
        with building(path) as place:
            index = cls.create(place, **options)
            try:
                index.add(items, ids, batch=BULK, run=run)
            finally:
                index.close()
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> "Index":
        """An index that is there."""
        store = Store(Path(path), read_only)
        with store.reading() as reader:
            settings = reader.settings()
        if settings is None or settings.get("format") != FORMAT:
            store.close()
            got = None if settings is None else settings.get("format")
            raise StoreError(f"{path}: an index of format {got}, where {FORMAT} is read; build it again.")
        return cls(store, settings)

    # --- change ---

    def add(
        self,
        items: Any,
        ids: Iterable[Id] | None = None,
        *,
        replace: bool = False,
        batch: int = BATCH,
        run: Run | None = None,
    ) -> int:
        """Add texts, sets, vectors or bits, or those of a `Source`, table or path; returns how many.

        Without ids of their own they are numbered on. All are added, and are there for good, or none is. An id that is
        there already is an error; with `replace` the new item takes its place. `batch` items are written at a time.
        """
        run, batch = run or Run(), whole("batch", batch)
        given = None if ids is None else iter(ids)
        added, waiting = 0, Waiting()
        with run.stage("add") as tick, self.store.writing() as writer:
            encoder = self._encoder()
            batches = numbered(self._batches(items, given, run), writer.next_id())
            for names, encoded, texts in run.map(encoder.encode, encoder.fitting(batches)):
                waiting.append(names, encoded, texts)
                if len(waiting.ids) >= batch or waiting.byte_size > BATCH_BYTES:
                    added += self._write(writer, waiting, encoder, replace)
                    waiting = Waiting()
                tick(len(names))
            check_all_named(given, added + len(waiting.ids))
            added += self._write(writer, waiting, encoder, replace)
            self._settle(writer, encoder)
        return added

    def _encoder(self) -> Encoder:
        return Encoder(self._known(), self._fit, self.settings["store_text"])

    def _write(self, writer: Writer, waiting: Waiting, encoder: Encoder, replace: bool) -> int:
        """Write what is waiting."""
        ids = waiting.ids
        if not ids:
            return 0
        if len(set(ids)) < len(ids):
            raise DataError(f"ids must be unique; {Counter(ids).most_common(1)[0][0]!r} occurs more than once.")
        there = [name for name in ids if writer.number_of(name) is not None]
        if there and not replace:
            raise AlreadyThere(f"id {there[0]!r} is there already; replace=True (--replace) takes the new item.")
        for name in there:
            drop(writer, encoder.fitted(), name)
        writer.add(joined(waiting.encoded), ids, waiting.texts or None)
        return len(ids)

    def _settle(self, writer: Writer, encoder: Encoder) -> None:
        """Write down the coding of the first items."""
        if encoder.coding is not None:
            writer.put_settings({**(writer.settings() or self.settings), "coding": encoder.coding.settings()})

    def _fit(self, batch: Any) -> Coding:
        """The coding for items of which these are the first."""
        wanted, expected = self.settings["wanted"], self.settings["expected"]
        if isinstance(batch, Vectors | Bits):
            return VectorCoding.fitted(rows_of(batch, np.arange(min(len(batch), SAMPLE))), expected, wanted)
        if isinstance(batch, Sets):
            return SetCoding.fitted(rows_of(batch, np.arange(min(len(batch), SAMPLE))), None, expected, wanted)
        shingles = Shingles(**self.settings["shingles"])
        return SetCoding.fitted(shingles.sets(batch.slice(0, SAMPLE)), shingles, expected, wanted)

    def remove(self, ids: Iterable[Id]) -> int:
        """Remove items; returns how many. An id that is not there is an error, and nothing is removed."""
        removed = 0
        self._known()
        with self.store.writing() as writer:
            for identity in map(as_id, ids):
                if self._coding is None:
                    raise NotThere(f"there is no item {identity!r} in the index.")
                drop(writer, self._coding, identity)
                removed += 1
        return removed

    @contextmanager
    def sieve(self, *, update: bool = False, threshold: float | None = None) -> Iterator[Sieve]:
        """A sieve for batches of items: see `sift`. With `update` all is written at the end, if nothing failed."""
        with sieve_of(self.store, self._encoder, update, self._threshold(threshold)) as sieve:
            yield sieve
            if update:
                self._settle(sieve.new, sieve.encoder)

    def sift(
        self,
        items: Any,
        ids: Iterable[Id] | None = None,
        *,
        update: bool = False,
        threshold: float | None = None,
        run: Run | None = None,
    ) -> Sifted:
        """Which items are unlike all in the index, and unlike those that are kept of the items before them.

        With `update` these are added, or take the place of those that have their ids: all of them, or none if
        something fails.
        """
        run = run or Run()
        given = None if ids is None else iter(ids)
        with run.stage("sift") as tick, self.sieve(update=update, threshold=threshold) as sieve:
            parts = []
            batches = ((batch, names, None) for batch, names in self._batches(items, given, run))
            for sifted, _ in sieve.sift_all(batches, run):
                parts.append(sifted)
                tick(len(sifted.ids))
            check_all_named(given, sum(len(part.ids) for part in parts))
        return all_sifted(parts)

    def compact(self) -> int:
        """Write the index anew without gaps; returns how many bytes that saved."""
        before = self.store.byte_size()
        self.store.compact()
        return before - self.store.byte_size()


def banded_name(measure: str) -> str:
    """The name of a measure that an index may have; "cosine" is that of vectors."""
    return SHORT[measure] if SHORT.get(measure) in BANDED else measure
