"""Check that only results go to standard output, and that bars appear only on terminals."""

import json
import os
import pty
import re
from itertools import count
from pathlib import Path

import pytest

from tests.commands import SLOW, Commands, spawn


@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_results_and_the_rest_go_apart(run: Commands, corpus: Path, out: Path, command: str) -> None:
    outcome = run(command, corpus)
    assert all(json.loads(line) for line in outcome.out.splitlines())
    starts = [line.split(":")[0] for line in outcome.err.splitlines() if not line.startswith("first run")]
    assert [start for start in starts if not start.startswith(" ")] == ["plan", "read", "found", "time"]
    to_file = run(command, corpus, "-o", out / "result.csv")
    assert to_file.out == ""
    assert to_file.err.startswith(("plan: ", "first run: "))
    quiet = run(command, corpus, "--quiet")
    assert (quiet.out, quiet.err) == (outcome.out, "")


@pytest.mark.slow
def test_no_bars_without_a_terminal(corpus: Path, out: Path) -> None:
    process = spawn("pairs", corpus, "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    said = process.communicate()[1].decode()
    assert process.returncode == 0
    assert "\x1b" not in said
    assert "\r" not in said
    assert "read and sketch" in said.splitlines()[-1]  # long enough for a bar


def on_a_terminal(*args: object, script: str) -> str:
    """Return what a command writes to standard error if that is a terminal."""
    ours, theirs = pty.openpty()
    process = spawn(*args, script=script, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while some := os.read(ours, 1 << 16):
            said += some
    except OSError:  # Linux: the other side is closed
        pass
    os.close(ours)
    process.communicate()
    assert process.returncode == 0
    return said.decode()


@pytest.mark.slow
def test_bars_on_a_terminal(corpus: Path, out: Path) -> None:
    said = on_a_terminal("pairs", corpus, "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    assert re.search(r"read and sketch .*\d+/\d+", said)  # for JSON lines the total is an estimate
    assert "━" in said
    assert "found: 60 similar pairs" in said
    assert "next: add --report report.html to see the result side by side in a browser" in said
    quiet = on_a_terminal("pairs", corpus, "-q", "-o", out / "pairs.csv", script=SLOW.format(pause=0.05))
    assert quiet == ""


def test_the_times_add_up_to_what_the_user_waited(
    run: Commands, corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing counts, which comes after the search, and so does what is in no stage."""
    clock = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))  # each look takes a second
    err = run("dedup", corpus, "-o", out / "kept.jsonl").err
    line = next(line for line in err.splitlines() if line.startswith("time: "))
    times = dict(re.findall(r"(?:, |: )([a-z -]+) ([\d.]+) s", line))
    total = float(times.pop("in all"))
    assert {"write", "other"} <= set(times)
    assert sum(map(float, times.values())) == pytest.approx(total)
