"""Where an index is kept: an LMDB environment of sorted tables, written by one process and read by many.

    items     number -> content, id and what it is compared by
    texts     number -> the text, compressed, if texts are kept
    ids       id -> number
    contents  content, number -> nothing: items that are the same stand together, and the first is their head
    buckets   bucket, number -> nothing: of heads alone, so that a million copies of a page are in one place

A transaction is all there or not at all, whatever happens to the process or the machine.
"""

import fcntl
import json
import math
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock
from typing import Any, NamedTuple

import lmdb
import numpy as np

from lookalike.errors import DataError, StoreError
from lookalike.index.codings import Encoded
from lookalike.kernels.hashing import EMPTY

FORMAT = 1
ROOM = 1 << 40  # bytes of addresses, not of disk
MOST_NUMBERS = 1 << 32
LONGEST_ID = 480  # bytes
LARGEST_ID = (1 << 63) - 1
# What the library says of a disk that takes no more; a short write is an input/output error.
FULL = ("No space left", "File too large", "quota", "Input/output error", "MDB_MAP_FULL")
TABLES = ("items", "texts", "ids", "contents", "buckets")
SETTINGS, NEXT, COUNT, NEXT_ID = b"settings", b"next", b"count", b"next id"

Id = int | str


class Item(NamedTuple):
    """One item as it is kept."""

    number: int
    content: bytes
    id: Id
    payload: memoryview | bytes


