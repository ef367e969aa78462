"""Run work in threads, show its progress, and time each stage.

Kernels release the GIL, so a pool of threads is all the parallelism there is. Results always come
back in the order of the tasks, which is why no result depends on the number of threads. One map can
feed another: all of a run's maps share its threads.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from threading import Lock, local
from typing import Any, TypeVar

from lookalike.core.errors import whole

Task = TypeVar("Task")
Result = TypeVar("Result")
Tick = Callable[[float], None]
_thread = local()  # its `works` is set in the threads of a pool


class Planned(Exception):
    """Raised by a run that only wants to know the plan."""


class Finished(Exception):
    """Raised in a run that several processes share, once one of them has written the output."""


class Run:
    """One run of a pipeline. A subclass can override `show` to draw progress and `say` to log."""

    def __init__(self, threads: int | None = None):
        self.threads = cores() if threads is None else whole("threads", threads)
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}  # of a job whose result cannot hold them, such as a data frame of Spark
        self._pools: list[ThreadPoolExecutor] = []  # at most one; copies of the run share it
        self._making = Lock()  # of making a pool

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[Tick]:
        """Time a stage and show its progress; yields a function to call with each amount done.

        The time of stages within this one counts as theirs only, so that all add up to the whole.
        """
        start, before = time.perf_counter(), sum(self.seconds.values())
        with self.show(name, total) as tick:
            yield tick
        within = sum(self.seconds.values()) - before
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start - within

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        """Draw the progress of a stage; this base class draws nothing."""
        yield lambda amount: None

    def say(self, line: str) -> None:
        """Show the user a line; this base class shows nothing."""

    def planned(self, needs: Any) -> None:
        """Take note of what the search is expected to need; this base class goes on with it."""

    def waited(self) -> float:
        """Return how many seconds the user has waited before the search; this base class counts none."""
        return 0.0

    def quietly(self) -> "Run":
        """Return a copy for a step within another: it shows progress and times, but no messages."""
        quiet = copy(self)
        quiet.say = lambda line: None  # type: ignore[method-assign]
        return quiet

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results in the order of the tasks; threads work a few tasks ahead.

        Within a task, which occupies a thread already, the tasks of another map run one by one.
        """
        if self.threads == 1 or hasattr(_thread, "works"):
            yield from map(function, tasks)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for future in self._begun(function, tasks):
                waiting.append(future)
                if len(waiting) > 2 * self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error or Ctrl-C, do not start the tasks that are still waiting
            for future in waiting:
                future.cancel()

    def _begun(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator["Future[Result]"]:
        """Hand each task to a thread; an error in making the next one is the last result."""
        given = iter(tasks)
        while True:
            try:
                task = next(given)
            except StopIteration:
                return
            except Exception as error:
                future: Future[Result] = Future()
                future.set_exception(error)
                yield future
                return
            yield self._pool().submit(function, task)

    def each(self, function: Callable[[Task], object], tasks: Iterable[Task]) -> None:
        """Do all tasks, whose results go elsewhere, such as into parts of an array."""
        for _ in self.map(function, tasks):
            pass

    def _pool(self) -> ThreadPoolExecutor:
        with self._making:
            if not self._pools:
                pool = ThreadPoolExecutor(self.threads, initializer=setattr, initargs=(_thread, "works", True))
                self._pools.append(pool)
        return self._pools[0]


ONE_THREAD = Run(1)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slices(total: int, step: int) -> list[slice]:
    """Return consecutive slices of at most `step` that cover range(total)."""
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]
