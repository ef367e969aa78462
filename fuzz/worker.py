"""Runs commands in a process of its own, which a damaged file may crash without harm."""

import io
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from tempfile import TemporaryFile
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.cli import main

MEMORY = 3 << 30  # bytes that a command can allocate; mapped files do not count
LIFETIME = 2000  # commands that a process runs before a new one takes its place

Main = Callable[[], None]


class Outcome(NamedTuple):
    """What a command did: its exit status, and what it printed."""

    status: int
    out: bytes
    err: bytes
    fate: str = ""  # how the process ended, if it crashed or took too long


class Worker:
    """Runs commands, one after another; starts a new process after a crash."""

    def __init__(self, secret: bytes, limit: float, run: Main = main) -> None:
        self.secret, self.limit, self.run = secret, limit, run
        self.process: BaseProcess | None = None
        self.runs = 0

    def __call__(self, args: list[str]) -> Outcome:
        """Run a command, and return what it did."""
        if self.process is None or self.runs >= LIFETIME:
            self._start()
        self.runs += 1
        assert self.process is not None
        try:
            self.connection.send(args)
            if self.connection.poll(self.limit):
                return Outcome(*self.connection.recv())
            fate = f"took more than {self.limit:g} seconds"
        except (EOFError, ConnectionError):
            self.process.join()
            fate = f"ended with status {self.process.exitcode}"
            if (self.process.exitcode or 0) < 0:
                fate = f"was killed by {signal.Signals(-(self.process.exitcode or 0)).name}"
        self.stop()
        return Outcome(-1, b"", b"", fate)

    def _start(self) -> None:
        self.stop()
        context = multiprocessing.get_context("spawn")  # not forked: the parent has threads
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.secret, self.run), daemon=True)
        self.process.start()
        theirs.close()
        self.runs = 0

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None


def _work(connection: Connection, secret: bytes, run: Main) -> None:
    """Run the commands that arrive, and answer with what they did."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    planted = list(_planted(secret))
    while planted:
        try:
            args = connection.recv()
        except EOFError:
            return
        connection.send(_outcome(args, run))


def _planted(secret: bytes) -> Iterator[object]:
    """Put the secret into memory that is allocated in the usual ways, beside what commands use."""
    for size in (1, 4, 64, 1024, 65536):
        yield [bytes(bytearray(secret * size)) for _ in range(4)]
        yield np.frombuffer(secret * size, np.uint8).copy()
        yield pa.array([(secret * size).decode()])


def _outcome(args: list[str], run: Main) -> Outcome:
    sys.argv, sys.stdin = ["lookalike", *args], io.TextIOWrapper(io.BytesIO())
    status: object = None
    with TemporaryFile() as out, TemporaryFile() as err:
        with _printing_to(out, err):
            try:
                run()
            except SystemExit as ended:
                status = ended.code
            except BaseException:
                traceback.print_exc()
        out.seek(0)
        err.seek(0)
        return Outcome(status if isinstance(status, int) else -1, out.read(), err.read())


@contextmanager
def _printing_to(*files: IO[bytes]) -> Iterator[None]:
    """Send what is printed to files, also what libraries print without Python."""
    usual = [os.dup(number) for number in (1, 2)]
    for number, file in enumerate(files, start=1):
        os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in enumerate(usual, start=1):
            os.dup2(before, number)
            os.close(before)
