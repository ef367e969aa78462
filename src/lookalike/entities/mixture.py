"""Fit a mixture of matches and non-matches without labels: the model of Fellegi and Sunter, by EM.

Each field of a pair has an agreement level, from 0 (different) to the field's top level (the same),
or `MISSING_LEVEL`. A pair is a match with probability `share`. Among matches, and among
non-matches, fields are independent: level l of field f has probability m[f][l] in matches and
u[f][l] in random pairs; a missing level says nothing.

Candidate pairs are not random: most were picked because some field agrees. So a non-match was
picked by one field f, with probability picked[f + 1], and then has level l there with probability
v[f][l]; or by no field, with probability picked[0]. Its other fields are as in random pairs. So its
levels have probability

    u[0][l0] * u[1][l1] * ... * (picked[0] + sum over f of picked[f + 1] * v[f][lf] / u[f][lf]).

Two simpler models were measured on pairs that agree in at least one of three fields, 1.6% of them
matches. With u of random pairs alone, all pairs are called matches. With u fitted to these pairs,
two fields that agree count too little, since hardly any pair was picked twice: F1 is 0.85 with
three fields and 0.94 with four, where 0.97 and 0.98 are the best possible. With this model F1 is
0.97 and 0.975, and the mean error of the probabilities is 0.0002, a tenth of that with u fitted and
four fields. `tests/entities/test_mixture.py` repeats the measurement.

**Common values.** Two discs by "Various" agree in their artist, and so do thousands of pairs. If a
value is in a share f of the records, it is in f of the matches that agree, but in f squared of random
pairs: the rarer it is, the more it says. So a field can have several levels for values that are the
same, by their rarity (`agreeing`). Their u differ. Their m are those of one level, divided as the
records are: fitted freely, they drift to whatever non-matches have in common. In made-up tables of
discs, by artist, title, genre and year, 12% of them by "Various", 844 matches were stated and 150 true
with one level, 284 and 154 with free shares, and 183 and 150 with fixed ones.

**Relatives.** Non-matches that agree in several fields break the independence: a family shares its
address and its telephone, discs of one artist their genre and decade. Fitted as above, they are
taken for matches that differ in one field. `relatives=True` adds classes of non-matches, relatives
by a field f: this field is as in random pairs, and level l of any other field g has a probability
w[g][l] of its own. Their term in the sum is picked[r] * (product over g of w[g][lg] / u[g][lg]).

The likelihood cannot decide when to add them. Damage to copies is never quite independent either:
in febrl1, where first name and surname are sometimes swapped, relatives by first name raise the
log-likelihood by 74, in `companies` relatives by name raise it by 18; but in febrl1 they take 18% of
the matches. What decides is how often "matches" differ in a field that random pairs hardly ever
share. In true matches of eleven tables of people, CDs, films and papers that was at most 0.23, and
0.36 in one table; with relatives among the matches, it was 0.35 to 0.99. So relatives are added by
the field that raises the likelihood most, of the fields in which more than OFTEN of the matches
differ; then by others in which more than MOSTLY still differ. Matches may then differ in such a field with a
probability of at most CAP, so that the classes cannot change places.

In one table of two companies, F1 rose from 0.59 to 0.95, with 90% of the people in families from
0.30 to 0.93, and in a list of CDs with 3% duplicates from 0.01 to 0.94; without relatives, 22,625
of its matches were stated to be true, and 137 were. What this cannot do: few relatives (5% of the
people in families) go unnoticed, and F1 stays at 0.88; copies of which more than a third differ in
a field are treated as relatives.

I. P. Fellegi and A. B. Sunter, A Theory for Record Linkage, JASA 64 (1969). A. P. Dempster, N. M.
Laird, D. B. Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, JRSS B 39 (1977).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import UsageError, positive, whole
from lookalike.entities.patterns import Patterns, check, levels_in
from lookalike.entities.rarities import Rarity

PRIOR = 1.0  # pseudo-pairs, spread evenly over the levels, so that no level has probability 0
STARTS = ((0.1, 0.9), (0.01, 0.9), (0.5, 0.9), (0.1, 0.6))  # share of matches, and of the top level in matches
TRIAL = 20  # steps from each start before the best one is chosen
IDENTIFYING = 0.95  # relatives differ in a field in which at least this share of random pairs differ
OFTEN = 1 / 3  # the share of matches that differ in a field from which relatives are added
MOSTLY = 0.4  # the same for further classes
CAP = 1 / 4  # how often matches may differ in a field by which there are relatives
ROUNDS = 2  # of taking the matches out of all pairs
LEAST_FIELDS = 3  # informative fields needed to separate matches from pairs that a field picked

Levels = tuple[np.ndarray, ...]  # one array of probabilities per field


@dataclass(frozen=True, eq=False)
class Relatives:
    """Non-matches that agree in other fields than `field`, and the probabilities of all their levels."""

    field: int
    levels: Levels


@dataclass(frozen=True, eq=False)
class Mixture:
    """The fitted model, the natural log-likelihood of its pairs, and the EM steps it took.

    `picked` has the shares of non-matches picked by no field, by each field, and of each class of relatives.
    """

    m: Levels
    u: Levels
    v: Levels
    share: float
    picked: np.ndarray
    log_likelihood: float
    steps: int
    relatives: tuple[Relatives, ...] = ()
    rarities: tuple[Rarity, ...] = ()  # of each field: how rare equal values are, by level

    def probability(self, levels: np.ndarray) -> np.ndarray:
        """Return for each pair the probability that it is a match."""
        patterns = Patterns.of(levels, self._sizes())
        match, other = self._logs(patterns.columns)
        return np.asarray(np.exp(match - np.logaddexp(match, other))[patterns.row])

    def expected_matches(self, levels: np.ndarray) -> float:
        """Estimate how many of the pairs are matches: the sum of their probabilities."""
        return float(self.probability(levels).sum())

    def weights(self, names: Sequence[str] | None = None) -> pa.Table:
        """Return m, u and log2(m / u), the bits of evidence for a match, per field and level."""
        sizes = self._sizes()
        names = [f"field {number}" for number in range(len(sizes))] if names is None else names
        if len(names) != len(sizes):
            raise UsageError(f"names must have {len(sizes)} entries, one per field; got {len(names)}.")
        m, u = np.concatenate(self.m), np.concatenate(self.u)
        fields = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
        levels = np.concatenate([np.arange(size) for size in sizes])
        return pa.table({"field": fields, "level": levels, "m": m, "u": u, "weight": np.log2(m / u)})

    def _sizes(self) -> list[int]:
        return [len(levels) for levels in self.m]

    def _logs(self, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return log probabilities of these levels together with being a match, and a non-match."""
        match = np.full(len(columns[0]), np.log(self.share))
        other = np.full(len(columns[0]), np.log1p(-self.share))
        for m, u, column in zip(self.m, self.u, columns, strict=True):
            match += np.append(np.log(m), 0.0)[column]
            other += np.append(np.log(u), 0.0)[column]
        return match, other + np.log(sum(self._ways(columns)))

    def _ways(self, columns: list[np.ndarray]) -> list[np.ndarray]:
        """Return the terms of the sum in the module's formula: no field, first field, ..., relatives."""
        ways = [np.full(len(columns[0]), self.picked[0])]
        if self.picked[1:].any():
            fields = len(self.u)
            for share, v, u, column in zip(self.picked[1 : fields + 1], self.v, self.u, columns, strict=True):
                ways.append(share * np.append(v / u, 1.0)[column])
            for share, some in zip(self.picked[fields + 1 :], self.relatives, strict=True):
                way = np.full(len(columns[0]), share)
                for w, u, column in zip(some.levels, self.u, columns, strict=True):
                    way *= np.append(w / u, 1.0)[column]
                ways.append(way)
        return ways


