"""`lookalike match`: similar pairs of documents of two collections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.options import INPUT, option
from lookalike.cli.outputs import check_outputs, write_result
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import UsageError

if TYPE_CHECKING:
    from lookalike.io.documents import Source


@dataclass(frozen=True)
class TwoColumnOptions(opt.ColumnOptions):
    """Where documents are in two inputs, whose columns may have other names."""

    text: Annotated[str | None, option(help="The column of the text: COLUMN, or COLUMN:RIGHT'S.", panel=INPUT)] = None
    id: Annotated[str | None, option(help="That of the id, COLUMN[:RIGHT'S]; - numbers the rows.", panel=INPUT)] = None


@dataclass(frozen=True)
class TwoReadingOptions(opt.ReadingOptions):
    """How documents of two inputs are read."""

    columns: TwoColumnOptions


@dataclass(frozen=True)
class MatchOptions(opt.DocumentOptions):
    """The options on documents, with columns of two inputs."""

    reading: TwoReadingOptions


@command(
    "lookalike match new.jsonl archive.parquet -t 0.8 -o matches.parquet",
    "lookalike match posts.csv news.csv --text body:article --id number:url -o matches.csv",
)
def match(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="One collection.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The other.")],
    *,
    options: MatchOptions,
    max_pairs: opt.MaxPairs = 100_000_000,
) -> None:
    """List similar pairs of a document of LEFT and a document of RIGHT."""
    from lookalike.cli.documents import search_settings, summarize_documents
    from lookalike.find import find_matches

    check_outputs(options.output, [left, right])
    run = TerminalRun(**vars(options.running))
    settings = search_settings(options, run)
    sources = open_sides(left, right, options.reading, run)
    result = find_matches(*sources, max_pairs=max_pairs, **settings)
    write_result(result, options.output, run, options.reading.pages.compared)
    summarize_documents(result, run, sources, [left, right], options)


def open_sides(left: str, right: str, reading: TwoReadingOptions, run: TerminalRun) -> "tuple[Source, Source]":
    """Return the documents of the two inputs."""
    from lookalike.cli.documents import open_documents

    one, other = open_documents([left], reading, run), open_documents([right], reading, run)
    one.text, other.text = columns_of("text", reading.columns.text, one, other)
    one.id, other.id = columns_of("id", reading.columns.id, one, other)
    kinds = [{part.format for part in source.parts} for source in (one, other)]
    for source, own, others in zip((one, other), kinds, kinds[::-1], strict=True):
        if own == {"text"} and others == {"files"}:
            name = source.parts[0].name
            run.say(f"note: {name} is read as a document a line; --format files makes it one document")
    return one, other


def columns_of(option: str, given: str | None, *sources: "Source") -> list[str | None]:
    """Return the column that an option names for each side: title:headline, unless a column has that very name."""
    if given is None or ":" not in given:
        return [given] * len(sources)
    columns: list[str | None] = []
    for side, source in zip(given.partition(":")[::2], sources, strict=True):
        named = given in source.column_names()
        if not (named or side):
            raise UsageError(f"--{option} must be COLUMN or COLUMN:RIGHT'S; got {given!r}.")
        columns.append(given if named else side)
    return columns
