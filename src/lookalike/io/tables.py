"""Converts Arrow tables to plain types, and finds their bad rows."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import (
    BadFile,
    DataError,
    bad_file_hint,
    encoding_hint,
    is_out_of_memory,
    skip_hint,
    too_long,
)
from lookalike.io.formats import ENCODED
from lookalike.io.part import Part

NOT_UTF8 = "not valid UTF-8"


def names_apart(part: Part, schema: pa.Schema) -> None:
    """Raise an error if two columns share a name."""
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        rule = f"column names must be unique; {schema.names.count(twice)} columns are called {twice!r}"
        raise DataError(f"{part.name}: {rule}.")


def bad_row(part: Part, where: str, why: str, of: str | None = None) -> DataError:
    """Return the error for a bad row, with the remedies; see `skip_hint` for `of`."""
    hints = [encoding_hint(of or "")] if NOT_UTF8 in why and part.format in ENCODED else []
    hints.append(skip_hint(of=of))
    return DataError("; ".join([f"{where}: {why}", *hints]) + ".")


@contextmanager
def reading(part: Part) -> Iterator[None]:
    """Turn errors raised by the libraries we read with into a BadFile that names the part."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        if is_out_of_memory(error):  # which is no fault of the file
            raise MemoryError(str(error)) from error
        part.check_unchanged()  # another content in its place would look like damage
        reason = " ".join(str(error).split()) or type(error).__name__
        what = f"{part.name}: cannot be read as {part.format}: {reason.rstrip('.')}"
        raise BadFile(f"{what}; {bad_file_hint()}.") from error


def is_list(kind: pa.DataType) -> bool:
    """Return whether values of this type are lists; not list views, on which Arrow can crash."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type can hold texts; a column of only nulls can."""
    kind = plain_type(kind)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary))


def as_text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """Return the texts as one array with 64-bit offsets, as kernels need them."""
    return in_one(column.cast(pa.large_string()))


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; what is one already is not copied, as `combine_chunks` would."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def join_ids(columns: Iterable[pa.ChunkedArray]) -> pa.Array:
    """Return the ids of several columns in one; as strings if their types differ."""
    full = [column for column in columns if len(column)]
    kinds = {column.type for column in full}
    kind = pa.large_string() if len(kinds) > 1 else kinds.pop() if kinds else pa.int64()
    return pa.concat_arrays([pa.array([], kind), *(in_one(column).cast(kind) for column in full)])


def is_string(kind: pa.DataType) -> bool:
    """Return whether values of this type are strings or bytes, stored one after the other."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_binary(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Return whether a column of texts holds bytes, not strings."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without dictionaries and views, which many Arrow functions do not support."""
    return plain_type(kind.value_type) if pa.types.is_dictionary(kind) else without_views(kind)


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type with plain strings in place of string views, also within lists."""
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_views(field.type)) for field in kind])
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the same columns with plain types."""
    return pa.schema([f.with_type(plain_type(f.type)) for f in schema], schema.metadata)


def plain(table: pa.Table) -> pa.Table:
    """Return the same rows with plain types."""
    return table.cast(plain_schema(table.schema))


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with all columns of the schema, the missing ones null."""
    if table.schema.equals(schema):
        return table
    have = set(table.schema.names)
    missing = pa.nulls(len(table))
    return pa.table([(table[f.name] if f.name in have else missing).cast(f.type) for f in schema], schema=schema)


def find_long(column: pa.ChunkedArray, name: str, most: int) -> dict[int, str]:
    """Return the rows whose text has more than `most` bytes, each with its fault."""
    if not len(column) or pa.types.is_null(column.type):
        return {}
    lengths = pc.binary_length(column)
    if (pc.max(lengths).as_py() or 0) <= most:
        return {}
    return {int(at): too_long(name, most) for at in np.flatnonzero(pc.fill_null(pc.greater(lengths, most), False))}


def find_faults(table: pa.Table, name: str, any_encoding: bool = False) -> dict[int, str]:
    """Return the rows with a bad value in a column, each with its fault."""
    faults: dict[int, str] = {}
    column = table[name]
    if column.null_count:
        faults |= {int(at): f"{name} is null" for at in np.flatnonzero(column.is_null())}
    if is_text(column.type) and not any_encoding:
        try:
            as_text(column).validate(full=True)
        except pa.ArrowInvalid:
            faults |= not_utf8(column, name)
    return faults


def not_utf8(column: pa.ChunkedArray, name: str) -> dict[int, str]:
    """Return the rows whose bytes are not valid UTF-8, each with its fault."""
    faults = {}
    for at, value in enumerate(column.cast(pa.large_binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            faults[at] = f"{name} is {NOT_UTF8} (byte {error.start} is {hex(error.object[error.start])})"
    return faults


def empty_cells(column: pa.ChunkedArray, name: str) -> dict[int, str]:
    """Return the rows where a column of texts is empty, each with its fault."""
    empty = pc.equal(pc.binary_length(column), 0).fill_null(False)
    return {int(at): f"{name} is empty" for at in np.flatnonzero(np.asarray(empty))}
