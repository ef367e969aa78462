"""Count how often each combination of agreement levels occurs among pairs of records."""

from dataclasses import dataclass

import numpy as np

from lookalike.core.errors import UsageError

MISSING_LEVEL = 255
DENSE = 1 << 22  # up to this many codes of patterns are counted in an array
LARGEST_CODE = 1 << 62


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct rows of levels, as columns, their counts, and the row that each pair has.

    A missing level is one more than the field's top level.
    """

    columns: list[np.ndarray]
    counts: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, levels: np.ndarray, sizes: list[int]) -> "Patterns":
        check("levels", levels, len(sizes))
        code, codes = np.zeros(len(levels), np.int64), 1
        for field, size in enumerate(sizes):
            slot = np.full(MISSING_LEVEL + 1, -1)
            slot[:size], slot[MISSING_LEVEL] = range(size), size
            if codes > LARGEST_CODE // (size + 1):
                code = np.unique(code, return_inverse=True)[1]
                codes = len(code)
            slots = slot[levels[:, field]]
            if slots.min(initial=0) < 0:
                got = levels[slots < 0, field][0]
                raise UsageError(f"levels of field {field} must be below {size}, as in the fitted pairs; got {got}.")
            code *= size + 1
            code += slots
            codes *= size + 1
        if codes > DENSE:
            _, any_of, row, counts = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
        else:
            counts = np.bincount(code, minlength=codes)
            present = np.flatnonzero(counts)
            any_of, place = np.zeros(codes, np.int64), np.zeros(codes, np.int64)
            any_of[code] = np.arange(len(code))
            place[present] = np.arange(len(present))
            any_of, row, counts = any_of[present], place[code], counts[present]
        rows = levels[any_of].astype(np.int64)
        columns = [np.where(rows[:, field] == MISSING_LEVEL, size, rows[:, field]) for field, size in enumerate(sizes)]
        return cls(columns, counts.astype(float), row)

    def count(self, field: int, size: int, weights: np.ndarray) -> np.ndarray:
        """Return the weighted count of pairs per level of a field."""
        return np.bincount(self.columns[field], weights, size + 1)[:size]


def levels_in(column: np.ndarray) -> int:
    """Return the number of levels up to the highest that a field has, at least 1."""
    return int(np.max(column, where=column != MISSING_LEVEL, initial=0)) + 1


def check(name: str, levels: np.ndarray, fields: int | None = None) -> None:
    """Raise an error unless levels are pairs x fields."""
    if not isinstance(levels, np.ndarray) or levels.dtype != np.uint8 or levels.ndim != 2 or not levels.shape[1]:
        got = f"{levels.dtype} of shape {levels.shape}" if isinstance(levels, np.ndarray) else type(levels).__name__
        raise UsageError(f"{name} must be a uint8 array of pairs x fields; got {got}.")
    if fields is not None and levels.shape[1] != fields:
        raise UsageError(f"{name} must have {fields} fields; got {levels.shape[1]}.")
