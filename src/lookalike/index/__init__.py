"""A collection that lives: items are added and removed, and others are looked up among them.

An `Index` is a folder. Every answer is verified on the items themselves, and the index tells how surely an item right
at the threshold is found.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike import __version__
from lookalike.data import Bits, Sets, Vectors
from lookalike.errors import LARGEST_SEED, DataError, fraction, whole
from lookalike.index.batches import BATCH, Waiting, joined, named, parts_of, rows_of, same_type
from lookalike.index.checking import check
from lookalike.index.codings import Coding, Encoded, SetCoding, VectorCoding, coding_of, shingle_settings
from lookalike.index.store import FORMAT, Id, Store, Writer
from lookalike.items import as_items
from lookalike.read import Source
from lookalike.results import Pairs
from lookalike.run import Run
from lookalike.shingles import Shingles

BULK = 1_000_000  # items that are written at a time when an index is built
SAMPLE = 1000  # items that the bands are chosen by
MOST = 10_000  # items of one bucket that are looked at

Found = list[tuple[Id, float]]  # ids, and similarities or distances, the most similar first


class Index:
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

    def __init__(self, store: Store, settings: dict[str, Any]) -> None:
        self.store, self.settings = store, settings
        self._coding = None if settings["coding"] is None else coding_of(settings["coding"])

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
            "shingles": shingle_settings(parsed),
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
            raise DataError(f"{path}: an index of format {got}, where {FORMAT} is read; build it again.")
        return cls(store, settings)

    def close(self) -> None:
        """Let go of the files."""
        self.store.close()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __len__(self) -> int:
        with self.store.reading() as reader:
            return len(reader)

    def __contains__(self, identity: Id) -> bool:
        with self.store.reading() as reader:
            return reader.number_of(identity) is not None

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

        Without ids of their own they are numbered on. Items are written a batch at a time, and each batch is there for
        good, or not at all. An id that is there already is an error; with `replace` the new item takes its place.
        """
        run, batch = run or Run(), whole("batch", batch)
        given = None if ids is None else iter(ids)
        added, waiting = 0, Waiting([], [], [])
        with run.stage("add") as tick:
            with self.store.reading() as reader:
                first = reader.next_number()
            for names, encoded, texts in run.map(self._encoded, self._fitting(self._batches(items, given, first, run))):
                waiting.ids.extend(names)
                waiting.encoded.append(encoded)
                waiting.texts.extend(texts)
                if len(waiting.ids) >= batch:
                    added, waiting = added + self._write(waiting, replace), Waiting([], [], [])
                tick(len(names))
            added += self._write(waiting, replace)
        if given is not None and next(given, None) is not None:
            raise DataError(f"ids must name each item; there are more than the {added:,} items.")
        return added

    def _fitting(self, batches: Iterator[tuple[Any, list[Id]]]) -> Iterator[tuple[Any, list[Id]]]:
        """The batches, once the first of them has told what the bands are to be."""
        for batch, names in batches:
            if self._known() is None:
                self._coding = self._fit(batch)
                self.settings = {**self.settings, "coding": self._coding.settings()}
            yield batch, names

    def _known(self) -> Coding | None:
        """The coding, which another process may have chosen meanwhile; None before there are items."""
        if self._coding is None:
            with self.store.reading() as reader:
                settings = reader.settings()
            if settings is not None and settings["coding"] is not None:
                self.settings, self._coding = settings, coding_of(settings["coding"])
        return self._coding

    def _encoded(self, task: tuple[Any, list[Id]]) -> tuple[list[Id], Encoded, list[str]]:
        batch, names = task
        texts = batch.to_pylist() if self.settings["store_text"] and self._fitted().kind == "texts" else []
        return names, self._fitted().encode(batch), texts

    def _batches(self, items: Any, ids: Iterator[Id] | None, first: int, run: Run) -> Iterator[tuple[Any, list[Id]]]:
        """Items a batch at a time, with the ids they have or are given, or else numbers from `first` on."""
        taken = as_items(items, self.settings["wanted"]["measure"], run)
        if taken is None:
            return
        own = isinstance(items, Source | str | Path | pa.Table)  # they have ids, if only by their place
        for batch, names in parts_of(taken):
            yield batch, named(names if own or not isinstance(taken, Source) else None, len(batch), ids, first)
            first += len(batch)

    def _write(self, waiting: "Waiting", replace: bool) -> int:
        """Write a batch, all of it or nothing."""
        ids = waiting.ids
        if not ids:
            return 0
        if len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise DataError(f"ids must be unique; {twice!r} occurs more than once.")
        with self.store.writing() as writer:
            begun = writer.settings() or {}
            if begun.get("coding") not in (None, self.settings["coding"]):
                raise DataError(f"{self.store.path}: another process has begun the index; open it again.")
            writer.put_settings(self.settings)
            there = [name for name in ids if writer.number_of(name) is not None]
            if there and not replace:
                raise DataError(f"id {there[0]!r} is there already; replace=True (--replace) takes the new item.")
            for name in there:
                self._remove(writer, name)
            writer.add(joined(waiting.encoded), ids, waiting.texts or None)
        return len(ids)

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
            for identity in ids:
                self._remove(writer, identity)
                removed += 1
        return removed

    def _remove(self, writer: Writer, identity: Id) -> None:
        number = writer.number_of(identity)
        if number is None:
            raise DataError(f"there is no item {identity!r} in the index.")
        item = writer.item(number)
        writer.remove(item, self._fitted().again(item.payload).keys)

    def _fitted(self) -> Coding:
        assert self._coding is not None  # there are items
        return self._coding

    # --- ask ---

    def query(self, item: Any, *, threshold: float | None = None, top: int | None = 10) -> Found:
        """The items most similar to one, at most `top`: ids and similarities or distances, the best first."""
        if isinstance(item, str):
            batch: Any = [item]
        else:
            batch = as_items([item], self.settings["wanted"]["measure"], Run(1))
        return self._query(self._asked(batch), 0, *self._bounds(threshold, top))[0]

    def query_batch(
        self, items: Any, *, threshold: float | None = None, top: int | None = 10, run: Run | None = None
    ) -> Pairs:
        """The same for many items, as pairs of what was asked and what was found."""
        run = run or Run()
        bounds = self._bounds(threshold, top)
        asked: list[Any] = []
        left: list[int] = []
        found: Found = []
        stats = {"candidates": 0, "crowded": 0}
        with run.stage("query") as tick:
            for batch, names in self._batches(items, None, 0, run):
                encoded = self._asked(batch)
                for place in range(len(names)):
                    matches, looked_at, crowded = self._query(encoded, place, *bounds)
                    left.extend([len(asked) + place] * len(matches))
                    found.extend(matches)
                    stats["candidates"] += looked_at
                    stats["crowded"] += crowded
                asked.extend(names)
                tick(len(names))
        kind = "similarity" if self._coding is None else self._coding.plan.kind
        values = np.array([value for _, value in found], np.float64)
        names, ids = same_type(asked), same_type([name for name, _ in found])
        return Pairs(
            np.array(left, np.int64), np.arange(len(found)), values, names, right_ids=ids, kind=kind, stats=stats
        )

    def _asked(self, batch: Any) -> Encoded | None:
        coding = self._known()
        return None if coding is None else coding.encode(batch)

    def _bounds(self, threshold: float | None, top: int | None) -> tuple[float, int | None]:
        given = self.settings["wanted"]["threshold"]
        least = float(Fraction(given)) if threshold is None else float(threshold)
        return least, None if top is None else whole("top", top)

    def _query(self, encoded: Encoded | None, place: int, threshold: float, top: int | None) -> tuple[Found, int, bool]:
        """What is found, how many items were looked at, and whether there were more in a bucket than are looked at."""
        if encoded is None:
            return [], 0, False
        coding = self._fitted()
        with self.store.reading() as reader:
            numbers, crowded = reader.in_buckets(encoded.keys[place], MOST)
            heads = [reader.item(number) for number in numbers]
            if not heads:
                return [], 0, crowded
            values = coding.measure(encoded.payloads[place], [head.payload for head in heads])
            near = np.flatnonzero(coding.near(values, threshold))
            order = near[np.argsort(-values[near] if coding.plan.kind == "similarity" else values[near], kind="stable")]
            found: Found = []
            for at in order[:top].tolist():
                twins = reader.twins(heads[at].content, None if top is None else top - len(found))
                found.extend((reader.item(number).id, float(values[at])) for number in twins)
                if top is not None and len(found) >= top:
                    break
        return found, len(heads), crowded

    def text(self, identity: Id) -> str | None:
        """The text of an item, if the index keeps texts."""
        with self.store.reading() as reader:
            number = reader.number_of(identity)
            if number is None:
                raise DataError(f"there is no item {identity!r} in the index.")
            return reader.text(number)

    def ids(self) -> Iterator[Id]:
        """The ids of all items, in the order in which they were added."""
        with self.store.reading() as reader:
            for item in reader.items():
                yield item.id

    # --- look after ---

    def info(self) -> dict[str, Any]:
        """What the index holds and how it was made."""
        with self.store.reading() as reader:
            items, buckets, distinct = len(reader), reader.entries("buckets"), reader.distinct("buckets", 8)
        size = self.store.byte_size()
        coding = self._known()
        facts: dict[str, Any] = {"items": items, "bytes": size, "bytes an item": round(size / max(1, items), 1)}
        if coding is not None:
            facts |= {
                "kind": coding.kind,
                "measure": coding.plan.measure,
                "threshold": str(coding.plan.threshold),
                "expected recall at the threshold": round(coding.recall(float(coding.plan.threshold)), 4),
                "tables": coding.tables,
                "buckets": distinct,
                "items a bucket": round(buckets / max(1, distinct), 2),
            }
        return facts | {
            "format": FORMAT,
            "made by": self.settings["version"],
            "texts kept": self.settings["store_text"],
        }

    def compact(self) -> int:
        """Write the index anew without gaps; returns how many bytes that saved."""
        before = self.store.byte_size()
        self.store.compact()
        return before - self.store.byte_size()

    def verify(self, run: Run | None = None) -> int:
        """Check every entry against the items; returns how many items there are, and raises if something is wrong."""
        run = run or Run()
        self._known()
        with self.store.reading() as reader, run.stage("verify", len(reader)) as tick:
            return check(reader, self._coding, tick)


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place when all went well, and leaves nothing when not."""
    check_new(path)
    place = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield place
        os.rename(place, path)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def check_new(path: Path) -> None:
    """An error if no folder can be made there."""
    if path.exists():
        raise DataError(f"{path}: is there already; an index is made in a new folder.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be made, there is no folder {path.absolute().parent}.")
