"""Store an index in the folder of an LMDB environment, with one writer at a time and many readers.

A transaction is written completely or not at all, whatever happens to the process or machine.

Compaction writes the tables to another file, which then takes the place of data.mdb. Processes that
use the old file notice it when they begin to read or write, and open the new one. Readers of the old
file and of the new one must not share a lock file, so the new one has its own, named after its inode;
an index that was never compacted has lock.mdb.
"""

import errno
import fcntl
import math
import os
import resource
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from shutil import copymode
from threading import Lock, RLock
from typing import IO, Any

import lmdb

from lookalike.core.errors import DataError, StoreError, remedy
from lookalike.core.files import folder_beside, keep_permissions, sync
from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.workdir import allocate
from lookalike.index.kept import ODD
from lookalike.index.old import OLD_TABLES, OldReader
from lookalike.index.pages import is_complete
from lookalike.index.rewriting import catch_up, rewrite
from lookalike.index.tables import TABLES, Reader
from lookalike.index.writing import Writer
from lookalike.io.remote import must_be_local

ROOM, LEAST_ROOM = 1 << 40, 1 << 24  # bytes of address space, not of disk
SHARE = 4  # with `ulimit -v`, an index gets one part in this many, or twice its size
LINK = "tables-"  # before the inode of data.mdb: a link to it, whose lock file LMDB uses
READERS = 1024  # at a time
LOCK = 64 * (READERS + 64)  # bytes of a lock file, at least
OPENING = 100  # hundredths of a second to wait while another process opens the tables
PAGES = 1 << 16  # a multiple of the page size of all systems
# How LMDB reports a full disk; a short write is an input/output error.
FULL = ("No space left", "File too large", "quota", "Input/output error")


def has_store(path: Path) -> bool:
    """Return whether there is an index at a path."""
    return (path / "data.mdb").is_file()


class OpenTables:
    """An open file of tables."""

    users = 0  # of this process

    def __init__(self, env: Any, inode: int, old: bool, tables: dict[str, Any]) -> None:
        self.env, self.inode = env, inode
        self.old, self.tables = old, tables  # whether they have an older format


