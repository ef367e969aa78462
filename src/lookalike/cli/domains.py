"""The commands for things of one kind: records, baskets, fingerprints."""

from typing import Annotated

import typer

from lookalike.cli.app import app
from lookalike.cli.options import (
    Encoding,
    Inputs,
    MaxPairs,
    Method,
    OnError,
    Out,
    Quiet,
    Recall,
    Report,
    Seed,
    Threads,
    examples,
)

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
    report: Report = None,
    threshold: Annotated[float, typer.Option(help="Look at records whose shingles are so alike.")] = 0.6,
    nearest: Annotated[int, typer.Option(help="In small tables, look at so many nearest by each field of words.")] = 2,
    separator: Annotated[str | None, typer.Option(help="What stands between the cells of CSV, if not a comma.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet, arrow, jsonl, csv or tsv.")] = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "fail",
    seed: Seed = 1,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find the records of two tables, or of one, that are of the same person or thing, and how sure that is."""
    from lookalike.cli.records import show_matches
    from lookalike.core.errors import UsageError

    given = dict(locals())
    if not field:
        raise UsageError("name at least one --field to compare, such as --field name.")
    given["all"] = given.pop("every")
    show_matches(left, right, given)


prints = typer.Typer(
    help="Enroll fingerprints, and find whom others are of.",
    epilog=examples(
        "lookalike fingerprints enroll people.parquet scans/*_1.iso",
        "lookalike fingerprints identify people.parquet from-the-gun.iso",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(prints, name="fingerprints")

Enrolled = Annotated[str, typer.Argument(metavar="DATABASE", help="The .parquet file of the enrolled prints.")]
PrintFiles = Annotated[
    list[str], typer.Argument(metavar="PRINTS", help="Templates (.iso, .fmr, .xyt), tables, folders or globs.")
]
PrintsOrDatabase = Annotated[
    list[str], typer.Argument(metavar="PRINTS", help="A database, or templates, tables, folders or globs.")
]
PrintId = Annotated[str | None, typer.Option("--id", help="The column of a table that tells whose minutia it is.")]
OnBadFile = Annotated[str, typer.Option(help="What to do with files that cannot be read: fail, or skip them.")]
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
    id: PrintId = None,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnBadFile = "fail",
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
    report: Report = None,
    threshold: LeastOfPrints = 0.35,
    top: Annotated[int | None, typer.Option(metavar="K", help="The K most similar of each.")] = None,
    method: MethodOfPrints = "corners",
    groups: GroupsOfSquares = 1,
    id: PrintId = None,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnBadFile = "fail",
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
    inputs: PrintsOrDatabase,
    out: Out = "-",
    report: Report = None,
    threshold: LeastOfPrints = 0.35,
    method: MethodOfPrints = "corners",
    groups: GroupsOfSquares = 1,
    id: PrintId = None,
    format: PrintFormat = None,
    dpi: Resolution = 500.0,
    on_error: OnBadFile = "fail",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find the prints of a database, or of files, that are of one finger."""
    from lookalike.cli import fingerprints

    fingerprints.pairs(inputs, dict(locals()))


BASKET_EXAMPLES = (
    "lookalike baskets ratings.csv --threshold 0.3 -o similar-customers.csv",
    "lookalike baskets ratings.csv --by item --ratings high --names titles.csv -o similar-items.csv",
    "lookalike baskets ratings.parquet --ratings stars --union sum --threshold 0.2 --audit 500 -o pairs.parquet",
    "lookalike baskets orders.jsonl --user customer --item sku --groups 0.4 --groups-out groups.csv -o pairs.csv",
    "lookalike baskets ratings.csv --recommend ann --names titles.csv",
)


@app.command(epilog=examples(*BASKET_EXAMPLES))
def baskets(
    inputs: Inputs,
    by: Annotated[str, typer.Option(help="Compare by what: user or item.")] = "user",
    ratings: Annotated[
        str | None,
        typer.Option(help="What counts: all that is rated, what is rated high, liked-hated, or stars (bags)."),
    ] = None,
    liked: Annotated[float | None, typer.Option(help="The least rating of what is liked; by default told.")] = None,
    union: Annotated[str, typer.Option(help="Of two bags of stars: max, or sum as in the textbook.")] = "max",
    threshold: Annotated[str, typer.Option("--threshold", "-t", help="Least similarity, in (0, 1].")] = "0.2",
    recall: Recall = 0.99,
    out: Out = "-",
    groups: Annotated[
        str | None, typer.Option(metavar="T", help="Group items at least T similar; compare users by groups.")
    ] = None,
    groups_out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the groups of items.")] = None,
    report: Report = None,
    recommend: Annotated[str | None, typer.Option(metavar="USER", help="What users similar to USER liked.")] = None,
    recommend_all: Annotated[bool, typer.Option("--recommend-all", help="The same for all users.")] = False,
    top: Annotated[int, typer.Option(metavar="K", help="How many items to recommend.")] = 10,
    neighbours: Annotated[int, typer.Option(metavar="N", help="How many similar users to ask.")] = 200,
    half_life: Annotated[
        float, typer.Option(metavar="N", help="A rating with N later ones counts half; 0: all count the same.")
    ] = 4,
    names: Annotated[str | None, typer.Option(metavar="FILE", help="A table of item ids and their names.")] = None,
    user: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the user.")] = None,
    item: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the item.")] = None,
    rating: Annotated[str | None, typer.Option(metavar="COLUMN", help="That of the rating; - for none.")] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="That of the time; - for none.")] = None,
    separator: Annotated[str | None, typer.Option(help="What stands between the cells of CSV, if not a comma.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet, arrow, jsonl, csv or tsv.")] = None,
    encoding: Encoding = "utf-8",
    on_error: OnError = "fail",
    method: Method = "auto",
    audit: Annotated[int, typer.Option(metavar="N", help="Measure the recall on a sample of N users or items.")] = 0,
    seed: Seed = 1,
    max_pairs: MaxPairs = 100_000_000,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find similar customers or similar products from what was bought or rated, and recommend."""
    from lookalike.cli.baskets import show_baskets

    show_baskets(inputs, dict(locals()))