class Store:
    """The tables of one index."""

    def __init__(self, path: Path, read_only: bool = False, create: bool = False) -> None:
        self.path = path
        if create:
            path.mkdir()
        elif not (path / "data.mdb").is_file():
            raise StoreError(f"{path}: there is no index; `lookalike index build` makes one.")
        self.patience: float | None = None  # seconds to wait for another to have written; None for as long as it takes
        self._used, self._users, self._writing = Condition(), 0, Lock()
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
            options: dict[str, Any] = {"map_size": ROOM, "max_dbs": 8, "max_readers": 1024, "create": create}
            lock = not (read_only and self._is_fixed())
            self.env = lmdb.open(str(self.path), readonly=read_only, lock=lock, **options)
            try:
                if lock:
                    self.env.reader_check()  # lets go of what processes read that were killed
                if (self.env.info()["last_pgno"] + 1) * self.env.stat()["psize"] > self.byte_size():
                    raise StoreError(f"{self.path}: is cut short; take a whole copy, or build it again.")
                self.tables = {name: self.env.open_db(name.encode(), create=create) for name in TABLES}
            except BaseException:
                self.env.close()
                raise

    def _is_fixed(self) -> bool:
        """Whether nobody can write the tables, so that readers need not tell writers what they read."""
        writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
        fixed = os.statvfs(self.path).f_flag & os.ST_RDONLY
        return bool(fixed) or not (self.path / "data.mdb").stat().st_mode & writable

    def close(self) -> None:
        """Let go of the files."""
        self.env.close()
        self._opened.close()

    def _hold(self, how: int) -> None:
        try:
            fcntl.flock(self._lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{self.path}: another process has the index open; try again when it is done.") from None

    @contextmanager
    def _known_errors(self) -> Iterator[None]:
        """Errors of the disk in a line that says what they mean."""
        try:
            yield
        except lmdb.ReadonlyError:
            raise StoreError(f"{self.path}: was opened to be read only.") from None
        except lmdb.Error as error:
            if any(reason in str(error) for reason in FULL):
                raise StoreError(
                    f"{self.path}: could not be written, the disk may be full; nothing was changed."
                ) from error
            if "already open in this process" in str(error):
                raise StoreError(
                    f"{self.path}: is open in this process already; one Index serves all threads."
                ) from None
            raise StoreError(f"{self.path}: cannot be used: {error}.") from error

    @contextmanager
    def reading(self) -> Iterator["Reader"]:
        """The index as it is now, whatever is written meanwhile."""
        with self._known_errors(), self._in_use(), self.env.begin(buffers=True) as txn:
            yield Reader(txn, self.tables)

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """All that is done within is written at the end, or nothing if it fails. One at a time, of all processes."""
        with self._known_errors(), self._my_turn(), self._in_use(), self.env.begin(write=True, buffers=True) as txn:
            yield Writer(txn, self.tables)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """While others use the tables they stay open."""
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
        """Wait for others to have written, in this process or another, but no longer than patience allows."""
        if self._turn is None:
            raise StoreError(f"{self.path}: was opened to be read only.")
        busy = StoreError(f"{self.path}: another is writing to the index; try again when it is done.")
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

    def byte_size(self) -> int:
        """How many bytes the tables take on disk."""
        return (self.path / "data.mdb").stat().st_size

    def compact(self) -> None:
        """Write the tables anew without the gaps that removed items left; no other process may have them open."""
        try:
            self._hold(fcntl.LOCK_EX)
        except StoreError:
            self._hold(fcntl.LOCK_SH)  # which a failed attempt lets go
            raise
        fresh = self.path / "compacting"
        with suppress(FileNotFoundError):
            (fresh / "data.mdb").unlink()
        fresh.mkdir(exist_ok=True)
        with self._known_errors():
            self.env.copy(str(fresh), compact=True)
        sync(fresh / "data.mdb")
        with self._used:  # no thread of this process may be at the tables when they are changed for others
            self._used.wait_for(lambda: not self._users)
            self.env.close()
            try:
                os.replace(fresh / "data.mdb", self.path / "data.mdb")
                sync(self.path)
            finally:
                self._open(read_only=False, create=False)
        fresh.rmdir()


class Reader:
    """One state of the index."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self.txn, self.tables = txn, tables

    def settings(self) -> dict[str, Any] | None:
        """What the index was made with."""
        found = self.txn.get(SETTINGS)
        return None if found is None else json.loads(bytes(found))

    def __len__(self) -> int:
        return self._number(COUNT)

    def _number(self, name: bytes) -> int:
        return int.from_bytes(self.txn.get(name, b"\0"), "big")

    def number_of(self, identity: Id) -> int | None:
        """The number of an item, if there is one of this id."""
        found = self.txn.get(pack_id(identity), db=self.tables["ids"])
        return None if found is None else int.from_bytes(found, "big")

    def item(self, number: int) -> Item:
        """The item of a number."""
        return unpack(number, self.txn.get(number.to_bytes(4, "big"), db=self.tables["items"]))

    def items(self) -> Iterator[Item]:
        """All of them by number."""
        for key, record in self.txn.cursor(db=self.tables["items"]):
            yield unpack(int.from_bytes(key, "big"), record)

    def text(self, number: int) -> str | None:
        """The text of an item, if it was kept."""
        found = self.txn.get(number.to_bytes(4, "big"), db=self.tables["texts"])
        return None if found is None else zlib.decompress(found).decode()

    def in_buckets(self, keys: np.ndarray, most: int) -> tuple[list[int], bool]:
        """The numbers of heads that share a bucket, ascending, and whether there were more than could be listed."""
        cursor = self.txn.cursor(db=self.tables["buckets"])
        found: set[int] = set()
        crowded = False
        for key in keys[keys != EMPTY].astype(">u8").tolist():
            some = list(under(cursor, key.to_bytes(8, "big"), most))
            crowded |= len(some) == most
            found.update(some)
        return sorted(found), crowded

    def twins(self, content: bytes, most: int | None = None) -> Iterator[int]:
        """The numbers of the items with this content, the head first."""
        return under(self.txn.cursor(db=self.tables["contents"]), content, most)

    def next_number(self) -> int:
        """The number that the next item will have."""
        return self._number(NEXT)

    def next_id(self) -> int:
        """A number that is no item's id, nor are those after it."""
        return self._number(NEXT_ID)

    def distinct(self, table: str, width: int) -> int:
        """How many different beginnings of so many bytes the keys of a table have."""
        count, last = 0, b""
        for key in self.txn.cursor(db=self.tables[table]).iternext(keys=True, values=False):
            if key[:width] != last:
                count, last = count + 1, bytes(key[:width])
        return count

    def pairs(self, table: str) -> Iterator[tuple[bytes, bytes]]:
        """All that is in a table."""
        return ((bytes(key), bytes(value)) for key, value in self.txn.cursor(db=self.tables[table]))

    def entries(self, table: str) -> int:
        """How many entries a table has."""
        return int(self.txn.stat(db=self.tables[table])["entries"])


class Writer(Reader):
    """A change of the index."""

    def put_settings(self, settings: dict[str, Any]) -> None:
        """Keep what the index is made with."""
        self.txn.put(SETTINGS, json.dumps(settings).encode())

    def add(self, encoded: Encoded, ids: list[Id], texts: list[str] | None) -> None:
        """Add items whose ids are new."""
        first = self._number(NEXT)
        if first + len(ids) > MOST_NUMBERS:
            raise StoreError("an index can give out four thousand million numbers, which are used up; build it anew.")
        numbers = np.arange(first, first + len(ids), dtype=np.uint64)
        contents = encoded.contents.astype(">u8").tobytes()
        contents_of = [contents[at : at + 16] for at in range(0, len(contents), 16)]
        heads = np.array(self._heads(contents_of), np.int64)
        self._put_sorted("contents", [(key, b"") for key in _with_numbers(encoded.contents, numbers)])
        packed = [pack_id(identity) for identity in ids]
        records = map(_record, contents_of, packed, encoded.payloads)
        keys = [number.to_bytes(4, "big") for number in numbers.tolist()]
        self.txn.cursor(db=self.tables["items"]).putmulti(zip(keys, records, strict=True), append=True)
        self._put_sorted("ids", list(zip(packed, keys, strict=True)))
        if texts is not None:
            kept = ((key, zlib.compress(text.encode())) for key, text in zip(keys, texts, strict=True))
            self.txn.cursor(db=self.tables["texts"]).putmulti(kept, append=True)
        self._put_sorted("buckets", [(key, b"") for key in bucket_keys(encoded.keys[heads], numbers[heads])])
        self._count(first + len(ids), len(ids))
        self.number_from(max((name + 1 for name in ids if isinstance(name, int)), default=0))

    def _heads(self, contents: list[bytes]) -> list[int]:
        """The places of the first of each content that is not there yet."""
        seen: set[bytes] = set()
        heads = []
        for place, content in enumerate(contents):
            if content not in seen:
                seen.add(content)
                if next(self.twins(content, 1), None) is None:
                    heads.append(place)
        return heads

    def remove(self, item: Item, keys: np.ndarray) -> None:
        """Remove an item, given the keys of its buckets; the next one like it takes its place."""
        number, content = item.number.to_bytes(4, "big"), bytes(item.content)
        head = next(self.twins(content, 1))
        if self.number_of(item.id) == item.number:  # and no other item has taken its id
            self.txn.delete(pack_id(item.id), db=self.tables["ids"])
        for table, key in {"items": number, "texts": number, "contents": content + number}.items():
            self.txn.delete(key, db=self.tables[table])
        if head == item.number:
            heir = next(self.twins(content, 1), None)
            for key in bucket_keys(keys, np.array([item.number], np.uint64)):
                self.txn.delete(key, db=self.tables["buckets"])
                if heir is not None:
                    self.txn.put(key[:8] + heir.to_bytes(4, "big"), b"", db=self.tables["buckets"])
        self._count(self._number(NEXT), -1)

    def _put_sorted(self, table: str, entries: list[tuple[bytes, bytes]]) -> None:
        """Put entries in order, at the end of the table if they come after all that is there."""
        cursor = self.txn.cursor(db=self.tables[table])
        last = bytes(cursor.key()) if cursor.last() else b""
        entries.sort()
        cursor.putmulti(entries, append=bool(entries) and entries[0][0] > last)

    def number_from(self, following: int) -> None:
        """Call further items that have no ids by this number and those after it, if they are not taken already."""
        self.txn.put(NEXT_ID, max(following, self.next_id()).to_bytes(8, "big"))

    def _count(self, following: int, more: int) -> None:
        self.txn.put(NEXT, following.to_bytes(8, "big"))
        self.txn.put(COUNT, (len(self) + more).to_bytes(8, "big"))


# --- folders ---


@contextmanager
def building(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place when all went well, and leaves nothing when not."""
    check_new(path)
    place = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield place
        try:
            os.rename(place, path)
        except OSError as error:
            raise StoreError(f"{path}: another has made it meanwhile; give the command again.") from error
        sync(path.absolute().parent)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def sync(path: Path) -> None:
    """See to it that a file, or the names in a folder, are on disk."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def check_new(path: Path) -> None:
    """An error if no folder can be made there."""
    if path.exists():
        raise DataError(f"{path}: is there already; an index is made in a new folder.")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: cannot be made, there is no folder {path.absolute().parent}.")


# --- bytes ---


def under(cursor: Any, prefix: bytes, most: int | None = None) -> Iterator[int]:
    """The numbers that follow a prefix in the keys of a table, ascending."""
    size = len(prefix)
    if cursor.set_range(prefix):
        for found, key in enumerate(cursor.iternext(keys=True, values=False)):
            if key[:size] != prefix or found == most:
                return
            yield int.from_bytes(key[size:], "big")


def is_id(identity: Id) -> bool:
    """Whether an item can be called so."""
    if isinstance(identity, str):
        return len(identity.encode()) < LONGEST_ID
    return -LARGEST_ID - 1 <= identity <= LARGEST_ID


def pack_id(identity: Id) -> bytes:
    """An id as bytes; whole numbers and strings are never the same."""
    if not is_id(identity):
        rule = f"at most {LONGEST_ID - 1} bytes, or be a number of 64"
        raise DataError(f"ids must have {rule}; got {str(identity)[:40]!r}...")
    if isinstance(identity, str):
        return b"s" + identity.encode()
    return b"i" + (identity + (1 << 63)).to_bytes(8, "big")


def unpack_id(packed: bytes) -> Id:
    """The id that was packed."""
    return packed[1:].decode() if packed[:1] == b"s" else int.from_bytes(packed[1:], "big") - (1 << 63)


def _record(content: bytes, identity: bytes, payload: bytes) -> bytes:
    return content + len(identity).to_bytes(2, "big") + identity + payload


def unpack(number: int, record: Any) -> Item:
    """An item of its record."""
    end = 18 + int.from_bytes(record[16:18], "big")
    return Item(number, bytes(record[:16]), unpack_id(bytes(record[18:end])), record[end:])


def _with_numbers(columns: np.ndarray, numbers: np.ndarray) -> list[bytes]:
    """Columns of 64 bits and a number of 32, in bytes that sort as they do."""
    width = 8 * columns.shape[1] + 4
    rows = np.empty((len(columns), width), np.uint8)
    rows[:, :-4] = columns.astype(">u8").view(np.uint8).reshape(len(columns), width - 4)
    rows[:, -4:] = numbers.astype(">u4").view(np.uint8).reshape(len(columns), 4)
    content = rows.tobytes()
    return [content[at : at + width] for at in range(0, len(content), width)]


def bucket_keys(keys: np.ndarray, numbers: np.ndarray) -> list[bytes]:
    """The entries of items in their buckets."""
    there = keys != EMPTY
    every = np.broadcast_to(numbers[:, None], keys.shape)
    return _with_numbers(keys[there][:, None], every[there])
