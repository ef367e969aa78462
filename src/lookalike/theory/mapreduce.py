"""Minhashing and banding as map and reduce functions on plain Python values.

A map function makes (key, value) pairs from one input pair; values are grouped by key; a reduce
function makes output pairs from each key and its values. `run` does all three in this process.
Engines that work on many machines must give the same results as these functions.

    signatures = run(map_rows(functions), reduce_minima, matrix)   from a matrix chunked by rows
    buckets    = run(map_bands(rows), reduce_buckets, signatures)  for all bands
    compare    = run(map_pairs, reduce_pairs, buckets)             later columns, for each column
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from lookalike.core.errors import whole

EMPTY = (1 << 64) - 1  # the value of an item that is in no bucket

Pair = tuple[Any, Any]
Map = Callable[[Any, Any], Iterable[Pair]]
Reduce = Callable[[Any, list[Any]], Iterable[Pair]]


def run(map_: Map, reduce_: Reduce, pairs: Iterable[Pair]) -> list[Pair]:
    """Map all pairs, group the results by key, and reduce each group in the order of the keys."""
    groups: dict[Any, list[Any]] = {}
    for key, value in pairs:
        for new_key, new_value in map_(key, value):
            groups.setdefault(new_key, []).append(new_value)
    return [made for key in sorted(groups) for made in reduce_(key, groups[key])]


# --- minhashing, the matrix chunked by rows ---


def map_rows(functions: Iterable[Callable[[int], int]]) -> Map:
    """Map (row, the columns with a 1 in it) to (column, the row's number under each function).

    A map task with many rows can first combine them with `reduce_minima`, as the minimum of minima
    is the minimum. It then sends one signature per column, however many rows it had.
    """
    every = list(functions)

    def of_row(row: int, columns: Iterable[Any]) -> Iterator[Pair]:
        numbers = tuple(function(row) for function in every)
        return ((column, numbers) for column in columns)

    return of_row


def reduce_minima(column: Any, numbers: list[tuple[int, ...]]) -> Iterator[Pair]:
    """Reduce (column, all numbers sent to it) to (column, signature), the minima per function."""
    yield column, tuple(map(min, zip(*numbers, strict=True)))


# --- banding: first the buckets of all bands, then the columns to compare each column with ---


def map_bands(rows: int) -> Map:
    """Map (column, signature) to ((band, the band's values), column), for bands of `rows` rows.

    An incomplete band at the end is left out, as are bands with an EMPTY value, which never agrees.
    """
    whole("rows", rows)

    def of_column(column: Any, signature: Sequence[int]) -> Iterator[Pair]:
        for band in range(len(signature) // rows):
            values = tuple(signature[band * rows : (band + 1) * rows])
            if EMPTY not in values:
                yield (band, values), column

    return of_column


def reduce_buckets(bucket: Pair, columns: list[Any]) -> Iterator[Pair]:
    """Reduce (bucket, its columns) to (bucket, its columns in order), if there are several."""
    if len(columns) > 1:
        yield bucket, sorted(columns)


def map_pairs(bucket: Pair, columns: list[Any]) -> Iterator[Pair]:
    """Map (bucket, its columns in order) to (i, j) for all columns i < j of it."""
    return combinations(columns, 2)


def reduce_pairs(column: Any, others: list[Any]) -> Iterator[Pair]:
    """Reduce (i, all j > i that share a bucket with it) to (i, those columns sorted, each once)."""
    yield column, sorted(set(others))


def candidates(signatures: Iterable[Pair], rows: int) -> list[Pair]:
    """Run both steps of banding; return for each column the later columns to compare it with.

    >>> candidates([("A", (1, 2, 3, 4)), ("B", (1, 2, 9, 9)), ("C", (5, 6, 9, 9)), ("D", (0, 0, 0, 0))], rows=2)
    [('A', ['B']), ('B', ['C'])]
    """
    return run(map_pairs, reduce_pairs, run(map_bands(rows), reduce_buckets, signatures))
