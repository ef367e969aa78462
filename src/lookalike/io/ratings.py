"""Files to ratings: rows of a user, an item and, where there are such, a rating and a time.

A `RatingSource` reads its inputs block by block and keeps numbers: the places of users and items among their ids, the
rating, and the time as a number. Bad rows are an error with file and row, or are left out and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, all_left_out, one_column
from lookalike.core.run import Run
from lookalike.io.cells import NUMBER, as_numbers, as_seconds, as_valid_text, is_date, json_kinds, read_json_rows
from lookalike.io.csv import csv_cells, delimiter_of, frame_index
from lookalike.io.documents import BATCH_BYTES
from lookalike.io.elements import Ids
from lookalike.io.formats import READERS, schema_of
from lookalike.io.json_lists import good_numbers
from lookalike.io.parts import UTF8, Block, Part
from lookalike.io.records import RecordSource
from lookalike.io.tables import bad_row, find_faults, is_text, plain, plain_schema, reading

# What columns are usually called, but for case, blanks and underscores.
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
HEADLESS = ("user", "item", "rating", "time")  # the columns of a file that does not name them


@dataclass(frozen=True)
class Columns:
    """Which columns name the user, the item, the rating and the time, if there are the last two."""

    user: str
    item: str
    rating: str | None = None
    time: str | None = None

    @property
    def names(self) -> list[str]:
        """Those that there are."""
        return [name for name in (self.user, self.item, self.rating, self.time) if name is not None]


class Rows(NamedTuple):
    """All rows in the order of the files: places among the ids, ratings and times."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray | None
    times: np.ndarray | None
    user_ids: pa.Array
    item_ids: pa.Array


