"""Measure time and memory of the command line on large files, such as those of `generate.py`.

    python bench/large.py messages.parquet variants.parquet [--shingle char:9] [--threshold 0.8]

Runs `lookalike dedup` and `lookalike clusters` on each file. Time is that of the whole process,
with the kernels compiled beforehand; memory is its peak as the system reports it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from shared import Table, machine, publish

COMMANDS = ("dedup", "clusters")


class Job(NamedTuple):
    """A finished run of a command."""

    command: str
    file: Path
    out: Path
    seconds: float
    peak: float  # MB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.parquet")
    parser.add_argument("--shingle", default="char:9")
    parser.add_argument("--threshold", default="0.8")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    options = ["--shingle", given.shingle, "--threshold", given.threshold]
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder, "tiny.jsonl")  # so that the kernels are compiled before anything is timed
        tiny.write_text('{"text": "one two three four five six"}\n' * 2 + '{"text": "one two three four five"}\n')
        for command in COMMANDS:
            run(command, tiny, Path(folder, "tiny.parquet"), options)
        jobs = []
        for at, file in enumerate(given.files):
            for command in COMMANDS:
                jobs.append(run(command, file, Path(folder, f"{at}.{command}.parquet"), options))
                print(f"{command} {file.name}: {jobs[-1].seconds:.1f} s", file=sys.stderr)
        table: Table = [["command", "documents", "time", "peak memory", "result"], *map(row, jobs)]
    title = f"shingles {given.shingle}, similarity at least {given.threshold}, recall 0.99"
    publish([title, machine("lookalike", "numpy", "numba", "pyarrow"), table], given.markdown)


def run(command: str, file: Path, out: Path, options: list[str]) -> Job:
    """Run one command. This process stays small, since a child's peak memory is at least ours."""
    line = [sys.executable, "-m", "lookalike", command, str(file), *options, "--quiet", "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen(line)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen does not wait for it again
    if process.returncode:
        sys.exit(f"lookalike {command} {file} failed with exit code {process.returncode}")
    return Job(command, file, out, seconds, usage.ru_maxrss / 1024)


def row(job: Job) -> list[str]:
    """Return one row of the table; the files are read only after all commands have run."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    documents = pq.read_metadata(job.file).num_rows
    if job.command == "dedup":
        kept = pq.read_metadata(job.out).num_rows
        result = f"{kept:,} kept, {documents - kept:,} removed"
    else:
        sizes = pq.read_table(job.out, columns=["cluster", "size"])
        clusters = pc.count_distinct(sizes["cluster"]).as_py()
        result = f"{len(sizes):,} in {clusters:,} clusters, the largest of {pc.max(sizes['size']).as_py() or 0:,}"
    name = f"{job.command} {job.file.name}"
    return [name, f"{documents:,}", f"{job.seconds:.1f} s", f"{job.peak:,.0f} MB", result]


if __name__ == "__main__":
    main()
