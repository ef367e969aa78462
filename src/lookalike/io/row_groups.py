"""Writes Parquet with row groups that were encoded apart, so that all cores can encode them.

Each row group becomes a Parquet file of its own in memory. The pages of these files are put one
after the other, and their footers become one, in which the places of the pages are corrected. See
the Parquet format, "Metadata": the numbers of fields below are those of its structs.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from lookalike.io.thrift import Fields, read_struct, write_struct

MAGIC = b"PAR1"
FILE_ROWS, FILE_GROUPS = 3, 4  # in a FileMetaData
COLUMNS, GROUP_OFFSET, ORDINAL = 1, 5, 7  # in a RowGroup
CHUNK_OFFSETS, CHUNK_META = (2, 4, 6), 3  # in a ColumnChunk: of itself, its offset index and its column index
META_OFFSETS = (9, 10, 11, 14)  # in a ColumnMetaData: of data, index and dictionary pages, and the Bloom filter


class EncodedGroup(NamedTuple):
    """The pages of a row group, and the footer of a file that begins with them."""

    pages: pa.Buffer
    footer: Fields

    def save(self) -> list[Any]:
        """Return its bytes in two buffers."""
        return [self.pages, write_struct(self.footer)]

    @classmethod
    def load(cls, kept: list[Any]) -> "EncodedGroup":
        """Return the row group that has these bytes."""
        pages, footer = kept
        return cls(pages, read_struct(bytes(footer), 0)[0])


def encode_group(table: pa.Table) -> EncodedGroup:
    """Encode and compress a table as one row group; without rows, it can also have no pages."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        writer.write_table(table, row_group_size=max(1, len(table)))
    content = sink.getvalue()
    end = len(content) - len(MAGIC) - 4
    start = end - int.from_bytes(content[end : end + 4].to_pybytes(), "little")
    footer, _ = read_struct(content.slice(start, end - start).to_pybytes(), 0)
    return EncodedGroup(content.slice(len(MAGIC), start - len(MAGIC)), footer)


def join_groups(groups: Iterable[EncodedGroup]) -> Iterator[list[Any]]:
    """Yield the bytes of a Parquet file of these row groups, of which there must be at least one."""
    yield [MAGIC]
    moved = rows = 0  # how far the pages are from their places in a file of their own
    listed: list[Fields] = []
    first: Fields = {}
    for pages, footer in groups:
        first = first or footer
        for group in footer[FILE_GROUPS].value.values:
            _move(group, moved)
        listed += footer[FILE_GROUPS].value.values
        rows += footer[FILE_ROWS].value
        moved += len(pages)
        yield [pages]
    first[FILE_ROWS] = first[FILE_ROWS]._replace(value=rows)
    whole = first[FILE_GROUPS].value._replace(values=listed)
    first[FILE_GROUPS] = first[FILE_GROUPS]._replace(value=whole)
    footer_bytes = write_struct(first)
    yield [footer_bytes, len(footer_bytes).to_bytes(4, "little"), MAGIC]


def _move(group: Fields, by: int) -> None:
    """Change the metadata of a row group to that of another place in the file."""
    for chunk in group[COLUMNS].value.values:
        _shift(chunk, CHUNK_OFFSETS, by)
        _shift(chunk[CHUNK_META].value, META_OFFSETS, by)
    _shift(group, (GROUP_OFFSET,), by)
    group.pop(ORDINAL, None)  # its number in the file, which is optional


def _shift(fields: Fields, numbers: tuple[int, ...], by: int) -> None:
    for number in numbers:
        if number in fields and fields[number].value:  # 0 means that there is none
            fields[number] = fields[number]._replace(value=fields[number].value + by)
