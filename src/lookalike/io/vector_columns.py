"""Which columns of a table hold vectors or codes, and the types of columns where a file does not tell them."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, one_column
from lookalike.io.csv import csv_cells, csv_rows, frame_index
from lookalike.io.formats import blocks
from lookalike.io.jsonl import LOOK
from lookalike.io.npy import has
from lookalike.io.parts import Block, Part
from lookalike.io.sets import is_list
from lookalike.io.tables import is_text

FEW = 4  # columns whose numbers are not taken for a vector


@dataclass(frozen=True)
class Columns:
    """Which columns hold the id (none: rows are counted), and the list, the components or the code."""

    identity: str | None
    names: list[str]
    kind: str  # list, numbers, integers or strings

    @property
    def every(self) -> list[str]:
        """All that are read."""
        return [*([] if self.identity is None else [self.identity]), *self.names]


def choose_columns(part: Part, schema: pa.Schema, vector: str | None, identity: str | None, bits: bool) -> Columns:
    """The columns by their names, or else by their types."""
    what = " for the codes" if bits else " for the vectors"
    if identity is None and vector == "id":
        identity = "-"
    identity = id_column(part, schema, identity)
    if vector is not None and vector == identity:
        raise DataError(f"{part.name}: column {vector!r} cannot be both the id and the vector.")
    if vector is None:
        columns = likely_columns(part, [field for field in schema if field.name != identity], identity, bits)
    else:
        one_column(schema.names, vector, f"{part.name}:", what)
        columns = Columns(identity, [vector], column_kind(part, schema.field(vector), bits))
    for name in columns.names:
        one_column(schema.names, name, f"{part.name}:", what)
    return columns


def id_column(part: Part, schema: pa.Schema, identity: str | None) -> str | None:
    """The column of the ids; one without a name before all others in CSV is that of a frame's index."""
    if identity is None:
        identity = "id" if "id" in schema.names else frame_index(part, schema)
    if identity is None or identity == "-":
        return None
    one_column(schema.names, identity, f"{part.name}:", " for the id")
    kind = schema.field(identity).type
    if pa.types.is_nested(kind):
        raise DataError(f"{part.name}: column {identity!r} holds {kind}, which is no id.")
    return identity


def column_kind(part: Part, field: pa.Field, bits: bool) -> str:
    """How a column that was named is to be read."""
    if is_list(field.type) and (is_number(field.type.value_type) or pa.types.is_boolean(field.type.value_type)):
        return "list"
    if bits and pa.types.is_integer(field.type):
        return "integers"
    if bits and is_text(field.type):
        return "strings"
    what = "no codes" if bits else "no lists of numbers"
    raise DataError(f"{part.name}: column {field.name!r} holds {field.type}, {what}; --vector names the column.")


def likely_columns(part: Part, fields: list[pa.Field], identity: str | None, bits: bool) -> Columns:
    """The only column of lists of numbers; else the only one of codes; else all columns of numbers."""
    every = [field.name for field in fields]
    ask = f"Name it with --vector; {has(every)}."
    lists = [f.name for f in fields if is_list(f.type) and is_number(f.type.value_type)]
    if len(lists) == 1:
        return Columns(identity, lists, "list")
    if lists:
        raise DataError(f"{part.name}: which column holds the {'codes' if bits else 'vectors'}? {ask}")
    codes = [field for field in fields if pa.types.is_integer(field.type) or is_text(field.type)]
    if bits and len(codes) == 1:
        return Columns(identity, [codes[0].name], column_kind(part, codes[0], bits))
    untyped = part.format in ("csv", "tsv")
    numbers = [field.name for field in fields if untyped or is_number(field.type)]
    if bits and codes and not untyped and any(is_text(field.type) for field in codes):
        raise DataError(f"{part.name}: which column holds the codes? {ask}")
    if not numbers:
        what = "codes or lists of 0 and 1" if bits else "numbers or lists of numbers"
        raise DataError(f"{part.name}: no column holds {what}; {has(every)}.")
    return Columns(identity, numbers, "numbers")


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type can be components."""
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


# --- CSV without a header line ---


def with_names(part: Part) -> Part:
    """The part; if it is CSV without a header line, with the columns' numbers from 1 as their names."""
    if part.format not in ("csv", "tsv"):
        return part
    cells = csv_cells(part)
    headed = any(cell and to_number(cell) is None for cell in cells) or cells[:1] == [""] or counts_columns(part)
    return part if headed else replace(part, names=tuple(str(at + 1) for at in range(len(cells))))


def counts_columns(part: Part) -> bool:
    """Whether the first line of CSV counts the columns, from 0 or 1, as pandas names those that have no names.

    A few integers can be a vector as well. So there must be FEW columns at least, or other numbers in the lines below.
    """
    first, *others = csv_rows(part, LOOK) or [[]]
    counted = [[str(at + start) for at in range(len(first))] for start in (0, 1)]
    if len(first) < 2 or first not in counted or not others or others[0] == first:
        return False
    return len(first) >= FEW or not all(cell.strip().lstrip("+-").isdecimal() for row in others for cell in row if cell)


