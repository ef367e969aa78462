"""The commands of `lookalike index`: keep a collection in a folder and query it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli import options as opt
from lookalike.cli.app import command, group
from lookalike.cli.options import flag, option
from lookalike.cli.outputs import check_outputs
from lookalike.cli.progress import TerminalRun
from lookalike.cli.sets import read_sets
from lookalike.cli.summary import bad_files_note, crowded_note, time_line
from lookalike.cli.vectors import read_vectors
from lookalike.core.errors import DataError, LookalikeError, UsageError, choice
from lookalike.core.wording import counted, verified, visible

if TYPE_CHECKING:
    from lookalike.index import Index

KINDS = ("documents", "sets", "vectors")
BOTH = "remove it in Python, with Index.remove, or over HTTP"  # if two ids are spelled the same
LOW_RECALL = 0.95  # times the recall of the index: a query below this gets a note

index = group(
    "index",
    "Keep a collection in a folder, and look up similar items in it.",
    "lookalike index build news.index corpus.parquet --threshold 0.7",
    "lookalike index query news.index tonight.jsonl -k 3 --out similar.csv",
)


@dataclass(frozen=True)
class ItemColumnOptions(opt.ColumnOptions):
    """Where to find items of any kind in the inputs."""

    format: Annotated[
        str | None,
        option(
            help="Format: parquet, arrow, jsonl, csv, tsv, excel, database, warc, text (one document per line) or "
            "files (one per file); for vectors also npy, npz, fvecs, bvecs, ivecs or pictures.",
            offer=(*opt.DOCUMENT_FORMATS, "npy", "npz", "fvecs", "bvecs", "ivecs", "pictures"),
            panel=opt.INPUT,
        ),
    ] = None


@dataclass(frozen=True)
class ItemOptions:
    """How to read items of any kind."""

    columns: ItemColumnOptions
    rows: opt.Rows = None
    separator: opt.Separator = None
    vector: opt.VectorColumn = None


@dataclass(frozen=True)
class IndexSimilarityOptions:
    """When items are similar, and how surely similar ones are found."""

    measure: Annotated[
        str,
        option(
            "--measure",
            "-m",
            metavar="NAME",
            help="jaccard or bag; for vectors: angle, cosine_similarity, euclidean or hamming.",
        ),
    ] = "jaccard"
    threshold: Annotated[
        str | None,
        opt.threshold_option(
            "Minimum similarity (default: 0.8); vectors need a maximum distance, or a minimum cosine."
        ),
    ] = None
    shingle: opt.Shingle = "char:9"
    recall: Annotated[
        float, option(help="Probability of finding an item exactly at the threshold; below 1, except with hamming.")
    ] = 0.99


@command(
    "lookalike index build news.index crawl.parquet -t 0.7 -s word:5",
    "lookalike index build images.index embeddings.npy --measure angle -t 20",
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
    seed: Annotated[
        int | None, option(metavar="N", help="Seed of the hash functions; default: a secret one, drawn at random.")
    ] = None,
    running: opt.RunOptions,
    kind: Annotated[
        str | None,
        option(
            metavar="NAME", help="Items: documents, sets or vectors; default: inferred from the measure and --rows."
        ),
    ] = None,
    store_text: Annotated[
        bool,
        flag(
            "--store-text",
            help="Keep the texts instead of the hashes of their shingles: smaller, and they can be shown.",
        ),
    ] = False,
    expected: Annotated[
        int | None, option(metavar="N", help="About how many items the index will hold; default: a million.")
    ] = None,
    workdir: Annotated[
        str | None,
        option(
            metavar="DIR",
            help="Folder to build in, on the same disk; the same command resumes there after an interruption; default, "
            "for documents in files: the name of the index with .work added.",
            panel=opt.RUNNING,
        ),
    ] = None,
) -> None:
    """Build an index of documents, sets or vectors."""
    from lookalike.cli.documents import shingles_of
    from lookalike.cli.workdir import working_in
    from lookalike.index import Index
    from lookalike.index.building import can_resume
    from lookalike.index.store import check_new
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
    check_new(Path(path))
    read = read_items(inputs, items, pages, kind, measure, run)
    if workdir is None and can_resume(read):
        workdir = f"{path.rstrip('/')}.work"
    with working_in(opt.WorkOptions(workdir=workdir), path, run) as room:
        made = Index.build(path, read, run=run, **settings, **room)
    with made:
        print_summary(run, made, f"built: {counted(len(made), 'item')}")


@command("lookalike index add news.index today.jsonl --replace", of=index)
def add(
    path: opt.IndexPath,
    inputs: opt.Inputs,
    *,
    items: ItemOptions,
    running: opt.RunOptions,
    replace: Annotated[bool, flag("--replace", help="Replace items whose id is already in the index.")] = False,
) -> None:
    """Add items to an index."""
    run = TerminalRun(**vars(running))
    with open_index(path) as opened:
        added = opened.add(read_like(opened, inputs, items, run), replace=replace, run=run)
        print_summary(run, opened, f"added: {counted(added, 'item')}, {len(opened):,} in total")


@command(
    "lookalike index query news.index today.jsonl -k 3 -o similar.csv",
    "echo 'the cat sat on the mat' | lookalike index query news.index -",
    of=index,
)
def query(
    path: opt.IndexPath,
    inputs: opt.Inputs,
    *,
    out: opt.Out = "-",
    excel_safe: opt.ExcelSafe = False,
    items: ItemOptions,
    running: opt.RunOptions,
    threshold: Annotated[
        float | None, opt.threshold_option("Minimum similarity or maximum distance; default: that of the index.")
    ] = None,
    k: Annotated[
        int, option("-k", "--top", metavar="K", help="For each item, list at most the K most similar items.")
    ] = 10,
) -> None:
    """Find the items of an index that are similar to the items in INPUT."""
    from lookalike import __version__
    from lookalike.io.write import write_tables

    check_outputs(opt.OutputOptions(out, excel_safe=excel_safe), inputs)
    run = TerminalRun(**vars(running))
    with open_index(path, read_only=True) as opened:
        found = opened.query_batch(read_like(opened, inputs, items, run), threshold=threshold, k=k, run=run)
        with run.stage("write"):
            about = {"version": __version__, "index": Path(path).name}
            write_tables([found.to_arrow()], out, about, excel_safe, run)
        matches, asked = counted(len(found), "match", "es"), counted(len(found.ids), "item")
        compared, recall = counted(found.stats["candidates"], "candidate pair"), opened.recall(threshold)
        expected = f"expected recall at the threshold {recall:.4f}"
        run.say(f"found: {matches} for {asked}{verified(len(found))}; {compared} compared; {expected}")
        if threshold is not None and recall < LOW_RECALL * opened.recall():
            run.say(low_recall_note(opened, threshold, recall))
            run.say(nearest_note(opened, threshold, k, found.stats["recall"]))
        if found.stats["crowded"]:
            run.say(crowded_note(found.stats["crowded"], "item"))
        run.say(time_line(run))


@command("lookalike index remove news.index story-17 story-18", of=index)
def remove(
    path: opt.IndexPath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of the items to remove.")] = None,
    *,
    file: Annotated[str | None, option(metavar="FILE", help="File of ids, one per line.")] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Remove items from an index."""
    lines = [] if file is None else lines_of(Path(file))
    names = [name for name in (*(ids or []), *lines) if name]
    if not names:
        raise UsageError("name the ids to remove, or give a --file of ids.")
    run = TerminalRun(1, quiet)
    with open_index(path) as opened:
        check_no_records(opened)
        removed = opened.remove([opened.spelled(name, how=BOTH) for name in names])
        run.say(f"removed: {counted(removed, 'item')}, {len(opened):,} left")


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file."""
    try:
        return path.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not valid UTF-8 (byte {error.start}).") from error


@command("lookalike index info news.index", of=index)
def info(path: opt.IndexPath) -> None:
    """Show the settings, size and expected recall of an index."""
    with open_index(path, read_only=True) as opened:
        for name, value in opened.info().items():
            print(visible(f"{name}: {value:,}" if type(value) is int else f"{name}: {value}"))


@command("lookalike index compact news.index", of=index)
def compact(path: opt.IndexPath, *, quiet: opt.Quiet = False) -> None:
    """Rewrite an index without gaps; upgrade one of an older format."""
    run = TerminalRun(1, quiet)
    with open_index(path) as opened, run.stage("compact"):
        saved = opened.compact()
        run.say(f"compacted: {saved:,} bytes saved, {opened.info(buckets=False)['bytes']:,} left")


@command("lookalike index backup news.index monday.index", of=index)
def backup(
    path: opt.IndexPath,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="New folder for the copy.")],
    *,
    quiet: opt.Quiet = False,
) -> None:
    """Copy an index to a new folder, even while other processes read and write it."""
    run = TerminalRun(1, quiet)
    with open_index(path, read_only=True) as opened, run.stage("backup"):
        opened.backup(target)
    with open_index(target, read_only=True) as copy:
        run.say(f"copied: {counted(len(copy), 'item')}, {copy.info(buckets=False)['bytes']:,} bytes")


@command("lookalike index export news.index news.parquet", of=index)
def export(
    path: opt.IndexPath,
    target: Annotated[str, typer.Argument(metavar="FILE", help="Parquet file to write.")],
    *,
    running: opt.RunOptions,
) -> None:
    """Write the items and settings of an index to a Parquet file."""
    run = TerminalRun(**vars(running))
    with open_index(path, read_only=True) as opened:
        opened.export(target, run)
        run.say(f"exported: {counted(len(opened), 'item')}")


@command("lookalike index restore news.index news.parquet", of=index)
def restore(
    path: opt.IndexPath,
    source: Annotated[str, typer.Argument(metavar="FILE", help="Parquet file that `export` has written.")],
    *,
    running: opt.RunOptions,
) -> None:
    """Make an index of the items that `export` has written; it gives the same answers."""
    from lookalike.index import Index

    run = TerminalRun(**vars(running))
    with Index.restore(path, source, run=run) as made:
        print_summary(run, made, f"restored: {counted(len(made), 'item')}")


@command("lookalike index verify news.index", of=index)
def verify(path: opt.IndexPath, *, running: opt.RunOptions) -> None:
    """Check that the hash tables of an index agree with its items."""
    run = TerminalRun(**vars(running))
    with open_index(path, read_only=True) as opened:
        run.say(f"verified: {counted(opened.verify(run), 'item')}, no errors")


def open_index(path: str, read_only: bool = False) -> "Index":
    """Open the index in a folder."""
    from lookalike.index import Index

    return Index.open(path, read_only=read_only)


def low_recall_note(opened: "Index", threshold: float, recall: float) -> str:
    """Return the note on a query beyond the threshold that the index was built for."""
    from lookalike.index import check_findable

    wanted = opened.settings["wanted"]
    try:
        check_findable(wanted["measure"], str(threshold), wanted["recall"])
        better = f"--threshold {threshold:g}"
    except LookalikeError:  # nobody can build an index for this threshold
        better = f"a {'lower' if opened.measured == 'similarity' else 'higher'} --threshold"
    return (
        f"note: the index was built for a threshold of {opened.threshold:g}; it finds only {recall:.2%} of the "
        f"matches at {threshold:g}. To find more, build an index with {better}"
    )


def nearest_note(opened: "Index", threshold: float, k: int, recall: float) -> str:
    """Return how many of the nearest items a query beyond the threshold of the index is expected to find."""
    sign = "a similarity of at least" if opened.measured == "similarity" else "a distance of at most"
    within = "" if opened.measured == "similarity" and threshold <= 0 else f" with {sign} {threshold:g}"
    return f"of each item, it is expected to find at least {recall:.2%} of the {k} most similar items{within}"


def check_no_records(opened: "Index") -> None:
    """Raise an error if the index holds records, which only `resolve` adds and finds."""
    if opened.settings["notes"].get("kind") == "records":
        path = opened.store.path
        raise UsageError(f"{path}: the index holds records; link new ones with `lookalike resolve --against {path}`.")


def read_like(opened: "Index", inputs: list[str], items: ItemOptions, run: TerminalRun) -> Any:
    """Return the items of the inputs, read in the same way as those of the index."""
    check_no_records(opened)
    notes = opened.settings["notes"]
    pages = opt.PageOptions(notes.get("html", False), notes.get("article", False))
    measure = opened.settings["wanted"]["measure"]
    return read_items(inputs, items, pages, notes.get("kind", "documents"), measure, run)


def read_items(
    inputs: list[str], items: ItemOptions, pages: opt.PageOptions, kind: str, measure: str, run: TerminalRun
) -> Any:
    """Return the items of the inputs; `kind` is one of `KINDS`."""
    from lookalike.cli.documents import open_documents

    columns = items.columns
    shared = columns.format, columns.encoding, columns.on_error, columns.on_bad_file
    if kind == "vectors":
        return read_vectors(inputs, opt.VectorOptions(items.vector, columns.id, *shared), measure, run)
    if kind == "sets":
        found, _ = read_sets(inputs, opt.SetOptions(items.rows, items.separator, *shared), measure, run)
        return found
    source = open_documents(inputs, opt.ReadingOptions(pages, columns), run)
    for note in bad_files_note(source.bad_files):
        run.say(note)
    return source


def print_summary(run: TerminalRun, opened: "Index", line: str) -> None:
    """Print what was done, the bytes per item, and the time it took."""
    run.say(f"{line}; {opened.info(buckets=False)['bytes per item']:,} bytes per item")
    run.say(time_line(run))