class _Known(NamedTuple):
    """What is known besides the pairs: counts of levels, per field, with which the fit begins."""

    random: Levels | None  # in random pairs; they fix u
    every: bool  # whether these are all pairs, and so include the matches
    matches: Levels  # pseudo-counts in matches
    split: Levels  # of the levels of values that are the same: their shares in matches

    @property
    def u(self) -> Levels | None:
        """Return the shares of levels in random pairs."""
        return None if self.random is None else tuple(count / count.sum() for count in self.random)

    def without(self, matches: Levels) -> "_Known":
        """Return the same without these counts of matches among the random pairs."""
        fields = zip(self.random or (), matches, strict=True)
        return self._replace(random=tuple(np.maximum(count - found, PRIOR / len(count)) for count, found in fields))


def fit(
    levels: np.ndarray, *, random_levels: np.ndarray | None = None, every_pair: bool = False,
    relatives: bool = False, usual: Sequence[float] | None = None, split: Levels | None = None, steps: int = 1000,
    tolerance: float = 1e-9,
) -> Mixture:  # fmt: skip
    """Fit the model to agreement `levels`: uint8, one row per pair, one column per field.

    `random_levels` are those of random pairs. They fix u, and if at least three fields are
    informative, the fields that picked the pairs become part of the model. Without `random_levels`
    u is fitted to the pairs, as if no field had picked them. `relatives` adds classes of relatives
    where the matches differ too often; it needs `random_levels` and three informative fields.
    `every_pair` says that `random_levels` are those of all pairs, of which matches can be many: u is
    fitted without them. `usual` are pseudo-counts of levels in matches, the same for each field, in
    place of the even prior. `split` says for each field how the highest levels divide those that are
    the same, in all records and so in matches, the most common values first; it needs `random_levels`.

    A higher level is never weaker evidence for a match: m / u rises with the level, by weighted
    isotonic regression in each step of EM (R. Dykstra, S. Kochar and T. Robertson, JASA 90 (1995));
    only common values that are the same may say less than values that nearly agree.
    EM starts from four guesses, continues from the best, and ends when a step raises the
    log-likelihood by less than `tolerance` per pair. With fewer than three fields, or pairs that
    are all the same, the share of matches is undetermined.

    O(pairs * fields) to count the distinct rows of levels, then O(distinct * fields) per step.

    >>> levels = np.repeat(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]], np.uint8), [50, 10, 400, 400], axis=0)
    >>> chance = np.repeat(np.array([[0, 0, 0], [1, 1, 1]], np.uint8), [9_990, 10], axis=0)
    >>> found = fit(levels, random_levels=chance)
    >>> round(found.share, 2), round(found.expected_matches(levels[:50]))
    (0.07, 50)
    """
    steps, tolerance = whole("steps", steps), positive("tolerance", tolerance)
    check("levels", levels)
    fields = levels.shape[1]
    sizes = [levels_in(levels[:, field]) for field in range(fields)]
    parts = (np.ones(1),) * fields if split is None else split
    if usual is not None:
        sizes = [max(size, len(usual) - 1 + len(part)) for size, part in zip(sizes, parts, strict=True)]
    random = None
    if random_levels is not None:
        check("random_levels", random_levels, fields)
        sizes = [max(size, levels_in(random_levels[:, field])) for field, size in enumerate(sizes)]
        random = _counts(Patterns.of(random_levels, sizes), sizes)
    if usual is None:
        prior = tuple(np.full(size, PRIOR / size) for size in sizes)
    else:
        prior = tuple(np.append(usual[:-1], usual[-1] * part) for part in parts)
    known = _Known(random, every_pair, prior, parts)
    patterns = Patterns.of(levels, sizes)
    u = known.u
    with_ways = u is not None and sum(size > 1 for size in sizes) >= LEAST_FIELDS
    starts = [
        _start(u or tuple(one / one.sum() for one in _counts(patterns, sizes)), parts, share, top, with_ways)
        for share, top in STARTS
    ]
    if not len(levels):
        return starts[0]
    trials = [_climb(patterns, start, known, min(TRIAL, steps), tolerance) for start in starts]
    best = max(trials, key=lambda trial: trial.log_likelihood)
    mixture = two_classes = _settle(patterns, best, known, steps, tolerance)
    while relatives and with_ways and (fields_to_add := _suspicious(mixture)):
        by = [some.field for some in mixture.relatives]
        trials = [_with_relatives(two_classes, [*by, field]) for field in fields_to_add]
        done = [_settle(patterns, trial, known, steps, tolerance) for trial in trials]
        mixture = max(done, key=lambda trial: trial.log_likelihood)
    return mixture