class RatingSource:
    """Ratings of files, folders, globs, `-` (standard input) or Arrow tables.

    `user`, `item`, `rating` and `time` name columns; "-" says that there is no rating, or no time. By default they are
    told by their usual names, and user and item are else the first two columns. CSV or TSV whose first line has a
    number in it has no names: its columns are user, item, rating, time.
    """

    def __init__(
        self,
        inputs: Any,  # one of them or several
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        separator: str | None = None,
        format: str | None = None,
        on_error: str = "fail",
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
        how: Any = {"separator": separator, "format": format, "on_error": on_error, "encoding": encoding}
        self.parts = RecordSource(inputs, **how).parts
        self.on_error = on_error
        self.batch_bytes = batch_bytes
        self.skipped = 0
        self.columns: dict[str, str] = {}  # of the first input: what each is called
        self.dates: bool | None = None  # whether times are dates, which the first one tells

    def read(self, run: Run) -> Rows:
        """All good rows."""
        self.skipped, self.dates = 0, None
        users, items = Ids(), Ids()
        values: list[np.ndarray] = []
        times: list[np.ndarray] = []
        with run.stage("read", len(self.parts)) as tick:
            looked = [self._look(part) for part in self.parts]
            known = [(part, schema, self._columns(part, schema)) for part, schema in looked if schema.names]
            check_alike(known)
            self.columns = {what: name for what, name in vars(known[0][2]).items() if name} if known else {}
            for part, schema, columns in known:
                with reading(part):
                    for table, some_values, some_times in self._good_rows(part, schema, columns):
                        for ids, name in ((users, columns.user), (items, columns.item)):
                            ids.add(table[name].combine_chunks(), np.ones(len(table), np.int64), whole=False)
                        values.append(some_values)
                        times.append(some_times)
                tick(1)
            if self.skipped and not any(map(len, values)):
                raise all_left_out(self.parts[0].name, self.skipped, self._first_fault)
            user_ids, user = users.gather()
            item_ids, item = items.gather()
        first = known[0][2] if known else Columns("user", "item")
        value = None if first.rating is None else np.concatenate([np.zeros(0), *values])
        time = None if first.time is None else np.concatenate([np.zeros(0), *times])
        return Rows(user, item, value, time, user_ids, item_ids)

    def _look(self, part: Part) -> tuple[Part, pa.Schema]:
        """The part, with names for its columns if it has none, and all its columns; an empty file has none."""
        with reading(part):
            if part.format in ("csv", "tsv"):
                cells = csv_cells(part)
                if any(NUMBER.fullmatch(cell.strip()) for cell in cells) and not {*self.given.values()} & {*cells}:
                    others = (f"column {place}" for place in range(len(HEADLESS) + 1, len(cells) + 1))
                    part = replace(part, names=(*HEADLESS[: len(cells)], *others))
            return part, json_kinds(part, self.batch_bytes) if part.format == "jsonl" else plain_schema(schema_of(part))

    def _columns(self, part: Part, schema: pa.Schema) -> Columns:
        """Those that were named, those with usual names, and else the first for user and item."""
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
                hint = f"Are its cells apart by --separator {cells[0]!r}?" if cells else f"Name it with --{what}."
                raise DataError(f"{part.name}: no column for the {what}; it has {have}. {hint}")
            found[what] = free.pop(0)
        for what in ("user", "item"):
            if pa.types.is_nested(schema.field(found[what]).type):
                kind = schema.field(found[what]).type
                raise DataError(f"{part.name}: column {found[what]!r} for the {what} holds {kind}, which is no id.")
        return Columns(**found)

    def _good_rows(
        self, part: Part, schema: pa.Schema, columns: Columns
    ) -> Iterator[tuple[pa.Table, np.ndarray, np.ndarray]]:
        """Tables without the bad rows, with their ratings and times."""
        start = 0
        comma = part.format in ("csv", "tsv") and delimiter_of(part) != ","  # which numbers may have, then
        for block in self._blocks(part, schema, columns):
            table = plain(block.table)
            rows = good_numbers(block)
            found, value, time = self._faults(table, columns, comma)
            faults = {**block.faults, **{int(rows[at]): why for at, why in found.items()}}
            if faults and self.on_error == "fail":
                row = min(faults)
                raise bad_row(part, f"{part.name}, row {start + row + 1}", faults[row])
            if faults and not self.skipped:
                self._first_fault = faults[min(faults)]
            self.skipped += len(faults)
            start += len(rows) + len(block.faults)
            good = np.delete(np.arange(len(table)), list(found))
            yield table.take(good) if found else table, value[good], time[good]

    def _blocks(self, part: Part, schema: pa.Schema, columns: Columns) -> Iterator[Block]:
        if part.format != "jsonl":
            return READERS[part.format](part, columns.names, self.batch_bytes)
        kinds = {name: schema.field(name).type for name in columns.names}
        for name in (columns.rating, columns.time):
            if name is not None and pa.types.is_integer(kinds[name]):
                kinds[name] = pa.float64()  # a later one may be no integer
        return read_json_rows(part, pa.schema(list(kinds.items())), self.batch_bytes)

    def _faults(self, table: pa.Table, columns: Columns, comma: bool) -> tuple[dict[int, str], np.ndarray, np.ndarray]:
        """The bad rows of a table and what is wrong with each; ratings; times."""
        faults: dict[int, str] = {}
        value = time = np.zeros(len(table))
        if columns.time is not None and len(table):
            column = table[columns.time]
            if self.dates is None:
                self.dates = is_date(column)
            time = as_seconds(column) if self.dates else as_numbers(column)
            faults |= not_numbers(column, time, f"{columns.time} must be {KINDS_OF_TIME[self.dates]}")
        if columns.rating is not None:
            value = as_numbers(table[columns.rating], comma)
            faults |= not_numbers(table[columns.rating], value, f"{columns.rating} must be a number")
        for name in (columns.item, columns.user):
            faults |= find_faults(table, name, None)
            if is_text(table[name].type):
                empty = pc.equal(pc.binary_length(table[name]), 0).fill_null(False)
                faults |= {int(at): f"{name} is empty" for at in np.flatnonzero(np.asarray(empty))}
        return faults, value, time


def simple_name(name: str) -> str:
    """A column's name without case, blanks, dashes and underscores."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def check_alike(known: list[tuple[Part, pa.Schema, Columns]]) -> None:
    """All inputs have ratings, or none; and so for times."""
    for what in ("rating", "time"):
        have = {getattr(columns, what) is not None: part.name for part, _, columns in known}
        if len(have) > 1:
            hint = f"--{what} - leaves it out"
            raise DataError(f"inputs must all have a {what} or none; {have[True]} has one, {have[False]} none; {hint}.")


def not_numbers(column: pa.ChunkedArray, numbers: np.ndarray, rule: str) -> dict[int, str]:
    """The rows without a number, and what is there instead."""
    bad = np.flatnonzero(~np.isfinite(numbers))
    cells = column.take(pa.array(bad))
    got = as_valid_text(cells) if is_text(column.type) else cells
    return {int(at): f"{rule}; got {value!r}" for at, value in zip(bad, got.to_pylist(), strict=True)}
