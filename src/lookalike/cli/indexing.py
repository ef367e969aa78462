"""The commands on an index: build, add, remove, query, info, compact, verify."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli.app import app, on_documents
from lookalike.cli.options import SHARED, Inputs, Quiet, Rows, Separator, Threads, VectorColumn, examples

if TYPE_CHECKING:
    from lookalike.cli.job import Job

index = typer.Typer(
    help="Keep a collection, and look others up in it.",
    epilog=examples(
        "lookalike index build news.index corpus.parquet --threshold 0.7",
        "lookalike index query news.index tonight.jsonl --top 3 --out similar.csv",
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.add_typer(index, name="index")

Place = Annotated[str, typer.Argument(metavar="INDEX", help="The folder of the index.")]
Measure = Annotated[
    str,
    typer.Option("--measure", "-m", help="jaccard or bag; of vectors cosine, cosine_similarity, euclidean, hamming."),
]
Threshold = Annotated[
    str | None,
    typer.Option("--threshold", "-t", help="Least similarity, by default 0.8; or the greatest distance."),
]
Least = Annotated[float | None, typer.Option("--threshold", "-t", help="By default that of the index.")]
Kind = Annotated[
    str | None, typer.Option(help="documents, sets or vectors; by default told by the measure and --rows.")
]
StoreText = Annotated[bool, typer.Option("--store-text", help="Keep the texts, to have them back.")]
Expected = Annotated[int | None, typer.Option(metavar="N", help="About how many items there will be in all.")]
Replace = Annotated[bool, typer.Option("--replace", help="An item whose id is there takes the place of that one.")]
Top = Annotated[int, typer.Option(metavar="K", help="The K most similar of each.")]

ITEMS: dict[str, tuple[Any, Any]] = {
    **{name: SHARED[name] for name in ("text", "id", "format", "encoding", "on_error")},
    "rows": (Rows, None),
    "separator": (Separator, None),
    "vector": (VectorColumn, None),
}
HOW = {name: SHARED[name] for name in ("threads", "quiet")}
SHINGLES = ("lowercase", "space", "form", "stop_words", "antecedents", "spot_distance", "skip_stops")
BUILD: dict[str, tuple[Any, Any]] = {
    "measure": (Measure, "jaccard"),
    "threshold": (Threshold, None),
    **{name: SHARED[name] for name in ("shingle", "html", "article", "recall")},
    **ITEMS,
    **{name: SHARED[name] for name in (*SHINGLES, "seed")},
    **HOW,
}


@on_documents(
    "lookalike index build news.index crawl.parquet -t 0.7 -s word:5",
    "lookalike index build images.index embeddings.npy --measure cosine -t 20",
    options=BUILD,
    to=index,
)
def build(
    job: "Job", path: Place, inputs: Inputs, kind: Kind = None, store_text: StoreText = False, expected: Expected = None
) -> None:
    """Make an index of documents, sets or vectors."""
    from lookalike.cli import index

    index.build(job, path, inputs, kind, store_text, expected)


@on_documents("lookalike index add news.index today.jsonl --replace", options={**ITEMS, **HOW}, to=index)
def add(job: "Job", path: Place, inputs: Inputs, replace: Replace = False) -> None:
    """Add items to an index."""
    from lookalike.cli import index

    index.add(job, path, inputs, replace)


@on_documents(
    "lookalike index query news.index today.jsonl --top 3 -o similar.csv",
    "echo 'the cat sat on the mat' | lookalike index query news.index -",
    options={"out": SHARED["out"], **ITEMS, **HOW},
    to=index,
)
def query(job: "Job", path: Place, inputs: Inputs, threshold: Least = None, top: Top = 10) -> None:
    """Find the items of an index that are similar to others."""
    from lookalike.cli import index

    index.query(job, path, inputs, threshold, top)


@index.command(epilog=examples("lookalike index remove news.index story-17 story-18"))
def remove(
    path: Place,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of the items.")] = None,
    file: Annotated[str | None, typer.Option(help="A file of ids, one a line.")] = None,
    quiet: Quiet = False,
) -> None:
    """Remove items from an index."""
    from lookalike.cli import index

    index.remove(path, ids or [], file, quiet)


@index.command(epilog=examples("lookalike index info news.index"))
def info(path: Place) -> None:
    """Show what an index holds, how large it is, and what it finds."""
    from lookalike.cli import index

    index.info(path)


@index.command(epilog=examples("lookalike index compact news.index"))
def compact(path: Place, quiet: Quiet = False) -> None:
    """Write an index anew without the gaps that removed items left."""
    from lookalike.cli import index

    index.compact(path, quiet)


@index.command(epilog=examples("lookalike index verify news.index"))
def verify(path: Place, threads: Threads = None, quiet: Quiet = False) -> None:
    """Check every entry of an index against its items."""
    from lookalike.cli import index

    index.verify(path, threads, quiet)
