"""How similar, or how far apart, two things are: sets, bags, vectors and strings.

`MEASURES` is the table of all measures. Each can be called on two Python objects, and on many pairs of rows of a
collection at once: `MEASURES["cosine"].rows(matrix, left, right)`. A threshold on a similarity keeps what is at least
as large, one on a distance what is at most as large; the table says which it is.

A distance measure, or metric, obeys four axioms: no distance is negative, only a point itself is at distance 0, both
directions are equally long, and no detour is shorter. `counterexample` tests them.

A question without an answer is an error that says so: vectors of unequal lengths, a component that is nan or infinite,
the angle of a zero vector, the Hamming distance of strings of unequal lengths. An empty set is similar to nothing, not
even to another empty set.

May import: `core`, `kernels`, `items`. To add a measure: write it for two objects in `two` and give it a row in
`table`, from which commands, planner, index and reports take all else. One of vectors or strings is also written for
many pairs in `rows`; one of sets follows from how much they share.
"""

from lookalike.measures.axioms import Counterexample, counterexample
from lookalike.measures.rows import MOVES
from lookalike.measures.table import MEASURES, Measure
from lookalike.measures.thresholds import LARGEST, exact_fraction
from lookalike.measures.two import (
    bag_jaccard,
    chebyshev,
    containment,
    cosine,
    cosine_similarity,
    edit,
    euclidean,
    hamming,
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
    "jaccard",
    "lcs",
    "levenshtein",
    "manhattan",
    "minkowski",
    "overlap",
    "set_cosine",
]
