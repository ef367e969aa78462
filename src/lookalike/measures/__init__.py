"""Measures of similarity and distance for sets, bags, vectors and strings.

`MEASURES` is the table of all measures. Call a measure on two Python objects, or on many pairs of
rows of a collection at once: `MEASURES["angle"].rows(matrix, left, right)`. A threshold is the
least similarity or the greatest distance to keep; the table says which kind a measure is.

A distance measure, or metric, obeys four axioms: no distance is negative, only equal points have
distance 0, it is symmetric, and the triangle inequality holds. `counterexample` tests them.

Undefined cases are errors: vectors of unequal lengths, a component that is nan or, except for
`hamming`, infinite, the angle of a zero vector, the Hamming distance of strings of unequal lengths.
An empty set is similar to nothing, not even to another empty set.

May import: `core`, `kernels`, `items`. To add a measure, write it for two objects in `two` and give
it a row in `table`; commands, planner, index and reports read that row. A measure of vectors or
strings also needs a form for many pairs in `rows`; those of sets follow from their overlap.
"""

from lookalike.measures.axioms import Counterexample, counterexample
from lookalike.measures.rows import MOVES
from lookalike.measures.table import MEASURES, Measure
from lookalike.measures.thresholds import LARGEST, exact_fraction
from lookalike.measures.two import (
    angle,
    bag_jaccard,
    chebyshev,
    containment,
    cosine,
    cosine_similarity,
    edit,
    euclidean,
    hamming,
    inner_product,
    jaccard,
    lcs,
    levenshtein,
    manhattan,
    minkowski,
    overlap,
    set_cosine,
)

__all__ = [
    "LARGEST",
    "MEASURES",
    "MOVES",
    "Counterexample",
    "Measure",
    "angle",
    "bag_jaccard",
    "chebyshev",
    "containment",
    "cosine",
    "cosine_similarity",
    "counterexample",
    "edit",
    "euclidean",
    "exact_fraction",
    "hamming",
    "inner_product",
    "jaccard",
    "lcs",
    "levenshtein",
    "manhattan",
    "minkowski",
    "overlap",
    "set_cosine",
]
