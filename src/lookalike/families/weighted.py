"""Weighted MinHash: sets whose elements have weights collide with their weighted Jaccard similarity."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lookalike.core.errors import LARGEST_SEED, DataError, whole
from lookalike.families.minhash import JaccardFamily
from lookalike.items.sets import Sets, hash_values
from lookalike.kernels.hashing import EMPTY, mix
from lookalike.kernels.races import race_rows


class WeightedMinHash(JaccardFamily):
    """`hashes` functions that agree with probability w(A & B) / w(A | B), for element weights w.

    For sets that is the sum of the lesser weights over the sum of the greater ones. A function lets
    each element x arrive after a random time, exponential with rate w(x) and the same in every set,
    and its value is the earliest arrival in the set. Of independent exponential times, that of x is
    the least with probability proportional to w(x). The two sets agree exactly if the first of
    A | B to arrive is in A & B, which has probability w(A & B) / w(A | B).

    The times of all functions are drawn together, as arrivals of one Poisson process per element
    that are dealt out at random (Ertl 2018, BagMinHash, for whole sets of functions). What each
    function gets is a process of its own, independent of the others, so the standard error of an
    estimate is sqrt(s (1 - s) / hashes). O(n + K log K) for n elements and K functions.

    >>> family = WeightedMinHash(hashes=1024, seed=1)
    >>> a, b = family.signatures([{"dear": 0.1, "sir": 0.1, "boiler": 2.8}, {"dear": 0.1, "sir": 0.1, "piano": 2.8}])
    >>> round(family.estimate(a, b), 2), round(0.2 / 5.8, 2)
    (0.03, 0.03)
    """

    def __init__(self, hashes: int = 128, seed: int = 1):
        self.hashes = whole("hashes", hashes)
        self.seed = whole("seed", seed, least=0, most=LARGEST_SEED)

    def signatures(self, sets: Sets | Iterable[Mapping[Any, float]]) -> np.ndarray:
        """Return the signatures of sets, one row per set: `Sets` with weights, or dicts of them.

        An element must weigh the same in every set. An empty set has the value EMPTY in all columns.
        """
        if not isinstance(sets, Sets):
            sets = weighted_sets(sets)
        return self.sketch(sets.indptr, sets.elements, sets.weights)

    def sketch(self, indptr: np.ndarray, elements: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the signatures of rows of hashes and their weights, which must be given.

        Positive numbers are in the same order as their bits, which are the values of the functions.
        """
        if weights is None:
            raise DataError("sets must have weights; for sets without them use MinHash.")
        times: np.ndarray = race_rows(indptr, elements, weights, np.uint64(mix(np.uint64(self.seed))), self.hashes)
        made = times.view(np.uint64)
        made[np.diff(indptr) == 0] = EMPTY
        return made


def weighted_sets(given: Iterable[Mapping[Any, float]]) -> Sets:
    """Return dicts from element to weight as sets."""
    rows = list(given)
    weights: dict[Any, float] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"sets must be dicts from element to weight; got {type(row).__name__}.")
        for element, weight in row.items():
            if not (isinstance(weight, int | float | np.number) and 0 < weight < math.inf):
                raise DataError(f"weights must be positive numbers; that of {element!r} is {weight!r}.")
            if weights.setdefault(element, weight) != weight:
                both = f"{weights[element]!r} and {weight!r}"
                raise DataError(f"an element must weigh the same in every set; {element!r} weighs {both}.")
    sets = Sets.of([list(row) for row in rows])
    hashes = hash_values(list(weights))
    order = np.argsort(hashes)
    values = np.array(list(weights.values()), np.float64)[order]
    found = values[np.searchsorted(hashes[order], sets.elements)]
    return Sets(sets.indptr, sets.elements, weights=found)
