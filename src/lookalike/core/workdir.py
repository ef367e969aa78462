"""Keep the large arrays of a run in the files of a folder, mapped into memory.

A run saves its work piece by piece. If it is killed, it can be resumed from the last saved piece.
"""

import fcntl
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, StoreError, byte_size, parameter
from lookalike.core.storage import Arrays, GrowingColumns, Kinds, Part, Storage

FORMAT = 1
RUN = "lookalike-run"
ABOUT, MANIFEST = "about.json", "manifest.json"
LEAST_MEMORY = 10**8
COMMIT_BYTES, COMMIT_SECONDS = 64 << 20, 5.0  # the most work to repeat after a run was killed


class FolderStorage(Storage):
    """Arrays in files, all in a subfolder of `workdir`, which only one run at a time can use."""

    held = False
    memory: int

    def __init__(self, workdir: Path, about: dict[str, Any], memory: int) -> None:
        self.workdir, self.path, self.memory = workdir, workdir / RUN, memory
        self._open: list[GrowingFiles] = []
        self._lock = Lock()
        self._held = hold(self.path / "in-use")
        try:
            self._noted = self._read(json.loads(json.dumps(about)))
        except BaseException:
            self.close()
            raise

    def _read(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return the manifest of an earlier run if it is the same run, else write a new one."""
        try:
            saved, noted = (json.loads((self.path / name).read_text()) for name in (ABOUT, MANIFEST))
            if saved["format"] != FORMAT:
                raise DataError(
                    f"{self.workdir}: was written by another version of lookalike; remove its folder {RUN}."
                )
            if noted["grown"] or noted["made"]:
                self._compare(saved["about"], about)
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

    def _compare(self, was: dict[str, Any], now: dict[str, Any]) -> None:
        for name in {**was, **now}:
            one: Any = was.get(name)
            other: Any = now.get(name)
            if one == other:
                continue
            if name == "files":
                changed = [file for file in other if file not in one] or [file for file in one if file not in other]
                others = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
                what = f"input files differ ({changed[0][0]}{others})"
            else:
                what = f"{name} was {one} and is now {other}"
            raise DataError(
                f"{self.workdir}: holds a different run: {what}; choose another "
                f"{parameter('workdir')}, or remove the folder."
            )

    def damaged(self) -> DataError:
        """Return the error for files that are not as the run left them."""
        return DataError(f"{self.workdir}: the files of the run are damaged; remove the folder.")

    def note(self, kind: str, name: str, what: Any) -> None:
        """Record in the manifest, on disk, what has been saved."""
        with self._lock:
            self._noted[kind][name] = what
            self._save(MANIFEST, self._noted)

    def _save(self, name: str, content: dict[str, Any]) -> None:
        with self.written():
            part = self.path / f".{name}"
            with part.open("w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path / name)
            sync(self.path)

    @contextmanager
    def written(self) -> Iterator[None]:
        """Turn disk errors into one line that says what to do."""
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self.workdir}: cannot be written: {error.strerror or error}; "
                "the same command resumes from the files there."
            ) from error

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
                with self.written(), (self.path / f"{name}.{number}").open("wb") as file:
                    write_array(file, array)
                    file.flush()
                    os.fsync(file.fileno())
                there.append([array.dtype.str, list(array.shape)])
            self.note("made", name, there)
        files = (self.path / f"{name}.{number}" for number in range(len(there)))
        return tuple(self._mapped(file, kind, shape) for file, (kind, shape) in zip(files, there, strict=True))

    def _mapped(self, file: Path, kind: str, shape: list[int]) -> np.ndarray:
        if not file.is_file() or file.stat().st_size != np.dtype(kind).itemsize * math.prod(shape):
            raise self.damaged()
        return mapped(file, kind, shape)

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        length = size * np.dtype(dtype).itemsize
        with self.written(), (self.path / name).open("wb") as file:
            if length and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, length)  # else a full disk would crash a later write
            file.truncate(length)
        return mapped(self.path / name, dtype, [size], "r+")

    def close(self) -> None:
        for grown in self._open:
            grown.close()
        self._held.close()

    def remove(self) -> None:
        self.close()
        remove(self.workdir)


class GrowingFiles(GrowingColumns):
    """One file per column. Progress is recorded now and then; resuming drops unrecorded writes."""

    def __init__(self, folder: FolderStorage, name: str, kinds: Kinds) -> None:
        self.folder, self.name, self.kinds = folder, name, kinds
        there = folder.noted("grown", name) or {"done": 0, "sizes": dict.fromkeys(kinds, 0), "complete": False}
        self.done, self.complete = there["done"], there["complete"]
        self.files: dict[str, IO[bytes]] = {}
        for column in kinds:
            size = there["sizes"][column]
            if size and (not self._path(column).is_file() or self._path(column).stat().st_size < size):
                self.close()
                raise folder.damaged()
            if not self.complete:
                self.files[column] = self._path(column).open("ab")
                self.files[column].truncate(size)
        self.waiting, self.since = 0, time.monotonic()

    def _path(self, column: str) -> Path:
        return self.folder.path / f"{self.name}.{column}"

    def append(self, done: int, parts: Iterable[Part]) -> None:
        for file, part in zip(self.files.values(), parts, strict=True):
            with self.folder.written():
                if isinstance(part, pa.Table):
                    with pa.ipc.new_stream(file, part.schema) as stream:
                        stream.write_table(part)
                else:
                    write_array(file, part)
            self.waiting += part.nbytes
        self.done = done
        if self.waiting > COMMIT_BYTES or time.monotonic() - self.since > COMMIT_SECONDS:
            self._commit(complete=False)

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

    def finish(self) -> list[Any]:
        if not self.complete:
            self._commit(complete=True)
        self.close()
        return [
            tables_in(self._path(column)) if kind is None else mapped(self._path(column), kind)
            for column, kind in self.kinds.items()
        ]


def hold(file: Path) -> IO[bytes]:
    """Open and lock a file, creating its folder if needed; closing it releases the lock."""
    try:
        file.parent.parent.mkdir(exist_ok=True)
        file.parent.mkdir(exist_ok=True)
        held = file.open("ab")
    except OSError as error:
        raise DataError(f"{file.parent}: cannot be used as the folder of a run: {error.strerror or error}.") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        raise DataError(f"{file.parent}: another run is using it; choose another {parameter('workdir')}.") from None
    return held


def has_begun(workdir: Path) -> bool:
    """Return whether a folder holds work that a run could resume."""
    try:
        noted = json.loads((workdir / RUN / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    return bool(noted["grown"] or noted["made"])


def remove(workdir: Path) -> None:
    """Remove the files of a run from a folder, and the folder too if it is then empty."""
    shutil.rmtree(workdir / RUN, ignore_errors=True)
    with suppress(OSError):
        workdir.rmdir()


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def write_array(file: IO[bytes], array: np.ndarray) -> None:
    """Write the bytes of an array."""
    if array.size:
        file.write(np.ascontiguousarray(array).data.cast("B"))


def mapped(path: Path, dtype: Any, shape: list[int] | None = None, mode: Any = "c") -> np.ndarray:
    """Return a file as an array; writes to it stay in memory, or go to the file with mode "r+".

    The array is writable either way, as kernels are compiled for that type. An empty file cannot be
    mapped and comes back as a new array.
    """
    kind = np.dtype(dtype)
    shape = [path.stat().st_size // kind.itemsize] if shape is None else shape
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(np.memmap(path, kind, mode, shape=tuple(shape)))


def tables_in(path: Path) -> list[pa.Table]:
    """Return the tables of a file that holds Arrow streams one after another."""
    tables = []
    with pa.memory_map(str(path)) as file:
        while file.tell() < file.size():
            tables.append(pa.ipc.open_stream(file).read_all())
    return tables


def stamps(paths: Iterable[Path]) -> list[list[Any]]:
    """Return the name, size and modification time of each file, to detect changes."""
    files = ((str(path.resolve()), path.stat()) for path in paths)
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in files]


def parse_memory(given: str | int) -> int:
    """Return a number of bytes, given as a number or as a text such as 2GB or 500 MB."""
    return byte_size("memory", given, LEAST_MEMORY, "2GB")
