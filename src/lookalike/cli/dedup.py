"""The command `lookalike dedup`: remove documents that are similar to one that is kept."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as opt
from lookalike.cli.app import GivenOptions, command
from lookalike.cli.options import flag, option
from lookalike.cli.outputs import check_outputs, check_page, write_page
from lookalike.cli.workdir import working_in
from lookalike.core.errors import DataError, UsageError, one_column

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.io.documents import Source

KEEP = ("lowest-id", "first", "longest")


@command(
    "lookalike dedup corpus.parquet -o clean.parquet --removed removed.parquet",
    "lookalike dedup crawl.jsonl.zst -t 0.7 -s word:5 --keep longest -o clean.jsonl",
    "lookalike dedup pages.parquet --article -s stop:3 --stop-words de -o clean.parquet",
    "lookalike dedup crawl.jsonl.zst --unit paragraph --copies 3 --least 5 --removed cut.csv -o clean.jsonl",
    "lookalike dedup corpus.parquet --unit span:50 -o clean.parquet",
    "lookalike dedup corpus.parquet --mark -o marked.parquet",
    "lookalike dedup today.jsonl --unit line --against seen.lines --update -o new.jsonl",
    "lookalike dedup today.jsonl --against seen.index --update -o new.jsonl",
    "lookalike dedup huge.jsonl.zst --memory 2GB -o clean.jsonl",
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
            metavar="(lowest-id|first|longest|COLUMN)",
            help="Similar document to keep: lowest-id, first, longest, or the one with the greatest value in COLUMN.",
            offer=KEEP,
        ),
    ] = "lowest-id",
    cut: opt.CutOptions,
    against: Annotated[
        str | None,
        option(
            metavar="INDEX",
            help="Also remove documents that are similar to one in this index; with --unit, also cut what is in the "
            "documents of earlier runs, kept in this folder.",
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
        dedup_in_texts(inputs, options, cut, given, against, update, removed, columns)
        return
    given.need(("copies", "least", "case"), "--unit")
    if uses_spark(options, removed):
        from lookalike.cli.on_spark import dedup_on_spark

        check_apart_from_out(removed, options)
        dedup_on_spark(inputs, options, given, keep, removed, columns)
        return
    check_files(inputs, options, removed)
    if against is not None:
        given.refuse(("mark",), "--against")
        from lookalike.cli.against import dedup_against

        dedup_against(inputs, options, given, against, update, removed, columns)
    elif update:
        raise UsageError("--update needs an index: name it with --against.")
    else:
        dedup_locally(inputs, options, keep, removed, columns, mark)


def check_files(inputs: list[str], options: opt.CollectionOptions, removed: str | None) -> None:
    """Raise an error early for outputs that cannot be written, are inputs, or are the same file."""
    from lookalike.io.inputs import check_apart
    from lookalike.io.write import check_output

    check_outputs(options.output, inputs, removed)
    check_page(options.output.report, removed)
    if removed is not None:
        check_output(removed)
        check_apart_from_out(removed, options)
        check_apart([removed], inputs)


def check_apart_from_out(removed: str | None, options: opt.CollectionOptions) -> None:
    """Raise an error if both outputs are the same file."""
    out = options.output.out
    if removed is not None and Path(removed).absolute() == Path(out).absolute():
        raise UsageError(f"--out and --removed must be different files; got {out!r} twice.")


def dedup_locally(
    inputs: list[str], options: opt.CollectionOptions, keep: str, removed: str | None, columns: str | None, mark: bool
) -> None:
    """Write the kept documents, or all with `mark`, with their columns; write the removed ones to `removed`."""
    from lookalike import find
    from lookalike.cli.documents import open_documents, search_settings, start_run, summarize_documents
    from lookalike.cli.rows import check_written, write_rows
    from lookalike.io.write import writing
    from lookalike.results.files import settings_of, tables_of

    out = options.output.out
    run = start_run(options)
    with working_in(options.work, out, run) as room:
        settings = search_settings(options, run)
        source = open_documents(inputs, options.reading, run, columns)
        check_written(source, out, marks_by(options.similarity.measure) if mark else ())
        best = keep if keep in KEEP else column_of(source, keep)
        result = find.dedup(source, keep=best, **settings, **room)
        about = settings_of(result, options.reading.pages.compared)
        safe = options.output.excel_safe
        dropped = nullcontext() if removed is None else writing(tables_of(result, run), removed, about, safe, run)
        kept, marks = (None, result.marks) if mark else (result.keep, None)
        with run.stage("write", len(result.ids)) as tick, dropped:
            write_rows(source, options.output, about, run, tick, kept, marks)
        write_page(result, options.output.report, run)
    summarize_documents(result, run, [source], inputs, options)


def marks_by(measure: str) -> tuple[str, ...]:
    """Return the names of the columns that mark rows compared by this measure."""
    from lookalike.measures import MEASURES
    from lookalike.measures.table import SHORT

    row = MEASURES.get(SHORT.get(measure, measure))
    return "duplicate_of", "similarity" if row is None else row.kind, "cluster", "copies"


def column_of(source: "Source", name: str) -> "pa.ChunkedArray":
    """Return a column of all documents; strings become numbers if all of them are, as in CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    for table in source.with_columns([name]).tables():
        if name not in table.schema.names:
            one_column(source.column_names(), name, "the input has", " to keep by")
        found.append(table[name])
    values = pa.chunked_array([chunk for column in found for chunk in column.chunks], found[0].type)
    if pa.types.is_nested(values.type):
        raise DataError(f"column {name!r} holds {values.type}, which has no order to keep the greatest by.")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            return pc.if_else(pc.equal(values, ""), None, values).cast(pa.float64())
        except pa.ArrowInvalid:
            return values
    return values
