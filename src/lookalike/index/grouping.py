"""Write small changes of several callers together, with one flush to disk for all of them.

A flush takes milliseconds, however little is written. While one group of changes is flushed, the
changes that arrive wait, and make up the next group. A caller gets its answer after the flush.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from lookalike.index.records import Id
from lookalike.index.store import BusyStore

MOST = 1000  # changes in a group
GATHERING = 0.002  # seconds to wait for the callers of the last group to come again, beside those that wait
SHARE = 4  # or one part in this many of the time that the last group took, if that is longer


@dataclass(eq=False)
class Change:
    """Items to add, or, without items, ids to remove."""

    items: Any
    ids: list[Id] | None
    replace: bool = False
    done: "Future[int]" = field(default_factory=Future)  # how many items were added or removed


class WriteQueue:
    """A queue of changes, and a thread that writes them; it runs while there are changes."""

    def __init__(
        self, write: Callable[[Sequence[Change]], list[int | BaseException]], tidy: Callable[[], None] = lambda: None
    ) -> None:
        self._write, self._tidy = write, tidy  # the second is called when the callers of the first have their answers
        self._waiting: deque[Change] = deque()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._closed = False
        self._expected, self._patience = 1, GATHERING  # changes to wait for, and for how long

    def put(self, change: Change) -> "Future[int]":
        """Have a change written."""
        with self._changed:
            self._waiting.append(change)
            if self._thread is None:
                self._closed = False
                self._thread = Thread(target=self._work, name="lookalike-writer", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return change.done

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._changed:
            thread, self._closed = self._thread, True
            self._changed.notify_all()
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    self._thread = None
                    return
                self._changed.wait_for(
                    lambda: len(self._waiting) >= min(self._expected, MOST) or self._closed, self._patience
                )
                some = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
            changes = [change for change in some if change.done.set_running_or_notify_cancel()]
            start = time.monotonic()
            results = self._results(changes)
            self._patience = max(GATHERING, (time.monotonic() - start) / SHARE)
            self._expected = len(self._waiting) + len(changes)  # whose callers come again
            for change, result in zip(changes, results, strict=True):
                if isinstance(result, BaseException):
                    change.done.set_exception(result)
                else:
                    change.done.set_result(result)
            with suppress(Exception):  # the changes are on disk, and others wait to be written
                self._tidy()

    def _results(self, changes: Sequence[Change]) -> list[int | BaseException]:
        """Write changes together; if that fails as a whole, write each by itself.

        If another process is writing, each by itself would wait for it as long again.
        """
        if not changes:
            return []
        try:
            return self._write(changes)
        except BusyStore as error:
            return [error] * len(changes)
        except BaseException as error:
            if len(changes) == 1:
                return [error]
            return [self._results([change])[0] for change in changes]
