"""The command `lookalike report`: a page that shows a result, made from its file and its items."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli import options as opt
from lookalike.cli.app import command
from lookalike.cli.log import command_line
from lookalike.cli.options import option
from lookalike.cli.outputs import check_page
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.baskets.ratings import Ratings
    from lookalike.entities.fields import Field
    from lookalike.items.shingles import Shingles
    from lookalike.report.items import ById
    from lookalike.report.load import ResultFile


@dataclass(frozen=True, kw_only=True)
class ShownItemOptions:
    """How to read the items of a result, whatever their kind."""

    text: opt.Text = None
    id: opt.Id = None
    rows: opt.Rows = None
    vector: opt.VectorColumn = None
    shingle: Annotated[
        str | None,
        option("--shingle", "-s", metavar="UNIT:K", help="Shingles that were compared, if RESULT does not name them."),
    ] = None
    pages: opt.PageOptions
    separator: opt.CsvSeparator = None
    format: opt.Format = None
    encoding: opt.Encoding = "utf-8"


@command(
    "lookalike report pairs.parquet --items corpus.parquet --out report.html",
    "lookalike report removed.csv --items crawl.jsonl.gz --text body -s word:5",
    "lookalike report matches.parquet --items a.csv --items b.csv",
    "lookalike report near.parquet --items embeddings.npy --title 'Near embeddings'",
)
def report(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="File of pairs, matches, clusters or removed items.")],
    *,
    out: Annotated[str, option("--out", "-o", metavar="PAGE", help="Web page to write.")] = "report.html",
    items: Annotated[
        list[str] | None,
        option(
            metavar="INPUT",
            help="Input that was compared; for several files of one collection give a folder or a quoted glob; give "
            "--items twice only for the two sides of a match.",
        ),
    ] = None,
    title: Annotated[str | None, option(metavar="TEXT", help="Title of the page.")] = None,
    reading: ShownItemOptions,
    quiet: opt.Quiet = False,
) -> None:
    """Write a web page that shows the items found side by side, and how reliable the result is."""
    from lookalike.io.inputs import check_apart
    from lookalike.report import write_report
    from lookalike.report.items import ItemsById
    from lookalike.report.load import ResultFile

    inputs = items or []
    check_page(out)
    check_apart([out], [result, *inputs])
    if len(inputs) > 2:
        raise UsageError(
            "--items can be given once, or twice for the two sides of a match; for several files of one collection "
            "give a folder or a quoted glob."
        )
    run = TerminalRun(None, quiet)
    found = ResultFile.read(result, run)
    shown = ItemsById(*items_of(found, inputs, reading, run)) if inputs else None
    with run.stage("report"):
        write_report(replace(found.finding(shown), made=command_line()), out, title)
    run.say(f"wrote {out}; open it in a browser")


def items_of(
    result: "ResultFile", inputs: list[str], reading: ShownItemOptions, run: TerminalRun
) -> "tuple[list[ById], Shingles | None]":
    """Return a lookup of items by id for each side, and the shingles of texts."""
    from lookalike.baskets.ratings import Ratings
    from lookalike.entities.fields import as_fields, split_fields
    from lookalike.io.documents import Source
    from lookalike.io.records import RecordSource
    from lookalike.io.sets import SetSource
    from lookalike.io.vectors import VectorSource
    from lookalike.report.items import sets_by_id, texts_by_id, vectors_by_id

    settings = result.settings
    kind = settings.get("items", "").partition(" ")[0]

    def read(make: Callable[..., Any], **options: Any) -> list[Any]:
        """Call `make` for each input, with these options and those that all kinds share."""
        return [make(one, format=reading.format, encoding=reading.encoding, **options) for one in inputs]

    if result.has("left", "right", "score", "probability"):
        fields = as_fields(split_fields(settings["fields"]) if "fields" in settings else result.fields)
        tables = [source.read(run) for source in read(RecordSource, separator=reading.separator)]
        return [records(table, side, fields, reading.id) for side, table in enumerate(tables)], None
    if settings.get("command") == "baskets":
        return [ratings(data, settings) for data in read(Ratings.read, separator=reading.separator, run=run)], None
    if kind == "sets" or reading.rows is not None:
        bag = settings.get("measure") == "bag_jaccard"
        sources = read(SetSource, rows=reading.rows, separator=reading.separator, bag=bag)
        return [sets_by_id(source) for source in sources], None
    if kind in ("vectors", "codes") or reading.vector is not None:
        sources = read(VectorSource, vector=reading.vector, id=reading.id, bits=kind == "codes")
        return [vectors_by_id(source.read(run)) for source in sources], None
    pages = settings.get("pages")
    html, article = reading.pages.html or pages is not None, reading.pages.article or pages == "article"
    sources = read(Source, text=reading.text, id=reading.id, html=html, article=article)
    return [texts_by_id(source) for source in sources], shingles_of(reading.shingle, settings)


def shingles_of(shingle: str | None, settings: Mapping[str, str]) -> "Shingles | None":
    """Return the shingles of the comparison: those given, or else those that the file names."""
    from lookalike.items.shingles import Shingles

    if shingle is not None:
        return Shingles.parse(shingle)
    what = settings.get("items", "")
    if ":" in what.partition(" ")[0]:
        with suppress(UsageError, TypeError):
            return Shingles.from_str(what)
    return None


def records(table: "pa.Table", side: int, fields: "list[Field]", id: str | None) -> "ById":
    """Return a lookup of the records of one side, with the columns of its fields."""
    from lookalike.entities.reading import id_column, id_columns, ids_of
    from lookalike.report.items import records_by_id

    columns = [field.right if side else field.left for field in fields]
    return records_by_id(table, ids_of(table, id_column(table, id_columns(id)[side]), "items"), columns)


def ratings(data: "Ratings", settings: Mapping[str, str]) -> "ById":
    """Return a lookup of the baskets of users or of items."""
    from lookalike.baskets.similar import named_sets
    from lookalike.report.items import named_by_id

    by = settings.get("by", "user")
    liked = float(settings["liked"]) if "liked" in settings else None
    sets = named_sets(data, by, settings.get("ratings", "all"), liked)
    return named_by_id(sets, data.user_ids if by == "user" else data.item_ids)
