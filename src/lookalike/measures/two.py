"""Measure two Python objects: sets, bags, vectors or strings."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from typing import Any

import numpy as np

from lookalike.core.errors import DataError, UsageError, choice, warn
from lookalike.measures import rows
from lookalike.measures.rows import MOVES, counter


def jaccard(a: Collection[Any], b: Collection[Any]) -> float:
    """Return |a & b| / |a | b|, the share of the union of sets a and b that both have.

    It is also the probability that both have the same first element in a random order. It is 0 if
    both are empty.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    one, two = _set(a), _set(b)
    union = len(one | two)
    return len(one & two) / union if union else 0.0


def bag_jaccard(a: Collection[Any], b: Collection[Any], union: str = "max") -> float:
    """Return the Jaccard similarity of bags a and b: the sum of the lesser counts over the union.

    The union has the greater counts (`union="max"`) or the sums (`"sum"`, as in *Mining of Massive
    Datasets*). Equal bags have similarity 1 with "max" and 1/2 with "sum".

    >>> bag_jaccard(Counter("aaab"), Counter("aabbc"), union="sum")
    0.3333333333333333
    """
    choice("union", union, ("max", "sum"))
    one, two = _bag(a), _bag(b)
    total = ((one | two) if union == "max" else (one + two)).total()
    return (one & two).total() / total if total else 0.0


def containment(a: Collection[Any], b: Collection[Any]) -> float:
    """Return |a & b| / |a|, the share of the elements of set a that set b has too; 0 if a is empty.

    >>> containment({1, 2}, {2, 3, 4, 5}), containment({2, 3, 4, 5}, {1, 2})
    (0.5, 0.25)
    """
    one, two = _set(a), _set(b)
    return len(one & two) / len(one) if one else 0.0


def set_cosine(a: Collection[Any], b: Collection[Any]) -> float:
    """Return |a & b| / sqrt(|a| |b|), the cosine of sets a and b as 0/1 vectors; 0 if one is empty.

    >>> set_cosine({1, 2}, {2, 3, 4, 5, 6, 7, 8, 9})
    0.25
    """
    one, two = _set(a), _set(b)
    return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0


def overlap(a: Collection[Any], b: Collection[Any]) -> int:
    """Return |a & b|, the number of elements that sets a and b both have.

    >>> overlap({1, 2, 3}, {2, 3, 4})
    2
    """
    return len(_set(a) & _set(b))


def minkowski(x: Sequence[float], y: Sequence[float], r: float = 2) -> float:
    """Return the L_r norm of x - y, (sum |x_i - y_i|**r) ** (1/r), for vectors x and y and r > 0.

    For r < 1 it is not a metric: the triangle inequality fails.

    >>> [minkowski((2, 7), (6, 4), r) for r in (1, 2, math.inf)]
    [7.0, 5.0, 4.0]
    >>> from lookalike.measures import counterexample
    >>> counterexample(lambda x, y: minkowski(x, y, 0.5), [(0, 0), (1, 0), (1, 1)]).axiom
    'd(x, z) <= d(x, y) + d(y, z)'
    """
    return _of_two(rows.minkowski, x, y, r=r)


