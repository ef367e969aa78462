"""`lookalike index`: a collection that is kept in a folder, and that others are looked up in."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli import options as opt
from lookalike.cli.app import command, group
from lookalike.cli.options import option
from lookalike.cli.outputs import check_outputs
from lookalike.cli.progress import TerminalRun
from lookalike.cli.sets import read_sets
from lookalike.cli.summary import crowded_note, time_line
from lookalike.cli.vectors import read_vectors
from lookalike.core.errors import UsageError, choice
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.index import Index

KINDS = ("documents", "sets", "vectors")

index = group(
    "index",
    "Keep a collection, and look others up in it.",
    "lookalike index build news.index corpus.parquet --threshold 0.7",
    "lookalike index query news.index tonight.jsonl --top 3 --out similar.csv",
)


@dataclass(frozen=True)
class ItemOptions:
    """How items of any kind are read."""

    columns: opt.ColumnOptions
    rows: opt.Rows = None
    separator: opt.Separator = None
    vector: opt.VectorColumn = None


@dataclass(frozen=True)
class IndexSimilarityOptions:
    """What similar items are, and how many of them may be missed."""

    measure: Annotated[
        str,
        option("--measure", "-m", help="jaccard or bag; of vectors cosine, cosine_similarity, euclidean, hamming."),
    ] = "jaccard"
    threshold: Annotated[
        str | None, option("--threshold", "-t", help="Least similarity, by default 0.8; or the greatest distance.")
    ] = None
    shingle: opt.Shingle = "char:9"
    recall: opt.Recall = 0.99


@command(
    "lookalike index build news.index crawl.parquet -t 0.7 -s word:5",
    "lookalike index build images.index embeddings.npy --measure cosine -t 20",
    of=index,
)
def build(
    path: opt.IndexPath,
    inputs: opt.Inputs,
    *,
    similarity: IndexSimilarityOptions,
    pages: opt.PageOptions,
    items: ItemOptions,
    shingling: opt.ShingleOptions,
    seed: opt.Seed = 1,
    running: opt.RunOptions,
    kind: Annotated[
        str | None, option(help="documents, sets or vectors; by default told by the measure and --rows.")
    ] = None,
    store_text: Annotated[bool, option("--store-text", help="Keep the texts, to have them back.")] = False,
    expected: Annotated[int | None, option(metavar="N", help="About how many items there will be in all.")] = None,
) -> None:
    """Make an index of documents, sets or vectors."""
    from lookalike.cli.documents import shingles_of
    from lookalike.index import Index
    from lookalike.measures.table import OF_VECTORS

    run = TerminalRun(**vars(running))
    measure, settings = similarity.measure, opt.keywords(similarity)
    settings["shingles"] = shingles_of(settings.pop("shingle"), shingling)
    if expected is not None:
        settings["expected"] = expected
    if kind is None:
        kind = "vectors" if measure in OF_VECTORS else "sets" if items.rows else "documents"
    choice("kind", kind, KINDS)
    settings |= {"seed": seed, "store_text": store_text, "notes": {"kind": kind, **vars(pages)}}
    made = Index.build(path, read_items(inputs, items, pages, kind, measure, run), run=run, **settings)
    with made:
        tell(run, made, f"built: {counted(len(made), 'item')}")


@command("lookalike index add news.index today.jsonl --replace", of=index)
def add(
    path: opt.IndexPath,
    inputs: opt.Inputs,
    *,
    items: ItemOptions,
    running: opt.RunOptions,
    replace: Annotated[
        bool, option("--replace", help="An item whose id is there takes the place of that one.")
    ] = False,
) -> None:
    """Add items to an index."""
    run = TerminalRun(**vars(running))
    with open_index(path) as opened:
        added = opened.add(read_like(opened, inputs, items, run), replace=replace, run=run)
        tell(run, opened, f"added: {counted(added, 'item')}, {len(opened):,} in all")


@command(
    "lookalike index query news.index today.jsonl --top 3 -o similar.csv",
    "echo 'the cat sat on the mat' | lookalike index query news.index -",
    of=index,
)
def query(
    path: opt.IndexPath,
    inputs: opt.Inputs,
    *,
    out: opt.Out = "-",
    items: ItemOptions,
    running: opt.RunOptions,
    threshold: Annotated[float | None, option("--threshold", "-t", help="By default that of the index.")] = None,
    top: Annotated[int, option(metavar="K", help="The K most similar of each.")] = 10,
) -> None:
    """Find the items of an index that are similar to others."""
    from lookalike import __version__
    from lookalike.io.write import write_tables

    check_outputs(opt.OutputOptions(out), inputs)
    run = TerminalRun(**vars(running))
    with open_index(path, read_only=True) as opened:
        found = opened.query_batch(read_like(opened, inputs, items, run), threshold=threshold, top=top, run=run)
        with run.stage("write"):
            write_tables([found.to_arrow()], out, {"version": __version__, "index": Path(path).name})
        matches, asked = counted(len(found), "match", "es"), counted(len(found.ids), "item")
        among, recall = counted(found.stats["candidates"], "candidate"), opened.recall(threshold)
        run.say(
            f"found: {matches} for {asked}, all verified, among {among}; expected recall at the threshold {recall:.4f}"
        )
        if found.stats["crowded"]:
            run.say(crowded_note(found.stats["crowded"], "item"))
        run.say(time_line(run.seconds))


@command("lookalike index remove news.index story-17 story-18", of=index)
def remove(
    path: opt.IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of the items.")] = None,
    *,
    file: Annotated[str | None, option(help="A file of ids, one a line.")] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Remove items from an index."""
    lines = [] if file is None else Path(file).read_text().split("\n")
    names = [name for name in (*(ids or []), *lines) if name]
    if not names:
        raise UsageError("name the ids to remove, or a --file of them.")
    run = TerminalRun(1, quiet)
    with open_index(path) as opened:
        removed = opened.remove([opened.spelled(name) for name in names])
        run.say(f"removed: {counted(removed, 'item')}, {len(opened):,} left")


