"""Finds the columns of a table that hold vectors or codes, and names them where CSV does not."""

from dataclasses import dataclass, replace

import pyarrow as pa

from lookalike.core.errors import DataError, argument, one_column, remedy
from lookalike.io.csv import csv_cells, csv_rows, frame_index
from lookalike.io.jsonl import LOOK
from lookalike.io.npy import has
from lookalike.io.part import Part
from lookalike.io.source import id_column
from lookalike.io.tables import is_list, is_text

LINES = 100  # of CSV that show whether a column holds numbers
FEW = 4  # with this many columns, a first line 0, 1, 2, ... is a header, not a vector


@dataclass(frozen=True)
class VectorColumns:
    """The columns of the id (None: the row number) and of the list, the components or the code."""

    identity: str | None
    names: list[str]
    kind: str  # list, numbers, integers or strings

    @property
    def every(self) -> list[str]:
        """The names of all columns to read."""
        return [*([] if self.identity is None else [self.identity]), *self.names]


def choose_columns(
    part: Part, schema: pa.Schema, vector: str | None, identity: str | None, bits: bool
) -> VectorColumns:
    """Choose the columns by the names given, or else by their types."""
    what = " for the codes" if bits else " for the vectors"
    if identity is None and vector == "id":
        identity = "-"
    if identity is None:  # an unnamed first column of CSV is the index of a data frame
        identity = "id" if "id" in schema.names else frame_index(part, schema)
    identity = None if identity in (None, "-") else id_column(part, schema, identity)
    if vector is not None and vector == identity:
        raise DataError(f"{part.name}: column {vector!r} cannot be both the id and the vector.")
    if vector is None:
        columns = likely_columns(part, [field for field in schema if field.name != identity], identity, bits)
    else:
        one_column(schema.names, vector, f"{part.name}:", what)
        columns = VectorColumns(identity, [vector], column_kind(part, schema.field(vector), bits))
    for name in columns.names:
        one_column(schema.names, name, f"{part.name}:", what)
    return columns


def column_kind(part: Part, field: pa.Field, bits: bool) -> str:
    """Return how to read a column that the user named."""
    if is_list(field.type) and (is_number(field.type.value_type) or pa.types.is_boolean(field.type.value_type)):
        return "list"
    if bits and pa.types.is_integer(field.type):
        return "integers"
    if bits and is_text(field.type):
        return "strings"
    what = "not codes" if bits else "not lists of numbers"
    how = remedy(f"pass {made_by(bits)}", f"name the column with {argument('vector')}")
    raise DataError(f"{part.name}: column {field.name!r} holds {field.type}, {what}; {how}.")


def made_by(bits: bool) -> str:
    """Return how to make codes or vectors in Python."""
    return "Bits.of(codes)" if bits else "Vectors.of(matrix)"


def likely_columns(part: Part, fields: list[pa.Field], identity: str | None, bits: bool) -> VectorColumns:
    """Choose the only column of lists of numbers, or else of codes, or else all number columns."""
    every = [field.name for field in fields]
    how = remedy(f"Pass {made_by(bits)}", f"Name it with {argument('vector')}")
    ask = f"{how}; {has(every)}."
    lists = [f.name for f in fields if is_list(f.type) and is_number(f.type.value_type)]
    if len(lists) == 1:
        return VectorColumns(identity, lists, "list")
    if lists:
        raise DataError(f"{part.name}: which column holds the {'codes' if bits else 'vectors'}? {ask}")
    codes = [field for field in fields if pa.types.is_integer(field.type) or is_text(field.type)]
    if bits and len(codes) == 1:
        return VectorColumns(identity, [codes[0].name], column_kind(part, codes[0], bits))
    untyped = part.format in ("csv", "tsv")
    numbers = [field.name for field in fields if untyped or is_number(field.type)]
    if bits and codes and not untyped and any(is_text(field.type) for field in codes):
        raise DataError(f"{part.name}: which column holds the codes? {ask}")
    wordy = column_of_words(part, numbers) if untyped else None
    if wordy is not None:
        raise no_numbers(part, wordy, ask if bits else "")
    if not numbers:
        what = "codes or lists of 0 and 1" if bits else "numbers or lists of numbers"
        raise DataError(f"{part.name}: no column holds {what}; {has(every)}.")
    return VectorColumns(identity, numbers, "numbers")


def no_numbers(part: Part, column: str, ask: str) -> DataError:
    """Return the error for a column of CSV that holds words where numbers are needed."""
    remedies = ask or (
        f"Use {argument('id', column)} if it holds ids. Vectors in one column need JSON lines or Parquet, and "
        f"{argument('vector')}."
    )
    return DataError(f"{part.name}: column {column!r} holds text, but each row of CSV must be numbers. {remedies}")


def column_of_words(part: Part, names: list[str]) -> str | None:
    """Return the first column of CSV in which no cell of the first lines is a number, or None."""
    header, *rows = [list(part.names), *csv_rows(part, LINES)] if part.names else csv_rows(part, LINES)
    for name in names:
        at = header.index(name)
        cells = [row[at] for row in rows if at < len(row) and row[at].strip()]
        if cells and all(to_number(cell) is None for cell in cells):
            return name
    return None


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of this type can be components."""
    return any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


# --- CSV without a header line ---


def with_names(part: Part) -> Part:
    """Return the part; the columns of CSV without a header line are named by number, from 1."""
    if part.format not in ("csv", "tsv"):
        return part
    cells = csv_cells(part)
    headed = any(cell and to_number(cell) is None for cell in cells) or cells[:1] == [""] or counts_columns(part)
    return part if headed else replace(part, names=tuple(str(at + 1) for at in range(len(cells))))


def counts_columns(part: Part) -> bool:
    """Return whether the first line of CSV numbers the columns from 0 or 1, as pandas does.

    A few integers can be a vector too, so there must be FEW columns, or fractions further down.
    """
    first, *others = csv_rows(part, LOOK) or [[]]
    counted = [[str(at + start) for at in range(len(first))] for start in (0, 1)]
    if len(first) < 2 or first not in counted or not others or others[0] == first:
        return False
    return len(first) >= FEW or not all(cell.strip().lstrip("+-").isdecimal() for row in others for cell in row if cell)


def to_number(cell: str | bytes) -> float | None:
    """Return the number in a cell of CSV, or None if it is not one.

    >>> to_number(" 1e-3"), to_number(b"x"), to_number("1_000")
    (0.001, None, None)
    """
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if (b"_" if isinstance(cell, bytes) else "_") in cell else number  # type: ignore[operator]
