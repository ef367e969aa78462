"""Check the k nearest against brute force."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.measures import MEASURES
from lookalike.measures.table import TABLED
from lookalike.search.audit import Audit
from lookalike.search.nearest import first_k
from tests import reference as ref
from tests.vector_samples import EXACT, SINGLE, THRESHOLDS, drawn_bits, found, sample_of


def check_nearest(measure, left, right, k, threshold=None, **options):
    """Check that the pairs are those of brute force, nearest first; ties go to the first item."""
    pairs = la.find_matches(left, right, k=k, measure=measure, threshold=threshold, run=SINGLE, **options)
    rows = np.concatenate((left, right))
    sign = -1 if MEASURES[measure].is_similarity else 1
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
@pytest.mark.parametrize("measure", ["euclidean", "angle", "cosine_similarity", "inner_product"])
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


@pytest.mark.parametrize("measure", TABLED)
def test_neighbours_by_bands(measure):
    """True neighbours may be missing; those found are measured, at most k, and nearest first."""
    rows = sample_of(measure, 6, 600)
    true = check_nearest(measure, rows[:100], rows[100:], 3, method="brute")
    pairs = la.find_matches(rows[:100], rows[100:], k=3, measure=measure, method="lsh", recall=0.9, audit=100)
    sign = -1 if MEASURES[measure].is_similarity else 1
    at = pairs.left, pairs.right + 100
    assert pairs.values.tolist() == MEASURES[measure].rows(rows, *at).tolist()
    ranked = list(zip(pairs.left.tolist(), (sign * pairs.values).tolist(), pairs.right.tolist(), strict=True))
    assert ranked == sorted(ranked)
    assert np.bincount(pairs.left).max() <= 3
    last = (sign * true.values).reshape(100, 3)[:, -1]
    near = np.count_nonzero(sign * pairs.values <= last[pairs.left])
    assert pairs.audit == Audit(100, 300, near, nearest=3)
    assert near > 200


@pytest.mark.parametrize("measure", ["angle", "euclidean"])
def test_the_recall_of_bands_counts_neighbours_that_are_far(measure):
    """One query in ten is far from all others, so that a bound which suits nine of ten would miss its neighbours."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 12))
    base = np.repeat(centres, 4, axis=0) + 0.1 * rng.normal(size=(800, 12))
    queries = centres + 0.1 * rng.normal(size=(200, 12))
    queries[::10] = rng.normal(size=(20, 12))
    common = {"measure": measure, "k": 3, "run": SINGLE}
    true = set(found(la.find_matches(queries, base, method="brute", **common)))
    for recall in (0.9, 0.99):
        shares = []
        for seed in range(4):
            pairs = la.find_matches(queries, base, method="lsh", recall=recall, seed=seed, **common)
            assert pairs.plan.wanted == recall
            shares.append(len(true & set(found(pairs))) / len(true))
        assert np.mean(shares) > recall - 0.01


@pytest.mark.parametrize("options", EXACT, ids=str)
def test_exact_methods_find_all_neighbours_of_codes_too(options):
    """Even for codes that must look farther than most, where a split would be cheap."""
    for seed in range(8):
        codes = drawn_bits(seed, 11)
        check_nearest("hamming", codes[:10], codes[10:], 100, **options)


def test_k_out_of_range():
    for k in (0, -1, 1.5, "2"):
        with pytest.raises(UsageError, match=r"^k must be an integer of at least 1; got"):
            la.find_matches(np.eye(2), np.eye(2), k=k, measure="angle")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 3))), st.integers(1, 4), st.booleans())
def test_the_best_pairs_in_parts(pairs, k, alike):
    """Threads choose among the pairs of some items each; a part can have none."""
    left, right, values = np.array(pairs, np.int64).reshape(-1, 3).T
    whole = first_k(left, right, values, k, alike)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lookalike.search.nearest.PART", 3)
        assert first_k(left, right, values, k, alike, Run(2)).tolist() == whole.tolist()
    best = sorted(range(len(pairs)), key=lambda at: (left[at], -values[at] if alike else values[at], right[at], at))
    kept = [at for place, at in enumerate(best) if [left[other] for other in best[:place]].count(left[at]) < k]
    assert whole.tolist() == kept


# --- within one collection ---


