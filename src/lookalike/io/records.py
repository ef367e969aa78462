"""Files to tables of records, with all their columns."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, all_left_out, choice
from lookalike.core.run import Run
from lookalike.io.csv import HEAD
from lookalike.io.documents import BATCH_BYTES
from lookalike.io.formats import READERS, schema_of
from lookalike.io.jsonl import all_columns, read_json
from lookalike.io.parts import COLONS, UTF8, Block, Part, find_parts
from lookalike.io.tables import as_text, bad_row, conform, is_text, names_apart, not_utf8, plain, reading

RECORD_FORMATS = ("parquet", "arrow", "jsonl", "csv", "tsv")


class RecordSource:
    """Records of files, folders, globs, `-` (standard input) or Arrow tables.

    `separator` is what stands between the cells of CSV, if not a comma. `on_error` is "fail" or "skip": a row with too
    few or too many cells, or a broken line of JSON, is an error with file and row, or left out and counted.
    """

    def __init__(
        self,
        inputs: Any,  # one of them or several
        *,
        separator: str | None = None,
        format: str | None = None,
        on_error: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        self.on_error = choice("on_error", on_error, ("fail", "skip"))
        if format is not None:
            choice("format", format, RECORD_FORMATS)
        if separator not in (None, COLONS) and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
            raise UsageError(f"separator must be one character of ASCII, and no quote, or '::'; got {separator!r}.")
        given = [inputs] if isinstance(inputs, str | Path | pa.Table) else list(inputs)
        found = find_parts(given, format, encoding=encoding)
        self.parts = [replace(as_table(part), separator=separator or as_table(part).separator) for part in found]
        for part in self.parts:
            if part.format in ("text", "files"):
                known = ", ".join(RECORD_FORMATS)
                raise DataError(f"{part.name}: its name does not tell what table it is; --format does, one of {known}.")
        if not self.parts:
            raise UsageError("nothing to read: the input names no file.")
        self.batch_bytes = batch_bytes
        self.skipped = 0

    def read(self, run: Run) -> pa.Table:
        """All rows of all inputs, with the columns that any of them has."""
        self.skipped = 0
        tables = []
        with run.stage("read", len(self.parts)) as tick:
            for part in self.parts:
                with reading(part):
                    tables.append(pa.concat_tables(list(self._tables(part))))
                tick(1)
            if self.skipped and not any(map(len, tables)):
                raise all_left_out(self.parts[0].name, self.skipped, self._first_fault)
            for part, table in zip(self.parts, tables, strict=True):
                names_apart(part, table.schema)
            schemas = [table.schema.remove_metadata() for table in tables]
            try:
                schema = pa.unify_schemas(schemas, promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise DataError(f"the inputs do not fit into one table: {' '.join(str(error).split())}.") from error
            return pa.concat_tables([conform(table.replace_schema_metadata(), schema) for table in tables])

    def _tables(self, part: Part) -> Iterator[pa.Table]:
        start = 0
        for block in self._blocks(part):
            table = plain(block.table)
            rows = np.delete(np.arange(len(table) + len(block.faults)), list(block.faults))
            wrong = broken_texts(table)
            faults = {**block.faults, **{int(rows[at]): why for at, why in wrong.items()}}
            if faults and self.on_error == "fail":
                row = min(faults)
                raise bad_row(part, f"{part.name}, row {start + row + 1}", faults[row])
            if faults and not self.skipped:
                self._first_fault = faults[min(faults)]
            self.skipped += len(faults)
            start += len(rows) + len(block.faults)
            yield table.take(np.delete(np.arange(len(table)), list(wrong))) if wrong else table

    def _blocks(self, part: Part) -> Iterator[Block]:
        if part.format == "jsonl":
            none = pa.schema([])
            schema = all_columns(part, none, [], self.batch_bytes)
            yield Block(schema.empty_table())
            yield from read_json(part, none, schema, self.batch_bytes)
        else:
            yield Block(schema_of(part).empty_table())  # a table without rows still has columns
            yield from READERS[part.format](part, None, self.batch_bytes)


def broken_texts(table: pa.Table) -> dict[int, str]:
    """The rows with bytes that are no text, and in which column."""
    faults: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if is_text(column.type):
            try:
                as_text(column).validate(full=True)
            except pa.ArrowInvalid:
                faults = not_utf8(column, name) | faults
    return faults


def as_table(part: Part) -> Part:
    """The part; lines of text as a table if they have tabs or two colons in them, as in the files of MovieLens."""
    if part.format != "text":
        return part
    with reading(part), part.open() as stream:
        first: bytes = stream.read(HEAD).partition(b"\n")[0]
    if COLONS.encode() in first:
        return replace(part, format="csv", separator=COLONS)
    return replace(part, format="tsv") if b"\t" in first else part
