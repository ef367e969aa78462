"""Check the server as a separate process, and the errors of its command."""

import json
import re
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException

import pytest

from lookalike.index import Index
from lookalike.serve import listening
from tests.commands import GUARD, complaint, spawn
from tests.serving import CAT, HAT, JSON, OTHER, TOKEN, parsed

pytestmark = pytest.mark.server

# --- a server process ---


class Server:
    """A server in its own process."""

    def __init__(self, *args, script=None):
        self.process = spawn("serve", *args, "--port", 0, script=script)
        self.said = []
        while not self.said or not self.said[-1].startswith("serving "):
            line = self.process.stderr.readline().decode()
            assert line, self.said
            self.said.append(line)
        self.port = int(re.search(r":(\d+)/; press Ctrl-C to stop$", self.said[-1]).group(1))

    def __call__(self, method, path, message=None, host="127.0.0.1", **headers):
        connection = HTTPConnection(host, self.port, timeout=GUARD)
        try:
            body = None if message is None else json.dumps(message)
            connection.request(method, path, body, headers | (JSON if body else {}))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def stop(self, how=signal.SIGTERM):
        """Stop it; return its exit code and its last output."""
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=GUARD)
        return self.process.returncode, err.decode()


@pytest.fixture
def server():
    """Start servers, and end those that are left."""
    started = []

    def start(*args, **options):
        started.append(Server(*args, **options))
        return started[-1]

    yield start
    for one in started:
        with suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()
        one.process.stdout.close()
        one.process.stderr.close()


@pytest.fixture
def place(tmp_path):
    """Return the folder of an index of texts that is not open."""
    texts = [CAT, OTHER, *(f"text number {number} of many, {number * 7919}" for number in range(50))]
    Index.build(
        tmp_path / "secret.index", texts, [f"t{at}" for at in range(52)], threshold=0.5, shingles="char:4"
    ).close()
    return tmp_path / "secret.index"


# Waits for the disk, and for further requests, as long as a busy machine takes.
PATIENT = f"""
import functools, uvicorn
import lookalike.serve
lookalike.serve.PATIENCE = {GUARD}
uvicorn.Config = functools.partial(uvicorn.Config, timeout_keep_alive={GUARD})
from lookalike.cli import main
main()
"""