def _settle(patterns: Patterns, mixture: Mixture, known: _Known, steps: int, tolerance: float) -> Mixture:
    """Climb; if the random pairs are all pairs, take the matches out of u, and climb again."""
    mixture = _climb(patterns, mixture, known, steps, tolerance)
    for _ in range(ROUNDS if known.every else 0):
        match, other = mixture._logs(patterns.columns)
        matches = patterns.counts * np.exp(match - np.logaddexp(match, other))
        counts = tuple(patterns.count(field, len(u), matches) for field, u in enumerate(mixture.u))
        u = known.without(counts).u or mixture.u
        mixture = _climb(patterns, replace(mixture, u=u, steps=0), known, steps, tolerance)
    return mixture


def _suspicious(mixture: Mixture) -> list[int]:
    """Return the fields in which matches differ so often that relatives must be among them."""
    by = {some.field for some in mixture.relatives}
    often = MOSTLY if by else OFTEN
    fields = enumerate(zip(mixture.m, mixture.u, strict=True))
    return [field for field, (m, u) in fields if field not in by and IDENTIFYING <= u[0] < 1 and m[0] > often]


def _with_relatives(mixture: Mixture, by: list[int]) -> Mixture:
    """Return a mixture whose matches that differ in one of the fields `by` become relatives, as a first guess."""
    m = tuple(_capped(shares) if field in by else shares for field, shares in enumerate(mixture.m))
    relatives, shares = [], []
    for field in by:
        levels = [mixture.u[other] if other == field else mixture.m[other] for other in range(len(m))]
        relatives.append(Relatives(field, tuple(levels)))
        shares.append(mixture.share * mixture.m[field][0] / len(by))
    others = np.append((1 - mixture.share) * mixture.picked, shares)
    share = mixture.share * (1 - float(np.mean([mixture.m[field][0] for field in by])))
    return replace(mixture, m=m, share=share, picked=others / others.sum(), relatives=tuple(relatives), steps=0)


