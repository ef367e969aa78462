"""Measure the evidence for and against each candidate pair of two tables, without labels.

How near two records are says little by itself: two seasons of a league can share all words but one
and differ, two names of a hospital can share one word and mean the same. What says more is how near
*others* are. If a record has one neighbour far ahead of all others, that is probably its match; if
two are as near as each other, at most one of them is. So a pair is compared with its rivals, the
other candidates of its two records.

Rivals also show which words matter in these tables. A pair in which each record is the other's
nearest is mostly a match, a record's second-best candidate mostly not. A word that differs as often
in the former as in the latter ("the", "magazine") says nothing. One that differs only in the
latter, such as a year, says that two records are different things.

`learned` turns this evidence into probabilities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.agreeing import LEVEL_POINTS, levels_of
from lookalike.entities.fields import Column
from lookalike.entities.mixture import LEAST_FIELDS, Mixture, fit
from lookalike.entities.probabilities import levels_for, random_pairs
from lookalike.entities.rarities import Rarities
from lookalike.entities.scores import FieldComparison, ScoredPairs, points_of_pairs
from lookalike.entities.whole import WeighedRows, WholeTexts
from lookalike.items.sides import Sides
from lookalike.kernels.overlaps import count_apart, count_nearest, two_best

PAIRS_PER_PART = 1 << 20
MOST_COUNTED = 1 << 17  # pairs of each kind from which is learned which words matter
RARITIES = 5  # classes of words of similar rarity; a word that is seldom seen is judged by its class
MOST_ODDS = 16.0  # of the mixture model, which takes fields for independent
CLASS_COUNTS = 4.0  # the rate of its class counts as much as this many sightings of the word

# What is measured of each pair. The "left" record here is that of the larger table, so that the
# order of the tables does not matter. A lead is the distance to the best rival.
FEATURES = (
    "near", "near above 0.5", "near above 0.8",
    "smaller lead", "smaller lead above -0.1", "smaller lead above 0", "smaller lead above 0.1",
    "smaller lead above 0.3",
    "larger lead", "larger lead above -0.1", "larger lead above 0", "larger lead above 0.1", "larger lead above 0.3",
    "lead for right", "points",
    "common words", "rarest common word", "same words", "rarest word only left", "rarest word only right",
    "common share of left words", "common share of right words", "common share of left letters",
    "common share of right letters", "both have other numbers", "one has other numbers", "same numbers",
    "other numbers of one form",
    "records nearest to left", "records nearest to right",
    "differing words", "matching words", "worst differing word",
    "agreement", "smaller lead in agreement", "larger lead in agreement", "odds by fields", "odds by fields above 0",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of all candidate pairs of two tables; `features` puts it together, part by part."""

    left: np.ndarray  # the records of the larger table; of copies, the first
    right: np.ndarray
    once: np.ndarray | slice  # the pairs that compete: of those between the same two records, one
    points: np.ndarray  # the mean over the fields that are present, of 1
    texts: WholeTexts
    near: "Race"
    agreement: "Race"
    lessons: "Lessons"
    odds: np.ndarray  # the natural log odds of a match by the levels of its fields; 0 if unknown
    silent: np.ndarray  # pairs without a field that both records have: nothing speaks for a match
    experience: "Experience"

    def features(self, part: slice | np.ndarray) -> np.ndarray:
        """Return FEATURES (columns) of some pairs (rows), given as a slice or by position."""
        left, right = self.left[part], self.right[part]
        near, agreement, odds = self.near.values[part], self.agreement.values[part], self.odds[part]
        for_left, for_right = self.near.lead(near, left), self.near.lead(near, right)
        smaller, larger = np.minimum(for_left, for_right), np.maximum(for_left, for_right)
        ahead = self.agreement.lead(agreement, left), self.agreement.lead(agreement, right)
        return np.column_stack([
            near, *_above(near, 0.5, 0.8),
            smaller, *_above(smaller, -0.1, 0, 0.1, 0.3), larger, *_above(larger, -0.1, 0, 0.1, 0.3),
            for_right, self.points[part], *self.texts.compare(left, right),
            np.log1p(self.near.followers[left]), np.log1p(self.near.followers[right]),
            *self.lessons.judge(self.texts.codes[left], self.texts.codes[right]),
            agreement, np.minimum(*ahead), np.maximum(*ahead), odds, *_above(odds, 0),
        ])  # fmt: skip

    def siblings(self, rows: np.ndarray) -> np.ndarray:
        """Return which pairs have different numbers of one form in their names, such as W810 and W830."""
        return self.texts.siblings.apart(self.left[rows], self.right[rows])


@dataclass(frozen=True, eq=False)
class Experience:
    """What the evidence of a pair depends on besides the pair and its rivals, as counted in two tables."""

    records: int
    turned: bool  # whether the second table is the larger one
    chances: list[np.ndarray]  # of each field: the share of random pairs that reach each level
    words: Rarities
    grams: Rarities
    tallies: "Tallies"
    mixture: Mixture | None
    few: float = 0.0  # how much the weights for few matches count
    siblings: float = 0.0  # how much the weights for siblings count


