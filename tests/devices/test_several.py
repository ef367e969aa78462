"""Several devices find together what one finds, and share the work."""

import numpy as np
import pytest

import lookalike as la
from lookalike.devices.plain import Plain
from lookalike.devices.several import Several
from tests.vector_samples import SINGLE, THRESHOLDS, sample_of


class Counting(Plain):
    """A device that counts the pairs of blocks that it compares."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        self.tasks = self.closed = 0

    def candidates(self, left, right, frame, tasks, same):
        self.tasks += len(tasks)
        return super().candidates(left, right, frame, tasks, same)

    def close(self):
        self.closed += 1


@pytest.mark.parametrize("measure", THRESHOLDS)
@pytest.mark.parametrize("memory", [1 << 30, 60_000])
def test_several_find_what_one_finds(measure, memory):
    rows = sample_of(measure, 3, 300)
    common = {"measure": measure, "threshold": THRESHOLDS[measure], "run": SINGLE}
    devices = [Counting(32, memory=memory), Counting(32), Counting(32)]
    several = Several(devices)
    assert several.memory == memory
    found, expected = la.find_pairs(rows, device=several, **common), la.find_pairs(rows, device=Plain(32), **common)
    assert len(found) > 20
    for name in ("left", "right", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    tasks = [device.tasks for device in devices]
    assert min(tasks) > 0.5 * max(tasks)
    assert [device.closed for device in devices] == [1, 1, 1]
    assert found.plan.device == "3 x plain"


def test_rows_that_are_ordered_and_candidates_without_room():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 20)) * 0.5 ** np.arange(20)
    for threshold in (0.3, 120.0):
        common = {"measure": "angle", "threshold": threshold, "run": SINGLE}
        found = la.find_pairs(rows, device=Several([Plain(32, room=3000), Plain(32, room=3000)]), **common)
        expected = la.find_pairs(rows, device="cpu", method="brute", **common)
        assert (found.stats["blocks_skipped"] > 0) == (threshold < 1)
        np.testing.assert_array_equal(found.values, expected.values)


def test_names_and_speed():
    fast, slow = Plain(32), Plain(32)
    slow.slowness, slow.name = 3.0, "slow"
    several = Several([fast, slow])
    assert (several.name, several.slowness) == ("plain + slow", 1.5)
