"""The table of all measures: one row holds all that commands, planner, index and reports use."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.errors import UsageError
from lookalike.kernels.bounds import CONTAINMENT, GRAMS, JACCARD, OVERLAP
from lookalike.kernels.bounds import COSINE as SET_COSINE
from lookalike.kernels.vectors import ANGLE, COSINE, DISTANCE, PRODUCT
from lookalike.measures import rows, two

Overlaps = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # a function of |A & B|, |A| and |B|


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure of similarity or distance: one row of the table `MEASURES`.

    >>> jaccard = MEASURES["jaccard"]
    >>> jaccard({1, 2, 3}, {1, 2, 3, 4}), jaccard.distance({1, 2, 3}, {1, 2, 3, 4}), jaccard.kind
    (0.75, 0.25, 'similarity')
    """

    of: Callable[..., float]  # the measure of two objects
    domain: str  # "sets", "bags", "vectors" or "strings"
    kind: str  # "similarity" or "distance"
    low: float = 0
    high: float = math.inf
    metric: bool = True  # whether the distance (1 - s for a similarity s) is a metric, without options
    counts: bool = False  # whether values are whole numbers
    directed: bool = False  # whether the order of the two items matters
    words: str = ""  # its name in reports
    short: str = ""  # a short name that users can use where it is unambiguous
    also: tuple[str, ...] = ()  # other names that users can use
    unit: str = ""  # the unit of its values
    asks: str = ""  # what the threshold means, if there is no default
    default: float | None = None  # the default threshold
    function: str = ""  # the name of a function of its family in plans; empty without a banded family
    join: int | None = None  # the kind of its bounds in an exact join: see `kernels.bounds`
    whole: Overlaps | None = None  # for sets: what the overlap is divided by
    moves: str = ""  # for strings: the kinds of edits
    kernel: int | None = None  # for vectors: see `kernels.vectors`

    @property
    def name(self) -> str:
        """Return the name of the measure, which is that of its function."""
        return self.of.__name__

    @property
    def usual(self) -> str:
        """Return the name that users write: the short one, if there is one."""
        return self.short or self.name

    @property
    def is_similarity(self) -> bool:
        """Return whether larger values mean more similar."""
        return self.kind == "similarity"

    @property
    def unlimited(self) -> bool:
        """Return whether it is a similarity without an upper limit: even identical items can be below a threshold."""
        return self.is_similarity and math.isinf(self.high)

    @property
    def of_directions(self) -> bool:
        """Return whether it compares the directions of vectors, so that a zero vector cannot be compared."""
        return self.kernel in (ANGLE, COSINE)

    def batch(self, items: Any, left: np.ndarray, right: np.ndarray, **options: Any) -> np.ndarray:
        """Measure pairs of rows like `rows`, with the same `options`; positions are not checked."""
        if self.domain == "sets":
            return self.of_overlaps(*rows.shared_and_sizes(items, left, right), **options)
        values: np.ndarray = getattr(rows, self.name)(items, left, right, **options)
        return values

    def __call__(self, x: Any, y: Any, **options: Any) -> float:
        """Measure two objects."""
        return self.of(x, y, **options)

    def rows(self, items: Any, left: Any, right: Any, **options: Any) -> np.ndarray:
        """Measure pairs of rows of a collection: items[left[i]] and items[right[i]] for each i.

        Sets and bags come as `Sets`, vectors as the rows of a matrix, strings as a sequence. The
        `options` are those of the measure of two objects, such as r=1 for minkowski.

        >>> MEASURES["manhattan"].rows([[2, 7], [6, 4], [0, 0]], [0, 1], [1, 2]).tolist()
        [7.0, 10.0]
        """
        one, two = _positions("left", left), _positions("right", right)
        if len(one) != len(two):
            raise UsageError(f"left and right must have the same length; got {len(one)} and {len(two)}.")
        outside = (one < 0) | (one >= len(items)) | (two < 0) | (two >= len(items))
        if outside.any():
            at = np.argmax(outside)
            raise UsageError(f"rows must be in range({len(items)}); got {one[at]} and {two[at]}.")
        return self.batch(items, one, two, **options)

    def distance(self, x: Any, y: Any, **options: Any) -> float:
        """Return the distance of x and y, 1 - s for a similarity s; `options` as for `rows`.

        A similarity without an upper limit, such as `overlap`, has no distance: that is an error.
        """
        if self.unlimited:
            raise UsageError(f"{self.name} is a similarity without an upper limit, so it has no distance.")
        value = self.of(x, y, **options)
        return 1 - value if self.is_similarity else value

    def of_overlaps(self, shared: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Measure pairs of sets from the number of shared elements and the sizes `a` and `b`."""
        values: np.ndarray = shared if self.whole is None else rows.ratio(shared, self.whole(shared, a, b))
        return values

    def within(self, values: np.ndarray, threshold: float) -> np.ndarray:
        """Return which values meet a threshold: at least as similar, or at most as far apart."""
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
            asks="the minimum number of shared elements", join=OVERLAP,
        ),
        Measure(two.minkowski, "vectors", "distance"),
        Measure(
            two.euclidean, "vectors", "distance", words="Euclidean distance",
            asks="the maximum distance", function="line", kernel=DISTANCE,
        ),
        Measure(two.manhattan, "vectors", "distance"),
        Measure(two.chebyshev, "vectors", "distance"),
        Measure(
            two.angle, "vectors", "distance", high=180, words="angle in degrees", unit="degrees",
            asks="the maximum angle, in degrees", function="hyperplane", kernel=ANGLE,
        ),
        Measure(
            two.cosine_similarity, "vectors", "similarity", low=-1, high=1, metric=False, words="cosine",
            asks="the minimum cosine", function="hyperplane", kernel=COSINE,
        ),
        Measure(
            two.inner_product, "vectors", "similarity", low=-math.inf, metric=False, words="inner product",
            also=("dot", "dot_product", "ip", "inner"), asks="the minimum inner product", kernel=PRODUCT,
        ),
        Measure(
            two.hamming, "vectors", "distance", counts=True, words="number of bits that differ", unit="bits",
            asks="the maximum number of differing bits", function="bit",
        ),
        Measure(
            two.edit, "strings", "distance", counts=True, words="edit distance",
            asks="the maximum number of edits", join=GRAMS, moves="indel",
        ),
        Measure(
            two.levenshtein, "strings", "distance", counts=True, words="Levenshtein distance",
            asks="the maximum number of edits", join=GRAMS, moves="levenshtein",
        ),
    )
}  # fmt: skip

OF_SETS = tuple(name for name, row in MEASURES.items() if row.join is not None)  # to search sets and texts by
OF_VECTORS = ("angle", "cosine_similarity", "euclidean", "inner_product", "hamming")  # to search vectors and codes by
TABLED = tuple(name for name in OF_VECTORS if MEASURES[name].function)  # those that an index can have
OLD_NAMES = {"cosine": "angle"}  # names of vector measures in files of earlier versions
BANDED = tuple(name for name in OF_SETS if MEASURES[name].function)  # the measures of sets with a family
HASHED = (*BANDED, "containment")  # those that can be searched with a recall below 1
SHORT = {MEASURES[name].short: name for name in OF_SETS if MEASURES[name].short}  # measures of sets by short name


def usual_names(*domains: str) -> tuple[str, ...]:
    """Return the names that users use for the measures by which these domains are searched.

    >>> usual_names("sets", "bags"), usual_names("strings"), usual_names("vectors")[:2]
    (('jaccard', 'bag', 'containment', 'cosine', 'overlap'), ('edit', 'levenshtein'), ('angle', 'cosine_similarity'))
    """
    return tuple(MEASURES[name].usual for name in (*OF_SETS, *OF_VECTORS) if MEASURES[name].domain in domains)


def full_name(name: str) -> str:
    """Return the name in the table of a measure that users can call otherwise.

    >>> full_name("dot"), full_name("angle")
    ('inner_product', 'angle')
    """
    return next((row.name for row in MEASURES.values() if name in row.also), name)


def vector_measure(name: str) -> str:
    """Return the name of a vector measure; "cosine" gives "angle", with a warning."""
    if name != "cosine":
        return name
    two.warn_of_cosine()
    return "angle"
