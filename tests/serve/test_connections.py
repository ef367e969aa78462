"""Check that slow clients are closed, and that there are never more connections than fit."""

import asyncio
import logging
import resource
from contextlib import suppress

import pytest
import uvicorn

from lookalike.serve import listening
from lookalike.serve.connections import REPEATED, Sparing, connection_class, most_connections
from tests.commands import GUARD

QUICK, NEVER = 0.1, 3600.0  # seconds
HEADER = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def serving(app, clients, **options):
    """Run clients, given the port and the server, against a server in this process."""

    async def run():
        with listening("127.0.0.1", 0) as listener:
            http = connection_class(**({"most": 100, "header": NEVER, "answer": NEVER} | options))
            server = uvicorn.Server(uvicorn.Config(app, http=http, lifespan="off", log_level="critical", ws="none"))
            running = asyncio.create_task(server._serve([listener]))
            try:
                while not server.started:
                    await asyncio.sleep(0.001)
                async with asyncio.timeout(GUARD):
                    return await clients(listener.getsockname()[1], server)
            finally:
                server.should_exit = server.force_exit = True
                await running

    return asyncio.run(run())


async def connected(port, begun=b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begun)
    return reader, writer


async def ended(reader):
    """Wait until the server has closed a connection, and return what it said.

    If it closes with bytes of ours still unread, the connection is reset; what came before counts.
    """
    said = b""
    with suppress(ConnectionError):
        while some := await reader.read(1 << 16):
            said += some
    return said


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nA: ", HEADER + b"GET / HTTP/1.1\r\nA: "])
def test_a_header_that_never_ends(app, begun):
    async def clients(port, server):
        reader, writer = await connected(port, begun)
        said = await ended(reader)
        writer.close()
        return said

    said = serving(app, clients, header=QUICK)
    assert said.startswith(b"HTTP/1.1 200") == begun.startswith(HEADER)


def test_a_header_that_trickles(app):
    """Further bytes do not move the deadline."""

    async def clients(port, server):
        reader, writer = await connected(port, b"GET / HTTP/1.1\r\nA: ")
        closed = asyncio.create_task(ended(reader))
        while not closed.done():
            writer.write(b"a")
            await asyncio.wait((closed,), timeout=QUICK / 10)
        writer.close()

    serving(app, clients, header=QUICK)


def test_a_body_that_goes_on_after_a_refusal(app):
    """It is not read for longer than a header."""

    async def clients(port, server):
        reader, writer = await connected(
            port, b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
        )
        closed = asyncio.create_task(ended(reader))
        while not closed.done():
            writer.write(b" ")
            await asyncio.wait((closed,), timeout=QUICK / 10)
        writer.close()
        return closed.result()

    assert serving(app, clients, header=QUICK).startswith(b"HTTP/1.1 415")


def test_a_request_may_take_longer_than_its_header():
    async def slow(scope, receive, send):
        await asyncio.sleep(3 * QUICK)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def clients(port, server):
        reader, writer = await connected(port, HEADER)
        said = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return said

    assert serving(slow, clients, header=QUICK).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read():
    async def large(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": bytes(1_000_000), "more_body": True})
        await send({"type": "http.response.body"})

    async def clients(port, server):
        _, writer = await connected(port, HEADER)
        while not server.server_state.connections:
            await asyncio.sleep(0.001)
        while server.server_state.connections or server.server_state.tasks:
            await asyncio.sleep(0.001)
        writer.close()

    serving(large, clients, answer=QUICK)


def test_more_slow_clients_than_fit(app):
    """The oldest are closed; a client that sends its header is answered."""

    async def clients(port, server):
        slow = [await connected(port, b"GET / HTTP/1.1\r\nA: ") for _ in range(8)]
        reader, normal = await connected(port, HEADER)
        said = await reader.readuntil(b"\r\n\r\n")
        for oldest, _ in slow[:6]:
            assert await ended(oldest) == b""
        there = len(server.server_state.connections)
        for _, writer in [*slow, (None, normal)]:
            writer.close()
        return said, there

    said, there = serving(app, clients, most=3)
    assert said.startswith(b"HTTP/1.1 200")
    assert there == 3


def test_two_lengths(app):
    """A body with two lengths could hide a second request; the connection is closed."""

    async def clients(port, server):
        head = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        reader, writer = await connected(
            port, head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        writer.write(HEADER)
        said = await ended(reader)
        writer.close()
        return said

    said = serving(app, clients)
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1


def test_connections_leave_file_descriptors_for_the_index(monkeypatch):
    for files, most in ((1024, 832), (100, 32), (resource.RLIM_INFINITY, 65_344)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, files=files: (files, files))
        assert most_connections() == most


def test_repeated_messages_are_logged_once():
    sparing = Sparing()

    def passes(message):
        return sparing.filter(logging.LogRecord("asyncio", logging.ERROR, "", 0, message, None, None))

    assert [passes(f"{REPEATED[0]}\nsocket: 7") for _ in range(3)] == [True, False, False]
    assert passes("Invalid HTTP request received.")
    assert [passes("Exception in ASGI application\n") for _ in range(2)] == [True, True]