def gather_evidence(
    columns: Sequence[Column],
    comparisons: Sequence[FieldComparison],
    pairs: ScoredPairs,
    sides: Sides,
    seed: int,
    run: Run,
    known: Experience | None = None,
    storage: Storage = IN_MEMORY,
) -> Evidence:
    """Measure all pairs of two tables; what is `known` from other tables is not counted anew."""
    here = len(columns[0].values)
    texts = WholeTexts.of(columns, run, None if known is None else (known.words, known.grams), storage)
    turned = sides.offset < here - sides.offset if known is None else known.turned
    left, right = (pairs.right, pairs.left) if turned else (pairs.left, pairs.right)
    left, right, once = with_first_copies(columns, texts.codes, sides, left, right)
    near = Race.of(left, right, texts.nearness(left, right, run, storage), here, once)
    if known is None:
        by_chance = points_of_pairs(comparisons, *random_pairs(here, sides, seed), run)
        tallies = tally_words(texts, left, right, near)
        mixture = mixture_of_fields(pairs, by_chance, here)
        known = Experience(here, turned, chances_of(by_chance), *texts.rarities(), tallies, mixture)
    most = np.log2(1 + known.records)
    bits = of_points(lambda points: surprise(points, known.chances) / most, "agreement", pairs.points, run, storage)
    means = of_points(lambda points: mean_points(points) / 100, "means", pairs.points, run, storage)
    odds = of_points(lambda points: odds_by_fields(points, known.mixture), "odds", pairs.points, run, storage)
    agreement, lessons = Race.of(left, right, bits, here, once), Lessons.of(texts, known.tallies)
    silent = storage.filled("silent", len(left), np.bool_, lambda part: np.isnan(pairs.points[part]).all(axis=1), run)
    return Evidence(left, right, once, means, texts, near, agreement, lessons, odds, silent, known)


def with_first_copies(
    columns: Sequence[Column], codes: np.ndarray, sides: Sides, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | slice]:
    """Return pairs with the first copy of each record in its table, and which of the pairs compete.

    Records of a table are copies if they have the same text (`codes`) and at least LEAST_FIELDS values.
    A copy is no rival: what it says has been said.
    """
    present = np.sum([np.asarray(column.values.is_valid()) for column in columns], axis=0)
    full = np.flatnonzero(present >= LEAST_FIELDS)
    keys = 2 * codes[full] + (sides.two & (full >= sides.offset))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(full):
        return left, right, slice(None)
    original = np.arange(len(codes))
    original[full] = full[first[which]]
    left, right = original[left], original[right]
    _, once = np.unique(left * len(codes) + right, return_index=True)
    return left, right, np.sort(once)


def of_points(
    work: Callable[[np.ndarray], np.ndarray], name: str, points: np.ndarray, run: Run, storage: Storage
) -> np.ndarray:
    """Return what a function makes of the points of all pairs, part by part."""
    return storage.filled(name, len(points), np.float64, lambda part: work(points[part]), run)


