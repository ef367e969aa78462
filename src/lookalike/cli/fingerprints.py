"""`lookalike fingerprints`: enroll prints in a file, identify others by it, and find two of one finger."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli.app import command, group
from lookalike.cli.options import OutputOptions, RunOptions, option
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
    "Enroll fingerprints, and find whom others are of.",
    "lookalike fingerprints enroll people.parquet scans/*_1.iso",
    "lookalike fingerprints identify people.parquet from-the-gun.iso",
)

DatabasePath = Annotated[str, typer.Argument(metavar="DATABASE", help="The .parquet file of the enrolled prints.")]
PrintFiles = Annotated[
    list[str], typer.Argument(metavar="PRINTS", help="Templates (.iso, .fmr, .xyt), tables, folders or globs.")
]
LeastSimilarity = Annotated[float, option("--threshold", "-t", help="The least similarity of a match.")]


@dataclass(frozen=True)
class PrintOptions:
    """How prints are read."""

    id: Annotated[str | None, option(help="The column of a table that tells whose minutia it is.")] = None
    format: Annotated[str | None, option(help="iso, xyt, csv, tsv, jsonl, parquet or arrow.")] = None
    dpi: Annotated[float, option(help="Pixels to the inch of .xyt files and tables, which do not tell.")] = 500.0
    on_error: Annotated[str, option(help="What to do with files that cannot be read: fail, or skip them.")] = "fail"


@dataclass(frozen=True)
class CandidateOptions:
    """Which prints are compared."""

    method: Annotated[str, option(help="Which prints are compared: by corners or grid, or all.")] = "corners"
    groups: Annotated[int, option(help="By grid: groups of 1024 functions to agree.")] = 1


@command("lookalike fingerprints enroll people.parquet scans/*_1.iso", of=fingerprints)
def enroll(
    database: DatabasePath,
    inputs: PrintFiles,
    *,
    reading: PrintOptions,
    seed: Annotated[int | None, option(help="Of a new database: other seeds, other hash functions.")] = None,
    running: RunOptions,
) -> None:
    """Add fingerprints to a database, which is made if there is none."""
    from lookalike.fingerprints.database import alone, check_place

    run = TerminalRun(**vars(running))
    check_place(database)
    prints = read(inputs, reading, run)
    with alone(database):
        new = open_or_new(database, seed).enroll(prints)
        with run.stage("write"):
            new.save(database)
    run.say(f"enrolled: {counts(prints)}")
    run.say(f"{database}: {counted(len(new.prints), 'print')} in all")


@command(
    "lookalike fingerprints identify people.parquet from-the-gun.iso",
    "lookalike fingerprints identify people.parquet scans/ --top 3 --threshold 0.25 -o whose.csv",
    of=fingerprints,
)
def identify(
    database: DatabasePath,
    inputs: PrintFiles,
    *,
    output: OutputOptions,
    threshold: LeastSimilarity = 0.35,
    top: Annotated[int | None, option(metavar="K", help="The K most similar of each.")] = None,
    candidates: CandidateOptions,
    reading: PrintOptions,
    running: RunOptions,
) -> None:
    """Find whom fingerprints are of, among the enrolled."""
    from lookalike.fingerprints.database import Database

    run = TerminalRun(**vars(running))
    check_outputs(output, [database, *inputs])
    enrolled = Database.open(database)
    queries = read(inputs, reading, run)
    found = enrolled.identify(queries, threshold=threshold, top=top, run=run, **vars(candidates))
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
    """Find the prints of a database, or of files, that are of one finger."""
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
    line = f"found: {counted(len(found), 'pair')} of one finger"
    finish(found, output, line, {"threshold": f"{threshold:g}", "method": candidates.method}, run)


def read(inputs: list[str], reading: PrintOptions, run: TerminalRun) -> "Prints":
    """Return the prints of the inputs."""
    from lookalike.fingerprints.print_files import read_prints

    return read_prints(inputs, run=run, **vars(reading))


def open_or_new(database: str, seed: int | None) -> "Database":
    """Return the database, or a new one if there is none."""
    from lookalike.fingerprints.database import Database
    from lookalike.fingerprints.prints import Prints

    if not Path(database).exists():
        return Database(Prints.of([]), 1 if seed is None else seed)
    old = Database.open(database)
    if seed is not None and seed != old.seed:
        raise DataError(f"{database}: was made with seed {old.seed}; leave --seed out, or enroll in a new one.")
    return old


def finish(found: "Pairs", output: OutputOptions, line: str, settings: dict[str, str], run: TerminalRun) -> None:
    """Write the pairs, and say how much of all was compared."""
    from lookalike import __version__
    from lookalike.io.write import write_tables

    with run.stage("write"):
        write_tables([found.to_arrow()], output.out, {"version": __version__, **settings})
    write_page(found, output.report, run)
    compared, of = found.stats["compared"], found.stats["pairs"]
    run.say(line)
    run.say(f"compared: {compared:,} of {counted(of, 'pair')}, {compared / max(1, of):.1%}")
    run.say(time_line(run.seconds))
    run.hint(next_step(output.report))


def counts(prints: "Prints") -> str:
    """Return how many prints and minutiae there are, and what is odd about them."""
    notes = {"files skipped": prints.skipped, "without minutiae, which match nothing": int((prints.sizes == 0).sum())}
    shown = ", ".join(f"{count:,} {what}" for what, count in notes.items() if count)
    found = f"{counted(len(prints), 'print')}, {counted(len(prints.minutiae), 'minutia', 'e')}"
    return f"{found} ({shown})" if shown else found
