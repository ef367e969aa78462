"""Share the work of one run among processes on several machines, through the files of a folder.

All processes run the same command, so they come to the same tasks, in the same order and under the same
names, and what a task makes depends on nothing but the inputs and the settings. For a task `t`,

- `t.claim` says which process is at work on it; it is created only if there is none.
- `t.data` holds the arrays that it made. A file appears whole: it is written under another name,
  flushed to disk, and then linked to its own name, unless there is one already.
- `t.done` says what is in the data. After that, nothing about the task changes.

A process does the tasks that it can claim, and waits for the others. Every few seconds it replaces
its file `shard-3`, which holds a name that it drew at random, and a count. A claim is void if its
process has ended or was started again (the file is gone, or holds another name), or if the file has
not changed for a minute by the clock of the process that waits. That process then takes the task over.

Claims only save work. If two processes do a task after all, both make the same bytes, and the first
that is done counts. So any process can be killed, stopped or cut off at any moment and started again,
and any one of them can finish the run alone. Nothing is locked: the file system must only be able to link
and rename files, as NFS is. Where there are no links, files are renamed.
"""

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import IO, Any

import numpy as np

from lookalike.core.errors import StoreError, UsageError
from lookalike.core.run import Finished, Run
from lookalike.core.storage import Arrays
from lookalike.core.wording import counted
from lookalike.core.workdir import check_same, damaged_in, mapped, read_json, work_folder, write_array, writing_in

FORMAT = 1
FOLDER, ABOUT, FINISHED = "lookalike-shards", "about", "finished"
BEAT, DEAD = 5.0, 60.0  # seconds between signs of life, and without one until a process counts as dead
POLL, EVERY = 1.0, 30.0  # seconds between looks at the folder, at most, and between lines about what is waited for
ALIGNED = 64  # bytes
COLUMNS = "columns"  # what the note on a task that is done calls the types, shapes and places of its arrays


@dataclass(frozen=True)
class Shard:
    """Which of how many processes this one is, counted from 0."""

    index: int
    count: int

    @classmethod
    def parse(cls, written: str) -> "Shard":
        """Return the shard that a text such as 3/8 names.

        >>> Shard.parse("3/8")
        Shard(index=3, count=8)
        """
        found = re.fullmatch(r"(\d+)/(\d+)", written.strip())
        if found is None:
            raise UsageError(f"shard must be I/N, such as 0/8 for the first of 8 processes; got {written!r}.")
        index, count = int(found[1]), int(found[2])
        if index >= count:
            hint = " Processes are counted from 0." if index == count else ""
            raise UsageError(f"shard must be I/N with I below N; got {written!r}.{hint}")
        return cls(index, count)

    def __str__(self) -> str:
        return f"shard {self.index}/{self.count}"