@command("lookalike index info news.index", of=index)
def info(path: opt.IndexPath) -> None:
    """Show what an index holds, how large it is, and what it finds."""
    with open_index(path, read_only=True) as opened:
        for name, value in opened.info().items():
            print(f"{name}: {value:,}" if type(value) is int else f"{name}: {value}")


@command("lookalike index compact news.index", of=index)
def compact(path: opt.IndexPath, *, quiet: opt.Quiet = False) -> None:
    """Write an index anew without the gaps that removed items left."""
    run = TerminalRun(1, quiet)
    with open_index(path) as opened, run.stage("compact"):
        saved = opened.compact()
        run.say(f"compacted: {saved:,} bytes saved, {opened.info(buckets=False)['bytes']:,} left")


@command("lookalike index verify news.index", of=index)
def verify(path: opt.IndexPath, *, running: opt.RunOptions) -> None:
    """Check every entry of an index against its items."""
    run = TerminalRun(**vars(running))
    with open_index(path, read_only=True) as opened:
        run.say(f"verified: {counted(opened.verify(run), 'item')}, all in order")


def open_index(path: str, read_only: bool = False) -> "Index":
    """Return the index of a folder."""
    from lookalike.index import Index

    return Index.open(path, read_only=read_only)


def read_like(opened: "Index", inputs: list[str], items: ItemOptions, run: TerminalRun) -> Any:
    """Return the items of the inputs, read as those of the index were."""
    notes = opened.settings["notes"]
    pages = opt.PageOptions(notes.get("html", False), notes.get("article", False))
    measure = opened.settings["wanted"]["measure"]
    return read_items(inputs, items, pages, notes.get("kind", "documents"), measure, run)


def read_items(
    inputs: list[str], items: ItemOptions, pages: opt.PageOptions, kind: str, measure: str, run: TerminalRun
) -> Any:
    """Return the items of the inputs, which are of one of `KINDS`."""
    from lookalike.cli.documents import open_documents

    columns = items.columns
    format, encoding, on_error = columns.format, columns.encoding, columns.on_error
    if kind == "vectors":
        return read_vectors(
            inputs, opt.VectorOptions(items.vector, columns.id, format, encoding, on_error), measure, run
        )
    if kind == "sets":
        return read_sets(inputs, opt.SetOptions(items.rows, items.separator, format, encoding, on_error), measure, run)[
            0
        ]
    return open_documents(inputs, opt.ReadingOptions(pages, columns), run)


def tell(run: TerminalRun, opened: "Index", line: str) -> None:
    """Say what was done, and what that took."""
    run.say(f"{line}; {opened.info(buckets=False)['bytes an item']:,} bytes an item")
    run.say(time_line(run.seconds))
