"""Protect the server: who may use it, how much they may send, and how many at a time.

A request is refused before its body is read if its headers give a reason. Bodies are read here,
with limits on size and time, so that the application never waits for a slow client.
"""

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.responses import JSONResponse

from lookalike.serve.access import Tokens
from lookalike.serve.journal import Journal
from lookalike.serve.limits import App, Limits, Receive, Refused, Scope, Send
from lookalike.serve.metrics import Metrics
from lookalike.serve.work import Desk

PAGE = ("/", "/page.css", "/page.js", "/common.js", "/icon.svg")
OPEN = (*PAGE, "/health")  # without a token: they reveal nothing about the index
ALWAYS = ("/health", "/metrics")  # answered however busy the server is
ROUTES = (*OPEN, "/openapi.json", "/metrics", "/info", "/query", "/compare", "/items")
HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]+))(?::[0-9]+)?")
METHODS = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

log = logging.getLogger("lookalike.serve")


class Guard:
    """An ASGI application that checks the requests to another one."""

    def __init__(self, app: App, metrics: Metrics, limits: Limits, tokens: Tokens | None, desk: Desk) -> None:
        self.app, self.metrics, self.limits, self.tokens, self.desk = app, metrics, limits, tokens, desk
        self.journal: Journal | None = None
        self.in_progress: set[asyncio.Task[None]] = set()
        self.stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Seen()
        task = asyncio.current_task()
        assert task is not None
        self.metrics.in_flight += 1
        self.in_progress.add(task)
        try:
            await self._pass(scope, request.counted(receive), request.watched(send), request)
        except asyncio.CancelledError:
            if not self.stopping:
                raise
            if request.status is None:
                reason = "the server is stopping; try again."
                await _answer(Refused(503, reason, retry_after="5", connection="close"))(
                    scope, receive, request.watched(send)
                )
        finally:
            self.in_progress.discard(task)
            self.metrics.in_flight -= 1
            self._record(scope, request)

    def stop(self) -> None:
        """Answer the requests in progress: they have had their time."""
        self.stopping = True
        for task in self.in_progress:
            task.cancel()

    def _record(self, scope: Scope, request: "Seen") -> None:
        """Count a finished request, and write it to the access log."""
        method = scope["method"] if scope["method"] in METHODS else "other"
        status, seconds = request.status or 500, time.perf_counter() - request.begun
        self.metrics.request(_route(scope["path"]), method, status, seconds)
        if self.journal is not None:
            try:
                self.journal.write(request.time, request.entry(scope, status, seconds))
            except OSError as error:
                log.error("the access log cannot be written: %s", error.strerror)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, request: "Seen") -> None:
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._check(scope, headers, request)
            if scope["method"] == "POST":
                receive = await self._read(receive)
        except Refused as refused:
            await _answer(refused)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope, headers: dict[str, str], request: "Seen") -> None:
        """Refuse a request if its headers give a reason."""
        if "content-length" in headers and "transfer-encoding" in headers:  # they may disagree: request smuggling
            raise Refused(400, "a body has a Content-Length or a Transfer-Encoding, not both.", connection="close")
        if self.tokens is None and not is_local(_host(headers.get("host", ""))):
            raise Refused(421, "this server answers only to localhost.")  # against DNS rebinding by other sites
        if self.tokens is not None and scope["path"] not in OPEN:
            request.token = self._admitted(self.tokens, headers.get("authorization", ""), scope)
        if self.metrics.in_flight > self.limits.requests and scope["path"] not in ALWAYS:
            raise Refused(429, f"more than {self.limits.requests:,} requests at a time; try again.", retry_after="1")
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdecimal()):
            raise Refused(400, "the length of the body must be a number.")
        if len(size) > 18 or int(size) > self.limits.body:
            raise self._too_large()
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            raise Refused(415, "the body must be JSON: Content-Type: application/json.")

    def _admitted(self, tokens: Tokens, authorization: str, scope: Scope) -> str:
        """Return the name of the token in a request, if it allows the request."""
        token = tokens.find(authorization)
        if token is None:
            raise Refused(401, "a token is needed: Authorization: Bearer TOKEN.", www_authenticate="Bearer")
        needed = needed_for(scope["method"], scope["path"])
        if not token.allows(needed):
            what = "see metrics" if needed == "metrics" else needed
            raise Refused(403, f"the role of this token is {token.role}, which does not allow to {what}.")
        return token.name

    def _too_large(self) -> Refused:
        return Refused(413, f"the body must have at most {self.limits.body:,} bytes.", connection="close")

    async def _read(self, receive: Receive) -> Receive:
        """Read the whole body; return a function that receives it again."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the body is incomplete.")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self.limits.body:
                        raise self._too_large()
        except TimeoutError:
            raise Refused(408, "the body took too long to arrive.", connection="close") from None
        waiting = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> MutableMapping[str, Any]:
            return waiting.pop() if waiting else await receive()

        return again


class Seen:
    """What is known of one request, for the metrics and the access log."""

    def __init__(self) -> None:
        self.time, self.begun = time.time(), time.perf_counter()
        self.status: int | None = None
        self.token: str | None = None
        self.bytes_in = self.bytes_out = 0

    def counted(self, receive: Receive) -> Receive:
        """Return a function that receives, and counts the bytes of the body."""

        async def counting() -> MutableMapping[str, Any]:
            message = await receive()
            self.bytes_in += len(message.get("body", b""))
            return message

        return counting

    def watched(self, send: Send) -> Send:
        """Return a function that sends, with the headers of every answer, and counts bytes."""

        async def watching(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            self.bytes_out += len(message.get("body", b""))
            await send(message)

        return watching

    def entry(self, scope: Scope, status: int, seconds: float) -> dict[str, Any]:
        """Return a line of the access log."""
        return {
            "token": self.token,
            "client": scope["client"][0] if scope.get("client") else None,
            "method": scope["method"],
            "path": scope.get("raw_path", scope["path"].encode()).decode("latin-1"),
            "status": status,
            "seconds": round(seconds, 6),
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
        }


def needed_for(method: str, path: str) -> str:
    """Return what a token must allow for a request: "read", "write" or "metrics"."""
    if path == "/metrics":
        return "metrics"
    changes = method not in ("GET", "HEAD", "OPTIONS") and path not in ("/query", "/compare")
    return "write" if changes else "read"


def _answer(refused: Refused) -> JSONResponse:
    return JSONResponse({"error": refused.reason}, refused.status, refused.headers)


def is_local(host: str) -> bool:
    """Return whether a name or address is this machine's own."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(header: str) -> str:
    """Return the name or address without its port; "" if it is neither."""
    found = HOST.fullmatch(header)
    return "" if found is None else found[1] or found[2]


def _route(path: str) -> str:
    """Return a path as it is counted, one of a limited number."""
    return "/items/{id}" if path.startswith("/items/") else path if path in ROUTES else "other"
