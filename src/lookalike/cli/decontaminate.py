"""The command `lookalike decontaminate`: remove test items that leaked into a corpus."""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lookalike import __version__
from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import flag, option, threshold_option
from lookalike.cli.outputs import (
    check_outputs,
    check_page,
    copies_lines,
    needs_strings,
    write_page,
    writing_batches,
)
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record
from lookalike.cli.summary import bad_files_note, no_items_note, time_line
from lookalike.core.errors import UsageError
from lookalike.core.process import peak_memory
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.io.documents import Source
    from lookalike.leaks import Leaks

TESTS = "Tests"  # the title of a panel in the help


@dataclass(frozen=True)
class TestOptions:
    """Where the test items are, and what counts as a leak; the names are those of `decontaminate`."""

    question: Annotated[
        str | None,
        option(
            metavar="COLUMN", help="Column of the questions; default: question, problem, prompt or text.", panel=TESTS
        ),
    ] = None
    answer: Annotated[
        str | None,
        option(
            metavar="COLUMN", help="Column of the answers; leaks then show whether the answer follows.", panel=TESTS
        ),
    ] = None
    threshold: Annotated[
        str, threshold_option("Least share of the three-word shingles of an item that counts as a leak.")
    ] = "0.5"
    least: Annotated[
        int, option(metavar="N", help="Least number of these shingles; an item that has fewer must occur whole.")
    ] = 5
    longest: Annotated[int | None, option(metavar="N", help="Count N words of an item in a row as a leak, too.")] = None
    places: Annotated[
        int, option(metavar="N", help="List at most N places of each test item, the first ones; all are counted.")
    ] = 10_000


@dataclass(frozen=True)
class LeakFiles:
    """Where to write what was found."""

    leaks: Annotated[
        str | None, option(metavar="FILE", help="Also write the leaks: document, test item, and where it is.")
    ] = None
    items: Annotated[
        str | None,
        option(metavar="FILE", help="Also write the test items that leaked, with their numbers of documents."),
    ] = None


@command(
    "lookalike decontaminate corpus.jsonl.gz --tests gsm8k.jsonl --tests mmlu/ -o clean.jsonl --leaks leaks.csv",
    "lookalike decontaminate pages.parquet --tests exam.csv --question task --answer solution --cut -o clean.parquet",
)
def decontaminate(
    inputs: opt.Inputs,
    *,
    tests: Annotated[
        list[str], option(metavar="FILE", help="Test items: a file, folder or glob; can be given several times.")
    ],
    testing: TestOptions,
    cut: Annotated[
        bool, flag("--cut", help="Cut test items from documents, instead of dropping the documents.")
    ] = False,
    files: LeakFiles,
    output: opt.OutputOptions,
    columns: opt.Columns = None,
    reading: opt.ReadingOptions,
    running: opt.RunOptions,
    recording: opt.RecordOptions,
) -> None:
    """Remove documents that contain test items, or cut these from them; write the rest."""
    from lookalike.cli.documents import open_documents
    from lookalike.cli.rows import check_written
    from lookalike.io.write import writing
    from lookalike.leaks import decontaminate

    check_files(inputs, tests, output, files)
    run = TerminalRun(**vars(running))
    source = open_documents(inputs, reading, run, columns)
    check_written(source, output.out)
    if cut:
        text_column(source)
    found = decontaminate(source, [Path(path) for path in tests], **vars(testing), run=run)
    with run.stage("write", len(found.keep)) as tick, ExitStack() as outputs:
        outputs.enter_context(writing_rest(source, found, output, cut, run, tick))
        for table, path in ((found.to_arrow, files.leaks), (lambda: found.items, files.items)):
            if path is not None:
                outputs.enter_context(writing([table()], path, {"version": __version__}, output.excel_safe, run))
    write_page(found, output.report, run)
    for line in summary(found, source, inputs, cut, run):
        run.say(line)


def check_files(inputs: list[str], tests: list[str], output: opt.OutputOptions, files: LeakFiles) -> None:
    """Raise an error early for outputs that cannot be written, are inputs, or are the same file."""
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output

    others = [path for path in vars(files).values() if path is not None]
    check_outputs(output, [*inputs, *tests], *others)
    check_page(output.report, *others)
    check_apart(others, [*inputs, *tests])
    for path in others:
        check_output(path)
    every = [path if path == "-" else str(Path(path).absolute()) for path in [output.out, *others]]
    if len(set(every)) < len(every):
        named = " and ".join(repr(path) for path in [output.out, *others])
        hint = " Only one can go to standard output (-), which is the default of --out." if every.count("-") > 1 else ""
        raise UsageError(f"--out, --leaks and --items must be different files; got {named}.{hint}")


def text_column(source: "Source") -> str:
    """Return the column to cut from; raise an error if there is not exactly one."""
    names = source.text_columns() or ["text"]
    if source.html:
        raise UsageError("--cut is for texts, not for web pages; leave it out to drop the pages.")
    if len(names) > 1:
        raise UsageError(f"--cut needs one column of texts; the inputs have {', '.join(names)}. Name it with --text.")
    return names[0]


def writing_rest(
    source: "Source", found: "Leaks", output: opt.OutputOptions, cut: bool, run: TerminalRun, tick: Any
) -> AbstractContextManager[None]:
    """Write the documents without leaks, or with `cut` all documents without their leaks."""
    import numpy as np

    from lookalike.cli.rows import with_keep
    from lookalike.leaks.cutting import cut_lines, cut_tables

    lines = copies_lines(source, output.out)
    batches: Any = source.lines(run) if lines else source.tables(needs_strings(output.out), run)
    keep = found.keep
    if cut:
        batches = (cut_lines if lines else cut_tables)(batches, text_column(source), found)
        keep = np.ones_like(keep)
    return writing_batches(with_keep(batches, keep, tick), output, {"version": __version__}, lines, run)


def summary(found: "Leaks", source: "Source", inputs: list[str], cut: bool, run: TerminalRun) -> list[str]:
    """Return lines on what was read and found, file by file, and the time."""
    documents = len(found.keep)
    skipped = f" ({source.skipped:,} skipped)" if source.skipped else ""
    lines = [f"read: {counted(documents, 'document')}{skipped}", *bad_files_note(source.bad_files)]
    if not documents:
        lines.append(no_items_note("document", inputs))
    lines += files_table(found)
    leaking = int(documents - found.keep.sum())
    done = "cut from" if cut else "dropped"
    rest = f"{counted(leaking, 'document')} {done}, {documents - leaking:,} unchanged"
    places = int(found.counts.places.sum())
    listed = f" ({len(found):,} listed, at most {found.stats['places']:,} of an item)" if len(found) < places else ""
    lines.append(f"found: {counted(places, 'leak')}{listed}; {rest}")
    record(
        counts={"items": documents, "skipped": source.skipped, "leaks": places, "leaking": leaking},
        recall={"expected": 1.0},
        tests=found.files.to_pylist(),
    )
    return [*lines, f"{time_line(run)}; peak memory {peak_memory() / 2**20:,.0f} MB"]


def files_table(found: "Leaks") -> list[str]:
    """Return the counts of each test file, in columns."""
    files = found.files.to_pylist()
    names = ["rows", "items", "leaked", "documents"]
    rows = [["test file", *names], *([file["file"], *(f"{file[name]:,}" for name in names)] for file in files)]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(wide) for cell, wide in zip(row[1:], others, strict=True))])
        for row in rows
    ]
