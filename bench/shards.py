"""Measure `lookalike dedup --shard`: processes that share a run, some of them killed, next to one process.

    python bench/shards.py [--millions 3] [--shards 8] [--kills 3] [--memory 2GB] [--folder FOLDER]

The documents are those of `scale.py`. The processes run on one machine, with one thread each, so what is
measured is what sharing costs: the time of all processors that the system counts for them, killed ones
included, and the peak size of the folder of the run. A killed process is started again after a second. Each
output is compared with that of one process, byte for byte.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from scale import SEED, generate, make_small, size_of
from shared import Table, machine, publish


class Ran(NamedTuple):
    """The figures of one run."""

    name: str
    seconds: float
    processor: float  # seconds of all processes
    disk: int
    same: str


class Watch:
    """Processes that are waited for; adds up the time of their processors."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processor, self.disk = folder, 0.0, 0
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.start = time.perf_counter()

    def begin(self, index: int, command: list[str]) -> None:
        self.running[index] = subprocess.Popen([sys.executable, "-m", "lookalike", *command])

    def look(self) -> None:
        """Measure the disk; take note of processes that have ended."""
        self.disk = max(self.disk, size_of(self.folder))
        for index, process in [*self.running.items()]:
            self._ended(index, process, os.WNOHANG)

    def kill(self, index: int) -> None:
        process = self.running[index]
        process.kill()
        self._ended(index, process, 0)

    def _ended(self, index: int, process: "subprocess.Popen[bytes]", how: int) -> None:
        number, status, used = os.wait4(process.pid, how)
        if number:
            process.returncode = os.waitstatus_to_exitcode(status)
            self.processor += used.ru_utime + used.ru_stime
            del self.running[index]
            if process.returncode not in (0, -9):
                sys.exit(f"a process failed with exit code {process.returncode}")

    def ran(self, name: str, out: Path, expected: Path) -> Ran:
        """Wait until all processes have ended; return the figures."""
        while self.running:
            self.look()
            time.sleep(0.1)
        seconds = time.perf_counter() - self.start
        print(f"{name}: {seconds:.1f} s", file=sys.stderr)
        same = "" if out == expected else "yes" if out.read_bytes() == expected.read_bytes() else "NO"
        return Ran(name, seconds, self.processor, self.disk, same)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, default=3)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to create the files")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    options = ["-t", "0.8", "-s", "word:3", "--memory", given.memory]
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        file = folder / f"{given.millions:g}-million.parquet"
        generate(file, int(given.millions * 1e6))
        small = ["dedup", str(make_small(folder)), *options, "-q", "-o", str(folder / "small-out.parquet")]
        subprocess.run([sys.executable, "-m", "lookalike", *small], check=True)  # compiles the kernels
        runs = [alone(file, options, folder)]
        for kills in (0, given.kills):
            runs.append(shared(file, options, folder, given.shards, kills))
    title = f"`lookalike dedup {' '.join(options)}` of {given.millions:g} million documents"
    rows: Table = [["processes", "time", "processor time", "peak disk", "same bytes"], *map(row, runs)]
    publish([machine("lookalike", "numpy", "numba", "pyarrow"), title, rows], given.markdown)


def alone(file: Path, options: list[str], folder: Path) -> Ran:
    """Deduplicate a file in one process."""
    out = folder / "alone.parquet"
    watch = Watch(folder / "alone")
    watch.begin(0, ["dedup", str(file), *options, "-q", "--workdir", str(watch.folder), "-o", str(out)])
    return watch.ran("1", out, out)


def shared(file: Path, options: list[str], folder: Path, count: int, kills: int) -> Ran:
    """Deduplicate a file in several processes, of which some are killed at random moments and started again."""
    out = folder / f"shared-{kills}.parquet"
    watch, draw = Watch(folder / f"work-{kills}"), Random(SEED)
    same = ["dedup", str(file), *options, "-q", "--threads", "1", "--workdir", str(watch.folder), "-o", str(out)]
    for index in range(count):
        watch.begin(index, [*same, "--shard", f"{index}/{count}"])
    moments = []
    for _ in range(kills):
        until = time.perf_counter() + 2 + 6 * draw.random()
        while time.perf_counter() < until:
            watch.look()
            time.sleep(0.1)
        if not watch.running:
            break
        index = draw.choice([*watch.running])
        watch.kill(index)
        moments.append(time.perf_counter() - watch.start)
        time.sleep(1)
        watch.begin(index, [*same, "--shard", f"{index}/{count}"])
    killed = f", killed one after {', '.join(f'{moment:.0f}' for moment in moments)} s" if moments else ""
    return watch.ran(f"{count}{killed}", out, folder / "alone.parquet")


def row(ran: Ran) -> list[str]:
    return [ran.name, f"{ran.seconds:.1f} s", f"{ran.processor:.0f} s", f"{ran.disk / 1e9:.2f} GB", ran.same]


if __name__ == "__main__":
    main()
