"""Turns tables into lines of JSON, column by column: row by row, Python would use only one core.

The bytes are those of `json.dumps(row, ensure_ascii=False)` for each row. Numbers that JSON does
not have (nan and infinity) become null, and values of types that it does not have become strings.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import slices
from lookalike.io.tables import is_string

CELLS = 256  # cells turned into Python objects at a time, which take several times the memory
SMALLEST, LARGEST = 1e-4, 1e10  # of the numbers that Arrow writes as Python does, apart from ".0"
TEXT = pa.large_string()


def json_lines(table: pa.Table) -> pa.Buffer:
    """Return the rows of a table as lines of JSON."""
    return content_of(json_rows(table)) if len(table) else pa.py_buffer(b"")


def json_rows(table: pa.Table) -> pa.LargeStringArray:
    """Return each row of a table as a line of JSON, with its line feed."""
    if not len(table):
        return pa.array([], TEXT)
    pieces: list[Any] = []
    for name, column in dict(zip(table.column_names, table.columns, strict=True)).items():
        pieces += [pa.scalar(f"{', ' if pieces else '{'}{as_json(name)}: ", TEXT), _cells(column)]
    return pc.binary_join_element_wise(*pieces, pa.scalar("}\n", TEXT), pa.scalar("", TEXT))


def content_of(rows: pa.LargeStringArray | pa.LargeBinaryArray) -> pa.Buffer:
    """Return the bytes of all rows, one after the other."""
    _, starts, data = rows.buffers()
    first, last = np.frombuffer(starts, np.int64)[[rows.offset, rows.offset + len(rows)]].tolist()
    return data.slice(first, last - first) if last > first else pa.py_buffer(b"")


def as_json(value: Any) -> str:
    """Return a value as JSON; bytes must be UTF-8, and what JSON does not have becomes a string."""
    return json.dumps(value, ensure_ascii=False, default=_as_string)


def _as_string(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _cells(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """Return the cells of a column as JSON."""
    cells = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if is_string(cells.type):
        return _strings(cells.cast(pa.large_binary()).cast(TEXT))  # which checks that they are UTF-8
    if pa.types.is_integer(cells.type) or pa.types.is_boolean(cells.type):
        return pc.fill_null(cells.cast(TEXT), "null")
    if pa.types.is_floating(cells.type):
        return pc.fill_null(_numbers(cells.cast(pa.float64())), "null")
    parts = (cells[part].to_pylist() for part in slices(len(cells), CELLS))
    return pa.concat_arrays([pa.array(map(as_json, part), TEXT) for part in parts])


def _strings(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    from lookalike.kernels.escapes import escape, escaped_starts  # slow to load, and other formats do not need it

    _, starts, data = texts.buffers()
    places = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data or b"", np.uint8)
    new = escaped_starts(content, places)
    buffers = [None, pa.py_buffer(new), pa.py_buffer(escape(content, places, new[-1]))]
    cells = pa.Array.from_buffers(TEXT, len(texts), buffers)
    return pc.if_else(texts.is_valid(), cells, "null") if texts.null_count else cells


def _numbers(numbers: pa.DoubleArray) -> pa.LargeStringArray:
    """Return numbers as `repr` writes them, and null in place of nan and infinity."""
    numbers = pc.if_else(pc.is_finite(numbers), numbers, None)
    texts, sizes = numbers.cast(TEXT), pc.abs(numbers)
    whole = pc.binary_join_element_wise(texts, *(pa.scalar(text, TEXT) for text in (".0", "")))
    texts = pc.if_else(pc.equal(pc.floor(numbers), numbers), whole, texts)
    alike = pc.and_(pc.greater_equal(sizes, SMALLEST), pc.less(sizes, LARGEST))
    others = pc.fill_null(pc.invert(pc.or_(alike, pc.equal(sizes, 0.0))), False)
    return pc.replace_with_mask(texts, others, pa.array(map(repr, numbers.filter(others).to_pylist()), TEXT))
