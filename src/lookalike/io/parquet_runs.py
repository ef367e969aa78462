"""Reads a row group of Parquet in runs of pages, each by itself, so that threads can share the work.

Arrow decodes a row group from its beginning, in one thread, and many files have only one. But the
pages of a column can be decoded alone, given its dictionary. So each run becomes a small Parquet
file in memory, of the pages as they are and a footer of our own, which Arrow reads.
"""

import base64
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, pairwise
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.parquet_pages import (
    DATA_PAGE,
    DATA_PAGES,
    DICTIONARY_PAGE,
    PLAIN,
    Page,
    opened,
    opened_page,
    pages_of,
)
from lookalike.io.part import Part, check_ratio
from lookalike.io.thrift import (
    BINARY,
    INTEGER,
    LIST,
    LONG,
    STRUCT,
    Fields,
    Listing,
    Value,
    read_struct,
    write_struct,
)

MAGIC = b"PAR1"
SMALL = 1 << 25  # decompressed bytes of a column that is decoded once, and kept until its row group is done
EXPANDED = 1 << 24  # bytes of strings that replace places in a dictionary as soon as they are decoded
MOST_ROWS = 1 << 20  # of a page; one with more could fill memory
SCHEMA = 2  # a field of the footer
TYPE, REPETITION, NAME, CHILDREN = 1, 3, 4, 5  # fields of a column in the schema
REQUIRED = 0  # a repetition: without nulls
ENCODINGS = [0, 3, 8]  # plain, of runs, by dictionary; pages state their own
CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6}  # for Arrow, LZ4 is one of two
STREAMS = {"UNCOMPRESSED": None, "GZIP": "gzip", "BROTLI": "brotli", "ZSTD": "zstd"}  # that can be read in part
BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}  # strings as they are, valid or not
BYTES |= {kind: kind for kind in BYTES.values()}


class RowGroup:
    """The columns of a row group that are wanted; `rows` is the number of its rows."""

    def __init__(self, columns: list["ColumnPages"], rows: int):
        self.columns, self.rows = columns, rows

    def runs(self, size: int) -> Iterator[slice]:
        """Yield ranges of rows of about `size` bytes; in each, a column has only one encoding."""
        largest = max(self.columns, key=lambda column: column.size)
        share = largest.size / max(1, sum(column.size for column in self.columns))
        ends = {row for column in self.columns for row in column.switches}
        held = 0.0
        for page, row in zip(largest.pages, largest.starts[1:], strict=True):
            held += page.size
            if held >= share * size:
                ends.add(row)
                held = 0.0
        return (slice(start, stop) for start, stop in pairwise(sorted({0, *ends, self.rows})))

    def read(self, run: slice) -> pa.Table:
        """Return some rows."""
        return pa.table({column.name: column.read(run) for column in self.columns})


