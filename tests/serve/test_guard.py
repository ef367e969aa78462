"""Check who can use the server, and how much."""

import asyncio
import hmac
import json
import threading

import pytest

from lookalike.serve import Limits, make_app
from tests.commands import GUARD
from tests.serving import CAT, JSON, TOKEN, ask, checked, client_of, get, one, parsed, raw

# --- refused requests ---


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_bodies_must_be_said_to_be_json(still, app, kind):
    headers = {} if kind is None else {"content-type": kind}
    body = json.dumps({"items": ["x"], "ids": ["n"]}).encode()
    assert one(app, "POST", "/items", {"content": body, "headers": headers}) == (
        415,
        {"error": "the body must be JSON: Content-Type: application/json."},
    )
    assert len(still) == 2


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", " application/json ;x"])
def test_json_by_other_spellings(app, kind):
    assert one(app, "POST", "/query", {"content": b'{"items": ["x"]}', "headers": {"content-type": kind}})[0] == 200


async def chunks(*parts, pause=0.0):
    for part in parts:
        yield part
        await asyncio.sleep(pause)


def test_the_size_of_bodies(texts):
    app = make_app(texts, limits=Limits(body=1000))
    message = b'{"items": ["%s"]}'
    fits = message % (b"x" * (1000 - len(message) + 2))
    assert len(fits) == 1000
    too_large = (413, {"error": "the body must have at most 1,000 bytes."})
    assert one(app, *raw("/query", fits))[0] == 200
    assert one(app, *raw("/query", fits + b" ")) == too_large
    assert one(app, *raw("/query", chunks(fits[:600], fits[600:])))[0] == 200
    assert one(app, *raw("/query", chunks(fits[:600], fits[600:], b" "))) == too_large
    lying = {"content-length": "5"}
    assert one(app, *raw("/query", chunks(fits, fits), **lying)) == too_large
    for size in ("1001", "99999999999999"):
        assert one(app, *get("/info", content_length=size)) == too_large
    for size in ("-1", "x", "1e3", "0x10", ""):
        assert one(app, *get("/info", content_length=size))[0] == 400
    (answer,) = ask(app, raw("/query", fits + b" "))
    assert answer.headers["connection"] == "close"


def test_a_body_that_is_too_large_is_not_read(texts):
    """It is refused by its headers, or at the first chunk over the limit."""
    read = []

    async def endless():
        while True:
            read.append(1)
            yield b" " * 400

    app = make_app(texts, limits=Limits(body=1000))
    assert one(app, *raw("/query", endless(), **{"content-length": "4000"}))[0] == 413
    assert read == []
    assert one(app, *raw("/query", endless()))[0] == 413
    assert len(read) == 3


def test_a_length_of_many_digits(app):
    (answer,) = ask(app, get("/info", content_length="9" * 5000))
    assert answer.status_code == 413


def test_a_slow_body(texts):
    app = make_app(texts, limits=Limits(seconds=0.2))
    (answer,) = ask(app, raw("/query", chunks(b'{"items": ', b'["x"]}', pause=3600)))
    assert (answer.status_code, answer.json()) == (408, {"error": "the body took too long to arrive."})
    assert answer.headers["connection"] == "close"
    app = make_app(texts, limits=Limits(seconds=GUARD))
    assert one(app, *raw("/query", chunks(b'{"items": ', b'["x"]}', pause=0.001)))[0] == 200


def test_a_client_that_goes_away(texts):
    guard = make_app(texts)
    scope = {"type": "http", "method": "POST", "path": "/items", "query_string": b"", "http_version": "1.1"}
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    coming = [{"type": "http.request", "body": b'{"items": ["x"], "ids": [1]}', "more_body": True}]
    sent = []

    async def receive():
        return coming.pop() if coming else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    assert sent[0]["status"] == 400
    assert guard.metrics.in_flight == 0
    assert len(texts) == 2


