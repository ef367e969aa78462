"""Check the k nearest against brute force."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.measures import MEASURES
from lookalike.search.audit import Audit
from tests import reference as ref
from tests.vector_samples import EXACT, SINGLE, THRESHOLDS, drawn_bits, sample_of


def check_nearest(measure, left, right, k, threshold=None, **options):
    """Check that the pairs are those of brute force, nearest first; ties go to the first item."""
    pairs = la.find_matches(left, right, k=k, measure=measure, threshold=threshold, run=SINGLE, **options)
    rows = np.concatenate((left, right))
    sign = -1 if measure == "cosine_similarity" else 1
    farthest = math.inf if threshold is None else sign * threshold
    expected = []
    for i in range(len(left)):
        to = np.arange(len(left), len(rows))
        values = (sign * MEASURES[measure].rows(rows, np.full(len(to), i), to)).tolist()
        expected += [(i, j, sign * v) for j, v in ref.first_k(values, k, farthest)]
    assert list(pairs) == expected
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize("method", ["brute", "exact", "auto"])
@pytest.mark.parametrize("measure", THRESHOLDS)
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 60), st.sampled_from([1, 2, 5, 100]))
def test_nearest_neighbours(measure, method, seed, ones, others, k):
    rows = sample_of(measure, seed, ones + others)
    for threshold in (None, THRESHOLDS[measure]):
        check_nearest(measure, rows[:ones], rows[ones:], k, threshold, method=method, recall=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["euclidean", "angle", "cosine_similarity"])
def test_neighbours_that_are_equally_near(measure):
    """The points form a grid, each several times."""
    grid = np.array(list(product([-1.0, 0.0, 1.0], repeat=2)) * 3)
    grid = grid[grid.any(axis=1)]
    for k in (1, 3, 4, 5, 11, 24, 25):
        check_nearest(measure, grid[:10], grid, k)
        check_nearest(measure, grid, grid[::-1], k)


def test_codes_that_are_equally_near():
    codes = np.array(list(product([0, 1], repeat=4)) * 2)
    for k, threshold in product((1, 2, 6, 40), (None, 0, 1, 4)):
        check_nearest("hamming", codes, codes, k, threshold)


@pytest.mark.slow
@pytest.mark.parametrize("measure", THRESHOLDS)
def test_neighbours_among_many(measure):
    """There are too many items to measure all distances before searching."""
    rows = sample_of(measure, 2, 3060)
    if measure == "euclidean":
        rows[::7] *= 50  # some must look much farther than others
    check_nearest(measure, rows[:60], rows[60:], 5, method="brute")


def test_neighbours_far_from_the_origin():
    rng = np.random.default_rng(0)
    rows = 1e6 + 1e-3 * rng.normal(size=(200, 5))
    check_nearest("euclidean", rows[:50], rows[50:], 3, method="brute")


@pytest.mark.parametrize("measure", THRESHOLDS)
def test_neighbours_by_bands(measure):
    """True neighbours may be missing; those found are measured, at most k, and nearest first."""
    rows = sample_of(measure, 6, 600)
    true = check_nearest(measure, rows[:100], rows[100:], 3, method="brute")
    pairs = la.find_matches(rows[:100], rows[100:], k=3, measure=measure, method="lsh", recall=0.9, audit=100)
    sign = -1 if measure == "cosine_similarity" else 1
    at = pairs.left, pairs.right + 100
    assert pairs.values.tolist() == MEASURES[measure].rows(rows, *at).tolist()
    ranked = list(zip(pairs.left.tolist(), (sign * pairs.values).tolist(), pairs.right.tolist(), strict=True))
    assert ranked == sorted(ranked)
    assert np.bincount(pairs.left).max() <= 3
    last = (sign * true.values).reshape(100, 3)[:, -1]
    near = np.count_nonzero(sign * pairs.values <= last[pairs.left])
    assert pairs.audit == Audit(100, 300, near, nearest=3)
    assert near > 200


@pytest.mark.parametrize("options", EXACT, ids=str)
def test_exact_methods_find_all_neighbours_of_codes_too(options):
    """Even for codes that must look farther than nine of ten, where a split would be cheap."""
    for seed in range(8):
        codes = drawn_bits(seed, 11)
        check_nearest("hamming", codes[:10], codes[10:], 100, **options)


def test_k_out_of_range():
    for k in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match=r"^k must be an integer of at least 1; got"):
            la.find_matches(np.eye(2), np.eye(2), k=k, measure="angle")
