"""Turn evidence into probabilities, by weights learned from tables whose matches are known.

The log odds of a match are the sum of all FEATURES of a pair times their weights: logistic
regression. A second round adds what is known of the odds of the pair's rivals (RIVALRY), with other
weights. They are in `words/evidence.csv`, one column for records compared by one field and one for
several. `bench/learn.py` learns them, and measures how they do on tables they were not learned
from. That works because no feature is about a subject: leads over rivals, and which words matter,
are measured anew in every pair of tables.

A pair that is far ahead of its rivals means less where few records have a match: somebody is
nearest to everybody. The tables behind these weights have matches for most records of the smaller
table, so both have another column, learned from the same tables without one record of each of 90% of
the matches. It counts where the first one expects matches for few records.

Products have siblings: W810 and W830 share all words but one, and one shop may sell only the former. A
fifth column was learned from made-up products, too, of which some have been taken out in the same way. It
counts, for several fields, where many of the near pairs are siblings. In this column alone such a
difference has a weight: other tables have too few siblings to learn from.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from lookalike.core.run import Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.evidence import FEATURES, Evidence, Experience, gather_evidence
from lookalike.entities.fields import Column
from lookalike.entities.probabilities import Probabilities
from lookalike.entities.rivals import MOST_ODDS, RIVALRY, Rivalry, logistic
from lookalike.entities.scores import FieldComparison, ScoredPairs
from lookalike.items.sides import Sides

WEIGHTS = Path(__file__).parent / "words" / "evidence.csv"
FEATURES_OF = {1: FEATURES, 2: (*FEATURES, *RIVALRY)}  # by round
ONE, SEVERAL, SIBLINGS = "one field", "several fields", "siblings"  # columns of weights
FEW = {ONE: "one field, few matches", SEVERAL: "several fields, few matches"}
# The shares of matched records up to which FEW counts alone, and from which it does not count at all.
BOUNDS_FEW = {ONE: (0.25, 0.45), SEVERAL: (0.3, 0.6)}
BOUNDS_SIBLINGS = 0.15, 0.25  # the shares of siblings among near pairs at which SIBLINGS counts not at all, alone
NEAR, LEAST_NEAR = 0.5, 20  # the nearness of near pairs, and how many must be siblings for a share of 1
PAIRS_PER_TASK = 1 << 14
BASIS = "a comparison of each pair with its rivals"


def by_evidence(
    columns: Sequence[Column],
    comparisons: Sequence[FieldComparison],
    pairs: ScoredPairs,
    sides: Sides,
    seed: int,
    run: Run,
    known: Experience | None = None,
    storage: Storage = IN_MEMORY,
) -> Probabilities:
    """Return the probabilities of pairs of two tables; what is `known` from others is not counted anew."""
    with run.stage("evidence"):
        evidence = gather_evidence(columns, comparisons, pairs, sides, seed, run, known, storage)
    usual = ONE if len(columns) == 1 else SEVERAL
    odds = odds_of_pairs(evidence, usual, run, storage)
    if known is None:
        share = share_matched(pairs.left, pairs.right, odds, len(columns[0].values), sides)
        siblings = 0.0 if usual == ONE else between(share_of_siblings(evidence), *BOUNDS_SIBLINGS)
        known = replace(evidence.experience, few=1 - between(share, *BOUNDS_FEW[usual]), siblings=siblings)
    for column, part in ((FEW[usual], known.few), (SIBLINGS, known.siblings)):
        if part:
            odds = blended(odds, odds_of_pairs(evidence, column, run, storage), part, column, run, storage)
    found = storage.filled("probabilities", len(odds), np.float64, lambda part: logistic(odds[part]), run)
    return Probabilities(found, BASIS, experience=known)


def blended(odds: np.ndarray, others: np.ndarray, part: float, name: str, run: Run, storage: Storage) -> np.ndarray:
    """Return the log odds of pairs, of which those by other weights count as much as `part`."""
    return storage.filled(
        f"blended odds, {name}", len(odds), np.float64, lambda some: (1 - part) * odds[some] + part * others[some], run
    )


def share_matched(left: np.ndarray, right: np.ndarray, odds: np.ndarray, records: int, sides: Sides) -> float:
    """Return the share of records with a match, as expected from log odds, in the table where it is larger."""
    best = np.full(records, -np.inf)
    for side in (left, right):
        np.maximum.at(best, side, odds)
    likely = logistic(best)
    return max((float(likely[rows].mean()) for rows in sides.apart(np.arange(records)) if len(rows)), default=1.0)


def share_of_siblings(evidence: Evidence) -> float:
    """Return the share of siblings, such as W810 and W830, among the pairs that are near."""
    near = np.flatnonzero(evidence.near.values > NEAR)
    siblings = 0
    for part in slices(len(near), PAIRS_PER_TASK):
        siblings += int(np.count_nonzero(evidence.siblings(near[part])))
    return siblings / max(LEAST_NEAR, len(near))


def between(share: float, low: float, high: float) -> float:
    """Return 0 for a share up to `low`, 1 from `high` on, and between them how far it is.

    >>> [round(between(share, 0.3, 0.6), 2) for share in (0.1, 0.3, 0.45, 0.6, 0.9)]
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    return float(np.clip((share - low) / (high - low), 0, 1))


