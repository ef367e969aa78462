"""How many pairs of each score are true matches, without labels: from a value that was not used to score them.

Two records of one customer were created within days of each other, two of different ones at any time. So the mean
difference of such a value tells the share of true matches among any pairs: `match_fraction`. Pairs with a perfect score
tell the mean of true matches, random pairs that of others.
"""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.entities.scores import match_fraction

LEAST = 30  # pairs with a perfect score, or at random, that a mean is taken of
GROUP = 200  # pairs of neighbouring scores that are taken together at least
Z = 1.96  # of a 95% interval


@dataclass(frozen=True)
class Validation:
    """The share of true matches among pairs of each group of scores, highest first.

    It rises with the score but where the pairs tell, beyond chance, that it does not: in a family all but the name
    agree, and a higher score may be less of a match.
    """

    name: str  # the value that was compared
    perfect: float  # mean difference of pairs with a perfect score
    random: float  # and of random pairs
    low_scores: np.ndarray  # of each group: its least score,
    high_scores: np.ndarray  # its greatest,
    pairs: np.ndarray  # how many pairs it has that tell,
    means: np.ndarray  # their mean difference,
    raw: np.ndarray  # the share of true matches by `match_fraction`,
    shares: np.ndarray  # the same made to rise with the score, unless it is clear that it does not,
    low: np.ndarray  # and its 95% interval
    high: np.ndarray

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """The share of true matches among pairs of each score."""
        group = np.searchsorted(-self.low_scores, -scores)  # groups are from the highest score down
        shares: np.ndarray = np.append(self.shares, self.shares[-1:] if len(self.shares) else 0.0)[group]
        return shares

    def cut_off(self, precision: float) -> float:
        """The least score such that of the pairs from it on at least so large a share are true; infinite if none is."""
        expected = np.cumsum(self.shares * self.pairs) / np.maximum(np.cumsum(self.pairs), 1)
        good = np.flatnonzero(expected >= precision)
        return float(self.low_scores[good[-1]]) if len(good) else np.inf

    def to_arrow(self) -> pa.Table:
        """A row a group of scores."""
        names = ("low_scores", "high_scores", "pairs", "means", "raw", "shares", "low", "high")
        called = ("score_from", "score_to", "pairs", "mean_difference", "fraction", "matches", "low", "high")
        return pa.table({title: getattr(self, name) for title, name in zip(called, names, strict=True)})


def validate(name: str, scores: np.ndarray, differences: np.ndarray, random: np.ndarray, perfect: float) -> Validation:
    """From the scores of pairs, the differences of their values (nan if one is missing) and those of random pairs.

    `perfect` is the highest score there can be.
    """
    told = ~np.isnan(differences)
    best = differences[told & (scores >= perfect * (1 - 1e-9))]  # sums of weighted points are rounded
    other = random[~np.isnan(random)]
    for what, some in (("pairs with a perfect score", best), ("random pairs", other)):
        if len(some) < LEAST:
            raise DataError(f"{name}: too few {what} to tell from, {len(some)} with a value; {LEAST} are needed.")
    if not best.mean() < other.mean():
        raise DataError(
            f"{name}: pairs with a perfect score differ by {best.mean():.4g} on average, random ones by "
            f"{other.mean():.4g}: so it tells nothing."
        )
    order = np.argsort(-scores[told], kind="stable")
    ordered, apart = scores[told][order], differences[told][order]
    bounds = _groups(ordered)
    starts, stops = bounds[:-1], bounds[1:]
    counts = stops - starts
    sums = np.concatenate(([0.0], np.cumsum(apart)))
    means = (sums[stops] - sums[starts]) / counts
    size = max(float(np.abs(apart).max(initial=0)), 1e-300)  # so that no square overflows
    residues = ((apart - np.repeat(means, counts)) / size) ** 2
    spread = size * np.sqrt(np.add.reduceat(residues, starts) / counts) if len(starts) else counts.astype(float)
    ends = {"perfect": float(best.mean()), "random": float(other.mean())}
    raw = np.array([match_fraction(float(mean), **ends) for mean in means])
    error = Z * spread / np.sqrt(counts) / (other.mean() - best.mean())
    unbounded = (other.mean() - means) / (other.mean() - best.mean())
    shares = np.clip(falling(unbounded, counts.astype(float), error / Z), 0, 1)
    return Validation(
        name, float(best.mean()), float(other.mean()), ordered[stops - 1], ordered[starts], counts, means, raw, shares,
        np.clip(shares - error, 0, 1), np.clip(shares + error, 0, 1),
    )  # fmt: skip


def _groups(ordered: np.ndarray) -> np.ndarray:
    """Where groups of equal or neighbouring scores begin, of GROUP pairs or more, or fewer if there are few."""
    least = min(GROUP, max(LEAST, len(ordered) // 8))
    changes = np.concatenate(([0], 1 + np.flatnonzero(np.diff(ordered) != 0), [len(ordered)]))
    bounds = [0]
    for change in changes[1:].tolist():
        if change - bounds[-1] >= least:
            bounds.append(change)
    if bounds[-1] != len(ordered):
        bounds = [*bounds[:-1], len(ordered)] if len(bounds) > 1 else [0, len(ordered)]
    return np.array(bounds)


def falling(values: np.ndarray, weights: np.ndarray, errors: np.ndarray | None = None) -> np.ndarray:
    """The falling sequence nearest to the values, by weighted squares: neighbours that rise are averaged.

    With standard errors only those that may rise by chance are; a rise beyond Z errors is one, and stays.

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
