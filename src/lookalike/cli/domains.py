"""The commands for things of one kind: records, baskets, fingerprints."""

from typing import Annotated

import typer

from lookalike.cli.app import app
from lookalike.cli.options import OnError, Out, Quiet, Seed, Threads, examples

RECORD_EXAMPLES = (
    "lookalike resolve a.csv b.csv --field name --field address:street --field phone:telephone -o matches.csv",
    "lookalike resolve a.csv b.csv -f name -f phone --validate created --max-lag 90 --precision 0.95 --plot shares.svg",
    "lookalike resolve customers.parquet -f name=name -f born=date -f 'mail=category*2' --clusters people.csv",
)


@app.command(epilog=examples(*RECORD_EXAMPLES))
def resolve(
    left: Annotated[str, typer.Argument(metavar="A", help="A table of records.")],
    right: Annotated[str | None, typer.Argument(metavar="[B]", help="Another; without it A within itself.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", "-f", help="What is compared: COLUMN[:COLUMN_OF_B][=KIND][*WEIGHT]; several of them."),
    ] = None,
    out: Out = "-",
    id: Annotated[str | None, typer.Option("--id", help="The column of the id, COLUMN[:B'S]; - counts rows.")] = None,
    validate: Annotated[
        str | None,
        typer.Option(help="A column of dates or numbers, not scored, that tells matches: COLUMN[:B'S]."),
    ] = None,
    max_lag: Annotated[
        float | None, typer.Option(help="B's value of that column is at most so much more than A's, and no less.")
    ] = None,
    precision: Annotated[float | None, typer.Option(help="The share of true matches wanted, on average.")] = None,
    one_to_one: Annotated[bool, typer.Option("--one-to-one", help="No record in two matches.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Write all pairs that were scored, not just matches.")] = False,
    clusters: Annotated[str | None, typer.Option(metavar="FILE", help="Write the groups of records too.")] = None,
    table: Annotated[str | None, typer.Option(metavar="FILE", help="Write what the probabilities rest on.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the true matches by score.")] = None,
    threshold: Annotated[float, typer.Option(help="Look at records whose shingles are so alike.")] = 0.6,
    nearest: Annotated[int, typer.Option(help="In small tables, look at so many nearest by each field of words.")] = 2,
    separator: Annotated[str | None, typer.Option(help="What stands between the cells of CSV, if not a comma.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet, arrow, jsonl, csv or tsv.")] = None,
    on_error: OnError = "fail",
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find the records of two tables, or of one, that are of the same person or thing, and how sure that is."""
    from lookalike.cli.records import show_matches
    from lookalike.errors import UsageError

    given = dict(locals())
    if not field:
        raise UsageError("name at least one --field to compare, such as --field name.")
    given["all"] = given.pop("every")
    show_matches(left, right, given)


prints = typer.Typer(
    help="Enroll fingerprints, and find whom others are of.", no_args_is_help=True, rich_markup_mode="rich"
)
app.add_typer(prints, name="fingerprints")

Enrolled = Annotated[str, typer.Argument(metavar="DATABASE", help="The .parquet file of the enrolled prints.")]
PrintFiles = Annotated[
    list[str], typer.Argument(metavar="PRINTS", help="Templates (.iso, .fmr, .xyt), tables, folders or globs.")
]
PrintFormat = Annotated[str | None, typer.Option("--format", help="iso, xyt, csv, tsv, jsonl, parquet or arrow.")]
Resolution = Annotated[float, typer.Option(help="Pixels to the inch of .xyt files and tables, which do not tell.")]
LeastOfPrints = Annotated[float, typer.Option("--threshold", "-t", help="The least similarity of a match.")]
MethodOfPrints = Annotated[str, typer.Option("--method", help="Which prints are compared: by corners or grid, or all.")]
GroupsOfSquares = Annotated[int, typer.Option("--groups", help="By grid: groups of 1024 functions to agree.")]
NewSeed = Annotated[int | None, typer.Option("--seed", help="Of a new database: other seeds, other hash functions.")]


@prints.command(epilog=examples("lookalike fingerprints enroll people.parquet scans/*_1.iso"))
def enroll(
    database: Enrolled,
    inputs: PrintFiles,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnError = "fail",
    seed: NewSeed = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Add fingerprints to a database, which is made if there is none."""
    from lookalike.cli import fingerprints

    fingerprints.enroll(database, inputs, dict(locals()))


@prints.command(
    epilog=examples(
        "lookalike fingerprints identify people.parquet from-the-gun.iso",
        "lookalike fingerprints identify people.parquet scans/ --top 3 --threshold 0.25 -o whose.csv",
    )
)
def identify(
    database: Enrolled,
    inputs: PrintFiles,
    out: Out = "-",
    threshold: LeastOfPrints = 0.35,
    top: Annotated[int | None, typer.Option(metavar="K", help="The K most similar of each.")] = None,
    method: MethodOfPrints = "corners",
    groups: GroupsOfSquares = 1,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnError = "fail",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find whom fingerprints are of, among the enrolled."""
    from lookalike.cli import fingerprints

    fingerprints.identify(database, inputs, dict(locals()))


@prints.command(
    "pairs",
    epilog=examples(
        "lookalike fingerprints pairs people.parquet -o twice.csv",
        "lookalike fingerprints pairs scans/",
    ),
)
def same_finger(
    inputs: PrintFiles,
    out: Out = "-",
    threshold: LeastOfPrints = 0.35,
    method: MethodOfPrints = "corners",
    groups: GroupsOfSquares = 1,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnError = "fail",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find the prints of a database, or of files, that are of one finger."""
    from lookalike.cli import fingerprints

    fingerprints.pairs(inputs, dict(locals()))
