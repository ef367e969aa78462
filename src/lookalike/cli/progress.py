"""Show the progress of a run on the terminal: messages, and a bar for each long stage."""

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Timer
from typing import TYPE_CHECKING

from lookalike import cli
from lookalike.core.run import Run, Tick
from lookalike.core.wording import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from lookalike.cli.terminal import Terminal

PATIENCE = 0.7  # seconds before a stage gets a bar
START_UP = "start-up"  # the time before the first stage
ASKING = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables that can say what is a terminal


class TerminalRun(Run):
    """A run that writes messages to standard error, and draws bars if that is a terminal."""

    def __init__(self, threads: int | None, quiet: bool):
        from lookalike.kernels import when_compiling

        super().__init__(threads)
        self.quiet = quiet
        when_compiling(lambda: self.say("first run: compiling, which takes some seconds and happens only once"))

    @cached_property
    def console(self) -> "Terminal":
        """The terminal with its bars; made late, because few commands need more than plain lines."""
        from lookalike.cli.terminal import Terminal

        return Terminal(stderr=True, soft_wrap=True)

    @cached_property
    def on_terminal(self) -> bool:
        """Whether standard error is a terminal."""
        return self.console.is_terminal if any(map(os.environ.get, ASKING)) else sys.stderr.isatty()

    def waited(self) -> float:
        """Return the seconds since the user called the command, including the imports."""
        return time.perf_counter() - cli.begun

    def say(self, line: str) -> None:
        if self.quiet:
            return
        if "console" in vars(self):  # it can show a bar, which must stay below the line
            self.console.print(visible(line), markup=False)
        else:
            print(visible(line), file=sys.stderr)

    def hint(self, line: str) -> None:
        """Print a suggestion, only on a terminal."""
        if self.on_terminal:
            self.say(line)

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[Tick]:
        self.seconds.setdefault(START_UP, self.waited())
        with super().stage(name, total) as tick:
            yield tick

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        if self.quiet or not self.on_terminal:
            yield lambda amount: None
            return
        bar = LateBar(self, name, total)
        try:
            yield bar.advance
        finally:
            bar.stop()


class LateBar:
    """A bar that appears if a stage takes long, and disappears at its end."""

    def __init__(self, run: TerminalRun, name: str, total: float | None):
        self.run, self.name, self.total = run, name, total
        self.done = 0.0
        self.bar: Progress | None = None
        self.timer = Timer(PATIENCE, self.start)
        self.timer.daemon = True
        self.timer.start()

    def start(self) -> None:
        """Draw the bar."""
        from rich import progress as parts

        columns = (parts.SpinnerColumn(), parts.TextColumn("{task.description}"), parts.BarColumn())
        counts = (parts.MofNCompleteColumn(), parts.TimeRemainingColumn())
        bar = parts.Progress(*columns, *counts, console=self.run.console, transient=True)
        bar.update(bar.add_task(self.name, total=self.total), completed=self.done)
        bar.start()
        self.bar = bar

    def advance(self, amount: float) -> None:
        """Count an amount as done."""
        self.done += amount
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def stop(self) -> None:
        """Remove the bar, or do not draw it at all."""
        self.timer.cancel()
        self.timer.join()
        if self.bar is not None:
            self.bar.stop()


def command_line() -> str:
    """Return the command as the user typed it."""
    return shlex.join(["lookalike", *sys.argv[1:]])