def _climb(patterns: Patterns, mixture: Mixture, known: _Known, steps: int, tolerance: float) -> Mixture:
    """Take steps of EM until the likelihood, including the prior, no longer rises."""
    before = -inf
    while True:
        mixture, after = _with_likelihood(patterns, mixture, known)
        if after - before <= tolerance * patterns.counts.sum() or mixture.steps == steps:
            return mixture
        before = after
        mixture = _step(patterns, mixture, known)


def _with_likelihood(patterns: Patterns, mixture: Mixture, known: _Known) -> tuple[Mixture, float]:
    """Return the mixture with its log-likelihood, and the latter including the prior."""
    likelihood = float(patterns.counts @ np.logaddexp(*mixture._logs(patterns.columns)))
    prior = sum(float(np.log(m) @ count) for m, count in zip(mixture.m, known.matches, strict=True))
    spread = [*mixture.u, np.array([mixture.share, 1 - mixture.share])]
    if mixture.picked[1:].any():
        spread += [*mixture.v, mixture.picked, *(w for some in mixture.relatives for w in some.levels)]
    prior += sum(float(np.log(shares).sum()) * PRIOR / len(shares) for shares in spread)
    return replace(mixture, log_likelihood=likelihood), likelihood + prior


def _step(patterns: Patterns, mixture: Mixture, known: _Known) -> Mixture:
    """Take one step of EM: estimate which pairs match, then the parameters that fit that best."""
    match, other = mixture._logs(patterns.columns)
    matches = patterns.counts * np.exp(match - np.logaddexp(match, other))
    others = patterns.counts - matches
    m, u = [], []
    by = {some.field for some in mixture.relatives}
    for field, (chance, split) in enumerate(zip(mixture.u, known.split, strict=True)):
        count = patterns.count(field, len(chance), matches) + known.matches[field]
        if known.random is not None:
            shares = _in_matches(count, chance, split)
            m.append(_capped(shares) if field in by else shares)
            u.append(chance)
        else:
            count_others = _count(patterns, field, chance, others)
            both = count + count_others
            m.append(_rising(count, both / both.sum()))
            u.append((both - m[-1] * count.sum()) / count_others.sum())
    share = (matches.sum() + PRIOR / 2) / (patterns.counts.sum() + PRIOR)
    found = replace(mixture, m=tuple(m), u=tuple(u), share=float(share), steps=mixture.steps + 1)
    if not mixture.picked[1:].any():
        return found
    ways = mixture._ways(patterns.columns)
    per_way = [others * way / sum(ways) for way in ways]
    fields = [(field, chance, len(split)) for field, (chance, split) in enumerate(zip(u, known.split, strict=True))]
    v = tuple(
        _rising(_count(patterns, field, chance, per_way[field + 1]), chance, tops) for field, chance, tops in fields
    )
    relatives = []
    for some, weights in zip(mixture.relatives, per_way[len(u) + 1 :], strict=True):
        w = [
            chance if field == some.field else _rising(_count(patterns, field, chance, weights), chance, tops)
            for field, chance, tops in fields
        ]
        relatives.append(Relatives(some.field, tuple(w)))
    picked = np.array([way.sum() for way in per_way]) + PRIOR / len(ways)
    return replace(found, v=v, picked=picked / picked.sum(), relatives=tuple(relatives))


