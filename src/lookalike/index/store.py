"""Store an index in the folder of an LMDB environment, with one writer at a time and many readers.

A transaction is written completely or not at all, whatever happens to the process or machine.
"""

import fcntl
import math
import os
import resource
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copymode
from threading import Condition, Lock
from typing import Any

import lmdb

from lookalike.core.errors import DataError, StoreError, remedy
from lookalike.core.files import folder_beside, keep_permissions, sync
from lookalike.core.run import ONE_THREAD, Run
from lookalike.index.kept import ODD
from lookalike.index.old import OLD_TABLES, OldReader
from lookalike.index.rewriting import catch_up, rewrite
from lookalike.index.tables import TABLES, Reader
from lookalike.index.writing import Writer

ROOM, LEAST_ROOM = 1 << 40, 1 << 24  # bytes of address space, not of disk
SHARE = 4  # with `ulimit -v`, an index gets one part in this many, or twice its size
PAGES = 1 << 16  # a multiple of the page size of all systems
# How LMDB reports a full disk; a short write is an input/output error.
FULL = ("No space left", "File too large", "quota", "Input/output error")


def has_store(path: Path) -> bool:
    """Return whether there is an index at a path."""
    return (path / "data.mdb").is_file()


class Store:
    """The tables of one index."""

    def __init__(self, path: Path, read_only: bool = False, create: bool = False) -> None:
        self.path = path
        if create:
            path.mkdir()
        elif not has_store(path):
            raise no_index(path)
        self.patience: float | None = None  # seconds to wait for another writer; None for as long as it takes
        self._used, self._users = Condition(), 0
        self._writing, self._compacting = Lock(), Lock()
        with ExitStack() as opened:
            try:
                mode = "rb" if read_only else "ab"
                self._lock = opened.enter_context(open(path / "in-use", mode))  # held while the store is open
                self._turn = None if read_only else opened.enter_context(open(path / "writing", mode))
            except OSError as error:
                raise StoreError(f"{path}: cannot be opened: {error.strerror or error}.") from error
            self._open(read_only, create)
            self._opened = opened.pop_all()

    def _open(self, read_only: bool, create: bool) -> None:
        with self._known_errors():
            self._hold(fcntl.LOCK_SH)
            options: dict[str, Any] = {"max_dbs": 16, "max_readers": 1024, "create": create}
            lock = not (read_only and self._is_fixed())
            self.env = self._environment(readonly=read_only, lock=lock, **options)
            try:
                if lock:
                    self.env.reader_check()  # releases the readers of killed processes
                if (self.env.info()["last_pgno"] + 1) * self.env.stat()["psize"] > self.byte_size():
                    raise StoreError(f"{self.path}: is truncated; use a complete copy, or build it again.")
                self.old, self.tables = self._tables(create)
            except BaseException:
                self.env.close()
                raise

    def _tables(self, create: bool) -> tuple[bool, dict[str, Any]]:
        """Return whether the tables are those of an older format, and the tables."""
        try:
            tables = {name: self.env.open_db(name.encode(), create=create) for name in TABLES if name != ODD}
            try:
                return False, {**tables, ODD: self.env.open_db(ODD.encode(), create=create)}
            except lmdb.NotFoundError:
                return False, {**tables, ODD: tables["items"]}
        except lmdb.NotFoundError:
            return True, {name: self.env.open_db(name.encode(), create=False) for name in OLD_TABLES}

    def _environment(self, **options: Any) -> Any:
        """Open the environment with all the address space it could need, or what `ulimit -v` leaves."""
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        size = self.byte_size() if (self.path / "data.mdb").exists() else 0
        room = ROOM if limit == resource.RLIM_INFINITY else min(ROOM, max(limit // SHARE, 2 * size))
        while True:
            try:
                return lmdb.open(str(self.path), map_size=room // PAGES * PAGES, **options)
            except lmdb.MemoryError:
                if room < max(size, LEAST_ROOM):
                    raise StoreError(
                        f"{self.path}: needs {max(size, LEAST_ROOM):,} bytes of address space; raise `ulimit -v`."
                    ) from None
                room //= 2  # LMDB maps at least the size of the file

    def _is_fixed(self) -> bool:
        """Return whether nobody can write the tables, so that readers need no locks."""
        writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
        fixed = os.statvfs(self.path).f_flag & os.ST_RDONLY
        return bool(fixed) or not (self.path / "data.mdb").stat().st_mode & writable

    def close(self) -> None:
        """Close the files."""
        self.env.close()
        self._opened.close()

    @property
    def closed(self) -> bool:
        """Whether the files are closed."""
        return self._lock.closed

    def _hold(self, how: int) -> None:
        try:
            fcntl.flock(self._lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{self.path}: another process has the index open; try again when it is done.") from None

    @contextmanager
    def _known_errors(self) -> Iterator[None]:
        """Convert errors of the disk to one line that says what they mean."""
        try:
            yield
        except lmdb.ReadonlyError:
            raise StoreError(f"{self.path}: was opened read-only.") from None
        except (lmdb.MapFullError, lmdb.MapResizedError) as error:
            room = self.env.info()["map_size"]
            raise StoreError(
                f"{self.path}: needs more than {room:,} bytes of address space; raise `ulimit -v` and open it again. "
                "Nothing was changed."
            ) from error
        except lmdb.Error as error:
            if any(reason in str(error) for reason in FULL):
                raise StoreError(
                    f"{self.path}: could not be written; the disk may be full. Nothing was changed."
                ) from error
            if "already open in this process" in str(error):
                raise StoreError(
                    f"{self.path}: is already open in this process; all threads can share one Index."
                ) from None
            if self.closed:
                raise StoreError(f"{self.path}: this index is closed; open it again with Index.open.") from None
            raise StoreError(f"{self.path}: cannot be used: {error}.") from error

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Provide the index as it is now, whatever is written meanwhile."""
        with self._known_errors(), self._in_use(), self.env.begin(buffers=True) as txn:
            yield (OldReader if self.old else Reader)(txn, self.tables)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Write all changes at the end, or none on failure. Only one process writes at a time."""
        with self._known_errors(), self._my_turn():
            self.check_format()
            with self._in_use(), self.env.begin(write=True, buffers=True) as txn:
                yield Writer(txn, self.tables)

    def check_format(self) -> None:
        """Raise an error if the tables are those of an older format."""
        if self.old:
            how = remedy("index.compact()", f"`lookalike index compact {self.path}`")
            raise StoreError(f"{self.path}: has an older format, which can only be queried; upgrade it with {how}.")

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Keep the tables open while they are used."""
        with self._used:
            self._users += 1
        try:
            yield
        finally:
            with self._used:
                self._users -= 1
                self._used.notify_all()

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Wait until others have written, in this process or another, for at most `patience`."""
        if self._turn is None:
            raise StoreError(f"{self.path}: was opened read-only.")
        busy = StoreError(f"{self.path}: another writer is using the index; try again when it is done.")
        end = math.inf if self.patience is None else time.monotonic() + self.patience
        if not self._writing.acquire(timeout=-1 if self.patience is None else self.patience):
            raise busy
        try:
            while True:
                try:
                    fcntl.flock(self._turn, fcntl.LOCK_EX | (0 if self.patience is None else fcntl.LOCK_NB))
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise busy from None
                    time.sleep(0.02)
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
            self._writing.release()

    def backup(self, path: Path) -> None:
        """Copy the tables as they are now to a new folder, without gaps; others can write meanwhile."""
        with building(path) as place, self._in_use():
            place.mkdir(mode=0o700)  # until it is complete and gets the permissions of the index
            try:
                self.env.copy(str(place), compact=True)
            except lmdb.Error as error:
                raise StoreError(f"{path}: the copy could not be written: {error}.") from error
            sync(place / "data.mdb")
            for name in ("data.mdb", "in-use", "writing"):
                (place / name).touch()
                copymode(self.path / "data.mdb", place / name)
            copymode(self.path, place)
            sync(place)

    def byte_size(self) -> int:
        """Return how many bytes the tables take on disk."""
        return (self.path / "data.mdb").stat().st_size

    def compact(self, run: Run = ONE_THREAD) -> None:
        """Rewrite the tables without gaps, and in the present format; no other process may have them open.

        The threads of this process can read and write meanwhile. What they have written by the end
        is then added, and only that keeps other writers waiting.
        """
        there = self.path / "data.mdb"
        with self._compacting, folder_beside(there) as fresh, self._alone(), ExitStack() as turn:
            with self.reading() as before, closing(Store(fresh, create=True)) as new:
                with new.writing() as writer:
                    rewrite(before, writer, run)
                turn.enter_context(self._writing)
                if not self.old:
                    with self.reading() as now, new.writing() as writer:
                        catch_up(before, now, writer, run)
            self._replace(there, fresh / "data.mdb")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from opening the tables."""
        if self._turn is None:
            raise StoreError(f"{self.path}: was opened read-only.")
        try:
            self._hold(fcntl.LOCK_EX)
            yield
        finally:
            self._hold(fcntl.LOCK_SH)

    def _replace(self, there: Path, fresh: Path) -> None:
        """Let another file take the place of the tables."""
        with fresh.open("r+b") as file:
            keep_permissions(file, there.stat())
            os.fsync(file.fileno())
        with self._used:  # no thread of this process may use the tables while they are replaced
            self._used.wait_for(lambda: not self._users)
            self.env.close()
            try:
                os.replace(fresh, there)
                sync(self.path)
            finally:
                self._open(read_only=False, create=False)


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """Provide a folder that becomes `path` on success, and is removed on failure."""
    check_new(path)
    with folder_beside(path.absolute()) as place:
        yield place
        try:
            os.rename(place, path)
        except OSError as error:
            raise StoreError(f"{path}: was created by another process meanwhile; run the command again.") from error
        sync(path.absolute().parent)


def check_new(path: Path) -> None:
    """Raise an error if the folder cannot be created."""
    if path.exists():
        raise DataError(f"{path}: already exists; an index needs a new folder.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be created: there is no folder {path.absolute().parent}.")


def no_index(path: Path) -> StoreError:
    """Return the error for a path without an index."""
    how = f"create an index with {remedy('Index.build', '`lookalike index build`')}"
    if path.is_dir():
        return StoreError(f"{path}: this folder is not a lookalike index; {how}.")
    if path.exists():
        return StoreError(f"{path}: this is a file, but a lookalike index is a folder; {how}.")
    return StoreError(f"{path}: no such folder; {how}.")
