"""Turn evidence into probabilities, by weights learned from tables whose matches are known.

The log odds of a match are the sum of all FEATURES of a pair times their weights: logistic
regression. A second round adds what is known of the odds of the pair's rivals (RIVALRY), with other
weights. They are in `words/evidence.csv`, one column for records compared by one field and one for
several. `bench/learn.py` learns them, and measures how they do on tables they were not learned
from. That works because no feature is about a subject: leads over rivals, and which words matter,
are measured anew in every pair of tables.
"""

from collections.abc import Sequence
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
    return Probabilities(probabilities(evidence, len(columns), run, storage), BASIS, experience=evidence.experience)


@cache
def weights_of(fields: int, round: int) -> np.ndarray:
    """Return the weights of a round for this many fields: a constant, then one for each feature."""
    table = csv.read_csv(WEIGHTS)
    table = table.filter(pc.equal(table["round"], round))
    assert tuple(table["feature"].to_pylist()) == ("constant", *FEATURES_OF[round]), "weights are for other features"
    return np.asarray(table["one field" if fields == 1 else "several fields"])


def probabilities(evidence: Evidence, fields: int, run: Run, storage: Storage = IN_MEMORY) -> np.ndarray:
    """Return for each pair the probability that it is a match.

    The weights say little about pairs that have no field in common, since hardly any of those that they
    were learned from did: such pairs are treated as non-matches.
    """
    first, second = (weights_of(fields, round) for round in FEATURES_OF)
    count = len(evidence.left)
    odds = storage.empty("first odds", count, np.float64)
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

    found = storage.filled("probabilities", count, np.float64, lambda part: logistic(odds[part]), run)
    with run.stage("evidence", len(near)) as tick:
        parts = slices(len(near), PAIRS_PER_TASK)
        for part, some in zip(parts, run.map(work, parts), strict=True):
            found[near[part]] = logistic(some)
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
    """Return the weight of each feature in both rounds."""
    rows = [(round, name) for round, features in FEATURES_OF.items() for name in ("constant", *features)]
    rounds, names = zip(*rows, strict=True)
    weights = np.concatenate([weights_of(fields, round) for round in FEATURES_OF])
    return pa.table({"round": rounds, "feature": names, "weight": weights})
