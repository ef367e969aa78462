"""How each kind of input is cut into Arrow tables of bounded size.

A reader takes a part, the names of the columns wanted (None for all) and the number of bytes a table should have, and
yields blocks. Lines of JSON and CSV have files of their own, `json_lines` and `csv_tables`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.csv import csv_schema, read_csv
from lookalike.io.parts import BOM, Block, Part, open_path
from lookalike.items.pages import decode_page

ROWS = 1 << 14  # of Parquet, read at a time at most


# --- tables ---


def read_table(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """An Arrow table in memory, a slice at a time."""
    yield from _cut(part.content if columns is None else part.content.select(columns), size)


def read_parquet(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """Row group by row group, in batches that do not cross them; with the columns that its folders tell."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw()) as file:
        meta = file.metadata
        have, asked = file.schema_arrow.names, columns
        if columns is not None:  # at least one, which tells how many rows there are
            columns = [name for name in columns if name in have] or have[:1]
        wanted = [i for i in range(meta.num_columns) if columns is None or meta.schema.column(i).path in columns]
        for group in range(meta.num_row_groups):
            group_meta = meta.row_group(group)
            stored = sum(group_meta.column(i).total_uncompressed_size for i in wanted)
            # What repeats is stored once, so this can be far too many rows: hence a limit, and a second cut.
            rows = min(ROWS, rows_for(size, stored, group_meta.num_rows))
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
                table = with_partition(pa.Table.from_batches([batch]), part, have)
                yield from _cut(table if asked is None else table.select(asked), size)


def with_partition(table: pa.Table, part: Part, have: list[str]) -> pa.Table:
    """The table with the columns that the folders of its file tell, but for those that the file has itself."""
    for name, value in part.partition:
        if name not in have:
            table = table.append_column(name, pa.repeat(pa.scalar(value, _partition_type(value)), len(table)))
    return table


def _partition_type(value: int | str | None) -> pa.DataType:
    return pa.null() if value is None else pa.int64() if isinstance(value, int) else pa.string()


def read_arrow(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """An IPC file, memory-mapped, or an IPC stream."""
    with _open_arrow(part) as (_, batches):
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from _cut(table if columns is None else table.select(columns), size)


def rows_for(size: int, stored: int, rows: int) -> int:
    """How many rows make about `size` bytes."""
    return max(1, min(rows, size * rows // max(1, stored)))


def _cut(table: pa.Table, size: int) -> Iterator[Block]:
    rows = rows_for(size, table.nbytes, len(table))
    return (Block(table.slice(start, rows)) for start in range(0, len(table), rows))


# --- lines and files ---


def blocks(part: Part, size: int) -> Iterator[bytes]:
    """The part's bytes in blocks of about `size` that end with a line."""
    with part.open() as stream:
        rest = stream.read(max(size, len(BOM) + 1)).removeprefix(BOM)
        while rest:
            more = stream.read(size)
            end = rest.rfind(b"\n") + 1 if more else len(rest)
            if end:
                yield rest[:end]
            rest = rest[end:] + more


def read_lines(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """A document a line."""
    for block in blocks(part, size):
        block = block.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        offsets = np.concatenate(([0], ends + 1))  # each text still with its line feed, which is cut off below
        whole = pa.Array.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(block + b"\n")]
        )
        yield Block(pa.table({"text": pc.binary_slice(whole, 0, -1)}))


def read_files(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """A document a file; its id is the path, relative to the folder or glob it was found by."""
    schema = pa.schema([("id", pa.string()), ("text", pa.large_string() if part.html else pa.large_binary())])
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    held = 0
    for name, content in _contents(part):
        text: Any = decode_page(content) if part.html else content.removeprefix(BOM)
        if ("\0" if part.html else b"\0") in text[:8192]:
            faults[len(rows) + len(faults)] = "holds null bytes, so it is no text"
        else:
            rows.append({"id": name, "text": text})
            held += len(content)
        if held >= size:
            yield Block(pa.Table.from_pylist(rows, schema), faults)
            rows, faults, held = [], {}, 0
    yield Block(pa.Table.from_pylist(rows, schema), faults)


def _contents(part: Part) -> Iterator[tuple[str, bytes]]:
    """The files of a part, or standard input, by name."""
    if part.content is not None:
        with part.open() as stream:
            yield "-", stream.read()
    for path in part.paths:
        with open_path(path, part.encoding) as stream:
            yield (path.relative_to(part.base) if part.base else path).as_posix(), stream.read()


# --- what columns there are ---


def schema_of(part: Part) -> pa.Schema:
    """The columns of a part, other than of lines of JSON."""
    if part.format in ("text", "files"):
        return pa.schema([("id", pa.int64() if part.format == "text" else pa.string()), ("text", pa.large_string())])
    if part.format == "table":
        return part.content.schema
    if part.format == "parquet":
        import pyarrow.parquet as pq

        schema = pq.read_schema(part.raw())
        return with_partition(schema.empty_table(), part, schema.names).schema
    if part.format == "arrow":
        with _open_arrow(part) as (schema, _):
            return schema
    return csv_schema(part)


@contextmanager
def _open_arrow(part: Part) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with pa.memory_map(str(part.paths[0])) if part.paths else part.raw() as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if is_file:
            file = pa.ipc.open_file(source)
            yield file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            stream = pa.ipc.open_stream(source)
            yield stream.schema, stream


READERS = {
    "table": read_table,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "csv": read_csv,
    "tsv": read_csv,
    "text": read_lines,
    "files": read_files,
}
FORMATS = ("parquet", "arrow", "jsonl", "csv", "tsv", "text", "files")
