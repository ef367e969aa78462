"""Check probes: pairs at the threshold are found as often as planned, and no wrong pairs are."""

import numpy as np
import pytest

import lookalike as la
from tests.vector_samples import drawn, found, oracle, rates_of


@pytest.mark.slow
@pytest.mark.parametrize(("probes", "match"), [(1, False), (6, True), (30, False)])
@pytest.mark.parametrize(("measure", "threshold", "dimensions"), [("angle", 20, 30), ("euclidean", 2.0, 100)])
def test_pairs_at_the_threshold_are_found_with_probes(measure, threshold, dimensions, probes, match):
    """At least as often as the plan says, and hardly more often: its probability is an estimate."""
    rates, error, plan = rates_of(measure, threshold, 0.8, dimensions, match, probes=probes)
    assert plan.probes == probes
    assert plan.recall - 4 * error <= np.mean(rates) <= plan.recall + 4 * error + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["angle", "euclidean"])
@pytest.mark.parametrize("threshold", [0.5, 2.0, 60.0])
def test_probes_find_no_pair_that_is_not_near(measure, threshold):
    """This holds even if bands have too few rows for that many probes."""
    rows = drawn(11, 200)
    expected = oracle(measure, rows, threshold)
    for probes in (0, 1, 3, 17, 100):
        options = {"measure": measure, "threshold": threshold, "method": "lsh", "recall": 0.6, "probes": probes}
        one, two = (la.find_pairs(rows, threads=threads, **options) for threads in (1, 3))
        assert found(one) == found(two)
        assert one.stats["candidates"] == two.stats["candidates"]
        assert found(one).items() <= expected.items()
        matches = la.find_matches(rows[:90], rows[90:], **options)
        assert found(matches).items() <= oracle(measure, rows, threshold, 90).items()
        assert all(0 <= right < 110 for right in matches.right.tolist())
