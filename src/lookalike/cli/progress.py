"""Show the progress of a run on the terminal: messages, and a bar for each long stage."""

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from lookalike import cli
from lookalike.core.run import Run, Tick
from lookalike.core.wording import visible

PATIENCE = 0.7  # seconds before a stage gets a bar


class TerminalRun(Run):
    """A run that writes messages to standard error, and draws bars if that is a terminal."""

    def __init__(self, threads: int | None, quiet: bool):
        from lookalike.cli.terminal import Terminal
        from lookalike.kernels import when_compiling

        super().__init__(threads)
        self.quiet = quiet
        self.console = Terminal(stderr=True, soft_wrap=True)
        when_compiling(lambda: self.say("first run: compiling, which takes some seconds and happens only once"))

    def waited(self) -> float:
        """Return the seconds since the user called the command, including the imports."""
        return time.perf_counter() - cli.begun

    def say(self, line: str) -> None:
        if not self.quiet:
            self.console.print(visible(line), markup=False)

    def hint(self, line: str) -> None:
        """Print a suggestion, only on a terminal."""
        if self.console.is_terminal:
            self.say(line)

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        if self.quiet or not self.console.is_terminal:
            yield lambda amount: None
            return
        from rich import progress as parts

        columns = (parts.SpinnerColumn(), parts.TextColumn("{task.description}"), parts.BarColumn())
        counts = (parts.MofNCompleteColumn(), parts.TimeRemainingColumn())
        bar = parts.Progress(*columns, *counts, console=self.console, transient=True)
        task = bar.add_task(name, total=total)
        late = Timer(PATIENCE, bar.start)
        late.daemon = True
        late.start()
        try:
            yield lambda amount: bar.update(task, advance=amount)
        finally:
            late.cancel()
            late.join()
            bar.stop()


def command_line() -> str:
    """Return the command as the user typed it."""
    return shlex.join(["lookalike", *sys.argv[1:]])
