"""Estimate the share of true matches by score without labels, from a value that was not scored.

Two records of one customer were created within days of each other, those of different customers at
any time. So the mean difference of such a value shows the share of true matches among any pairs
(`match_fraction`). Pairs with a perfect score give the mean of matches, random pairs that of
non-matches.
"""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError

LEAST_PAIRS = 30  # with a perfect score, and random ones, needed for a mean
PAIRS_PER_GROUP = 200  # at least, with neighbouring scores
Z = 1.96  # of a 95% interval


def match_fraction(observed: float, *, perfect: float, random: float) -> float:
    """Return the estimated share of true matches among pairs whose mean of a value is `observed`.

    The value, such as a delay in days, was not used to find the pairs. `perfect` is its mean for
    pairs that surely match, `random` for pairs that surely do not. A share f of matches gives the
    mean f * perfect + (1 - f) * random, so f = (random - observed) / (random - perfect), at most 1
    and at least 0.

    >>> match_fraction(10, perfect=10, random=45), match_fraction(24, perfect=10, random=45)
    (1.0, 0.6)
    """
    if not all(isinstance(mean, Real) and math.isfinite(mean) for mean in (observed, perfect, random)):
        raise UsageError(f"means must be finite numbers; got {observed!r}, {perfect!r} and {random!r}.")
    if perfect == random:
        raise UsageError(f"perfect and random must differ, or the value shows nothing; got {perfect!r} for both.")
    return min(1.0, max(0.0, (random - observed) / (random - perfect)))


@dataclass(frozen=True)
class Validation:
    """The share of true matches in each group of scores, the highest scores first.

    It rises with the score unless the pairs show, beyond chance, that it does not: in a family all
    but the name agree, and a pair with a higher score can be less likely to match.
    """

    name: str  # of the value that was compared
    perfect: float  # mean difference of pairs with a perfect score
    random: float  # mean difference of random pairs
    low_scores: np.ndarray  # the lowest score of each group
    high_scores: np.ndarray  # its highest score
    pairs: np.ndarray  # its number of pairs with a difference
    means: np.ndarray  # their mean difference
    raw: np.ndarray  # the share of true matches by `match_fraction`
    shares: np.ndarray  # the same, made to rise with the score unless it clearly does not
    low: np.ndarray  # the ends of its 95% interval
    high: np.ndarray

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Return the share of true matches in the group of each score."""
        group = np.searchsorted(-self.low_scores, -scores)  # groups go from the highest score down
        return np.append(self.shares, self.shares[-1:] if len(self.shares) else 0.0)[group]

    def cut_off(self, precision: float) -> float:
        """Return the least score from which a share `precision` of pairs is true; inf if none."""
        expected = np.cumsum(self.shares * self.pairs) / np.maximum(np.cumsum(self.pairs), 1)
        good = np.flatnonzero(expected >= precision)
        return float(self.low_scores[good[-1]]) if len(good) else np.inf

    def to_arrow(self) -> pa.Table:
        """Return a table with one row per group of scores."""
        names = ("low_scores", "high_scores", "pairs", "means", "raw", "shares", "low", "high")
        called = ("score_from", "score_to", "pairs", "mean_difference", "fraction", "matches", "low", "high")
        return pa.table({title: getattr(self, name) for title, name in zip(called, names, strict=True)})


def shares_by_score(
    name: str, scores: np.ndarray, differences: np.ndarray, random: np.ndarray, perfect: float
) -> Validation:
    """Estimate the share of true matches by score from the differences in scored and random pairs.

    A difference is nan if a value is missing; `perfect` is the highest possible score.
    """
    known = ~np.isnan(differences)
    best = differences[known & (scores >= perfect * (1 - 1e-9))]  # sums of weighted points are rounded
    other = random[~np.isnan(random)]
    for what, some in (("pairs with a perfect score", best), ("random pairs", other)):
        if len(some) < LEAST_PAIRS:
            raise DataError(f"{name}: validation needs a value in at least {LEAST_PAIRS} {what}; got {len(some)}.")
    near, far = float(best.mean()), float(other.mean())
    if not near < far:
        raise DataError(
            f"{name}: pairs with a perfect score differ by {near:.4g} on average, random ones by {far:.4g}, so "
            "it cannot separate matches from other pairs; validate by another column."
        )
    order = np.argsort(-scores[known], kind="stable")
    ordered, apart = scores[known][order], differences[known][order]
    bounds = _groups(ordered)
    starts, stops = bounds[:-1], bounds[1:]
    counts = stops - starts
    sums = np.concatenate(([0.0], np.cumsum(apart)))
    means = (sums[stops] - sums[starts]) / counts
    size = max(float(np.abs(apart).max(initial=0)), 1e-300)  # so that no square overflows
    residues = ((apart - np.repeat(means, counts)) / size) ** 2
    spread = size * np.sqrt(np.add.reduceat(residues, starts) / counts) if len(starts) else counts.astype(float)
    raw = np.array([match_fraction(float(mean), perfect=near, random=far) for mean in means])
    error = Z * spread / np.sqrt(counts) / (far - near)
    unbounded = (far - means) / (far - near)
    shares = np.clip(falling(unbounded, counts.astype(float), error / Z), 0, 1)
    return Validation(
        name, near, far, ordered[stops - 1], ordered[starts], counts, means, raw, shares,
        np.clip(shares - error, 0, 1), np.clip(shares + error, 0, 1),
    )  # fmt: skip


def _groups(ordered: np.ndarray) -> np.ndarray:
    """Return the bounds of groups of neighbouring scores with enough pairs each."""
    least = min(PAIRS_PER_GROUP, max(LEAST_PAIRS, len(ordered) // 8))
    changes = np.concatenate(([0], 1 + np.flatnonzero(np.diff(ordered) != 0), [len(ordered)]))
    bounds = [0]
    for change in changes[1:].tolist():
        if change - bounds[-1] >= least:
            bounds.append(change)
    if bounds[-1] != len(ordered):
        bounds = [*bounds[:-1], len(ordered)] if len(bounds) > 1 else [0, len(ordered)]
    return np.array(bounds)


def falling(values: np.ndarray, weights: np.ndarray, errors: np.ndarray | None = None) -> np.ndarray:
    """Return the falling sequence nearest to the values by weighted squares; rises are averaged.

    With standard errors, only a rise that can be due to chance is averaged: one within Z errors.

    >>> falling(np.array([3.0, 1.0, 2.0, 0.0]), np.ones(4)).tolist()
    [3.0, 1.5, 1.5, 0.0]
    >>> falling(np.array([3.0, 1.0, 2.0, 0.0]), np.ones(4), np.full(4, 0.1)).tolist()
    [3.0, 1.0, 2.0, 0.0]
    """
    spread = np.full(len(values), np.inf) if errors is None else errors
    pools: list[tuple[float, float, float, int]] = []  # mean, weight, variance of the weighted sum, how many
    for value, weight, error in zip(values.tolist(), weights.tolist(), spread.tolist(), strict=True):
        mean, total, variance, count = value, weight, (weight * error) ** 2, 1
        while pools and pools[-1][0] < mean:
            earlier, its, varied, size = pools[-1]
            if mean - earlier > Z * math.sqrt(variance / total**2 + varied / its**2):
                break
            pools.pop()
            mean, total = (earlier * its + mean * total) / (its + total), its + total
            variance, count = variance + varied, count + size
        pools.append((mean, total, variance, count))
    return np.repeat([pool[0] for pool in pools], [pool[3] for pool in pools])
