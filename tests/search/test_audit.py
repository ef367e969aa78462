"""Measured recall: its interval, and its counts against brute force."""

import random
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from lookalike import Sets
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.core.statistics import wilson
from lookalike.search.audit import Audit, audit
from lookalike.search.collection import take_in_sets
from lookalike.search.plan import fit, make_plan
from tests import reference as ref


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # these four: Newcombe, Statistics in Medicine 17 (1998), table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (99, 100, 0.9455, 0.9982),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=6e-5)


def test_wilson_solves_its_equation():
    """The bounds are the p that a normal test just rejects: (s/n - p)**2 = z**2 p (1 - p) / n."""
    for trials in (1, 7, 100, 10**6):
        for successes in (0, trials // 3, trials):
            for p in wilson(successes, trials, z=2.5):
                square = 2.5**2 * p * (1 - p) / trials
                assert (successes / trials - p) ** 2 == pytest.approx(square, abs=1e-12)


def test_wilson_stays_within_bounds():
    for n in (1, 3, 10**9):
        for successes in (0, n):
            low, high = wilson(successes, n)
            assert 0 <= low < high <= 1


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
    assert result.line() == "audit: none of 10 sampled items has a similar one; no recall to measure"


# --- counts ---


def drawn_sets(rng, n):
    return [set(rng.sample(range(9), rng.randrange(9))) for _ in range(n)]


def take_in(sides, threshold="2/3"):
    plan = make_plan(threshold=threshold, recall=1.0)
    return take_in_sets([Sets.of(side) for side in sides], partial(fit, plan), Run(1))


def audited(collection, size):
    """The audit of a run that found the pairs of an even sum of numbers, and the true pairs it saw."""
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
    """There are as many items as were sampled of which it has seen every pair; and it has seen no others."""
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
    """Over many seeds the share found is that of all pairs: half of them, up to four standard errors."""
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
