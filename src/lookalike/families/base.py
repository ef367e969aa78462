"""The base class of families: hash functions that collide more often on near items than on others.

A family is (d1, d2, p1, p2)-sensitive if a random function of it agrees on two items with
probability at least p1 if their distance is at most d1, and at most p2 if it is at least d2.
`amplify` drives p1 and p2 apart.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from lookalike.core.errors import DataError, UsageError, within
from lookalike.core.statistics import Sensitivity
from lookalike.core.wording import counted
from lookalike.kernels.hashing import EMPTY
from lookalike.measures import MEASURES


class Family(ABC):
    """Functions drawn from a family; `collision` gives the probability that one of them agrees.

    `signatures` applies the functions to items. Two items agree under a function if their values
    are equal and not EMPTY, the value of an item that the function puts into no bucket.
    """

    measure: ClassVar[str]  # the measure by which items are near: a name in `measures.MEASURES`
    hashes: int  # number of functions

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {counted(self.hashes, 'function')} for {self.measure}>"

    @abstractmethod
    def signatures(self, items: Any) -> np.ndarray:
        """Return the values of the functions, one row per item and one column per function."""

    @abstractmethod
    def _law(self, distance: np.ndarray) -> np.ndarray:
        """Return the probability that a random function agrees on two items at this distance."""

    @property
    def farthest(self) -> float:
        """Return the greatest possible distance."""
        return 1.0

    @property
    def most(self) -> float:
        """Return the greatest possible number of functions."""
        return math.inf

    def collision(self, distance: Any) -> Any:
        """Return the probability that one function agrees on two items at this distance.

        Accepts numbers and arrays. For a similarity measure the distance is 1 - similarity.
        """
        p = self._law(within("distance", distance, self.farthest))
        return p if np.ndim(distance) else float(p)

    def sensitivity(self, d1: float, d2: float) -> Sensitivity:
        """Return (d1, d2, p1, p2), which describe how well the family separates near from far.

        A function agrees on items at most d1 apart with probability p1 or more, and on items at
        least d2 apart with probability p2 or less.
        """
        p1, p2 = self.collision(d1), self.collision(d2)
        if not d1 < d2:
            raise UsageError(f"d1 must be less than d2; got {d1!r} and {d2!r}.")
        return d1, d2, p1, p2

    def chance(self, threshold: float) -> float:
        """Return the probability that one function agrees on two items exactly at a threshold."""
        value = float(within("threshold", threshold, self.farthest))
        return float(self._law(np.asarray(1 - value if MEASURES[self.measure].kind == "similarity" else value)))

    def estimate(self, a: np.ndarray, b: np.ndarray) -> float:
        """Estimate the family's measure of two items from the share of functions that agree."""
        distance = self._distance(self.agreement(a, b))
        return 1 - distance if MEASURES[self.measure].kind == "similarity" else distance

    def _distance(self, share: float) -> float:
        """Return the distance at which this share of functions agrees; here by bisection."""
        low, high = 0.0, 1.0
        while self.collision(high) > share and high < 1e300:
            low, high = high, 2 * high
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.collision(middle) > share else (low, middle)
        return high

    @staticmethod
    def agreement(a: np.ndarray, b: np.ndarray) -> float:
        """Return the share of functions that agree on two items: an estimate of `collision`.

        Its standard error is sqrt(p (1 - p) / hashes) if the functions are independent.
        """
        a, b = np.atleast_1d(a), np.atleast_1d(b)
        if a.ndim != 1 or a.shape != b.shape or not a.size:
            raise UsageError(f"signatures must have the same length; got shapes {a.shape} and {b.shape}.")
        return float(np.mean((a == b) & (as_keys(a) != EMPTY)))


def as_keys(signatures: np.ndarray) -> np.ndarray:
    """Return signatures as unsigned 64-bit numbers that are equal where the signatures are."""
    if signatures.dtype.kind not in "biu":
        raise DataError(f"signatures must be whole numbers; got {signatures.dtype}.")
    if signatures.dtype.kind == "i":
        return signatures.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    return signatures.astype(np.uint64, copy=False)
