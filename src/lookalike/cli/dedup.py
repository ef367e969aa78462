"""The command `lookalike dedup`: remove documents that are similar to one that is kept."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command
from lookalike.cli.options import flag, option
from lookalike.cli.outputs import check_outputs, check_page, write_page
from lookalike.cli.workdir import sharing_in
from lookalike.core.errors import UsageError

KEEP = ("lowest-id", "first", "longest")


@command(
    "lookalike dedup corpus.parquet -o clean.parquet --removed removed.parquet",
    "lookalike dedup crawl.jsonl.zst -t 0.7 -s word:5 --keep longest -o clean.jsonl",
    "lookalike dedup crawl.parquet --keep meta.quality:max,date:min --copies 2 -o clean.parquet",
    "lookalike dedup pages.parquet --article -s stop:3 --stop-words de -o clean.parquet",
    "lookalike dedup crawl.jsonl.zst --unit paragraph --copies 3 --least 5 --removed cut.csv -o clean.jsonl",
    "lookalike dedup corpus.parquet --unit span:50 -o clean.parquet",
    "lookalike dedup corpus.parquet --mark -o marked.parquet",
    "lookalike dedup today.jsonl --unit line --against seen.lines --update -o new.jsonl",
    "lookalike dedup today.jsonl --against seen.index --update -o new.jsonl",
    "lookalike dedup today.jsonl --against yesterday.jsonl --keep score:max -o new.jsonl",
    "lookalike dedup huge.jsonl.zst --memory 2GB -o clean.jsonl",
    "lookalike dedup crawl/*.parquet --shard 0/8 --workdir /shared/work -o clean.parquet",
    "lookalike dedup s3a://crawl/pages.parquet --engine spark -o s3a://crawl/clean.parquet",
)
def dedup(
    inputs: opt.Inputs,
    *,
    options: opt.CollectionOptions,
    removed: Annotated[
        str | None,
        option(
            metavar="FILE",
            help="Also write the ids of removed documents, each with the kept one it is similar to; with --unit, what "
            "was cut from where.",
        ),
    ] = None,
    keep: Annotated[
        str,
        option(
            metavar="RULES",
            help="Similar document to keep: lowest-id, first, longest, or by columns: score, date:min, "
            "meta.quality:max,longest.",
            offer=KEEP,
        ),
    ] = "lowest-id",
    drop_all: Annotated[bool, flag("--drop-all", help="Keep only documents that are similar to no other one.")] = False,
    cut: opt.CutOptions,
    against: Annotated[
        list[str] | None,
        option(
            metavar="PATH",
            help="Also remove documents that are similar to one in this index or file (repeat the option for more "
            "files); with --unit, also cut what is in the documents of earlier runs, kept in this folder.",
        ),
    ] = None,
    update: Annotated[
        bool,
        flag(
            "--update",
            help="With --against: add the kept documents, or with --unit all documents; create what is missing.",
        ),
    ] = False,
    columns: opt.Columns = None,
    mark: opt.Mark = False,
    given: GivenOptions,
) -> None:
    """Remove documents that are similar to one that is kept; write the rest with all columns."""
    from lookalike.cli.documents import uses_spark

    if cut.unit is not None:
        from lookalike.cli.cutting import dedup_in_texts

        check_files(inputs, options, removed)
        dedup_in_texts(inputs, options, cut, given, only_index(against), update, removed, columns)
        return
    given.need(("least", "case"), "--unit")
    if mark and drop_all:
        raise UsageError("--drop-all cannot be used with --mark; clusters --rows shows which documents are alone.")
    choice: dict[str, Any] = {"keep": keep, "copies": cut.copies, "drop_all": drop_all}
    if uses_spark(options, removed):
        from lookalike.cli.on_spark import dedup_on_spark

        check_apart_from_out(removed, options)
        dedup_on_spark(inputs, options, given, choice, removed, columns)
        return
    if update and against and Path(against[0]).is_file():
        raise UsageError(f"--update adds to an index, and {against[0]} is a file; leave it out, or name an index.")
    index = only_index(against) if against and (update or any(map(is_index, against))) else None
    read = inputs if index is not None else [*inputs, *(against or ())]
    check_files(read, options, removed, folder=index is None)
    if index is not None:
        given.refuse(("mark", "copies", "drop_all", "within", "across"), "--against INDEX")
        from lookalike.cli.against import dedup_against

        dedup_against(inputs, options, given, index, update, removed, columns)
    elif update:
        raise UsageError("--update needs an index: name it with --against.")
    else:
        dedup_locally(inputs, options, choice, removed, columns, mark, against)


def is_index(path: str) -> bool:
    """Return whether a path given as --against is an index, or if nothing is there, looks like the name of one."""
    from lookalike.index.store import has_store
    from lookalike.io.remote import is_remote

    place = Path(path)
    if is_remote(path):
        return place.suffix == ".index"  # which is an error, as an index is on a local disk
    return has_store(place) or (place.suffix in ("", ".index") and not place.exists())


def only_index(paths: list[str] | None) -> str | None:
    """Return the one folder that --against names, if it does; raise an error for several."""
    if paths and len(paths) > 1:
        raise UsageError(f"--against can name one index, or files; got {' and '.join(paths)}.")
    return paths[0] if paths else None


def check_files(inputs: list[str], options: opt.CollectionOptions, removed: str | None, folder: bool = False) -> None:
    """Raise an error early for outputs that cannot be written, are inputs, or are the same file.

    With `folder`, the output can be a folder.
    """
    from lookalike.cli.folders import check_outside
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output

    check_outputs(options.output, inputs, removed, folder=folder)
    check_page(options.output.report, removed)
    if removed is not None:
        check_output(removed)
        if folder:
            check_outside("--removed", removed, options.output.out)
        check_apart_from_out(removed, options)
        check_apart([removed], inputs)


def check_apart_from_out(removed: str | None, options: opt.CollectionOptions) -> None:
    """Raise an error if both outputs are the same file."""
    from lookalike.io.inputs import same_place

    out = options.output.out
    if removed is not None and same_place(removed, out):
        raise UsageError(f"--out and --removed must be different files; got {out!r} twice.")


def dedup_locally(
    inputs: list[str],
    options: opt.CollectionOptions,
    choice: dict[str, Any],
    removed: str | None,
    columns: str | None,
    mark: bool,
    against: list[str] | None,
) -> None:
    """Write the kept documents, or all with `mark`, with their columns; write the removed ones to `removed`.

    `choice` has the keywords that say which documents to keep; `against` names files of earlier documents.
    """
    from lookalike import find
    from lookalike.cli.documents import open_documents, search_settings, start_run, summarize_documents
    from lookalike.cli.rows import check_outputs_of, write_rows
    from lookalike.cli.shared_rows import encoded_rows
    from lookalike.io.write import writing
    from lookalike.results.files import settings_of, tables_of

    out = options.output.out
    run = start_run(options)
    with sharing_in(options, run, **choice, removed=removed, columns=columns, mark=mark) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run, columns)
        outputs = check_outputs_of(source, out, inputs, marks_by(options.similarity.measure, against) if mark else ())
        earlier = open_documents(against, options.reading, run) if against else None
        result = find.dedup(source, against=earlier, **choice, **vars(options.which), **settings, **room.keywords)
        about = settings_of(result, options.reading.pages.compared)
        kept, marks = (None, result.marks) if mark else (result.keep, None)
        shared = encoded_rows(room.shards, source, options.output, about, run, kept, marks)

        def write() -> None:
            safe = options.output.excel_safe
            dropped = nullcontext() if removed is None else writing(tables_of(result, run), removed, about, safe, run)
            with run.stage("write", len(result.ids)) as tick, dropped:
                write_rows(outputs, options.output, about, run, tick, kept, marks, shared)
            write_page(result, options.output.report, run)

        room.finish(write)
    summarize_documents(result, run, [source], inputs, options)


def marks_by(measure: str, against: list[str] | None) -> tuple[str, ...]:
    """Return the names of the columns that mark rows compared by this measure, also with earlier ones."""
    from lookalike.measures import MEASURES
    from lookalike.measures.table import SHORT

    row = MEASURES.get(SHORT.get(measure, measure))
    value = "similarity" if row is None else row.kind
    return "duplicate_of", value, "cluster", "copies", *(("earlier",) if against else ())
