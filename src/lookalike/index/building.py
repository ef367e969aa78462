"""Build an index of many items: they are committed some at a time, so that a killed build can go on.

The entries of the items are first collected in sorted runs, in files, and merged into the tables in
the end. The runs of some items are on disk before these items count as built.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lookalike import __version__
from lookalike.core.errors import LookalikeError, StoreError, UsageError, parameter, remedy
from lookalike.core.run import Run, Tick
from lookalike.core.wording import counted
from lookalike.core.workdir import COMMIT_SECONDS, LEAST_MEMORY, FolderStorage
from lookalike.index.batches import ItemEncoder
from lookalike.index.changing import check_distinct, repeated
from lookalike.index.entries import Entries, gathered, items_in
from lookalike.index.postings import ENTRY
from lookalike.index.runs import Runs
from lookalike.index.store import Store, appear, building, check_new
from lookalike.index.tables import POSTINGS
from lookalike.io.documents import Source
from lookalike.io.remote import must_be_local
from lookalike.kernels.blocks import SLICES
from lookalike.search.storage import READING, source_files

BULK = 1_000_000  # items that are committed together, or fewer after COMMIT_SECONDS
WRITTEN = 64 << 20  # bytes to write in a transaction: larger ones take more time per byte
FIRST = f"{POSTINGS[0]}.0"  # the run that is saved first


class Builder:
    """A builder of an index in a store that nobody else uses, with what an earlier one has left there."""

    def __init__(self, store: Store, encoder: ItemEncoder, storage: FolderStorage, run: Run) -> None:
        self.store, self.encoder, self.storage, self.run = store, encoder, storage, run
        with store.writing() as writer:
            self.items, self.following = writer.next_number(), writer.next_id()
            writer.kept.cut(self.items)
        self.runs = {name: Runs(storage, name) for name in POSTINGS}
        while self.runs["ids"].size < self.items:
            for runs in self.runs.values():
                runs.resume(storage.damaged)
        for runs in self.runs.values():
            storage.forget(runs.following)  # saved for items that were not
        if self.items:
            run.say(f"resuming: {counted(self.items, 'item')} already in the index")

    def add(self, entries: Iterable[Entries], tick: Tick) -> None:
        """Add items, of which none has the id of another, and which follow those already there.

        Some items are written in a thread of their own while the next ones are gathered.
        """
        with ThreadPoolExecutor(1) as thread:
            last: Future[None] | None = None
            for parts in gathered(entries, BULK, tick, COMMIT_SECONDS):
                if last is not None:
                    last.result()
                last = thread.submit(self._add, parts)
            if last is not None:
                last.result()

    def _add(self, parts: list[Entries]) -> None:
        check_distinct(parts)
        *others, last = pieces(parts)
        stop = number = self.items
        stop += items_in(parts)
        for some in others:
            with self.store.writing() as writer:
                writer.keep(some, count(number))
            number += items_in(some)
        with self.store.writing() as writer:
            writer.use(self.runs)
            for name, _ in writer.known(parts):
                raise repeated(name)
            writer.keep(last, count(number))
            writer.sort(parts, np.arange(self.items, stop, dtype=np.uint64), self.run)
            writer.count(parts)
            writer.put_settings({**(writer.settings() or {}), "coding": self.encoder.fitted().settings()})
        self.items = stop

    def finish(self) -> None:
        """Merge the runs into the tables."""
        while self._merge():
            pass

    def _merge(self) -> bool:
        """Merge some slices of the runs; return whether there are more."""
        room = WRITTEN // ENTRY
        with self.store.writing() as writer:
            writer.use(self.runs)
            for name, runs in self.runs.items():
                postings = writer.postings(name)
                left = SLICES - postings.folds
                some = min(left, max(1, room * SLICES // max(1, runs.size)))
                postings.fold(some, self.run)
                room -= some * runs.size // SLICES
                if some < left:
                    return True
        return False


def pieces(parts: list[Entries]) -> list[list[Entries]]:
    """Cut entries into pieces whose records are written in one transaction."""
    found: list[list[Entries]] = [[]]
    size = 0
    for part in parts:
        if size > WRITTEN:
            found.append([])
            size = 0
        found[-1].append(part)
        size += sum(map(len, part.records))
    return found


@contextmanager
def place_for(path: Path, workdir: str | Path | None, about: dict[str, Any]) -> Iterator[tuple[Path, FolderStorage]]:
    """Provide a folder that becomes `path` on success, and a storage for runs.

    With a `workdir` both stay there if the build is killed, for another one `about` the same.
    """
    if workdir is None:
        with (
            building(path) as place,
            TemporaryDirectory(prefix="lookalike-") as folder,
            FolderStorage(Path(folder), {}, LEAST_MEMORY, resumable=False) as storage,
        ):
            yield place, storage
        return
    check_new(path)
    must_be_local(workdir, parameter("workdir"))
    place = Path(workdir) / "index"
    with FolderStorage(Path(workdir), {"version": __version__, **about}, LEAST_MEMORY) as storage:
        try:
            if os.stat(workdir).st_dev != os.stat(path.absolute().parent).st_dev:
                raise UsageError(f"{parameter('workdir')} must be on the same disk as the index; got {workdir}.")
            if storage.noted("made", FIRST) is None:
                rmtree(place, ignore_errors=True)
            yield place, storage
            appear(place, path)
        except BaseException as error:
            hopeless = isinstance(error, LookalikeError) and not isinstance(error, StoreError)
            if hopeless or storage.noted("made", FIRST) is None:
                rmtree(place, ignore_errors=True)
                storage.remove()
            raise
        storage.remove()


def can_resume(items: Any) -> bool:
    """Return whether a build can resume that was killed: files can be read again from where it was."""
    return isinstance(items, Source) and bool(items.parts) and all(part.paths for part in items.parts)


def about_build(items: Any, ids: Any, workdir: str | Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a build depends on; raise an error if it cannot resume."""
    if ids is not None or not can_resume(items):
        how = remedy("pass a path, a list of Paths, or Source(path, id=)", "leave it out")
        raise UsageError(f"{parameter('workdir')} is for documents and ids that are read from files: {how}.")
    reading = {name: getattr(items, name) for name in READING}
    return {"files": source_files(items, workdir), **reading, **{name: str(one) for name, one in settings.items()}}
