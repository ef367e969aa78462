"""Print what commands report at the end: what was read and found, notes, time and memory."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lookalike.cli.progress import TerminalRun
from lookalike.core.process import peak_memory
from lookalike.core.wording import counted, verified

if TYPE_CHECKING:
    from lookalike.results import Clusters, Dedup, Pairs
    from lookalike.search.plan import Plan


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
    """Print the summary of a result, then notes and the next step; see `summary` for the rest."""
    for line in summary(result, run, item, skipped, where):
        run.say(line)
    if not result.stats["items"]:
        run.say(no_items_note(item, inputs))
    for note in notes:
        run.say(note)
    run.hint(next_step(report))


def summary(
    result: "Pairs | Clusters | Dedup", run: TerminalRun, item: str = "document", skipped: int = 0, where: str = ""
) -> list[str]:
    """Return lines on what was read (and `where`) and found, the recall and the cost."""
    stats = {**result.stats, "skipped": result.stats["skipped"] + skipped}
    left_out = {name: stats[name] for name in ("identical", "empty", "skipped") if stats[name]}
    notes = ", ".join(f"{count:,} {name}" for name, count in left_out.items())
    lines = [f"read: {counted(stats['items'], item)}{where}{f' ({notes})' if notes else ''}"]
    if "shingles" in stats:
        lines[0] += f", {counted(stats['shingles'], 'element' if item == 'set' else 'shingle')}"
    lines.append(f"found: {_found(result, item)}")
    if result.plan is not None and not stats["crowded"]:
        lines[-1] += f"; {expected_recall(result.plan, stats.get('bounded', True))}"
    if stats["crowded"]:
        lines.append(crowded_note(stats["crowded"], item))
    if result.audit is not None:
        lines.append(result.audit.line())
    lines.append(f"{time_line(run)}; peak memory {peak_memory() / 2**20:,.0f} MB")
    return lines


def _found(result: "Pairs | Clusters | Dedup", item: str) -> str:
    from lookalike.results import Clusters, Pairs

    stats = result.stats
    if isinstance(result, Pairs):
        once = f" (identical {item}s only once)" if stats["identical"] else ""
        compared = f"{counted(stats['candidates'], 'candidate pair')} compared{once}"
        pairs = counted(len(result), "neighbour" if "nearest" in stats else "similar pair")
        return f"{pairs}{verified(len(result))}; {compared}"
    if isinstance(result, Clusters):
        return f"{counted(len(result), 'cluster')} of {counted(int((result.sizes > 1).sum()), item)}"
    if not stats["dropped"]:
        return "nothing to remove"
    if result.drop_all:
        return f"{counted(stats['dropped'], item)} to remove, each similar to another one; {stats['kept']:,} kept"
    earlier = "" if result.earlier is None else " or to an earlier one"
    return f"{counted(stats['dropped'], item)} to remove, each similar to one of the {stats['kept']:,} kept{earlier}"


def expected_recall(plan: "Plan", bounded: bool) -> str:
    """Return the expected recall at the threshold, or where the search for neighbours ends."""
    if bounded:
        return f"expected recall at the threshold {plan.recall:.4f}"
    if plan.exact:
        return "expected recall 1.0000"
    return f"expected recall at {plan.measure} {float(plan.threshold):g}: {plan.recall:.4f}"


def time_line(run: TerminalRun) -> str:
    """Return how long each stage took, without those that took almost no time, and all of it.

    The time begins with the process, and includes what happened before the first stage.
    """
    total = run.waited()
    times = {**run.seconds, "other": total - sum(run.seconds.values())}
    shown = [f"{name} {taken:.2f} s" for name, taken in times.items() if taken >= 0.005]
    return f"time: {', '.join([*shown, f'in all {total:.2f} s'])}"


def no_items_note(item: str, inputs: Iterable[str]) -> str:
    """Return the note on inputs without items."""
    return f"note: no {item}s in {', '.join('standard input' if one == '-' else one for one in inputs)}"


def bad_files_note(names: Sequence[str]) -> list[str]:
    """Return the note on files that were skipped because they are damaged, if there are any."""
    return [f"note: skipped {counted(len(names), 'damaged file')}: {', '.join(names)}"] if names else []


def crowded_note(count: int, item: str) -> str:
    """Return the note on items in buckets too full to compare each with all of its bucket."""
    where = "in very full buckets, each compared with only part of its bucket"
    return f"note: {counted(count, item)} {where}; recall can be lower there"


def next_step(report: str | None) -> str:
    """Return the suggestion of what to do next with a result."""
    if report is None:
        return "next: add --report report.html to see the result side by side in a browser"
    return f"next: open {report} in a browser"
