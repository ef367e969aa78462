"""Check the fuzzers: that they find what they should, and find nothing in a few cases."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.failures import Failures
from fuzz.files import Case, FileFuzzer, faults
from fuzz.requests import RequestFuzzer, answer_fault, is_whole
from fuzz.samples import Sample
from fuzz.worker import Outcome, Worker

SECRET = "secret-0123456789"
CASE = Case(Sample("a.txt", b"", (), verbatim=True), b"one line\nanother\n", "dedup {file} -o {out}/kept.jsonl")
FINE = Outcome(0, b"", b"")


@pytest.fixture
def failures(tmp_path: Path) -> Failures:
    return Failures(tmp_path / "failures")


@pytest.mark.slow
def test_a_few_damaged_files(failures: Failures) -> None:
    fuzzer = FileFuzzer(1, failures)
    count = 2 * len(fuzzer.samples)
    fuzzer.run(iter(range(count)))
    assert (fuzzer.tried, failures.count) == (count, 0)


@pytest.mark.slow
@pytest.mark.server
def test_a_few_damaged_requests(failures: Failures) -> None:
    fuzzer = RequestFuzzer(1, failures)
    fuzzer.run(iter(range(150)))
    assert (fuzzer.tried, failures.count) == (150, 0)


def test_a_seed_makes_the_same_cases(failures: Failures) -> None:
    one, same, other = (FileFuzzer(seed, failures) for seed in (7, 7, 8))
    cases = range(len(one.samples))
    assert [one.case(at) for at in cases] == [same.case(at) for at in cases]
    assert [one.case(at).content for at in cases] != [other.case(at).content for at in cases]


def test_outcomes_that_are_in_order(out: Path) -> None:
    (out / "kept.jsonl").write_text('{"text": "one line"}\n')
    assert faults(FINE, out, CASE, SECRET) == []
    (out / "kept.jsonl").unlink()
    assert faults(Outcome(1, b"", b"lookalike: row 3: null.\n"), out, CASE, SECRET) == []


@pytest.mark.parametrize(
    ("outcome", "found"),
    [
        (Outcome(1, b"", b"Traceback (most recent call last):\nKeyError: 1\n"), "a traceback: KeyError: 1"),
        (Outcome(3, b"", b"lookalike: a\n"), "exit status 3"),
        (Outcome(1, b"", b""), "not one line for exit status 1: []"),
        (Outcome(1, b"", b"lookalike: a\nb\n"), "not one line for exit status 1: ['lookalike: a', 'b']"),
        (Outcome(0, b"", b"malloc(): invalid size\n"), "not one line for exit status 0: ['malloc(): invalid size']"),
        (Outcome(0, SECRET.encode(), b""), "the secret in the process's memory was written"),
        (Outcome(-1, b"", b"", "was killed by SIGSEGV"), "the process was killed by SIGSEGV"),
    ],
)
def test_bad_outcomes_are_found(out: Path, outcome: Outcome, found: str) -> None:
    assert faults(outcome, out, CASE, SECRET) == [found]


def test_control_characters_are_found(out: Path) -> None:
    (fault,) = faults(Outcome(1, b"", b"lookalike: \x1b[2J\n"), out, CASE, SECRET)
    assert fault.startswith("control characters in a message")


def test_bad_files_are_found(out: Path) -> None:
    (out / "kept.jsonl").write_text(f'{{"text": "one line", "more": ["another", "{SECRET}"]}}\n')
    (out / ".kept.jsonl.1.part").touch()
    assert faults(FINE, out, CASE, SECRET) == [
        "left behind: .kept.jsonl.1.part",
        "the secret in the process's memory was written",
        f"a text that is not in the file: {SECRET!r}",
    ]


def misbehave() -> None:
    """Stand in for the command line: do what the argument says."""
    what = sys.argv[1]
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif what == "wait":
        time.sleep(1000)
    elif what == "raise":
        raise KeyError(what)
    os.write(1, b"printed\n")
    sys.exit(0)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(SECRET.encode(), 60.0, misbehave)
    yield made
    made.stop()


@pytest.mark.slow
def test_a_worker_survives_what_it_runs(worker: Worker) -> None:
    assert worker(["print"]) == Outcome(0, b"printed\n", b"")
    assert worker(["crash"]).fate == "was killed by SIGSEGV"
    assert worker(["raise"]).err.endswith(b"KeyError: 'raise'\n")
    worker.limit = 0.5
    assert worker(["wait"]).fate == "took more than 0.5 seconds"


def test_answers() -> None:
    assert answer_fault(b"HTTP/1.1 503 Service Unavailable\r\n\r\n") == answer_fault(b"") == ""
    assert answer_fault(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Error\r\n\r\n") == "status 500"
    assert answer_fault(b"Segmentation fault") == "the answer is not HTTP"


def test_whole_requests() -> None:
    """A server cannot answer half a request, but it can refuse a wrong one at once."""
    head = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"
    assert [is_whole(request) for request in (b"", head, head + b"{", head + b"{}", b"\0", b"GET /")] == [
        False, False, False, True, True, False,
    ]  # fmt: skip
