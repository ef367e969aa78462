"""Lines of JSON to Arrow tables, a block of lines at a time, with the lines that are no row told apart."""

import io
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from lookalike.io.formats import blocks
from lookalike.io.parts import Block, Part

LOOK = 1000  # lines whose columns are taken for those of the file


def first_columns(part: Part, size: int) -> pa.Schema:
    """The columns of the first LOOK lines: those whose first value is an integer as such, all others as strings."""
    kinds: dict[str, pa.DataType] = {}
    lines = (line for block in blocks(part, size) for line in _lines(block))
    for line in islice(lines, LOOK):
        row, _ = _object(line)
        for name, value in (row or {}).items():
            if kinds.get(name) in (None, pa.null()):
                kinds[name] = pa.null() if value is None else pa.int64() if type(value) is int else pa.string()
    return pa.schema([(name, pa.string() if kind == pa.null() else kind) for name, kind in kinds.items()])


def all_columns(part: Part, keys: pa.Schema, order: list[str], size: int) -> pa.Schema:
    """The columns of all lines, with types that fit each of them; `keys` have theirs already."""
    found = [keys]
    for block in blocks(part, size):
        table, _ = _parse(_lines(block), keys, keys, "infer")
        found.append(pa.schema([(field.name, _without_times(field.type)) for field in table.schema]))
    merged = pa.unify_schemas(found, promote_options="permissive")
    return pa.schema([merged.field(name) for name in dict.fromkeys([*order, *merged.names]) if name in merged.names])


def read_json(part: Part, keys: pa.Schema, schema: pa.Schema, size: int) -> Iterator[Block]:
    """The columns of the schema; a line that does not fit `keys`, the text and the id, is faulty."""
    for block in blocks(part, size):
        lines = _lines(block)
        table, faults = _parse(lines, keys, schema, "ignore")
        yield Block(table, faults, [line for at, line in enumerate(lines) if at not in faults])


def _lines(block: bytes) -> list[bytes]:
    return [line for line in block.split(b"\n") if line.strip()]


def _parse(lines: list[bytes], keys: pa.Schema, schema: pa.Schema, others: str) -> tuple[pa.Table, dict[int, str]]:
    """A table of the good lines, and what is wrong with the others.

    Arrow takes all lines at once. Only if it does not like them they are looked at one by one: first by Python,
    which tells best what is wrong, then by Arrow, which is stricter.
    """
    faults: dict[int, str] = {}
    error = pa.ArrowInvalid("some lines are no rows")
    for find_fault in (_coarse_fault, _fault, _arrow_fault):
        for at, line in enumerate(lines):
            if at not in faults and (why := find_fault(line, keys)):
                faults[at] = why
        good = [line for at, line in enumerate(lines) if at not in faults]
        try:
            table = _read(good, schema, others)
        except pa.ArrowInvalid as reason:
            error = reason
            continue
        if len(table) == len(good):
            return table, faults
    raise error


def _read(lines: list[bytes], schema: pa.Schema, others: str) -> pa.Table:
    from pyarrow import json as pa_json

    if not lines:
        return schema.empty_table()
    content = b"\n".join(lines)
    return pa_json.read_json(
        io.BytesIO(content),
        pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
    )


def _object(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """The object that a line holds, or None and the reason. Invalid UTF-8 is not looked at here."""
    hint = " (of an array jq -c '.[]' makes lines)" if line.lstrip().startswith(b"[") else ""
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return None, f"not valid JSON ({error}){hint}"
    return (row, "") if isinstance(row, dict) else (None, f"not a JSON object but {type(row).__name__}{hint}")


def _coarse_fault(line: bytes, keys: pa.Schema) -> str | None:
    """What is no object is never shown to Arrow, which may crash of it (`null` as a row, in pyarrow 26)."""
    bare = line.strip()
    return None if bare.startswith(b"{") and bare.endswith(b"}") else _object(line)[1] or "not a JSON object"


def _fault(line: bytes, keys: pa.Schema) -> str | None:
    row, why = _object(line)
    if row is None:
        return why
    for column in keys:
        value = row.get(column.name)
        wanted = int if pa.types.is_integer(column.type) else str
        if value is not None and type(value) is not wanted:
            return f"{column.name} is {type(value).__name__}, not {wanted.__name__}"
    return None


def _arrow_fault(line: bytes, keys: pa.Schema) -> str | None:
    try:
        _read([line], keys, "ignore")
    except pa.ArrowInvalid as error:
        return str(error).removesuffix(" in row 0")
    return None


def _without_times(kind: pa.DataType) -> pa.DataType:
    """The type with strings in place of times, which Arrow sees in strings that look like one."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    return kind
