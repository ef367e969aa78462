"""A collection that lives: items are added and removed, and others are looked up among them.

An `Index` is a folder. Every answer is verified on the items themselves, and the index tells how surely an item right
at the threshold is found.
"""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.data import Bits, Sets, Vectors
from lookalike.errors import (
    LARGEST_SEED,
    AlreadyThere,
    DataError,
    NotThere,
    StoreError,
    choice,
    fraction,
    whole,
    within,
)
from lookalike.index.batches import (
    BATCH,
    Encoder,
    Waiting,
    as_id,
    as_kind,
    batches_of,
    check_all_named,
    joined,
    kind_by,
    numbered,
    rows_of,
    same_type,
)
from lookalike.index.checking import check
from lookalike.index.codings import Coding, SetCoding, VectorCoding, coding_of, shingle_settings
from lookalike.index.looking import Found, Looked, look_up
from lookalike.index.sifting import Sieve, Sifted, all_sifted, drop, sieve_of
from lookalike.index.store import FORMAT, Id, Store, Writer, building, check_new, is_id
from lookalike.measures import MEASURES
from lookalike.plan import parse_threshold
from lookalike.results import Pairs
from lookalike.run import Run
from lookalike.shingles import Shingles
from lookalike.spaces import MEASURES_OF_VECTORS
from lookalike.vector_plan import parse_distance

