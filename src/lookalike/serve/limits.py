"""The limits on requests, and how a request is refused."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Limits:
    """Limits on requests."""

    body: int = 10_000_000  # bytes per request
    items: int = 1000  # per request; also ids
    requests: int = 256  # at a time
    seconds: float = 30.0  # for the body of a request to arrive
    work: float = 30.0  # seconds to answer a request


class Refused(Exception):
    """A refused request: the status, and the reason in one line."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
