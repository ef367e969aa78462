"""Read one table of records or two, and the ids of their records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, one_column
from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.wording import counted
from lookalike.entities.fields import Field
from lookalike.entities.stacking import Stacked, stacked
from lookalike.io.records import read_table
from lookalike.io.tables import plain, without_views
from lookalike.items.sides import Sides
from lookalike.search.ids import unique_ids


@dataclass(frozen=True, eq=False)
class RecordTables:
    """One or two tables with the ids of their records; positions in the second follow the first."""

    tables: list[pa.Table]
    names: list[str]  # in messages
    id_columns: list[str]  # "" for row numbers
    ids: list[pa.Array]

    @property
    def sides(self) -> Sides:
        """Return which positions are in which table."""
        return Sides.of([len(table) for table in self.tables])

    def columns(self, field: Field) -> list[pa.ChunkedArray]:
        """Return a field's column of each table."""
        sides = zip(self.tables, (field.left, field.right), self.names, strict=False)
        return [column_of(table, name, f"field {field.name!r}", where) for table, name, where in sides]

    @property
    def all_ids(self) -> pa.Array:
        """Return the ids of all records, those of the second table last."""
        return self.ids[0] if len(self.ids) == 1 else stacked(self.ids[0], self.ids[1], "id").combine_chunks()

    def stack(self, fields: Sequence[Field]) -> Stacked:
        """Put all records into one table, where the ids and the two columns of each field are one column."""
        for table, where in zip(self.tables, self.names, strict=True):
            for name in table.column_names:
                one_column(table.column_names, name, f"the {where} has", "")
        ids = [(self.id_columns[0], self.id_columns[-1])] if all(self.id_columns) else []
        return Stacked.of(self.tables, [*ids, *((field.left, field.right) for field in fields)])


def read(left: Any, right: Any, id: str | None, run: Run) -> RecordTables:
    """Read one table or two, and the ids of their records."""
    tables = [viewless(read_table(side, "records", run)) for side in (left, right) if side is not None]
    names = ["table"] if len(tables) == 1 else ["first table", "second table"]
    given = id_columns(id)
    columns = [id_column(table, name) for table, name in zip(tables, given, strict=False)]
    ids = [ids_of(table, column, where, run) for table, column, where in zip(tables, columns, names, strict=True)]
    return RecordTables(tables, names, columns, ids)


def viewless(table: pa.Table) -> pa.Table:
    """Return the same rows with plain strings in place of string views, from which Arrow cannot take rows."""
    kinds = [without_views(one.type) for one in table.schema]
    if kinds == table.schema.types:
        return table
    return table.cast(pa.schema([one.with_type(kind) for one, kind in zip(table.schema, kinds, strict=True)]))


def id_columns(id: str | None) -> tuple[str, str]:
    r"""Return the id columns of both tables, given as COLUMN[:COLUMN_OF_B]; "" if not given.

    >>> id_columns("key:number"), id_columns(r"dc\:id"), id_columns(None)
    (('key', 'number'), ('dc:id', 'dc:id'), ('', ''))
    """
    if not id:
        return "", ""
    field = Field.parse(id)
    if field.kind or field.weight != 1:
        raise UsageError(f"the id must be COLUMN[:COLUMN_OF_B]; got {id!r}.")
    return field.left, field.right


def id_column(table: pa.Table, name: str) -> str:
    """Return the column that holds the ids, by default `id`; "" for row numbers."""
    wanted = name or ("id" if "id" in table.schema.names else "-")
    return "" if wanted == "-" else wanted


def ids_of(table: pa.Table, name: str, where: str, run: Run = ONE_THREAD) -> pa.Array:
    """Return the ids of a table: the column that `id_column` returned, or the row numbers."""
    if not name:
        return pa.array(np.arange(len(table)))
    column = column_of(table, name, "the id", where)
    if pa.types.is_nested(column.type):
        raise DataError(f"column {name!r} holds {column.type}, which cannot be an id.")
    if column.null_count:
        raise DataError(f"column {name!r} for the id is empty in {counted(column.null_count, 'row')}.")
    try:
        return unique_ids([plain(pa.table({"id": column}))["id"]], run=run)
    except pa.ArrowInvalid:
        raise DataError(f"column {name!r} for the id holds bytes that are not valid UTF-8.") from None


def column_of(table: pa.Table, name: str, what: str, where: str) -> pa.ChunkedArray:
    """Return the column with this name; raise an error unless there is exactly one."""
    one_column(table.schema.names, name, f"the {where} has", f" for {what}")
    return table[name]
