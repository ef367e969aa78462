"""The commands of `lookalike fingerprints`: enroll, identify and pair prints."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli.app import command, group
from lookalike.cli.options import OutputOptions, RunOptions, option, threshold_option
from lookalike.cli.outputs import check_outputs, write_page
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import next_step, time_line
from lookalike.core.errors import DataError
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.fingerprints.database import Database
    from lookalike.fingerprints.prints import Prints
    from lookalike.results import Pairs

fingerprints = group(
    "fingerprints",
    "Enroll fingerprints and identify unknown prints.",
    "lookalike fingerprints enroll people.parquet scans/*_1.iso",
    "lookalike fingerprints identify people.parquet from-the-gun.iso",
)

DatabasePath = Annotated[str, typer.Argument(metavar="DATABASE", help="The .parquet file of enrolled prints.")]
PrintFiles = Annotated[
    list[str], typer.Argument(metavar="PRINTS", help="Templates (.iso, .fmr, .xyt), tables, folders or globs.")
]
LeastSimilarity = Annotated[float, threshold_option("Minimum similarity of a match.")]


@dataclass(frozen=True)
class PrintOptions:
    """How to read prints."""

    id: Annotated[str | None, option(metavar="COLUMN", help="Column of a table that holds the id of the print.")] = None
    format: Annotated[
        str | None, option(metavar="NAME", help="Format: iso, xyt, csv, tsv, jsonl, parquet, arrow, excel or database.")
    ] = None
    dpi: Annotated[float, option(help="Pixels per inch of .xyt files and tables, which do not record it.")] = 500.0
    on_error: Annotated[
        str, option(metavar="NAME", help="What to do with unreadable files: fail, or skip and count them.")
    ] = "fail"


@dataclass(frozen=True)
class CandidateOptions:
    """Which prints to compare."""

    method: Annotated[
        str,
        option(
            metavar="NAME",
            help="Prints to compare: corners (with many patterns of three minutiae in common), grid (with minutiae in "
            "the same squares of a grid) or all.",
        ),
    ] = "corners"
    groups: Annotated[
        int,
        option(
            metavar="N",
            help="With --method grid: compare prints that share a bucket in each of N groups of 1024 hash functions.",
        ),
    ] = 1


@command("lookalike fingerprints enroll people.parquet scans/*_1.iso", of=fingerprints)
def enroll(
    database: DatabasePath,
    inputs: PrintFiles,
    *,
    reading: PrintOptions,
    seed: Annotated[int | None, option(metavar="N", help="Seed of the hash functions of a new database.")] = None,
    running: RunOptions,
) -> None:
    """Add fingerprints to a database; create it if it does not exist."""
    from lookalike.fingerprints.database import alone, check_place

    run = TerminalRun(**vars(running))
    check_place(database)
    prints = read(inputs, reading, run)
    with alone(database):
        new = open_or_new(database, seed).enroll(prints)
        with run.stage("write"):
            new.save(database)
    run.say(f"enrolled: {counts(prints)}")
    run.say(f"{database}: {counted(len(new.prints), 'print')} in total")


@command(
    "lookalike fingerprints identify people.parquet from-the-gun.iso",
    "lookalike fingerprints identify people.parquet scans/ -k 3 --threshold 0.25 -o whose.csv",
    of=fingerprints,
)
def identify(
    database: DatabasePath,
    inputs: PrintFiles,
    *,
    output: OutputOptions,
    threshold: LeastSimilarity = 0.35,
    k: Annotated[
        int | None, option("-k", "--top", metavar="K", help="For each print, list at most the K most similar prints.")
    ] = None,
    candidates: CandidateOptions,
    reading: PrintOptions,
    running: RunOptions,
) -> None:
    """Identify fingerprints: find the enrolled prints that match them."""
    from lookalike.fingerprints.database import Database

    run = TerminalRun(**vars(running))
    check_outputs(output, [database, *inputs])
    enrolled = Database.open(database)
    queries = read(inputs, reading, run)
    found = enrolled.identify(queries, threshold=threshold, k=k, run=run, **vars(candidates))
    run.say(f"read: {counts(queries)}")
    known = len(set(found.left.tolist()))
    line = f"found: {counted(known, 'print')} identified, {len(queries) - known:,} not"
    finish(found, output, line, {"threshold": f"{threshold:g}", "method": candidates.method}, run)


@command(
    "lookalike fingerprints pairs people.parquet -o twice.csv",
    "lookalike fingerprints pairs scans/",
    of=fingerprints,
)
def pairs(
    inputs: Annotated[
        list[str], typer.Argument(metavar="PRINTS", help="A database, or templates, tables, folders or globs.")
    ],
    *,
    output: OutputOptions,
    threshold: LeastSimilarity = 0.35,
    candidates: CandidateOptions,
    reading: PrintOptions,
    running: RunOptions,
) -> None:
    """Find pairs of prints of the same finger, in a database or in files."""
    from lookalike.fingerprints.database import Database
    from lookalike.fingerprints.print_files import is_enrolled
    from lookalike.fingerprints.prints import Prints

    run = TerminalRun(**vars(running))
    check_outputs(output, inputs)
    if len(inputs) == 1 and is_enrolled(Path(inputs[0])):
        enrolled = Database.open(inputs[0])
    else:
        enrolled = Database(Prints.of([])).enroll(read(inputs, reading, run))
    found = enrolled.pairs(threshold=threshold, run=run, **vars(candidates))
    run.say(f"read: {counts(enrolled.prints)}")
    line = f"found: {counted(len(found), 'pair')} of the same finger"
    finish(found, output, line, {"threshold": f"{threshold:g}", "method": candidates.method}, run)


def read(inputs: list[str], reading: PrintOptions, run: TerminalRun) -> "Prints":
    """Return the prints of the inputs."""
    from lookalike.fingerprints.print_files import read_prints

    return read_prints(inputs, run=run, **vars(reading))


def open_or_new(database: str, seed: int | None) -> "Database":
    """Open the database, or create one if it does not exist."""
    from lookalike.fingerprints.database import Database
    from lookalike.fingerprints.prints import Prints

    if not Path(database).exists():
        return Database(Prints.of([]), 1 if seed is None else seed)
    old = Database.open(database)
    if seed is not None and seed != old.seed:
        raise DataError(f"{database}: has seed {old.seed}, got --seed {seed}; omit --seed or use a new database.")
    return old


def finish(found: "Pairs", output: OutputOptions, line: str, settings: dict[str, str], run: TerminalRun) -> None:
    """Write the pairs, and print how many of all pairs were compared."""
    from lookalike import __version__
    from lookalike.io.write import write_tables
    from lookalike.results.files import tables_of

    with run.stage("write"):
        write_tables(tables_of(found, run), output.out, {"version": __version__, **settings}, output.excel_safe, run)
    write_page(found, output.report, run)
    compared, of = found.stats["compared"], found.stats["pairs"]
    run.say(line)
    run.say(f"compared: {compared:,} of {counted(of, 'pair')}, {compared / max(1, of):.1%}")
    run.say(time_line(run))
    run.hint(next_step(output.report))


def counts(prints: "Prints") -> str:
    """Return the number of prints and minutiae, and of files skipped and empty prints."""
    empty = int((prints.sizes == 0).sum())
    skipped = [f"{counted(prints.skipped, 'file')} skipped"] if prints.skipped else []
    shown = ", ".join([*skipped, *([f"{empty:,} without minutiae, which match nothing"] if empty else [])])
    found = f"{counted(len(prints), 'print')}, {counted(len(prints.minutiae), 'minutia', 'e')}"
    return f"{found} ({shown})" if shown else found
