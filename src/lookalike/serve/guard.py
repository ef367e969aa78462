"""Protect the server: who may use it, how much they may send, and how many at a time.

A request is refused before its body is read if its headers give a reason. Bodies are read here,
with limits on size and time, so that the application never waits for a slow client.
"""

import asyncio
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from starlette.responses import JSONResponse

from lookalike.serve.metrics import Metrics

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE = ("/", "/page.css", "/page.js", "/icon.svg")
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


@dataclass(frozen=True)
class Limits:
    """Limits on requests."""

    body: int = 10_000_000  # bytes per request
    items: int = 1000  # per request
    requests: int = 256  # at a time
    seconds: float = 30.0  # for the body of a request to arrive


class Refused(Exception):
    """A refused request: the status, and the reason in one line."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Guard:
    """An ASGI application that checks the requests to another one."""

    def __init__(self, app: App, metrics: Metrics, limits: Limits, token: str | None) -> None:
        self.app, self.metrics, self.limits = app, metrics, limits
        self.token = None if token is None else sha256(token.encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        self.metrics.in_flight += 1
        try:
            await self._pass(scope, receive, watched)
        finally:
            self.metrics.in_flight -= 1
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.request(_route(scope["path"]), method, status, time.perf_counter() - start)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._check(scope, headers)
            if scope["method"] == "POST":
                receive = await self._read(receive)
        except Refused as refused:
            answer = JSONResponse({"error": refused.reason}, refused.status, refused.headers)
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse a request if its headers give a reason."""
        if self.token is None and not is_local(_host(headers.get("host", ""))):
            raise Refused(421, "this server answers only to localhost.")  # against DNS rebinding by other sites
        if scope["path"] not in OPEN and not self._knows(headers.get("authorization", "")):
            raise Refused(401, "a token is needed: Authorization: Bearer TOKEN.", www_authenticate="Bearer")
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

    def _knows(self, given: str) -> bool:
        """Return whether the token is correct; the time this takes reveals nothing about it."""
        scheme, _, token = given.partition(" ")
        if self.token is None:
            return True
        same = hmac.compare_digest(sha256(token.strip().encode("latin-1")).digest(), self.token)
        return same and scheme.lower() == "bearer"

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