def euclidean(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the L_2 norm of x - y, the length of the straight line between points x and y.

    >>> euclidean((2, 7), (6, 4))
    5.0
    """
    return minkowski(x, y, 2)


def manhattan(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the L_1 norm of x - y, the length of the path along the axes between points x and y.

    >>> manhattan((2, 7), (6, 4))
    7.0
    """
    return minkowski(x, y, 1)


def chebyshev(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the L_infinity norm of x - y, the greatest difference of points x and y on any axis.

    >>> chebyshev((2, 7), (6, 4))
    4.0
    """
    return minkowski(x, y, math.inf)


def angle(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the angle between vectors x and y in degrees, from 0 to 180: a metric on directions.

    With u and v of length 1 it is 2 atan2(|u - v|, |u + v|), which keeps the digits of small angles
    that the arc cosine loses (Kahan).

    >>> round(angle([1, 2, -1], [2, 1, 1]), 9)
    60.0
    """
    return _of_two(rows.angle, x, y)


def cosine(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the `angle` between vectors x and y, with a warning: the name suggests a similarity.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     cosine([1, 0], [0, 1])
    90.0
    """
    warn_of_cosine()
    return angle(x, y)


def warn_of_cosine() -> None:
    """Warn that "cosine" stands for an angle in degrees when vectors are compared."""
    warn("for vectors 'cosine' is the angle in degrees; write 'angle', or 'cosine_similarity' for the cosine.")


def cosine_similarity(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the cosine of the angle between vectors x and y, x.y / (|x| |y|), from -1 to 1.

    >>> round(cosine_similarity([1, 2, -1], [2, 1, 1]), 9)
    0.5
    """
    return _of_two(rows.cosine_similarity, x, y)


def inner_product(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the inner product x.y, the sum of the products of the components of vectors x and y.

    It has no limits, and the vector most similar to x need not be x: a longer one can be.

    >>> inner_product([1, 2], [1, 2]), inner_product([1, 2], [3, 6]), inner_product([1, 2], [-3, 0])
    (5.0, 15.0, -3.0)
    """
    return _of_two(rows.inner_product, x, y)


def hamming(x: Sequence[Any], y: Sequence[Any]) -> int:
    """Return the number of positions in which x and y, vectors or strings of one length, differ.

    >>> hamming("10101", "11110"), hamming([1, 2, 3], [1, 0, 3])
    (3, 1)
    """
    if len(x) != len(y):
        raise DataError(f"x and y must have the same length; got {len(x)} and {len(y)}.")
    if any(a != a for a in (*x, *y)):
        raise DataError("x and y must not hold nan.")
    return sum(bool(a != b) for a, b in zip(x, y, strict=True))


def edit(x: Sequence[Hashable], y: Sequence[Hashable], moves: str = "indel") -> int:
    """Return the fewest edits that turn x into y, two strings or other sequences of symbols.

    `moves` says what counts as one edit: "indel", inserting or deleting a symbol; "levenshtein",
    also replacing one; "transpositions", also swapping two neighbours (Damerau-Levenshtein, where
    further edits between swapped symbols are allowed). `MOVES` has these names.

    >>> [edit("abcde", "acfdeg", moves=moves) for moves in ("indel", "levenshtein", "transpositions")]
    [3, 3, 3]
    >>> [edit("ca", "abc", moves=moves) for moves in ("indel", "levenshtein", "transpositions")]
    [3, 3, 2]
    """
    choice("moves", moves, MOVES)
    return int(counter(moves)(*_symbols(x, y)))


def levenshtein(x: Sequence[Hashable], y: Sequence[Hashable]) -> int:
    """Return the fewest insertions, deletions and replacements that turn x into y; see `edit`.

    >>> levenshtein("kitten", "sitting")
    3
    """
    return edit(x, y, "levenshtein")


def lcs(x: Any, y: Any) -> Any:
    """Return a longest common subsequence of x and y; if there are several, always the same one.

    It is left after deleting as few symbols as possible, and has (len(x) + len(y) - edit(x, y)) / 2
    of them. Strings give a string, other sequences a list.

    >>> lcs("abcde", "acfdeg"), lcs([1, 2, 3], [3, 1, 2])
    ('acde', [1, 2])
    """
    from rapidfuzz.distance import LCSseq  # slow to import

    blocks = LCSseq.editops(*_symbols(x, y)).as_matching_blocks()
    kept = [symbol for block in blocks for symbol in x[block.a : block.a + block.size]]
    return "".join(kept) if isinstance(x, str) else kept


def _of_two(measure: Callable[..., np.ndarray], x: Sequence[float], y: Sequence[float], **options: Any) -> float:
    """Apply a measure of rows to two vectors."""
    one, two = _vector("x", x), _vector("y", y)
    if len(one) != len(two):
        raise DataError(f"x and y must have the same length; got {len(one)} and {len(two)}.")
    return float(measure(np.stack((one, two)), np.array([0]), np.array([1]), **options)[0])


def _vector(name: str, given: Sequence[float]) -> np.ndarray:
    try:
        vector = np.asarray(given)
    except ValueError:
        vector = np.zeros((0, 0))  # ragged
    if vector.ndim != 1 or vector.dtype.kind not in "biuf":
        raise DataError(f"{name} must be a vector of real numbers; got {given!r}.")
    if not np.isfinite(vector).all():
        raise DataError(f"{name} must be a vector of finite numbers; got {given!r}.")
    return vector.astype(np.float64)


def _set(given: Any) -> Set[Any]:
    if isinstance(given, Set):
        return given
    if isinstance(given, list | tuple):
        return set(given)
    raise UsageError(f"a set must be a set, list or tuple; got {type(given).__name__}.")


def _bag(given: Any) -> "Counter[Any]":
    if isinstance(given, Counter):
        return given
    if isinstance(given, list | tuple):
        return Counter(given)
    raise UsageError(f"a bag must be a Counter, list or tuple; got {type(given).__name__}.")


def _symbols(x: Sequence[Hashable], y: Sequence[Hashable]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return strings unchanged; number the symbols of other sequences, equal ones alike."""
    if isinstance(x, str) and isinstance(y, str):
        return x, y
    if isinstance(x, str) or isinstance(y, str) or not (isinstance(x, Iterable) and isinstance(y, Iterable)):
        got = f"{type(x).__name__} and {type(y).__name__}"
        raise UsageError(f"x and y must both be strings, or both be other sequences; got {got}.")
    numbers: dict[Hashable, int] = {}
    one, two = ([numbers.setdefault(symbol, len(numbers)) for symbol in side] for side in (x, y))
    return one, two
