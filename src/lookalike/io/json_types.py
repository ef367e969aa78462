"""Determines the types of the columns of JSON lines from all lines, before any row is written.

Arrow infers the types of a block of lines. If it fails, because a value has another type than those
before, Python infers them line by line and finds the row.
"""

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError
from lookalike.io.jsonl import coarse_fault, fault_in, json_blocks, lines_of, longest_line, object_in, read_all
from lookalike.io.part import Part
from lookalike.io.types import leave_out, widened

EXACT = 1 << 53  # floats hold all integers up to this one
Path = tuple[str, ...]  # the column, and the fields within it; the elements of a list share its path


def all_columns(
    part: Part, keys: pa.Schema, order: list[str], size: int, columns: Collection[str] | None = None
) -> pa.Schema:
    """Return the columns of all lines, or those named, with types that fit every line.

    `keys` keep their types. A column of which no type fits all values is an error.
    """
    types = _Types(part, keys, columns)
    for read in json_blocks(part, size):
        types.add(lines_of(read()))
    types.check_integers()
    names = [name for name in dict.fromkeys([*order, *types.kinds]) if name in types.kinds]
    return pa.schema([(name, types.kinds[name]) for name in names])


class _Types:
    """The types of the columns of all lines so far."""

    def __init__(self, part: Part, keys: pa.Schema, columns: Collection[str] | None):
        self.part, self.keys, self.columns = part, keys, columns
        self.kinds: dict[str, pa.DataType] = {field.name: field.type for field in keys}
        self.longest = longest_line(part)
        self.rows = 0  # so far
        self.large: dict[Path, tuple[int, int]] = {}  # an integer that no float equals, and its row

    def add(self, lines: list[bytes]) -> None:
        """Widen the types to fit some more lines."""
        table = read_all([line for line in lines if not coarse_fault(line, self.longest)], self.keys, "infer")
        if table is None or not self._add_table(table):
            self._add_rows(lines)
        elif any(self._wanted(name) and _has_large(table[name]) for name in table.column_names):
            self._add_large(lines)
        self.rows += len(lines)

    def _wanted(self, name: str) -> bool:
        return name not in self.keys.names and (self.columns is None or name in self.columns)

    def _add_table(self, table: pa.Table) -> bool:
        """Widen the types to fit a table; return False, and change nothing, if a type conflicts."""
        new: dict[str, pa.DataType] = {}
        for field in table.schema:
            if self._wanted(field.name):
                kind = widened(self.kinds.get(field.name, pa.null()), _without_times(field.type))
                if kind is None:
                    return False
                new[field.name] = kind
        self.kinds |= new
        return True

    def _add_rows(self, lines: list[bytes]) -> None:
        for row, columns in self._good(lines):
            for name, value in columns.items():
                self._add_value(row, name, value)
        self._add_large(lines)

    def _good(self, lines: list[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows whose keys are good, as columns that are wanted, each with its number."""
        for at, line in enumerate(lines):
            if len(line) <= self.longest and fault_in(line, self.keys) is None:
                row = object_in(line)[0] or {}
                yield self.rows + at, {name: value for name, value in row.items() if self._wanted(name)}

    def _add_value(self, row: int, name: str, value: Any) -> None:
        before, own = self.kinds.get(name, pa.null()), type_of(value)
        kind = None if own is None else widened(before, own)
        if kind is None:
            here = f"{own} here, but {before} in the rows before, and no type holds both"
            here = "a list of mixed types, which no column type can hold" if own is None else here
            raise DataError(f"{self.part.place(row)}: column {name!r} holds {here}.{leave_out('.jsonl')}")
        self.kinds[name] = kind

    def _add_large(self, lines: list[bytes]) -> None:
        """Note the integers that no float equals."""
        for row, columns in self._good(lines):
            for path, number in _integers(columns, ()):
                if not _is_exact(number):
                    self.large.setdefault(path, (number, row))

    def check_integers(self) -> None:
        """Raise an error if a column that must be floats holds an integer that no float equals."""
        for path, (number, row) in self.large.items():
            if pa.types.is_floating(_leaf(self.kinds[path[0]], path[1:])):
                what = f"column {path[0]!r} holds {number}, which does not fit double, the type that its values need"
                raise DataError(f"{self.part.place(row)}: {what}.{leave_out('.jsonl')}")


def type_of(value: Any) -> pa.DataType | None:
    """Return the type of a value of JSON; None for a list whose elements no type can hold.

    >>> type_of({"a": [1, 2.5, None], "b": True})
    StructType(struct<a: list<item: double>, b: bool>)
    """
    if isinstance(value, dict):
        fields = {name: type_of(one) for name, one in value.items()}
        return None if None in fields.values() else pa.struct(list(fields.items()))
    if isinstance(value, list):
        kind: pa.DataType | None = pa.null()
        for one in value:
            own = type_of(one)
            kind = None if own is None else widened(kind, own)
            if kind is None:
                return None
        return pa.list_(kind)
    if type(value) is int:
        return pa.int64() if -(1 << 63) <= value < 1 << 63 else pa.float64()
    return {str: pa.string(), float: pa.float64(), bool: pa.bool_()}.get(type(value), pa.null())


def _integers(value: Any, path: Path) -> Iterator[tuple[Path, int]]:
    """Yield the integers in a value, each with its path."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _integers(one, (*path, name))
    elif isinstance(value, list):
        for one in value:
            yield from _integers(one, path)
    elif type(value) is int:
        yield path, value


def _is_exact(number: int) -> bool:
    """Return whether a float equals this integer."""
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _leaf(kind: pa.DataType, path: Path) -> pa.DataType:
    """Return the type at a path within a type."""
    if pa.types.is_list(kind):
        return _leaf(kind.value_type, path)
    return _leaf(kind.field(path[0]).type, path[1:]) if pa.types.is_struct(kind) else kind


def _has_large(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds numbers so large that floats do not hold all integers there."""
    kind = column.type
    if pa.types.is_struct(kind):
        return any(_has_large(pc.struct_field(column, at)) for at in range(kind.num_fields))
    if pa.types.is_list(kind):
        return _has_large(pc.list_flatten(column))
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    ends = pc.min_max(column).as_py()
    return ends["max"] is not None and (ends["max"] >= EXACT or ends["min"] <= -EXACT)


def _without_times(kind: pa.DataType) -> pa.DataType:
    """Return the type with strings in place of timestamps, which Arrow infers from some strings."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    return kind
