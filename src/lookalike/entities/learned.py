"""Turn evidence into probabilities, by weights learned from tables whose matches are known.

The probability of a match is 1 / (1 + exp(-x)), where x is the sum of all FEATURES of a pair times
their weights: logistic regression. The weights are in `words/evidence.csv`, one column for records
compared by one field and one for several. `bench/learn.py` learns them, and measures how they do
on tables they were not learned from. That works because no feature is about a subject: leads over
rivals, and which words matter, are measured anew in every pair of tables.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from lookalike.core.run import Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.evidence import FEATURES, Evidence, Experience, gather_evidence
from lookalike.entities.fields import Column
from lookalike.entities.probabilities import Probabilities
from lookalike.entities.scores import FieldComparison, ScoredPairs
from lookalike.items.sides import Sides

WEIGHTS = Path(__file__).parent / "words" / "evidence.csv"
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
def weights_of(fields: int) -> np.ndarray:
    """Return the weights for this many fields: a constant, then one for each of FEATURES."""
    table = csv.read_csv(WEIGHTS)
    names = ("constant", *FEATURES)
    assert tuple(table["feature"].to_pylist()) == names, "the weights are for other features"
    return np.asarray(table["one field" if fields == 1 else "several fields"])


def probabilities(evidence: Evidence, fields: int, run: Run, storage: Storage = IN_MEMORY) -> np.ndarray:
    """Return for each pair the probability that it is a match."""
    weights = weights_of(fields)

    def work(part: slice) -> np.ndarray:
        return logistic(evidence.features(part), weights)

    count = len(evidence.left)
    found = storage.empty("probabilities", count, np.float64)
    with run.stage("evidence", count) as tick:
        parts = slices(count, PAIRS_PER_TASK)
        for part, some in zip(parts, run.map(work, parts), strict=True):
            found[part] = some
            tick(part.stop - part.start)
    return found


def logistic(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probabilities of rows of features; the first weight is a constant."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-(weights[0] + features @ weights[1:]))))


@cache
def weights_digest() -> str:
    """Return a digest of the learned weights."""
    return blake2b(WEIGHTS.read_bytes(), digest_size=8).hexdigest()


def weights_table(fields: int) -> pa.Table:
    """Return the weight of each feature."""
    return pa.table({"feature": ["constant", *FEATURES], "weight": weights_of(fields)})
