"""Check that only results go to standard output, and that bars appear only on terminals."""

import json
import os
import pty
import re
from itertools import count
from pathlib import Path

import pytest

from lookalike.core.run import Run
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
    assert {"start-up", "write", "other"} <= set(times)
    assert sum(map(float, times.values())) == pytest.approx(total)


def test_the_time_before_the_command_counts(corpus: Path, out: Path) -> None:
    """The user waits for Python and for imports, too."""
    script = """
import time
from lookalike import cli
start = time.perf_counter() - 1000  # a slow start
cli.process_start = lambda otherwise: start
cli.main()
"""
    line = spawn("pairs", corpus, "-o", out / "pairs.csv", script=script).communicate()[1].decode().splitlines()[-1]
    times = dict(re.findall(r"(?:, |: )([a-z -]+) ([\d.]+) s", line))
    total = float(times.pop("in all"))
    assert float(times["start-up"]) >= 1000
    assert sum(map(float, times.values())) == pytest.approx(total, abs=0.1)  # of rounded and left out times


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("return 0", 0), ("return 2", 2), ("return 130", -2), ("return 143", -15), ("raise RuntimeError", 1)],
)
def test_the_process_ends_at_once_but_says_all(outcome: str, code: int) -> None:
    """What others do at exit is done, and what was printed is not lost."""
    script = f"""
import atexit
from lookalike import cli
def run(start):
    atexit.register(print, "at exit")
    print("first")
    {outcome}
cli.run = run
cli.main()
"""
    process = spawn(script=script)
    said, err = process.communicate()
    assert said.decode().split("\n") == ["first", "at exit", ""]
    assert process.returncode == code
    assert err.decode().endswith("RuntimeError\n" if "raise" in outcome else "")


@pytest.mark.parametrize("code", [130, 143])
def test_the_first_process_of_a_container_ends_too(code: int) -> None:
    """Signals that it sends to itself do not end it."""
    script = f"""
import os
from lookalike import cli
cli.run = lambda start: {code}
os.kill = lambda *args: None
cli.main()
"""
    process = spawn(script=script)
    assert (process.communicate(), process.returncode) == ((b"", b""), code)


def test_a_stage_within_a_stage_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    run = Run()
    with run.stage("outer"):
        now += 1
        with run.stage("inner"):
            now += 2
        with run.stage("inner"), run.stage("innermost"):
            now += 4
        now += 8
    assert run.seconds == {"inner": 2, "innermost": 4, "outer": 9}


SPARED = (
    "pandas.core", "scipy", "yaml", "matplotlib", "jinja2", "lmdb", "rich", "pydantic", "rapidfuzz", "pyspark",
    "numba.np.arrayobj", "lookalike.report", "lookalike.index", "lookalike.entities", "lookalike.spark",
    "lookalike.search.vectors", "lookalike.io.vectors", "lookalike.io.sets",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pairs", "dedup", "clusters"])
def test_commands_import_only_what_they_need(run: Commands, corpus: Path, out: Path, command: str) -> None:
    """Once their kernels are compiled, which needs more."""
    args = [command, corpus, "-t", 0.5, "--threads", 2, "-o", out / "found.csv"]
    assert run(*args).code == 0
    script = f"""
import sys
from lookalike.cli import main
try:
    main()
finally:
    print([name for name in {SPARED} if name in sys.modules])
"""
    assert spawn(*args, script=script).communicate()[0] == b"[]\n"
