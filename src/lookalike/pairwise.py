"""The measures on many pairs of rows of a collection at once: arrays in, an array out. `measures` says what they mean.

`left` and `right` are the positions of the rows of each pair. Sets and bags come as `Sets`, vectors as a matrix with
a vector a row, strings as a sequence. Vectors are worked on a block of pairs at a time, in double precision.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein, Indel, Levenshtein

from lookalike.data import Sets
from lookalike.errors import DataError, UsageError, choice
from lookalike.kernels.sets import overlaps

BLOCK = 1 << 20  # numbers that are worked on at a time

# What an edit may do, and who counts the edits.
MOVES: dict[str, Any] = {
    "indel": Indel.distance,
    "levenshtein": Levenshtein.distance,
    "transpositions": DamerauLevenshtein.distance,
}


def jaccard(sets: Sets, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    shared, a, b = _overlaps(sets, left, right)
    return _ratio(shared, a + b - shared)


def bag_jaccard(bags: Sets, left: np.ndarray, right: np.ndarray, union: str = "max") -> np.ndarray:
    choice("union", union, ("max", "sum"))
    shared, a, b = _overlaps(bags, left, right)
    return _ratio(shared, a + b - shared if union == "max" else a + b)


def containment(sets: Sets, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    shared, a, _ = _overlaps(sets, left, right)
    return _ratio(shared, a)


def _overlaps(sets: Sets, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """|A & B|, |A| and |B| of each pair of rows."""
    if not isinstance(sets, Sets):
        raise UsageError(f"items must be Sets; got {type(sets).__name__}. Make them with Sets.of.")
    shared = np.maximum(overlaps(sets.indptr, sets.elements, left, right, 0, 1), 0)
    return shared, sets.sizes[left], sets.sizes[right]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    ratio: np.ndarray = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return ratio


def minkowski(vectors: np.ndarray, left: np.ndarray, right: np.ndarray, r: float = 2) -> np.ndarray:
    """The differences are divided by the greatest of them first, so that no power overflows or vanishes."""
    if not isinstance(r, int | float) or not r >= 1:
        raise UsageError(f"r must be a number of at least 1, or infinity; got {r!r}.")
    out = np.empty(len(left))
    for part, x, y in _blocks(vectors, left, right):
        with np.errstate(over="ignore"):  # a distance beyond the largest number is infinite
            apart = np.abs(x - y)
        most = apart.max(axis=1, initial=0)
        if r == math.inf:
            out[part] = most
            continue
        apart /= np.where((most > 0) & (most < math.inf), most, 1)[:, None]
        total = apart.sum(axis=1) if r == 1 else np.power(np.power(apart, r).sum(axis=1), 1 / r)
        with np.errstate(over="ignore"):
            out[part] = np.where(most < math.inf, most * total, math.inf)
    return out


def euclidean(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 2)


def manhattan(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 1)


def chebyshev(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, math.inf)


def cosine(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    out = np.empty(len(left))
    for part, u, v in _directions(vectors, left, right):
        out[part] = 2 * np.degrees(np.arctan2(_lengths(u - v), _lengths(u + v)))
    return out


def cosine_similarity(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    out = np.empty(len(left))
    for part, u, v in _directions(vectors, left, right):
        out[part] = np.clip((u * v).sum(axis=1), -1, 1)
    return out


def _directions(
    vectors: np.ndarray, left: np.ndarray, right: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Blocks of pairs of rows, each divided by its length."""
    for part, *sides in _blocks(vectors, left, right):
        for rows, side in zip((left[part], right[part]), sides, strict=True):
            most = np.abs(side).max(axis=1, initial=0)
            if not most.all():
                raise DataError(f"a zero vector has no direction; row {rows[np.argmin(most)]} is one.")
            side /= most[:, None]
            side /= _lengths(side)[:, None]
        yield part, sides[0], sides[1]


def _lengths(rows: np.ndarray) -> np.ndarray:
    lengths: np.ndarray = np.sqrt((rows * rows).sum(axis=1))
    return lengths


def hamming(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    symbols = np.asarray(vectors)
    if symbols.ndim != 2:
        raise DataError(f"vectors must be the rows of a matrix; got {symbols.ndim} dimensions.")
    out = np.empty(len(left), np.int64)
    for part in _parts(len(left), symbols.shape[1]):
        x, y = symbols[left[part]], symbols[right[part]]
        if symbols.dtype.kind == "f" and (np.isnan(x).any() or np.isnan(y).any()):
            raise DataError("vectors must not hold nan.")
        out[part] = (x != y).sum(axis=1)
    return out


def edit(strings: Sequence[str], left: np.ndarray, right: np.ndarray, moves: str = "indel") -> np.ndarray:
    choice("moves", moves, MOVES)
    one, two = ([strings[i] for i in side.tolist()] for side in (left, right))
    if not all(isinstance(string, str) for string in (*one, *two)):
        raise DataError("items must be strings.")
    distances: np.ndarray = process.cpdist(one, two, scorer=MOVES[moves], dtype=np.int64)
    return distances


def _blocks(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Pairs of rows as floating-point matrices, a block at a time; every row must be of finite numbers."""
    matrix = as_matrix(vectors)
    for part in _parts(len(left), matrix.shape[1]):
        yield part, finite(matrix, left[part]), finite(matrix, right[part])


def _parts(pairs: int, columns: int) -> Iterator[slice]:
    """Slices of the pairs, of about BLOCK numbers each."""
    step = max(1, BLOCK // max(1, columns))
    return (slice(start, start + step) for start in range(0, pairs, step))


def as_matrix(vectors: Any) -> np.ndarray:
    """A two-dimensional array of numbers, a vector a row."""
    try:
        matrix = np.asarray(vectors)
    except ValueError:
        raise DataError("vectors must all have one length.") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        got = f"{matrix.ndim} dimensions of {matrix.dtype}"
        raise DataError(f"vectors must be the rows of a matrix of real numbers; got {got}.")
    return matrix


def finite(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A copy of some rows in double precision, every number of which is finite."""
    copy: np.ndarray = matrix[rows].astype(np.float64)
    good = np.isfinite(copy).all(axis=1)
    if not good.all():
        raise DataError(f"vectors must be of finite numbers; row {rows[np.argmin(good)]} is not.")
    return copy
