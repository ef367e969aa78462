"""Test the axioms of distance measures on given points."""

import math
from collections.abc import Callable, Collection
from itertools import product
from typing import Any, NamedTuple

import numpy as np


class Counterexample(NamedTuple):
    """An axiom of distance measures, and points for which it fails.

    >>> axiom, points = counterexample(lambda x, y: (x - y) ** 2, [0, 1, 2])
    >>> axiom, points
    ('d(x, z) <= d(x, y) + d(y, z)', (0, 1, 2))
    """

    axiom: str
    points: tuple[Any, ...]


def counterexample(
    d: Callable[[Any, Any], float], points: Collection[Any], tolerance: float = 1e-9
) -> Counterexample | None:
    """Return the first axiom of distance measures that `d` breaks, with the points, or None.

    All pairs and triples are tried, O(n**3). Values that differ by `tolerance`, absolute or
    relative, count as equal because of rounding; only a distance of exactly 0 between two points
    counts as 0. Without a counterexample `d` can still fail on other points.

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
    except ValueError:  # arrays compare element by element
        return np.array_equal(x, y)
