"""Restrict which pairs count by a column: only pairs of items with the same value, or with different ones.

Within groups, the elements of each set are scrambled by its group: sets of different groups then share
no element, so they never meet, in whatever way pairs are found, and those of one group share as many as
before. Across groups, pairs of one group are left out before they are verified.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, parameter
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.items.sets import Sets
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.sets import sort_rows
from lookalike.measures import MEASURES
from lookalike.search.settings import Settings


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each item, as a number, and whether pairs count within groups or across them."""

    codes: np.ndarray
    within: bool

    @property
    def salts(self) -> np.ndarray:
        """Return a different random number for each group."""
        with np.errstate(over="ignore"):
            salts: np.ndarray = mix.py_func((self.codes.astype(np.uint64) + np.uint64(1)) * GOLDEN)
        return salts

    @property
    def apart(self) -> np.ndarray | None:
        """Return the groups whose items form no pairs among themselves; None if they do."""
        return None if self.within else self.codes

    def scramble(self, items: slice | np.ndarray, indptr: np.ndarray, elements: np.ndarray) -> None:
        """Scramble the elements of the rows of these items in place, if pairs count within groups."""
        if self.within:
            elements ^= np.repeat(self.salts[items], np.diff(indptr))

    def scrambled(self, sets: Sets) -> Sets:
        """Return sets with scrambled elements, if pairs count within groups."""
        if not self.within:
            return sets
        elements = sets.elements.copy()
        self.scramble(slice(None), sets.indptr, elements)
        indptr, elements = sort_rows(sets.indptr, elements, False)
        return Sets(indptr, elements, sets.bag)

    def check(self, items: int) -> None:
        """Raise an error unless there is a group for each item."""
        if len(self.codes) != items:
            name = parameter("within" if self.within else "across")
            raise DataError(f"{name} must have a value for each of the {items:,} items; got {len(self.codes):,}.")


def grouping_of(items: list[Any], settings: Settings, run: Run) -> Grouping | None:
    """Return the groups of the items; None if all pairs count."""
    given = {name: getattr(settings, name) for name in ("within", "across") if getattr(settings, name) is not None}
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{parameter('within')} and {parameter('across')} cannot be used together.")
    (name, values) = given.popitem()
    row = MEASURES.get(settings.measure)
    if row is not None and row.moves:
        raise UsageError(f"{parameter(name)} is for measures of sets, not for {row.usual}.")
    for other in ("order", "weights"):
        if getattr(settings, other) is not None:
            raise UsageError(f"{parameter(name)} cannot be used with {parameter(other)}.")
    if isinstance(values, str):
        if not isinstance(items[0], Source):
            raise UsageError(f"{parameter(name)} must be one value per item for sets; got {values!r}.")
        with run.stage("groups"):
            values = items[0].column(values, " to group by", run)
    return Grouping(codes_of(name, values), name == "within")


def codes_of(name: str, values: Any) -> np.ndarray:
    """Return a number for each value, the same for equal ones; null is a value like others.

    >>> codes_of("within", ["en", None, "de", "en", None])
    array([0, 1, 2, 0, 1])
    """
    try:
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = pc.dictionary_encode(whole, null_encoding="encode")
    except (pa.ArrowException, TypeError) as error:
        kind = getattr(values, "type", type(values).__name__)
        raise DataError(f"{parameter(name)} must be a column, or one value per item; got {kind}.") from error
    codes: np.ndarray = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
