"""A card is used if it saves time, and looked for only if it might."""

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import DeviceError, UsageError
from lookalike.core.run import Run
from lookalike.devices.plain import Plain
from lookalike.search import device_plan
from tests.vector_samples import SINGLE, drawn


class Failing(Plain):
    """A card that is opened, but cannot compare."""

    compared = closed = 0

    def candidates(self, *given):
        self.compared += 1
        raise DeviceError("the card failed: no C compiler.")

    def close(self):
        self.closed += 1


@pytest.fixture
def looked(monkeypatch):
    """Pretend that torch is installed, and count how often a card is looked for."""
    counts = []
    monkeypatch.setattr(device_plan, "has_torch", lambda: True)
    monkeypatch.setattr(device_plan, "open_if_usable", lambda memory: counts.append(1) or Plain(256))
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


@pytest.mark.parametrize("k", [None, 2])
def test_a_card_that_was_not_asked_for_can_fail(monkeypatch, k):
    """The processor then does the work, and the plan and a line say so; a card that was asked for is an error."""
    card, said = Failing(256), []
    monkeypatch.setattr(device_plan, "has_torch", lambda: True)
    monkeypatch.setattr(device_plan, "open_if_usable", lambda memory: card)
    monkeypatch.setattr(device_plan, "START", 0.0)
    monkeypatch.setattr(device_plan, "LEAST", 0.0)
    run = Run(1)
    run.say = said.append
    rows = np.random.default_rng(0).normal(size=(600, 300)).astype(np.float32)
    rows[300:] = rows[:300] + rows[::-1][:300]
    options = {"measure": "angle", "threshold": None if k else 75, "k": k}
    found = la.find_pairs(rows, run=run, **options)
    brute = la.find_pairs(rows, method="brute", device="cpu", run=SINGLE, **options)
    assert len(found) >= 300
    assert np.array_equal(found.values, brute.values)
    assert (found.plan.device, card.compared, card.closed) == ("", 1, 1)
    assert "      the card failed: no C compiler. The processor compares them now." in said
    if not k:
        assert len(la.find_clusters(rows, run=SINGLE, measure="angle", threshold=75)) > 0
        assert card.closed == 2
    with pytest.raises(DeviceError, match="no C compiler"):
        la.find_pairs(rows, run=SINGLE, device=card, **options)


def test_slow_and_unusable_cards_are_not_used(monkeypatch):
    monkeypatch.setattr(device_plan, "has_torch", lambda: True)
    monkeypatch.setattr(device_plan, "START", 0.0)
    monkeypatch.setattr(device_plan, "LEAST", 0.0)
    rows = np.random.default_rng(0).normal(size=(600, 300)).astype(np.float32)
    slow = Plain(256)
    slow.slowness = 1e9
    for card, line in (("an old driver", "no card is used: an old driver"), (slow, "plain is not used: it would")):
        monkeypatch.setattr(device_plan, "open_if_usable", lambda memory, card=card: card)
        found = la.find_pairs(rows, measure="angle", threshold=75, run=SINGLE)
        assert found.plan.device == ""
        assert line in found.plan.lines()[-1]


def test_a_card_whose_speed_cannot_be_measured_is_not_used(looked, monkeypatch):
    class Full(Plain):
        @property
        def slowness(self):
            raise DeviceError("the card is out of memory: 0.1 of 80.0 GB are free.")

    monkeypatch.setattr(device_plan, "open_if_usable", lambda memory: Full(256))
    monkeypatch.setattr(device_plan, "START", 0.0)
    monkeypatch.setattr(device_plan, "LEAST", 0.0)
    rows = np.random.default_rng(0).normal(size=(600, 300)).astype(np.float32)
    found = la.find_pairs(rows, measure="angle", threshold=75, run=SINGLE)
    assert found.plan.device == ""
    assert found.plan.lines()[-1].endswith("; no card is used: the card is out of memory: 0.1 of 80.0 GB are free")


def test_memory_of_a_card(monkeypatch):
    """It limits what is used of a card, and has no meaning without one."""
    given = []
    monkeypatch.setattr(device_plan, "open_cuda", lambda memory: given.append(memory) or Plain(256))
    common = {"measure": "angle", "threshold": 9, "run": SINGLE}
    la.find_pairs(drawn(1, 50), device="cuda", memory="2GB", **common)
    la.find_pairs(drawn(1, 50), device="cuda", **common)
    assert given == [2_000_000_000, None]
    with pytest.raises(UsageError, match=r"^memory must be a size of at least 1GB, such as 8GB; got '10MB'"):
        la.find_pairs(drawn(1, 50), device="cuda", memory="10MB", **common)
    with pytest.raises(
        UsageError, match=r"^memory is for texts, and for vectors on a card; leave it out with device='cpu'"
    ):
        la.find_pairs(drawn(1, 50), device="cpu", memory="2GB", **common)
