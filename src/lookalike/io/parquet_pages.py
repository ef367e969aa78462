"""Bounds the memory that rows of a Parquet file take once they are decoded.

A page can be compressed ten thousandfold, and a dictionary stores a value once that a million rows
repeat, so the size of a file says little. The headers of pages state their decompressed sizes, and
the longest value of a dictionary bounds the size of a row. See the Parquet format, "Data Pages".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.part import Part, check_ratio
from lookalike.io.remote import RemotePath
from lookalike.io.thrift import read_struct

DECODED = 64 << 20  # bytes of the most rows to decode at a time, unless a single row has more
BUFFER = 1 << 16  # bytes to read of a column at a time, of which only the dictionary is needed
LOOK = 512  # bytes to read for a header
AHEAD = 1 << 26  # bytes of row groups to fetch before they are needed
DATA_PAGE, DICTIONARY_PAGE = 0, 2  # kinds of pages
DATA_PAGES = {0: 5, 3: 8}  # kinds of data pages, of versions 1 and 2, and the fields that describe them
ENCODING = {0: 2, 3: 4}  # the field of the encoding in those
PLAIN, BY_DICTIONARY = 0, (2, 8)  # encodings


class Page(NamedTuple):
    """The kind of a page, and how many bytes it has decompressed and in the file."""

    kind: int
    size: int
    stored: int
    place: slice  # of its header and content, in the file
    values: int  # of a data page, nulls included
    encoding: int | None  # of these

    @property
    def by_dictionary(self) -> bool:
        """Whether its values are places in the column's dictionary."""
        return self.encoding in BY_DICTIONARY


def rows_to_decode(part: Part, file: Any, group: int, wanted: list[int]) -> int:
    """Return how many rows of a row group to decode at a time; `file` is a ParquetFile."""
    meta, schema = file.metadata.row_group(group), file.metadata.schema
    row = 0.0  # bytes of the longest possible row, or of rows on average if they are lists
    with opened(part) as content:
        for at in wanted:
            column = meta.column(at)
            if column.physical_type == "BYTE_ARRAY":
                longest = _longest(part, content, group, column)
            elif column.physical_type == "FIXED_LEN_BYTE_ARRAY":
                longest = schema.column(at).length
            else:
                continue
            row += longest * max(1.0, column.num_values / max(1, meta.num_rows))
    return max(1, int(min(meta.num_rows, DECODED // max(1.0, row))))


def _longest(part: Part, content: Any, group: int, column: Any) -> int:
    """Return the most bytes that a value from the dictionary of a column can have; 0 without one."""
    try:
        pages = list(pages_of(content, column))
    except (LookupError, TypeError, ValueError, OSError):  # Arrow reports damage, if it is damage
        return int(column.total_uncompressed_size)
    for page in pages:
        check_ratio(part, f"a page of column {column.path_in_schema!r}", page.size, page.stored)
    dictionary = sum(page.size for page in pages if page.kind == DICTIONARY_PAGE)
    if dictionary * column.num_values <= DECODED:
        return dictionary
    lengths = _dictionary_lengths(part, group, column.path_in_schema)
    whole = pc.sum(lengths).as_py() + 4 * len(lengths) == dictionary  # else it is another one, for plain pages
    return int(pc.max(lengths).as_py()) if len(lengths) and whole else dictionary


def _dictionary_lengths(part: Part, group: int, path: str) -> pa.Array:
    """Return the lengths of the values in the dictionary of a column."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw(), read_dictionary=[path], buffer_size=BUFFER) as file:
        values = next(file.iter_batches(1, row_groups=[group], columns=[path], use_threads=False)).column(0)
    while not pa.types.is_dictionary(values.type):
        if not pa.types.is_nested(values.type):
            return pa.array([], pa.int64())
        values = values.field(0) if pa.types.is_struct(values.type) else values.flatten()
    return pc.binary_length(values.dictionary).cast(pa.int64()).fill_null(0)


@contextmanager
def opened(part: Part) -> Iterator[Any]:
    """Open a part, to look at its bytes by place."""
    if not part.paths:
        yield part.content
        return
    with part.paths[0].open("rb", buffering=0) as file:
        yield _Bytes(file)


@contextmanager
def opened_page(part: Part, page: Page, compression: str | None) -> Iterator[pa.NativeFile]:
    """Open a page of a part, to read its decompressed content from the beginning."""
    start = page.place.stop - page.stored
    with part.paths[0].open("rb") if part.paths else BytesIO(part.content) as file:
        file.seek(start)
        with pa.input_stream(file, compression=compression) as stream:
            yield stream


class _Bytes:
    """The bytes of a file, of which a few are in memory."""

    def __init__(self, file: Any):
        self.file, self.start, self.block = file, 0, b""

    def __getitem__(self, place: Any) -> Any:
        first, stop = (place.start, place.stop) if isinstance(place, slice) else (place, place + 1)
        if not self.start <= first <= stop <= self.start + len(self.block):
            self.file.seek(first)
            self.start, self.block = first, self.file.read(max(LOOK, stop - first))
        at = first - self.start
        return self.block[at : at + stop - first] if isinstance(place, slice) else self.block[at]


def expect(part: Part, meta: Any, group: int, wanted: list[int]) -> None:
    """Begin to fetch columns of a row group of a remote file, and of the next ones if they are small."""
    path = part.paths[0] if part.paths else None
    held = 0
    while isinstance(path, RemotePath) and group < meta.num_row_groups and held < AHEAD:
        for column in map(meta.row_group(group).column, wanted):
            path.expect(_start(column), _start(column) + column.total_compressed_size)
            held += column.total_compressed_size
        group += 1


def _start(column: Any) -> int:
    """Return where the pages of a column begin."""
    at: int = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    return at


def pages_of(content: Any, column: Any) -> Iterator[Page]:
    """Yield the pages of a column, given the bytes of the file and the column's metadata."""
    at = _start(column)
    end = at + column.total_compressed_size
    while at < end:
        fields, body = read_struct(content, at)
        kind, size, stored = (fields[number].value for number in (1, 2, 3))
        if stored < 0:
            raise ValueError("a page has a negative size")
        values, encoding = 0, None
        if kind in DATA_PAGES:
            header = fields[DATA_PAGES[kind]].value
            values, encoding = header[1].value, header[ENCODING[kind]].value
        yield Page(kind, size, stored, slice(at, body + stored), values, encoding)
        at = body + stored
