"""Check which pairs and groups are chosen for a page, and the bars of its histograms."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.entities.describe import of_resolution
from lookalike.report.choosing import NEAR, SPREAD, choose, histogram, largest_groups, round_steps, size_bars
from lookalike.report.describe import of_pairs
from lookalike.report.finding import Finding, Values
from tests.reports import values

# --- bars, pairs and groups ---


def test_histogram():
    found = histogram(values([0.7, 0.7, 0.71, 1.0], cut=0.7, probability=lambda x: x**2))
    assert sum(bar.pairs for bar in found.bars) == 4
    assert [(bar.low, bar.pairs) for bar in found.bars] == [(0.7, 3), (0.975, 1)]
    assert (found.low, found.high, found.log) == (0, 1, False)
    assert found.curve[0] == (0, 0)
    assert found.curve[-1] == (1, 1)
    assert found.ticks == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert found.at(0.25) == 25
    steep = histogram(values([0.1, 0.3, *[1.0] * 500]))
    assert steep.log
    assert [name for _, name in steep.heights] == ["1", "10", "100"]
    whole = histogram(values(np.array([0, 1, 1, 3]), rising=False, cut=3.0))
    assert [(bar.low + 0.5, bar.pairs) for bar in whole.bars] == [(0, 1), (1, 2), (3, 1)]
    far = histogram(values([2.0, 8.0], rising=False, cut=8.0))
    assert far.low == 0
    assert far.high == 10


@pytest.mark.parametrize("size", [1e-160, 1e-150, 1.0, 1e150, 1e180])
def test_bars_of_similarities_without_limits(size):
    """They can be tiny, negative, and infinite."""
    rows = size * np.random.default_rng(0).normal(size=(60, 4))
    for options in ({"threshold": 0}, {"threshold": -1e308}, {"k": 2}):
        found = of_pairs(la.find_pairs(rows, measure="dot", **options)).values
        assert found.word == "inner product"
        drawn = histogram(found)
        assert sum(bar.pairs for bar in drawn.bars) == len(found) > 60
        assert np.isfinite([drawn.low, drawn.high]).all()
        assert len({one.pair for one in choose(found)}) == min(len(found), NEAR + SPREAD)
    if size == 1e-150:
        assert len(drawn.bars) > 5
    below = of_pairs(la.find_pairs([[1.0, 0], [-2, 0.1], [0.5, -3]], measure="dot", threshold=-5)).values
    assert (histogram(below).low, round(histogram(below).high, 6)) == (-5, 0.525)


@given(st.floats(-100, 100), st.floats(0.01, 100), st.integers(2, 9))
def test_round_steps(low, size, most):
    steps = round_steps(low, low + size, most)
    assert 1 <= len(steps) <= most + 1
    assert all(low - 1e-9 * size <= step <= low + size * (1 + 1e-9) for step in steps)


def test_pairs_near_the_threshold_and_of_all_values():
    rng = np.random.default_rng(2)
    some = np.concatenate((rng.uniform(0.8, 0.81, 5000), rng.uniform(0.81, 0.99, 300), np.ones(20_000)))
    found = values(rng.permutation(some), cut=0.8)
    chosen = choose(found)
    assert [one.near for one in chosen] == [True] * NEAR + [False] * SPREAD
    assert len({one.pair for one in chosen}) == NEAR + SPREAD
    near = found.values[[one.pair for one in chosen[:NEAR]]]
    assert (np.diff(near) >= 0).all()
    assert near.max() == np.sort(some)[NEAR - 1]
    spread = found.values[[one.pair for one in chosen[NEAR:]]]
    counts = np.histogram(spread, np.arange(0.8, 1.0001, 0.025))[0]
    assert counts.min() >= 9  # 8 bins, about equally many from each
    assert choose(found) == chosen
    assert len(choose(values([0.9, 0.8], cut=0.8))) == 2
    assert [one.pair for one in choose(values([5.0, 1.0, 3.0], rising=False))] == [0, 2, 1]


def test_sizes_and_the_largest():
    sizes = np.array([2, 2, 3, 6, 10, 11, 101, 1000, 1001])
    assert [tuple(bar) for bar in size_bars(sizes)] == [
        (2, 2, 2, 4),
        (3, 3, 1, 3),
        (6, 10, 2, 16),
        (11, 20, 1, 11),
        (101, 1000, 2, 1101),
        (1001, 10000, 1, 1001),
    ]
    label = np.array([0, 0, 2, 3, 3, 3])
    pairs = Values(np.array([0, 3, 3]), np.array([1, 4, 5]), np.ones(3), "similarity")
    finding = Finding("t", [pa.array(list("abcdef"))], values=pairs, label=label)
    assert [(one.first, one.size, one.share) for one in largest_groups(finding)] == [(3, 3, 2 / 3), (0, 2, 1.0)]
    assert [one.members.tolist() for one in largest_groups(finding)] == [[3, 4, 5], [0, 1]]
    assert largest_groups(Finding("t", [])) == []


# --- regressions ---


def test_how_dense_clusters_are():
    """Three sets have two similar pairs; by containment a pair can be similar both ways."""
    found = la.find_pairs([{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 6, 7, 8, 9}], measure="containment", threshold=0.6)
    assert [round(group.share, 3) for group in largest_groups(of_pairs(found))] == [0.667]
    people = [{"name": name} for name in ("Ada Lovelace", "Ada M Lovelace", "Ada Mary Lovelace", "Alan Turing")]
    matches = la.entities.resolve(pa.Table.from_pylist(people), fields=["name"])
    for group in largest_groups(of_resolution(matches)):
        inside = sum(set(pair) <= set(group.members.tolist()) for pair in zip(matches.left, matches.right, strict=True))
        assert group.share == pytest.approx(2 * inside / (group.size * (group.size - 1)))


def test_bars_of_any_scale():
    tiny = histogram(values(np.random.default_rng(1).uniform(0, 3e-14, 200), rising=False, cut=3e-14))
    assert sum(bar.pairs for bar in tiny.bars) == 200
    below = histogram(values(np.array([-0.1234567890123456, 0.5])))
    assert sum(bar.pairs for bar in below.bars) == 2
    assert [name for _, name in histogram(values([0.5, 0.5, 0.9])).heights] == ["1", "2"]
    assert histogram(values(np.array([0, 1, 3]), rising=False, cut=3.0)).ticks == [0, 1, 2, 3, 4]
