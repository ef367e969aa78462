"""Put the records of two tables into one, with the columns that belong together as one column."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lookalike.core.errors import DataError, UsageError, did_you_mean
from lookalike.io.types import widened


@dataclass(frozen=True)
class Stacked:
    """The records of one table or two in one table, and the names that columns of the second had."""

    table: pa.Table
    aliases: dict[str, str]

    @classmethod
    def of(cls, tables: Sequence[pa.Table], same: Sequence[tuple[str, str]] = ()) -> "Stacked":
        """Put the second table under the first: the columns named in `same`, and those of one name.

        The second table's other columns come last; one whose name is taken gets a number.

        >>> shop, club = pa.table({"name": ["Ann"], "town": ["Ansel"]}), pa.table({"who": ["Bill"], "age": [30]})
        >>> Stacked.of([shop, club], same=[("name", "who")]).table.to_pylist()
        [{'name': 'Ann', 'town': 'Ansel', 'age': None}, {'name': 'Bill', 'town': None, 'age': 30}]
        """
        if len(tables) == 1:
            return cls(tables[0], {})
        first, second = tables
        names: dict[str, str] = {}  # of the second table's columns in the whole
        for left, right in [*same, *((name, name) for name in second.column_names)]:
            if left in first.column_names and left not in names.values() and right not in names:
                names[right] = left
        above: dict[str, Any] = dict(zip(first.column_names, first.columns, strict=True))
        below: dict[str, Any] = {name: pa.nulls(len(second), column.type) for name, column in above.items()}
        for name in second.column_names:
            if name not in names:
                names[name] = free(name, above)
                above[names[name]] = pa.nulls(len(first), second[name].type)
            below[names[name]] = second[name]
        table = pa.table({name: stacked(above[name], below[name], name) for name in above})
        return cls(table, {before: name for before, name in names.items() if before not in above})

    def column(self, name: str, purpose: str) -> str:
        """Return the name of a column in the table, given that or the name in the second table."""
        names = self.table.column_names
        known = name if name in names else self.aliases.get(name)
        if known is None:
            hint = did_you_mean(name, [*names, *self.aliases])
            raise UsageError(f"the records have no column {name!r} for {purpose}.{hint}")
        return known


def free(name: str, taken: Any) -> str:
    """Return the name, with a number if it is taken.

    >>> free("name", ["name", "name_2"]), free("town", [])
    ('name_3', 'town')
    """
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def stacked(one: Any, other: Any, name: str) -> pa.ChunkedArray:
    """Put a column under another: in the type that holds both, else as texts."""
    wider = one.type if one.type == other.type else widened(one.type, other.type)
    for kind in (wider or pa.large_string(), pa.large_string()):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # a value or a type that this one cannot hold
            parts = [part.cast(kind) for part in (one, other)]
            chunks = [part.chunks if isinstance(part, pa.ChunkedArray) else [part] for part in parts]
            return pa.chunked_array([*chunks[0], *chunks[1]], kind)
    types = f"{one.type} in the first table and {other.type} in the second"
    raise DataError(f"column {name!r} holds {types}, and no type holds both.")
