"""Estimate how likely each scored pair is a match: by a value not scored, or by a mixture model."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.entities.fields import Column
from lookalike.entities.mixture import LEAST_FIELDS, MISSING_LEVEL, Mixture, fit
from lookalike.entities.scores import Comparison, ScoredPairs, points_of_pairs
from lookalike.entities.validation import Validation, shares_by_score
from lookalike.items.sides import Sides

LEVEL_POINTS = (40.0, 75.0, 99.0)  # the least points with which a field agrees somewhat, nearly, fully
RANDOM_PAIRS = 200_000
LIKELY = 0.5  # the least probability of a match, unless a precision is given


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The probability that each pair is a match, and what it is based on."""

    values: np.ndarray
    basis: str
    validation: Validation | None = None
    mixture: Mixture | None = None
    guess: bool = False  # too few fields to learn from
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Witness:
    """A column that was not scored: days or numbers of all records, nan where missing."""

    column: Column
    values: np.ndarray
    sides: Sides
    max_lag: float | None  # how far a value of the second table can exceed that of the first

    def differences(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the differences of pairs; signed only with `max_lag` and two tables."""
        difference = np.asarray(self.values[right] - self.values[left])
        return np.abs(difference) if self.max_lag is None or not self.sides.two else difference


def by_validation(witness: Witness, pairs: ScoredPairs, perfect: float, seed: int) -> Probabilities:
    """Return the share of true matches at each pair's score; `perfect` is the highest score."""
    if witness.max_lag is None:
        random = random_pairs(len(witness.values), witness.sides, seed)
    else:
        random = pairs_within_reach(witness, witness.max_lag, seed)
    differences = witness.differences(pairs.left, pairs.right)
    name = witness.column.name
    validation = shares_by_score(name, pairs.score, differences, witness.differences(*random), perfect)
    return Probabilities(validation.probability(pairs.score), f"the differences in {name}", validation)


def by_mixture(
    comparisons: Sequence[Comparison], pairs: ScoredPairs, sides: Sides, seed: int, run: Run
) -> Probabilities:
    """Fit a mixture model to pairs without a rival: those with the best score of both records.

    A pair with a rival that differs in some field is treated as a non-match: members of a family
    agree in nearly everything, and only their better matches show that they are different people.
    A pair that differs in no field can be a third record of the same entity.
    """
    records = len(comparisons[0].codes)
    levels = as_levels(pairs.points)
    random_levels = as_levels(points_of_pairs(comparisons, *random_pairs(records, sides, seed), run))
    best = np.full(records, -np.inf)
    np.maximum.at(best, pairs.left, pairs.score)
    np.maximum.at(best, pairs.right, pairs.score)
    alone = (pairs.score >= best[pairs.left]) & (pairs.score >= best[pairs.right])
    with run.stage("mixture"):
        mixture = fit(levels[alone], random_levels=random_levels)
    probability = mixture.probability(levels)
    none = ~alone & (levels == 0).any(axis=1)
    notes = []
    rivals = int(np.count_nonzero(probability[none] >= LIKELY))
    if rivals:
        why = "a field differs, and one of the two records has a better match"
        notes.append(f"{counted(rivals, 'pair')} treated as non-matches: {why}")
    probability[none] = 0
    guess = bool(np.count_nonzero((levels != MISSING_LEVEL).any(axis=0)) < LEAST_FIELDS)
    return Probabilities(probability, "a Fellegi-Sunter mixture model", mixture=mixture, guess=guess, notes=notes)


def as_levels(points: np.ndarray) -> np.ndarray:
    """Return how well each field agrees: 0 not, 1 somewhat, 2 nearly, 3 fully, or MISSING_LEVEL."""
    levels: np.ndarray = np.searchsorted(LEVEL_POINTS, np.nan_to_num(points), side="right").astype(np.uint8)
    levels[np.isnan(points)] = MISSING_LEVEL
    return levels


def random_pairs(records: int, sides: Sides, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw random pairs of records, between the two tables or within one."""
    rng = np.random.default_rng(seed)
    if records < 2 or sides.first in (0, records):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if sides.first is None:
        left = rng.integers(0, records, RANDOM_PAIRS)
        return left, (left + rng.integers(1, records, RANDOM_PAIRS)) % records
    return rng.integers(0, sides.first, RANDOM_PAIRS), rng.integers(sides.first, records, RANDOM_PAIRS)


def pairs_within_reach(witness: Witness, max_lag: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw random pairs whose lag is possible: from 0 to `max_lag`."""
    rng = np.random.default_rng(seed)
    values = witness.values
    first, second = witness.sides.apart(np.arange(len(values)))
    first, second = first[~np.isnan(values[first])], second[~np.isnan(values[second])]
    second = second[np.argsort(values[second], kind="stable")]
    ordered = values[second]
    low = np.searchsorted(ordered, values[first])
    counts = np.searchsorted(ordered, values[first] + max_lag, side="right") - low
    if not counts.sum():
        return first[:0], second[:0]
    chosen = rng.choice(len(first), RANDOM_PAIRS, p=counts / counts.sum())
    others = second[low[chosen] + (rng.random(RANDOM_PAIRS) * counts[chosen]).astype(np.int64)]
    apart = first[chosen] != others
    return first[chosen][apart], others[apart]