def neighbours(measure, rows, k):
    """Return (item, neighbour, value) of the k nearest others of each item, by brute force."""
    sign = -1 if MEASURES[measure].is_similarity else 1
    expected = []
    for i in range(len(rows)):
        others = np.array([j for j in range(len(rows)) if j != i], np.int64)
        values = (sign * MEASURES[measure].rows(rows, np.full(len(others), i), others)).tolist()
        expected += [(i, int(others[at]), sign * value) for at, value in ref.first_k(values, k, math.inf)]
    return expected


@pytest.mark.parametrize("measure", ["euclidean", "angle", "cosine_similarity", "inner_product"])
@pytest.mark.parametrize(("items", "k"), [(1, 1), (2, 3), (40, 1), (40, 7), (700, 3)])
def test_neighbours_within_one_collection(measure, items, k):
    rows = sample_of(measure, 3, items)
    pairs = la.find_pairs(rows, k=k, measure=measure, run=SINGLE, recall=1)
    assert list(pairs) == neighbours(measure, rows, k)
    assert pairs.right_ids is None
    assert pairs.stats["items"] == items
    assert pairs.stats["nearest"] == k


def test_neighbours_of_identical_items():
    """An item is not its own neighbour, but its copies are."""
    rows = np.array([[1.0, 0], [1, 0], [0, 1], [1, 0], [0, 1]])
    pairs = la.find_pairs(rows, k=2, measure="euclidean", run=SINGLE)
    assert list(pairs) == neighbours("euclidean", rows, 2)
    assert pairs[:2] == [(0, 1, 0.0), (0, 3, 0.0)]
    assert pairs.stats["identical"] == 3


def test_neighbours_of_codes():
    codes = la.Bits.of(["0000", "0001", "0111", "1111"], ids=list("wxyz"))
    pairs = la.find_pairs(codes, k=1, measure="hamming", run=SINGLE)
    assert list(pairs) == [("w", "x", 1), ("x", "w", 1), ("y", "z", 1), ("z", "y", 1)]
    assert pairs.explain(0).right_only == [3]


def test_neighbours_of_sets_and_texts():
    """The threshold bounds them; an item without a similar one has no neighbour."""
    sets = [{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {1, 2, 3}, {9}]
    pairs = la.find_pairs(sets, k=1, threshold=0.5, run=SINGLE)
    assert list(pairs) == [(0, 1, 0.8), (1, 0, 0.8), (2, 0, 0.75)]
    pairs = la.find_pairs(sets, k=1, threshold=0.5, measure="containment", run=SINGLE)
    assert list(pairs) == [(0, 1, 1.0), (1, 0, 0.8), (2, 0, 1.0)]
    texts = ["a b c d e f", "a b c d e g", "a b c d x y"]
    pairs = la.find_pairs(texts, k=1, threshold=0.3, shingles="word:1", run=SINGLE)
    assert list(pairs) == [(0, 1, 5 / 7), (1, 0, 5 / 7), (2, 0, 0.5)]


def test_neighbours_within_a_threshold():
    rows = sample_of("angle", 3, 60)
    every = neighbours("angle", rows, 60)
    expected = [row for row in every if row[2] <= 20]
    nearest = [row for at, row in enumerate(expected) if [r[0] for r in expected[:at]].count(row[0]) < 2]
    pairs = la.find_pairs(rows, k=2, threshold=20, measure="angle", audit=60, recall=1, run=SINGLE)
    assert list(pairs) == nearest
    assert pairs.audit.found == pairs.audit.true


def test_an_audit_of_neighbours_does_not_count_the_item_itself():
    rows = sample_of("angle", 3, 50)
    pairs = la.find_pairs(rows, k=4, measure="angle", audit=10, run=SINGLE)
    assert pairs.audit == Audit(10, 40, 40, nearest=4)
    few = la.find_pairs(rows[:3], k=4, measure="angle", audit=3, run=SINGLE)
    assert few.audit == Audit(3, 6, 6, nearest=4)


@pytest.mark.slow
def test_the_recall_of_neighbours_by_tables():
    """By bands, most of the true neighbours are found, as the audit measures."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(3000, 40))
    rows = np.concatenate([centres, centres + 0.05 * rng.normal(size=centres.shape)])
    pairs = la.find_pairs(rows, k=1, measure="angle", method="lsh", recall=0.95, audit=500)
    assert pairs.plan.bands is not None
    found = {(left, right) for left, right, _ in pairs}
    true = {(at, (at + 3000) % 6000) for at in range(6000)}
    assert len(found & true) / 6000 >= 0.9
    assert pairs.audit.found / pairs.audit.true == pytest.approx(len(found & true) / 6000, abs=0.03)
