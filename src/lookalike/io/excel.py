"""Reads Excel workbooks: the first sheet, whose first row names the columns."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from lookalike.core.errors import BadFile, missing_package
from lookalike.io.part import Block, Part, Task, selected


def excel_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield one task for the columns of the schema: workbooks are small and are read whole."""
    yield lambda: [Block(selected(_first_sheet(part), schema))]


def excel_schema(part: Part) -> pa.Schema:
    """Return the columns of the first sheet."""
    return _first_sheet(part).schema


def _first_sheet(part: Part) -> pa.Table:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise missing_package(f"{part.name}: reading Excel", "python-calamine", "'lookalike[excel]'") from None
    try:
        source = part.local() if part.paths else pa.BufferReader(part.content)
        rows = CalamineWorkbook.from_object(source).get_sheet_by_index(0).to_python()
    except CalamineError as error:
        raise BadFile(f"{part.name}: cannot be read as an Excel workbook: {error}.") from error
    head, *cells = rows or [[]]
    columns = zip(*cells, strict=True) if cells else [()] * len(head)
    return pa.Table.from_arrays([_column(values) for values in columns], [_written(name) for name in head])


def _column(values: Any) -> pa.Array:
    """Return a column of integers or floats, null where empty, if its cells are; else of strings."""
    numbers = [value for value in values if value != ""]
    if numbers and all(type(value) in (int, float) for value in numbers):
        whole = all(float(value).is_integer() and abs(value) < 1 << 53 for value in numbers)
        kind, of = (pa.int64(), int) if whole else (pa.float64(), float)
        return pa.array([None if value == "" else of(value) for value in values], kind)
    return pa.array([_written(value) for value in values], pa.string())


def _written(value: Any) -> str:
    """Return a cell as text: whole numbers without a point, dates and times in ISO form."""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool | timedelta) else str(value)
