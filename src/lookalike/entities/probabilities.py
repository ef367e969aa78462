"""Estimate how likely each scored pair is a match: by a value not scored, or by a mixture model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.run import Run
from lookalike.entities.agreeing import SAME, FieldLevels
from lookalike.entities.fields import Column
from lookalike.entities.mixture import LEAST_FIELDS, Mixture, fit
from lookalike.entities.patterns import MISSING_LEVEL
from lookalike.entities.rarities import Rarity
from lookalike.entities.scores import FieldComparison, ScoredPairs, points_of_pairs
from lookalike.entities.validation import Validation, shares_by_score
from lookalike.items.sides import Sides

if TYPE_CHECKING:
    from lookalike.entities.evidence import Experience
    from lookalike.entities.labels import Correction

RANDOM_PAIRS = 200_000
USUAL_MATCHES = (0.75, 0.25, 1.0, 3.0)  # five, by level: as most fields agree in matches of people, papers, products
INFORMATIVE = 0.5  # an informative field has both values in more than this share of pairs
ALIKE = 0.9  # and agrees fully in less than this share of random pairs
LIKELY = 0.5  # the least probability of a match, unless a precision is given


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The probability that each pair is a match, and what it is based on."""

    values: np.ndarray
    basis: str
    validation: Validation | None = None
    mixture: Mixture | None = None
    experience: "Experience | None" = None
    correction: "Correction | None" = None  # by labels
    guess: bool = False  # too few informative fields to learn from
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
    comparisons: Sequence[FieldComparison], pairs: ScoredPairs, sides: Sides, seed: int, run: Run
) -> Probabilities:
    """Fit a mixture model of matches, non-matches and relatives to all pairs.

    A pair can be a match although both records have better ones: a table may hold many copies. A small
    table can have none: then nothing but USUAL_MATCHES says what matches look like.
    """
    agreement = FieldLevels(comparisons, [Rarity.of(field.texts, field.codes) for field in comparisons], run)
    levels = agreement.levels(pairs.points, pairs.left, pairs.right)
    records = len(comparisons[0].codes)
    small = not sides.two and records * (records - 1) // 2 <= RANDOM_PAIRS
    random = np.triu_indices(records, 1) if small else random_pairs(records, sides, seed)
    random_levels = agreement.levels(points_of_pairs(comparisons, random[0], random[1], run), *random)
    with run.stage("mixture"):
        mixture = fit(
            levels, random_levels=random_levels, every_pair=small, relatives=True, usual=USUAL_MATCHES,
            split=tuple(one.shares for one in agreement.rarities),
        )  # fmt: skip
    mixture = replace(mixture, rarities=agreement.rarities)
    notes = []
    for some in mixture.relatives:
        name = comparisons[some.field].name
        notes.append(
            f"many pairs agree except in {name}: records that differ there are treated as relatives, not matches"
        )
    guess = informative(levels, random_levels) < LEAST_FIELDS
    return Probabilities(
        mixture.probability(levels), "a Fellegi-Sunter mixture model", mixture=mixture, guess=guess, notes=notes
    )


def informative(levels: np.ndarray, random_levels: np.ndarray) -> int:
    """Count the fields that most pairs have and in which most random pairs do not agree fully."""
    there = (levels != MISSING_LEVEL).mean(axis=0) > INFORMATIVE if len(levels) else np.zeros(levels.shape[1], bool)
    agree = (random_levels >= SAME) & (random_levels != MISSING_LEVEL)
    same = agree.sum(axis=0) / np.maximum(1, (random_levels != MISSING_LEVEL).sum(axis=0))
    return int(np.count_nonzero(there & (same < ALIKE)))


def levels_for(mixture: Mixture, levels: np.ndarray) -> np.ndarray:
    """Return levels that are at most as high as any from which the mixture was fitted."""
    most = np.array([len(shares) - 1 for shares in mixture.m], np.uint8)
    return np.where(levels == MISSING_LEVEL, levels, np.minimum(levels, most))


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
