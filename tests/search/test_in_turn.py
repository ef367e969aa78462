"""Items are kept in turn as from all listed pairs, with few pairs in memory."""

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import TooManyPairs
from lookalike.devices.plain import Plain
from lookalike.search import in_turn
from tests.vector_samples import SINGLE, THRESHOLDS, sample_of


@pytest.mark.parametrize("measure", THRESHOLDS)
@pytest.mark.parametrize("device", ["cpu", "plain"])
@pytest.mark.parametrize("limits", [(1 << 14, 1 << 24), (7, 5), (64, 40)])
def test_stars_are_those_of_listed_pairs(monkeypatch, measure, device, limits):
    rows = sample_of(measure, 11, 300)
    rows[200:230] = rows[200]
    keep = np.random.default_rng(0).permutation(300).tolist()
    common = {"measure": measure, "threshold": THRESHOLDS[measure], "keep": keep, "run": SINGLE}
    ours = {"device": "cpu", "method": "brute"} if device == "cpu" else {"device": Plain(32)}
    expected = la.dedup(rows, **common, **ours)
    assert 20 < len(expected.kept) < 250
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    monkeypatch.setattr(in_turn, "CHUNK", limits[0])
    monkeypatch.setattr(in_turn.keep_in_turn, "__defaults__", (None, limits[1]))
    found = la.dedup(rows, **common, **ours)
    assert found.kept.equals(expected.kept)
    for name in ("centre", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_near_copies_are_not_listed(monkeypatch):
    """Of n copies of one row all but one are removed by about n comparisons, and no pairs are held."""
    rows = np.ones((3000, 8)) + 1e-6 * np.random.default_rng(0).normal(size=(3000, 8))
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    monkeypatch.setattr(in_turn, "CHUNK", 100)
    found = la.dedup(rows, measure="angle", threshold=5, device=Plain(64), run=SINGLE)
    assert found.kept.to_pylist() == [0]
    assert found.stats["candidates"] < 20_000


def test_bands_still_list_pairs(monkeypatch):
    monkeypatch.setattr("lookalike.search.base.MAX_LISTED", 10)
    with pytest.raises(TooManyPairs, match="more than 10 similar pairs, too many to list; choose a stricter threshold"):
        la.dedup(sample_of("angle", 11, 300), measure="angle", threshold=25, method="lsh", recall=0.9, run=SINGLE)
