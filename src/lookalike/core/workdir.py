"""Keep the large arrays of a run in the files of a folder, mapped into memory.

A run saves its work piece by piece. If it is killed, it can be resumed from the last saved piece.
"""

import json
import math
import mmap
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, StoreError, byte_size, parameter
from lookalike.core.files import OwnFolder
from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.stamps import difference
from lookalike.core.storage import Arrays, GrowingColumns, Kinds, Part, Storage

FORMAT = 2
RUN = "lookalike-run"
ABOUT, MANIFEST = "about.json", "manifest.json"
LEAST_MEMORY = 10**8
COMMIT_BYTES, COMMIT_SECONDS = 64 << 20, 5.0  # the most work to repeat after a run was killed


class FolderStorage(Storage):
    """Arrays in files, all in a subfolder of `workdir`, which only one run at a time can use."""

    held = False
    memory: int

    def __init__(self, workdir: Path, about: dict[str, Any], memory: int, resumable: bool = True) -> None:
        self.workdir, self.memory = workdir, memory
        self.resumable = resumable  # whether the folder stays if the run fails
        self._open: list[GrowingFiles] = []
        self._lock = Lock()
        self.folder = work_folder(workdir)
        try:
            self._held = hold(workdir, self.folder, "in-use")
        except DataError:
            self.folder.close()
            raise
        try:
            self._noted = self._read(json.loads(json.dumps(about)))
        except BaseException:
            self.close()
            raise

    def _read(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the manifest of an earlier run if it is the same run, else write a new one."""
        try:
            saved, noted = (read_json(self.folder, name) for name in (ABOUT, MANIFEST))
            if saved["format"] != FORMAT:
                raise DataError(
                    f"{self.workdir}: was written by another version of lookalike; remove its folder {RUN}."
                )
            if noted["grown"] or noted["made"]:
                check_same(self.workdir, saved["about"], about)
                return {"grown": dict(noted["grown"]), "made": dict(noted["made"])}
        except FileNotFoundError:
            pass  # a new run, or one that saved nothing
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, DataError):
                raise
            raise self.damaged() from error
        self._save(ABOUT, {"format": FORMAT, "about": about})
        new: dict[str, Any] = {"grown": {}, "made": {}}
        self._save(MANIFEST, new)
        return new

    def damaged(self) -> DataError:
        """Return the error for files that are not as the run left them."""
        return damaged_in(self.workdir)

    def note(self, kind: str, name: str, what: Any) -> None:
        """Record in the manifest, on disk, what has been saved."""
        with self._lock:
            self._noted[kind][name] = what
            self._save(MANIFEST, self._noted)

    def _save(self, name: str, content: dict[str, Any]) -> None:
        with self.written():
            self.folder.write(name, json.dumps(content).encode())

    def written(self) -> AbstractContextManager[None]:
        """Turn disk errors into one line that says what to do."""
        return writing_in(self.workdir, self.resumable)

    def noted(self, kind: str, name: str) -> Any:
        """Return what the manifest records under a name, or None."""
        return self._noted[kind].get(name)

    def growing(self, name: str, kinds: Kinds, most: dict[str, int] | None = None) -> GrowingColumns:
        self._open.append(GrowingFiles(self, name, kinds))
        return self._open[-1]

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        there = self.noted("made", name)
        if there is None:
            there = []
            for number, array in enumerate(make()):
                with self.written(), self.folder.open(f"{name}.{number}", "wb") as file:
                    write_array(file, array)
                    file.flush()
                    os.fsync(file.fileno())
                there.append([array.dtype.str, list(array.shape)])
            self.note("made", name, there)
        return tuple(self._mapped(f"{name}.{number}", kind, shape) for number, (kind, shape) in enumerate(there))

    def forget(self, name: str) -> None:
        """Make the arrays of this name anew, although an earlier run has made them."""
        with self._lock:
            if self._noted["made"].pop(name, None) is not None:
                self._save(MANIFEST, self._noted)

    def _mapped(self, name: str, kind: str, shape: list[int]) -> np.ndarray:
        if self.folder.size(name) != np.dtype(kind).itemsize * math.prod(shape):
            raise self.damaged()
        with self.folder.open(name, "rb") as file:
            return mapped(file, kind, shape)

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        length = size * np.dtype(dtype).itemsize
        with self.written(), self.folder.open(name, "w+b") as file:
            allocate(file, length)
            return mapped(file, dtype, [size], "r+")

    def close(self) -> None:
        for grown in self._open:
            grown.close()
        self._held.close()
        self.folder.close()

    def remove(self) -> None:
        remove(self.workdir, self.folder)
        self.close()


class GrowingFiles(GrowingColumns):
    """One file per column. Progress is recorded now and then; resuming drops unrecorded writes."""

    def __init__(self, folder: FolderStorage, name: str, kinds: Kinds) -> None:
        self.folder, self.name, self.kinds = folder, name, kinds
        there = folder.noted("grown", name) or {"done": 0, "sizes": dict.fromkeys(kinds, 0), "complete": False}
        self.done, self.complete = there["done"], there["complete"]
        self.files: dict[str, IO[bytes]] = {}
        try:
            for column in kinds:
                self._open(column, there["sizes"][column])
        except BaseException:
            self.close()
            raise
        self.waiting, self.since = 0, time.monotonic()

    def _open(self, column: str, size: int) -> None:
        """Open the file of a column, unless it is complete, and drop all after `size` bytes."""
        file = f"{self.name}.{column}"
        if size > (self.folder.folder.size(file) or 0):
            raise self.folder.damaged()
        if not self.complete:
            with self.folder.written():
                self.files[column] = self.folder.folder.open(file, "ab")
                self.files[column].truncate(size)

    def extend(self, batches: Iterable[tuple[int, Iterable[Part]]], run: Run = ONE_THREAD) -> Iterator[int]:
        for done, parts in batches:
            self.done = done
            for file, part in zip(self.files.values(), parts, strict=True):
                self._write(file, part)
            if self.waiting > COMMIT_BYTES or time.monotonic() - self.since > COMMIT_SECONDS:
                self._commit(complete=False)
            yield done

    def _write(self, file: IO[bytes], part: Part) -> None:
        with self.folder.written():
            if isinstance(part, pa.Table):
                with pa.ipc.new_stream(file, part.schema) as stream:
                    stream.write_table(part)
            else:
                write_array(file, part)
        self.waiting += part.nbytes

    def _commit(self, complete: bool) -> None:
        sizes = {}
        for column, file in self.files.items():
            with self.folder.written():
                file.flush()
                os.fsync(file.fileno())
            sizes[column] = os.fstat(file.fileno()).st_size
        self.folder.note("grown", self.name, {"done": self.done, "sizes": sizes, "complete": complete})
        self.waiting, self.since = 0, time.monotonic()

    def close(self) -> None:
        """Close the files."""
        for file in self.files.values():
            with suppress(OSError):  # from a full disk, which has been reported already
                file.close()

    def finish(self, run: Run = ONE_THREAD) -> list[Any]:
        if not self.complete:
            self._commit(complete=True)
        self.close()
        return [self._read(column, kind) for column, kind in self.kinds.items()]

    def _read(self, column: str, kind: np.dtype[Any] | None) -> Any:
        with self.folder.folder.open(f"{self.name}.{column}", "rb") as file:
            return tables_in(file) if kind is None else mapped(file, kind)


def check_same(workdir: Path, was: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise an error if a run depends on something else than the earlier one in its folder."""
    for name in {**was, **now}:
        one: Any = was.get(name)
        other: Any = now.get(name)
        if one == other:
            continue
        what = difference(one, other) if name == "files" else f"{name} was {one} and is now {other}"
        raise DataError(
            f"{workdir}: holds a different run: {what}; choose another {parameter('workdir')}, or remove the folder."
        )


def damaged_in(workdir: Path) -> DataError:
    """Return the error for files that are not as the run left them."""
    return DataError(f"{workdir}: the files of the run are damaged; remove the folder.")


@contextmanager
def writing_in(workdir: Path, resumable: bool = True) -> Iterator[None]:
    """Turn disk errors into one line that says what to do."""
    try:
        yield
    except OSError as error:
        rest = "; the same command resumes from the files there." if resumable else "."
        raise StoreError(f"{workdir}: cannot be written: {error.strerror or error}{rest}") from error


def work_folder(workdir: Path, name: str = RUN) -> OwnFolder:
    """Return the folder for the files of a run, creating it if needed."""
    try:
        with suppress(FileExistsError):
            workdir.mkdir(0o700)
        return OwnFolder(workdir / name)
    except OSError as error:
        why = error.strerror or error
        raise DataError(f"{workdir / name}: cannot be used as the folder of a run: {why}.") from error


def hold(workdir: Path, folder: OwnFolder, name: str) -> IO[bytes]:
    """Lock a file in the folder of a run; closing it releases the lock."""
    try:
        return folder.hold(name)
    except BlockingIOError:
        raise DataError(f"{workdir / RUN}: another run is using it; choose another {parameter('workdir')}.") from None
    except OSError as error:
        why = error.strerror or error
        raise DataError(f"{workdir / RUN}: cannot be used as the folder of a run: {why}.") from error


def read_json(folder: OwnFolder, name: str) -> Any:
    """Return the content of a JSON file."""
    with folder.open(name, "rb") as file:
        return json.load(file)


def has_begun(folder: OwnFolder) -> bool:
    """Return whether a folder holds work that a run could resume."""
    try:
        noted = read_json(folder, MANIFEST)
        return bool(noted["grown"] or noted["made"])
    except (OSError, ValueError, TypeError, KeyError):
        return False


def remove(workdir: Path, folder: OwnFolder) -> None:
    """Remove the files of a run, and the folders that are then empty.

    The manifest goes first: an interrupted removal leaves files that the next run ignores.
    """
    with suppress(OSError):
        folder.clear(first=MANIFEST)
        (workdir / RUN).rmdir()
        workdir.rmdir()


def allocate(file: IO[bytes], length: int) -> None:
    """Give a file this length, with space on disk."""
    if length and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, length)  # else a full disk would crash a later write
    file.truncate(length)


