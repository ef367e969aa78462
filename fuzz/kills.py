"""Kills commands and servers at random moments, and checks that nothing is lost or left behind.

Each job runs once undisturbed, which gives the result to expect and the time it takes. Then it runs
again, is killed (SIGKILL) at a random moment of that time, and is run to its end.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

from fuzz.failures import Failure, Failures
from fuzz.requests import Server
from fuzz.writers import text
from lookalike.index import Index

LIMIT = 300.0  # seconds for a command, ample even on a busy machine
OLD, NEW = 3000, 6000  # documents in the index, and in a batch
LARGE = 60_000  # documents of a run with files
SHARED = 0.3  # of the documents are near-copies


def put_texts(path: Path, count: int, seed: int) -> None:
    """Write a file of documents, some of which are similar."""
    draw = Random(seed)
    words = [f"w{number:x}" for number in range(5000)]
    texts: list[list[str]] = []
    with path.open("w") as file:
        for number in range(count):
            if texts and draw.random() < SHARED:
                text = [*draw.choice(texts)]
                text[draw.randrange(len(text))] = draw.choice(words)
            else:
                text = draw.choices(words, k=60)
            texts.append(text)
            file.write(json.dumps({"id": f"{seed}-{number}", "text": " ".join(text)}) + "\n")


def run(*arguments: str, folder: Path, seconds: float | None = None) -> tuple[int, str]:
    """Run a command, and kill it after some seconds; return its exit status and its messages."""
    command = [sys.executable, "-m", "lookalike", *arguments]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, said = process.communicate(timeout=LIMIT if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
    return process.returncode, said


class Job(ABC):
    """Something to kill, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make the inputs, and learn what to expect."""

    @abstractmethod
    def fault(self, draw: Random) -> str | None:
        """Kill the job once and finish it; return what is wrong then, or None."""


class Command(Job):
    """A command that is run again after it was killed."""

    command: tuple[str, ...]

    def prepare(self) -> None:
        self.make_inputs()
        shutil.copytree(self.folder, self.fresh)
        started = time.monotonic()
        status, said = run(*self.command, folder=self.folder)
        assert status == 0, said
        self.seconds = time.monotonic() - started
        self.names, self.expected = sorted(self.left()), self.result()

    @property
    def fresh(self) -> Path:
        """The folder as it is at the beginning."""
        return self.folder.with_name(f"{self.folder.name}-fresh")

    @abstractmethod
    def make_inputs(self) -> None:
        """Write the inputs."""

    @abstractmethod
    def result(self) -> Any:
        """Return what the command has made."""

    def between(self) -> str | None:
        """Return what is wrong after the kill, or None."""
        return None

    def left(self) -> Iterator[str]:
        """Yield the names of all files, except those within an index."""
        for path in self.folder.rglob("*"):
            inside = path.relative_to(self.folder).parts
            if not inside[0].endswith(".index") or len(inside) == 1:
                yield "/".join(inside)

    def fault(self, draw: Random) -> str | None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.fresh, self.folder)
        run(*self.command, folder=self.folder, seconds=draw.uniform(0.05, 1.1) * self.seconds)
        if (wrong := self.between()) is not None:
            return f"after the kill: {wrong}"
        status, said = run(*self.command, folder=self.folder)
        if status:
            return f"run again: exit status {status}: {said}"
        if self.result() != self.expected:
            return "run again: another result than without the kill"
        names = sorted(self.left())
        return None if names == self.names else f"left behind: {sorted(set(names) ^ set(self.names))}"


class Add(Command):
    """Adding to an index: all documents or none are in it."""

    command = ("index", "add", "some.index", "new.jsonl", "--replace", "-q")

    def make_inputs(self) -> None:
        put_texts(self.folder / "old.jsonl", OLD, 1)
        put_texts(self.folder / "new.jsonl", NEW, 2)
        status, said = run("index", "build", "some.index", "old.jsonl", "-s", "word:3", folder=self.folder)
        assert status == 0, said

    def result(self) -> Any:
        with Index.open(self.folder / "some.index") as index:
            index.verify()
            return sorted(map(str, index.ids()))

    def between(self) -> str | None:
        found = len(self.result())
        return None if found in (OLD, OLD + NEW) else f"{found} items in the index"


class Build(Command):
    """Building an index, which goes on where it was."""

    command = ("index", "build", "new.index", "large.jsonl", "-s", "word:3", "--seed", "1", "-q")

    def make_inputs(self) -> None:
        put_texts(self.folder / "large.jsonl", LARGE, 5)

    def result(self) -> Any:
        with Index.open(self.folder / "new.index") as index, index.store.reading() as reader:
            index.verify()
            items = sha256()
            for item in reader.items():
                items.update(b"%d %s %s" % (item.number, item.content, item.payload))
            return len(index), items.digest(), reader.next_id(), reader.settings()

    def between(self) -> str | None:
        complete = (self.folder / "new.index").exists()
        return "part of the index" if complete and self.result() != self.expected else None


class Update(Command):
    """Sifting a batch with an update: the output and the index change together, or can again."""

    command = (
        *("dedup", "new.jsonl", "--against", "seen.index", "--update", "-s", "word:3"),
        *("--seed", "1", "-o", "kept.jsonl", "--removed", "gone.csv", "-q"),
    )

    def make_inputs(self) -> None:
        put_texts(self.folder / "new.jsonl", NEW, 3)

    def result(self) -> Any:
        with Index.open(self.folder / "seen.index") as index:
            index.verify()
            ids = sorted(map(str, index.ids()))
        return ids, *((self.folder / name).read_bytes() for name in ("kept.jsonl", "gone.csv"))

    def between(self) -> str | None:
        for name, whole in zip(("kept.jsonl", "gone.csv"), self.expected[1:], strict=True):
            path = self.folder / name
            if path.exists() and path.read_bytes() != whole:
                return f"part of {name}"
        if (self.folder / "seen.index").exists() and self.result() != self.expected:
            return "part of the index"
        return None


class Files(Command):
    """A run with its data in files, which is resumed."""

    command: tuple[str, ...] = ("dedup", "large.jsonl", "--memory", "100MB", "-s", "word:3", "-o", "kept.jsonl", "-q")

    def make_inputs(self) -> None:
        put_texts(self.folder / "large.jsonl", LARGE, 4)

    def result(self) -> Any:
        return (self.folder / "kept.jsonl").read_bytes()

    def between(self) -> str | None:
        path = self.folder / "kept.jsonl"
        return "part of kept.jsonl" if path.exists() and self.result() != self.expected else None


class Shared(Files):
    """A run that processes can share, which is done by one of them, and started again after a kill."""

    command = (*Files.command, "--workdir", "work", "--shard", "1/2")


class Serving(Job):
    """A server: what it has acknowledged is in the index."""

    def prepare(self) -> None:
        self.round = 0
        Index.create(self.folder / "some.index", shingles="word:1").close()
        self.there: set[str] = set()  # acknowledged

    def fault(self, draw: Random) -> str | None:
        self.round += 1
        server = Server("texts", self.folder / "some.index")
        server.wait()
        end = time.monotonic() + draw.uniform(0.1, 2)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT)
        number, sent = 0, set(self.there)
        while time.monotonic() < end:
            number += 1
            name = f"{self.round}-{number}"
            body = json.dumps({"items": [f"text {name}"], "ids": [name]})
            sent.add(name)
            connection.request("POST", "/items", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 201:
                return f"status {answer.status}: {said!r}"
            self.there.add(name)
        last = json.dumps({"items": ["last"], "ids": [f"{self.round}-last"]})
        connection.request("POST", "/items", last, {"Content-Type": "application/json"})  # in progress at the kill
        server.process.kill()
        server.process.wait()
        server.close()
        connection.close()
        with Index.open(self.folder / "some.index") as index:
            index.verify()
            found = set(map(str, index.ids()))
        lost, odd = self.there - found, found - sent - {f"{at}-last" for at in range(1, self.round + 1)}
        self.there = found
        return f"lost: {sorted(lost)[:3]}, not sent: {sorted(odd)[:3]}" if lost or odd else None


class Writing(Job):
    """Threads that change an index: acknowledged changes last.

    Every other time it is on a full disk; else two processes change it and compact it, both killed.
    """

    def prepare(self) -> None:
        self.round = 0
        texts = [text(f"first-{at}") for at in range(100)]
        Index.build(self.folder / "some.index", texts, [f"first-{at}" for at in range(100)], shingles="word:1").close()
        self.there = {f"first-{at}" for at in range(100)}

    def fault(self, draw: Random) -> str | None:
        self.round += 1
        options = [[str(self.round)], [f"{self.round}b"]]
        if self.round % 2:
            size = (self.folder / "some.index" / "data.mdb").stat().st_size
            options = [[str(self.round), str(size + draw.randrange(1 << 20))]]
        with ExitStack() as ended:
            processes = [ended.enter_context(self.writer(*one)) for one in options]
            ready = [process.stdout.readline() for process in processes if process.stdout is not None]
            killers = [Timer(draw.uniform(0.05, 1.5), process.kill) for process in processes]
            for killer in killers:
                killer.start()
            reading = ended.enter_context(ThreadPoolExecutor(2 * len(processes)))
            errors = [reading.submit(process.stderr.read) for process in processes if process.stderr is not None]
            heard = [reading.submit(process.stdout.read) for process in processes if process.stdout is not None]
            lines = [line for one in heard for line in one.result().split("\n")[:-1]]
            said = "".join(one.result() for one in errors)
        if {*ready} != {"ready\n"} or "Traceback" in said:
            return f"before the kill: {said}"
        with Index.open(self.folder / "some.index") as index:
            index.verify()
            found = set(map(str, index.ids()))
        added, removing, removed, refused = (
            {name for line in lines if line.startswith(f"{what} ") for name in line.split()[1:]}
            for what in ("added", "removing", "removed", "refused")
        )
        lost = ((self.there | added) - removing | removing & refused) - found - removed
        back = removed & found
        self.there = found
        return f"lost: {sorted(lost)[:3]}, removed but there: {sorted(back)[:3]}" if lost or back else None

    def writer(self, *options: str) -> "subprocess.Popen[str]":
        """Start a process that changes the index."""
        command = [sys.executable, "-m", "fuzz.writers", "some.index", *options]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


JOBS: dict[str, type[Job]] = {
    "index add": Add,
    "index build": Build,
    "dedup --against --update": Update,
    "dedup --memory": Files,
    "dedup --shard": Shared,
    "serve": Serving,
    "threads": Writing,
}


class Killer:
    """Kills each job in turn."""

    def __init__(self, seed: int, failures: Failures, names: Sequence[str]) -> None:
        self.seed, self.failures, self.names = seed, failures, names
        self.tried = 0

    def run(self, cases: Iterator[int]) -> None:
        """Kill a job for each case."""
        with TemporaryDirectory(prefix="fuzz-") as folder:
            jobs: dict[str, Job] = {}
            for case in cases:
                name = self.names[case % len(self.names)]
                if name not in jobs:
                    jobs[name] = JOBS[name](Path(folder) / str(len(jobs)))
                self.tried += 1
                if (wrong := jobs[name].fault(Random(f"{self.seed} {case}"))) is not None:
                    again = f"python -m fuzz kills --job {name!r} --seed {self.seed} --case {case}"
                    self.failures.add(Failure(f"{name}: {wrong}", again, b"", "nothing"))
