"""Check that threads give results in order, share one pool, and stop after an error."""

import threading
import time
from itertools import count

import numpy as np
import pytest

from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.storage import GrowingColumns


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_are_in_the_order_of_the_tasks(threads: int) -> None:
    def work(task: int) -> int:
        time.sleep((task % 3) / 1000)
        return task * task

    assert list(Run(threads).map(work, range(50))) == [task * task for task in range(50)]


def test_one_map_can_feed_another_and_a_task_can_map() -> None:
    """All share the threads of the run, so that no more of them work at a time."""
    run = Run(3)
    lock, busy, most = threading.Lock(), 0, 0

    def work(task: int) -> int:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.001)
        with lock:
            busy -= 1
        return task + 1

    def nested(task: int) -> int:
        return sum(run.map(lambda one: task + one, range(5)))

    fed = run.map(work, run.map(work, run.map(nested, range(40))))
    assert list(fed) == [5 * task + 12 for task in range(40)]
    assert 1 <= most <= 3


def test_an_error_ends_the_map_at_its_task_and_starts_no_more() -> None:
    started = []

    def work(task: int) -> int:
        started.append(task)
        if task == 5:
            raise ValueError("task 5")
        return task

    found = []
    with pytest.raises(ValueError, match="task 5"):
        found.extend(Run(2).map(work, count()))
    assert found == [0, 1, 2, 3, 4]
    assert max(started) < 20


def test_a_map_that_is_left_early_starts_no_more_tasks() -> None:
    started = []
    run = Run(2)
    tasks = run.map(started.append, count())
    next(tasks)
    tasks.close()
    list(run.map(lambda task: task, range(10)))  # what was started has ended
    assert len(started) < 20


@pytest.mark.parametrize("run", [ONE_THREAD, Run(4)])
def test_columns_that_grow_are_copied_in_threads(run: Run) -> None:
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 100, size) for size in rng.integers(0, 50, 60)]
    kinds = {"room": np.dtype(np.int64), "listed": np.dtype(np.int64)}
    grown = GrowingColumns(kinds, {"room": 10_000})
    assert list(grown.extend(((at, [part, -part]) for at, part in enumerate(parts)), run)) == list(range(60))
    room, listed = grown.finish(run)
    assert room.tolist() == np.concatenate(parts).tolist() == (-listed).tolist()
    assert grown.done == 59
