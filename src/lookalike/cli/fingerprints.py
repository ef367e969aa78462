"""`lookalike fingerprints`: enroll prints in a file, identify others by it, and find two of one finger."""

from pathlib import Path
from typing import Any

from lookalike import __version__
from lookalike.cli.job import check_page, write_page
from lookalike.cli.progress import TerminalRun, next_step, time_line
from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.fingerprints.database import Database, alone, check_place
from lookalike.fingerprints.print_files import is_enrolled, read_prints
from lookalike.fingerprints.prints import Prints
from lookalike.io.inputs import check_apart
from lookalike.io.write import check_output, write_tables
from lookalike.results import Pairs


def enroll(database: str, inputs: list[str], given: dict[str, Any]) -> None:
    """Add the prints of the inputs to the database, which is made if there is none."""
    run = TerminalRun(given["threads"], given["quiet"])
    check_place(database)
    prints = _read(inputs, given, run)
    with alone(database):
        new = _opened(database, given["seed"]).enroll(prints)
        with run.stage("write"):
            new.save(database)
    run.say(f"enrolled: {_counts(prints)}")
    run.say(f"{database}: {counted(len(new.prints), 'print')} in all")


def _opened(database: str, seed: int | None) -> Database:
    """The database, or a new one if there is none."""
    if not Path(database).exists():
        return Database(Prints.of([]), 1 if seed is None else seed)
    old = Database.open(database)
    if seed is not None and seed != old.seed:
        raise DataError(f"{database}: was made with seed {old.seed}; leave --seed out, or enroll in a new one.")
    return old


def identify(database: str, inputs: list[str], given: dict[str, Any]) -> None:
    """Write whom the prints of the inputs are of."""
    run = TerminalRun(given["threads"], given["quiet"])
    check_output(given["out"])
    check_page(given["report"], given["out"])
    check_apart([given["out"], given["report"]], [database, *inputs])
    enrolled = Database.open(database)
    queries = _read(inputs, given, run)
    options = {name: given[name] for name in ("threshold", "top", "method", "groups")}
    found = enrolled.identify(queries, run=run, **options)
    run.say(f"read: {_counts(queries)}")
    known = len(set(found.left.tolist()))
    _finish(found, given, f"found: {counted(known, 'print')} identified, {len(queries) - known:,} not", run)


def pairs(inputs: list[str], given: dict[str, Any]) -> None:
    """Write which of the enrolled prints, or of those of the inputs, are of one finger."""
    run = TerminalRun(given["threads"], given["quiet"])
    check_output(given["out"])
    check_page(given["report"], given["out"])
    check_apart([given["out"], given["report"]], inputs)
    if len(inputs) == 1 and is_enrolled(Path(inputs[0])):
        enrolled = Database.open(inputs[0])
    else:
        enrolled = Database(Prints.of([])).enroll(_read(inputs, given, run))
    options = {name: given[name] for name in ("threshold", "method", "groups")}
    found = enrolled.pairs(run=run, **options)
    run.say(f"read: {_counts(enrolled.prints)}")
    _finish(found, given, f"found: {counted(len(found), 'pair')} of one finger", run)


def _read(inputs: list[str], given: dict[str, Any], run: TerminalRun) -> Prints:
    options = {name: given[name] for name in ("id", "format", "dpi", "on_error")}
    return read_prints(inputs, run=run, **options)


def _finish(found: Pairs, given: dict[str, Any], line: str, run: TerminalRun) -> None:
    """Write the pairs, and say how much of all was compared."""
    settings = {"version": __version__, "threshold": f"{given['threshold']:g}", "method": given["method"]}
    with run.stage("write"):
        write_tables([found.to_arrow()], given["out"], settings)
    write_page(found, given["report"], run)
    compared, of = found.stats["compared"], found.stats["pairs"]
    run.say(line)
    run.say(f"compared: {compared:,} of {counted(of, 'pair')}, {compared / max(1, of):.1%}")
    run.say(time_line(run.seconds))
    run.hint(next_step(given["report"]))


def _counts(prints: Prints) -> str:
    notes = {"files skipped": prints.skipped, "without minutiae, which match nothing": int((prints.sizes == 0).sum())}
    shown = ", ".join(f"{count:,} {what}" for what, count in notes.items() if count)
    counts = f"{counted(len(prints), 'print')}, {counted(len(prints.minutiae), 'minutia', 'e')}"
    return f"{counts} ({shown})" if shown else counts
