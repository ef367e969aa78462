"""Check how work is cut into tasks, and how their results are joined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core import arrays
from lookalike.core.arrays import even_slices, join_arrays
from lookalike.core.run import Run


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 20))
def test_tasks_cover_all_work_evenly(work: list[int], step: int) -> None:
    """No task has more than a step, and what is left of an item that is larger."""
    bounds = np.concatenate(([0], np.cumsum(work, dtype=np.int64)))
    tasks = even_slices(bounds, step)
    assert [at for task in tasks for at in range(task.start, task.stop)] == (
        list(range(len(work))) if any(work) else []
    )
    for task in tasks:
        assert task.start < task.stop
        assert sum(work[task.start : task.stop - 1]) < step + max(work)


@pytest.mark.parametrize("threads", [1, 3])
@given(parts=st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=9))
def test_arrays_are_joined_and_freed(threads: int, parts: list[list[int]]) -> None:
    arrays = [np.array(part, np.int32) for part in parts]
    assert join_arrays(arrays, Run(threads)).tolist() == [x for part in parts for x in part]
    assert arrays == []


@pytest.mark.parametrize("threads", [1, 3])
def test_values_are_taken_in_parts(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "SLICE", 7)
    places = np.random.default_rng(0).integers(0, 30, 50)
    assert np.array_equal(arrays.take(np.arange(100, 130), places, Run(threads)), 100 + places)