def _start(u: Levels, split: Levels, share: float, top: float, with_ways: bool) -> Mixture:
    """Return a first guess: a share `top` of matches agrees; all ways to be picked are equal."""
    lower = [len(chance) - len(part) for chance, part in zip(u, split, strict=True)]
    guess = [
        np.append(np.full(less, (1 - top) / max(1, less)), top * part) for less, part in zip(lower, split, strict=True)
    ]
    m = tuple(_in_matches(shares, chance, part) for shares, chance, part in zip(guess, u, split, strict=True))
    picked = np.full(len(u) + 1, 1 / (len(u) + 1)) if with_ways else np.append(1.0, np.zeros(len(u)))
    return Mixture(m, u, m, share, picked, 0.0, 0)


def _counts(patterns: Patterns, sizes: list[int]) -> Levels:
    """Return the counts of levels per field, with the prior."""
    return tuple(_count(patterns, field, np.ones(size), patterns.counts) for field, size in enumerate(sizes))


def _count(patterns: Patterns, field: int, levels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted counts of the levels of a field, with the prior."""
    return patterns.count(field, len(levels), weights) + PRIOR / len(levels)


def _in_matches(counts: np.ndarray, base: np.ndarray, split: np.ndarray) -> np.ndarray:
    """Return the most likely shares such that shares / base rises; `split` divides that of the highest levels."""
    shares = _rising(_merged(counts, len(split)), _merged(base, len(split)))
    return np.append(shares[:-1], shares[-1] * split)


def _merged(values: np.ndarray, tops: int) -> np.ndarray:
    """Return values with the last ones added up."""
    return np.append(values[: len(values) - tops], values[len(values) - tops :].sum())


def _rising(counts: np.ndarray, base: np.ndarray, tops: int = 1) -> np.ndarray:
    """Return the most likely shares such that shares / base rises: pool levels where it falls.

    It rises among the `tops` highest levels, and from the others to all of these together.
    """
    if tops > 1:
        whole = _rising(_merged(counts, tops), _merged(base, tops))
        return np.append(whole[:-1], whole[-1] * _rising(counts[-tops:], base[-tops:]))
    ratio = counts / (counts.sum() * base)
    if (ratio[1:] < ratio[:-1]).any():
        pools: list[tuple[float, float, int]] = []
        for count, weight in zip(counts / counts.sum(), base, strict=True):
            pool = (count, weight, 1)
            while pools and pools[-1][0] * pool[1] >= pool[0] * pools[-1][1]:
                last = pools.pop()
                pool = (last[0] + pool[0], last[1] + pool[1], last[2] + pool[2])
            pools.append(pool)
        ratio = np.repeat([count / weight for count, weight, _ in pools], [size for _, _, size in pools])
    return np.asarray(ratio * base / (ratio @ base))


def _capped(shares: np.ndarray) -> np.ndarray:
    """Return the most likely shares such that level 0 has at most CAP: the other levels take the rest."""
    if shares[0] <= CAP:
        return shares
    return np.append(CAP, shares[1:] * (1 - CAP) / (1 - shares[0]))
