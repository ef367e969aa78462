"""Reads ratings: rows of a user, an item and, optionally, a rating and a time.

A `RatingSource` reads its inputs block by block and keeps only numbers: the positions of users and
items among their ids, the rating, and the time as a number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, one_column
from lookalike.core.run import Run
from lookalike.io.cells import NUMBER, as_numbers, as_seconds, as_valid_text, is_date
from lookalike.io.csv import csv_cells, delimiter_of, frame_index
from lookalike.io.elements import Ids
from lookalike.io.formats import TABLES
from lookalike.io.jsonl import simple_types
from lookalike.io.part import UTF8, Part
from lookalike.io.records import as_tables, check_separator
from lookalike.io.source import BATCH_BYTES, Good, ItemSource, id_column
from lookalike.io.tables import empty_cells, find_faults, is_text, plain, reading

# Usual names of columns, ignoring case, blanks, dashes and underscores.
USUAL = {
    "user": "user userid customer customerid member memberid client clientid visitor visitorid reader account person",
    "item": "item itemid movie movieid film filmid product productid article articleid book bookid isbn asin sku song"
    " track artist title",
    "rating": "rating ratings stars score grade",
    "time": "time timestamp date datetime",
}
KINDS_OF_TIME = {
    True: "a date such as 2024-05-31",
    False: "a number",
    None: "a number, or a date such as 2024-05-31",
}
VALUE, TIME = "\0value", "\0time"  # added columns: ratings and times as numbers
HEADLESS = ("user", "item", "rating", "time")  # the columns of a file without a header


@dataclass(frozen=True)
class RatingColumns:
    """The columns of the user and the item, and of the rating and the time if there are any."""

    user: str
    item: str
    rating: str | None = None
    time: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns in use."""
        return [name for name in (self.user, self.item, self.rating, self.time) if name is not None]


