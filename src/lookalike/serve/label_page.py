"""The page of `lookalike label`: shows pairs of records one after another, and keeps the answers in a file.

The state is the number of answers of this session: the pair at this position is the next one. A
request names the position it means, so one from a window that shows an old state is refused.
Handlers run on the event loop, one at a time, so no two answers mix.
"""

import secrets
import socket
from collections.abc import Callable

from fastapi import FastAPI, Request

from lookalike import __version__
from lookalike.core.errors import DataError
from lookalike.entities.labelling import LabelFile, SideBySide, in_parts, side_by_side, written_ids
from lookalike.entities.resolution import Resolution
from lookalike.report.beside import visible
from lookalike.serve.access import Token, Tokens
from lookalike.serve.failures import report_errors
from lookalike.serve.guard import Guard
from lookalike.serve.limits import Limits, Refused
from lookalike.serve.messages import LabelState, PairToLabel, ShownField, ToKeep
from lookalike.serve.metrics import Metrics
from lookalike.serve.page_files import add_page
from lookalike.serve.reading import read_message
from lookalike.serve.running import Server
from lookalike.serve.work import Desk

HOST = "127.0.0.1"
GRACE = 5  # seconds until the process has ended when it is stopped


def ask_on_page(
    every: Resolution,
    rows: list[int],
    file: LabelFile,
    before: int,
    listener: socket.socket,
    *,
    say: Callable[[str], None],
    last: Callable[[], None],
) -> None:
    """Ask about pairs on a page until the user is done or presses Ctrl-C.

    `before` is the number of answers of earlier sessions. `last` is called only if requests do not
    end in time; then the process exits.
    """
    key = secrets.token_urlsafe(16)  # other users of this machine can reach the port, but do not know it
    app = make_label_app(every, rows, file, before, key, done=lambda: server.end())
    server = Server(app, GRACE, [], last)
    say(f"asking at http://{HOST}:{listener.getsockname()[1]}/#{key}; press Ctrl-C to stop")
    server.run_on(listener)


def make_label_app(
    every: Resolution, rows: list[int], file: LabelFile, before: int, key: str, done: Callable[[], None]
) -> Guard:
    """Return the server of the page as an ASGI application."""
    limits = Limits()
    app = FastAPI(title="lookalike label", version=__version__, openapi_url=None, redirect_slashes=False)
    handlers = LabelHandlers(every, rows, file, before, done)
    report_errors(app)
    app.get("/state")(handlers.state)
    app.get("/pairs/{at:int}")(handlers.pair)
    app.post("/answers")(handlers.answer)
    app.delete("/answers/{at:int}")(handlers.undo)
    app.post("/done")(handlers.end)
    add_page(app, "label")
    return Guard(app, Metrics(), limits, Tokens([Token.of("page", "write", key)]), Desk(limits.work))


class LabelHandlers:
    """The handlers of all requests."""

    def __init__(
        self, every: Resolution, rows: list[int], file: LabelFile, before: int, done: Callable[[], None]
    ) -> None:
        self.every, self.rows, self.file, self.before, self.done = every, rows, file, before, done

    async def state(self) -> LabelState:
        """Return how far the user has come."""
        return LabelState(before=self.before, answers=len(self.file), pairs=len(self.rows), file=str(self.file.path))

    async def pair(self, at: int) -> PairToLabel:
        """Return the pair at a position."""
        row = self._row(at)
        left, right = written_ids(self.every, row)
        shown = [shown_field(one) for one in side_by_side(self.every, row)]
        compared = len(self.every.fields)
        return PairToLabel(left=visible(left), right=visible(right), fields=shown[:compared], others=shown[compared:])

    async def answer(self, request: Request) -> LabelState:
        """Keep an answer; it is on disk when the state is returned."""
        given = read_message(await request.body(), ToKeep, None, 1)
        self._check(given.at)
        pair = written_ids(self.every, self._row(given.at))
        self._change(lambda: self.file.add(*pair, given.match))
        return await self.state()

    async def undo(self, at: int) -> LabelState:
        """Remove the answer at a position, which must be the last one."""
        self._check(at + 1)
        self._change(self.file.undo)
        return await self.state()

    async def end(self) -> LabelState:
        """Stop the server."""
        self.done()
        return await self.state()

    def _row(self, at: int) -> int:
        if at >= len(self.rows):
            raise Refused(404, f"there is no pair {at}.")
        return self.rows[at]

    def _check(self, answers: int) -> None:
        if answers != len(self.file):
            raise Refused(409, "another window has changed the answers; this is where it stands now.")

    def _change(self, change: Callable[[], None]) -> None:
        try:
            change()
        except (OSError, DataError) as error:
            why = f"{self.file.path}: {error.strerror}." if isinstance(error, OSError) else str(error)
            raise Refused(503, f"nothing was changed: {why}") from error


def shown_field(one: SideBySide) -> ShownField:
    """Return two values of a field as the page shows them."""
    left, right = in_parts(one)
    return ShownField(
        name=visible(one.name),
        left=None if one.left is None else left,
        right=None if one.right is None else right,
        same=one.same,
    )
