"""Work on requests in threads, for a limited time, and only while the client waits.

A thread cannot be ended from outside. So the work asks, between items and between blocks, whether
it should go on; a request that has used up its time is answered even if its thread is still busy.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from lookalike.core.run import Run, Tick
from lookalike.serve.limits import Receive, Refused

ASKING = 2  # threads; more would only wait for the interpreter lock
CHANGING = 32  # threads; they wait for the disk, and their changes are written together
RETRY = "5"  # seconds

Result = TypeVar("Result")


class Stopped(Exception):
    """The work was ended before it had a result."""


class Work:
    """The time that one request has left."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise `Stopped` if the work should end."""
        if time.monotonic() > self.end:
            raise Stopped

    def stop(self) -> None:
        """End the work at its next check."""
        self.end = 0.0


class StoppableRun(Run):
    """A run that ends when its work should."""

    def __init__(self, work: Work) -> None:
        super().__init__(1)
        self.work = work

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        """Check the work at every step."""
        yield lambda amount: self.work.check()


class Desk:
    """The threads that work on requests: a few that read the index, and those that change it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.readers, self.writers = ThreadPoolExecutor(ASKING), ThreadPoolExecutor(CHANGING)

    async def read(self, receive: Receive, job: Callable[[Work], Result]) -> Result:
        """Return the result of a job that changes nothing, or leave it as soon as its time is up."""
        work = Work(self.seconds)
        started = self.readers.submit(job, work)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await _first(_end_of(started), gone, self.seconds)
            return self._result(started, gone)
        finally:
            work.stop()
            started.cancel()
            gone.cancel()

    async def write(self, receive: Receive, job: Callable[[Work], Result]) -> Result:
        """Return the result of a job that changes the index.

        A change that has begun is awaited to its end, even if the server stops, so that the answer
        says truly whether it was made.
        """
        work = Work(self.seconds)
        started = self.writers.submit(job, work)
        ended = _end_of(started)
        gone = asyncio.ensure_future(_disconnected(receive))
        with suppress(asyncio.CancelledError):
            await _first(ended, gone, self.seconds)
        work.stop()
        gone.cancel()
        if not started.cancel():
            while not ended.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((ended,))
        return self._result(started, gone)

    def close(self) -> None:
        """Let the threads end when they have nothing left to do."""
        for threads in (self.readers, self.writers):
            threads.shutdown(wait=False, cancel_futures=True)

    def _result(self, started: "Future[Result]", gone: "asyncio.Future[None]") -> Result:
        if started.done() and not started.cancelled():
            with suppress(Stopped):
                return started.result()
        if gone.done() and not gone.cancelled():
            raise Refused(499, "the client has gone.")
        why = f"the request took more than {self.seconds:g} seconds; send fewer or smaller items, or try again later."
        raise Refused(503, why, retry_after=RETRY)


def _end_of(started: "Future[Any]") -> "asyncio.Future[None]":
    """Return a future of the event loop that is done when the work is.

    It has no result, not even an error: `asyncio.wrap_future` would wait forever for StopIteration.
    """
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def report(started: "Future[Any]") -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(ended.cancel)

    started.add_done_callback(report)
    return ended


async def _first(ended: "asyncio.Future[None]", gone: "asyncio.Future[None]", seconds: float) -> None:
    """Wait until the work has ended, the client has gone or the time is up."""
    await asyncio.wait((ended, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
