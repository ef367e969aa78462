"""A run that shows itself on the terminal: the plan, a bar for each long stage, and a summary."""

import resource
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from lookalike.core.run import Run, Tick
from lookalike.core.wording import counted
from lookalike.kernels import when_compiling
from lookalike.results import Clusters, Dedup, Pairs

PATIENCE = 0.7  # seconds a stage may take before it gets a bar


class TerminalRun(Run):
    """Writes to standard error, and draws bars only where that is a terminal."""

    def __init__(self, threads: int | None, quiet: bool):
        super().__init__(threads)
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        when_compiling(lambda: self.say("first run: compiling, which takes some seconds and is done once"))

    def say(self, line: str) -> None:
        if not self.quiet:
            self.console.print(line, markup=False)

    def hint(self, line: str) -> None:
        """Suggest something to a person who looks on."""
        if self.console.is_terminal:
            self.say(line)

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        if self.quiet or not self.console.is_terminal:
            yield lambda amount: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        bar = Progress(*columns, TimeRemainingColumn(), console=self.console, transient=True)
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
    """What was typed."""
    return shlex.join(["lookalike", *sys.argv[1:]])


def next_step(report: str | None) -> str:
    """What to do with a result."""
    if report is None:
        return "next: the same with --report report.html shows what was found, side by side, in a browser"
    return f"next: open {report} in a browser"


def summary(result: Pairs | Clusters | Dedup, item: str = "document", skipped: int = 0, where: str = "") -> list[str]:
    """What was read, and where if that was told, what was compared and found, how sure that is, and what it cost."""
    stats = {**result.stats, "skipped": result.stats["skipped"] + skipped}
    left_out = {name: stats[name] for name in ("identical", "empty", "skipped") if stats[name]}
    notes = ", ".join(f"{count:,} {name}" for name, count in left_out.items())
    lines = [f"read: {counted(stats['items'], item)}{where}{f' ({notes})' if notes else ''}"]
    if "shingles" in stats:
        lines[0] += f", {counted(stats['shingles'], 'element' if item == 'set' else 'shingle')}"
    if isinstance(result, Pairs):
        compared = counted(stats["candidates"], "candidate")
        lines.append(f"found: {counted(len(result), 'pair')}, all verified, among {compared}")
    elif isinstance(result, Clusters):
        grouped = counted(len(result.to_arrow()), item)
        lines.append(f"found: {counted(len(result), 'cluster')} of {grouped}")
    else:
        drop, kept = counted(stats["dropped"], item), f"{stats['kept']:,}"
        found = f"{drop} to drop, each similar to one of the {kept} kept" if stats["dropped"] else "nothing to drop"
        lines.append(f"found: {found}")
    if result.plan is not None and not stats["crowded"]:
        lines[-1] += f"; expected recall at the threshold {result.plan.recall:.4f}"
    if stats["crowded"]:
        lines.append(
            f"note: {counted(stats['crowded'], item)} among very many nearly similar ones, compared with "
            "a part of those: there more may be missed"
        )
    if result.audit is not None:
        lines.append(result.audit.line())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    lines.append(f"{time_line(stats['seconds'])}; peak memory {memory:,.0f} MB")
    return lines


def time_line(seconds: dict[str, float]) -> str:
    """What each stage took, but for those that took next to nothing."""
    times = [f"{name} {taken:.2f} s" for name, taken in seconds.items() if taken >= 0.005]
    return f"time: {', '.join(times) or 'next to none'}"
