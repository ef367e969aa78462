"""The measures on many pairs of rows of a collection at once: arrays in, an array out. `measures` says what they mean.

`left` and `right` are the positions of the rows of each pair. Sets and bags come as `Sets`, vectors as a matrix with
a vector a row, strings as a sequence. Vectors are worked on a block of pairs at a time, in double precision.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein, Indel, Levenshtein

from lookalike.core.errors import DataError, UsageError, choice
from lookalike.items.sets import Sets
from lookalike.items.vectors import read_only
from lookalike.kernels.sets import overlaps
from lookalike.kernels.vectors import ANGLE, COSINE, DISTANCE, measure_rows

BLOCK = 1 << 20  # numbers that are worked on at a time

# What an edit may do, and who counts the edits.
MOVES: dict[str, Any] = {
    "indel": Indel.distance,
    "levenshtein": Levenshtein.distance,
    "transpositions": DamerauLevenshtein.distance,
}


def bag_jaccard(bags: Sets, left: np.ndarray, right: np.ndarray, union: str = "max") -> np.ndarray:
    choice("union", union, ("max", "sum"))
    shared, a, b = shared_and_sizes(bags, left, right, bag=True)
    return ratio(shared, a + b - shared if union == "max" else a + b)


def shared_and_sizes(
    sets: Sets, left: np.ndarray, right: np.ndarray, bag: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """|A & B|, |A| and |B| of each pair of rows, which the measures of sets are made of."""
    if not isinstance(sets, Sets):
        raise UsageError(f"items must be Sets; got {type(sets).__name__}. Make them with Sets.of.")
    if len(sets) and sets.bag != bag:
        raise UsageError("items must be bags: Sets.of Counters." if bag else "items must be sets, not bags.")
    shared = np.maximum(overlaps(sets.indptr, sets.elements, left, right, 0, 1), 0)
    return shared, sets.sizes[left], sets.sizes[right]


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide element by element; 0 / 0 is 0."""
    shares: np.ndarray = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return shares


def minkowski(vectors: np.ndarray, left: np.ndarray, right: np.ndarray, r: float = 2) -> np.ndarray:
    """The differences are divided by a power of two near the greatest first, so that no power overflows or vanishes."""
    if isinstance(r, bool) or not isinstance(r, Real) or not r >= 1:
        raise UsageError(f"r must be a number of at least 1, or infinity; got {r!r}.")
    r = float(r)
    if r == 2:
        return measured(DISTANCE, vectors, left, right)
    out = np.empty(len(left))
    for part, x, y in _blocks(vectors, left, right):
        with np.errstate(over="ignore"):  # a distance beyond the largest number is infinite
            apart = np.abs(x - y)
        most = apart.max(axis=1, initial=0)
        if r == math.inf:
            out[part] = most
            continue
        infinite = most == math.inf
        apart[infinite] = 1
        scale = np.where((most > 0) & ~infinite, most, 1)
        if r < 500:
            scale = np.ldexp(1.0, np.frexp(scale)[1] - 1)  # a power of two, by which nothing is rounded
        apart /= scale[:, None]
        total = apart.sum(axis=1) if r == 1 else np.power(np.power(apart, r).sum(axis=1), 1 / r)
        with np.errstate(over="ignore"):
            out[part] = np.where(infinite, math.inf, scale * total)
    return out


def euclidean(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 2)


def manhattan(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 1)


def chebyshev(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, math.inf)


def cosine(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return measured(ANGLE, vectors, left, right)


def cosine_similarity(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return measured(COSINE, vectors, left, right)


def measured(kind: int, vectors: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What `kernels.vectors.measure` says of each pair; a vector that it can say nothing of is an error."""
    matrix = as_matrix(vectors)
    matrix = np.require(matrix, np.float32 if matrix.dtype == np.float32 else np.float64, "C")
    left, right = np.asarray(left), np.asarray(right)
    out: np.ndarray = measure_rows(kind, read_only(matrix), left, right)
    doubtful = np.flatnonzero(~np.isfinite(out))
    for side in (left[doubtful], right[doubtful]):
        rows = finite(matrix, side)
        zero = ~rows.any(axis=1)
        if kind != DISTANCE and zero.any():
            raise DataError(f"a zero vector has no direction; row {side[np.argmax(zero)]} is one.")
    return out


def hamming(vectors: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    symbols = as_symbols(vectors)
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
    if isinstance(strings, str) or not all(isinstance(string, str) for string in (*one, *two)):
        raise DataError("items must be strings.")
    distances: np.ndarray = process.cpdist(one, two, scorer=MOVES[moves], dtype=np.int64)
    return distances


def levenshtein(strings: Sequence[str], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return edit(strings, left, right, "levenshtein")


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
    if matrix.shape == (0,):  # no vectors, of whatever length
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        got = f"{matrix.ndim} dimensions of {matrix.dtype}"
        raise DataError(f"vectors must be the rows of a matrix of real numbers; got {got}.")
    return matrix


def as_symbols(items: Any) -> np.ndarray:
    """A matrix of numbers, a vector or a string a row; a character is its code point and a truth value 0 or 1."""
    if isinstance(items, str):
        raise DataError("items must be vectors or strings; got one string.")
    if not isinstance(items, np.ndarray) and isinstance(items, Iterable):
        rows = list(items)
        strings = [isinstance(row, str) for row in rows]
        if any(strings) and not all(strings):
            raise DataError("items must all be strings, or none of them.")
        items = [[ord(symbol) for symbol in row] for row in rows] if any(strings) else rows
    symbols = as_matrix(items)
    return symbols.view(np.uint8) if symbols.dtype == np.bool_ else symbols


def finite(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A copy of some rows in double precision, every number of which is finite."""
    copy: np.ndarray = matrix[rows].astype(np.float64)
    good = np.isfinite(copy).all(axis=1)
    if not good.all():
        raise DataError(f"vectors must be of finite numbers; row {rows[np.argmin(good)]} is not.")
    return copy
