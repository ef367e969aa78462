"""Change an index: add and remove items, sift out those that are like others, compact it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.errors import (
    AlreadyThere,
    DataError,
    LookalikeError,
    NotThere,
    StoreError,
    UsageError,
    argument,
    whole,
)
from lookalike.core.run import ONE_THREAD, Run, Tick
from lookalike.index.asking import Asking
from lookalike.index.base import Coding, rows_of
from lookalike.index.batches import (
    BATCH,
    ItemEncoder,
    as_id,
    as_kind,
    check_all_named,
    check_ids,
    named,
    numbered,
)
from lookalike.index.codings import SetCoding, VectorCoding, coding_of
from lookalike.index.entries import Entries, gathered, items_in, salt_of
from lookalike.index.grouping import Change, WriteQueue
from lookalike.index.records import Id
from lookalike.index.replay import Replay
from lookalike.index.settings import read_settings
from lookalike.index.sifting import Sieve, Sifted, drop, sieve_of
from lookalike.index.store import Store
from lookalike.index.texts import Phrasebook
from lookalike.index.writing import Writer
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors

FEW = 64  # items of a change that is written together with others
SAMPLE = 1000  # items used to choose the bands


class Changing(Asking):
    """The part of an index that writes."""

    def __init__(self, store: Store, settings: dict[str, Any] | None = None) -> None:
        if settings is None:
            raise UsageError("an index is opened with Index.open(path), and made with Index.build or Index.create.")
        super().__init__(store, settings)
        self.group = WriteQueue(self._write_together, self._tidy)
        self._tidied = True  # whether the last change left its tables tidy

    def close(self) -> None:
        """Write what waits to be written, and close the files."""
        self.group.close()
        super().close()

    def add(
        self,
        items: Any,
        ids: Iterable[Id] | None = None,
        *,
        replace: bool = False,
        batch: int = BATCH,
        also: Callable[[Writer], object] | None = None,
        run: Run | None = None,
    ) -> int:
        """Add texts, sets, vectors or bits, or those of a `Source`, table or path; return how many.

        Items without ids get the next free numbers. Either all items are added, for good, or none.
        An id that already exists is an error; with `replace`, the new item replaces the old one.
        `batch` items are written at a time. Short lists that several threads add at a time are
        written together. `also` is called first, to check or attach something within the same
        transaction.
        """
        run, batch = run or Run(), whole("batch", batch)
        few = None if also is not None else self._few(items, ids, replace)
        if few is not None:
            with run.stage("add") as tick:
                tick(0)  # which may end the run
                return self.group.put(few).result()
        given = ids_of(ids)
        with run.stage("add") as tick, self.store.writing() as writer:
            if also is not None:
                also(writer)
            encoder = self._encoder()
            batches = numbered(self._batches(items, given, run), writer.next_id())
            entries = run.map(encoder.encode, encoder.fitting(batches))
            added = self._take(writer, encoder, entries, batch, run, tick, replace, given)
            self._tidied = writer.settle(run, 0)
            self._settle(writer, encoder)
        self._tidy(run)
        return added

    def add_later(self, items: list[Any], ids: Iterable[Id] | None = None, *, replace: bool = False) -> "Future[int]":
        """Add a list of items as `add` does, without waiting until they are on disk.

        Returns a future: its `result()` waits, and returns how many items were added or raises the
        error. Changes are made in the order in which they are given; `close` waits for all of them.

        >>> from tempfile import mkdtemp
        >>> from lookalike import Index
        >>> with Index.create(Path(mkdtemp()) / "new.index", threshold=0.5, shingles="word:2") as index:
        ...     added = [index.add_later([f"text number {at}"], [at]) for at in range(100)]
        ...     sum(one.result() for one in added)
        100
        """
        few = self._few(items, ids, replace)
        if few is not None:
            return self.group.put(few)
        done: Future[int] = Future()
        done.set_result(self.add(items, ids, replace=replace))
        return done

    def _few(self, items: Any, ids: Iterable[Id] | None, replace: bool) -> Change | None:
        """Return a short list of items as a change to be written with others, else None."""
        if type(items) is not list or not 0 < len(items) <= FEW or isinstance(items[0], Path):
            return None
        coding, given = self._known(), ids_of(ids)
        if coding is None:
            return None
        names = None if given is None else named(None, len(items), given)
        check_all_named(given, len(items))
        if names is not None and len(set(names)) < len(names):
            raise repeated(Counter(names).most_common(1)[0][0])
        return Change(as_kind(items, coding.kind, self.measure), names, replace)

    def _write_together(self, changes: Sequence[Change]) -> list[int | BaseException]:
        """Make changes in one transaction; return for each how many items it changed, or its error."""
        results: list[int | BaseException] = []
        with self.store.writing() as writer:
            encoder = self._encoder()
            entries, places = encoder.encode_together(changes, writer.next_id())
            if all_new(writer, changes, entries):
                writer.add_several(entries)
                results += map(len, places)
            else:
                results += self._make_each(writer, encoder, changes, entries, places)
            self._tidied = writer.settle()
        return results

    def _tidy(self, run: Run = ONE_THREAD) -> None:
        """Tidy the tables after a large change, in small ones, whose pages the next ones use again.

        The change itself is on disk: if this fails, as on a full disk, it is done with the next one.
        """
        with suppress(StoreError):
            while not self._tidied:
                with self.store.writing() as writer:
                    self._tidied = writer.settle(run)

    def _make_each(
        self, writer: Writer, encoder: ItemEncoder, changes: Sequence[Change], entries: Entries, places: list[range]
    ) -> Iterator[int | BaseException]:
        """Make changes one after another; yield for each how many items it changed, or its error."""
        for change, own in zip(changes, places, strict=True):
            before = writer.changes
            try:
                yield self._make(writer, encoder.fitted(), change, entries, own)
            except LookalikeError as error:
                if writer.changes > before:
                    raise
                yield error

    def _make(self, writer: Writer, coding: Coding, change: Change, entries: Entries, places: range) -> int:
        """Make one change of several; errors of the caller come before anything is written."""
        if change.items is None:
            numbers = [writer.number_of(name) for name in change.ids or []]
            for name, number in zip(change.ids or [], numbers, strict=True):
                if number is None:
                    raise NotThere(f"there is no item {name!r} in the index.")
            for name in change.ids or []:
                drop(writer, coding, name)
            return len(numbers)
        for place in places:
            name = entries.ids[place]
            if not change.replace and writer.number_of(name) is not None:
                raise existing(name)
        for place in places:
            if change.replace and writer.number_of(entries.ids[place]) is not None:
                drop(writer, coding, entries.ids[place])
            writer.add_one(entries, place)
        return len(places)

    def _encoder(self) -> ItemEncoder:
        return ItemEncoder(self._known(), self._fit, salt_of(self.settings["wanted"]["seed"]))

    def _take(
        self,
        writer: Writer,
        encoder: ItemEncoder,
        entries: Iterable[Entries],
        batch: int,
        run: Run,
        tick: Tick,
        replace: bool,
        given: Iterator[Id] | None,
    ) -> int:
        """Write entries, about `batch` items at a time; return how many."""
        added, first = 0, writer.next_number()
        for parts in gathered(entries, batch, tick):
            self._write(writer, parts, encoder, replace, first, run, tick)
            added += items_in(parts)
        check_all_named(given, added)
        return added

    def _write(
        self,
        writer: Writer,
        parts: list[Entries],
        encoder: ItemEncoder,
        replace: bool,
        first: int,
        run: Run,
        tick: Tick,
    ) -> None:
        """Write the items; items added before them have numbers from `first`."""
        check_distinct(parts)
        for name, number in writer.known(parts):
            if number >= first:
                raise repeated(name)
            if not replace:
                raise existing(name)
            drop(writer, encoder.fitted(), name)
            tick(0)  # which may end the run: to replace many large items takes long
        writer.add(parts, run)

    def _settle(self, writer: Writer, encoder: ItemEncoder) -> None:
        """Save the coding that the first items chose."""
        if encoder.coding is not None and self._coding is None:
            writer.put_settings({**(writer.settings() or self.settings), "coding": encoder.coding.settings()})

    def _fit(self, batch: Any) -> Coding:
        """Choose the coding for items of which these are the first."""
        wanted, expected = self.settings["wanted"], self.settings["expected"]
        if isinstance(batch, Vectors | Bits):
            return VectorCoding.fitted(rows_of(batch, np.arange(min(len(batch), SAMPLE))), expected, wanted)
        if isinstance(batch, Sets):
            return SetCoding.fitted(rows_of(batch, np.arange(min(len(batch), SAMPLE))), None, expected, wanted)
        shingles = Shingles(**self.settings["shingles"])
        texts = Phrasebook.learned(batch) if self.settings["store_text"] else None
        return SetCoding.fitted(shingles.sets(batch.slice(0, SAMPLE)), shingles, expected, wanted, texts)

    def remove(self, ids: Iterable[Id]) -> int:
        """Remove items; return how many. An unknown id is an error, and then nothing is removed."""
        check_ids(ids)
        self._known()
        names = list(map(as_id, ids))
        if self._coding is not None and 0 < len(names) <= FEW and len(set(names)) == len(names):
            return self.group.put(Change(None, names)).result()
        removed = 0
        with self.store.writing() as writer:
            for identity in names:
                if self._coding is None:
                    raise NotThere(f"there is no item {identity!r} in the index.")
                drop(writer, self._coding, identity)
                removed += 1
            self._tidied = writer.settle(share=0)
        self._tidy()
        return removed

    @contextmanager
    def sieve(
        self, *, update: bool = False, threshold: float | None = None, digest: bytes | None = None
    ) -> Iterator[Sieve | Replay]:
        """Provide a `Sieve`, which does the same as `sift` batch by batch, for inputs of any size.

        Use it in a `with` statement; with `update`, the kept items are added when the block ends.
        `digest` is a hash of the whole input, computed by the caller. If an input with the same
        digest was already added with `update`, the sieve returns the decisions made then and adds
        nothing.
        """
        with sieve_of(self.store, self._encoder, update, self._threshold(threshold), digest) as sieve:
            yield sieve
            if update and isinstance(sieve, Sieve):
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
        """Keep the items that are similar to no item of the index, and to none kept before them.

        With `update`, the kept items are added to the index, and replace items with the same ids:
        all of them, or none if something fails. `threshold` is that of the index by default.
        Returns `Sifted`: `keep` says of each item whether it is kept, and the rows list the others.
        """
        run = run or Run()
        given = ids_of(ids)
        with run.stage("sift") as tick, self.sieve(update=update, threshold=threshold) as sieve:
            parts = []
            batches = ((batch, names, None) for batch, names in self._batches(items, given, run))
            for sifted, _ in sieve.sift_all(batches, run):
                parts.append(sifted)
                tick(len(sifted.ids))
            check_all_named(given, sum(len(part.ids) for part in parts))
        return Sifted.of(parts, self.measured)

    def compact(self) -> int:
        """Rewrite the index without gaps, and in the present format; return how many bytes that saved."""
        before = self.store.byte_size()
        self.store.compact()
        self.settings = read_settings(self.store)  # which have changed if the index was of an older format
        coding = self.settings["coding"]
        self._coding = None if coding is None else coding_of(coding)
        return before - self.store.byte_size()


def ids_of(ids: Iterable[Id] | None) -> Iterator[Id] | None:
    """Return the ids one by one, or None if the items have their own or are numbered."""
    if ids is None:
        return None
    check_ids(ids)
    return iter(ids)


def all_new(writer: Writer, changes: Sequence[Change], entries: Entries) -> bool:
    """Return whether changes do nothing but add items with new ids."""
    adding = all(change.items is not None for change in changes)
    return adding and len(set(entries.ids)) == len(entries.ids) and not writer.known([entries])


def check_distinct(parts: Sequence[Entries]) -> None:
    """Raise an error if two items have the same id."""
    ids = [name for part in parts for name in part.ids]
    if len(set(ids)) < len(ids):
        raise repeated(Counter(ids).most_common(1)[0][0])


def existing(name: Id) -> AlreadyThere:
    """Return the error for an id that an item of the index has."""
    return AlreadyThere(f"id {name!r} already exists; use {argument('replace', True)} to overwrite it.")


def repeated(name: Id) -> DataError:
    """Return the error for an id that several of the items to add have."""
    return DataError(f"ids must be unique; {name!r} occurs more than once.")
