"""Reads Parquet files: runs of pages in several threads, or row groups one after the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from lookalike.io.arrow import cut, rows_for
from lookalike.io.parquet_pages import BUFFER, expect, rows_to_decode
from lookalike.io.parquet_runs import ColumnPages, RowGroup, row_group
from lookalike.io.part import Block, Part, Task, evenly, ready, selected

ROWS = 1 << 14  # the most rows to read at a time, if not by pages
WHOLE = 1 << 25  # bytes of a row group that one thread reads, if not by pages


def parquet_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that read the columns of the schema, with those from the folders' names."""
    with _opened(part, schema) as (file, columns, wanted):
        have = file.schema_arrow.names
        groups = file.metadata.num_row_groups
        for group in range(groups) if part.section is None else part.section.within():
            expect(part, file.metadata, group, wanted)
            pages = row_group(part, file, group, wanted)
            if pages is None and file.metadata.row_group(group).total_byte_size <= WHOLE:
                yield partial(_whole_group, part, file.metadata, group, wanted, columns, schema, size)
            elif pages is None:
                yield from map(ready, _row_group(part, file, group, wanted, columns, schema, size))
            else:
                yield from (partial(_run, part, pages, run, have, schema, size) for run in pages.runs(size))


def parquet_spots(part: Part, schema: pa.Schema, size: int, count: int) -> Iterator[Task]:
    """Yield tasks that read the beginning of a page each, from all over a part; none for lists and structs.

    A dictionary must be decoded as a whole, so plain pages are preferred. The schema names one column.
    """
    with _opened(part, schema) as (file, _, wanted):
        groups = file.metadata.num_row_groups
        for group in evenly(groups, count):
            pages = row_group(part, file, group, wanted)
            if pages is None:
                return
            (column,) = pages.columns
            runs = list(pages.runs(size))
            runs = list(filter(column.is_plain, runs)) or runs
            for at in evenly(len(runs), max(1, count // groups)):
                yield partial(_head, part, column, runs[at], file.schema_arrow.names, schema, size)


def parquet_pieces(part: Part, size: int) -> Iterator[Part]:
    """Yield the part in pieces of whole row groups."""
    import pyarrow.parquet as pq

    meta = pq.read_metadata(part.raw())
    stored = (_stored(meta.row_group(group)) for group in range(meta.num_row_groups))
    return part.cut("row group", stored, size)


def _stored(group: Any) -> int:
    """Return how many bytes a row group has in the file."""
    return sum(group.column(at).total_compressed_size for at in range(group.num_columns))


@contextmanager
def _opened(part: Part, schema: pa.Schema) -> Iterator[tuple[Any, list[str], list[int]]]:
    """Open a file; yield it with the columns to read, and the numbers of those within them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw(), buffer_size=BUFFER, pre_buffer=False) as file:
        meta, have = file.metadata, file.schema_arrow.names
        columns = [name for name in schema.names if name in have] or have[:1]  # one column, to know the number of rows
        # Arrow checks the columns of all row groups here. If one is damaged, asking for its size later would abort.
        next(file.iter_batches(1, columns=columns, use_threads=False), None)
        yield (
            file,
            columns,
            [i for i in range(meta.num_columns) if meta.schema.column(i).path.partition(".")[0] in columns],
        )


def _run(part: Part, pages: RowGroup, run: slice, *how: Any) -> Iterator[Block]:
    return _blocks(part, pages.read(run), *how)


def _head(
    part: Part, column: ColumnPages, run: slice, have: list[str], schema: pa.Schema, size: int
) -> Iterator[Block]:
    return _blocks(part, pa.table({column.name: column.head(run, size)}), have, schema, size)


def _blocks(part: Part, table: pa.Table, have: list[str], schema: pa.Schema, size: int) -> Iterator[Block]:
    return cut(selected(with_partition(table, part, have), schema), size)


def _whole_group(part: Part, meta: Any, group: int, *what: Any) -> list[Block]:
    """Return the blocks of a small row group, read by itself."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw(), metadata=meta) as file:
        return list(_row_group(part, file, group, *what))


def _row_group(
    part: Part, file: Any, group: int, wanted: list[int], columns: list[str], schema: pa.Schema, size: int
) -> Iterator[Block]:
    """Yield the blocks of a row group that cannot be read by pages."""
    meta, have = file.metadata.row_group(group), file.schema_arrow.names
    stored = sum(meta.column(i).total_uncompressed_size for i in wanted)
    # Repeated values are stored once, so this can be too many rows.
    rows = min(ROWS, rows_for(size, stored, meta.num_rows), rows_to_decode(part, file, group, wanted))
    for table in _together(file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False), size):
        yield from cut(selected(with_partition(table, part, have), schema), size)


def _together(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Yield small batches together, in tables of up to about `size` bytes."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.nbytes
        if held >= size // 2:
            yield pa.Table.from_batches(waiting)
            waiting, held = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def parquet_schema(part: Part) -> pa.Schema:
    """Return the columns of a Parquet file, and those from its folders' names."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(part.raw())
    return with_partition(schema.empty_table(), part, schema.names).schema


def parquet_rows(part: Part) -> int:
    """Return the number of rows of a Parquet file."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(part.raw()).num_rows)


def with_partition(table: pa.Table, part: Part, have: list[str]) -> pa.Table:
    """Add the columns from the folders' names to a table, except those that the file has itself."""
    for name, value in part.partition:
        if name not in have:
            table = table.append_column(name, pa.repeat(pa.scalar(value, _partition_type(value)), len(table)))
    return table


def _partition_type(value: int | str | None) -> pa.DataType:
    return pa.null() if value is None else pa.int64() if isinstance(value, int) else pa.string()
