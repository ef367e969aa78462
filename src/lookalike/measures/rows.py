"""Measure many pairs of rows of a collection at once: arrays in, an array out.

`two` defines the measures. `left` and `right` are the positions of the rows of each pair. Sets and
bags come as `Sets`, vectors as a matrix with one vector per row, strings as a sequence. Vectors are
measured in blocks of pairs, in double precision.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np

from lookalike.core.errors import DataError, UsageError, choice
from lookalike.items.sets import Sets
from lookalike.items.vectors import read_only
from lookalike.kernels.sets import overlaps
from lookalike.kernels.vectors import ANGLE, COSINE, DISTANCE, PRODUCT, measure_rows

BLOCK = 1 << 20  # numbers to work on at a time

# The values of `moves` for `edit`, which say what counts as one edit, and where RapidFuzz counts them.
MOVES = {"indel": "Indel", "levenshtein": "Levenshtein", "transpositions": "DamerauLevenshtein"}


def bag_jaccard(bags: Sets, left: np.ndarray, right: np.ndarray, union: str = "max") -> np.ndarray:
    choice("union", union, ("max", "sum"))
    shared, a, b = shared_and_sizes(bags, left, right, bag=True)
    return ratio(shared, a + b - shared if union == "max" else a + b)


def shared_and_sizes(
    sets: Sets, left: np.ndarray, right: np.ndarray, bag: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return |A & B|, |A| and |B| for each pair of rows; they determine every measure of sets."""
    if not isinstance(sets, Sets):
        raise UsageError(f"items must be Sets; got {type(sets).__name__}. Make them with Sets.of.")
    if len(sets) and sets.bag != bag:
        rule = "items must be bags; make them with Sets.of from Counters." if bag else "items must be sets, not bags."
        raise UsageError(rule)
    shared = np.maximum(overlaps(sets.indptr, sets.elements, None, left, right, 0, 1), 0)
    return shared, sets.sizes[left], sets.sizes[right]


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide element by element; 0 / 0 is 0."""
    shares: np.ndarray = np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
    return shares


def minkowski(vectors: np.ndarray, left: np.ndarray, right: np.ndarray, r: float = 2) -> np.ndarray:
    """Scale differences by a power of two near the greatest, to avoid overflow and underflow."""
    if isinstance(r, bool) or not isinstance(r, Real) or not r > 0:
        raise UsageError(f"r must be a positive number, or infinity; got {r!r}.")
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
            scale = np.ldexp(1.0, np.frexp(scale)[1] - 1)  # dividing by a power of two rounds nothing
        apart /= scale[:, None]
        with np.errstate(over="ignore"):
            total = apart.sum(axis=1) if r == 1 else np.power(np.power(apart, r).sum(axis=1), 1 / r)
            out[part] = np.where(infinite, math.inf, scale * total)
    return out


def euclidean(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 2)


def manhattan(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, 1)


def chebyshev(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return minkowski(vectors, left, right, math.inf)


def angle(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return measured(ANGLE, vectors, left, right)


def cosine_similarity(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return measured(COSINE, vectors, left, right)


def inner_product(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return measured(PRODUCT, vectors, left, right)


def measured(kind: int, vectors: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Apply `kernels.vectors.measure` to each pair; raise an error if it cannot measure one."""
    matrix = as_matrix(vectors)
    matrix = np.require(matrix, np.float32 if matrix.dtype == np.float32 else np.float64, "C")
    left, right = np.asarray(left), np.asarray(right)
    out: np.ndarray = measure_rows(kind, read_only(matrix), left, right)
    doubtful = np.flatnonzero(~np.isfinite(out))
    for side in (left[doubtful], right[doubtful]):
        rows = finite(matrix, side)
        zero = ~rows.any(axis=1)
        if kind in (ANGLE, COSINE) and zero.any():
            raise DataError(f"a zero vector has no direction; row {side[np.argmax(zero)]} is zero.")
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
    from rapidfuzz import process  # slow to import

    distances: np.ndarray = process.cpdist(one, two, scorer=counter(moves), dtype=np.int64)
    return distances


def counter(moves: str) -> Callable[..., int]:
    """Return the function that counts the edits between two strings."""
    from rapidfuzz import distance  # slow to import

    counted: Callable[..., int] = getattr(distance, MOVES[moves]).distance
    return counted


def levenshtein(strings: Sequence[str], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return edit(strings, left, right, "levenshtein")


def _blocks(vectors: np.ndarray, left: np.ndarray, right: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of pairs as two matrices in double precision; all components must be finite."""
    matrix = as_matrix(vectors)
    for part in _parts(len(left), matrix.shape[1]):
        yield part, finite(matrix, left[part]), finite(matrix, right[part])


def _parts(pairs: int, columns: int) -> Iterator[slice]:
    """Return slices of the pairs, each with about BLOCK numbers."""
    step = max(1, BLOCK // max(1, columns))
    return (slice(start, start + step) for start in range(0, pairs, step))


def as_matrix(vectors: Any) -> np.ndarray:
    """Return a two-dimensional array of numbers, one vector per row."""
    try:
        matrix = np.asarray(vectors)
    except ValueError:
        raise DataError("vectors must all have the same length.") from None
    if matrix.shape == (0,):  # no vectors, so their length is unknown
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        got = f"{matrix.ndim} dimensions of {matrix.dtype}"
        raise DataError(f"vectors must be the rows of a matrix of real numbers; got {got}.")
    return matrix


def as_symbols(items: Any) -> np.ndarray:
    """Return a matrix with one vector or string per row; characters become code points."""
    if isinstance(items, str):
        raise DataError("items must be vectors or strings; got one string.")
    if not isinstance(items, np.ndarray) and isinstance(items, Iterable):
        rows = list(items)
        strings = [isinstance(row, str) for row in rows]
        if any(strings) and not all(strings):
            raise DataError("items must be all strings or all vectors.")
        items = [[ord(symbol) for symbol in row] for row in rows] if any(strings) else rows
    symbols = as_matrix(items)
    return symbols.view(np.uint8) if symbols.dtype == np.bool_ else symbols


def finite(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a copy of some rows in double precision; all components must be finite."""
    copy: np.ndarray = matrix[rows].astype(np.float64)
    good = np.isfinite(copy).all(axis=1)
    if not good.all():
        raise DataError(f"vectors must have finite components; row {rows[np.argmin(good)]} does not.")
    return copy
