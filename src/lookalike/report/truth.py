"""Reads the truth about a result, as pairs or clusters of ids, and numbers ids so that arrays can be compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, one_column
from lookalike.io.tables import plain_type
from lookalike.kernels.buckets import join_pairs, roots

KINDS_OF_TRUTH = ("pairs", "clusters")
GROUPS = ("cluster", "group")  # names of the column that says in which group an id is


@dataclass(frozen=True, eq=False)
class Truth:
    """The truth: pairs of ids, or ids and the clusters they are in."""

    kind: str
    first: pa.ChunkedArray
    second: pa.ChunkedArray

    @classmethod
    def of(cls, table: pa.Table, kind: str | None, names: Sequence[str] | None, ids: pa.ChunkedArray) -> "Truth":
        """Find the two columns; the ids of the result help to tell clusters from pairs."""
        have = table.column_names
        if not have:  # an empty file of JSON lines
            return cls(kind or "pairs", NO_IDS, NO_IDS)
        names = names or usual_columns(have, kind)
        if len(names) != 2:
            raise UsageError(f"truth_columns must be two columns; got {', '.join(names) or 'none'}.")
        first, second = (ids_in(table, name, "the truth") for name in names)
        if kind is None:
            named = {*names} == {"left", "right"}, names[0] == "id" and names[1] in GROUPS
            kind = "pairs" if named[0] else "clusters" if named[1] else inferred(first, second, ids)
        return cls(kind, first, second)


def usual_columns(have: Sequence[str], kind: str | None) -> Sequence[str]:
    """Return the columns that hold pairs or clusters by their names, or else the first two."""
    if kind != "clusters" and {"left", "right"} <= {*have}:
        return "left", "right"
    group = next((name for name in GROUPS if name in have), None)
    if kind != "pairs" and "id" in have and group is not None:
        return "id", group
    if len(have) < 2:
        raise DataError(f"the truth must have two columns, pairs or ids and clusters; it has only {', '.join(have)}.")
    return have[:2]


def inferred(first: pa.ChunkedArray, second: pa.ChunkedArray, ids: pa.ChunkedArray) -> str:
    """Return "clusters" if the first column has each id once, and the second repeats and has no id of the result."""
    if pc.count_distinct(first).as_py() < len(first) or pc.count_distinct(second).as_py() == len(second):
        return "pairs"
    names, known = numbered(second, ids)
    return "pairs" if np.isin(names, known).any() else "clusters"


def true_clusters(truth: Truth, numbers: np.ndarray, second: np.ndarray, items: int) -> np.ndarray:
    """Return the true cluster of each of `items` items, given the numbers of the ids in both columns.

    Pairs connect items into clusters; an item that the truth does not mention is a cluster of its own.
    """
    if truth.kind == "pairs":
        parent = np.arange(items)
        join_pairs(numbers, second, parent)
        return np.asarray(roots(parent))
    return clusters_of(truth.first, numbers, second, items)


def clusters_of(ids: pa.ChunkedArray, numbers: np.ndarray, groups: np.ndarray, items: int) -> np.ndarray:
    """Return the cluster of each of `items` items; an item without one is a cluster of its own."""
    counts = np.bincount(numbers, minlength=items)
    if counts.max(initial=0) > 1:
        twice = ids[int(np.flatnonzero(counts[numbers] > 1)[0])].as_py()
        raise DataError(f"clusters must not overlap; {twice!r} is in more than one row.")
    cluster = np.arange(items) + groups.max(initial=-1) + 1
    cluster[numbers] = groups
    return np.unique(cluster, return_inverse=True)[1]


# --- ids ---

NO_IDS = pa.chunked_array([pa.array([], pa.string())])


def ids_in(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """Return a column of ids, each of which must be there."""
    one_column(table.column_names, name, f"{what} has", "")
    column = table[name]
    if column.null_count or pa.types.is_nested(column.type):
        raise DataError(f"{what}: the column {name!r} must hold an id in each row.")
    return column.cast(plain_type(column.type))


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type in which ids are compared: integers if all are, else texts."""
    return pa.int64() if all(pa.types.is_signed_integer(kind) for kind in kinds) else pa.large_string()


def compared_as_text(result: pa.DataType, truth: pa.DataType) -> bool:
    """Return whether ids of different types are compared as texts."""
    if result == truth or pa.types.is_null(result) or pa.types.is_null(truth):
        return False  # nulls are the ids of an empty list
    texts = [pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in (result, truth)]
    return not all(texts) and common_type([result, truth]) != pa.int64()


def numbered(*columns: pa.ChunkedArray) -> list[np.ndarray]:
    """Return the ids of each column as numbers from 0; equal ids have equal numbers in all columns."""
    kind = common_type([column.type for column in columns])
    try:
        chunks = [chunk for column in columns for chunk in column.cast(kind).chunks]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"ids must be integers or texts: {' '.join(str(error).split())}.") from None
    codes: Any = pa.chunked_array(chunks, kind).combine_chunks().dictionary_encode().indices
    return np.split(codes.to_numpy().astype(np.int64), np.cumsum([len(column) for column in columns])[:-1])
