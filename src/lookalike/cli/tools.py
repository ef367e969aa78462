"""The commands that show how things work: curves, choices of bands and rows, the demonstration."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli.app import app
from lookalike.cli.options import Threads, examples

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


@app.command(epilog=examples("lookalike demo"))
def demo(threads: Threads = None) -> None:
    """Find the similar documents among the few dozen that come with lookalike."""
    from lookalike.cli.demo import show_demo

    show_demo(threads)