class Store:
    """The tables of one index."""

    live: OpenTables

    def __init__(self, path: Path, read_only: bool = False, create: bool = False) -> None:
        self.path = path
        if create:
            path.mkdir()
        elif not has_store(path):
            must_be_local(path, "an index")
            raise NoIndex(path)
        self.patience: float | None = None  # seconds to wait for another writer; None for as long as it takes
        self._used = RLock()  # held to open tables, and to count who uses them
        self._writing, self._compacting = Lock(), Lock()
        with ExitStack() as opened:
            try:
                mode = "rb" if read_only else "ab"
                self._lock = opened.enter_context(open(path / "in-use", mode))  # held while tables are opened
                self._turn = None if read_only else opened.enter_context(open(path / "writing", mode))
            except OSError as error:
                raise StoreError(f"{path}: cannot be opened: {error.strerror or error}.") from error
            self._open(read_only, create)
            self._opened = opened.pop_all()

    def _open(self, read_only: bool, create: bool) -> None:
        """Open the tables; those of an older format cannot be replaced as long as they are open."""
        with self._known_errors():
            self._hold(fcntl.LOCK_SH)
            self.live = self._opened_tables(read_only, create)
            if not self.live.old:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _opened_tables(self, read_only: bool, create: bool) -> OpenTables:
        options: dict[str, Any] = {"max_dbs": 16, "max_readers": READERS, "create": create}
        lock = not (read_only and self._is_fixed())
        env = self._environment(readonly=read_only, lock=lock, **options)
        try:
            if lock:
                env.reader_check()  # releases the readers of killed processes
            if not is_complete(env, self._data):
                raise StoreError(f"{self.path}: is truncated; use a complete copy, or build it again.")
            return OpenTables(env, os.stat(self._data).st_ino, *tables_in(env, create))
        except BaseException:
            env.close()
            raise

    def _environment(self, **options: Any) -> Any:
        """Open the environment with all the address space it could need, or what `ulimit -v` leaves."""
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        there = (self.path / "data.mdb").exists()
        size = self.byte_size() if there else 0
        name = self.path / (LINK + str(os.stat(self._data).st_ino)) if there else self.path
        own = name != self.path and name.is_symlink()
        if options["lock"]:
            self._make_lock(f"{name.name}-lock" if own else "lock.mdb")
        room = ROOM if limit == resource.RLIM_INFINITY else min(ROOM, max(limit // SHARE, 2 * size))
        while True:
            try:
                place = str(name if own else self.path)
                return lmdb.open(place, map_size=room // PAGES * PAGES, subdir=not own, **options)
            except lmdb.MemoryError:
                if room < max(size, LEAST_ROOM):
                    raise StoreError(
                        f"{self.path}: needs {max(size, LEAST_ROOM):,} bytes of address space; raise `ulimit -v`."
                    ) from None
                room //= 2  # LMDB maps at least the size of the file

    def _make_lock(self, name: str) -> None:
        """Create the lock file unless it is there; LMDB says why if that is not allowed."""
        try:
            new_lock(self.path / name).close()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise StoreError(f"{self.path}: could not be opened; the disk may be full.") from error

    def _is_fixed(self) -> bool:
        """Return whether nobody can write the tables, so that readers need no locks."""
        writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
        fixed = os.statvfs(self.path).f_flag & os.ST_RDONLY
        return bool(fixed) or not (self.path / "data.mdb").stat().st_mode & writable

    def close(self) -> None:
        """Close the files."""
        self.live.env.close()
        self._opened.close()

    @property
    def old(self) -> bool:
        """Whether the tables are those of an older format."""
        return self.live.old

    @property
    def _data(self) -> str:
        return f"{self.path}/data.mdb"

    @property
    def closed(self) -> bool:
        """Whether the files are closed."""
        return self._lock.closed

    def _hold_if_old(self) -> None:
        if self.live.old:
            self._hold(fcntl.LOCK_SH)

    def _hold(self, how: int) -> None:
        try:
            for _ in range(OPENING):
                with suppress(BlockingIOError):
                    fcntl.flock(self._lock, how | fcntl.LOCK_NB)
                    return
                time.sleep(0.01)
            raise StoreError(f"{self.path}: another process has the index open; try again when it is done.")
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be locked: {error.strerror or error}.") from error

    @contextmanager
    def _known_errors(self) -> Iterator[None]:
        """Convert errors of the disk to one line that says what they mean."""
        try:
            yield
        except lmdb.ReadonlyError:
            raise StoreError(f"{self.path}: was opened read-only.") from None
        except (lmdb.MapFullError, lmdb.MapResizedError) as error:
            room = self.live.env.info()["map_size"]
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
        with self._known_errors(), self._in_use() as live, live.env.begin(buffers=True) as txn:
            yield (OldReader if live.old else Reader)(txn, live.tables)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Write all changes at the end, or none on failure. Only one process writes at a time."""
        with self._known_errors(), self._my_turn(), self._in_use() as live:
            self.check_format()
            live.env.reader_check()  # for a reader that was killed, pages would never be used again
            with live.env.begin(write=True, buffers=True) as txn:
                yield Writer(txn, live.tables)

    def check_format(self) -> None:
        """Raise an error if the tables are those of an older format."""
        if self.old:
            how = remedy("index.compact()", f"`lookalike index compact {self.path}`")
            raise StoreError(f"{self.path}: has an older format, which can only be queried; upgrade it with {how}.")

    @contextmanager
    def _in_use(self) -> Iterator[OpenTables]:
        """Provide the tables, those that have taken the place of older ones, and keep them open meanwhile."""
        with self._used:
            self._renew()
            live = self.live
            live.users += 1
        try:
            yield live
        finally:
            with self._used:
                live.users -= 1
                self._let_go(live)

    def _renew(self) -> None:
        """Open the tables again if others have taken their place."""
        with suppress(FileNotFoundError):  # as long as they are open, they can be read
            if os.stat(self._data).st_ino != self.live.inode and not self.closed:
                before = self.live
                self._open(read_only=self._turn is None, create=False)
                self._let_go(before)

    def _let_go(self, tables: OpenTables) -> None:
        if tables is not self.live and not tables.users:
            tables.env.close()

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """Wait until others have written, in this process or another, for at most `patience`."""
        if self._turn is None:
            raise StoreError(f"{self.path}: was opened read-only.")
        busy = BusyStore(f"{self.path}: another writer is using the index; try again when it is done.")
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
        with building(path) as place, self._in_use() as live:
            place.mkdir(mode=0o700)  # until it is complete and gets the permissions of the index
            own = live.env.path() != str(self.path)
            try:
                live.env.copy(str(place / "data.mdb" if own else place), compact=True)
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
        """Rewrite the tables without gaps, and in the present format; others can read and write meanwhile.

        What they have written by the end is then added, and only that keeps writers waiting.
        """
        if self._turn is None:
            raise StoreError(f"{self.path}: was opened read-only.")
        with self._compacting, folder_beside(self.path / "data.mdb") as fresh, ExitStack() as turn:
            with self.reading() as before, closing(Store(fresh, create=True)) as new:
                old, inode = self.old, self.live.inode
                if old:
                    self._hold(fcntl.LOCK_EX)  # an older version would not notice, nor keep what it knows
                    turn.callback(self._hold_if_old)
                with new.writing() as writer:
                    rewrite(before, writer, run)
                turn.enter_context(self._my_turn())
                if not old:
                    with self.reading() as now, new.writing() as writer:
                        if self.live.inode != inode:
                            return  # another process has compacted the index meanwhile
                        catch_up(before, now, writer, run)
            self._replace(fresh / "data.mdb")

    def _replace(self, fresh: Path) -> None:
        """Let another file take the place of the tables, with a lock file of its own."""
        there, now = self.path / "data.mdb", LINK + str(self.live.inode)
        locks = [place for place in (self.path / f"{now}-lock", self.path / "lock.mdb", there) if place.exists()]
        with fresh.open("r+b") as file:
            keep_permissions(file, there.stat())
            os.fsync(file.fileno())
        name = LINK + str(fresh.stat().st_ino)
        with self._used:
            self._hold(fcntl.LOCK_EX)  # nobody opens the tables while they are replaced
            try:
                self._remove_locks(now)
                (self.path / name).symlink_to("data.mdb")
                with new_lock(self.path / f"{name}-lock") as file:
                    keep_permissions(file, locks[0].stat())
                os.replace(fresh, there)
                sync(self.path)
                self._remove_locks(name)
            except OSError as error:
                raise StoreError(f"{self.path}: could not be compacted: {error.strerror or error}.") from error
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._renew()

    def _remove_locks(self, used: str) -> None:
        """Remove the lock files of earlier tables; whoever still reads these has them open."""
        for path in self.path.glob(f"{LINK}*"):
            if path.name.removesuffix("-lock") != used:
                path.unlink()


def new_lock(path: Path) -> IO[bytes]:
    """Create a lock file with all of its space: LMDB maps it, and would crash on a full disk."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb")
    try:
        allocate(file, LOCK)
    except OSError:
        file.close()
        path.unlink()
        raise
    return file


def tables_in(env: Any, create: bool) -> tuple[bool, dict[str, Any]]:
    """Return whether the tables are those of an older format, and the tables."""
    try:
        tables = {name: env.open_db(name.encode(), create=create) for name in TABLES if name != ODD}
        try:
            return False, {**tables, ODD: env.open_db(ODD.encode(), create=create)}
        except lmdb.NotFoundError:
            return False, {**tables, ODD: tables["items"]}
    except lmdb.NotFoundError:
        return True, {name: env.open_db(name.encode(), create=False) for name in OLD_TABLES}


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """Provide a folder that becomes `path` on success, and is removed on failure."""
    check_new(path)
    with folder_beside(path.absolute()) as place:
        yield place
        appear(place, path)


def appear(place: Path, path: Path) -> None:
    """Give a folder its final name."""
    try:
        os.rename(place, path)
    except OSError as error:
        raise StoreError(f"{path}: was created by another process meanwhile; run the command again.") from error
    sync(path.absolute().parent)


def check_new(path: Path) -> None:
    """Raise an error if the folder cannot be created."""
    must_be_local(path, "an index")
    if path.exists():
        raise DataError(f"{path}: already exists; an index needs a new folder.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be created: there is no folder {path.absolute().parent}.")


class BusyStore(StoreError):
    """Another writer has not ended in time."""


class NoIndex(StoreError):
    """There is no index at a path; `python` and `command` create one there."""

    def __init__(self, path: Path, python: str = "Index.build", command: str = "`lookalike index build`") -> None:
        what = "no such folder"
        if path.is_dir():
            what = "this folder is not a lookalike index"
        elif path.exists():
            what = "this is a file, but a lookalike index is a folder"
        super().__init__(f"{path}: {what}; create an index with {remedy(python, command)}.")
