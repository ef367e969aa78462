"""How work is run: threads, progress, and the time each stage takes.

Kernels release the GIL, so a pool of threads is all the parallelism there is. Results always come back in
the order of the tasks, which is why no result depends on the number of threads.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from typing import TypeVar

from lookalike.core.errors import whole

Task = TypeVar("Task")
Result = TypeVar("Result")
Tick = Callable[[float], None]


class Run:
    """One run of a pipeline. A subclass may draw progress by overriding `show`, and pass on what is said."""

    def __init__(self, threads: int | None = None):
        self.threads = cores() if threads is None else whole("threads", threads)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: float | None = None) -> Iterator[Tick]:
        """Time a stage and show its progress: call what it yields with each amount done out of `total`."""
        start = time.perf_counter()
        with self.show(name, total) as tick:
            yield tick
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        """Draw the progress of a stage; here nothing is drawn."""
        yield lambda amount: None

    def say(self, line: str) -> None:
        """Tell the user something; here nobody listens."""

    def quietly(self) -> "Run":
        """The same run for a step within another: it shows progress and takes times, but says nothing."""
        quiet = copy(self)
        quiet.say = lambda line: None  # type: ignore[method-assign]
        return quiet

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results of the tasks in their order; a few tasks ahead of the consumer are under way."""
        if self.threads == 1:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[Result]] = deque()
            try:
                for task in tasks:
                    waiting.append(pool.submit(function, task))
                    if len(waiting) > 2 * self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:  # an error or Ctrl-C: do not start what has not begun
                for future in waiting:
                    future.cancel()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slices(total: int, step: int) -> list[slice]:
    """Consecutive slices of at most `step` that cover range(total)."""
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]
