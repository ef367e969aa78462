"""Measure time, memory and disk of `lookalike dedup --memory` as collections grow.

    python bench/scale.py [--millions 0.1 0.3 1 3 10] [--memory 2GB] [--limit 3GB] [--folder FOLDER] [FILE.parquet ...]

Documents are generated from a fixed seed: 30 words from a vocabulary of 50,000, about 200 bytes;
one in ten is a copy of another with a word replaced. Files given as arguments are run as well. Each
run has its own process. Where the system allows it (as root, cgroup v1 or v2), a control group
limits it to --limit, including the file cache. Its own memory (RssAnon) is read five times a
second. Disk is the peak size of the folder of the run.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from index import WORDS, vocabulary
from shared import Table, machine, publish

from lookalike.core.workdir import parse_memory

SEED = 1
LENGTH = 30  # words per document
COPIES = 10  # one document in this many is a copy
GROUP = 100_000  # documents generated at a time
GROUPS = {  # the folder of control groups (v1, v2), and the file in a group that sets the limit
    Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes",
    Path("/sys/fs/cgroup"): "memory.max",
}


class Ran(NamedTuple):
    """The figures of one run."""

    name: str
    documents: int
    size: int  # bytes of text
    seconds: float
    memory: int  # peak
    disk: int
    said: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.parquet")
    parser.add_argument("--millions", nargs="*", type=float, default=[0.1, 0.3, 1, 3, 10])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--limit", default="3GB")
    parser.add_argument("--shingle", default="word:3")
    parser.add_argument("--threshold", default="0.8")
    parser.add_argument("--kills", type=int, default=0, help="how often to kill and restart the last run")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to create the files")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    if shutil.which("lookalike") is None:
        sys.exit("lookalike is not installed")
    options = ["-t", given.threshold, "-s", given.shingle, "--memory", given.memory]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place = Path(folder)
        group = control_group(parse_memory(given.limit))
        inputs = [*given.files]
        for millions in given.millions:
            inputs.append(place / f"{millions:g}-million.parquet")
            generate(inputs[-1], int(millions * 1e6))
        run(make_small(place), options, place, None)  # compiles the kernels
        runs = [run(file, options, place, group) for file in inputs]
        killed = kill(inputs[-1], options, place, group, runs[-1].seconds, given.kills) if given.kills else ""
    limited = f"in a control group of {given.limit}" if group else "without a control group"
    title = f"`lookalike dedup {' '.join(options)}`, {limited}"
    heads = ["input", "documents", "text", "time", "MB/s", "peak own memory", "disk", "found"]
    table: Table = [heads, *map(row, runs)]
    publish([machine("lookalike", "numpy", "numba", "pyarrow"), title, table, growth(runs), killed], given.markdown)


def generate(path: Path, count: int) -> None:
    """Write documents; the original of a copy is among the same hundred thousand."""
    words = np.array(vocabulary(), object)
    weights = np.cumsum(1 / (np.arange(WORDS) + 3))
    draw = np.random.default_rng(SEED)
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, count, GROUP):
            size = min(GROUP, count - first)
            rows = np.searchsorted(weights, draw.random((size, LENGTH)) * weights[-1])
            copies = np.arange(COPIES - 1, size, COPIES)
            rows[copies] = rows[copies - draw.integers(1, COPIES, len(copies))]
            rows[copies, draw.integers(0, LENGTH, len(copies))] = draw.integers(0, WORDS, len(copies))
            texts = [" ".join(row) for row in words[rows].tolist()]
            writer.write_table(pa.table({"id": range(first, first + size), "text": texts}, schema=schema))


def make_small(folder: Path) -> Path:
    generate(folder / "small.parquet", 2000)
    return folder / "small.parquet"


def control_group(limit: int) -> Path | None:
    """Create a group with limited memory; return the file to which its processes are written."""
    for folder, file in GROUPS.items():
        group = folder / "lookalike-bench"
        try:
            group.mkdir(exist_ok=True)
            (group / file).write_text(str(limit))
        except OSError:
            continue
        return group / "cgroup.procs"
    return None


def run(file: Path, options: list[str], folder: Path, group: Path | None) -> Ran:
    """Deduplicate a file while watching the process."""
    out = folder / "out.parquet"
    command = [sys.executable, "-m", "lookalike", "dedup", str(file), *options, "-o", str(out)]
    enter = None if group is None else lambda: group.write_text(str(os.getpid()))
    start, memory, disk = time.perf_counter(), 0, 0
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=enter) as process:
        while process.poll() is None:
            memory = max(memory, own_memory(process.pid))
            disk = max(disk, size_of(Path(f"{out}.work")))
            time.sleep(0.2)
        seconds = time.perf_counter() - start
        said = process.stderr.read() if process.stderr else ""
    if process.returncode:
        sys.exit(f"{file.name}: failed with exit code {process.returncode}: {said}")
    print(f"{file.name}: {seconds:.1f} s, {memory / 1e6:,.0f} MB", file=sys.stderr)
    documents, size = facts_of(file)
    out.unlink()
    found = next(line for line in said.splitlines() if line.startswith("found: "))
    return Ran(file.name, documents, size, seconds, memory, disk, found.partition(" ")[2].partition(", each")[0])


def kill(file: Path, options: list[str], folder: Path, group: Path | None, usual: float, times: int) -> str:
    """Kill and restart a run at random moments; compare its result with that of an unkilled run."""
    outs = [folder / "alone.parquet", folder / "killed.parquet"]
    enter = None if group is None else lambda: group.write_text(str(os.getpid()))
    draw, moments = Random(SEED), []
    for out in outs:
        command = [sys.executable, "-m", "lookalike", "dedup", str(file), *options, "-q", "-o", str(out)]
        while out != outs[0] and len(moments) < times:
            with subprocess.Popen(command, preexec_fn=enter) as process:
                moments.append(1 + draw.random() * usual / 2)
                time.sleep(moments[-1])
                process.kill()
                if process.wait() == 0:
                    moments.pop()  # it had already finished
        start = time.perf_counter()
        subprocess.run(command, preexec_fn=enter, check=True)
    last = time.perf_counter() - start
    same = outs[0].read_bytes() == outs[1].read_bytes()
    shown = ", ".join(f"{moment:.1f}" for moment in moments)
    return (
        f"{file.name}: killed after {shown} s and restarted each time. The last run took {last:.1f} s, and "
        f"its file is {'the same, byte for byte, as' if same else 'NOT the same as'} that of a run that was not killed."
    )


def own_memory(process: int) -> int:
    """Return the bytes of a process's own memory; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def size_of(folder: Path) -> int:
    """Return the bytes on disk of the files in a folder, some of which may vanish meanwhile."""
    total = 0
    for file in folder.rglob("*") if folder.is_dir() else ():
        try:
            total += 512 * file.stat().st_blocks
        except FileNotFoundError:
            continue
    return total


def facts_of(file: Path) -> tuple[int, int]:
    """Return the number of documents in a file and the bytes of their text."""
    parquet = pq.ParquetFile(file)
    return parquet.metadata.num_rows, sum(batch.nbytes for batch in parquet.iter_batches(columns=["text"]))


def row(ran: Ran) -> list[str]:
    return [
        ran.name,
        f"{ran.documents:,}",
        f"{ran.size / 1e6:,.0f} MB",
        f"{ran.seconds:.1f} s",
        f"{ran.size / 1e6 / ran.seconds:.0f}",
        f"{ran.memory / 1e6:,.0f} MB",
        f"{ran.disk / 1e9:.2f} GB",
        ran.said,
    ]


def growth(runs: list[Ran]) -> str:
    """Describe how time grows from one generated size to the next."""
    made = [ran for ran in runs if ran.name.endswith("-million.parquet")]
    steps = [
        f"{other.documents / one.documents:.1f} times the documents, {other.seconds / one.seconds:.1f} times the time"
        for one, other in pairwise(made)
    ]
    return f"From one size to the next: {'; '.join(steps)}." if steps else ""


if __name__ == "__main__":
    main()
