"""Files, folders, frames and iterables to batches of documents, a few megabytes at a time.

A `Source` yields the documents of its inputs as Arrow tables, all columns or just the id and the text, and
can be read twice: first to compare the texts, then to write out the rows that are kept. Bad rows
(a null text, invalid UTF-8, a broken line) are an error with file and row, or are left out and counted.
Web pages may be in any encoding; what is compared is the text in them, what is written out the pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, all_left_out, choice, one_column
from lookalike.io.csv import frame_index
from lookalike.io.formats import FORMATS, READERS, schema_of
from lookalike.io.jsonl import all_columns, first_columns, read_json
from lookalike.io.parts import PAGE_SUFFIXES, UTF8, Block, Part, find_parts, format_of
from lookalike.io.tables import (
    as_text,
    bad_row,
    conform,
    find_faults,
    is_binary,
    is_text,
    names_apart,
    plain,
    plain_schema,
    plain_type,
    reading,
)
from lookalike.items.pages import article_text, decode_page, need_selectolax, visible_text

BATCH_BYTES = 4 << 20
TEXT_NAMES = ("text", "content", "body", "document")
HTML_HINT = "html=True (--html) reads pages in any encoding"
MARKUP = 10  # bytes of a page for one of its text, about


class Good(NamedTuple):
    """Documents: a table, the number of each of its rows among all that was read, and its lines if they are JSON."""

    part: Part
    table: pa.Table
    numbers: np.ndarray
    lines: list[bytes]


@dataclass
class Source:
    """Documents of files, folders, globs, `-` (standard input) or Arrow tables, in batches.

    `text` and `id` name columns; without them the text is the column `text`, `content`, `body` or
    `document`, or the only column of strings, and the id is the column `id`, or else the row's number from 0
    (also with id="-"). `on_error` is "fail" or "skip". With `html` the texts are web pages, of which what a reader
    sees is compared (the column may be called `html` too); with `article` the article alone.
    """

    inputs: Any  # one of them or several
    text: str | None = None
    id: str | None = None
    format: str | None = None
    on_error: str = "fail"
    batch_bytes: int = BATCH_BYTES
    html: bool = False
    article: bool = False  # so html as well
    encoding: str = UTF8  # of CSV, JSON lines and text
    documents: int = field(default=0, init=False)  # read so far
    skipped: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        choice("on_error", self.on_error, ("fail", "skip"))
        if self.format is not None:
            choice("format", self.format, FORMATS)
        self.html = self.html or self.article
        if self.html:
            need_selectolax()
        given = [self.inputs] if isinstance(self.inputs, str | Path | pa.Table) else list(self.inputs)
        self.parts = find_parts(given, self.format, html=self.html, encoding=self.encoding)
        if not self.parts:
            raise UsageError("nothing to read: the input names no file.")
        self._schemas: dict[tuple[int, bool], pa.Schema] = {}

    def batches(self) -> Iterator[pa.Table]:
        """The documents as tables of two columns, `id` and `text`, from the start."""
        for documents in self._documents(whole=False):
            if len(documents.table):
                yield self._compared(documents)

    def tables(self, strings: bool = False) -> Iterator[pa.Table]:
        """The same documents in the same order with all their columns; first an empty table that shows them.

        With `strings` web pages are decoded where they are bytes, too.
        """
        schema = self._whole_schema(strings)
        yield schema.empty_table()
        for documents in self._documents(whole=True, strings=strings):
            if len(documents.table):
                yield self._rows(documents, schema)

    def lines(self) -> Iterator[list[bytes]]:
        """The same documents in the same order as lines of JSON, just as they stand in the files."""
        for documents in self._documents(whole=False):
            yield documents.lines

    def with_rows(self, strings: bool = False) -> Iterator[tuple[pa.Table, pa.Table]]:
        """What `batches` and `tables` yield, together in one pass; first the empty tables."""
        schema = self._whole_schema(strings)
        yield pa.table({"id": [], "text": []}), schema.empty_table()
        for documents in self._documents(whole=True, strings=strings):
            if len(documents.table):
                yield self._compared(documents), self._rows(documents, schema)

    def with_lines(self) -> Iterator[tuple[pa.Table, list[bytes]]]:
        """What `batches` and `lines` yield, together in one pass."""
        for documents in self._documents(whole=False):
            if len(documents.table):
                yield self._compared(documents), documents.lines

    def is_jsonl(self) -> bool:
        """Whether all inputs are lines of JSON, so that `lines` can be asked for."""
        return all(part.format == "jsonl" for part in self.parts)

    def has_ids(self) -> bool:
        """Whether the documents have ids of their own, which are not just the numbers of their rows."""
        have = {self._columns(part)[1] is not None for part in self.parts}
        if len(have) > 1:
            raise DataError("some of the inputs have ids and others have none; id='-' (--id -) numbers them all.")
        return have == {True}

    def check_names(self) -> None:
        """An error for two columns of one name, of which the rows could not be written."""
        for part in self.parts:
            names_apart(part, self._schema(part))

    def column_names(self) -> set[str]:
        """The names of all columns of the inputs."""
        return {name for part in self.parts for name in self._schema(part).names}

    def text_columns(self) -> list[str]:
        """The names of the columns of the text in the inputs that are tables."""
        tables = (part for part in self.parts if part.format not in ("text", "files"))
        return list(dict.fromkeys(self._columns(part)[0] for part in tables))

    def byte_size(self) -> int:
        """About how many bytes the inputs have, decompressed."""
        return sum(part.byte_size() for part in self.parts)

    def expected(self, texts: pa.LargeStringArray) -> int:
        """About how many documents there are, given the texts of the first batch."""
        counts = []
        for part in self.parts:
            with reading(part):
                counts.append(part.row_count())
        if None not in counts:
            return sum(count for count in counts if count is not None)
        size = self.byte_size() // (MARKUP if self.html else 1)
        return max(len(texts), size * len(texts) // max(1, int(texts.nbytes)))

    def _compared(self, documents: Good) -> pa.Table:
        """The ids and what is compared."""
        part, table, numbers, _ = documents
        text, identity = self._columns(part)
        pages = self._decode(part, table, strings=True)[text]
        return pa.table({"id": pa.array(numbers) if identity is None else table[identity], "text": self._texts(pages)})

    def _rows(self, documents: Good, schema: pa.Schema) -> pa.Table:
        """All columns."""
        part, table, numbers, _ = documents
        return conform(table.add_column(0, "id", pa.array(numbers)) if part.format == "text" else table, schema)

    def _texts(self, column: pa.ChunkedArray) -> pa.LargeStringArray:
        """What is compared."""
        if not self.html:
            return as_text(column)
        shown = article_text if self.article else visible_text
        return pa.array([shown(page) for page in column.to_pylist()], pa.large_string())

    def _documents(self, whole: bool, strings: bool = True) -> Iterator[Good]:
        """The rows of all parts without the bad ones."""
        self.documents = self.skipped = 0
        first = 0  # number of the block's first row
        for part in self.parts:
            start = first
            for block in self._blocks(part, whole):
                text, identity = self._columns(part)
                table = self._decode(part, plain(block.table), strings)
                rows = np.delete(np.arange(len(table) + len(block.faults)), sorted(block.faults))
                found = find_faults(table, text, identity, self.html)
                faults = {**block.faults, **{int(rows[at]): why for at, why in found.items()}}
                for at in sorted(faults):
                    self._bad_row(part, first - start + at, faults[at])
                good = np.delete(np.arange(len(table)), list(found))
                lines = [block.lines[at] for at in good.tolist()] if block.lines else []
                self.documents += len(good)
                yield Good(part, table.take(good) if found else table, first + rows[good], lines)
                first += len(table) + len(block.faults)
        if self.skipped and not self.documents:
            raise all_left_out(self.parts[0].name, self.skipped, self._first_fault)

    def _decode(self, part: Part, table: pa.Table, strings: bool) -> pa.Table:
        """The table with its web pages as strings; without `strings` a column of bytes is left as it is."""
        if not self.html or part.format == "files":  # which are decoded where they are read
            return table
        text, _ = self._columns(part)
        if not strings and is_binary(plain_type(self._schema(part).field(text).type)):
            return table
        return table.set_column(table.schema.get_field_index(text), text, decode_pages(table[text]))

    def _blocks(self, part: Part, whole: bool) -> Iterator[Block]:
        """The rows of a part with all columns, or with the text and id alone."""
        names = list(dict.fromkeys(name for name in self._columns(part) if name))
        with reading(part):
            if part.format == "jsonl":
                keys = self._keys(part)
                schema = self._schema(part, whole=True) if whole else keys
                yield from read_json(part, keys, schema, self.batch_bytes)
            else:
                yield from READERS[part.format](part, None if whole else names, self.batch_bytes)

    def _bad_row(self, part: Part, row: int, why: str) -> None:
        if self.on_error == "fail":
            where = str(part.paths[row]) if part.format == "files" and part.paths else f"{part.name}, row {row + 1}"
            path = part.paths[row if part.format == "files" else 0] if part.paths else Path()
            is_page = not self.html and format_of(path, PAGE_SUFFIXES)
            raise DataError(f"{where}: {why}; {HTML_HINT}.") if is_page else bad_row(part, where, why)
        if not self.skipped:
            self._first_fault = why
        self.skipped += 1

    def _schema(self, part: Part, whole: bool = False) -> pa.Schema:
        """The columns of a part; of lines of JSON those of the first, or of the whole."""
        key = (id(part), whole and part.format == "jsonl")
        if key not in self._schemas:
            with reading(part):
                if part.format != "jsonl":
                    schema = schema_of(part)
                elif whole:
                    order = self._schema(part).names
                    schema = all_columns(part, self._keys(part), order, self.batch_bytes)
                else:
                    schema = first_columns(part, self.batch_bytes)
            if not schema.names and part.format in ("jsonl", "csv", "tsv"):  # an empty file has the columns asked for
                names = dict.fromkeys(name for name in (self.text or TEXT_NAMES[0], self.id) if name and name != "-")
                schema = pa.schema([(name, pa.string()) for name in names])
            self._schemas[key] = schema
        return self._schemas[key]

    def _whole_schema(self, strings: bool) -> pa.Schema:
        """The columns of all parts."""
        schemas = []
        for part in self.parts:
            text, _ = self._columns(part)
            schema = plain_schema(self._schema(part, whole=True))
            at = schema.get_field_index(text)
            if strings and self.html and is_binary(schema.field(at).type):
                schema = schema.set(at, schema.field(at).with_type(pa.large_string()))
            schemas.append(schema)
        if all(schema.equals(schemas[0]) for schema in schemas):
            return schemas[0]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(f"the inputs do not fit into one table: {' '.join(str(error).split())}.") from error

    def _keys(self, part: Part) -> pa.Schema:
        """The columns of the text and the id in lines of JSON; a text that is no string is a fault of its row."""
        text, identity = self._columns(part)
        others = [self._schema(part).field(identity)] if identity not in (None, text) else []
        return pa.schema([pa.field(text, pa.string()), *others])

    def _columns(self, part: Part) -> tuple[str, str | None]:
        """Which columns are the text and the id; no id means the row's number."""
        schema = self._schema(part)
        if part.format in ("text", "files"):  # these have their columns from us
            return "text", "id" if part.format == "files" and self.id != "-" else None
        text = self._text_column(part, schema)
        identity = self.id or ("id" if "id" in schema.names else "-")
        if identity == "-":
            return text, None
        one_column(schema.names, identity, f"{part.name}:", " for the id")
        if pa.types.is_nested(schema.field(identity).type):
            raise DataError(f"{part.name}: column {identity!r} holds {schema.field(identity).type}, which is no id.")
        return text, identity

    def _text_column(self, part: Part, schema: pa.Schema) -> str:
        if self.text is not None:
            name = self.text
        else:
            others = {frame_index(part, schema), *dict(part.partition)}
            texts = [column.name for column in schema if is_text(column.type) and column.name not in others]
            usual = ("html", *TEXT_NAMES) if self.html else TEXT_NAMES
            likely = [n for n in usual if n in schema.names] or texts
            if not likely or (len(likely) > 1 and likely[0] not in usual):
                have = ", ".join(schema.names) or "none"
                pages = " (--html reads the pages in html)" if "html" in schema.names else ""
                raise DataError(f"{part.name}: which column is the text? Name it with --text{pages}; it has {have}.")
            name = likely[0]
        one_column(schema.names, name, f"{part.name}:", " for the text")
        if part.format != "jsonl" and not is_text(schema.field(name).type):
            raise DataError(f"{part.name}: column {name!r} holds {schema.field(name).type}, not text.")
        return name


def decode_pages(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Web pages as strings; in a column of strings they are that already, but for such as are not UTF-8."""
    decode = decode_page if is_binary(column.type) else _decode_string
    pages = column.cast(pa.large_binary()).to_pylist()
    return pa.chunked_array([[None if page is None else decode(page) for page in pages]], pa.large_string())


def _decode_string(page: bytes) -> str:
    try:
        return page.decode()
    except UnicodeDecodeError:
        return decode_page(page)
