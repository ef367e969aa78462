"""Run the command line in tests: within this process, which is fast, or as a new process."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from lookalike import cli


class Outcome(NamedTuple):
    """The result of a command: its exit code and what it printed."""

    code: int
    out: str
    err: str


class Commands:
    """A callable that runs commands and returns their outcomes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *args: object, stdin: bytes = b"") -> Outcome:
        self.monkeypatch.setattr("sys.argv", ["lookalike", *map(str, args)])
        self.monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        self.capsys.readouterr()
        before = signal.getsignal(signal.SIGTERM)
        try:
            code = cli.run(time.perf_counter())
        finally:
            signal.signal(signal.SIGTERM, before)
        return Outcome(code, *self.capsys.readouterr())


def environment() -> dict[str, str]:
    """Return the environment with a common terminal, without settings for colours and widths."""
    odd = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    return {name: value for name, value in os.environ.items() if name not in odd} | {"TERM": "xterm-256color"}


def spawn(*args: object, script: str | None = None, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a command as a process, through a script if one is given."""
    start = ["-m", "lookalike"] if script is None else ["-c", script]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    options.setdefault("preexec_fn", heed_interrupts)
    return subprocess.Popen([sys.executable, *start, *map(str, args)], env=environment(), **options)


def heed_interrupts() -> None:
    """Restore SIGINT, which background processes of a shell ignore, and so their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def complaint(outcome: Outcome) -> str:
    """Return the error, which must be the only line besides the plan, without a traceback."""
    lines = [line for line in outcome.err.splitlines() if not line.startswith(("plan: ", "      ", "first run: "))]
    assert "Traceback" not in outcome.err
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("lookalike: ")
    return lines[0].removeprefix("lookalike: ")


def left_in(folder: Path) -> set[str]:
    """Return the names of all files in a folder, including hidden ones."""
    return {path.name for path in folder.iterdir()}


GUARD = 300  # seconds to wait; ample even on a busy machine

# Makes work slow: tiny batches, each of which reports that it has begun and takes a while.
SLOW = """
import functools, os, time
import lookalike.cli.progress, lookalike.search.sketching, lookalike.find, lookalike.io.documents
lookalike.io.documents.Source = functools.partial(lookalike.io.documents.Source, batch_bytes=1000)
quick = lookalike.search.sketching.band_keys
def slow(*args):
    os.write(1, b"begun\\n")  # in one piece, whichever threads write
    time.sleep({pause})
    return quick(*args)
lookalike.search.sketching.band_keys = slow
lookalike.cli.progress.PATIENCE = 0.05
from lookalike.cli import main
main()
"""