class Race(NamedTuple):
    """A value of all pairs, and how the pairs of each record compete by it."""

    values: np.ndarray
    best: np.ndarray
    second: np.ndarray
    followers: np.ndarray  # how many records have this one as their best

    @classmethod
    def of(
        cls, left: np.ndarray, right: np.ndarray, values: np.ndarray, records: int,
        once: np.ndarray | slice = slice(None),
    ) -> Self:  # fmt: skip
        """Find the two best values of each record, among the pairs that compete."""
        runners = left[once], right[once], values[once]
        best, second = two_best(*runners, records)
        return cls(values, best, second, count_nearest(*runners, best))

    def lead(self, values: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Return how far pairs of these records, one each, are ahead of the best other pair."""
        rival = np.where(values >= self.best[records], self.second[records], self.best[records])
        return np.asarray(values - np.maximum(rival, 0))


class Tallies(NamedTuple):
    """How often words differ in the best pairs and in the runners-up, and how often they are in both texts."""

    words: np.ndarray  # hashes, ascending
    counts: np.ndarray  # (best, second) x (apart, both) x words
    usual: np.ndarray  # (best, second) x classes of rarity: the share of words that differ
    top: float  # the weight of the rarest word


class Lessons(NamedTuple):
    """How much it speaks for a match that a word differs, or that it is in both texts."""

    against: WeighedRows  # the opposite of the former, so that the largest is the worst
    common: WeighedRows

    @classmethod
    def of(cls, texts: WholeTexts, tallies: Tallies) -> Self:
        """Weigh the words of texts by what was counted."""
        rows, weights, _ = texts.words
        at = np.searchsorted(tallies.words, rows.hashes)
        at[at == len(tallies.words)] = 0
        known = tallies.words[at] == rows.hashes if len(tallies.words) else np.zeros(len(at), bool)
        counts = np.where(known, tallies.counts[:, :, at * known], 0) if known.any() else np.zeros((2, 2, len(at)))
        usual = tallies.usual[:, rarity_class(weights, tallies.top)]
        rates = (counts[:, 0] + CLASS_COUNTS * usual) / (counts.sum(axis=1) + CLASS_COUNTS)
        against, common = np.log(rates[1] / rates[0]), np.log((1 - rates[0]) / (1 - rates[1]))
        return cls(WeighedRows.of(rows, against), WeighedRows.of(rows, common))

    def judge(self, one: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
        """Return what all words say that differ, what the common ones say, and the worst that differs."""
        shared, _, *worst = self.against.overlaps(one, other)
        differing = 2 * shared - self.against.sums[one] - self.against.sums[other]
        return [differing, self.common.common(one, other), -np.maximum(*worst)]


def tally_words(texts: WholeTexts, left: np.ndarray, right: np.ndarray, near: Race) -> Tallies:
    """Count what shows which words matter: those that differ in runners-up, but not in the best pairs."""
    first, following = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in slices(len(left), PAIRS_PER_PART):
        values, ends = near.values[part], (left[part], right[part])
        best = values >= np.maximum(*(near.best[some] for some in ends))
        second = ~best & (values >= np.maximum(*(near.second[some] for some in ends)))
        first.append(part.start + np.flatnonzero(best))
        following.append(part.start + np.flatnonzero(second))
    rows, weights, _ = texts.words
    top = float(weights.max(initial=1e-300))
    rarity = rarity_class(weights, top)
    tallied, usual = [], []
    for chosen in (first, following):
        some = np.concatenate(chosen)
        some = some[:: 1 + len(some) // MOST_COUNTED]
        pairs = texts.codes[left[some]], texts.codes[right[some]]
        both, apart = count_apart(rows.indptr, rows.elements, *pairs, len(weights))
        in_class = [np.bincount(rarity, counts, RARITIES) + 1 for counts in (apart, both)]
        usual.append(in_class[0] / sum(in_class))
        tallied.append((apart, both))
    counts = np.array(tallied).astype(np.int64)
    seen = np.flatnonzero(counts.any(axis=(0, 1)))
    seen = seen[np.argsort(rows.hashes[seen])]
    return Tallies(rows.hashes[seen], counts[:, :, seen], np.array(usual), top)


def rarity_class(weights: np.ndarray, top: float) -> np.ndarray:
    """Return the class of rarity of words; `top` is the weight of the rarest."""
    return np.minimum(RARITIES - 1, (RARITIES * weights / top).astype(np.int64))


def mixture_of_fields(pairs: ScoredPairs, by_chance: np.ndarray, records: int) -> Mixture | None:
    """Fit a mixture model to pairs without a rival of a higher score; None if there are too few fields."""
    if pairs.points.shape[1] < LEAST_FIELDS or not len(pairs.score):
        return None
    best, _ = two_best(pairs.left, pairs.right, pairs.score, records)
    levels = [levels_of(pairs.points[:0])]
    for part in slices(len(pairs.score), PAIRS_PER_PART):
        alone = pairs.score[part] >= np.maximum(best[pairs.left[part]], best[pairs.right[part]])
        levels.append(levels_of(pairs.points[part][alone]))
    return fit(np.concatenate(levels), random_levels=levels_of(by_chance))


def odds_by_fields(points: np.ndarray, mixture: Mixture | None) -> np.ndarray:
    """Return the log odds of a match by a mixture model of the fields, within limits; 0 without a model."""
    if mixture is None:
        return np.zeros(len(points))
    likely = mixture.probability(levels_for(mixture, levels_of(points)))
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(likely) - np.log(1 - likely), -MOST_ODDS, MOST_ODDS))


def chances_of(by_chance: np.ndarray) -> list[np.ndarray]:
    """Return for each field the share of random pairs, given their points, that reach each level or a higher one."""
    found = []
    for chance in by_chance.T:
        levels = np.searchsorted(LEVEL_POINTS, chance[~np.isnan(chance)], side="right")
        counts = np.bincount(levels, minlength=len(LEVEL_POINTS) + 1) + 0.5
        found.append(np.cumsum(counts[::-1])[::-1] / counts.sum())
    return found


def surprise(points: np.ndarray, chances: Sequence[np.ndarray]) -> np.ndarray:
    """Return how many bits of chance the agreement of all fields of a pair would take.

    A field that agrees as well in one of 8 random pairs, or better, counts 3 bits.
    """
    bits = np.zeros(len(points))
    for field, at_least in zip(points.T, chances, strict=True):
        level = np.searchsorted(LEVEL_POINTS, np.nan_to_num(field), side="right")
        bits -= np.where(np.isnan(field), 0, np.log2(at_least)[level])
    return bits


def mean_points(points: np.ndarray) -> np.ndarray:
    """Return the mean points of the fields that are present in both records, 50 without any."""
    present = ~np.isnan(points)
    total = np.where(present, points, 0).sum(axis=1)
    return np.where(present.any(axis=1), total / np.maximum(1, present.sum(axis=1)), 50)


def _above(values: np.ndarray, *bounds: float) -> list[np.ndarray]:
    return [np.maximum(0, values - bound) for bound in bounds]
