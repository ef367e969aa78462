"""The table of all measures: one row says everything that commands, planner, index and reports know of a measure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.errors import UsageError
from lookalike.kernels.bounds import CONTAINMENT, GRAMS, JACCARD, OVERLAP
from lookalike.kernels.bounds import COSINE as SET_COSINE
from lookalike.kernels.vectors import ANGLE, COSINE, DISTANCE
from lookalike.measures import rows, two

Overlaps = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of |A & B|, |A| and |B|


@dataclass(frozen=True, eq=False)
class Measure:
    """A row of the table."""

    of: Callable[..., float]  # of two objects
    domain: str  # "sets", "bags", "vectors" or "strings"
    kind: str  # "similarity" or "distance"
    low: float = 0
    high: float = math.inf
    metric: bool = True  # whether the distance is a metric, without options; that of a similarity s is 1 - s
    counts: bool = False  # whether it is a whole number
    directed: bool = False  # whether it depends on which of two items comes first
    words: str = ""  # what reports call it
    short: str = ""  # what users may call it where no other measure has that name
    unit: str = ""  # of its values
    asks: str = ""  # what a threshold is, where there is no default
    default: float | None = None  # threshold
    function: str = ""  # of its family, as plans call it; none if it has no family that is banded
    join: int | None = None  # the kind of its bounds in an exact join: see `kernels.bounds`
    whole: Overlaps | None = None  # of sets: what the overlap is a share of
    moves: str = ""  # of strings: what an edit may do
    kernel: int | None = None  # of vectors: see `kernels.vectors`

    @property
    def name(self) -> str:
        """What it is called: the name of its function."""
        return self.of.__name__

    @property
    def is_similarity(self) -> bool:
        """Whether larger means more alike."""
        return self.kind == "similarity"

    def batch(self, items: Any, left: np.ndarray, right: np.ndarray, **options: Any) -> np.ndarray:
        """The measure of many pairs of rows; of sets it follows from how much they share."""
        if self.domain == "sets":
            return self.of_overlaps(*rows.shared_and_sizes(items, left, right), **options)
        values: np.ndarray = getattr(rows, self.name)(items, left, right, **options)
        return values

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
        return 1 - value if self.is_similarity else value

    def of_overlaps(self, shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The measure of pairs of sets of `a` and `b` elements, of which each pair shares some."""
        values: np.ndarray = shared if self.whole is None else rows.ratio(shared, self.whole(shared, a, b))
        return values

    def within(self, values: np.ndarray, threshold: float) -> np.ndarray:
        """Which values are at least as similar, or at most as far apart, as a threshold."""
        inside: np.ndarray = values >= threshold if self.is_similarity else values <= threshold
        return inside


def _positions(name: str, given: Any) -> np.ndarray:
    positions = np.asarray(given)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise UsageError(f"{name} must be a list of whole numbers, the positions of rows; got {given!r}.")
    return positions.astype(np.int64)


def _union(shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    union: np.ndarray = a + b - shared
    return union


MEASURES: Mapping[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure(
            two.jaccard, "sets", "similarity", high=1, words="Jaccard similarity",
            default=0.8, function="minhash", join=JACCARD, whole=_union,
        ),
        Measure(
            two.bag_jaccard, "bags", "similarity", high=1, words="Jaccard similarity of bags", short="bag",
            default=0.8, function="minhash", join=JACCARD, whole=_union,
        ),
        Measure(
            two.containment, "sets", "similarity", high=1, metric=False, words="containment", directed=True,
            default=0.8, join=CONTAINMENT, whole=lambda shared, a, b: a,
        ),
        Measure(
            two.set_cosine, "sets", "similarity", high=1, metric=False, words="cosine of sets", short="cosine",
            default=0.8, join=SET_COSINE, whole=lambda shared, a, b: np.sqrt(a * b),
        ),
        Measure(
            two.overlap, "sets", "similarity", metric=False, counts=True, words="number of shared elements",
            asks="the least number of shared elements", join=OVERLAP,
        ),
        Measure(two.minkowski, "vectors", "distance"),
        Measure(
            two.euclidean, "vectors", "distance", words="Euclidean distance",
            asks="the greatest distance", function="line", kernel=DISTANCE,
        ),
        Measure(two.manhattan, "vectors", "distance"),
        Measure(two.chebyshev, "vectors", "distance"),
        Measure(
            two.cosine, "vectors", "distance", high=180, words="angle in degrees", unit="degrees",
            asks="the greatest angle, in degrees", function="hyperplane", kernel=ANGLE,
        ),
        Measure(
            two.cosine_similarity, "vectors", "similarity", low=-1, high=1, metric=False, words="cosine",
            asks="the least cosine", function="hyperplane", kernel=COSINE,
        ),
        Measure(
            two.hamming, "vectors", "distance", counts=True, words="number of bits that differ", unit="bits",
            asks="the most bits that may differ", function="bit",
        ),
        Measure(
            two.edit, "strings", "distance", counts=True, words="edit distance",
            asks="the most edits", join=GRAMS, moves="indel",
        ),
        Measure(
            two.levenshtein, "strings", "distance", counts=True, words="Levenshtein distance",
            asks="the most edits", join=GRAMS, moves="levenshtein",
        ),
    )
}  # fmt: skip

OF_SETS = tuple(name for name, row in MEASURES.items() if row.join is not None)  # that sets and texts are searched by
OF_VECTORS = ("cosine", "cosine_similarity", "euclidean", "hamming")  # and vectors and bit codes
BANDED = tuple(name for name in OF_SETS if MEASURES[name].function)  # those of sets that have a family
SHORT = {MEASURES[name].short: name for name in OF_SETS if MEASURES[name].short}  # of sets, by what users may call them


def usual_names(*domains: str) -> tuple[str, ...]:
    """What users call the measures that items of some domains are searched by.

    >>> usual_names("sets", "bags"), usual_names("strings"), usual_names("vectors")[:2]
    (('jaccard', 'bag', 'containment', 'cosine', 'overlap'), ('edit', 'levenshtein'), ('cosine', 'cosine_similarity'))
    """
    return tuple(MEASURES[name].short or name for name in (*OF_SETS, *OF_VECTORS) if MEASURES[name].domain in domains)
