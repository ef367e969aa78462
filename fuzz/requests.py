"""Sends damaged requests to servers, one for each kind of index, and checks the answers."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import h11

from fuzz import mutate, samples
from fuzz.failures import Failure, Failures

LIMIT = 60.0  # seconds to wait for an answer, ample even on a busy machine
METHODS = (
    "GET",
    "POST",
    "DELETE",
    "HEAD",
    "PUT",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "",
    "X" * 100,
    "GET\0",
    "\u00e9",
)
PATHS = (
    "/", "/query", "/items", "/items/", "/items/1", "/items/a%00b", "/items/%ff%fe", "/items/" + "x" * 600, "/info",
    "/items/../health", "/items/1?number=true", "/items/1?number=maybe", "/items/9223372036854775808", "/compare",
    "/health", "/metrics", "/openapi.json", "/page.js", "/../../etc/passwd", "//query", "*", "/" + "a" * 3000,
    "/query?" + "a=1&" * 500, "/%", "\u00e9",
)  # fmt: skip
HEADERS = (
    "Content-Length: -1", "Content-Length: 1", "Content-Length: 99999999999999999999", "Content-Length: 5, 5",
    "Content-Length: +3", "Content-Type: text/plain", "Content-Type: application/json; charset=utf-16",
    "Content-Type:", "Content-Encoding: gzip", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
    "Host: example.org", "Host:", "Expect: 100-continue", "Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c",
    "Authorization: Bearer x", "Cookie: a=" + "b" * 2000, "X" * 2000 + ": y", "A B: c", "X: \r\n y", "X: \0", "X",
    "Origin: null", "Range: bytes=0-1",
)  # fmt: skip
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
ADDRESS = re.compile(r"at http://127\.0\.0\.1:(\d+)/")


class Server:
    """A server of one index, in a process of its own, whose log a thread collects."""

    def __init__(self, kind: str, index: Path) -> None:
        self.kind, self.port, self.log = kind, 0, ""
        command = [sys.executable, "-m", "lookalike", "serve", str(index), "--port", "0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.known, self.reader = Event(), Thread(target=self._read_log, daemon=True)
        self.reader.start()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := ADDRESS.search(line):
                self.port = int(found[1])
                self.known.set()
            self.log += line
        self.known.set()

    def wait(self) -> None:
        """Wait until the server says where it listens."""
        self.known.wait()
        if not self.port:
            raise RuntimeError(f"the server of {self.kind} did not start: {self.log}")

    def ask(self, request: bytes) -> bytes:
        """Send a request and return the answer; half a request need not be answered."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as connection:
            try:
                connection.sendall(request)
                waiting = is_whole(request)
                while waiting and (some := connection.recv(1 << 16)):
                    answer += some
                    waiting = answer.endswith(b"100 Continue\r\n\r\n")
                connection.shutdown(socket.SHUT_WR)  # so that the server does not wait for another request
                while some := connection.recv(1 << 16):
                    answer += some
            except TimeoutError:
                raise
            except OSError:
                pass  # the server may close a connection once it has refused the request
        return answer

    def stop(self) -> str:
        """Stop the server; return its log."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)
        self.close()
        return self.log

    def close(self) -> None:
        """Read the rest of the log of a server that has ended."""
        self.reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


class RequestFuzzer:
    """Makes requests from a seed, sends them, and saves those that are not answered well."""

    def __init__(self, seed: int, failures: Failures) -> None:
        self.seed, self.failures, self.tried = seed, failures, 0

    def run(self, numbers: Iterator[int]) -> None:
        """Send requests by their numbers, to the servers in turn."""
        with TemporaryDirectory() as folder, ExitStack() as running:
            servers = [running.enter_context(_running(kind, path)) for kind, path in make_indexes(Path(folder))]
            for server in servers:
                server.wait()
            for number in numbers:
                self._try(number, servers[number % len(servers)])
            for server in servers:
                self._check_alive(server)

    def _try(self, number: int, server: Server) -> None:
        request = made_request(server.kind, Random(f"{self.seed} {number}"))
        answer = b""
        try:
            answer = server.ask(request)
            fault = answer_fault(answer)
        except TimeoutError:
            fault = f"no answer within {LIMIT:g} seconds"
        except ConnectionRefusedError:
            fault = "the server is gone"
        self.tried += 1
        if fault:
            again = f"python -m fuzz requests --seed {self.seed} --case {number}"
            self.failures.add(Failure(f"{server.kind}: {fault}", again, request, "request.bin", answer))

    def _check_alive(self, server: Server) -> None:
        """Check that a server still answers, and what it has logged."""
        answer = server.ask(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        log = server.stop()
        if not answer.startswith(b"HTTP/1.1 200"):
            self._fails(server, "the server does not answer /health in the end", answer)
        if "Traceback" in log:
            self._fails(server, "a traceback in the log of the server", log.encode())

    def _fails(self, server: Server, why: str, said: bytes) -> None:
        again = f"python -m fuzz requests --seed {self.seed} --cases {self.tried}"
        self.failures.add(Failure(f"{server.kind}: {why}", again, b"", "request.bin", said))


@contextmanager
def _running(kind: str, index: Path) -> Iterator[Server]:
    server = Server(kind, index)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def make_indexes(folder: Path) -> Iterator[tuple[str, Path]]:
    """Build a small index of each kind; yield the kinds and places."""
    from lookalike.index import Index
    from lookalike.items.bits import Bits

    texts = samples.documents()["text"].to_pylist()
    settings: dict[str, tuple[Any, dict[str, Any]]] = {
        "texts": (texts, {"threshold": 0.5, "shingles": "char:4", "store_text": True}),
        "sets": ([text.split() for text in texts], {"threshold": 0.4}),
        "vectors": (samples.vectors(), {"measure": "angle", "threshold": 20}),
        "bits": (Bits.of(["0101", "0111", "1111"]), {"measure": "hamming", "threshold": 1}),
        "pages": (texts, {"threshold": 0.5, "store_text": True, "notes": {"html": True, "article": True}}),
    }
    for kind, (items, options) in settings.items():
        place = folder / f"{kind}.index"
        Index.build(place, items, **options).close()
        yield kind, place


def is_whole(request: bytes) -> bool:
    """Return whether a server can answer without waiting for more: the request is complete, or wrong."""
    if not request:
        return False
    reading = h11.Connection(h11.SERVER)
    try:
        reading.receive_data(request)
        while isinstance(event := reading.next_event(), h11.Request | h11.Data):
            pass
        return isinstance(event, h11.EndOfMessage)
    except h11.RemoteProtocolError:
        return True


def answer_fault(answer: bytes) -> str:
    """Return what is wrong with the answers to a request, or ""; no answer at all is allowed."""
    bad = [int(status) for status in STATUS.findall(answer) if int(status) >= 500 and int(status) != 503]
    if answer and not answer.startswith(b"HTTP/1.1 "):
        return "the answer is not HTTP"
    return f"status {bad[0]}" if bad else ""


# --- requests ---


def item_of(kind: str, draw: Random) -> Any:
    """Return a valid item for an index of a kind."""
    words = draw.choices(samples.WORDS, k=10)
    vector = [round(draw.random(), 3) for _ in range(8)]
    page = f"<html><body><p>{' '.join(words)}<p>and more</body></html>"
    return {"texts": " ".join(words), "sets": words, "vectors": vector, "bits": "0110", "pages": page}[kind]


def valid_message(kind: str, draw: Random) -> tuple[str, Any]:
    """Return a path that takes a body, and a valid message for it."""
    items = [item_of(kind, draw) for _ in range(draw.choice((1, 1, 2)))]
    query = {"items": items, "threshold": 0.5, "k": 3}
    adding = {
        "items": items,
        "ids": [draw.choice((f"n{draw.randrange(9)}", draw.randrange(9))) for _ in items],
        "replace": True,
    }
    text = items[0] if isinstance(items[0], str) else "some text"
    return draw.choice(
        [("/query", query), ("/query", query), ("/items", adding), ("/compare", {"text": text, "id": 1})]
    )


def made_request(kind: str, draw: Random) -> bytes:
    """Return a request, usually damaged in its message, its head or its bytes."""
    path, message = valid_message(kind, draw)
    how = draw.choice(("valid", "message", "message", "message bytes", "head", "chunks", "bytes", "no body"))
    body = json.dumps(message).encode()
    method, headers = "POST", ["Host: localhost", "Content-Type: application/json", "Connection: close"]
    if how == "message":
        body = mutate.damaged_json(message, draw)
    elif how == "message bytes":
        body = mutate.damaged(body, draw)
    elif how == "no body":
        method, path, body = draw.choice(METHODS), draw.choice(PATHS), b""
    if how == "head":
        method, path = draw.choice((method, draw.choice(METHODS))), draw.choice((path, draw.choice(PATHS)))
        headers += draw.choices(HEADERS, k=draw.choice((1, 2, 3, 100)))
        draw.shuffle(headers)
    if how == "chunks":
        headers.append("Transfer-Encoding: chunked")
        body = _chunks(body, draw)
    elif draw.random() < 0.9:
        headers.append(f"Content-Length: {len(body) + draw.choice((0,) * 20 + (1, -1, 1000))}")
    head = "".join(f"{line}\r\n" for line in headers)
    request = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogatepass") + body
    return mutate.damaged(request, draw) if how == "bytes" else request


def _chunks(body: bytes, draw: Random) -> bytes:
    """Return a chunked body, sometimes with wrong lengths."""
    made = b""
    while body:
        size = draw.choice((1, 7, 50, 1000))
        said = size if size <= len(body) else len(body)
        wrong = draw.choice((said, said, said, said, 0, said + 1, 2**63, -1))
        made += f"{wrong:x}".encode() + draw.choice((b"\r\n", b"\r\n", b";a=b\r\n", b"\n")) + body[:size] + b"\r\n"
        body = body[size:]
    return made + draw.choice((b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"", b"0\r\n"))
