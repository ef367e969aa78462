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
