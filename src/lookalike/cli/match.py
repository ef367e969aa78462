"""The command `lookalike match`: similar pairs of documents from two collections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import INPUT, option
from lookalike.cli.outputs import check_outputs, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.cli.workdir import working_in
from lookalike.core.errors import UsageError

if TYPE_CHECKING:
    from lookalike.io.documents import Source


@dataclass(frozen=True)
class TwoColumnOptions(opt.ColumnOptions):
    """Where to find documents in two inputs, whose columns can have different names."""

    text: Annotated[
        str | None,
        option(metavar="COLUMN", help="Column that holds the text; LEFT:RIGHT if the names differ.", panel=INPUT),
    ] = None
    id: Annotated[
        str | None,
        option(
            metavar="COLUMN",
            help="Column that holds the id; LEFT:RIGHT if the names differ; - uses row numbers.",
            panel=INPUT,
        ),
    ] = None


@dataclass(frozen=True)
class TwoReadingOptions(opt.ReadingOptions):
    """How to read documents of two inputs."""

    columns: TwoColumnOptions


@dataclass(frozen=True)
class MatchOptions(opt.DocumentOptions):
    """The options of commands on documents, with the columns of two inputs."""

    reading: TwoReadingOptions
    work: opt.WorkOptions


@command(
    "lookalike match new.jsonl archive.parquet -t 0.8 -o matches.parquet",
    "lookalike match posts.csv news.csv --text body:article --id number:url -o matches.csv",
    "lookalike match quotes.jsonl books.parquet -m containment -t 0.7 --memory 2GB -o matches.parquet",
)
def match(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="First collection: a file, folder or glob.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="Second collection.")],
    *,
    options: MatchOptions,
    max_pairs: opt.MaxPairs = 100_000_000,
) -> None:
    """List all similar pairs of a document in LEFT and a document in RIGHT."""
    from lookalike.cli.documents import search_settings, start_run, summarize_documents
    from lookalike.find import find_matches

    check_outputs(options.output, [left, right])
    run = start_run(options)
    with working_in(options.work, options.output.out, run) as room:
        settings = search_settings(options, run)
        sources = open_sides(left, right, options.reading, run)
        result = find_matches(sources[0], sources[1], max_pairs=max_pairs, **settings, **room)
        write_result(result, options.output, run, options.reading.pages.compared)
    summarize_documents(result, run, sources, [left, right], options)


def open_sides(left: str, right: str, reading: TwoReadingOptions, run: TerminalRun) -> "tuple[Source, Source]":
    """Open the two inputs as documents."""
    from lookalike.cli.documents import open_documents

    one, other = open_documents([left], reading, run), open_documents([right], reading, run)
    one.text, other.text = columns_of("text", reading.columns.text, one, other)
    one.id, other.id = columns_of("id", reading.columns.id, one, other)
    kinds = [{part.format for part in source.parts} for source in (one, other)]
    for source, own, others in zip((one, other), kinds, kinds[::-1], strict=True):
        if own == {"text"} and others == {"files"}:
            name = source.parts[0].name
            run.say(f"note: {name} is read as one document per line; use --format files to read it as one document")
    return one, other


def columns_of(option: str, given: str | None, *sources: "Source") -> list[str | None]:
    """Return the column of each side: "a:b" names two, unless a column has that very name."""
    if given is None or ":" not in given:
        return [given] * len(sources)
    columns: list[str | None] = []
    for side, source in zip(given.partition(":")[::2], sources, strict=True):
        named = given in source.column_names()
        if not (named or side):
            raise UsageError(f"--{option} must be COLUMN or LEFT:RIGHT; got {given!r}.")
        columns.append(given if named else side)
    return columns
