"""The command `lookalike resolve`: records of the same person or thing, with probabilities."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from lookalike.cli.app import GivenOptions, command
from lookalike.cli.options import (
    ExcelSafe,
    Out,
    RecordWorkOptions,
    Report,
    RunOptions,
    Seed,
    TableOptions,
    flag,
    keywords,
    option,
)
from lookalike.cli.outputs import check_excel_safe, check_page, write_page
from lookalike.cli.plots import check_picture, picture
from lookalike.cli.progress import TerminalRun
from lookalike.cli.summary import bad_files_note, next_step, time_line
from lookalike.cli.workdir import working_in
from lookalike.core.errors import UsageError
from lookalike.core.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from lookalike.entities.golden import Golden
    from lookalike.entities.grouping import RecordClusters
    from lookalike.entities.resolution import Resolution
    from lookalike.entities.validation import Validation
    from lookalike.io.records import RecordSource

MOST_ROWS = 20  # of the printed table of scores


Fields = Annotated[
    list[str] | None,
    option(
        "--field",
        "-f",
        metavar="FIELD",
        help="Field to compare: COLUMN[:COLUMN_OF_B][=KIND][*WEIGHT]; give --field once per field. Kinds: text, "
        "name, address, phone, email, date, number, category; default: inferred. A backslash escapes : = * in a "
        "name. Default: fields are proposed and printed.",
    ),
]


@dataclass(frozen=True)
class BasisOptions:
    """Which record is which, and what the probabilities are based on."""

    id: Annotated[
        str | None,
        option(metavar="COLUMN", help="Column that holds the id, COLUMN[:COLUMN_OF_B]; - uses row numbers."),
    ] = None
    validate: Annotated[
        str | None,
        option(
            metavar="COLUMN",
            help="Column of dates or numbers that is not a --field, to estimate how many matches are true: "
            "COLUMN[:COLUMN_OF_B].",
        ),
    ] = None
    max_lag: Annotated[
        float | None,
        option(
            metavar="NUMBER",
            help="With --validate: keep only pairs where B's value is 0 to NUMBER (days, for dates) after A's; within "
            "one table, where they differ by at most NUMBER. Pairs with a missing value are kept.",
        ),
    ] = None


@dataclass(frozen=True)
class PairingOptions:
    """Which pairs to score."""

    threshold: Annotated[
        float,
        option(
            help="Also score pairs of records that have no field value in common if their texts, cut into pieces of 3 "
            "characters, have at least this Jaccard similarity.",
        ),
    ] = 0.6
    nearest: Annotated[
        int,
        option(
            metavar="N",
            help="Also score each record with its N nearest records in each name, address or text field and by all "
            "fields together; above 100,000 records only by all fields together.",
        ),
    ] = 2


@dataclass(frozen=True)
class DecisionOptions:
    """How to decide which pairs are matches."""

    labels: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Pairs of which someone has said whether they are a match (columns left, right and match: yes, no or "
            "unsure), to correct the probabilities; `lookalike label` writes it.",
        ),
    ] = None
    model: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Use the fields, settings and probabilities that an earlier run wrote with --save-model.",
        ),
    ] = None
    precision: Annotated[
        float | None,
        option(
            metavar="NUMBER",
            help="Write only matches of which at least this share is expected to be true; default: pairs with a "
            "probability of at least 0.5.",
        ),
    ] = None
    one_to_one: Annotated[bool, flag("--one-to-one", help="Use each record in at most one match.")] = False


@dataclass(frozen=True)
class LinkOptions:
    """The index of records to build, or to link new records to."""

    to_index: Annotated[
        str | None,
        option(metavar="INDEX", help="Also build an index of the records and their clusters, for --against."),
    ] = None
    against: Annotated[
        str | None,
        option(
            metavar="INDEX",
            help="Write the cluster of each record of A among the records of this index; ids of clusters stay the "
            "same. Fields and settings are those of the index.",
        ),
    ] = None
    update: Annotated[bool, flag("--update", help="With --against: add the records to the index.")] = False


@dataclass(frozen=True)
class ResolveFiles:
    """Where to write the result and its basis."""

    clusters: Annotated[
        str | None, option(metavar="FILE", help="Also write the clusters of records that the matches join.")
    ] = None
    golden: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Also write the records without duplicates: one golden record per cluster, merged from its records, "
            "and the records in no cluster as they are.",
        ),
    ] = None
    golden_by: Annotated[
        list[str] | None,
        option(
            metavar="COLUMN=RULE",
            help="How --golden chooses the value of a column (* for all others): frequent (the default), complete, "
            "longest, first, newest:COLUMN, oldest:COLUMN, min or max; give it once per column.",
        ),
    ] = None
    table: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Also write what the probabilities are based on: true matches by score, or the model's weights.",
        ),
    ] = None
    save_model: Annotated[
        str | None,
        option(metavar="FILE", help="Also write a model, so that later runs give the same pairs the same probability."),
    ] = None
    plot: Annotated[
        str | None, option(metavar="FILE", help="With --validate: draw the share of true matches by score.")
    ] = None
    report: Report = None
    excel_safe: ExcelSafe = False


@command(
    "lookalike resolve a.csv b.csv --show -o matches.csv",
    "lookalike resolve a.csv b.csv --field name --field address:street --field phone:telephone -o matches.csv",
    "lookalike resolve a.csv b.csv -f name -f phone --validate created --max-lag 90 --precision 0.95 --plot shares.svg",
    "lookalike resolve customers.parquet -f name=name -f born=date -f 'mail=email*2' --clusters people.csv",
    "lookalike resolve a.csv b.csv -f name -f phone --labels labels.csv --precision 0.95 -o matches.csv",
    "lookalike resolve customers.csv -f name -f phone --golden people.csv --golden-by phone=newest:updated",
    "lookalike resolve january.csv crm.csv --save-model customers.json -o matches.csv",
    "lookalike resolve february.csv crm.csv --model customers.json -o matches.csv",
    "lookalike resolve a.parquet b.parquet -f name -f phone --memory 4GB -o matches.parquet",
    "lookalike resolve people.csv --to-index people.index --clusters clusters.csv -o matches.csv",
    "lookalike resolve new.csv --against people.index --update -o linked.csv",
)
def resolve(
    left: Annotated[str, typer.Argument(metavar="A", help="Table of records.")],
    right: Annotated[str | None, typer.Argument(metavar="B", help="Second table; default: match within A.")] = None,
    *,
    field: Fields = None,
    out: Out = "-",
    basis: BasisOptions,
    deciding: DecisionOptions,
    linking: LinkOptions,
    every: Annotated[bool, flag("--all", help="Write all scored pairs, not only the matches.")] = False,
    show: Annotated[
        bool, flag("--show", help="Add the columns of both records to each pair: left_COLUMN, right_COLUMN.")
    ] = False,
    files: ResolveFiles,
    candidates: PairingOptions,
    reading: TableOptions,
    seed: Seed = 1,
    work: RecordWorkOptions,
    running: RunOptions,
    given: GivenOptions,
) -> None:
    """Find records of the same person or thing in two tables or one, with probabilities."""
    from lookalike import entities
    from lookalike.entities.golden import parse_rules
    from lookalike.io.records import RecordSource

    if linking.against is not None:
        from lookalike.cli.linking import resolve_against

        resolve_against(
            linking.against, [left, right], linking.update, out, basis.id, files.report, files.excel_safe, reading,
            running, every, given,
        )  # fmt: skip
        return
    if linking.update:
        raise UsageError("--update needs an index: name it with --against.")
    if linking.to_index is not None:
        from lookalike.cli.linking import check_to_index

        check_to_index(linking.to_index, right, given)
    check_files(out, files, [left, right, deciding.labels, deciding.model], basis.validate)
    check_fields(field or [], basis.validate)
    rules = parse_rules(files.golden_by or [])
    run = TerminalRun(**vars(running))
    sources = [RecordSource(one, **vars(reading)) for one in (left, right) if one is not None]
    with working_in(work, out, run) as room:
        settings = keywords(basis, deciding, candidates) | room
        found = entities.resolve(
            *read(sources, files.golden, run),
            fields=field or None,
            golden_by=None if files.golden is None else rules,
            seed=seed,
            run=run,
            **settings,
        )
        groups = group_records(found, files, run)
        write(found, groups, seed, out, files, every, show, run)
        if linking.to_index is not None:
            from lookalike.cli.linking import build_index

            build_index(linking.to_index, found, run)
    print_summary(found, groups, sources, files.report, run)


def check_files(out: str, files: ResolveFiles, inputs: list[str | None], validate: str | None) -> None:
    """Raise an error early for an output that cannot be written or that lacks its basis."""
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output, check_place

    every = (out, files.clusters, files.golden, files.table, files.plot, files.report, files.save_model)
    outputs = [path for path in every if path is not None and path != "-"]
    for path in outputs:
        if path not in (files.plot, files.report, files.save_model):
            check_output(path)
    if files.save_model is not None:
        check_place(files.save_model)
    check_page(files.report)
    check_excel_safe(files.excel_safe, out, files.clusters, files.golden, files.table)
    check_apart(outputs, inputs)
    if files.plot is not None:
        check_picture(Path(files.plot))
    if len({Path(path).absolute() for path in outputs}) < len(outputs):
        raise UsageError(
            "--out, --clusters, --golden, --table, --save-model, --plot and --report must be different files."
        )
    if files.golden_by and files.golden is None:
        raise UsageError("--golden-by says how --golden merges records: name its file with --golden.")
    if files.plot is not None and validate is None:
        raise UsageError("--plot shows the share of true matches by score, which needs --validate.")


def check_fields(field: list[str], validate: str | None) -> None:
    """Raise an error for a field that cannot be parsed before anything is read."""
    from lookalike.entities.fields import as_fields

    if given := [*field, *([validate] if validate else [])]:
        as_fields(given)


def read(sources: "list[RecordSource]", golden: str | None, run: TerminalRun) -> "list[pa.Table]":
    """Read the tables; raise an error if the file of golden records cannot hold one of their columns."""
    from lookalike.io.write import check_columns

    tables = [source.read(run) for source in sources]
    if golden is not None:
        for table in tables:
            check_columns(table.schema, golden)
    return tables


class GroupTables(NamedTuple):
    """What the matches join, if a file of it is asked for."""

    clusters: "RecordClusters | None" = None
    golden: "Golden | None" = None


def group_records(found: "Resolution", files: ResolveFiles, run: TerminalRun) -> GroupTables:
    """Return the clusters and the golden records, if a file of them is asked for."""
    if files.clusters is None and files.golden is None:
        return GroupTables()
    with run.stage("clusters"):
        return GroupTables(found.clusters(), None if files.golden is None else found.golden())


def write(
    found: "Resolution", groups: GroupTables, seed: int, out: str, files: ResolveFiles, every: bool, show: bool,
    run: TerminalRun,
) -> None:  # fmt: skip
    """Write the matches, or with `every` all scored pairs, and the other files asked for."""
    from lookalike import __version__
    from lookalike.core.drawing import draw_shares
    from lookalike.io.write import write_tables

    settings = {"version": __version__, "fields": ", ".join(map(str, found.fields)), "seed": str(seed)}
    settings |= {"cut_off": repr(float(found.cut_off)), "basis": found.basis}
    settings["read"] = " ".join(str(len(ids)) for ids in (found.ids, found.right_ids) if ids is not None)
    if found.stats.get("note"):
        settings["note"] = found.stats["note"]
    shown = found.every if every and found.every is not None else found
    with run.stage("write"):
        write_tables([shown.to_arrow(show=show)], out, settings, files.excel_safe, run)
        for path, one in ((files.clusters, groups.clusters), (files.golden, groups.golden)):
            if path is not None and one is not None:
                write_tables([one.to_arrow()], path, settings, files.excel_safe, run)
        if files.save_model is not None:
            found.save_model(files.save_model)
        if files.table is not None:
            write_tables([found.basis_table()], files.table, settings, files.excel_safe, run)
        if files.plot is not None and found.validation is not None:
            with picture(Path(files.plot)) as axes:
                draw_shares(axes, found.validation, found.cut_off)
    write_page(found, files.report, run)


def print_summary(
    found: "Resolution", groups: GroupTables, sources: "list[RecordSource]", report: str | None, run: TerminalRun
) -> None:
    """Print what was found, and the table of scores it is based on."""
    from lookalike.cli.terminal import Terminal

    if skipped := sum(source.skipped for source in sources):
        run.say(f"read: {counted(skipped, 'bad row')} skipped")
    for note in bad_files_note([name for source in sources for name in source.bad_files]):
        run.say(note)
    for one in (found, groups.clusters, groups.golden):
        for line in [] if one is None else one.lines():
            run.say(line)
    if not run.quiet and found.validation is not None:
        Terminal(stderr=True).print(scores_table(found.validation))
    run.say(time_line(run))
    run.hint(next_step(report))


def scores_table(validation: "Validation") -> "Table":
    """Return the shares of true matches by score, the best first."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"true matches by score, estimated from {escape(validation.name)}", title_justify="left")
    for name in ("score", "pairs", "mean difference", "true matches", "95% interval"):
        table.add_column(name, justify="right")
    for row in validation.to_arrow().slice(0, MOST_ROWS).to_pylist():
        score = f"{row['score_from']:.5g} to {row['score_to']:.5g}"
        score = f"{row['score_to']:.5g}" if row["score_from"] == row["score_to"] else score
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        table.add_row(score, f"{row['pairs']:,}", f"{row['mean_difference']:.4g}", f"{row['matches']:.3f}", interval)
    table.caption = (
        f"pairs with a perfect score differ by {validation.perfect:.4g}, random ones by {validation.random:.4g}"
    )
    return table