def to_number(cell: str | bytes) -> float | None:
    """The number that a cell of CSV holds, if it does.

    >>> to_number(" 1e-3"), to_number(b"x"), to_number("1_000")
    (0.001, None, None)
    """
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if (b"_" if isinstance(cell, bytes) else "_") in cell else number  # type: ignore[operator]


# --- lines of JSON ---


def json_schema(part: Part, size: int) -> pa.Schema:
    """The columns of the first LOOK lines, of lists of numbers, numbers, integers or strings as the first is."""
    kinds: dict[str, pa.DataType] = {}
    lines = (line for block in blocks(part, size) for line in block.split(b"\n") if line.strip())
    for line in islice(lines, LOOK):
        row = json_object(line)
        for name, value in row.items() if isinstance(row, dict) else ():
            kind = json_type(value)
            if name not in kinds or kinds[name] == pa.null() or (kind, kinds[name]) == (pa.int64(), pa.uint64()):
                kinds[name] = kind
    return pa.schema(list(kinds.items()))


def json_type(value: Any) -> pa.DataType:
    """The type for a column that holds the value; integers are unsigned unless one is negative."""
    if isinstance(value, list):
        first = next((one for one in value if one is not None), 0)
        return pa.list_(pa.float64() if type(first) in (int, float) else pa.string())
    if type(value) is int:
        return pa.int64() if value < 0 else pa.uint64()
    kinds = {str: pa.string(), float: pa.float64(), bool: pa.bool_(), dict: pa.struct([])}
    return kinds.get(type(value), pa.null())


def json_object(line: bytes) -> dict[str, Any] | str:
    """The object in a line, or what is wrong with it."""
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        return f"not valid JSON ({error})"
    return row if isinstance(row, dict) else f"not a JSON object but {type(row).__name__}"


def read_json_rows(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    """The columns of the schema. Arrow takes all lines at once; only if it does not like them Python takes each."""
    for block in blocks(part, size):
        lines = [line for line in block.split(b"\n") if line.strip()]
        table = arrow_rows(lines, schema)
        if table is not None:
            yield Block(table)
            continue
        rows = [json_row(line, schema) for line in lines]
        good = [row for row in rows if isinstance(row, dict)]
        faults = {at: row for at, row in enumerate(rows) if isinstance(row, str)}
        yield Block(pa.Table.from_pylist(good, schema), faults)


def arrow_rows(lines: list[bytes], schema: pa.Schema) -> pa.Table | None:
    """A table of the lines, or None if they are not all rows of it."""
    from pyarrow import json as pa_json

    if not all(line.strip()[:1] == b"{" and line.strip()[-1:] == b"}" for line in lines):
        return None  # Arrow may crash of other values
    content = b"\n".join(lines)
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pa_json.read_json(io.BytesIO(content), options, parse)
    except pa.ArrowInvalid:
        return None
    return table if len(table) == len(lines) else None


def json_row(line: bytes, schema: pa.Schema) -> dict[str, Any] | str:
    """The values of a row, or what is wrong with it."""
    row = json_object(line)
    if isinstance(row, str):
        return row
    for field in schema:
        value = row.get(field.name)
        why = None if value is None else misfit(value, field.type)
        if why is not None:
            return f"{field.name} {why}"
    return {field.name: fitted(row.get(field.name), field.type) for field in schema}


def misfit(value: Any, kind: pa.DataType) -> str | None:
    """Why a value of JSON is none of a column's type."""
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            return f"is {type(value).__name__}, not list"
        other = next((one for one in value if one is not None and type(one) not in (int, float)), None)
        return None if other is None else f"holds {type(other).__name__}, not numbers"
    if pa.types.is_string(kind):
        if not isinstance(value, str):
            return f"is {type(value).__name__}, not str"
        return "is not valid UTF-8" if any("\ud800" <= letter <= "\udfff" for letter in value) else None
    if pa.types.is_integer(kind):
        least, most = (0, 1 << 64) if kind == pa.uint64() else (-(1 << 63), 1 << 63)
        return None if type(value) is int and least <= value < most else f"is {value!r}, no integer of 64 bits"
    return None if type(value) in (int, float) else f"is {value!r}, no number"


def fitted(value: Any, kind: pa.DataType) -> Any:
    """A value that fits, with integers as floats where the type is that."""
    if isinstance(value, list):
        return [fitted(one, kind.value_type) for one in value]
    if type(value) is not int or not pa.types.is_floating(kind):
        return value
    return float(value) if abs(value) < 1 << 1000 else np.inf