def test_many_requests_at_a_time(place, server):
    """A hundred clients: no error, and no more memory at the end than in the middle."""
    served = server(place, script=PATIENT)
    assert served.said == [f"serving 52 items at http://127.0.0.1:{served.port}/; press Ctrl-C to stop\n"]
    with pytest.raises(ConnectionRefusedError):
        served("GET", "/health", host="127.0.0.2")  # the same machine, but another address
    statuses, memory = Counter(), []

    def resident():
        with open(f"/proc/{served.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024

    def asker(number):
        """Every tenth adds and removes an item, which waits for the disk; the others only read."""
        calls = [("POST", "/query", {"items": [HAT, OTHER]}), ("GET", "/items/t0", None), ("GET", "/info", None)]
        if number % 10 == 0:
            own = {"items": [f"{number} {CAT}"], "ids": [f"own/{number}"]}
            calls = [
                ("POST", "/items", own),
                *((method, f"/items/own%2F{number}", None) for method in ("GET", "DELETE")),
            ]
        with closing(HTTPConnection("127.0.0.1", served.port, timeout=GUARD)) as connection:
            for _ in range(2):
                for method, path, message in calls * 4:
                    connection.request(method, path, message and json.dumps(message), JSON if message else {})
                    answer = connection.getresponse()
                    answer.read()
                    with lock:
                        statuses[method, answer.status] += 1
                together.wait()
                together.wait()  # until the memory is measured

    lock, together = threading.Lock(), threading.Barrier(101, timeout=GUARD)
    threads = [threading.Thread(target=asker, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        together.wait()
        memory.append(resident())
        together.wait()
    for thread in threads:
        thread.join()
    assert statuses == {("POST", 200): 720, ("POST", 201): 80, ("GET", 200): 1520, ("DELETE", 204): 80}
    assert memory[1] - memory[0] < 16  # MB
    counted = parsed(served("GET", "/metrics")[1])["lookalike_requests_total"]
    assert sum(counted.values()) == sum(statuses.values())
    assert served.stop() == (0, "stopped\n")
    with Index.open(place) as index:
        assert index.verify() == 52


# An item "slow" waits until a file exists; requests get `grace` seconds when the server stops.
WAITING = """
import os, time
from pathlib import Path
import lookalike.serve
from lookalike.index import Index
lookalike.serve.GRACE = {grace}
def waiting(quick):
    def wait(self, items, *args, **options):
        if "slow" in items:
            os.write(1, b"begun\\n")  # in one piece, whichever threads write
            while not Path({go_on!r}).exists():
                time.sleep(0.01)
        return quick(self, items, *args, **options)
    return wait
Index.look, Index.add = waiting(Index.look), waiting(Index.add)
from lookalike.cli import main
main()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_answered(place, tmp_path, server, how):
    """The server is open to other machines, with a token."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(0o600)
    script = WAITING.format(grace=GUARD, go_on=str(tmp_path / "go on"))
    served = server(place, "--host", "0.0.0.0", "--token-file", tmp_path / "token", script=script)
    assert len(served.said) == 1
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert [served("GET", "/info")[0], served("GET", "/info", **bearer)[0]] == [401, 200]
    asked = [("/query", {"items": ["slow"]}), ("/items", {"items": ["slow"], "ids": ["slow"]})]
    answers = []
    threads = [
        threading.Thread(target=lambda call=call: answers.append(served("POST", *call, **bearer)[0])) for call in asked
    ]
    for thread in threads:
        thread.start()
    assert [served.process.stdout.readline() for _ in asked] == [b"begun\n"] * 2
    served.process.send_signal(how)
    refused = False
    while not refused:  # no new connections
        try:
            socket.create_connection(("127.0.0.1", served.port)).close()
            time.sleep(0.01)
        except ConnectionRefusedError:
            refused = True
    assert answers == []
    (tmp_path / "go on").touch()
    for thread in threads:
        thread.join()
    _, err = served.process.communicate(timeout=GUARD)
    assert (sorted(answers), served.process.returncode) == ([200, 201], 0)
    assert err.decode().endswith("stopped\n")
    with Index.open(place) as index:
        assert index.verify() == 53


def test_a_body_that_never_ends_does_not_keep_the_server(place, server):
    served = server(place, script=WAITING.format(grace=1, go_on="never"))
    address = ("127.0.0.1", served.port)
    with socket.create_connection(address) as idle, socket.create_connection(address) as stuck:
        stuck.sendall(b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        stuck.sendall(b"Content-Length: 100\r\n\r\n{")
        while parsed(served("GET", "/metrics")[1])["lookalike_requests_in_flight"][()] < 2:
            time.sleep(0.01)
        code, err = served.stop()
        assert (code, err.splitlines()[-1]) == (0, "stopped")
        assert idle.recv(1) == b""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_thread_that_never_ends_does_not_keep_the_server(place, server, how):
    """Its request is answered with 503, and the process exits."""
    served = server(place, script=WAITING.format(grace=2, go_on="never"))
    answers = []
    asker = threading.Thread(target=lambda: answers.append(served("POST", "/query", {"items": ["slow"]})))
    asker.start()
    assert served.process.stdout.readline() == b"begun\n"
    code, err = served.stop(how)
    asker.join()
    assert answers == [(503, '{"error":"the server is stopping; try again."}')]
    assert (code, err) == (0, "stopped\n")


def test_files_are_read_again(place, tmp_path, server):
    """On SIGHUP: new tokens are used, broken ones are not, and the access log is opened anew."""
    tokens, logged = tmp_path / "tokens", tmp_path / "access.jsonl"
    tokens.write_text(f"ann read {TOKEN}-ann\n")
    tokens.chmod(0o600)
    served = server(place, "--token-file", tokens, "--access-log", logged)
    ann, bob = ({"Authorization": f"Bearer {TOKEN}-{name}"} for name in ("ann", "bob"))
    assert [served("GET", "/info", **who)[0] for who in (ann, bob)] == [200, 401]
    tokens.write_text(f"bob write {TOKEN}-bob\n")
    logged.rename(tmp_path / "old.jsonl")
    served.process.send_signal(signal.SIGHUP)
    while served("GET", "/info", **bob)[0] == 401:
        time.sleep(0.01)
    assert served("GET", "/info", **ann)[0] == 401
    tokens.write_text("broken")
    served.process.send_signal(signal.SIGHUP)
    line = served.process.stderr.readline().decode()
    assert line == f"{tokens}: a token must be one word of at least 16 ASCII characters. Nothing was changed.\n"
    assert served("GET", "/info", **bob)[0] == 200
    assert served.stop() == (0, "stopped\n")
    lines = [line for name in ("old.jsonl", "access.jsonl") for line in (tmp_path / name).read_text().splitlines()]
    names = [json.loads(line)["token"] for line in lines]
    assert (names[0], names[-1]) == ("ann", "bob")


SLOW_CLIENTS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
from lookalike.cli import main
main()
"""


def test_more_slow_clients_than_files(place, server):
    """Others are answered meanwhile, and the log stays empty."""
    served = server(place, script=SLOW_CLIENTS)
    slow = []
    try:
        for number in range(400):
            slow.append(socket.create_connection(("127.0.0.1", served.port)))
            slow[-1].sendall(b"GET / HTTP/1.1\r\nA: ")
            if number % 50 == 49:
                assert served("POST", "/query", {"items": [CAT]})[0] == 200
        assert served.stop() == (0, "stopped\n")
    finally:
        for one in slow:
            one.close()


def test_what_was_answered_survives_a_kill(place, server):
    served = server(place)
    answered = []

    def add():
        with suppress(OSError, HTTPException):  # the last answer may be cut off anywhere
            for number in range(100_000):
                status, _ = served("POST", "/items", {"items": [f"added {number}"], "ids": [number]})
                answered.append((number, status))

    adder = threading.Thread(target=add)
    adder.start()
    while len(answered) < 50 and adder.is_alive():
        time.sleep(0.001)
    served.process.kill()
    adder.join()
    assert {status for _, status in answered} == {201}
    with Index.open(place) as index:
        assert index.verify() - 52 - len(answered) in (0, 1)  # one may be written but not answered
        assert all(number in index for number, _ in answered)


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
from lookalike.cli import main
main()
"""


def test_a_full_disk(place, server):
    """Simulated by a limit on file sizes; queries are still answered."""
    served = server(place, script=FULL)
    statuses, last, count = [], "", 52
    while not statuses or statuses[-1] == 201:
        first = 500 * len(statuses)
        items = [f"text {number} {CAT} {number * 104729}" for number in range(first, first + 500)]
        status, last = served("POST", "/items", {"items": items, "ids": list(range(first, first + 500))})
        statuses.append(status)
        count += 500 * (status == 201)
    assert statuses[-1] == 503
    assert json.loads(last) == {"error": "the index is unavailable; see the server log."}
    assert [served("GET", "/health")[0], served("POST", "/query", {"items": [CAT]})[0]] == [200, 200]
    code, err = served.stop()
    assert code == 0
    assert f"{place}: could not be written; the disk may be full. Nothing was changed." in err
    with Index.open(place) as index:
        assert index.verify() == count


# --- errors of the command ---


def test_the_port_is_in_use(place, run):
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ended = run("serve", place, "--port", port)
    assert ended.code == 1
    assert complaint(ended).startswith(f"cannot listen on 127.0.0.1, port {port}: Address already in use")


def test_answers_are_sent_at_once():
    with listening("127.0.0.1", 0) as listener:  # accepted connections inherit its options
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_the_port_is_named_once(place, run):
    with listening("127.0.0.1", 0) as taken:
        ended = run("serve", place, "--port", taken.getsockname()[1])
    assert complaint(ended).endswith(": Address already in use.")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "elsewhere.example", ""])
def test_another_address_needs_a_token(place, run, host):
    with listening("127.0.0.1", 0) as taken:  # so that no server can start
        ended = run("serve", place, "--port", taken.getsockname()[1], "--host", host)
    assert (ended.code, complaint(ended)) == (
        2,
        f"--host {host} is open to other machines: name a --token-file; `openssl rand -hex 32` makes a token."
        if host
        else "--host is open to other machines: name a --token-file; `openssl rand -hex 32` makes a token.",
    )


def test_no_index(tmp_path, run):
    ended = run("serve", tmp_path / "no.index", "--port", 0)
    assert ended.code == 1
    assert complaint(ended) == (f"{tmp_path}/no.index: no such folder; create an index with `lookalike index build`.")


BOUNDS = [
    ("--port", -1, "least 0"), ("--port", 65536, "most 65535"),
    ("--max-bytes", 0, "least 1"), ("--max-items", 0, "least 1"), ("--max-requests", -5, "least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value", "bound"), BOUNDS)
def test_options_out_of_bounds(place, run, option, value, bound):
    ended = run("serve", place, option, value)
    assert (ended.code, complaint(ended)) == (2, f"{option} must be an integer of at {bound}; got {value}.")


TOKENS = {
    "empty": b"",
    "blank": b" \n",
    "short": b"0123456789abcde\n",
    "two lines": b"0123456789abcdef\n0123456789abcdef\n",
    "not ASCII": "0123456789abcdefé".encode(),
}


@pytest.mark.parametrize("content", TOKENS.values(), ids=TOKENS)
def test_tokens_that_will_not_do(place, tmp_path, run, content):
    (tmp_path / "token").write_bytes(content)
    ended = run("serve", place, "--port", 0, "--token-file", tmp_path / "token")
    assert ended.code == 1
    assert complaint(ended) == f"{tmp_path}/token: a token must be one word of at least 16 ASCII characters."


def test_token_files_that_cannot_be_read(place, tmp_path, run):
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    for name, reason in (("missing", "No such file or directory."), ("", "Is a directory."), ("bytes", "")):
        ended = run("serve", place, "--port", 0, "--token-file", tmp_path / name)
        assert ended.code == 1
        assert ": cannot read the token file: " in complaint(ended)
        assert complaint(ended).endswith(reason)


@pytest.mark.parametrize(("mode", "noted"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_token_file_that_others_can_read(place, tmp_path, run, mode, noted):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(mode)
    with listening("127.0.0.1", 0) as taken:  # so that the server stops at once
        ended = run("serve", place, "--port", taken.getsockname()[1], "--token-file", tmp_path / "token")
    note = f"note: {tmp_path}/token can be read by other users of this machine; chmod 600 makes it private\n"
    assert ended.err.startswith(note) == noted
    assert TOKEN not in ended.err
    assert "Address already in use" in ended.err


@pytest.mark.parametrize("module", ["fastapi", "uvicorn"])
def test_without_the_extra(module):
    script = f"import sys; sys.modules[{module!r}] = None\nfrom lookalike.cli import main\nmain()"
    process = spawn("serve", "some.index", script=script)
    _, err = process.communicate(timeout=GUARD)
    assert process.returncode == 2
    assert err.decode() == "lookalike: the server needs FastAPI and uvicorn: pip install 'lookalike[serve]'.\n"
