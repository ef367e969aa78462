"""Columns of lists in lines of JSON, which `json_lines` does not read."""

import json
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.io.formats import blocks
from lookalike.io.jsonl import LOOK, first_columns
from lookalike.io.parts import Block, Part


def json_columns(part: Part, size: int) -> pa.Schema:
    """`first_columns`, but lists as such: of integers if the first element found is one, else of strings."""
    first: dict[str, Any] = {}
    lines = (line for block in blocks(part, size) for line in block.split(b"\n") if line.strip())
    for line in islice(lines, LOOK):
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for name, value in row.items() if isinstance(row, dict) else ():
            before = first.get(name)
            if before is None or (isinstance(before, list) and _first(before) is None):
                first[name] = value
    kinds = {name: _list_type(value) for name, value in first.items() if isinstance(value, list)}
    return pa.schema([(column.name, kinds.get(column.name, column.type)) for column in first_columns(part, size)])


def _list_type(values: list[Any]) -> pa.DataType:
    return pa.list_(pa.int64() if type(_first(values)) is int else pa.string())


def _first(values: list[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def with_lists(block: Block, column: pa.Field) -> Block:
    """The block with one more column, read from its lines; a line with no such list is faulty."""
    lists, faults = json_lists(list(block.lines), column)
    rows = good_numbers(block)
    good = np.delete(np.arange(len(rows)), list(faults))
    columns = {name: block.table[name].take(good) for name in block.table.schema.names}
    return Block(
        pa.table({**columns, column.name: lists}),
        {**block.faults, **{int(rows[at]): why for at, why in faults.items()}},
    )


def json_lists(lines: list[bytes], column: pa.Field) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """The lists of the good lines, and what is wrong with the others.

    Arrow takes all lines at once. Only if it does not like them they are looked at one by one by Python, and what
    Arrow does not like of the others is found by halves.
    """
    try:
        return _read_lists(lines, column), {}
    except pa.ArrowInvalid:
        faults = {at: why for at, line in enumerate(lines) if (why := _list_fault(line, column))}
    good = [at for at in range(len(lines)) if at not in faults]
    lists, others = _by_halves([lines[at] for at in good], column)
    return lists, faults | {good[at]: why for at, why in others.items()}


def _read_lists(lines: list[bytes], column: pa.Field) -> pa.ChunkedArray:
    from pyarrow import json as pa_json

    if not lines:
        return pa.chunked_array([], column.type)
    content = b"\n".join(lines)
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=pa.schema([column]), unexpected_field_behavior="ignore")
    return pa_json.read_json(pa.BufferReader(content), options, parse)[column.name]


def _list_fault(line: bytes, column: pa.Field) -> str | None:
    try:
        value = json.loads(line.decode("utf-8", "replace")).get(column.name)
    except (ValueError, RecursionError):  # Arrow will say
        return None
    if value is not None and not isinstance(value, list):
        return f"{column.name} is {type(value).__name__}, not list"
    wanted = int if pa.types.is_integer(column.type.value_type) else str
    other = next((one for one in value or () if one is not None and type(one) is not wanted), None)
    return None if other is None else f"{column.name} holds {type(other).__name__}, not {wanted.__name__}"


def _by_halves(lines: list[bytes], column: pa.Field) -> tuple[pa.ChunkedArray, dict[int, str]]:
    try:
        return _read_lists(lines, column), {}
    except pa.ArrowInvalid as error:
        if len(lines) == 1:
            return pa.chunked_array([], column.type), {0: str(error).removesuffix(" in row 0")}
    half = len(lines) // 2
    left, faults = _by_halves(lines[:half], column)
    right, others = _by_halves(lines[half:], column)
    faults |= {half + at: why for at, why in others.items()}
    return pa.chunked_array(left.chunks + right.chunks, column.type), faults


def good_numbers(block: Block) -> np.ndarray:
    """The number in the block of each row of its table."""
    return np.delete(np.arange(len(block.table) + len(block.faults)), sorted(block.faults))
