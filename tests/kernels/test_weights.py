"""Check kernels of sets with weights against their plain twins."""

import math
import random
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.items.sets import Sets
from lookalike.kernels.races import race_rows
from lookalike.kernels.sets import overlaps
from lookalike.kernels.weights import row_totals
from tests import reference as ref
from tests.kernel_samples import as_rows, drawn_sets, seeds, thresholds


def drawn_weights(rng, rows):
    """Return sets as dicts from element to weight, with some weights that many elements have."""
    weights = {x: rng.choice([1.0, 0.5, rng.expovariate(1), 1e-9, 1e9]) for row in rows for x in row}
    return [{x: weights[x] for x in row} for row in rows]


def arrays_of(sets):
    """Return the rows of dicts, and their weights."""
    indptr, elements = as_rows([list(one) for one in sets])
    return indptr, elements, np.array([weight for one in sets for weight in one.values()], np.float64)


@given(seeds, thresholds)
def test_shared_weights(rng, threshold):
    sets = drawn_weights(rng, drawn_sets(rng))
    indptr, elements, weights = arrays_of(sets)
    left, right = np.divmod(np.arange(len(sets) ** 2), len(sets))
    totals = row_totals(indptr, weights)
    found = overlaps(indptr, elements, (weights, totals), left, right, *threshold.as_integer_ratio())
    assert totals.tolist() == [ref.total_weight(one) for one in sets]
    assert found.tolist() == [ref.shared_weight(a, b, threshold) for a, b in product(sets, sets)]


def test_rows_keep_their_weights():
    sets = Sets(*as_rows([[1, 5], [], [2, 3, 9]]), weights=np.array([0.5, 2.0, 3.0, 4.0, 1.0]))
    some = sets.take(np.array([2, 0]))
    assert (some.weights.tolist(), some.totals.tolist()) == ([3.0, 4.0, 1.0, 0.5, 2.0], [8.0, 2.5])
    assert sets.totals.tolist() == [2.5, 0.0, 8.0]


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([1, 2, 7, 16]), st.integers(0, ref.ALL))
def test_races(rng, bins, seed):
    """The first arrivals are those among many arrivals of each element, whatever the horizon was."""
    rows = [sorted({rng.getrandbits(64) for _ in range(rng.randrange(6))}) for _ in range(4)]
    sets = [{x: rng.choice([1.0, 0.3, 5.0]) for x in row} for row in rows]
    found = race_rows(*arrays_of(sets), np.uint64(seed), bins)
    for times, one in zip(found.tolist(), sets, strict=True):
        assert all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(times, ref.race(one, seed, bins), strict=True))


def test_arrivals_are_exponential():
    """In each bin, the first arrival has the mean and the variance of an exponential time."""
    rng = random.Random(3)
    weights = {rng.getrandbits(63): rng.choice([0.2, 1.0, 4.0]) for _ in range(50)}
    rows = dict(sorted(weights.items()))
    times = np.concatenate([race_rows(*arrays_of([rows]), np.uint64(seed), 50)[0] for seed in range(400)])
    scaled = times * sum(weights.values())
    assert abs(scaled.mean() - 1) < 4 / len(scaled) ** 0.5
    assert abs(scaled.var() - 1) < 4 * (8 / len(scaled)) ** 0.5
