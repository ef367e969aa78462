"""Check the scores of results against plain definitions on sets of pairs and lists of clusters."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.statistics import wilson
from lookalike.results.evaluation import Agreement, clusters_evaluated, pairs_evaluated

SCORED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=25)
LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


def scores(found, truth):
    """Return precision, recall and F1 of a set of pairs; nan where there is nothing to count."""
    both = len(found & truth)
    precision = both / len(found) if found else np.nan
    recall = both / len(truth) if truth else np.nan
    harmonic = 2 * precision * recall / (precision + recall) if both else 0.0 if found or truth else np.nan
    return precision, recall, harmonic


def ranked(scored, missed=0, by="similarity", **more):
    """Evaluate pairs, given the value of each and whether it is true, and how many true pairs are not listed."""
    values = np.array([value for value, _ in scored], float)
    hits = np.array([true for _, true in scored], bool)
    options = {"probability": None, "threshold": None, **more}
    return pairs_evaluated(hits, int(hits.sum()) + missed, by, values, options["probability"], options["threshold"], [])


@given(SCORED, st.integers(0, 3), st.sampled_from(["similarity", "distance"]))
def test_the_curve_at_each_value(scored, missed, by):
    """Each row has the scores of the pairs that are at least as good, those of equal value together."""
    truth = {at for at, (_, true) in enumerate(scored) if true} | {-one for one in range(1, missed + 1)}
    curve = ranked(scored, missed, by).curve().to_pylist()
    better = {"similarity": lambda a, b: a >= b, "distance": lambda a, b: a <= b}[by]
    assert [row["threshold"] for row in curve] == sorted({value for value, _ in scored}, reverse=by == "similarity")
    for row in curve:
        kept = {at for at, (value, _) in enumerate(scored) if better(value, row["threshold"])}
        assert (row["pairs"], row["true"]) == (len(kept), len(kept & truth))
        expected = scores(kept, truth)
        assert (row["precision"], row["recall"], row["f1"]) == pytest.approx(expected, nan_ok=True)
        assert (row["recall_low"], row["recall_high"]) == wilson(row["true"], len(truth))


@given(SCORED, st.integers(0, 3), st.integers(0, 6))
def test_a_threshold_counts_only_the_pairs_that_reach_it(scored, missed, threshold):
    found = ranked(scored, missed, threshold=threshold, probability=np.array([value / 5 for value, _ in scored]))
    truth = {at for at, (_, true) in enumerate(scored) if true} | {-one for one in range(1, missed + 1)}
    kept = {at for at, (value, _) in enumerate(scored) if value >= threshold}
    assert (found.precision, found.recall, found.f1) == pytest.approx(scores(kept, truth), nan_ok=True)
    assert found.expected == pytest.approx(sum(scored[at][0] / 5 for at in kept))
    assert len(found.curve()) == len({value for value, _ in scored})


def test_a_long_curve_is_thinned_but_keeps_its_best_row():
    rng = np.random.default_rng(1)
    values = rng.permutation(5000) / 5000
    scored = list(zip(values, values > 0.317, strict=True))
    found = ranked(scored)
    every, some = found.curve(5000).to_pylist(), found.curve(20).to_pylist()
    assert len(every) == 5000
    assert 15 <= len(some) <= 20
    assert [row for row in every if row in some] == some
    assert some[-1] == every[-1]
    assert max(row["f1"] for row in some) == max(row["f1"] for row in every) == 1
    assert np.diff([row["pairs"] for row in some]).max() < 600


@given(LABELS)
def test_clusters(labels):
    """Pairs within clusters, and B-cubed scores item by item, by their definitions."""
    result, truth = ([pair[side] for pair in labels] for side in (0, 1))
    found = clusters_evaluated(np.array(result), np.array(truth))
    items = range(len(labels))
    within = [{pair for pair in combinations(items, 2) if side[pair[0]] == side[pair[1]]} for side in (result, truth)]
    assert (found.found, found.truth, found.both) == (len(within[0]), len(within[1]), len(within[0] & within[1]))
    assert (found.precision, found.recall, found.f1) == pytest.approx(scores(*within), nan_ok=True)
    precisions, recalls = [], []
    for item in items:
        mine, others = ({at for at in items if side[at] == side[item]} for side in (result, truth))
        precisions.append(len(mine & others) / len(mine))
        recalls.append(len(mine & others) / len(others))
    assert found.bcubed.items == len(labels)
    assert found.bcubed.precision == pytest.approx(np.mean(precisions))
    assert found.bcubed.recall == pytest.approx(np.mean(recalls))
    both = np.mean(precisions), np.mean(recalls)
    assert found.bcubed.f1 == pytest.approx(2 * both[0] * both[1] / sum(both))


def test_b_cubed_of_a_known_example():
    """Two clusters of 3 and 2 against one of 5: each item's precision is 1, its recall 3/5 or 2/5."""
    found = clusters_evaluated(np.array([0, 0, 0, 1, 1]), np.zeros(5, np.int64))
    assert found.bcubed.precision == 1
    assert found.bcubed.recall == pytest.approx((3 * 3 / 5 + 2 * 2 / 5) / 5)
    assert (found.precision, found.recall) == (1, 4 / 10)


