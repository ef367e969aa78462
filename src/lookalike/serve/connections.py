"""Withstand slow clients: deadlines for every connection, and a limit on their number.

uvicorn has no deadline for the header of a request and none for a client that does not read its
answer, and it accepts connections until the process has no file descriptors left; then nobody gets
an answer. This derives its protocol, for lack of a setting.
"""

import asyncio
import logging
import resource
import time
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADER = 10.0  # seconds for the header of a request to arrive
ANSWER = 30.0  # seconds for a client to read some more of its answer
AT_ONCE = 32  # connections accepted in one step; one is counted, or closed, up to four steps later
OTHER_FILES = 64  # file descriptors for the index, the log and the threads
REPEATED = (
    "socket.accept() out of system resource",
    "Invalid HTTP request",
    "Unsupported upgrade",
    "No supported WebSocket",
    "the access log cannot be written",
)
PAUSE = 60.0  # seconds between two of the same of these messages


def most_connections() -> int:
    """Return how many connections this process has file descriptors for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = 65_536 if files == resource.RLIM_INFINITY else files
    return max(AT_ONCE, room - 4 * AT_ONCE - OTHER_FILES)


def connection_class(most: int, header: float = HEADER, answer: float = ANSWER) -> type[asyncio.Protocol]:
    """Return a protocol for at most this many connections, with these deadlines in seconds.

    If there are more, the one that has waited longest without a request in progress is closed: a
    client that sends its header at once is never that one.
    """
    waiting: dict[Any, None] = {}  # connections without a request in progress, the oldest first

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        deadline: asyncio.TimerHandle | None = None
        draining: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._wait(header)
            if len(self.connections) > most:
                oldest = next(iter(waiting))
                oldest.go_on()
                oldest.transport.abort()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self.go_on()
            elif self.deadline is None:  # further pieces of a header do not move it
                self._wait(header)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.transport.is_closing():
                self._wait(answer)
            elif self.cycle.response_complete:  # otherwise the next request is already in progress
                waiting[self] = None

        def connection_lost(self, exc: Exception | None) -> None:
            self.go_on()
            self.resume_writing()
            super().connection_lost(exc)

        def timeout_keep_alive_handler(self) -> None:
            self.transport.abort()  # to close would wait until the client has read everything

        def pause_writing(self) -> None:
            super().pause_writing()
            self.draining = self.loop.call_later(answer, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self.draining is not None:
                self.draining.cancel()
                self.draining = None

        def _wait(self, seconds: float) -> None:
            """Close the connection if nothing has come of it after this time."""
            self.go_on()
            waiting[self] = None
            self.deadline = self.loop.call_later(seconds, self.transport.abort)

        def go_on(self) -> None:
            """Note that a request is in progress, or that the connection is closed."""
            waiting.pop(self, None)
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

    return Connection


class Sparing(logging.Filter):
    """A filter that passes messages that any client can cause once a minute, without a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record."""
        begun = next((begun for begun in REPEATED if str(record.msg).startswith(begun)), None)
        if begun is None:
            return True
        if time.monotonic() - self.passed.get(begun, -PAUSE) < PAUSE:
            return False
        self.passed[begun] = time.monotonic()
        record.msg, record.exc_info = str(record.msg).partition("\n")[0], None
        return True