class RatingRows(NamedTuple):
    """All rows in file order: positions among the ids, ratings and times."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray | None
    times: np.ndarray | None
    user_ids: pa.Array
    item_ids: pa.Array


class RatingSource(ItemSource):
    """A source of ratings: files, folders, globs, `-` (standard input) or Arrow tables.

    `user`, `item`, `rating` and `time` name columns; "-" means that there is no rating, or no time.
    By default usual names are recognized; failing that, user and item are the first two columns.
    CSV or TSV with a number in its first line has no header: its columns are those four in order.
    """

    formats = TABLES
    skipping = "Ratings.read"

    def __init__(
        self,
        inputs: Any,  # one or several
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        separator: str | None = None,
        format: str | None = None,
        on_error: str = "fail",
        on_bad_file: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        given = {"user": user, "item": item, "rating": rating, "time": time}
        self.given = {what: name for what, name in given.items() if name is not None}
        for what, name in self.given.items():
            if not name or (name == "-" and what in ("user", "item")):
                raise UsageError(f"{what} must name a column; got {name!r}.")
        named = [name for name in self.given.values() if name != "-"]
        if len(set(named)) < len(named):
            raise UsageError(f"user, item, rating and time must be different columns; got {', '.join(named)}.")
        self.separator = check_separator(separator)
        self.columns: dict[str, str] = {}  # the names of the columns in the first input
        self.dates: bool | None = None  # whether times are dates, which the first one shows
        super().__init__(inputs, format, on_error, on_bad_file, encoding, batch_bytes)

    def _find(self, given: list[Any]) -> list[Part]:
        return as_tables(super()._find(given), self.separator)

    def read(self, run: Run) -> RatingRows:
        """Read all good rows."""
        self._begin()
        self.dates = None
        users, items = Ids(), Ids()
        values: list[np.ndarray] = []
        times: list[np.ndarray] = []
        with run.stage("read", len(self.parts)) as tick:
            parts = [with_names(part, {*self.given.values()}) for part in self.parts]
            known = [(part, self._columns(part)) for part in parts if self._columns_of(part).names]
            check_alike(known)
            self.columns = {what: name for what, name in vars(known[0][1]).items() if name} if known else {}
            for part, columns in known:
                with reading(part):
                    for table in (good.table for good in self._rated(part, columns)):
                        for ids, name in ((users, columns.user), (items, columns.item)):
                            ids.add(table[name].combine_chunks(), np.ones(len(table), np.int64), whole=False)
                        values.append(table[VALUE].to_numpy())
                        times.append(table[TIME].to_numpy())
                tick(1)
            self._end()
            user_ids, user = users.gather()
            item_ids, item = items.gather()
        first = known[0][1] if known else RatingColumns("user", "item")
        value = None if first.rating is None else np.concatenate([np.zeros(0), *values])
        time = None if first.time is None else np.concatenate([np.zeros(0), *times])
        return RatingRows(user, item, value, time, user_ids, item_ids)

    def _columns(self, part: Part) -> RatingColumns:
        """Choose columns as given, by usual name, or else the first two for user and item."""
        schema = self._columns_of(part)
        found = {what: name for what, name in self.given.items() if name != "-"}
        for what, name in found.items():
            one_column(schema.names, name, f"{part.name}:", f" for the {what}")
        taken = ("", frame_index(part, schema), *found.values())
        free = [name for name in schema.names if name not in taken and schema.names.count(name) == 1]
        for what in (what for what in HEADLESS if what not in self.given):
            usual = USUAL[what].split()
            likely = [name for name in free if simple_name(name) in usual]
            if likely:
                found[what] = min(likely, key=lambda name: usual.index(simple_name(name)))
                free.remove(found[what])
        for what in (what for what in ("user", "item") if what not in found):
            if not free:
                have = ", ".join(schema.names) or "none"
                cells = [mark for mark in ";|\t" if mark in have]
                hint = (
                    f"Does it need {argument('separator', cells[0])}?" if cells else f"Name it with {argument(what)}."
                )
                raise DataError(f"{part.name}: no column for the {what}; it has {have}. {hint}")
            found[what] = free.pop(0)
        for what in ("user", "item"):
            id_column(part, schema, found[what], f" for the {what}")
        return RatingColumns(**found)

    def _rated(self, part: Part, columns: RatingColumns) -> Iterator[Good]:
        """Yield the good rows of a part, with the columns VALUE and TIME."""
        comma = part.format in ("csv", "tsv") and delimiter_of(part) != ","  # then numbers can have one
        measure, faults = partial(self._measured, columns, comma), partial(self._faults, columns)
        return self._good_rows(part, self._wanted(part, columns), faults, measure)

    def _wanted(self, part: Part, columns: RatingColumns) -> pa.Schema:
        """Return the columns; in JSON lines numbers are floats: a later one can be a fraction."""
        schema = self._columns_of(part)
        kinds = simple_types(schema, lists=True) if part.format == "jsonl" else schema
        fields = [kinds.field(name) for name in columns.names]
        if part.format == "jsonl":
            numbers = [name for name in (columns.rating, columns.time) if name and _is_number(schema.field(name).type)]
            fields = [field.with_type(pa.float64()) if field.name in numbers else field for field in fields]
        return pa.schema(fields)

    def _measured(self, columns: RatingColumns, comma: bool, table: pa.Table) -> pa.Table:
        """Return the table with plain types, and ratings and times as numbers, nan if invalid."""
        table = plain(table)
        value = time = np.zeros(len(table))
        if columns.time is not None and len(table):
            if self.dates is None:
                self.dates = is_date(table[columns.time])
            time = as_seconds(table[columns.time]) if self.dates else as_numbers(table[columns.time])
        if columns.rating is not None:
            value = as_numbers(table[columns.rating], comma)
        return table.append_column(VALUE, pa.array(value)).append_column(TIME, pa.array(time))

    def _faults(self, columns: RatingColumns, table: pa.Table) -> dict[int, str]:
        """Return the bad rows of a table, each with its fault."""
        faults: dict[int, str] = {}
        if columns.time is not None:
            faults |= not_numbers(table, columns.time, TIME, f"{columns.time} must be {KINDS_OF_TIME[self.dates]}")
        if columns.rating is not None:
            faults |= not_numbers(table, columns.rating, VALUE, f"{columns.rating} must be a number")
        for name in (columns.item, columns.user):
            faults |= find_faults(table, name)
            if is_text(table[name].type):
                faults |= empty_cells(table[name], name)
        return faults


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def with_names(part: Part, given: set[str]) -> Part:
    """Return the part, with column names if its first line has a number and no name given."""
    if part.format not in ("csv", "tsv"):
        return part
    with reading(part):
        cells = csv_cells(part)
    if not any(NUMBER.fullmatch(cell.strip()) for cell in cells) or given & {*cells}:
        return part
    others = (f"column {place}" for place in range(len(HEADLESS) + 1, len(cells) + 1))
    return replace(part, names=(*HEADLESS[: len(cells)], *others))


def simple_name(name: str) -> str:
    """Return a column's name without case, blanks, dashes and underscores."""
    return "".join(character for character in name.casefold() if character.isalnum())


def check_alike(known: list[tuple[Part, RatingColumns]]) -> None:
    """Raise an error if some inputs have ratings, or times, and others do not."""
    for what in ("rating", "time"):
        have = {getattr(columns, what) is not None: part.name for part, columns in known}
        if len(have) > 1:
            got = f"{have[True]} has one, {have[False]} has none; {argument(what, '-')} ignores it"
            raise DataError(f"either all inputs must have a {what}, or none; {got}.")


def not_numbers(table: pa.Table, name: str, measured: str, rule: str) -> dict[int, str]:
    """Return the rows without a number, each with the rule and the value found."""
    bad = np.flatnonzero(~np.isfinite(table[measured].to_numpy()))
    cells = table[name].take(pa.array(bad))
    got = as_valid_text(cells) if is_text(cells.type) else cells
    return {int(at): f"{rule}; got {value!r}" for at, value in zip(bad, got.to_pylist(), strict=True)}
