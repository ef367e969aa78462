"""Check audits: their counts against brute force."""

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import lookalike as la
from lookalike import Sets
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.core.statistics import wilson
from lookalike.search.audit import Audit, audit
from lookalike.search.fitting import fit
from lookalike.search.intake import take_in_sets
from lookalike.search.plan import make_plan
from tests import reference as ref
from tests.vector_samples import THRESHOLDS, WAYS, drawn, oracle, sample_of


def test_result():
    result = Audit(sampled=1000, true=2000, found=1980)
    assert result.recall == 0.99
    assert result.interval == wilson(1980, 2000)
    assert result.line().startswith("audit: 1,980 of 2,000 true pairs of 1,000 sampled items found: ")
    assert result.line().endswith(": recall 0.9900 (95% interval 0.9846 to 0.9935)")


def test_result_of_nothing():
    result = Audit(sampled=10, true=0, found=0)
    assert result.recall == 1.0
    assert result.interval == (0.0, 1.0)
    assert result.line() == "audit: none of 10 sampled items has a similar item, so there is no recall to measure"


# --- counts ---


def drawn_sets(rng, n):
    return [set(rng.sample(range(9), rng.randrange(9))) for _ in range(n)]


def take_in(sides, threshold="2/3"):
    plan = make_plan(threshold=threshold, recall=1.0)
    return take_in_sets([Sets.of(side) for side in sides], partial(fit, plan), Run(1))


def audited(collection, size):
    """Audit a run that found the pairs with an even sum; return that and the true pairs it saw."""
    seen = []

    def found(left, right):
        seen.extend(zip(left.tolist(), right.tolist(), strict=True))
        return (left + right) % 2 == 0

    result = audit(collection, size, found, Run(1))
    assert len(seen) == len(set(seen)) == result.true
    assert result.found == sum((i + j) % 2 == 0 for i, j in seen)
    return result, set(seen)


@pytest.mark.parametrize("seed", range(20))
def test_audit_of_everything_sees_the_true_pairs(seed):
    sets = drawn_sets(random.Random(seed), 40)
    result, seen = audited(take_in([sets]), 40)
    assert seen == ref.similar_pairs(sets, Fraction(2, 3)).keys()
    assert result.sampled == sum(map(bool, sets))


@pytest.mark.parametrize("split", [0, 1, 20, 39, 40])
def test_audit_of_two_collections_sees_the_pairs_between_them(split):
    sets = drawn_sets(random.Random(1), 40)
    _, seen = audited(take_in([sets[:split], sets[split:]]), 40)
    assert seen == ref.similar_pairs(sets, Fraction(2, 3), split).keys()


@pytest.mark.parametrize("seed", range(20))
def test_audit_of_a_sample_sees_all_pairs_of_the_sample(seed):
    """As many items as were sampled, or more, have all their pairs seen; no other pair is seen."""
    sets = [set(range(2 * i, 2 * i + 10)) for i in range(60)]  # each is similar to its neighbours
    true = ref.similar_pairs(sets, Fraction(2, 3)).keys()
    collection = take_in([random.Random(seed).sample(sets, 60)])
    order = [next(i for i in range(60) if 2 * i == min(one)) for one in random.Random(seed).sample(sets, 60)]
    result, seen = audited(collection, 12)
    neighbours = {tuple(sorted((order[i], order[j]))) for i, j in seen}
    whole = [i for i in range(60) if {pair for pair in true if i in pair} <= neighbours]
    assert result.sampled == 12 <= len(whole)
    assert neighbours == {pair for pair in true if set(pair) & set(whole)}


def test_audit_of_a_sample_is_unbiased():
    """Over many seeds, half of the true pairs are found, up to four standard errors."""
    sets = [{i // 2 * 10 + x for x in range(5)} for i in range(400)]  # 200 pairs of equal sets
    collection = take_in([sets])
    found = true = 0
    for seed in range(30):
        collection.plan = replace(collection.plan, seed=seed)
        result = audit(collection, 40, lambda left, right: left % 4 == 0, Run(1))
        found, true = found + result.found, true + result.true
    assert true > 1000
    assert abs(found / true - 0.5) < 4 * (0.25 / true) ** 0.5


@pytest.mark.parametrize("sets", [[], [set(), set()]])
def test_audit_of_nothing(sets):
    assert audit(take_in([sets]), 10, lambda left, right: np.zeros(len(left), bool), Run(1)) == Audit(0, 0, 0)


def test_audit_of_no_items_is_an_error():
    with pytest.raises(UsageError, match=r"^audit must be an integer of at least 1; got 0"):
        audit(take_in([[{1}]]), 0, lambda left, right: left == right, Run(1))


# --- audits of searches ---


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "method"), WAYS)
def test_an_audit_of_all_items_counts_all_pairs(measure, method):
    rows = sample_of(measure, 12, 150)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], "method": method, "recall": 0.5}
    expected = oracle(measure, rows, THRESHOLDS[measure])
    pairs = la.find_pairs(rows, audit=1000, **common)
    assert pairs.audit == Audit(150, len(expected), len(pairs))
    matches = la.find_matches(rows[:60], rows[60:], audit=150, **common)
    assert matches.audit == Audit(150, len(oracle(measure, rows, THRESHOLDS[measure], 60)), len(matches))
    few = la.find_matches(rows[:60], rows[60:], audit=150, k=1, **common)
    assert few.audit == matches.audit  # with a threshold, all near pairs count
    groups = la.find_clusters(rows, audit=150, **common)
    joined = sum(groups.label[i] == groups.label[j] for i, j in expected)
    assert groups.audit == Audit(150, len(expected), joined)
    result = la.dedup(rows, audit=150, **common)
    handled = sum(not (result.keep[i] and result.keep[j]) for i, j in expected)
    assert result.audit == Audit(150, len(expected), handled)
    assert method == "lsh" or pairs.audit.recall == groups.audit.recall == result.audit.recall == 1


def test_an_audit_of_some_items():
    """It counts the pairs that involve one of them, and reports them in one line."""
    rows = drawn(13, 200)
    pairs = la.find_pairs(rows, measure="euclidean", threshold=1.2, method="brute", audit=20)
    assert pairs.audit.sampled == 20
    assert 0 < pairs.audit.found == pairs.audit.true < len(pairs)
    again = la.find_pairs(rows, measure="euclidean", threshold=1.2, method="brute", audit=20)
    assert again.audit == pairs.audit
    nearest = la.find_matches(rows[:50], rows[50:], measure="euclidean", k=4, audit=20)
    assert nearest.audit == Audit(20, 80, 80, nearest=4)
    assert nearest.audit.line().startswith("audit: 80 of 80 of the 4 nearest of 20 sampled items found: recall 1.0000")
    fewer = la.find_matches(rows[:50], rows[50:53], measure="euclidean", k=4, audit=50)
    assert fewer.audit == Audit(50, 150, 150, nearest=4)
