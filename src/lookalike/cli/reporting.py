"""`lookalike report`: a page that shows a result, from its file and the files of its items."""

from typing import Any

from lookalike.baskets.ratings import Ratings
from lookalike.baskets.similar import named_sets
from lookalike.cli.job import check_page
from lookalike.cli.progress import TerminalRun
from lookalike.entities.fields import Field
from lookalike.entities.resolving import as_fields, ids_of
from lookalike.errors import UsageError
from lookalike.item_files import ById, Items, named_by_id, records_by_id, sets_by_id, texts_by_id, vectors_by_id
from lookalike.read import Source
from lookalike.record_files import RecordSource
from lookalike.report import write_report
from lookalike.result_files import ResultFile
from lookalike.set_files import SetSource
from lookalike.shingles import Shingles
from lookalike.vector_files import VectorSource


def show_report(path: str, given: dict[str, Any]) -> None:
    """One command, with the options it was given."""
    check_page(given["out"], path)
    if len(given["items"]) > 2:
        raise UsageError("--items is given once, or twice for the two sides of a match.")
    run = TerminalRun(None, given["quiet"])
    result = ResultFile.read(path, run)
    items = Items(*items_of(result, given, run)) if given["items"] else None
    with run.stage("report"):
        write_report(result.finding(items), given["out"], given["title"])
    run.say(f"wrote {given['out']}, a page to be opened in a browser")


def items_of(result: ResultFile, given: dict[str, Any], run: TerminalRun) -> tuple[list[ById], Shingles | None]:
    """How the items of each side are looked up, by what the file tells that they are; and the shingles of texts."""
    told = result.settings.get("items", "")
    inputs: list[str] = given["items"]
    kind = told.partition(" ")[0]
    if result.has("left", "right", "score", "probability"):
        fields = as_fields(result.settings["fields"].split(", ") if "fields" in result.settings else result.fields)
        return [records(one, side, fields, given, run) for side, one in enumerate(inputs)], None
    if result.settings.get("command") == "baskets":
        return [ratings(one, result, given, run) for one in inputs], None
    if kind == "sets" or given["rows"] is not None:
        own = {name: given[name] for name in ("rows", "separator", "format")}
        sets = [SetSource(one, bag=result.settings.get("measure") == "bag_jaccard", **own) for one in inputs]
        return [sets_by_id(one) for one in sets], None
    if kind in ("vectors", "codes") or given["vector"] is not None:
        own = {"vector": given["vector"], "id": given["id"], "format": given["format"], "bits": kind == "codes"}
        return [vectors_by_id(VectorSource(one, **own).read(run)) for one in inputs], None
    pages = result.settings.get("pages")
    html, article = given["html"] or pages is not None, given["article"] or pages == "article"
    own = {"text": given["text"], "id": given["id"], "format": given["format"], "html": html, "article": article}
    shingles = Shingles.parse(given["shingle"]) if given["shingle"] is not None else None
    if shingles is None and ":" in kind:
        shingles = Shingles.told(told)
    return [texts_by_id(Source(one, **own)) for one in inputs], shingles


def records(path: str, side: int, fields: list[Field], given: dict[str, Any], run: TerminalRun) -> ById:
    """Records of one side, by the columns of its fields."""
    table = RecordSource(path, separator=given["separator"], format=given["format"]).read(run)
    first, _, second = (given["id"] or "").partition(":")
    name = (second or first) if side else first
    columns = [field.right if side else field.left for field in fields]
    return records_by_id(table, ids_of(table, name or None, "items"), columns)


def ratings(path: str, result: ResultFile, given: dict[str, Any], run: TerminalRun) -> ById:
    """The baskets of users, or of items."""
    data = Ratings.read([path], separator=given["separator"], format=given["format"], run=run)
    told = result.settings
    by = told.get("by", "user")
    sets = named_sets(data, by, told.get("ratings", "all"), float(told["liked"]) if "liked" in told else None)
    return named_by_id(sets, data.user_ids if by == "user" else data.item_ids)
