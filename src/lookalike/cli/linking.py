"""Run `lookalike resolve --to-index INDEX` and `--against INDEX`: link new records to known clusters."""

from pathlib import Path

from lookalike import __version__
from lookalike.cli.app import GivenOptions
from lookalike.cli.options import RunOptions, TableOptions
from lookalike.cli.outputs import check_excel_safe, check_page, write_page
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import bad_files_note, time_line
from lookalike.core.errors import UsageError
from lookalike.core.wording import counted
from lookalike.entities.resolution import Resolution
from lookalike.index.store import check_new
from lookalike.io.inputs import check_apart
from lookalike.io.records import RecordSource
from lookalike.io.write import check_output, write_tables
from lookalike.linking import LinkedRecords, RecordIndex

WITHOUT_INDEX = ("max_lag", "one_to_one")  # options that an index of records cannot be built with
SETTLED = (
    "field", "validate", "max_lag", "labels", "model", "precision", "one_to_one", "show", "clusters", "golden",
    "golden_by", "table", "save_model", "plot", "threshold", "nearest", "seed", "to_index", "memory", "workdir",
)  # options that do not apply to records that are linked  # fmt: skip


def check_to_index(path: str, right: str | None, given: GivenOptions) -> None:
    """Raise an error early for an index that cannot be built."""
    given.refuse(WITHOUT_INDEX, "--to-index")
    if right is not None:
        raise UsageError("--to-index needs one table; got two. Put them into one first.")
    check_new(Path(path))


def build_index(path: str, found: Resolution, run: TerminalRun) -> None:
    """Build an index of the records that were resolved."""
    with RecordIndex.build(path, found, run=run) as made:
        run.say(f"index: {counted(len(made), 'record')} in {path}")
    run.hint(f"next: lookalike resolve NEW --against {path} --update -o linked.csv")


def resolve_against(
    path: str, inputs: list[str | None], update: bool, out: str, id: str | None, report: str | None, excel_safe: bool,
    reading: TableOptions, running: RunOptions, every: bool, given: GivenOptions,
) -> None:  # fmt: skip
    """Write the cluster of each new record; with `update`, add the records to the index first.

    If the output cannot be written then, the same command again writes it.
    """
    given.refuse(SETTLED, "--against: the index has its settings")
    if every:
        raise UsageError("--all cannot be used with --against: the index has its settings.")
    left, right = inputs
    if right is not None:
        raise UsageError("--against needs one table of new records; got two.")
    check_output(out)
    check_page(report)
    check_excel_safe(excel_safe, out)
    check_apart([one for one in (out, report) if one is not None and one != "-"], [left])
    run = TerminalRun(**vars(running))
    source = RecordSource(left, **vars(reading))
    with RecordIndex.open(path, read_only=not update) as index:
        linked = index.link(source.read(run), id=id, update=update, run=run)
        settings = {"version": __version__, "index": Path(path).name}
        with run.stage("write"):
            write_tables([linked.to_arrow()], out, settings, excel_safe, run)
        write_page(linked, report, run)
        print_summary(linked, source, len(index), run)


def print_summary(linked: LinkedRecords, source: RecordSource, records: int, run: TerminalRun) -> None:
    """Print what was linked."""
    if source.skipped:
        run.say(f"read: {counted(source.skipped, 'bad row')} skipped")
    for note in bad_files_note(source.bad_files):
        run.say(note)
    if linked.repeated:
        run.say("note: an earlier run added these same records; the output is the same as then")
    for line in linked.lines():
        run.say(line)
    changed = linked.updated and not linked.repeated
    run.say(f"index: {counted(records, 'record')}{'' if changed else ', unchanged'}")
    run.say(time_line(run))
