"""Run the server until a signal: reload files on SIGHUP, and always stop in time.

When the server is stopped, requests in progress may finish for a while; then they are answered with
503. A thread that does not end cannot keep the process: it exits all the same, which an index
withstands as it withstands a crash.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from lookalike.core.errors import LookalikeError
from lookalike.serve.connections import AT_ONCE, Sparing, connection_class, most_connections
from lookalike.serve.guard import Guard, log

BACKLOG = 2048  # connections that wait to be accepted
FINISHING, CLOSING = 0.5, 0.7  # shares of the grace until requests in progress are answered, and connections closed


class Server(uvicorn.Server):
    """uvicorn's server, for an application behind a guard."""

    def __init__(self, guard: Guard, grace: float, reloads: list[Callable[[], None]], last: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                guard,
                http=connection_class(most_connections()),
                ws="none",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                backlog=AT_ONCE,
                timeout_graceful_shutdown=max(1, round(grace * CLOSING)),
            )
        )
        self.guard, self.grace, self.reloads, self.last = guard, grace, reloads, last
        self.timer: threading.Timer | None = None

    def run_on(self, listener: socket.socket) -> None:
        """Run until SIGINT or SIGTERM."""
        sparing, others = Sparing(), threading.enumerate()
        for name in ("asyncio", "uvicorn.error", log.name):
            logging.getLogger(name).addFilter(sparing)
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again at the end
                self.run(sockets=[listener])
            self.guard.desk.close()
            wait_for_workers(others)
        finally:
            if self.timer is not None:
                self.timer.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)  # asyncio accepts AT_ONCE in one step, but more of them may wait
        if self.reloads:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def reload(self) -> None:
        """Read files again; those that cannot be used stay as they were."""
        for reload in self.reloads:
            try:
                reload()
            except LookalikeError as error:
                log.error("%s Nothing was changed.", error)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and exit after the grace in any case."""
        if self.timer is None:
            self.timer = threading.Timer(self.grace, self._leave)
            self.timer.daemon = True
            self.timer.start()
        super().handle_exit(sig, frame)

    def end(self) -> None:
        """Stop as on Ctrl-C."""
        self.handle_exit(signal.SIGINT, None)

    def _leave(self) -> None:
        """Exit now, with a thread still at work."""
        self.last()
        os._exit(0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the requests in progress finish, then answer them."""
        asyncio.get_running_loop().call_later(self.grace * FINISHING, self.guard.stop)
        await super().shutdown(sockets)


def wait_for_workers(others: list[threading.Thread]) -> None:
    """Wait for threads that are still at work on requests: they use the index."""
    for thread in threading.enumerate():
        if thread not in others and not thread.daemon:
            thread.join()
