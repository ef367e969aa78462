"""Reads files, folders and tables into batches of documents, a few megabytes at a time.

A `Source` yields the documents of its inputs as Arrow tables, with all columns or just the id and
the text. It can be read twice: first to compare the texts, then to write out the kept rows. Web
pages can be in any encoding; their text is compared, and the pages themselves are written out.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, argument, byte_size, one_column
from lookalike.core.run import ONE_THREAD, Run
from lookalike.io.csv import frame_index
from lookalike.io.formats import FORMATS, PAGE_SUFFIXES, format_of
from lookalike.io.inputs import find_parts
from lookalike.io.json_types import all_columns
from lookalike.io.jsonl import has_column, only, simple_types
from lookalike.io.part import DOCUMENT_BYTES, UTF8, Part, Task, evenly
from lookalike.io.source import BARE, BATCH_BYTES, Good, ItemSource, id_column
from lookalike.io.tables import (
    as_text,
    conform,
    find_faults,
    find_long,
    is_binary,
    is_text,
    names_apart,
    plain,
    plain_schema,
    reading,
)
from lookalike.io.types import all_names, check_casts, leave_out, unified
from lookalike.items.page_limits import too_costly
from lookalike.items.pages import article_text, decode_page, need_selectolax, visible_text

TEXT_NAMES = ("text", "content", "body", "document")
SPOTS, SPOT_BYTES, SPOT_ROWS = 32, 1 << 18, 16  # places of a sample, and what to read at each
SMALL, HEAD = 1 << 24, 1000  # bytes of inputs of which a sample is taken from one place, and texts there
MARKUP = 10  # about how many bytes of a web page there are per byte of its text


class Source(ItemSource):
    """A source of documents: files, folders, globs, `-` (standard input), or tables of any library, such as
    data frames and data sets of Hugging Face.

    Pass it to `find_pairs` and the like to set how documents are read.

    Args:
        inputs: one of these, or a list of several.
        text: the column of texts; by default `text`, `content`, `body` or `document`, or the only
            column of strings.
        id: the column of ids; by default the column `id` if there is one; otherwise, or with "-",
            items are numbered from 0.
        format: "parquet", "arrow", "jsonl", "csv", "tsv", "excel", "database", "warc", "text" (one
            document per line) or "files" (one per file); by default that of the file name or first bytes.
        on_error: what to do with bad rows: "fail", or "skip" to leave them out and count them.
        batch_bytes: about how many bytes to read at a time.
        html: whether the texts are web pages, compared by their visible text; the column can then
            also be called `html`.
        article: whether to compare only the articles of web pages; implies `html`.
        encoding: the encoding of CSV, JSON lines and text, such as "windows-1252".
        on_bad_file: what to do with damaged files: "fail", or "skip" to leave them out. To find
            them, all files are then read once before any is used.
        columns: which other columns the methods `tables` and `lines` return, besides the text and
            the id; by default all.
        max_document_bytes: a longer text is a bad row; a number, or a size such as "64MB".

    >>> source = Source(pa.table({"key": [7, 8], "body": ["one text", "another"]}), id="key")
    >>> [document for batch in source.batches() for document in batch.to_pylist()]
    [{'id': 7, 'text': 'one text'}, {'id': 8, 'text': 'another'}]
    """

    skipping = "Source"

    def __init__(
        self,
        inputs: Any,
        text: str | None = None,
        id: str | None = None,
        format: str | None = None,
        on_error: str = "fail",
        batch_bytes: int = BATCH_BYTES,
        html: bool = False,
        article: bool = False,
        encoding: str = UTF8,
        on_bad_file: str = "fail",
        columns: Sequence[str] | None = None,
        max_document_bytes: int | str = DOCUMENT_BYTES,
    ):
        self.max_document_bytes = byte_size("max_document_bytes", max_document_bytes, 1, "64MB")
        self.columns = None if columns is None else list(columns)
        self.text, self.id, self.html, self.article = text, id, html or article, article
        self.documents = 0  # read so far
        self._all: int | None = None  # how many documents there are, if a sample has all of them
        self._chosen: dict[int, tuple[str, str | None]] = {}  # the text and id columns of each part
        self._whole: dict[int, pa.Schema] = {}  # JSON lines only: all columns of all lines
        self._written: dict[bool, pa.Schema] = {}  # by whether it is for a text format
        self._larger: Source | None = None  # the source that this one is a piece of
        super().__init__(inputs, format, on_error, on_bad_file, encoding, batch_bytes)

    def _find(self, given: list[Any]) -> list[Part]:
        if self.html:
            need_selectolax()
        parts = find_parts(given, self.format, html=self.html, encoding=self.encoding)
        return [replace(part, most=self.max_document_bytes) for part in parts]

    # --- documents ---

    def batches(self, run: Run = ONE_THREAD) -> Iterator[pa.Table]:
        """Yield the documents as tables of two columns, `id` and `text`; each call starts anew."""
        for documents in self._documents(whole=False, make=self._compared, run=run):
            if len(documents.table):
                yield self._batch(documents)

    def tables(self, strings: bool = False, run: Run = ONE_THREAD) -> Iterator[pa.Table]:
        """Yield the documents with all their columns, in the order of `batches`.

        The first table is empty: it shows the columns. With `strings`, for a text format, web pages
        stored as bytes are decoded, and a column keeps the type that it has in each file. Without,
        each column has one type that fits all.
        """
        schema = self.written_schema(strings)
        yield schema.empty_table()
        for documents in self._documents(whole=True, strings=strings, run=run):
            if len(documents.table):
                yield self._rows(documents, schema, strings)

    def lines(self, run: Run = ONE_THREAD) -> Iterator[pa.LargeBinaryArray]:
        """Yield the documents as lines of JSON, exactly as in the files, with their line feeds."""
        for documents in self._documents(whole=False, run=run):
            yield self._lines(documents)

    def with_rows(self, strings: bool = False, run: Run = ONE_THREAD) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield the tables of `batches` and of `tables` in pairs, reading the inputs only once.

        As in `tables`, the first pair is empty, and `strings` is for text formats.
        """
        schema = self.written_schema(strings)
        yield pa.table({"id": [], "text": []}), schema.empty_table()
        for documents in self._documents(whole=True, strings=strings, make=self._compared, run=run):
            if len(documents.table):
                yield self._batch(documents), self._rows(documents, schema, strings)

    def with_lines(self, run: Run = ONE_THREAD) -> Iterator[tuple[pa.Table, pa.LargeBinaryArray]]:
        """Yield the tables of `batches` and the lines of `lines` in pairs, reading inputs only once."""
        for documents in self._documents(whole=False, make=self._compared, run=run):
            if len(documents.table):
                yield self._batch(documents), self._lines(documents)

    def is_jsonl(self) -> bool:
        """Return whether all inputs are JSON lines, so that `lines` can be called."""
        return all(part.format == "jsonl" for part in self.parts)

    def has_ids(self) -> bool:
        """Return whether the documents have ids of their own, not just row numbers."""
        have = {self._columns(part)[1] is not None for part in self.parts}
        if len(have) > 1:
            raise DataError(
                f"some inputs have ids and others do not; use {argument('id', '-', 'Source')} to number all rows."
            )
        return have == {True}

    def check_names(self) -> None:
        """Raise an error if columns share a name, or are not there: such rows cannot be written."""
        for part in self.parts:
            names_apart(part, self._schema(part))
        for name in () if self.is_bare() else self.columns or ():
            if name not in self.column_names() and not any(has_column(part, name) for part in self.parts):
                one_column(self.column_names(), name, "the input has", " to write")

    def pieces(self, size: int) -> list["Source"]:
        """Return consecutive pieces of about `size` bytes, which can be read apart; their rows are counted from 0.

        A file that can only be read from its beginning is not cut. All documents of a piece have ids of
        their own, or none has.
        """
        found: list[Source] = []
        held = size
        for part in self.parts:
            cut = FORMATS[part.format].pieces
            with reading(part):
                some = list(cut(part, size)) if cut is not None and part.paths else []
            for one in some or [part]:
                if held >= size or len(some) > 1 or found[-1].numbers(found[-1].parts[0]) != self.numbers(part):
                    found.append(self.with_parts([]))
                    found[-1]._larger, held = self, 0
                found[-1].parts.append(one)
                held += size if len(some) > 1 else part.stored_size()
        return found

    def numbers(self, part: Part) -> bool:
        """Return whether the documents of a part have the numbers of their rows as ids."""
        return self._columns(part)[1] is None

    def with_columns(self, columns: Sequence[str]) -> "Source":
        """Return the same source with other columns in its tables."""
        other = copy(self)
        other.columns, other._whole, other._written, other._larger = list(columns), {}, {}, None
        return other

    def with_parts(self, parts: list[Part]) -> "Source":
        """Return a source of some of the parts, all of whose rows can be bad."""
        other = copy(self)
        other.parts, other.is_whole, other._written, other._larger = parts, False, {}, None
        return other

    def is_bare(self) -> bool:
        """Return whether all inputs are empty files, which show no columns, so that any could be in them."""
        for part in self.parts:
            with reading(part):
                if part.format not in BARE or FORMATS[part.format].schema(part).names:
                    return False
        return True

    def column(self, name: str, purpose: str = "", run: Run = ONE_THREAD) -> pa.ChunkedArray:
        """Return a column of all documents, or a field of a nested one, such as `meta.quality`."""
        if self.is_bare():
            return pa.chunked_array([], pa.null())
        column, *fields = self._path_of(name, purpose)
        found = [table[column] for table in self.with_columns([column]).tables(run=run)]
        values = pa.chunked_array([chunk for part in found for chunk in part.chunks], found[0].type)
        for field in fields:
            if not pa.types.is_struct(values.type):
                raise DataError(f"column {name!r}: {values.type} has no field {field!r}{purpose}.")
            names = [one.name for one in values.type]
            one_column(names, field, f"column {column!r}: it has", f" among its fields{purpose}")
            values = pc.struct_field(values, names.index(field))
        return values

    def _path_of(self, name: str, purpose: str) -> list[str]:
        """Return the column that a name with dots begins with, and the fields inside of it."""
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            column = ".".join(parts[:count])
            if column in self.column_names() or any(has_column(part, column) for part in self.parts):
                return [column, *parts[count:]]
        one_column(self.column_names(), name, "the input has", purpose)
        raise AssertionError

    def column_names(self) -> list[str]:
        """Return the names of all columns of the inputs; of JSON lines, those of the first lines."""
        return list(dict.fromkeys(name for part in self.parts for name in self._schema(part).names))

    def written_names(self) -> list[str]:
        """Return the names of the columns that `tables` and `lines` return, as far as they are known."""
        names = self.column_names()
        if self.columns is None:
            return names
        keys = {name for part in self.parts for name in self._keys(part).names}
        return [name for name in names if name in keys or name in self.columns]

    def text_columns(self) -> list[str]:
        """Return the names of the text columns of those inputs that are tables."""
        tables = (part for part in self.parts if FORMATS[part.format].columns)
        return list(dict.fromkeys(self._columns(part)[0] for part in tables))

    def expected(self, texts: pa.LargeStringArray) -> int:
        """Return the number of documents if all are in the sample, else an estimate from its texts."""
        if self._all is not None:
            return self._all
        counts = []
        for part in self.parts:
            count = FORMATS[part.format].rows
            with reading(part):
                counts.append(None if count is None else count(part))
        if None not in counts:
            return sum(count for count in counts if count is not None)
        size = self.byte_size() // (MARKUP if self.html else 1)
        if all(part.format == "text" for part in self.parts):
            sample = (pc.sum(pc.binary_length(texts)).as_py() or 0) + len(texts)
        else:
            sample = texts.nbytes * self._overhead()
        return max(len(texts), int(size * len(texts) / max(1, sample)))

    def _overhead(self) -> float:
        """Return how many bytes of tables there are per byte of their texts, as far as their first rows show."""
        whole = texts = 0
        for part in (self.parts[at] for at in evenly(len(self.parts), SPOTS)):
            form = FORMATS[part.format]
            if not form.columns or form.rows is not None:
                continue
            keys = self._keys(part)
            with reading(part):
                tasks = form.tasks(part, keys if part.format == "jsonl" else self._schema(part), SPOT_BYTES)
                block = next((block for task in tasks for block in task()), None)
            if block is not None:
                whole += (block.table if block.lines is None else block.lines).nbytes
                texts += block.table[keys.names[0]].nbytes
        return whole / texts if texts else 1.0

    def samples(self, run: Run = ONE_THREAD) -> list[pa.LargeStringArray]:
        """Return some texts from SPOTS places all over the inputs; from the beginning of small ones.

        Bad rows and files in other places are left out here: reading all documents reports them.
        """
        if self.byte_size() > SMALL:
            parts = [self.parts[at] for at in evenly(len(self.parts), SPOTS)]
            tasks = chain.from_iterable(self._spots(part, -(-SPOTS // len(parts))) for part in parts)
            with suppress(DataError):
                found = [texts for texts in run.map(lambda task: task(), tasks) if len(texts)]
                if len(found) >= SPOTS // 2:
                    return found
        return self._head()

    def _head(self) -> list[pa.LargeStringArray]:
        """Return the first HEAD texts, in whatever batches they are read."""
        head: list[pa.Array] = []
        for batch in self.batches():
            head.extend(batch["text"].chunks)
            if sum(map(len, head)) >= HEAD:
                break
        else:
            self._all = sum(map(len, head))
        return [pa.concat_arrays(head).slice(0, HEAD)] if head else []

    def _spots(self, part: Part, count: int) -> Iterator[Callable[[], pa.LargeStringArray]]:
        """Yield functions that return the texts at some places of a part."""
        spots = FORMATS[part.format].spots
        if spots is None:
            return
        with reading(part):
            for task in spots(part, pa.schema([self._keys(part).field(0)]), SPOT_BYTES, count):
                yield partial(self._texts_at, part, task)

    def _texts_at(self, part: Part, task: Task) -> pa.LargeStringArray:
        """Return the first good texts that a task reads."""
        with reading(part):
            block = next(iter(task()))
            table = self._decode(part, block.table.slice(0, SPOT_ROWS), strings=True)
            bad = self._text_faults(part, table)
            return self._compared(part, table.take(np.delete(np.arange(len(table)), list(bad))))

    def _documents(
        self,
        whole: bool,
        strings: bool = True,
        make: Callable[[Part, pa.Table], Any] = lambda part, table: None,
        run: Run = ONE_THREAD,
    ) -> Iterator[Good]:
        """Yield the good rows of all parts, with all columns or with the text and id alone."""
        self._begin()
        self.documents = 0
        for part in self.parts:
            wanted = self._schema_of_all(part) if whole else self._keys(part)
            prepare = partial(self._decode, part, strings=strings)
            with reading(part):
                faults = partial(self._find_faults, part)
                for good in self._good_rows(part, wanted, faults, prepare, partial(make, part), run):
                    self.documents += len(good.table)
                    yield good
        self._end()

    def _find_faults(self, part: Part, table: pa.Table) -> dict[int, str]:
        """Return the bad rows of a table, each with its fault."""
        _, identity = self._columns(part)
        return self._text_faults(part, table) | ({} if identity is None else find_faults(table, identity))

    def _text_faults(self, part: Part, table: pa.Table) -> dict[int, str]:
        """Return the rows with a bad text; also pages that cost too much to parse."""
        text, _ = self._columns(part)
        faults = find_faults(table, text, self.html) | find_long(table[text], text, self.max_document_bytes)
        if self.html:
            pages = enumerate(_strings(table[text]).cast(pa.large_binary()).to_pylist())
            checked = {at: too_costly(page) for at, page in pages if page is not None and at not in faults}
            faults |= {at: f"the page {why}" for at, why in checked.items() if why}
        return faults

    def _compared(self, part: Part, table: pa.Table) -> pa.LargeStringArray:
        """Return the texts to compare."""
        column = table[self._columns(part)[0]]
        if not self.html:
            return as_text(column)
        shown = article_text if self.article else visible_text
        return pa.array([shown(page) for page in _strings(column).to_pylist()], pa.large_string())

    def _ids(self, documents: Good) -> pa.Array | pa.ChunkedArray:
        """Return the ids of the documents: a column, or the numbers of their rows."""
        _, identity = self._columns(documents.part)
        return _numbers(documents) if identity is None else documents.table[identity]

    def _batch(self, documents: Good) -> pa.Table:
        """Return the ids of the documents, and their texts as `_compared` made them."""
        return pa.Table.from_arrays([self._ids(documents), documents.made], ["id", "text"])

    def _rows(self, documents: Good, schema: pa.Schema, strings: bool) -> pa.Table:
        """Return the documents with all columns of the schema; see `tables` for their types."""
        table = documents.table
        numbered = table.add_column(0, "id", _numbers(documents)) if documents.part.format == "text" else table
        if strings and not numbered.schema.equals(schema):
            have = dict(zip(numbered.schema.names, numbered.schema.types, strict=True))
            schema = pa.schema([field.with_type(have.get(field.name, field.type)) for field in schema], schema.metadata)
        return conform(numbered, schema)

    def _lines(self, documents: Good) -> pa.LargeBinaryArray:
        """Return the lines as they are, or with the chosen columns alone."""
        lines = documents.lines
        assert lines is not None
        if self.columns is None:
            return lines
        names = {*self.columns, *self._keys(documents.part).names}
        return pa.array([only(line, names) + b"\n" for line in lines.to_pylist()], pa.large_binary())

    def _decode(self, part: Part, table: pa.Table, strings: bool) -> pa.Table:
        """Return the table with plain types, and web pages as strings; without `strings`, bytes stay bytes."""
        table = plain(table)
        if not self.html or part.format == "files":  # files are decoded when they are read
            return table
        text, _ = self._columns(part)
        if not strings and is_binary(self._schema(part).field(text).type):
            return table
        return table.set_column(table.schema.get_field_index(text), text, decode_pages(table[text]))

    def _bad_row(self, part: Part, row: int, why: str) -> DataError:
        path = part.paths[row if part.format == "files" else 0] if part.paths else Path()
        if not self.html and format_of(path, PAGE_SUFFIXES):
            return DataError(
                f"{part.place(row)}: {why}; use {argument('html', True, 'Source')} to read pages in any encoding."
            )
        return super()._bad_row(part, row, why)

    # --- columns ---

    def _schema(self, part: Part) -> pa.Schema:
        """Return the columns of a part; in JSON lines each is an integer or a string."""
        asked = dict.fromkeys(name for name in (self.text or TEXT_NAMES[0], self.id) if name and name != "-")
        schema = self._columns_of(part, list(asked))
        return simple_types(schema) if part.format == "jsonl" else schema

    def _schema_of_all(self, part: Part) -> pa.Schema:
        """Return the columns of a part to write, with the types they have in all of its rows."""
        part = part.section.whole if part.section else part
        keys = self._keys(part)
        if part.format != "jsonl":
            schema = self._schema(part)
            if self.columns is None:
                return schema
            return pa.schema([field for field in schema if field.name in {*keys.names, *self.columns}])
        if id(part) not in self._whole:
            with reading(part):
                order = self._schema(part).names
                self._whole[id(part)] = all_columns(part, keys, order, self.batch_bytes, self.columns)
        return self._whole[id(part)]

    def written_schema(self, strings: bool) -> pa.Schema:
        """Return the columns of all parts, after raising an error if a value does not fit them.

        For a text format, with `strings`, a column can have another type in each part. A piece has the
        columns of the source that it is a piece of.
        """
        source = self._larger or self
        if strings not in source._written:
            source._written[strings] = source._find_written(strings)
        return source._written[strings]

    def _find_written(self, strings: bool) -> pa.Schema:
        """Return the columns to write, as far as the parts of this source show."""
        parts = []
        for part in self.parts:
            text, _ = self._columns(part)
            schema = plain_schema(self._schema_of_all(part))
            at = schema.get_field_index(text)
            if strings and self.html and is_binary(schema.field(at).type):
                schema = schema.set(at, schema.field(at).with_type(pa.large_string()))
            parts.append((part, schema))
        if strings:
            return all_names(parts)
        whole = unified(parts, self._remedy)
        check_casts(parts, whole, self.batch_bytes)
        return whole

    def _remedy(self, column: str) -> str:
        """Return what to do about a column with types that no other type holds."""
        if any(column in self._columns(part) for part in self.parts):
            return " Write .jsonl or .csv, which can."
        return leave_out(".jsonl or .csv")

    def _keys(self, part: Part) -> pa.Schema:
        """Return the text and id columns; in JSON lines a text that is not a string is a fault."""
        schema, names = self._schema(part), dict.fromkeys(name for name in self._columns(part) if name)
        keys = pa.schema([schema.field(name) for name in names])
        return keys.set(0, pa.field(keys.names[0], pa.string())) if part.format == "jsonl" else keys

    def _columns(self, part: Part) -> tuple[str, str | None]:
        """Return the names of the text and id columns; an id of None means the row number."""
        part = part.section.whole if part.section else part
        if id(part) not in self._chosen:  # each batch asks for them several times
            self._chosen[id(part)] = self._choose_columns(part)
        return self._chosen[id(part)]

    def _choose_columns(self, part: Part) -> tuple[str, str | None]:
        schema = self._schema(part)
        if not FORMATS[part.format].columns:  # these formats have fixed columns
            return "text", "id" if part.format == "files" and self.id != "-" else None
        text = self._text_column(part, schema)
        identity = self.id or ("id" if "id" in schema.names else "-")
        return text, None if identity == "-" else id_column(part, schema, identity)

    def _text_column(self, part: Part, schema: pa.Schema) -> str:
        if self.text is not None:
            name = self.text
        else:
            others = {frame_index(part, schema), *dict(part.partition)}
            texts = [column.name for column in schema if is_text(column.type) and column.name not in others]
            usual = ("html", *TEXT_NAMES) if self.html else TEXT_NAMES
            likely = [n for n in usual if n in schema.names] or texts
            if not likely or (len(likely) > 1 and likely[0] not in usual):
                have, remedy = ", ".join(schema.names) or "none", f"Name it with {argument('text', of='Source')}"
                if "html" in schema.names:
                    remedy += f" (use {argument('html', True, 'Source')} to read the column html as web pages)"
                raise DataError(f"{part.name}: which column is the text? {remedy}; it has {have}.")
            name = likely[0]
        one_column(schema.names, name, f"{part.name}:", " for the text")
        if part.format != "jsonl" and not is_text(schema.field(name).type):
            raise DataError(f"{part.name}: column {name!r} holds {schema.field(name).type}, not text.")
        return name


def _numbers(documents: Good) -> pa.Array:
    """Return the row numbers of the documents, counted over all inputs."""
    return pa.array(documents.before + documents.numbers)


def _strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return web pages as strings, if they are not decoded yet."""
    return decode_pages(column) if is_binary(column.type) else column


def decode_pages(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return web pages as strings; those in a column of strings can still have invalid UTF-8."""
    decode = decode_page if is_binary(column.type) else _decode_string
    pages = column.cast(pa.large_binary()).to_pylist()
    return pa.chunked_array([[None if page is None else decode(page) for page in pages]], pa.large_string())


def _decode_string(page: bytes) -> str:
    try:
        return page.decode()
    except UnicodeDecodeError:
        return decode_page(page)
