"""What commands say at the end: what was read and found, what to make of it, and what it cost."""

import resource
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lookalike.cli.progress import TerminalRun
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.results import Clusters, Dedup, Pairs


def summarize(
    result: "Pairs | Clusters | Dedup",
    run: TerminalRun,
    *,
    item: str,
    inputs: Iterable[str],
    report: str | None,
    skipped: int = 0,
    where: str = "",
    notes: Iterable[str] = (),
) -> None:
    """Say what was found in the inputs; `skipped` and `where` as for `summary`, `notes` are said after it."""
    for line in summary(result, item, skipped, where):
        run.say(line)
    if not result.stats["items"]:
        run.say(none_there(item, inputs))
    for note in notes:
        run.say(note)
    run.hint(next_step(report))


def summary(result: "Pairs | Clusters | Dedup", item: str = "document", skipped: int = 0, where: str = "") -> list[str]:
    """Return lines: what was read (and where, if that needs saying), what was found, how surely, and what it cost."""
    stats = {**result.stats, "skipped": result.stats["skipped"] + skipped}
    left_out = {name: stats[name] for name in ("identical", "empty", "skipped") if stats[name]}
    notes = ", ".join(f"{count:,} {name}" for name, count in left_out.items())
    lines = [f"read: {counted(stats['items'], item)}{where}{f' ({notes})' if notes else ''}"]
    if "shingles" in stats:
        lines[0] += f", {counted(stats['shingles'], 'element' if item == 'set' else 'shingle')}"
    lines.append(f"found: {_found(result, item)}")
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


def _found(result: "Pairs | Clusters | Dedup", item: str) -> str:
    from lookalike.results import Clusters, Pairs

    stats = result.stats
    if isinstance(result, Pairs):
        return f"{counted(len(result), 'pair')}, all verified, among {counted(stats['candidates'], 'candidate')}"
    if isinstance(result, Clusters):
        return f"{counted(len(result), 'cluster')} of {counted(len(result.to_arrow()), item)}"
    if not stats["dropped"]:
        return "nothing to drop"
    return f"{counted(stats['dropped'], item)} to drop, each similar to one of the {stats['kept']:,} kept"


def time_line(seconds: dict[str, float]) -> str:
    """Return what each stage took, except for those that took next to nothing."""
    times = [f"{name} {taken:.2f} s" for name, taken in seconds.items() if taken >= 0.005]
    return f"time: {', '.join(times) or 'next to none'}"


def none_there(item: str, inputs: Iterable[str]) -> str:
    """Return the note on inputs without items."""
    return f"note: no {item}s in {', '.join('standard input' if one == '-' else one for one in inputs)}"


def crowded_note(count: int, item: str) -> str:
    """Return the note on items that share a bucket of an index with very many."""
    return f"note: {counted(count, item)} in buckets too full to be looked at as a whole"


def next_step(report: str | None) -> str:
    """Return what to do with a result."""
    if report is None:
        return "next: the same with --report report.html shows what was found, side by side, in a browser"
    return f"next: open {report} in a browser"
