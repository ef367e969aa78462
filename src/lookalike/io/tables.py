"""Arrow tables in plain types: what their columns can hold, and which of their rows are bad."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import ENCODING_HINT, SKIP_HINT, DataError
from lookalike.io.formats import ENCODED
from lookalike.io.part import Part

NOT_UTF8 = "not valid UTF-8"


def names_apart(part: Part, schema: pa.Schema) -> None:
    """An error for two columns of one name."""
    twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
    if twice is not None:
        rule = f"columns must have names of their own; {schema.names.count(twice)} of them are called {twice!r}"
        raise DataError(f"{part.name}: {rule}.")


def bad_row(part: Part, where: str, why: str) -> DataError:
    """The error for a bad row, with what can be done."""
    hints = [ENCODING_HINT, SKIP_HINT] if NOT_UTF8 in why and part.format in ENCODED else [SKIP_HINT]
    return DataError("; ".join([f"{where}: {why}", *hints]) + ".")


@contextmanager
def reading(part: Part) -> Iterator[None]:
    """Errors of those who read for us, with the name of the part."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{part.name}: cannot be read as {part.format}: {reason}") from error


def is_list(kind: pa.DataType) -> bool:
    """Whether each value of this type is a list; list views are not read, since Arrow may crash of them."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold texts; a column of nulls alone can."""
    kind = plain_type(kind)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary))


def as_text(column: pa.ChunkedArray) -> pa.LargeStringArray:
    """One array of texts with 64-bit offsets, which is how kernels take them."""
    return column.cast(pa.large_string()).combine_chunks()


def is_binary(kind: pa.DataType) -> bool:
    """Whether a column of texts holds bytes, not strings."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without dictionaries and views, which lack many of Arrow's functions."""
    return plain_type(kind.value_type) if pa.types.is_dictionary(kind) else without_views(kind)


def without_views(kind: pa.DataType) -> pa.DataType:
    """A type with plain strings in place of views of them, also within lists."""
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_views(field.type)) for field in kind])
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind, kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with plain types."""
    return pa.schema([f.with_type(plain_type(f.type)) for f in schema], schema.metadata)


def plain(table: pa.Table) -> pa.Table:
    """The same rows with plain types."""
    return table.cast(plain_schema(table.schema))


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all columns of the schema, the missing ones null."""
    if table.schema.equals(schema):
        return table
    have = set(table.schema.names)
    missing = pa.nulls(len(table))
    return pa.table([(table[f.name] if f.name in have else missing).cast(f.type) for f in schema], schema=schema)


def find_faults(table: pa.Table, text: str, identity: str | None, html: bool = False) -> dict[int, str]:
    """The bad rows of a table and what is wrong with each; web pages may be bytes in any encoding."""
    faults: dict[int, str] = {}
    for name in (text, identity):
        if name is None:
            continue
        column = table[name]
        if column.null_count:
            faults |= {int(at): f"{name} is null" for at in np.flatnonzero(column.is_null())}
        if is_text(column.type) and not (html and name == text):
            try:
                as_text(column).validate(full=True)
            except pa.ArrowInvalid:
                faults |= not_utf8(column, name)
    return faults


def not_utf8(column: pa.ChunkedArray, name: str) -> dict[int, str]:
    """The rows whose bytes are no text."""
    faults = {}
    for at, value in enumerate(column.cast(pa.large_binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            faults[at] = f"{name} is {NOT_UTF8} (byte {error.start} is {hex(error.object[error.start])})"
    return faults


def empty_cells(column: pa.ChunkedArray, name: str) -> dict[int, str]:
    """The rows where a column of texts is empty."""
    empty = pc.equal(pc.binary_length(column), 0).fill_null(False)
    return {int(at): f"{name} is empty" for at in np.flatnonzero(np.asarray(empty))}
