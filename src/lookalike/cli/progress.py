"""Show the progress of a run: messages, and for each long stage a bar, or lines where there is no terminal."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any

from lookalike import cli
from lookalike.cli.log import event_of, log_line
from lookalike.cli.stats import plan_facts, record, record_note, record_run
from lookalike.core.run import Planned, Run, Tick
from lookalike.core.wording import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from lookalike.cli.terminal import Terminal
    from lookalike.search.needs import Needs

PATIENCE = 0.7  # seconds before a stage gets a bar
EVERY = 30.0  # seconds between lines on a long stage
START_UP = "start-up"  # the time before the first stage
ASKING = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables that can say what is a terminal


class TerminalRun(Run):
    """A run that writes messages to standard error, and draws bars if that is a terminal.

    With a `log_format` of "json", each message is an object. With `dry_run`, the run ends as soon as
    its plan is known.
    """

    def __init__(self, threads: int | None, quiet: bool, log_format: str = "text", dry_run: bool = False):
        from lookalike.kernels import when_compiling

        super().__init__(threads)
        self.quiet, self.json, self.dry_run = quiet, log_format == "json", dry_run
        self.event = ""  # of the last message
        record_run(self)
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
        record_note(line)
        self.event = event_of(line, self.event)
        if self.quiet:
            return
        if self.json:
            print(log_line(line.removeprefix(f"{self.event}: "), event=self.event), file=sys.stderr)
        elif "console" in vars(self):  # it can show a bar, which must stay below the line
            self.console.print(visible(line), markup=False)
        else:
            print(visible(line), file=sys.stderr)

    def hint(self, line: str) -> None:
        """Print a suggestion, only on a terminal."""
        if self.on_terminal and not self.json:
            self.say(line)

    def planned(self, needs: "Needs") -> None:
        """Print what the search needs, and end it, if that is all that was asked for."""
        facts = {"items": needs.items, "seconds": needs.seconds or None, "memory": needs.memory, "disk": needs.disk}
        record(plan=plan_facts(needs.plan), needs=facts)
        if self.dry_run:
            for line in lines_of_needs(needs):
                self.say(line)
            raise Planned

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[Tick]:
        self.seconds.setdefault(START_UP, self.waited())
        with super().stage(name, total) as tick:
            yield tick

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        if self.quiet:
            yield lambda amount: None
            return
        lines = self.json or not self.on_terminal
        bar = ProgressLines(self, name, total) if lines else LateBar(self, name, total)
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


class ProgressLines:
    """Lines that say now and then how far a stage is, and how long it will still take."""

    def __init__(self, run: TerminalRun, name: str, total: float | None):
        self.run, self.name, self.total = run, name, total
        self.done = 0.0
        self.start = time.monotonic()
        self.ended = Event()
        self.thread = Thread(target=self.report, daemon=True)
        self.thread.start()

    def report(self) -> None:
        """Print a line now and then, until the stage ends."""
        while not self.ended.wait(EVERY):
            self.print(time.monotonic() - self.start)

    def print(self, taken: float) -> None:
        """Print how far the stage is after some seconds."""
        left = None
        if self.total and self.done:
            left = max(0.0, taken * (self.total - self.done) / self.done)
        if self.run.json:
            facts: Any = {
                "stage": self.name,
                "done": self.done,
                "total": self.total,
                "seconds": taken,
                "seconds_left": left,
            }
            print(log_line(self.line(taken, left), event="progress", **facts), file=sys.stderr)
        else:
            self.run.say(f"progress: {self.line(taken, left)}")

    def line(self, taken: float, left: float | None) -> str:
        """Return the line."""
        so_far = f"{self.name}, {duration(taken)} so far"
        if left is None or not self.total:
            return so_far + (f", {self.done:,.0f} done" if self.done else "")
        share = min(1.0, self.done / self.total)
        return f"{so_far}, {share:.0%} of {self.total:,.0f}, about {duration(left)} left"

    def advance(self, amount: float) -> None:
        """Count an amount as done."""
        self.done += amount

    def stop(self) -> None:
        """Print no more lines."""
        self.ended.set()
        self.thread.join()


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42.4), duration(80), duration(7300)
    ('42 s', '1 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def lines_of_needs(needs: "Needs") -> list[str]:
    """Return what a search needs in words."""
    took = f"about {duration(max(1.0, needs.seconds))} to find the result" if needs.seconds else "a time not known yet"
    files = f"{gigabytes(needs.disk)} of disk for temporary files" if needs.disk else "no temporary files"
    return [
        f"expected: {took}, {gigabytes(needs.memory)} of memory, {files}; about {needs.items:,} documents",
        "dry run: nothing was searched or written",
    ]


def gigabytes(size: float) -> str:
    """Return a size in words.

    >>> gigabytes(1.26e9), gigabytes(3.2e8)
    ('about 1.3 GB', 'about 320 MB')
    """
    return f"about {size / 1e9:,.1f} GB" if size >= 1e9 else f"about {size / 1e6:,.0f} MB"
