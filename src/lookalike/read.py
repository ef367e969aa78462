"""Files, folders, frames and iterables to batches of documents, a few megabytes at a time.

A `Source` yields the documents of its inputs as Arrow tables, all columns or just the id and the text, and
can be read twice: first to compare the texts, then to write out the rows that are kept. Bad rows
(a null text, invalid UTF-8, a broken line) are an error with file and row, or are left out and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import DataError, UsageError, choice
from lookalike.formats import FORMATS, READERS, Part, find_parts, json_blocks

BATCH_BYTES = 2 << 20
TEXT_NAMES = ("text", "content", "body", "document")
OWN = ("text", "files")  # formats without columns, which are given the columns `id` and `text` here
SKIP_HINT = "on_error='skip' (--on-error skip) leaves such rows out"


@dataclass
class Source:
    """Documents of files, folders, globs, `-` (standard input) or Arrow tables, in batches.

    `text` and `id` name columns; without them the text is the column `text`, `content`, `body` or
    `document`, or the only column of strings, and the id is the column `id`, or else the row's number from 0
    (also with id="-"). `on_error` is "fail" or "skip".
    """

    inputs: Any  # one of them or several
    text: str | None = None
    id: str | None = None
    format: str | None = None
    on_error: str = "fail"
    batch_bytes: int = BATCH_BYTES
    documents: int = field(default=0, init=False)  # read so far
    skipped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        choice("on_error", self.on_error, ("fail", "skip"))
        if self.format is not None:
            choice("format", self.format, FORMATS)
        given = [self.inputs] if isinstance(self.inputs, str | Path | pa.Table) else list(self.inputs)
        self.parts = find_parts(given, self.format)
        if not self.parts:
            raise UsageError("nothing to read: the input names no file.")

    def batches(self) -> Iterator[pa.Table]:
        """The documents as tables of two columns, `id` and `text`, from the start."""
        self.documents = self.skipped = 0
        for part in self.parts:
            for table in self._good(part, self._read(part, whole=False)):
                text, identity = self._columns(part, table.schema)
                first = self.documents - len(table)
                ids = pa.array(np.arange(first, self.documents)) if identity is None else table[identity]
                yield pa.table({"id": ids, "text": as_text(table[text])})

    def tables(self) -> Iterator[pa.Table]:
        """The same documents in the same order with all their columns."""
        self.documents = self.skipped = 0
        for part in self.parts:
            yield from self._good(part, self._read(part, whole=True))

    def lines(self) -> Iterator[list[bytes]]:
        """The same documents in the same order as lines of JSON, just as they stand in the files."""
        self.documents = self.skipped = 0
        for part in self.parts:
            for table in self._good(part, self._read(part, whole=False, lines=True)):
                yield table["line"].to_pylist()

    def is_jsonl(self) -> bool:
        """Whether all inputs are lines of JSON, so that `lines` can be asked for."""
        return all(part.format == "jsonl" for part in self.parts)

    def byte_size(self) -> int | None:
        """How many bytes the input files have, if they are files."""
        paths = [path for part in self.parts for path in part.paths]
        return sum(path.stat().st_size for path in paths) if paths else None

    def expected(self, texts: pa.LargeStringArray) -> int:
        """About how many documents there are, given the texts of the first batch."""
        counts = [part.row_count() for part in self.parts]
        if None not in counts:
            return sum(count for count in counts if count is not None)
        return max(len(texts), (self.byte_size() or 0) * len(texts) // max(1, int(texts.nbytes)))

    def _read(self, part: Part, whole: bool, lines: bool = False) -> Iterator[pa.Table]:
        """The tables of a part, `whole` or with the text and id alone."""
        try:
            if part.format == "jsonl":
                yield from self._read_json(part, whole, lines)
            else:
                columns = None if whole else lambda schema: [c for c in self._columns(part, schema) if c]
                yield from READERS[part.format](part, columns, self.batch_bytes)
        except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DataError(f"{part.name}: cannot be read as {part.format}: {reason}") from error

    def _read_json(self, part: Part, whole: bool, lines: bool) -> Iterator[pa.Table]:
        row = 0
        for table, faults in json_blocks(part, lambda s: self._columns(part, s), whole, lines, self.batch_bytes):
            for at, why in faults:
                self._bad_row(part, f"row {row + at + 1}", why)
            row += len(table) + len(faults)
            yield table

    def _good(self, part: Part, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The tables without their bad rows."""
        row = 0
        for table in tables:
            text, identity = self._columns(part, table.schema)
            faults = find_faults(table, text, identity)
            for at, why in faults.items():
                where = table["id"][at].as_py() if part.format == "files" else f"row {row + at + 1}"
                self._bad_row(part, where, why)
            row += len(table)
            if faults:
                table = table.take([at for at in range(len(table)) if at not in faults])
            if part.format in OWN:  # read as bytes, which now are known to be text
                table = table.set_column(table.schema.get_field_index(text), text, as_text(table[text]))
            self.documents += len(table)
            if len(table):
                yield table

    def _bad_row(self, part: Part, where: str, why: str) -> None:
        if self.on_error == "fail":
            raise DataError(f"{part.name}, {where}: {why}; {SKIP_HINT}.")
        self.skipped += 1

    def _columns(self, part: Part, schema: pa.Schema) -> tuple[str, str | None]:
        """Which columns are the text and the id; no id means the row's number."""
        own = part.format in OWN
        text = "text" if own else self._text_column(part, schema)
        if self.id == "-":
            return text, None
        if self.id is None or own:
            return text, "id" if "id" in schema.names else None
        if self.id not in schema.names:
            raise DataError(f"{part.name}: no column {self.id!r} for the id; it has {', '.join(schema.names)}.")
        return text, self.id

    def _text_column(self, part: Part, schema: pa.Schema) -> str:
        have = ", ".join(schema.names) or "none"
        if self.text is not None:
            if self.text not in schema.names:
                raise DataError(f"{part.name}: no column {self.text!r} for the text; it has {have}.")
            name = self.text
        else:
            likely = [n for n in TEXT_NAMES if n in schema.names] or [f.name for f in schema if is_text(f.type)]
            if not likely or (len(likely) > 1 and likely[0] not in TEXT_NAMES):
                raise DataError(f"{part.name}: which column is the text? Name it with --text; it has {have}.")
            name = likely[0]
        if not is_text(schema.field(name).type):
            raise DataError(f"{part.name}: column {name!r} holds {schema.field(name).type}, not text.")
        return name


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold texts; a column of nulls alone can."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in (*tests, pa.types.is_binary, pa.types.is_large_binary))


def as_text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """One array of texts with 64-bit offsets, which is how kernels take them."""
    return column.cast(pa.large_string()).combine_chunks()


def find_faults(table: pa.Table, text: str, identity: str | None) -> dict[int, str]:
    """The bad rows of a table and what is wrong with each."""
    faults: dict[int, str] = {}
    if identity is not None and table[identity].null_count:
        faults |= dict.fromkeys(_where(table[identity].is_null()), f"{identity} is null")
    if table[text].null_count:
        faults |= dict.fromkeys(_where(table[text].is_null()), f"{text} is null")
    try:
        as_text(table[text]).validate(full=True)
    except pa.ArrowInvalid:
        for at, value in enumerate(table[text].cast(pa.large_binary())):
            if value.is_valid:
                try:
                    value.as_py().decode()
                except UnicodeDecodeError as error:
                    faults[at] = f"{text} is not valid UTF-8 (byte {error.start})"
    return dict(sorted(faults.items()))


def _where(mask: pa.ChunkedArray) -> list[int]:
    rows: list[int] = pc.indices_nonzero(mask.combine_chunks()).to_pylist()
    return rows