@given(st.lists(st.tuples(st.sampled_from([0, 0.05, 0.1, 0.3, 0.5, 0.93, 0.99, 0.995, 1]), st.booleans()), max_size=30))
def test_calibration(stated):
    probability = np.array([one for one, _ in stated])
    groups = ranked(stated, by="probability", probability=probability).calibration().to_pylist()
    assert sum(row["pairs"] for row in groups) == len(stated)
    for row in groups:
        low = -1 if row["from"] == 0 else row["from"]
        inside = [(one, true) for one, true in stated if low < one <= row["to"]]
        true = sum(true for _, true in inside)
        assert (row["pairs"], row["true"]) == (len(inside), true)
        assert row["stated"] == pytest.approx(np.mean([one for one, _ in inside]))
        assert row["actual"] == true / len(inside)
        assert (row["low"], row["high"]) == wilson(true, len(inside))


def test_the_interval_of_f1_holds_it_as_often_as_it_says():
    """Over many samples of pairs that are found or true or both with known probabilities."""
    rng = np.random.default_rng(1)
    shares = [0.6, 0.25, 0.15]  # both; found only; true only
    expected = 2 * 0.6 / (2 * 0.6 + 0.25 + 0.15)
    inside = 0
    for both, wrong, missed in rng.multinomial(200, shares, 2000):
        low, high = Agreement(both + wrong, both + missed, both).f1_interval
        inside += low <= expected <= high
    assert 0.935 < inside / 2000 < 0.965


def test_nothing_found_and_nothing_true():
    nothing = ranked([])
    assert np.isnan([nothing.precision, nothing.recall, nothing.f1]).all()
    assert len(nothing.curve()) == len(nothing.calibration()) == 0
    assert nothing.lines()[1] == "precision: none, since there are no pairs"
    assert ranked([], missed=3).recall == 0
    assert np.isnan(ranked([], missed=3).precision)
    clusters = clusters_evaluated(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (clusters.found, clusters.bcubed.items) == (0, 0)


def test_lines_compare_the_stated_with_the_actual_number():
    found = ranked([(1, True), (1, True), (1, False)], by="probability", probability=np.array([0.5, 0.5, 0.5]))
    assert found.lines()[4] == (
        "stated: 1.5 of the pairs are true, by their probabilities; actual: 2 (25.0% more than stated)"
    )
    fewer = ranked([(1, True), (1, False)], by="probability", probability=np.array([0.9, 0.9]))
    assert fewer.lines()[4].endswith("actual: 1 (80.0% fewer than stated)")


def test_drawings():
    found = ranked([(0.9, True), (0.6, False), (0.6, True)], 1, "probability", probability=np.array([0.9, 0.6, 0.6]))
    axes = found.plot()
    assert axes.get_xlabel() == "minimum probability"
    lines = {line.get_label(): line for line in axes.lines}
    assert lines["precision"].get_ydata().tolist() == [1, 2 / 3]
    assert lines["recall"].get_ydata().tolist() == [1 / 3, 2 / 3]
    axes = found.plot_calibration()
    dots = next(one for one in axes.collections if one.get_label() == "actual").get_offsets()
    assert dots.tolist() == [[0.6, 0.5], [0.9, 1]]
