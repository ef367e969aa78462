"""Cells to numbers and times, and lines of JSON to rows: what is none is told, row by row."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.formats import blocks
from lookalike.io.jsonl import LOOK
from lookalike.io.parts import Block, Part
from lookalike.io.tables import is_text

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def as_numbers(column: pa.ChunkedArray, comma: bool = False) -> np.ndarray:
    """One number a cell, nan for what is none. Those of 32 bits are taken for the decimals they were made of.

    With `comma` a text such as 3,5 is a number, too.
    """
    kind = column.type
    if is_text(kind):
        texts = pc.ascii_trim_whitespace(as_valid_text(column))
        if comma:
            texts = pc.replace_substring_regex(texts, r"^([+-]?\d+),(\d+)$", r"\1.\2")
        good = pc.match_substring_regex(texts, f"^{NUMBER.pattern}$")
        column = pc.if_else(good, texts, "nan").cast(pa.float64())
    elif pa.types.is_boolean(kind) or not (pa.types.is_integer(kind) or is_real(kind)):
        return np.full(len(column), np.nan)
    numbers = np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan), dtype=np.float64)
    return np.round(numbers, 6) if pa.types.is_floating(kind) and kind.bit_width < 64 else numbers


def is_real(kind: pa.DataType) -> bool:
    """Whether values of this type are floats or decimals."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_valid_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of a column, with marks in place of bytes that are none."""
    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = [None if one is None else one.decode(errors="replace") for one in raw.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def is_date(column: pa.ChunkedArray) -> bool | None:
    """Whether times are dates rather than numbers, as the first one tells that is either; None if none is."""
    if not is_text(column.type):
        return bool(pa.types.is_temporal(column.type))
    for text in as_valid_text(column).to_pylist():
        if text is not None and NUMBER.fullmatch(text.strip()):
            return False
        if not np.isnan(iso_seconds(text)):
            return True
    return None


def as_seconds(column: pa.ChunkedArray) -> np.ndarray:
    """The seconds since 1970 of dates and times, nan for what is none."""
    if is_text(column.type):
        texts = as_valid_text(column)
        try:
            column = texts.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return np.array([iso_seconds(text) for text in texts.to_pylist()])
    elif not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return np.full(len(column), np.nan)
    micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(micros.cast(pa.float64(), safe=False).fill_null(np.nan), dtype=np.float64) / 1e6


def iso_seconds(text: str | None) -> float:
    """The seconds since 1970 of one date, with a time or without; nan for what is none."""
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# --- lines of JSON ---


def json_kinds(part: Part, size: int) -> pa.Schema:
    """The columns of the first lines, each of the kind of its first value: a number, a list, else a string."""
    first: dict[str, Any] = {}
    lines = (line for block in blocks(part, size) for line in block.split(b"\n") if line.strip())
    for line in islice(lines, LOOK):
        row = json_row(line)
        for name, value in row.items() if isinstance(row, dict) else ():
            first[name] = value if first.get(name) is None else first[name]
    kinds = {int: pa.int64(), float: pa.float64(), list: pa.list_(pa.null()), dict: pa.struct([])}
    return pa.schema([(name, kinds.get(type(value), pa.string())) for name, value in first.items()])


def json_row(line: bytes) -> Any:
    """What a line holds; None if it is no JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(line.decode("utf-8", "replace"))
    return None


def read_json_rows(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    """The columns of the schema; a line that does not fit them is faulty.

    Arrow takes all lines of a block at once. Only if it does not like them they are looked at one by one.
    """
    for block in blocks(part, size):
        lines = [line for line in block.split(b"\n") if line.strip()]
        faults = {at: "not a JSON object" for at, line in enumerate(lines) if not looks_like_object(line)}
        good = [line for at, line in enumerate(lines) if at not in faults]
        with suppress(pa.ArrowInvalid):
            table = read_objects(good, schema)
            if len(table) == len(good):  # else there are two objects in a line
                yield Block(table, faults)
                continue
        faults = {at: why for at, line in enumerate(lines) if (why := json_fault(line, schema))}
        yield Block(read_objects([line for at, line in enumerate(lines) if at not in faults], schema), faults)


def looks_like_object(line: bytes) -> bool:
    """What is no object is never shown to Arrow, which may crash of it."""
    bare = line.strip()
    return bare.startswith(b"{") and bare.endswith(b"}")


def read_objects(lines: list[bytes], schema: pa.Schema) -> pa.Table:
    """A row a line."""
    from pyarrow import json as pa_json

    if not lines:
        return schema.empty_table()
    content = b"\n".join(lines)
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return pa_json.read_json(io.BytesIO(content), options, parse)


def json_fault(line: bytes, schema: pa.Schema) -> str | None:
    """What is wrong with a line."""
    row = json_row(line)
    if not isinstance(row, dict):
        return "not a JSON object"
    for column in schema:
        value = row.get(column.name)
        allowed = (int,) if pa.types.is_integer(column.type) else (int, float)
        wanted = (str,) if pa.types.is_string(column.type) else allowed
        if value is not None and type(value) not in wanted:
            words = {(str,): "a string", (int,): "a whole number", (int, float): "a number"}
            return f"{column.name} must be {words[wanted]}; got {json.dumps(value)}"
    try:
        read_objects([line], schema)
    except pa.ArrowInvalid as error:
        return " ".join(str(error).split())
    return None
