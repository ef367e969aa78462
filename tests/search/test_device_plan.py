"""A card is used if it saves time, and looked for only if it might."""

import numpy as np
import pytest

import lookalike as la
from lookalike.devices.plain import Plain
from lookalike.search import device_plan
from tests.vector_samples import SINGLE, drawn


@pytest.fixture
def looked(monkeypatch):
    """Pretend that torch is installed, and count how often a card is looked for."""
    counts = []
    monkeypatch.setattr(device_plan, "has_torch", lambda: True)
    monkeypatch.setattr(device_plan, "open_if_usable", lambda: counts.append(1) or Plain(256))
    return counts


def test_no_card_is_looked_for_in_little_work(looked):
    found = la.find_pairs(drawn(1, 500), measure="angle", threshold=9, run=SINGLE)
    assert found.plan.device == ""
    assert not looked


@pytest.mark.parametrize("k", [None, 2])
def test_a_card_is_used_if_it_saves_time(looked, monkeypatch, k):
    monkeypatch.setattr(device_plan, "START", 0.0)
    monkeypatch.setattr(device_plan, "LEAST", 0.0)
    rows = np.random.default_rng(0).normal(size=(500, 300)).astype(np.float32)
    options = {"measure": "angle", "threshold": None if k else 75, "k": k, "run": SINGLE}
    found = la.find_pairs(rows, **options)
    assert looked
    assert found.plan.device == "plain"
    assert found.plan.lines()[-1].startswith("      chosen: plain, about ")
    brute = la.find_pairs(rows, method="brute", device="cpu", **options)
    assert np.array_equal(found.values, brute.values)
    looked.clear()
    assert la.find_pairs(rows, device="cpu", **options).plan.device == ""
    assert la.find_pairs(rows, method="lsh", recall=0.5, measure="angle", threshold=20, run=SINGLE).plan.device == ""
    assert not looked


def test_no_card_is_used_if_it_takes_longer(looked, monkeypatch):
    monkeypatch.setattr(device_plan, "LEAST", 0.0)
    assert la.find_pairs(drawn(1, 500), measure="angle", threshold=9, run=SINGLE).plan.device == ""
    assert not looked