class ColumnPages:
    """A column without lists or structs, in one row group."""

    def __init__(self, part: Part, field: pa.Field, leaf: Fields, meta: Any, pages: list[Page]):
        self.part, self.field, self.leaf, self.meta = part, field, leaf, meta
        self.name = field.name
        self.dictionary = [page for page in pages if page.kind == DICTIONARY_PAGE]
        self.pages = [page for page in pages if page.kind in DATA_PAGES]
        self.starts = list(accumulate((page.values for page in self.pages), initial=0))  # rows at which pages begin
        self.size = sum(page.size for page in pages)
        self.switches = [  # rows at which the encoding changes
            row
            for row, (one, other) in zip(self.starts[1:-1], pairwise(self.pages), strict=True)
            if one.by_dictionary != other.by_dictionary
        ]
        self._lock = Lock()

    def read(self, run: slice) -> pa.ChunkedArray:
        """Return some rows, which have one encoding."""
        if self.size > SMALL:
            return self._alone(run)
        with self._lock:  # one thread decodes, others wait for it
            segments = self._segments
        at = int(np.searchsorted(self.switches, run.start, side="right"))
        return segments[at].slice(run.start - [0, *self.switches][at], run.stop - run.start)

    def head(self, run: slice, size: int) -> pa.ChunkedArray | pa.Array:
        """Return values from the beginning of some rows, about `size` bytes without nulls, or all rows."""
        page = self.pages[self._page_at(run.start)]
        kind = BYTES.get(self.field.type)
        if kind is None or page.kind != DATA_PAGE or page.encoding != PLAIN or self.meta.compression not in STREAMS:
            return self._alone(run)
        with opened_page(self.part, page, STREAMS[self.meta.compression]) as stream:
            left = page.size
            if self.leaf[REPETITION].value != REQUIRED:  # which values are null comes first
                left -= 4 + len(_next_bytes(stream, left))
            values = _first_values(stream, size, left)
        return pa.array(values, kind).view(self.field.type) if values else self._alone(run)

    def is_plain(self, run: slice) -> bool:
        """Return whether values are in the pages, not in a dictionary."""
        return not self.pages[self._page_at(run.start)].by_dictionary

    def _page_at(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def _alone(self, run: slice) -> pa.ChunkedArray:
        """Return some rows, and decode only the pages that have them."""
        first, last = self._page_at(run.start), int(np.searchsorted(self.starts, run.stop))
        return self._decode(first, last).slice(run.start - self.starts[first], run.stop - run.start)

    @cached_property
    def _segments(self) -> list[pa.ChunkedArray]:
        """All rows, cut where the encoding changes."""
        cuts = [0, *(self.starts.index(row) for row in self.switches), len(self.pages)]
        return [self._decode(first, last) for first, last in pairwise(cuts)]

    def _decode(self, first: int, last: int) -> pa.ChunkedArray:
        """Return the rows of pages that have one encoding."""
        import pyarrow.parquet as pq

        by_dictionary = bool(self.dictionary) and self.pages[first].by_dictionary
        compact = [self.name] if by_dictionary and self.meta.physical_type == "BYTE_ARRAY" else []
        content = pa.BufferReader(self._file(first, last, by_dictionary))
        with pq.ParquetFile(content, read_dictionary=compact, pre_buffer=False) as file:
            rows = file.read(use_threads=False).column(0)
        if compact and not pa.types.is_dictionary(self.field.type) and _strings_bytes(rows) < EXPANDED:
            return rows.cast(rows.type.value_type)
        return rows

    def _file(self, first: int, last: int, by_dictionary: bool) -> bytes:
        """Return a Parquet file of these pages."""
        places = [slice(self.pages[first].place.start, self.pages[last - 1].place.stop)]
        if by_dictionary:
            places.insert(0, self.dictionary[0].place)
        with opened(self.part) as content:
            bodies = [bytes(content[place]) for place in places]
        pages = self.pages[first:last]
        footer = self._footer(pages, sum(map(len, bodies)), len(bodies[0]) if by_dictionary else 0)
        return b"".join([MAGIC, *bodies, footer, len(footer).to_bytes(4, "little"), MAGIC])

    def _footer(self, pages: list[Page], stored: int, dictionary: int) -> bytes:
        """Return the metadata of a file of these pages; `dictionary` bytes precede them."""
        rows, size = sum(page.values for page in pages), sum(page.size for page in pages)
        column: Fields = {
            1: self.leaf[TYPE], 2: Value(LIST, Listing(INTEGER, ENCODINGS)),
            3: Value(LIST, Listing(BINARY, [self.leaf[NAME].value])), 4: Value(INTEGER, CODECS[self.meta.compression]),
            5: Value(LONG, rows), 6: Value(LONG, size), 7: Value(LONG, stored),
            9: Value(LONG, len(MAGIC) + dictionary),
        }  # fmt: skip
        if dictionary:
            column[11] = Value(LONG, len(MAGIC))
        chunk = {2: Value(LONG, 0), 3: Value(STRUCT, column)}
        group = {1: Value(LIST, Listing(STRUCT, [chunk])), 2: Value(LONG, size), 3: Value(LONG, rows)}
        root = {NAME: Value(BINARY, b"schema"), CHILDREN: Value(INTEGER, 1)}
        schema = base64.b64encode(pa.schema([self.field]).serialize())
        types = {1: Value(BINARY, b"ARROW:schema"), 2: Value(BINARY, schema)}
        return write_struct({
            1: Value(INTEGER, 2), SCHEMA: Value(LIST, Listing(STRUCT, [root, self.leaf])), 3: Value(LONG, rows),
            4: Value(LIST, Listing(STRUCT, [group])), 5: Value(LIST, Listing(STRUCT, [types])),
        })  # fmt: skip


def row_group(part: Part, file: Any, group: int, wanted: list[int]) -> RowGroup | None:
    """Return the wanted columns of a row group; None if they cannot be read by pages.

    `file` is a ParquetFile. Columns of lists and structs, and damaged ones, are left to Arrow.
    """
    meta = file.metadata.row_group(group)
    columns = []
    with suppress(LookupError, TypeError, ValueError, OSError), opened(part) as content:
        leaves = leaves_of(content, part.stored_size())
        for at in wanted:
            kind, column = file.metadata.schema.column(at), meta.column(at)
            pages = list(pages_of(content, column))
            for page in pages:
                check_ratio(part, f"a page of column {column.path_in_schema!r}", page.size, page.stored)
            flat = kind.max_repetition_level == 0 and kind.max_definition_level <= 1
            known = column.compression in CODECS and {page.kind for page in pages} <= {DICTIONARY_PAGE, *DATA_PAGES}
            whole = sum(page.values for page in pages) == meta.num_rows
            if not (flat and known and whole) or max((page.values for page in pages), default=0) > MOST_ROWS:
                return None
            columns.append(ColumnPages(part, file.schema_arrow.field(kind.name), leaves[at], column, pages))
        return RowGroup(columns, meta.num_rows)
    return None


def leaves_of(content: Any, size: int) -> list[Fields]:
    """Return the columns that the footer of a file of this size describes, without structs and lists."""
    end = size - len(MAGIC) - 4
    length = int.from_bytes(content[end : end + 4], "little")
    fields, _ = read_struct(content, end - length, SCHEMA)
    return [column for column in fields[SCHEMA].value.values if CHILDREN not in column]


def _next_bytes(stream: pa.NativeFile, left: int) -> bytes:
    """Return the next bytes, which follow their length; an error if fewer are `left` with it."""
    start = stream.read(4)
    length = int.from_bytes(start, "little")
    found: bytes = stream.read(length) if length <= left - 4 else b""
    if len(start) < 4 or len(found) < length:
        raise EOFError("a page is cut off")
    return found


def _first_values(stream: pa.NativeFile, size: int, left: int) -> list[bytes]:
    """Return the first values of a plain page, about `size` bytes but at least two, of the bytes that are `left`."""
    values: list[bytes] = []
    held = 0
    while left > 0 and (held < size or len(values) < 2):
        values.append(_next_bytes(stream, left))
        held += len(values[-1])
        left -= 4 + len(values[-1])
    return values


def _strings_bytes(rows: pa.ChunkedArray) -> int:
    """Return how many bytes strings have that are places in dictionaries now."""
    sizes = (pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() for chunk in rows.chunks)
    return sum(size or 0 for size in sizes)
