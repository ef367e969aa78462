"""The commands that show how things work: curves, choices of bands and rows, the demonstration."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli.app import app
from lookalike.cli.options import (
    Article,
    Encoding,
    Format,
    Html,
    Id,
    Quiet,
    Rows,
    Text,
    Threads,
    VectorColumn,
    examples,
)

FamilyName = Annotated[
    str, typer.Option("--family", help="What is banded: minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH.")
]


@app.command(
    epilog=examples(
        "lookalike curve --bands 20 --rows 5 --plot curve.png",
        "lookalike curve --cascade 'And(4) >> Or(4) >> Or(4) >> And(4)'",
        "lookalike curve --bands 11 --rows 9 --family hyperplanes",
    )
)
def curve(
    bands: Annotated[int | None, typer.Option(help="How many bands.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many functions a band.")] = None,
    cascade: Annotated[str | None, typer.Option(help="In place of bands and rows: any ANDs and ORs.")] = None,
    family: FamilyName = "minhash",
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to a .png, .svg or .pdf file.")] = None,
) -> None:
    """Show how likely a pair of each similarity, or at each distance, becomes a candidate."""
    from lookalike.cli.curves import cascade_of, show_curve

    show_curve(*cascade_of(bands, rows, cascade), family, plot)


@app.command(
    epilog=examples(
        "lookalike tune --threshold 0.8 --recall 0.99",
        "lookalike tune --threshold 20 --family hyperplanes",
    )
)
def tune(
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="Similarity, or distance, to be found.")],
    recall: Annotated[float, typer.Option(help="How surely.")] = 0.99,
    hashes: Annotated[int, typer.Option(help="The most functions to use.")] = 512,
    family: FamilyName = "minhash",
) -> None:
    """Show the bands and rows that reach a recall at a threshold, and what each costs."""
    from lookalike.cli.curves import show_choices

    show_choices(threshold, recall, hashes, family)


@app.command(
    epilog=examples(
        "lookalike report pairs.parquet --items corpus.parquet --out report.html",
        "lookalike report removed.csv --items crawl.jsonl.gz --text body -s word:5",
        "lookalike report matches.parquet --items a.csv --items b.csv",
        "lookalike report near.parquet --items embeddings.npy --title 'Near embeddings'",
    )
)
def report(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="Pairs, matches, clusters, or what was dropped.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="PAGE", help="The page to write.")] = "report.html",
    items: Annotated[
        list[str] | None, typer.Option("--items", metavar="INPUT", help="What was compared; twice for two sides.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the page is called.")] = None,
    text: Text = None,
    id: Id = None,
    rows: Rows = None,
    vector: VectorColumn = None,
    shingle: Annotated[
        str | None, typer.Option("--shingle", "-s", help="What was compared, where RESULT does not tell: word:5.")
    ] = None,
    html: Html = False,
    article: Article = False,
    separator: Annotated[str | None, typer.Option(help="What stands between the cells of CSV, if not a comma.")] = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> None:
    """Write a page that shows a result: what was found, side by side, and whether to trust it."""
    from lookalike.cli.reporting import show_report

    given = dict(locals())
    given["items"] = items or []
    show_report(result, given)


@app.command(epilog=examples("lookalike demo"))
def demo(threads: Threads = None) -> None:
    """Find the similar documents among the few dozen that come with lookalike."""
    from lookalike.cli.demo import show_demo

    show_demo(threads)
