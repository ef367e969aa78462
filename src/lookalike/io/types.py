"""Widens the types of columns that differ between rows or between files, without losing a value."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from lookalike.core.errors import DataError, argument
from lookalike.io.formats import FORMATS
from lookalike.io.part import Part
from lookalike.io.tables import is_text, plain, reading

Named = Sequence[tuple[Part, pa.Schema]]  # parts, each with its columns


def widened(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return a type that holds the values of both types, or None if no type does.

    A cast to it fails for a value that it cannot hold, such as an integer beyond 2**53 as a float.

    >>> widened(pa.int32(), pa.float64()), widened(pa.null(), pa.string()), widened(pa.int64(), pa.string())
    (DataType(double), DataType(string), None)
    """
    if pa.types.is_decimal(one) != pa.types.is_decimal(other) and (
        pa.types.is_floating(one) or pa.types.is_floating(other)
    ):
        return None  # a cast of decimals to floats rounds without an error
    try:
        both = [pa.schema([("column", kind)]) for kind in (one, other)]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def unified(parts: Named, remedy: Callable[[str], str] = lambda name: "") -> pa.Schema:
    """Return one schema with the columns of all parts; an error says which file differs.

    `remedy` returns the end of the message about a column.
    """
    first, schema = parts[0]
    if all(columns.equals(schema) for _, columns in parts):  # in which two columns can share a name
        return schema
    fields = {field.name: (field, first) for field in schema}
    for part, columns in parts:
        for field in columns:
            before, where = fields.setdefault(field.name, (field, part))
            kind = widened(before.type, field.type)
            if kind is None:
                types = f"column {field.name!r} holds {field.type}, but {before.type} in {where.name}"
                raise DataError(f"{part.name}: {types}, and no type holds both.{remedy(field.name)}")
            fields[field.name] = (before.with_type(kind), part if kind != before.type else where)
    return pa.schema([field for field, _ in fields.values()], schema.metadata)


def all_names(parts: Named) -> pa.Schema:
    """Return the columns of all parts, each with the type that it has in the first of them."""
    _, schema = parts[0]
    for _, columns in parts[1:]:
        schema = pa.schema([*schema, *(field for field in columns if field.name not in schema.names)], schema.metadata)
    return schema


def leave_out(written: str) -> str:
    """Return how to leave out a column whose values no type holds, or where to write it."""
    others = argument("columns", of="Source")
    return f" Leave it out by listing the other columns with {others}, or write to a {written} file."


def check_casts(parts: Named, schema: pa.Schema, size: int) -> None:
    """Raise an error for a value that does not fit the type of its column in the whole schema.

    Only the columns that have another type in their part are read.
    """
    for part, columns in parts:
        same = columns.equals(schema)
        other = [] if same else [field for field in columns if _can_fail(field.type, schema.field(field.name).type)]
        if other:
            with reading(part):
                _check_part(part, pa.schema(other), schema, size)


def _can_fail(own: pa.DataType, wide: pa.DataType) -> bool:
    """Return whether a cast to the wider type can fail."""
    return not (own.equals(wide) or is_text(own))


def _check_part(part: Part, columns: pa.Schema, schema: pa.Schema, size: int) -> None:
    start = 0
    for block in FORMATS[part.format].read(part, columns, size):
        table, numbers = plain(block.table), block.numbers()
        for field in columns:
            at = _first_misfit(table[field.name], schema.field(field.name).type)
            if at is not None:
                value, wide = table[field.name][at].as_py(), schema.field(field.name).type
                where = part.place(start + int(numbers[at]))
                misfit = f"{value!r}, which does not fit {wide}, the type that its other values need"
                raise DataError(f"{where}: column {field.name!r} holds {misfit}.{leave_out('.jsonl or .csv')}")
        start += len(table) + len(block.faults)


def _first_misfit(column: pa.ChunkedArray, kind: pa.DataType) -> int | None:
    """Return the first row whose value cannot be cast, found by bisection."""
    if _fits(column, kind):
        return None
    low, high = 0, len(column)  # the rows before `low` fit, those before `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _fits(column.slice(low, middle - low), kind) else (low, middle)
    return low


def _fits(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
