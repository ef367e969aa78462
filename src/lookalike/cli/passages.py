"""The command `lookalike passages`: passages that occur more than once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import option
from lookalike.cli.outputs import check_outputs, write_page
from lookalike.cli.progress import TerminalRun
from lookalike.cli.workdir import working_in

if TYPE_CHECKING:
    from lookalike.passages import Passages


@dataclass(frozen=True)
class PassageOptions:
    """What a passage is."""

    length: Annotated[int, option("--length", "-n", metavar="N", help="Units in the shortest passage.")] = 50
    unit: Annotated[str, option(help="Unit of the length: word or char.", offer=("word", "char"))] = "word"
    gap: Annotated[
        int, option(metavar="G", help="Join passages that at most G units interrupt, as small edits do.")
    ] = 0
    case: Annotated[
        str, option(help="Capital and small letters: ignore the difference, or keep it.", offer=("ignore", "keep"))
    ] = "ignore"
    punctuation: Annotated[
        str, option(help="Punctuation between words: drop (ignore it) or keep.", offer=("drop", "keep"))
    ] = "drop"


@command(
    "lookalike passages corpus.parquet -n 50 -o passages.parquet --report report.html",
    "lookalike passages books/ -n 200 --unit char -o passages.csv",
    "lookalike passages essays/ --among sources/ -n 8 --gap 2 -o quotations.csv",
    "lookalike passages huge.jsonl.zst --memory 2GB -o passages.jsonl",
)
def passages(
    inputs: opt.Inputs,
    *,
    passage: PassageOptions,
    among: Annotated[
        str | None,
        option(metavar="SOURCES", help="Find the passages of INPUT that are in this second collection instead."),
    ] = None,
    reading: opt.ReadingOptions,
    output: opt.OutputOptions,
    running: opt.RunOptions,
    work: opt.WorkOptions,
) -> None:
    """List all passages that occur twice or more, within documents or between them."""
    from lookalike.cli.documents import open_documents
    from lookalike.io.write import write_tables
    from lookalike.passages import find_passages
    from lookalike.results.files import tables_of

    check_outputs(output, [*inputs, *([] if among is None else [among])])
    run = TerminalRun(**vars(running))
    with working_in(work, output.out, run) as room:
        first, *others = [open_documents(one, reading, run) for one in (*([] if among is None else [[among]]), inputs)]
        found = find_passages(first, others[0] if others else None, run=run, **vars(passage), **room)
        with run.stage("write"):
            write_tables(tables_of(found, run), output.out, {"passages": str(found)}, output.excel_safe, run)
        write_page(found, output.report, run)
    _summarize(found, run, inputs, output.report)


def _summarize(found: "Passages", run: TerminalRun, inputs: list[str], report: str | None) -> None:
    """Print what was read and found, and the cost."""
    from lookalike.cli.summary import next_step, no_items_note, time_line
    from lookalike.core.process import peak_memory
    from lookalike.core.wording import counted, verified

    stats = found.stats
    notes = ", ".join(f"{stats[name]:,} {name}" for name in ("empty", "skipped") if stats[name])
    read = f"read: {counted(stats['items'], 'document')}" + (f" ({notes})" if notes else "")
    run.say(f"{read}, {counted(stats['units'], found.unit)}")
    run.say(f"found: {counted(len(found), 'passage')}{verified(len(found))}; none is missed")
    run.say(f"{time_line(run)}; peak memory {peak_memory() / 2**20:,.0f} MB")
    if not stats["items"]:
        run.say(no_items_note("document", inputs))
    elif stats["short"] == stats["items"]:
        least = counted(found.corpus.cutter.length, found.unit)
        run.say(f"note: no document has {least}; choose a smaller --length")
    run.hint(next_step(report))