class Shards:
    """The tasks that this process shares with others. See above for the protocol."""

    def __init__(self, workdir: Path, shard: Shard, run: Run, about: dict[str, Any] | None = None) -> None:
        self.workdir, self.shard, self.run, self.about = workdir, shard, run, about or {}
        self.tasks = 0  # done by this process
        self._name = token_hex(4)
        self._facts: dict[str, dict[str, Any]] = {}  # of tasks that are done
        self._owners: dict[str, str] = {}  # of claims, when they were last read
        self._seen: dict[str, tuple[str, float]] = {}  # what the file of each process held, and since when
        self._left = Event()
        self.folder = work_folder(workdir, FOLDER)
        for name in self.folder.names():
            if name.startswith(f"new-{shard.index}-"):  # left by this shard when it was killed
                self.folder.remove(name)
        self._beat(0)
        self._heart = Thread(target=self._live, daemon=True)
        self._heart.start()

    @property
    def path(self) -> Path:
        """The folder of the files."""
        return self.workdir / FOLDER

    # --- the run ---

    def begin(self, about: dict[str, Any]) -> None:
        """Check that all processes do the same; raise `Finished` if they have done it already."""
        now = json.loads(json.dumps({"format": FORMAT, "shards": self.shard.count, **about, **self.about}))
        try:
            was = self._noted(now)
            if was != now and not self._is_begun():
                self.folder.remove(ABOUT)  # of a run that could not even start, such as one with a wrong option
                was = self._noted(now)
            check_same(self.workdir, was, now)
        except (OSError, AttributeError, json.JSONDecodeError) as error:
            raise damaged_in(self.workdir) from error
        if self.done(FINISHED):
            if not self._others(self.folder.names()):
                self._clear()  # what the process that finished had no time to remove
            raise Finished

    def _noted(self, about: dict[str, Any]) -> dict[str, Any]:
        """Return what the folder says of the run, which is this if it says nothing yet."""
        for _ in range(2):
            self._create(ABOUT, lambda file: file.write(json.dumps(about).encode()))
            with suppress(FileNotFoundError):  # removed meanwhile by a process that has given up
                noted: dict[str, Any] = read_json(self.folder, ABOUT)
                return noted
        raise FileNotFoundError

    def agree(self, name: str, facts: dict[str, Any]) -> None:
        """Raise an error unless all processes come to the same facts."""
        for _ in self.turns([name], f"the {name}"):
            self.publish(name, [], **facts)
        check_same(self.workdir, {name: fact for name, fact in self.facts(name).items() if name != COLUMNS}, facts)

    def _is_begun(self) -> bool:
        """Return whether the folder holds work, or another process uses it."""
        names = self.folder.names()
        return any(name.endswith(".done") for name in names) or self._others(names) != []

    def finish(self, write: Callable[[], None]) -> None:
        """Write the output in one of the processes, and remove the files of the run; the others raise `Finished`."""
        for _ in self.turns([FINISHED], "the output"):
            write()
            self.publish(FINISHED, [])
            self._clear()
            return
        raise Finished

    def _clear(self) -> None:
        """Remove all but the note that the run is finished, once no other process uses the files."""
        said = time.monotonic()
        while others := [index for index in self._others(self.folder.names()) if self._is_alive(index)]:
            if time.monotonic() - said > EVERY:
                said = time.monotonic()
                self.run.say(f"waiting: until {_named(others)} ended")
            time.sleep(POLL / 10)
        for name in self.folder.names():
            if name not in (ABOUT, f"{FINISHED}.done"):
                self.folder.remove(name)

    def close(self) -> None:
        """End this process's part; others can take its claims over at once."""
        if not self._left.is_set():
            self._left.set()
            self._heart.join()
            for name in self.folder.names():
                if name.startswith(f"new-{self.shard.index}-{self._name}-"):
                    self.folder.remove(name)
            if (self._read(self._file) or "").startswith(self._name):
                self.folder.remove(self._file)
            if not self._is_begun():
                self.folder.remove(ABOUT)
            self.folder.close()
            with suppress(OSError):  # unless it holds work
                self.path.rmdir()
                self.workdir.rmdir()

    # --- signs of life ---

    @property
    def _file(self) -> str:
        return f"shard-{self.shard.index}"

    def _live(self) -> None:
        count = 0
        while not self._left.wait(BEAT):
            count += 1
            with suppress(StoreError):  # the next one may succeed
                self._beat(count)

    def _beat(self, count: int) -> None:
        with writing_in(self.workdir):
            self.folder.write(self._file, f"{self._name} {count}".encode())

    def _others(self, names: list[str]) -> list[str]:
        """Return the numbers of the other processes that have files."""
        return sorted(name.removeprefix("shard-") for name in names if name.startswith("shard-") and name != self._file)

    def _is_alive(self, index: str, name: str = "") -> bool:
        """Return whether a process gives signs of life, and has this name, if one is given."""
        found = self._read(f"shard-{index}")
        if found is None or not found.startswith(name):
            return False
        if self._seen.get(index, ("", 0.0))[0] != found:
            self._seen[index] = found, time.monotonic()
        return time.monotonic() - self._seen[index][1] < DEAD

    # --- tasks ---

    def done(self, task: str) -> bool:
        """Return whether a task is done."""
        return task in self._facts or self.folder.size(f"{task}.done") is not None

    def facts(self, task: str) -> dict[str, Any]:
        """Return what is known of a task that is done."""
        if task not in self._facts:
            try:
                self._facts[task] = read_json(self.folder, f"{task}.done")
            except (OSError, ValueError) as error:
                raise damaged_in(self.workdir) from error
        return self._facts[task]

    def turns(self, tasks: Sequence[str], what: str) -> Iterator[int]:
        """Yield the positions of tasks that this process has to do now, until all of them are done."""
        while not all(map(self.done, tasks)):
            yield from self.claims(tasks)
            self.wait(tasks, what)

    def claims(self, tasks: Sequence[str]) -> Iterator[int]:
        """Claim tasks, and yield the position of each, until there are no more to claim."""
        if FINISHED not in tasks and self.done(FINISHED):
            raise Finished
        first = len(tasks) * self.shard.index // self.shard.count  # so that processes begin at different places
        for at in [*range(first, len(tasks)), *range(first)]:
            if not self.done(tasks[at]) and self._claim(tasks[at]):
                yield at

    def wait(self, tasks: Sequence[str], what: str) -> None:
        """Wait until all tasks are done, or one of them can be claimed."""
        pause, said = POLL / 50, time.monotonic()
        while True:
            names = set(self.folder.names())
            left = [task for task in tasks if task not in self._facts and f"{task}.done" not in names]
            if any(self._is_free(task, names) for task in left) or not left:
                return
            if f"{FINISHED}.done" in names:
                raise Finished
            if time.monotonic() - said > EVERY:
                said = time.monotonic()
                owners = sorted({self._owners[task].partition(" ")[0] for task in left})
                self.run.say(f"waiting: for {what}: {counted(len(left), 'task')} that {_named(owners)} begun")
            time.sleep(pause)
            pause = min(POLL, 2 * pause)

    def _is_free(self, task: str, names: set[str]) -> bool:
        """Return whether nobody is at work on a task."""
        if f"{task}.claim" not in names:
            return True
        if task not in self._owners:
            self._owners[task] = self._read(f"{task}.claim") or "?"
        return not self._is_alive(*self._owners[task].split())

    def _claim(self, task: str) -> bool:
        """Claim a task, if nobody is at work on it; return whether it is to be done here."""
        claim = f"{task}.claim"
        owner = self._owners[task] = self._read(claim) or ""
        if owner:
            if self._is_alive(*owner.split()):
                return False
            self.folder.remove(claim)
        own = f"{self.shard.index} {self._name}"
        made = self._create(claim, lambda file: file.write(own.encode()), lasting=False)
        self._owners[task] = own if made else self._read(claim) or "?"
        return made and not self.done(task)

    def publish(self, task: str, columns: Iterable[Iterable[np.ndarray]], **facts: Any) -> None:
        """Save the arrays of a task, each of which can be in parts, and mark it as done."""
        laid: list[list[Any]] = []

        def write(file: IO[bytes]) -> None:
            for parts in columns:
                file.write(bytes(-file.tell() % ALIGNED))
                start, rows = file.tell(), 0
                for part in parts:
                    write_array(file, part)
                    rows, kind, shape = rows + len(part), part.dtype.str, part.shape[1:]
                laid.append([kind, [rows, *shape], start])

        self._create(f"{task}.data", write)
        self._create(f"{task}.done", lambda file: file.write(json.dumps({**facts, COLUMNS: laid}).encode()))
        self.tasks += 1

    def arrays(self, task: str) -> Arrays:
        """Return the arrays of a task that is done, mapped into memory."""
        columns = self.facts(task)[COLUMNS]
        with self._data(task) as file:
            for kind, shape, start in columns:
                if start + np.dtype(kind).itemsize * math.prod(shape) > os.fstat(file.fileno()).st_size:
                    raise damaged_in(self.workdir)
            return tuple(mapped(file, kind, shape, start=start) for kind, shape, start in columns)

    def column(self, task: str, at: int) -> np.ndarray:
        """Return one of these arrays in memory, so that the file can be removed meanwhile."""
        kind, shape, start = self.facts(task)[COLUMNS][at]
        with self._data(task) as file:
            found = np.fromfile(file, kind, math.prod(shape), offset=start)
        if len(found) != math.prod(shape):
            raise damaged_in(self.workdir)
        return found.reshape(shape)

    def discard(self, tasks: Iterable[str]) -> None:
        """Remove the data of tasks that is not needed any more."""
        for task in tasks:
            self.folder.remove(f"{task}.data")

    # --- files ---

    def own(self, name: str) -> str:
        """Return the name of a file that only this process uses, and that is removed when it ends."""
        return f"new-{self.shard.index}-{self._name}-{name}"

    def _create(self, name: str, write: Callable[[IO[bytes]], object], lasting: bool = True) -> bool:
        """Create a file with all of its content at once; return False if there is one already.

        One that need not outlast a power failure is created sooner.
        """
        with writing_in(self.workdir):
            with self.folder.open(self.own(name), "wb") as file:
                write(file)
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
            try:
                new = self.folder.link(self.own(name), name)
            except FileNotFoundError:  # removed by a process that was started as the same shard
                again = f"{self.shard} was started again, and goes on without this one"
                raise StoreError(f"{self.workdir}: {again}.") from None
            if lasting:
                self.folder.sync()
            return new

    def _data(self, task: str) -> IO[bytes]:
        try:
            return self.folder.open(f"{task}.data", "rb")
        except FileNotFoundError as error:
            if self.done(FINISHED):
                raise Finished from None
            went_on = f"the data of {task} is gone, as if the other processes had gone on without this one"
            again = "run it again, and if that fails too, remove the folder"
            raise StoreError(f"{self.workdir}: {went_on}; {again}.") from error

    def _read(self, name: str) -> str | None:
        """Return the text of a small file; None if it is gone."""
        try:
            with self.folder.open(name, "rb") as file:
                return file.read().decode()
        except OSError:  # on NFS also one that was replaced meanwhile
            return None

    def __enter__(self) -> "Shards":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _named(indexes: list[str]) -> str:
    """Return processes by number, as the subject of a sentence.

    >>> _named(["3"]), _named(["0", "2", "5"])
    ('shard 3 has', 'shards 0, 2 and 5 have')
    """
    if len(indexes) == 1:
        return f"shard {indexes[0]} has"
    return f"shards {', '.join(indexes[:-1])} and {indexes[-1]} have"
