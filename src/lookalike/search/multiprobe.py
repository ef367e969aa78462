"""Multi-probing (Lv and others 2007): an item also looks into the buckets of a table that it only just missed.

Of a band's functions some are in doubt about an item: it lies close to a hyperplane, or to the end of a segment. Those
are where a near item is likely to differ. So a probe replaces the values of a few functions most in doubt by their
second thoughts, and a pair is found if that is the other's bucket. Fewer tables then reach the same recall, at the
price of more look-ups in each.
"""

import math
from functools import lru_cache
from itertools import combinations

import numpy as np

from lookalike.families import Hyperplanes, RandomLines
from lookalike.families.base import as_keys
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sketch import fold_bands

DRAWN = 20_000  # pairs of items that the probability of being found is estimated from
RANKS, FLIPS = 10, 3  # the most doubtful functions that are replaced, and how many of them at once

Thoughts = tuple[np.ndarray, np.ndarray, np.ndarray]  # the values of functions, their second thoughts, their certainty


@lru_cache(maxsize=128)
def probes_of(rows: int, count: int) -> tuple[tuple[int, ...], ...]:
    """The first `count` probes of a band: which functions to replace, by rank from the most doubtful on.

    Sets of ranks in order of what is expected of the sum of squares of their distances from the border. Of `rows`
    distances drawn evenly the square of the j-th least is about j (j + 1) / (rows + 1) (rows + 2), counted from 1.
    """
    ranks = range(min(rows, RANKS))
    sets = [some for size in range(1, FLIPS + 1) for some in combinations(ranks, size)]
    return tuple(sorted(sets, key=lambda some: (sum((j + 1) * (j + 2) for j in some), some))[:count])


def probe_keys(thoughts: Thoughts, bands: int, rows: int, count: int) -> np.ndarray:
    """The keys of the probes of each item in each band: an array items x bands x count, EMPTY if there are fewer."""
    values, seconds, certainty = thoughts
    out = np.full((len(values), bands, count), EMPTY)
    for band in range(bands):
        part = slice(band * rows, (band + 1) * rows)
        order = np.argsort(certainty[:, part], axis=1, kind="stable")
        for at, probe in enumerate(probes_of(rows, count)):
            flip = np.zeros((len(values), rows), np.bool_)
            np.put_along_axis(flip, order[:, list(probe)], True, axis=1)
            probed = np.where(flip, seconds[:, part], values[:, part])
            out[:, band, at] = fold_bands(as_keys(probed), 1, rows)[:, 0]
    return out


@lru_cache(maxsize=1024)
def found(family: str, distance: float, rows: int, count: int, both: bool) -> float:
    """At least how likely a table of so many rows finds a pair at this distance, if one item, or both, probe.

    The distance is in degrees, or for lines in widths. What lies along a random direction is normal, whatever the
    vectors, so the probability is a function of the distance alone; here it is estimated from seeded draws, less two
    standard errors.
    """
    rng = np.random.default_rng(rows)
    place, step = rng.standard_normal((DRAWN, rows)), rng.standard_normal((DRAWN, rows))
    if family == "euclidean":
        place = rng.random((DRAWN, rows))
        sides = [RandomLines.thoughts_of(place), RandomLines.thoughts_of(place + distance * step)]
    else:
        other = math.cos(math.radians(distance)) * place + math.sin(math.radians(distance)) * step
        sides = [Hyperplanes.thoughts_of(place), Hyperplanes.thoughts_of(other)]
    met = _meet(sides[0], sides[1][0], count)
    if both:
        met |= _meet(sides[1], sides[0][0], count)
    share = float(met.mean())
    return max(0.0, share - 2 * math.sqrt(share * (1 - share) / DRAWN))


def _meet(thoughts: Thoughts, others: np.ndarray, count: int) -> np.ndarray:
    """Whether an item's own bucket or one of its probes is the other's, for each row of the arrays."""
    values, seconds, certainty = thoughts
    apart = values != others
    order = np.argsort(certainty, axis=1, kind="stable")
    met: np.ndarray = ~apart.any(axis=1)
    reachable = ~(apart & (seconds != others)).any(axis=1)
    for probe in probes_of(values.shape[1], count):
        flip = np.zeros(values.shape, np.bool_)
        np.put_along_axis(flip, order[:, list(probe)], True, axis=1)
        met |= reachable & (flip == apart).all(axis=1)
    return met
