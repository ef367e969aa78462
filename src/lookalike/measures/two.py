"""Measures of two Python objects: sets, bags, vectors, strings."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence, Set
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq

from lookalike.core.errors import DataError, UsageError, choice
from lookalike.measures import rows
from lookalike.measures.rows import MOVES


def jaccard(a: Collection[Any], b: Collection[Any]) -> float:
    """|A & B| / |A | B|: the share of the elements of either set that both have. 0 if both are empty.

    Over random orders of all elements it is also the probability that both sets have the same first one.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    one, two = _set(a), _set(b)
    union = len(one | two)
    return len(one & two) / union if union else 0.0


def bag_jaccard(a: Collection[Any], b: Collection[Any], union: str = "max") -> float:
    """Jaccard similarity of bags: the lesser counts over the greater (`union="max"`) or over both (`"sum"`).

    With "max" equal bags have similarity 1; with "sum", as in the textbook, they have 1/2.

    >>> bag_jaccard(Counter("aaab"), Counter("aabbc"), union="sum")
    0.3333333333333333
    """
    choice("union", union, ("max", "sum"))
    one, two = _bag(a), _bag(b)
    total = ((one | two) if union == "max" else (one + two)).total()
    return (one & two).total() / total if total else 0.0


def containment(a: Collection[Any], b: Collection[Any]) -> float:
    """|A & B| / |A|: the share of the elements of A that B has also. 0 if A is empty.

    >>> containment({1, 2}, {2, 3, 4, 5}), containment({2, 3, 4, 5}, {1, 2})
    (0.5, 0.25)
    """
    one, two = _set(a), _set(b)
    return len(one & two) / len(one) if one else 0.0


def set_cosine(a: Collection[Any], b: Collection[Any]) -> float:
    """|A & B| / sqrt(|A| |B|): the cosine of the sets as vectors of 0 and 1. 0 if one is empty.

    >>> set_cosine({1, 2}, {2, 3, 4, 5, 6, 7, 8, 9})
    0.25
    """
    one, two = _set(a), _set(b)
    return len(one & two) / math.sqrt(len(one) * len(two)) if one and two else 0.0


def overlap(a: Collection[Any], b: Collection[Any]) -> int:
    """|A & B|: how many elements both sets have.

    >>> overlap({1, 2, 3}, {2, 3, 4})
    2
    """
    return len(_set(a) & _set(b))


def minkowski(x: Sequence[float], y: Sequence[float], r: float = 2) -> float:
    """The L_r norm of the difference: (sum |x_i - y_i|**r) ** (1/r), for r from 1 to infinity.

    >>> [minkowski((2, 7), (6, 4), r) for r in (1, 2, math.inf)]
    [7.0, 5.0, 4.0]
    """
    return _of_two(rows.minkowski, x, y, r=r)


def euclidean(x: Sequence[float], y: Sequence[float]) -> float:
    """The L_2 norm of the difference: the length of the straight line between two points."""
    return minkowski(x, y, 2)


def manhattan(x: Sequence[float], y: Sequence[float]) -> float:
    """The L_1 norm of the difference: the way between two points along the axes."""
    return minkowski(x, y, 1)


def chebyshev(x: Sequence[float], y: Sequence[float]) -> float:
    """The L_infinity norm of the difference: the greatest difference in any one dimension."""
    return minkowski(x, y, math.inf)


def cosine(x: Sequence[float], y: Sequence[float]) -> float:
    """The angle between two vectors, in degrees from 0 to 180: a metric on directions, whatever the lengths.

    With u and v of length 1 it is 2 atan2(|u - v|, |u + v|), which keeps the digits of small angles that the
    arc cosine loses (Kahan).

    >>> round(cosine([1, 2, -1], [2, 1, 1]), 9)
    60.0
    """
    return _of_two(rows.cosine, x, y)


def cosine_similarity(x: Sequence[float], y: Sequence[float]) -> float:
    """The cosine of the angle between two vectors: x.y / (|x| |y|), from -1 to 1.

    >>> round(cosine_similarity([1, 2, -1], [2, 1, 1]), 9)
    0.5
    """
    return _of_two(rows.cosine_similarity, x, y)


def hamming(x: Sequence[Any], y: Sequence[Any]) -> int:
    """The number of positions in which two vectors or strings of one length differ.

    >>> hamming("10101", "11110"), hamming([1, 2, 3], [1, 0, 3])
    (3, 1)
    """
    if len(x) != len(y):
        raise DataError(f"x and y must have one length; got {len(x)} and {len(y)}.")
    if any(a != a for a in (*x, *y)):
        raise DataError("x and y must not hold nan.")
    return sum(bool(a != b) for a, b in zip(x, y, strict=True))


def edit(x: Sequence[Hashable], y: Sequence[Hashable], moves: str = "indel") -> int:
    """The fewest edits that turn one string, or sequence of symbols, into another.

    `moves` are the edits there are: insertions and deletions ("indel"); replacements too ("levenshtein"); swaps of
    neighbours too ("transpositions", unrestricted: a swapped pair may be edited again, as a metric needs).

    >>> [edit("abcde", "acfdeg", moves=moves) for moves in MOVES]
    [3, 3, 3]
    >>> [edit("ca", "abc", moves=moves) for moves in MOVES]
    [3, 3, 2]
    """
    choice("moves", moves, MOVES)
    return int(MOVES[moves](*_symbols(x, y)))


def levenshtein(x: Sequence[Hashable], y: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and replacements: `edit` with these moves.

    >>> levenshtein("kitten", "sitting")
    3
    """
    return edit(x, y, "levenshtein")


def lcs(x: Any, y: Any) -> Any:
    """A longest common subsequence: what is left of both when the fewest symbols are deleted from each.

    Of several the same one always, as a string, or as a list if the sequences are not strings. It is
    (len(x) + len(y) - edit(x, y)) / 2 symbols long.

    >>> lcs("abcde", "acfdeg"), lcs([1, 2, 3], [3, 1, 2])
    ('acde', [1, 2])
    """
    blocks = LCSseq.editops(*_symbols(x, y)).as_matching_blocks()
    kept = [symbol for block in blocks for symbol in x[block.a : block.a + block.size]]
    return "".join(kept) if isinstance(x, str) else kept


def _of_two(measure: Callable[..., np.ndarray], x: Sequence[float], y: Sequence[float], **options: Any) -> float:
    """A measure of rows on just two vectors."""
    one, two = _vector("x", x), _vector("y", y)
    if len(one) != len(two):
        raise DataError(f"x and y must have one length; got {len(one)} and {len(two)}.")
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
    """Strings as they are; the symbols of other sequences numbered, equal ones alike."""
    if isinstance(x, str) and isinstance(y, str):
        return x, y
    if isinstance(x, str) or isinstance(y, str):
        raise UsageError("x and y must both be strings, or both be other sequences.")
    numbers: dict[Hashable, int] = {}
    one, two = ([numbers.setdefault(symbol, len(numbers)) for symbol in side] for side in (x, y))
    return one, two
