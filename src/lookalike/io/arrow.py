"""Reads Arrow IPC files and streams, and Arrow tables in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import BadFile
from lookalike.io.part import Block, Part, Task, evenly, ready, selected

BYTES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


# --- tables in memory ---


def table_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield slices of an Arrow table in memory."""
    return map(ready, cut(selected(part.content, schema), size))


def table_spots(part: Part, schema: pa.Schema, size: int, count: int) -> Iterator[Task]:
    """Yield slices from all over an Arrow table in memory."""
    table = selected(part.content, schema)
    rows = rows_for(size, table.nbytes, len(table))
    return (ready(Block(table.slice(at * rows, rows))) for at in evenly(len(table) // rows, count))


def table_schema(part: Part) -> pa.Schema:
    """Return the columns of an Arrow table in memory."""
    return part.content.schema


def table_rows(part: Part) -> int:
    """Return the number of rows of an Arrow table in memory."""
    return len(part.content)


# --- Arrow IPC ---


def arrow_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that check the batches of an IPC file, memory-mapped, or of an IPC stream."""
    with _open(part) as (_, batches):
        first = 0 if part.section is None else part.section.start
        for number, batch in enumerate(batches, first):
            whole = any(pa.types.is_nested(kind) or pa.types.is_dictionary(kind) for kind in batch.schema.types)
            rows = max(1, len(batch) if whole else rows_for(size, batch.get_total_buffer_size(), len(batch)))
            for start in range(0, len(batch), rows):
                yield partial(_checked, part, number, batch.slice(start, rows), schema, size)


def _checked(part: Part, number: int, batch: pa.RecordBatch, schema: pa.Schema, size: int) -> Iterator[Block]:
    check_batch(part, number, batch)
    return cut(selected(pa.Table.from_batches([batch]), schema), size)


def check_batch(part: Part, number: int, batch: pa.RecordBatch) -> None:
    """Raise an error if a batch is damaged: wrong offsets would show other memory, or crash.

    Text that is not UTF-8 is not damage here: the rows that have it are found later, one by one.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            storage = column.storage if isinstance(column, pa.ExtensionArray) else column
            storage.view(_with_bytes(storage.type)).validate(full=True)
        except (pa.ArrowException, ValueError) as error:
            reason = " ".join(str(error).split())
            raise BadFile(f"{part.name}, batch {number}: column {name!r} is damaged: {reason}.") from error


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """Return the type with bytes in place of strings, also within lists and structs."""
    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    if kind in plain:
        return plain[kind]
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _with_bytes(kind.value_type), kind.ordered)
    if pa.types.is_map(kind):
        return pa.map_(_with_bytes(kind.key_type), _with_bytes(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_bytes(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = kind.value_field.with_type(_with_bytes(kind.value_type))
        return pa.list_(inner) if pa.types.is_list(kind) else pa.large_list(inner)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_with_bytes(kind.value_type)), kind.list_size)
    return kind


def arrow_schema(part: Part) -> pa.Schema:
    """Return the columns of an IPC file or stream."""
    with _open(part) as (schema, _):
        return schema


@contextmanager
def _open(part: Part) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with _source(part) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if is_file:
            file = pa.ipc.open_file(source)
            wanted = range(file.num_record_batches) if part.section is None else part.section.within()
            yield file.schema, (file.get_batch(i) for i in wanted)
        else:
            stream = pa.ipc.open_stream(source)
            yield stream.schema, stream


def arrow_pieces(part: Part, size: int) -> Iterator[Part]:
    """Yield an IPC file in pieces of whole batches; a stream can only be read from its beginning."""
    with _open(part) as (_, batches):
        if isinstance(batches, pa.RecordBatchReader):
            return iter([part])
        return part.cut("batch", [batch.get_total_buffer_size() for batch in batches], size)


def _source(part: Part) -> Any:
    """Open the bytes of a part, mapped into memory if they are those of a local file."""
    raw = part.raw()
    return pa.memory_map(str(raw)) if isinstance(raw, Path) else raw


def rows_for(size: int, stored: int, rows: int) -> int:
    """Return how many rows have about `size` bytes."""
    return max(1, min(rows, size * rows // max(1, stored)))


def cut(table: pa.Table, size: int) -> Iterator[Block]:
    """Yield slices of about `size` bytes, once dictionaries are replaced by their values."""
    weights = _dictionary_bytes(table)
    if not weights.any():
        rows = rows_for(size, table.nbytes, len(table))
        return (Block(table.slice(start, rows)) for start in range(0, len(table), rows))
    ends = 1 + np.flatnonzero(np.diff(np.cumsum(weights + table.nbytes // len(table)) // size))
    return (Block(table.slice(start, stop - start)) for start, stop in pairwise([0, *ends.tolist(), len(table)]))


def _dictionary_bytes(table: pa.Table) -> np.ndarray:
    """Return how many bytes of each row are strings in dictionaries."""
    total = np.zeros(len(table), np.int64)
    for column in table.columns:
        kind = column.type
        if pa.types.is_dictionary(kind) and any(test(kind.value_type) for test in BYTES):
            for chunk, start in zip(column.chunks, _starts(column), strict=True):
                lengths = pc.binary_length(chunk.dictionary).take(chunk.indices).fill_null(0)
                total[start : start + len(chunk)] += lengths.to_numpy(zero_copy_only=False)
    return total


def _starts(column: pa.ChunkedArray) -> list[int]:
    """Return the row at which each chunk begins."""
    return list(accumulate((len(chunk) for chunk in column.chunks[:-1]), initial=0)) if column.num_chunks else []