def write_array(file: IO[bytes], array: np.ndarray) -> None:
    """Write the bytes of an array."""
    if array.size:
        file.write(np.ascontiguousarray(array).data.cast("B"))


def mapped(file: IO[bytes], dtype: Any, shape: list[int] | None = None, mode: Any = "c", start: int = 0) -> np.ndarray:
    """Return a file, from byte `start` on, as an array; writes to it stay in memory, or go to the file with mode "r+".

    The array is writable either way, as kernels are compiled for that type. An empty file cannot be
    mapped and comes back as a new array.
    """
    kind = np.dtype(dtype)
    shape = [os.fstat(file.fileno()).st_size // kind.itemsize] if shape is None else shape
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(np.memmap(file, kind, mode, start, tuple(shape)))


def tables_in(file: IO[bytes]) -> list[pa.Table]:
    """Return the tables of a file that holds Arrow streams one after another."""
    empty = not os.fstat(file.fileno()).st_size  # such a file cannot be mapped
    return [] if empty else tables_of(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def tables_of(content: Any) -> list[pa.Table]:
    """Return the tables of Arrow streams one after another."""
    stream, tables = pa.BufferReader(content), []
    while stream.tell() < stream.size():
        tables.append(pa.ipc.open_stream(stream).read_all())
    return tables


def parse_memory(given: str | int) -> int:
    """Return a number of bytes, given as a number or as a text such as 2GB or 500 MB."""
    return byte_size("memory", given, LEAST_MEMORY, "2GB")
