"""Multi-probing (Lv et al. 2007): an item also looks into the buckets that it only just missed.

Some of a band's functions are uncertain about an item: it lies close to a hyperplane, or to the end
of a segment. A near item is most likely to differ there. So a probe replaces the values of a few of
the least certain functions by their second choices; a pair is found if this gives the other item's
bucket. Fewer tables then reach the same recall, with more lookups in each.
"""

import math
from functools import lru_cache
from itertools import combinations

import numpy as np

from lookalike.families import Hyperplanes, RandomLines
from lookalike.families.base import as_keys
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sketch import fold_bands

DRAWN = 20_000  # pairs of items used to estimate the probability of being found
RANKS, FLIPS = 10, 3  # how many of the least certain functions can be replaced, and how many at once

Choices = tuple[np.ndarray, np.ndarray, np.ndarray]  # the functions' values, their second choices, their certainty


@lru_cache(maxsize=128)
def probes_of(rows: int, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the first `count` probes of a band: the functions to replace, as ranks by certainty.

    Probes are ordered by the expected sum of squared distances from the border. Of `rows` uniform
    distances, the square of the j-th smallest is about j (j + 1) / (rows + 1) (rows + 2), j from 1.
    """
    ranks = range(min(rows, RANKS))
    sets = [some for size in range(1, FLIPS + 1) for some in combinations(ranks, size)]
    return tuple(sorted(sets, key=lambda some: (sum((j + 1) * (j + 2) for j in some), some))[:count])


def probe_keys(choices: Choices, bands: int, rows: int, count: int) -> np.ndarray:
    """Return each item's probe keys: an array items x bands x count, EMPTY if there are fewer."""
    values, seconds, certainty = choices
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
    """Return a lower bound on the probability that a table finds a pair at this distance.

    One item probes, or `both` do. The distance is in degrees, or in widths for lines. Projections
    on random directions are normally distributed whatever the vectors, so the probability depends
    on the distance alone. It is estimated from seeded draws, less two standard errors.
    """
    rng = np.random.default_rng(rows)
    place, step = rng.standard_normal((DRAWN, rows)), rng.standard_normal((DRAWN, rows))
    if family == "euclidean":
        place = rng.random((DRAWN, rows))
        sides = [RandomLines.alternatives_of(place), RandomLines.alternatives_of(place + distance * step)]
    else:
        other = math.cos(math.radians(distance)) * place + math.sin(math.radians(distance)) * step
        sides = [Hyperplanes.alternatives_of(place), Hyperplanes.alternatives_of(other)]
    met = _meet(sides[0], sides[1][0], count)
    if both:
        met |= _meet(sides[1], sides[0][0], count)
    share = float(met.mean())
    return max(0.0, share - 2 * math.sqrt(share * (1 - share) / DRAWN))


def _meet(choices: Choices, others: np.ndarray, count: int) -> np.ndarray:
    """Return, per row, whether an item's own bucket or one of its probes is the other's bucket."""
    values, seconds, certainty = choices
    apart = values != others
    order = np.argsort(certainty, axis=1, kind="stable")
    met: np.ndarray = ~apart.any(axis=1)
    reachable = ~(apart & (seconds != others)).any(axis=1)
    for probe in probes_of(values.shape[1], count):
        flip = np.zeros(values.shape, np.bool_)
        np.put_along_axis(flip, order[:, list(probe)], True, axis=1)
        met |= reachable & (flip == apart).all(axis=1)
    return met
