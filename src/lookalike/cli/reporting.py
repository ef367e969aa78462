"""`lookalike report`: a page that shows a result, from its file and the files of its items."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lookalike.baskets.ratings import Ratings
from lookalike.baskets.similar import named_sets
from lookalike.cli.job import check_page
from lookalike.cli.progress import TerminalRun, command_line
from lookalike.core.errors import UsageError
from lookalike.entities.fields import Field, as_fields
from lookalike.entities.pipeline import ids_of
from lookalike.io.documents import Source
from lookalike.io.inputs import check_apart
from lookalike.io.records import RecordSource
from lookalike.io.sets import SetSource
from lookalike.io.vectors import VectorSource
from lookalike.items.shingles import Shingles
from lookalike.report import write_report
from lookalike.report.items import ById, ItemsById, named_by_id, records_by_id, sets_by_id, texts_by_id, vectors_by_id
from lookalike.report.load import ResultFile


def show_report(path: str, given: dict[str, Any]) -> None:
    """One command, with the options it was given."""
    check_page(given["out"])
    check_apart([given["out"]], [path, *given["items"]])
    if len(given["items"]) > 2:
        raise UsageError("--items is given once, or twice for the two sides of a match.")
    run = TerminalRun(None, given["quiet"])
    result = ResultFile.read(path, run)
    items = ItemsById(*items_of(result, given, run)) if given["items"] else None
    with run.stage("report"):
        finding = replace(result.finding(items), made=command_line())
        write_report(finding, given["out"], given["title"])
    run.say(f"wrote {given['out']}, a page to be opened in a browser")


def items_of(result: ResultFile, given: dict[str, Any], run: TerminalRun) -> tuple[list[ById], Shingles | None]:
    """How the items of each side are looked up, by what the file tells that they are; and the shingles of texts."""
    told = result.settings
    what = told.get("items", "")
    kind = what.partition(" ")[0]

    def read(make: Callable[..., Any], *names: str, **more: Any) -> list[Any]:
        """Something made of each input, with these of the options and those that all have."""
        own = {name: given[name] for name in (*names, "format", "encoding")}
        return [make(one, **own, **more) for one in given["items"]]

    if result.has("left", "right", "score", "probability"):
        fields = as_fields(told["fields"].split(", ") if "fields" in told else result.fields)
        tables = [source.read(run) for source in read(RecordSource, "separator")]
        return [records(table, side, fields, given["id"]) for side, table in enumerate(tables)], None
    if told.get("command") == "baskets":
        return [ratings(data, told) for data in read(Ratings.read, "separator", run=run)], None
    if kind == "sets" or given["rows"] is not None:
        sources = read(SetSource, "rows", "separator", bag=told.get("measure") == "bag_jaccard")
        return [sets_by_id(source) for source in sources], None
    if kind in ("vectors", "codes") or given["vector"] is not None:
        sources = read(VectorSource, "vector", "id", bits=kind == "codes")
        return [vectors_by_id(source.read(run)) for source in sources], None
    pages = told.get("pages")
    html, article = given["html"] or pages is not None, given["article"] or pages == "article"
    shingles = Shingles.parse(given["shingle"]) if given["shingle"] is not None else None
    if shingles is None and ":" in kind:
        with suppress(UsageError, TypeError):
            shingles = Shingles.told(what)
    return [texts_by_id(source) for source in read(Source, "text", "id", html=html, article=article)], shingles


def records(table: pa.Table, side: int, fields: list[Field], id: str | None) -> ById:
    """Records of one side, by the columns of its fields."""
    first, _, second = (id or "").partition(":")
    name = (second or first) if side else first
    columns = [field.right if side else field.left for field in fields]
    return records_by_id(table, ids_of(table, name or None, "items"), columns)


def ratings(data: Ratings, told: Mapping[str, str]) -> ById:
    """The baskets of users, or of items."""
    by = told.get("by", "user")
    sets = named_sets(data, by, told.get("ratings", "all"), float(told["liked"]) if "liked" in told else None)
    return named_by_id(sets, data.user_ids if by == "user" else data.item_ids)
