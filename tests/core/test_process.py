"""Check what is asked about this process: when it started, what slowed it down, and how much memory it has used."""

import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.core import process

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
SCRIPT = "import time; now = time.perf_counter(); from lookalike.core.process import process_start as start;"


@linux
def test_the_start_is_that_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of programs can contain blanks and parentheses."""
    fields = ["S", *(["0"] * 18), "4000", "0"]
    (tmp_path / "stat").write_text(f"17 (a) b) {' '.join(fields)}\n")
    monkeypatch.setattr(process, "PROC", tmp_path)
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    monkeypatch.setattr("time.clock_gettime", lambda clock: 45.5)
    monkeypatch.setattr("time.perf_counter", lambda: 1000.0)
    monkeypatch.setattr("resource.getrusage", lambda who: SimpleNamespace(ru_minflt=0))
    assert process.process_start(999) == 1000 - 5.5
    (tmp_path / "stat").write_text("17 (a) S 1\n")
    assert process.process_start(999) == 999


@linux
def test_imports_come_after_the_start() -> None:
    done = subprocess.run([sys.executable, "-c", f"{SCRIPT} print(start(now) < now)"], capture_output=True, check=True)
    assert done.stdout == b"True\n"


@linux
def test_a_shell_that_becomes_the_command_is_no_part_of_it() -> None:
    """It has run other commands before, whose time does not count."""
    line = f"true | cat; exec {sys.executable} -c '{SCRIPT} print(start(now) == now)'"
    assert subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout == b"True\n"


def test_systems_that_do_not_say_when_a_process_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROC", tmp_path / "nothing")
    assert process.process_start(999) == 999
    assert process.peak_memory() >= 2**20


@linux
def test_the_memory_of_a_large_parent_is_not_ours() -> None:
    large = np.ones(50 << 20)  # 400 MB
    script = """
import resource
from lookalike.core.process import peak_memory
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, peak_memory())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    parents, ours = map(int, done.stdout.split())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 >= large.nbytes
    assert 2**20 < ours < large.nbytes / 4
    assert parents >= large.nbytes  # else the system has no such problem


@linux
def test_peak_memory_is_the_most_at_a_time() -> None:
    before = process.peak_memory()
    large = np.ones(before // 8 + (8 << 20))
    size = large.nbytes
    del large
    assert process.peak_memory() >= 0.99 * size  # the system counts in steps


@pytest.mark.parametrize(
    ("said", "expected"), [("2000 3000 17\n", 2.5), ("2000 0 1\n", 1), ("0 0 0\n", 1), ("", 1), (None, 1)]
)
def test_waiting_for_a_core_takes_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, expected: float
) -> None:
    monkeypatch.setattr(process, "PROC", tmp_path)
    if said is not None:
        (tmp_path / "schedstat").write_text(said)
    assert process.crowding() == expected