BULK = 1_000_000  # items that are written at a time when an index is built
BATCH_BYTES = 300_000_000  # or of so many bytes
SAMPLE = 1000  # items that the bands are chosen by
LONGEST_CODE = 1 << 31
MEASURED = ("jaccard", "bag_jaccard", *MEASURES_OF_VECTORS)
NAMES = {"bag": "bag_jaccard"}
SPELLED = re.compile(r"0|-?[1-9][0-9]{0,18}")  # numbers


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
        measure = choice("measure", NAMES.get(measure, measure), MEASURED)
        if measure in MEASURES_OF_VECTORS:
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
            return reader.number_of(as_id(identity)) is not None

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
        added, waiting = 0, Waiting([], [], [])
        with run.stage("add") as tick, self.store.writing() as writer:
            encoder = self._encoder()
            batches = numbered(self._batches(items, given, run), writer.next_id())
            for names, encoded, texts in run.map(encoder.encode, encoder.fitting(batches)):
                waiting.ids.extend(names)
                waiting.encoded.append(encoded)
                waiting.texts.extend(texts)
                if len(waiting.ids) >= batch or waiting.byte_size() > BATCH_BYTES:
                    added += self._write(writer, waiting, encoder, replace)
                    waiting = Waiting([], [], [])
                tick(len(names))
            check_all_named(given, added + len(waiting.ids))
            added += self._write(writer, waiting, encoder, replace)
            self._settle(writer, encoder)
        return added

    def _encoder(self) -> Encoder:
        return Encoder(self._known(), self._fit, self.settings["store_text"])

    def _known(self) -> Coding | None:
        """The coding, which another process may have chosen meanwhile; None before there are items."""
        if self._coding is None:
            with self.store.reading() as reader:
                settings = reader.settings()
            if settings is not None and settings["coding"] is not None:
                self.settings, self._coding = settings, coding_of(settings["coding"])
        return self._coding

    def _batches(self, items: Any, ids: Iterator[Id] | None, run: Run) -> Iterator[tuple[Any, list[Id] | None]]:
        coding = self._known()
        return batches_of(items, self.measure, None if coding is None else coding.kind, ids, run)

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
            for sifted, _ in sieve.sift_all(
                ((batch, names, None) for batch, names in self._batches(items, given, run)), run
            ):
                parts.append(sifted)
                tick(len(sifted.ids))
            check_all_named(given, sum(len(part.ids) for part in parts))
        return all_sifted(parts)

    # --- ask ---

    def query(self, item: Any, *, threshold: float | None = None, top: int | None = 10) -> Found:
        """The items most similar to one, at most `top`: ids and similarities or distances, the best first."""
        return self.look(item, threshold=threshold, top=top).found

    def look(self, item: Any, *, threshold: float | None = None, top: int | None = 10) -> Looked:
        """The same, with how many items were looked at."""
        coding = self._known()
        bounds = self._bounds(threshold, top)
        return Looked([]) if coding is None else self._looks(as_kind([item], coding.kind, self.measure), *bounds)[0]

    def _looks(self, batch: Any, threshold: float, top: int | None) -> list[Looked]:
        coding = self._known()
        if coding is None:
            return [Looked([])] * len(batch)
        encoded = coding.encode(batch)
        with self.store.reading() as reader:
            return [look_up(reader, coding, encoded, place, threshold, top) for place in range(len(batch))]

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
            for batch, names in numbered(self._batches(items, None, run)):
                for place, looked in enumerate(self._looks(batch, *bounds), len(asked)):
                    left.extend([place] * len(looked.found))
                    found.extend(looked.found)
                    stats["candidates"] += looked.candidates
                    stats["crowded"] += looked.crowded
                asked.extend(names)
                tick(len(names))
        values = np.array([value for _, value in found], np.float64)
        names, ids = same_type(asked), same_type([name for name, _ in found])
        return Pairs(
            np.array(left, np.int64),
            np.arange(len(found)),
            values,
            names,
            right_ids=ids,
            kind=self.measured,
            stats=stats,
        )

    def warm(self) -> None:
        """Look something up, so that the first who asks need not wait for what is compiled or read on first use."""
        coding = self._known()
        if coding is not None:
            with self.store.reading() as reader:
                for item in islice(reader.items(), 1):
                    look_up(reader, coding, coding.again(item.payload), 0, self.threshold, 1)
            if coding.kind == "texts":
                self.look("a text to begin with")

    def _bounds(self, threshold: float | None, top: int | None) -> tuple[float, int | None]:
        return self._threshold(threshold), None if top is None else whole("top", top)

    @property
    def threshold(self) -> float:
        """The similarity or distance that items are found at, if no other is asked for."""
        return float(Fraction(self.settings["wanted"]["threshold"]))

    def recall(self, threshold: float | None = None) -> float:
        """How surely an item is found that is right at a threshold, by default that of the index."""
        coding = self._known()
        return 1.0 if coding is None else coding.recall(self._threshold(threshold))

    def holds(self) -> tuple[str, int]:
        """What kind of items the index holds, or will hold: "texts", "sets", "vectors" or "bits"; and of what size."""
        coding = self._known()
        return (kind_by(self.measure), 3) if coding is None else (coding.kind, coding.size)

    def curve(self, points: int = 101) -> list[tuple[float, float]]:
        """How surely an item is found, by its similarity, or by its distance up to three thresholds."""
        coding = self._known()
        if coding is None:
            return []
        least, most = (0.0, 1.0) if self.measured == "similarity" else (0.0, min(coding.farthest, 3 * self.threshold))
        return [(x, coding.recall(x)) for x in np.linspace(least, most, points).tolist()]

    def _threshold(self, given: float | None) -> float:
        """That of the index, or another one."""
        if given is None:
            return self.threshold
        return float(within("threshold", given, 1.0 if self.measured == "similarity" else math.inf))

    @property
    def measure(self) -> str:
        """By what measure items are compared."""
        return str(self.settings["wanted"]["measure"])

    @property
    def measured(self) -> str:
        """Whether that is a "similarity" or a "distance"."""
        return MEASURES[self.measure].kind

    def item(self, identity: Id) -> Any:
        """An item as it was given: a vector, a code as a string of 0 and 1, or a text if the index keeps texts.

        None where that cannot be told: of sets and texts just the hashes of their elements are kept.
        """
        coding, identity = self._known(), as_id(identity)
        with self.store.reading() as reader:
            number = reader.number_of(identity)
            if number is None or coding is None:
                raise NotThere(f"there is no item {identity!r} in the index.")
            return reader.text(number) if coding.kind == "texts" else coding.shown(reader.item(number).payload)

    def spelled(self, name: str, number: bool | None = None) -> Id:
        """The id of the item that is called so: the string, or the number that it spells.

        Where both are there, `number` must tell which is meant.
        """
        strings: list[Id] = [] if number else [name]
        numbers: list[Id] = [int(name)] if number is not False and SPELLED.fullmatch(name) else []
        found = [identity for identity in strings + numbers if is_id(identity) and identity in self]
        if len(found) > 1:
            raise AlreadyThere(
                f"{name} is the id of two items, a number and a string; number=true or false says which."
            )
        if not found:
            raise NotThere(f"there is no item {name!r} in the index.")
        return found[0]

    def ids(self) -> Iterator[Id]:
        """The ids of all items, in the order in which they were added."""
        with self.store.reading() as reader:
            for item in reader.items():
                yield item.id

    # --- look after ---

    def info(self, buckets: bool = True) -> dict[str, Any]:
        """What the index holds and how it was made; to count its buckets takes a second for a million items."""
        with self.store.reading() as reader:
            items, entries = len(reader), reader.entries("buckets")
            distinct = reader.distinct("buckets", 8) if buckets else 0
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
            }
        if distinct:
            facts |= {"buckets": distinct, "items a bucket": round(entries / distinct, 2)}
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
            texts = self.settings["store_text"] and self._coding is not None and self._coding.kind == "texts"
            return check(reader, self._coding, texts, tick)
