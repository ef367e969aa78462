"""The base of all results: a table of rows, with the plan it was found by, its audit and its counts."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.display import table
from lookalike.core.errors import DataError, UsageError, missing_package
from lookalike.core.wording import counted
from lookalike.items.shingles import Shingles
from lookalike.results.explanations import Explanation, SharedElements

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan

SHOWN = 10  # rows of a table in a notebook
BATCH = 1 << 16  # rows that are looked up at a time
ALL = slice(None)  # all rows


class Result(ABC):
    """What all results can do: count, iterate, index, convert, explain and report their rows."""

    plan: "Plan | None" = None  # how it was found
    audit: "Audit | None" = None  # the measured recall, if an audit was asked for
    stats: dict[str, Any]  # what was read, compared and found, and how long each stage took

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _table(self, rows: Any) -> pa.Table:
        """Return the rows at some positions, or in a slice, as a table."""

    @abstractmethod
    def explain(self, row: int) -> Explanation:
        """Explain one row."""

    def _listed(self, rows: np.ndarray) -> list[Any]:
        """Return the rows at some positions as iteration gives them."""
        return list(zip(*(column.to_pylist() for column in self._table(rows).columns), strict=True))

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), BATCH):
            yield from self._listed(np.arange(start, min(start + BATCH, len(self))))

    def __getitem__(self, index: Any) -> Any:
        """Return one row as iteration gives it, or for a slice a list of rows."""
        if isinstance(index, slice):
            return self._listed(np.array(range(len(self))[index], np.int64))
        return self._listed(np.array([self._position(index)]))[0]

    def _position(self, index: Any) -> int:
        """Return the position of a row, counted from the end if the index is negative."""
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"row {at} is out of range: the result has {counted(len(self), 'row')}.")
        return at % len(self)

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        return self._table(slice(None))

    def to_pandas(self) -> Any:
        """Return all rows as a pandas data frame."""
        try:
            import_module("pandas")  # which Arrow needs
        except ImportError:
            raise missing_package("to_pandas()", "pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return all rows as a polars data frame."""
        try:
            import polars
        except ImportError:
            raise missing_package("to_polars()", "polars") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Hand the rows to any library that reads Arrow streams, such as polars, pandas or DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write an HTML page that shows the result, how it was found, and whether to trust it."""
        from lookalike.report import finding_of, write_report  # loaded only when a page is asked for

        write_report(finding_of(self), path, title)

    def _repr_html_(self) -> str:
        shown = self._table(np.arange(min(SHOWN, len(self))))
        rows = zip(*(column.to_pylist() for column in shown.columns), strict=True)
        more = f"and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
        return table(shown.column_names, rows, str(self)[1:-1], more)


class Measured(Result):
    """A result with a value for each row: `values`, which are similarities or distances as `kind` says."""

    values: np.ndarray
    kind: str

    @property
    def similarity(self) -> np.ndarray:
        """The similarities of all rows, as an array; an error if the measure is a distance."""
        return self._of("similarity")

    @property
    def distance(self) -> np.ndarray:
        """The distances of all rows, as an array; an error if the measure is a similarity."""
        return self._of("distance")

    def _of(self, kind: str) -> np.ndarray:
        if self.kind != kind:
            raise UsageError(f"the measure is a {self.kind}, not a {kind}.")
        return self.values


class Grouped(Result):
    """A result whose rows are groups of items; iteration gives the ids of each."""

    ids: pa.Array

    @abstractmethod
    def _members(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the items of all groups, group by group, and where each begins; last, their number."""

    def _inside(self, row: int) -> np.ndarray:
        """Return the items of one group."""
        items, starts = self._members()
        at = self._position(row)
        inside: np.ndarray = items[starts[at] : starts[at + 1]]
        return inside

    def _listed(self, rows: np.ndarray) -> list[Any]:
        items, starts = self._members()
        bounds = zip(starts[rows].tolist(), starts[rows + 1].tolist(), strict=True)
        return [self.ids.take(pa.array(items[start:stop])).to_pylist() for start, stop in bounds]


class Holder(ABC):
    """Whatever holds the items of a result, so that they can be looked at."""

    shingles: Shingles | None = None  # by which texts are compared

    @abstractmethod
    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the items at ascending positions: texts, collections of elements, or vectors."""

    def elements(self, item: Any) -> Iterable[Any]:
        """Return the elements of an item that `look` gave: the shingles of a text, or the elements themselves."""
        return item if self.shingles is None else self.shingles.of(item)

    def explain(self, left: int, right: int) -> Explanation:
        """Explain what two items share, and what only one of them has."""
        rows = np.unique([left, right])
        items = dict(zip(rows.tolist(), self.look(rows), strict=True))
        return SharedElements.of(*(self.elements(items[row]) for row in (left, right)))


def explained(holder: Holder | None, left: int, right: int) -> Explanation:
    """Explain two items by their positions, if their holder still has them."""
    if holder is None:
        raise DataError("the items of this result are no longer in memory, so it cannot be explained.")
    return holder.explain(left, right)
