"""Reads files into tables of records, with all their columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, argument, remedy
from lookalike.core.run import Run
from lookalike.io.csv import HEAD
from lookalike.io.formats import FORMATS, TABLES
from lookalike.io.json_types import all_columns
from lookalike.io.objects import unwrapped
from lookalike.io.part import COLONS, UTF8, Part
from lookalike.io.source import BATCH_BYTES, ItemSource
from lookalike.io.tables import as_text, conform, is_text, names_apart, not_utf8, reading
from lookalike.io.types import unified


class RecordSource(ItemSource):
    """A source of records: files, folders, globs, `-` (standard input) or Arrow tables.

    `separator` is the character between the cells of CSV, by default detected. With `on_error`
    "fail", a bad row or line raises an error that names it; with "skip", it is skipped and counted.
    """

    formats = TABLES

    def __init__(
        self,
        inputs: Any,  # one or several
        *,
        separator: str | None = None,
        format: str | None = None,
        on_error: str = "fail",
        on_bad_file: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        self.separator = check_separator(separator)
        super().__init__(inputs, format, on_error, on_bad_file, encoding, batch_bytes)

    def _find(self, given: list[Any]) -> list[Part]:
        return as_tables(super()._find(given), self.separator, "pass an Arrow table")

    def read(self, run: Run) -> pa.Table:
        """Read all rows of all inputs, with the columns that any of them has."""
        self._begin()
        tables = []
        with run.stage("read", len(self.parts)) as tick:
            for part in self.parts:
                tables.append(self._table(part, run))
                tick(1)
            self._end()
            schema = unified([(part, table.schema) for part, table in zip(self.parts, tables, strict=True)])
            return pa.concat_tables([conform(table, schema) for table in tables])

    def metadata(self) -> dict[bytes, bytes]:
        """Return the metadata of the first input, if its format has any."""
        return self._columns_of(self.parts[0]).metadata or {}

    def _table(self, part: Part, run: Run) -> pa.Table:
        with reading(part):
            schema = self._columns_of(part)
            if part.format == "jsonl":
                schema = all_columns(part, pa.schema([]), [], self.batch_bytes)
            names_apart(part, schema)
            schema = schema.remove_metadata()
            tables = [good.table for good in self._good_rows(part, schema, broken_texts, run=run)]
            # Readers of Parquet can yield `string` where the file declares `large_string`.
            alike = [conform(table.replace_schema_metadata(), schema) for table in tables]
            # The empty table keeps the columns when there are no rows.
            return pa.concat_tables([schema.empty_table(), *alike])


def read_table(given: Any, what: str, run: Run) -> pa.Table:
    """Return a table as it is, or make one from a file, a data frame or a list of dictionaries.

    `what` names the rows in the error for anything else.
    """
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, str | Path):
        return RecordSource(given).read(run)
    try:
        taken = given if isinstance(given, dict) else unwrapped(given)[0]
        return table_of(taken, what) if isinstance(taken, list) else pa.table(taken)
    except DataError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError, pa.ArrowException):
        raise UsageError(
            f"{what} must be a table, a data frame, a list of dictionaries or a path; got {type(given).__name__}."
        ) from None


def table_of(rows: list[dict[str, Any]], what: str) -> pa.Table:
    """Return dictionaries as a table with the keys of all of them; Arrow takes only those of the first."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in dict(row)):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in values if value is not None))
            raise DataError(f"{what} must have values of one type in each column; {name!r} has {kinds}.") from None
    return pa.table(columns)


def broken_texts(table: pa.Table) -> dict[int, str]:
    """Return the rows with text that is not valid UTF-8, and say in which column."""
    faults: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if is_text(column.type):
            try:
                as_text(column).validate(full=True)
            except pa.ArrowInvalid:
                faults = not_utf8(column, name) | faults
    return faults


def check_separator(given: str | None) -> str | None:
    """Return the separator of CSV cells as given, or raise an error if it is not allowed."""
    if given not in (None, COLONS) and (len(given) != 1 or not given.isascii() or given in '"\r\n'):
        raise UsageError(f"separator must be '::' or one ASCII character, not a quote or line end; got {given!r}.")
    return given


def as_tables(parts: list[Part], separator: str | None, instead: str = "") -> list[Part]:
    """Return the parts as tables with this cell separator; raise an error for any other format.

    `instead` says what to do about such an error in Python, where the format cannot be given.
    """
    tables = [as_table(part) for part in parts]
    for part in tables:
        if not FORMATS[part.format].columns:
            how = f"set {argument('format')} to one of {', '.join(TABLES)}"
            raise DataError(f"{part.name}: cannot infer the format from the name; {remedy(instead or how, how)}.")
    return [replace(part, separator=separator or part.separator) for part in tables]


def as_table(part: Part) -> Part:
    """Return the part, as a table if it is text with tabs or `::` in its first line (MovieLens)."""
    if part.format != "text":
        return part
    with reading(part), part.open() as stream:
        first: bytes = stream.read(HEAD).partition(b"\n")[0]
    if COLONS.encode() in first:
        return replace(part, format="csv", separator=COLONS)
    return replace(part, format="tsv") if b"\t" in first else part