def test_the_number_of_requests(texts, monkeypatch):
    app = make_app(texts, limits=Limits(requests=2))
    begun, go_on = threading.Semaphore(0), threading.Event()
    quick = texts.look

    def slow(*args, **options):
        begun.release()
        assert go_on.wait(GUARD)
        return quick(*args, **options)

    monkeypatch.setattr(texts, "look", slow)

    async def crowd():
        async with client_of(app) as client:
            try:
                held = [asyncio.create_task(client.post("/query", json={"items": [CAT]})) for _ in range(2)]
                for _ in held:
                    assert await asyncio.to_thread(begun.acquire, timeout=GUARD)
                third = await client.post("/query", json={"items": [CAT]})
                always = [(await client.get(path)).status_code for path in ("/health", "/metrics", "/info")]
                metrics = (await client.get("/metrics")).text
            finally:
                go_on.set()
            first = [(await answer).status_code for answer in held]
            return first, checked(third), always, metrics, (await client.get("/info")).status_code

    first, third, always, metrics, after = asyncio.run(crowd())
    assert (third.status_code, third.json()) == (429, {"error": "more than 2 requests at a time; try again."})
    assert third.headers["retry-after"] == "1"
    assert (first, always, after) == ([200, 200], [200, 200, 429], 200)
    assert parsed(metrics)["lookalike_requests_in_flight"][()] == 3


# --- access ---

OPEN = ["/", "/page.css", "/page.js", "/common.js", "/icon.svg", "/health"]
CLOSED = [
    "/openapi.json",
    "/info",
    "/metrics",
    "/items/cat",
    "/query",
    "/items",
    "/compare",
    "/nope",
    "/health/",
    "//health",
]
BEARERS = {
    "none": (None, 401),
    "empty": ("", 401),
    "right": (f"Bearer {TOKEN}", 200),
    "small letters": (f"bearer {TOKEN}", 200),
    "wrong": (f"Bearer {TOKEN[:-1]}x", 401),
    "cut": (f"Bearer {TOKEN[:-1]}", 401),
    "longer": (f"Bearer {TOKEN}x", 401),
    "another scheme": (f"Basic {TOKEN}", 401),
    "no scheme": (TOKEN, 401),
    "scheme alone": ("Bearer", 401),
    "not ASCII": (f"Bearer {TOKEN}é".encode("latin-1"), 401),
    "UTF-8": ("Bearer ключ".encode(), 401),
}


@pytest.mark.parametrize(("given", "status"), BEARERS.values(), ids=BEARERS)
def test_tokens(closed, given, status):
    (answer,) = ask(closed, ("GET", "/info", {"headers": {} if given is None else {"authorization": given}}))
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json() == {"error": "a token is needed: Authorization: Bearer TOKEN."}


def test_what_is_open_without_a_token(closed):
    assert {answer.status_code for answer in ask(closed, *map(get, OPEN))} == {200}
    base = "http://127.0.0.1"
    assert {answer.status_code for answer in ask(closed, *(get(base + path) for path in CLOSED))} == {401}
    methods = [(method, path, {"headers": JSON}) for method in ("POST", "DELETE", "OPTIONS") for path in CLOSED[:7]]
    assert {answer.status_code for answer in ask(closed, *methods)} == {401}


def test_tokens_are_compared_in_constant_time(texts, monkeypatch):
    """Digests of equal length are compared, whatever is given."""
    compared = []

    def watched(left, right):
        compared.append((len(left), len(right)))
        return compare(left, right)

    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", watched)
    app = make_app(texts, token=TOKEN)
    for bearer, _ in BEARERS.values():
        ask(app, ("GET", "/info", {"headers": {} if bearer is None else {"authorization": bearer}}))
    assert compared == [(32, 32)] * len(BEARERS)


HOSTS = {
    "localhost": 200,
    "LOCALHOST:8000": 200,
    "127.0.0.1": 200,
    "127.0.0.1:80": 200,
    "[::1]:80": 200,
    "": 421,
    "elsewhere.example": 421,
    "localhost.elsewhere.example": 421,
    "127.0.0.1.nip.io": 421,
    "0.0.0.0": 421,
    "192.168.1.1:8000": 421,
    "2130706433": 421,
    "127.0.0.1@elsewhere.example": 421,
}


@pytest.mark.parametrize(("host", "status"), HOSTS.items())
def test_hosts(app, closed, host, status):
    """DNS rebinding from another site is refused; with a token, any host name is accepted."""
    for path in ("/health", "/info", "/"):
        assert ask(app, get(path, host=host))[0].status_code == status
    assert ask(closed, get("/health", host=host))[0].status_code == 200
