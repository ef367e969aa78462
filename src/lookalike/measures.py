"""How similar, or how far apart, two things are: sets, bags, vectors and strings.

`MEASURES` is the table of all measures. Each can be called on two Python objects, and on many pairs of rows of a
collection at once: `MEASURES["cosine"].rows(matrix, left, right)`. A threshold on a similarity keeps what is at
least as large, one on a distance what is at most as large; the measure says which it is.

A distance measure, or metric, obeys four axioms: no distance is negative, only a point itself is at distance 0,
both directions are as long, and no detour is shorter. `counterexample` tests them.

What has no answer is an error that says so: vectors of unequal lengths, a component that is nan or infinite, the angle
of a zero vector, the Hamming distance of strings of unequal lengths. An empty set is similar to nothing, not even
to another empty set.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from lookalike import pairwise
from lookalike.errors import DataError, UsageError, choice, fraction
from lookalike.pairwise import MOVES

LARGEST = 1 << 30  # no set has more elements than this


# --- sets and bags ---


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


# --- vectors ---


def minkowski(x: Sequence[float], y: Sequence[float], r: float = 2) -> float:
    """The L_r norm of the difference: (sum |x_i - y_i|**r) ** (1/r), for r from 1 to infinity.

    >>> [minkowski((2, 7), (6, 4), r) for r in (1, 2, math.inf)]
    [7.0, 5.0, 4.0]
    """
    return _of_two(pairwise.minkowski, x, y, r=r)


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
    return _of_two(pairwise.cosine, x, y)


def cosine_similarity(x: Sequence[float], y: Sequence[float]) -> float:
    """The cosine of the angle between two vectors: x.y / (|x| |y|), from -1 to 1.

    >>> round(cosine_similarity([1, 2, -1], [2, 1, 1]), 9)
    0.5
    """
    return _of_two(pairwise.cosine_similarity, x, y)


# --- strings ---


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


# --- what is given ---


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


# --- the table ---


class Measure(NamedTuple):
    """A row of the table."""

    name: str
    domain: str  # "sets", "bags", "vectors" or "strings"
    kind: str  # "similarity" or "distance"
    low: float
    high: float
    metric: bool  # whether the distance is a metric, without options; that of a similarity s is 1 - s
    of: Callable[..., float]  # of two objects
    batch: Callable[..., np.ndarray]  # of many pairs of rows

    def __call__(self, x: Any, y: Any, **options: Any) -> float:
        """The measure of two objects."""
        return self.of(x, y, **options)

    def rows(self, items: Any, left: Any, right: Any, **options: Any) -> np.ndarray:
        """The measure of each pair of rows of a collection: of items[left[i]] and items[right[i]] for each i.

        Sets and bags come as `Sets`, vectors as the rows of a matrix, strings as a sequence.

        >>> MEASURES["manhattan"].rows([[2, 7], [6, 4], [0, 0]], [0, 1], [1, 2]).tolist()
        [7.0, 10.0]
        """
        one, two = _positions("left", left), _positions("right", right)
        if len(one) != len(two):
            raise UsageError(f"left and right must have one length; got {len(one)} and {len(two)}.")
        outside = (one < 0) | (one >= len(items)) | (two < 0) | (two >= len(items))
        if outside.any():
            at = np.argmax(outside)
            raise UsageError(f"rows must be in range({len(items)}); got {one[at]} and {two[at]}.")
        return self.batch(items, one, two, **options)

    def distance(self, x: Any, y: Any, **options: Any) -> float:
        """How far apart two objects are: 1 - s if this is a similarity."""
        value = self.of(x, y, **options)
        return 1 - value if self.kind == "similarity" else value


def _positions(name: str, given: Any) -> np.ndarray:
    positions = np.asarray(given)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise UsageError(f"{name} must be a list of whole numbers, the positions of rows; got {given!r}.")
    return positions.astype(np.int64)


def _measure(
    of: Callable[..., float], domain: str, kind: str, high: float = math.inf, low: float = 0, metric: bool = True
) -> Measure:
    return Measure(of.__name__, domain, kind, low, high, metric, of, getattr(pairwise, of.__name__))


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        _measure(jaccard, "sets", "similarity", high=1),
        _measure(bag_jaccard, "bags", "similarity", high=1),
        _measure(containment, "sets", "similarity", high=1, metric=False),
        _measure(set_cosine, "sets", "similarity", high=1, metric=False),
        _measure(overlap, "sets", "similarity", metric=False),
        _measure(minkowski, "vectors", "distance"),
        _measure(euclidean, "vectors", "distance"),
        _measure(manhattan, "vectors", "distance"),
        _measure(chebyshev, "vectors", "distance"),
        _measure(cosine, "vectors", "distance", high=180),
        _measure(cosine_similarity, "vectors", "similarity", high=1, low=-1, metric=False),
        _measure(hamming, "vectors", "distance"),
        _measure(edit, "strings", "distance"),
        _measure(levenshtein, "strings", "distance"),
    )
}


# --- axioms ---


class Counterexample(NamedTuple):
    """An axiom of distance measures, and points for which it fails."""

    axiom: str
    points: tuple[Any, ...]


def counterexample(
    d: Callable[[Any, Any], float], points: Collection[Any], tolerance: float = 1e-9
) -> Counterexample | None:
    """The first axiom of a distance measure that `d` breaks on these points, with the points; None if it holds.

    All pairs and triples are tried, O(n**3). Sums that differ by `tolerance`, in all or of their size, count as
    equal, which is rounding; only a distance of just 0 between two points counts as none. No counter-example is no
    proof for other points.

    >>> counterexample(max, range(3))
    Counterexample(axiom='d(x, x) = 0', points=(1,))
    >>> counterexample(lambda x, y: abs(x - y), range(10)) is None
    True
    """
    every = list(points)
    table = {(i, j): d(every[i], every[j]) for i, j in product(range(len(every)), repeat=2)}
    for (i, j), value in table.items():
        if not value >= 0:
            return Counterexample("d(x, y) >= 0", (every[i], every[j]))
    for (i, j), value in table.items():
        if i == j and value > tolerance:
            return Counterexample("d(x, x) = 0", (every[i],))
        if value <= 0 and not _same(every[i], every[j]):
            return Counterexample("d(x, y) > 0 unless x = y", (every[i], every[j]))
    for (i, j), value in table.items():
        if not math.isclose(value, table[j, i], rel_tol=tolerance, abs_tol=tolerance):
            return Counterexample("d(x, y) = d(y, x)", (every[i], every[j]))
    for i, j, k in product(range(len(every)), repeat=3):
        if table[i, k] > (table[i, j] + table[j, k]) * (1 + tolerance) + tolerance:
            return Counterexample("d(x, z) <= d(x, y) + d(y, z)", (every[i], every[j], every[k]))
    return None


def _same(x: Any, y: Any) -> bool:
    try:
        return bool(x == y)
    except ValueError:  # arrays, which are compared number by number
        return np.array_equal(x, y)


# --- thresholds ---


def exact_fraction(threshold: float | str | Fraction, name: str = "threshold") -> tuple[int, int]:
    """(p, q) such that for all sets similarity >= threshold just when similarity >= p/q, neither over 2**30.

    The threshold is the decimal the user typed: 0.8 is 4/5, not the binary number nearest to it. p/q is the
    least fraction at or above it with a denominator that a similarity can have; comparing with it in
    integers is exact, where `(1 - 0.9) * 10` in floating point is not 1.

    >>> exact_fraction(0.8), exact_fraction("2/3")
    ((4, 5), (2, 3))
    """
    try:
        wanted = Fraction(str(threshold))
    except (ValueError, ZeroDivisionError):
        fraction(name, threshold)  # which says what is wrong
        raise
    if not 0 < wanted <= 1:
        within = min(max(wanted, Fraction(-1)), Fraction(1000))  # beyond that a float may not reach
        fraction(name, float(within), given=threshold)
    near = wanted.limit_denominator(LARGEST)
    if near < wanted:  # then the next fraction of the Farey sequence is at or above `wanted`
        p, q = near.numerator, near.denominator
        inverse = pow(p, -1, q) if q > 1 else 0  # the neighbour r/s has r q - p s = 1
        s = -inverse % q if q > 1 else 1
        s += (LARGEST - s) // q * q
        near = Fraction(p * s + 1, q * s)
    return near.numerator, near.denominator
