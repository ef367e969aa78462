"""Vectors of one length, dense or sparse."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import SKIP_HINT, DataError, choice

BLOCK = 1 << 18  # numbers that are worked on at a time
NOT_FINITE = "a component is nan or infinite"
NO_DIRECTION = "a zero vector has no direction"


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of one length, one a row, all components finite: an array, or for sparse ones a SciPy matrix (CSR).

    >>> vectors = Vectors.of([[3, 4], [6, 8], [-4, 3]])
    >>> len(vectors), vectors.dimensions, vectors.values.dtype
    (3, 2, dtype('float64'))
    """

    values: Any  # of float32 or float64
    ids: pa.Array | None = None  # what results are to call them; their positions if none
    on_error: str = "fail"  # or "skip": what to do with a row that a measure cannot take
    skipped: int = 0  # rows that have been left out

    @classmethod
    def of(cls, rows: Any, ids: Any = None, on_error: str = "fail") -> "Vectors":
        """From an array, a memory-mapped one, a SciPy matrix, or a list of rows.

        Numbers of 32 and 64 bits stay what they are and where they are, others become such. A row with a component
        that is nan or infinite, or with more or fewer components than the first, is an error, or is left out.
        """
        choice("on_error", on_error, ("fail", "skip"))
        ragged: dict[int, str] = {}
        if isinstance(rows, list | tuple):
            rows, ragged = _even_rows(rows, on_error)
        values = as_floats(rows)
        kept = None if ids is None else as_ids(ids, values.shape[0] + len(ragged))
        vectors = cls(values, kept, on_error)
        if ragged:  # they are gone from the values: give the others their numbers
            numbers = np.delete(np.arange(len(values) + len(ragged)), list(ragged))
            vectors = cls(values, pa.array(numbers) if kept is None else kept.take(numbers), on_error, len(ragged))
        return vectors.without(not_finite(values), NOT_FINITE)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimensions(self) -> int:
        """How many components each has."""
        return int(self.values.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether only components that are not zero are held."""
        return not isinstance(self.values, np.ndarray)

    def without(self, bad: np.ndarray, why: str) -> "Vectors":
        """All but the bad rows, of which the first is an error unless such are to be skipped."""
        if not len(bad):
            return self
        if self.on_error == "fail":
            named = "" if self.ids is None else f" ({self.ids[bad[0]]})"
            raise DataError(f"row {bad[0]}{named}: {why}; {SKIP_HINT}.")
        good = np.delete(np.arange(len(self)), bad)
        ids = pa.array(good) if self.ids is None else self.ids.take(good)
        return Vectors(self.values[good], ids, self.on_error, self.skipped + len(bad))


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to, as a memory-mapped array cannot: kernels are compiled for one kind alone."""
    view: np.ndarray = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def not_finite(values: Any) -> np.ndarray:
    """The rows that hold a component that is nan or infinite."""
    if not isinstance(values, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(values.data))
        return np.unique(np.searchsorted(values.indptr, bad, side="right") - 1)
    return _rows_where(values, lambda rows: ~np.isfinite(rows).all(axis=1))


def zero_rows(values: Any) -> np.ndarray:
    """The rows that are zero throughout."""
    if not isinstance(values, np.ndarray):
        held = np.concatenate(([0], np.cumsum(values.data != 0)))
        return np.flatnonzero(held[values.indptr[1:]] == held[values.indptr[:-1]])
    return _rows_where(values, lambda rows: ~rows.any(axis=1))


def _rows_where(values: np.ndarray, test: Callable[[np.ndarray], Any]) -> np.ndarray:
    """The rows for which the test is true, looked at a block at a time."""
    step = max(1, BLOCK // max(1, values.shape[1]))
    starts = range(0, len(values), step)
    found = [start + np.flatnonzero(test(values[start : start + step])) for start in starts]
    return np.concatenate([np.zeros(0, np.int64), *found])


def as_floats(rows: Any) -> Any:
    """A matrix of float32 or float64, an array or in rows (CSR)."""
    if hasattr(rows, "tocsr"):
        from scipy.sparse import csr_array  # slow to import

        matrix = csr_array(rows)
        if not matrix.has_canonical_format:
            matrix = csr_array(rows, copy=True)  # which is not the user's own
            matrix.sum_duplicates()
    elif np.ma.is_masked(rows):
        raise DataError("vectors must have all their components; got a masked array. Fill it, for example with nan.")
    else:
        matrix = rows if isinstance(rows, np.memmap) else np.asarray(rows)
    if matrix.ndim != 2:
        raise DataError(f"vectors must be a matrix, one a row; got shape {matrix.shape}.")
    kind, size = matrix.dtype.kind, matrix.dtype.itemsize
    if kind not in "biuf":
        raise DataError(f"vectors must be of numbers; got {matrix.dtype}.")
    wanted = np.float32 if (kind == "f" and size <= 4) or size <= 2 else np.float64
    if not isinstance(matrix, np.ndarray):
        return matrix.astype(wanted)
    return np.require(matrix, wanted, "C")


def _even_rows(rows: Any, on_error: str) -> tuple[Any, dict[int, str]]:
    """Rows of one length as an array, and the others."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        raise DataError("vectors must be rows of numbers.") from None
    ragged = {
        i: f"{n} components, where the first row has {lengths[0]}" for i, n in enumerate(lengths) if n != lengths[0]
    }
    for row, why in ragged.items():
        if on_error == "fail":
            raise DataError(f"row {row}: {why}; {SKIP_HINT}.")
    even = [row for i, row in enumerate(rows) if i not in ragged]
    return as_array_of_numbers(even, "vectors must be rows of numbers.") if even else np.zeros((0, 0)), ragged


def as_array_of_numbers(rows: Any, rule: str) -> np.ndarray:
    try:
        return np.asarray(rows)
    except (ValueError, OverflowError):  # rows within rows
        raise DataError(rule) from None


def as_ids(ids: Any, items: int) -> pa.Array:
    try:
        given = ids if isinstance(ids, pa.Array) else pa.array(ids)
    except (pa.ArrowException, OverflowError):
        raise DataError("ids must be all of one type.") from None
    if len(given) != items:
        raise DataError(f"ids must name each of the {items:,} items; there are {len(given):,}.")
    return given
