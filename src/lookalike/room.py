"""Where the large arrays of a run are: in memory, or in files of a folder that are mapped into it.

The stages of a run ask a room for their arrays and do not know which it is. What a run has put into a folder is there
for good, piece by piece: the same run, begun again after it was killed, goes on from what is there.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.errors import DataError, UsageError

FORMAT = 1
MANIFEST = "manifest.json"
COMMIT_BYTES, COMMIT_SECONDS = 64 << 20, 5.0  # what may have to be done again after a run was killed
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
LEAST_MEMORY = 10**8

Arrays = tuple[np.ndarray, ...]
Part = Any  # an array, or an Arrow table
Kinds = dict[str, np.dtype[Any] | None]  # of columns; None for those of Arrow


class Growing:
    """Columns that grow, each at its own pace, and are whole arrays when all is done."""

    done = 0  # of whatever the columns are made from, as told by the last `append` that counts

    def __init__(self, kinds: Kinds, most: dict[str, int]) -> None:
        self.kinds = kinds
        self.parts: dict[str, list[Any]] = {name: [] for name in kinds}
        self.whole = {name: np.empty(size, kinds[name]) for name, size in most.items()}  # room not used costs nothing
        self.filled = dict.fromkeys(most, 0)

    def append(self, done: int, parts: Iterable[Part]) -> None:
        """Append to each column, after which `done` is done."""
        for (name, column), part in zip(self.parts.items(), parts, strict=True):
            if name in self.whole:
                at = self.filled[name]
                self.whole[name][at : at + len(part)] = part
                self.filled[name] = at + len(part)
            else:
                column.append(part)
        self.done = done

    def finish(self) -> list[Any]:
        """The columns: arrays, and lists of Arrow tables."""
        return [self._column(name, parts) for name, parts in self.parts.items()]

    def _column(self, name: str, parts: list[Any]) -> Any:
        if name in self.whole:
            return self.whole[name][: self.filled[name]]
        kind = self.kinds[name]
        return parts if kind is None else np.concatenate([np.zeros(0, kind), *parts])


class Room:
    """Arrays in memory."""

    memory: int | None = None  # bytes that may be used at a time, if that is limited

    def growing(self, name: str, kinds: Kinds, most: dict[str, int] | None = None) -> Growing:
        """New columns, or those that an earlier run has begun; of some it may be known what they have at most."""
        return Growing(kinds, most or {})

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays that `make` makes, or has made in an earlier run."""
        return make()

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """An array to be filled."""
        return np.empty(size, dtype)

    def close(self) -> None:
        """Let go of it; what is in files stays there."""

    def __enter__(self) -> "Room":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Folder(Room):
    """Arrays in files. One run at a time has the folder."""

    def __init__(self, path: Path, about: dict[str, Any], memory: int | None) -> None:
        self.path, self.memory = path, memory
        try:
            path.mkdir(exist_ok=True)
            self._held = open(path / "in-use", "ab")  # noqa: SIM115  as long as the run is there
        except OSError as error:
            raise DataError(f"{path}: cannot be the folder of a run: {error.strerror or error}.") from error
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
            raise DataError(f"{path}: another run works there; name another --workdir.") from None
        self._lock = Lock()
        self._open: list[GrowingFiles] = []
        try:
            self._noted = self._read(about)
            self._save()  # before there are other files
        except BaseException:
            self.close()
            raise

    def _read(self, about: dict[str, Any]) -> dict[str, Any]:
        """What is there, if it is of the same run."""
        new = {"format": FORMAT, "about": about, "grown": {}, "made": {}}
        try:
            noted: dict[str, Any] = json.loads((self.path / MANIFEST).read_text())
        except FileNotFoundError:
            others = {file.name for file in self.path.iterdir()} - {"in-use", f".{MANIFEST}"}
            if others:
                raise DataError(f"{self.path}: has files of something else; name an empty or a new folder.") from None
            return new
        except ValueError as error:
            raise DataError(f"{self.path}: its {MANIFEST} cannot be read; remove the folder.") from error
        if noted.get("format") != FORMAT:
            raise DataError(f"{self.path}: is of another version of lookalike; remove the folder.")
        plain = json.loads(json.dumps(about))
        for name in {**noted["about"], **plain}:
            was, now = noted["about"].get(name), plain.get(name)
            if was != now:
                raise DataError(
                    f"{self.path}: holds a run that is not this one: {name} was {was} and is {now}; "
                    "name another --workdir, or remove the folder."
                )
        return noted

    def note(self, kind: str, name: str, what: Any) -> None:
        """Write down, for good, what is there."""
        with self._lock:
            self._noted[kind][name] = what
            self._save()

    def _save(self) -> None:
        part = self.path / f".{MANIFEST}"
        with part.open("w") as file:
            json.dump(self._noted, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path / MANIFEST)

    def noted(self, kind: str, name: str) -> Any:
        """What was written down, if anything was."""
        return self._noted[kind].get(name)

    def growing(self, name: str, kinds: Kinds, most: dict[str, int] | None = None) -> Growing:
        self._open.append(GrowingFiles(self, name, kinds))
        return self._open[-1]

    def made(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        there = self.noted("made", name)
        if there is None:
            there = []
            for number, array in enumerate(make()):
                with (self.path / f"{name}.{number}").open("wb") as file:
                    np.ascontiguousarray(array).tofile(file)
                    os.fsync(file.fileno())
                there.append([array.dtype.str, list(array.shape)])
            self.note("made", name, there)
        files = (self.path / f"{name}.{number}" for number in range(len(there)))
        return tuple(mapped(file, kind, shape) for file, (kind, shape) in zip(files, there, strict=True))

    def empty(self, name: str, size: int, dtype: Any) -> np.ndarray:
        with (self.path / name).open("wb") as file:
            file.truncate(size * np.dtype(dtype).itemsize)
        return mapped(self.path / name, dtype, [size], "r+")

    def close(self) -> None:
        for grown in self._open:
            grown.close()
        self._held.close()


class GrowingFiles(Growing):
    """A file for each column. What is written is noted from time to time; what is not noted is cut off again."""

    def __init__(self, folder: Folder, name: str, kinds: Kinds) -> None:
        self.folder, self.name, self.kinds = folder, name, kinds
        there = folder.noted("grown", name) or {"done": 0, "sizes": dict.fromkeys(kinds, 0), "complete": False}
        self.done, self.complete = there["done"], there["complete"]
        self.files: dict[str, IO[bytes]] = {}
        for column in () if self.complete else kinds:
            file = self.files[column] = self._path(column).open("ab")
            file.truncate(there["sizes"][column])
        self.waiting, self.since = 0, time.monotonic()

    def _path(self, column: str) -> Path:
        return self.folder.path / f"{self.name}.{column}"

    def append(self, done: int, parts: Iterable[Part]) -> None:
        for file, part in zip(self.files.values(), parts, strict=True):
            if isinstance(part, pa.Table):
                with pa.ipc.new_stream(file, part.schema) as stream:
                    stream.write_table(part)
                self.waiting += part.nbytes
            else:
                np.ascontiguousarray(part).tofile(file)
                self.waiting += part.nbytes
        self.done = done
        if self.waiting > COMMIT_BYTES or time.monotonic() - self.since > COMMIT_SECONDS:
            self._commit(complete=False)

    def _commit(self, complete: bool) -> None:
        sizes = {}
        for column, file in self.files.items():
            file.flush()
            os.fsync(file.fileno())
            sizes[column] = os.fstat(file.fileno()).st_size
        self.folder.note("grown", self.name, {"done": self.done, "sizes": sizes, "complete": complete})
        self.waiting, self.since = 0, time.monotonic()

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files.values():
            file.close()

    def finish(self) -> list[Any]:
        if not self.complete:
            self._commit(complete=True)
        self.close()
        return [
            tables_in(self._path(column)) if kind is None else mapped(self._path(column), kind)
            for column, kind in self.kinds.items()
        ]


def mapped(path: Path, dtype: Any, shape: list[int] | None = None, mode: Any = "c") -> np.ndarray:
    """A file as an array; what is written to it stays in memory, or with mode "r+" goes to the file.

    An empty file cannot be mapped. One that can be written to has the type that kernels are compiled for.
    """
    kind = np.dtype(dtype)
    shape = [path.stat().st_size // kind.itemsize] if shape is None else shape
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(np.memmap(path, kind, mode, shape=tuple(shape)))


def tables_in(path: Path) -> list[pa.Table]:
    """The tables of a file of Arrow streams, one after another."""
    tables = []
    with pa.memory_map(str(path)) as file:
        while file.tell() < file.size():
            tables.append(pa.ipc.open_stream(file).read_all())
    return tables


def stamps(paths: Iterable[Path]) -> list[list[Any]]:
    """The names of files, how large they are and when they were last changed, to tell whether they are the same."""
    files = ((str(path), path.stat()) for path in paths)
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in files]


def parse_memory(given: str | int) -> int:
    """Bytes, of a number or of something like 2GB or 500 MB."""
    size: float | None = None
    if isinstance(given, str):
        text = given.strip().upper()
        unit = next((unit for unit in UNITS if text.endswith(unit)), "")
        with suppress(ValueError):
            size = float(text[: len(text) - len(unit)]) * UNITS.get(unit, 1)
    elif not isinstance(given, bool):
        size = float(given)
    if size is None or not LEAST_MEMORY <= size < float("inf"):
        raise UsageError(f"memory must be a size of at least 100MB, such as 2GB; got {given!r}.")
    return int(size)