@cache
def weights_of(column: str, round: int) -> np.ndarray:
    """Return the weights of a round in one column: a constant, then one for each feature."""
    table = csv.read_csv(WEIGHTS)
    table = table.filter(pc.equal(table["round"], round))
    assert tuple(table["feature"].to_pylist()) == ("constant", *FEATURES_OF[round]), "weights are for other features"
    return np.asarray(table[column])


def odds_of_pairs(evidence: Evidence, column: str, run: Run, storage: Storage = IN_MEMORY) -> np.ndarray:
    """Return for each pair the log odds of a match, by one column of weights.

    The weights say little about pairs that have no field in common, since hardly any of those that they
    were learned from did: such pairs are treated as non-matches.
    """
    first, second = (weights_of(column, round) for round in FEATURES_OF)
    count = len(evidence.left)
    odds = storage.empty(f"first odds, {column}", count, np.float64)
    with run.stage("evidence", count) as tick:
        parts = slices(count, PAIRS_PER_TASK)
        for part, some in zip(parts, run.map(lambda part: odds_of(evidence.features(part), first), parts), strict=True):
            odds[part] = np.where(evidence.silent[part], -MOST_ODDS, some)
            tick(part.stop - part.start)
    rivalry = Rivalry.of(evidence.left, evidence.right, odds, len(evidence.texts.codes), evidence.once)
    near = rivalry.near()

    def work(part: slice) -> np.ndarray:
        rows = near[part]
        return odds_of(np.hstack([evidence.features(rows), rivalry.features(rows)]), second)

    found = storage.filled(f"odds, {column}", count, np.float64, lambda part: odds[part], run)
    with run.stage("evidence", len(near)) as tick:
        parts = slices(len(near), PAIRS_PER_TASK)
        for part, some in zip(parts, run.map(work, parts), strict=True):
            found[near[part]] = some
            tick(part.stop - part.start)
    return found


def odds_of(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the log odds of rows of features, at most MOST_ODDS in size; the first weight is a constant."""
    return np.asarray(np.clip(weights[0] + features @ weights[1:], -MOST_ODDS, MOST_ODDS))


@cache
def weights_digest() -> str:
    """Return a digest of the learned weights."""
    return blake2b(WEIGHTS.read_bytes(), digest_size=8).hexdigest()


def weights_table(fields: int) -> pa.Table:
    """Return the weight of each feature in both rounds: the usual ones, and those for few matches and siblings."""
    rows = [(round, name) for round, features in FEATURES_OF.items() for name in ("constant", *features)]
    rounds, names = zip(*rows, strict=True)
    usual = ONE if fields == 1 else SEVERAL
    columns = {"weight": usual, "weight_few_matches": FEW[usual]}
    if usual == SEVERAL:
        columns["weight_siblings"] = SIBLINGS
    weights = {
        name: np.concatenate([weights_of(column, round) for round in FEATURES_OF]) for name, column in columns.items()
    }
    return pa.table({"round": rounds, "feature": names, **weights})
