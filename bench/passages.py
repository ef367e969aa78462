"""Measure `find_passages` beside other tools that find repeated passages, each in a process of its own.

    python bench/passages.py CORPUS.parquet [--length 50] [--megabytes 100] [--peers-python PYTHON]

Tools: lookalike; pydivsufsort, a suffix array with common prefixes of all bytes; datatrove's sentence
deduplication. The peers run with another Python, whose environment has pydivsufsort, datatrove and
pyarrow. CPU time (user and system) is shown beside the wall time, for machines that are busy.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = """
import lookalike as la
found = la.find_passages({path!r}, length={length})
print(found)
"""
SUFFIXES = """
import numpy as np, pyarrow.parquet as pq
from pydivsufsort import divsufsort, kasai
texts = pq.read_table({path!r}, columns=["text"])["text"].to_pylist()
data = np.frombuffer(b"\\0".join(text.encode() for text in texts), np.uint8).copy()
suffixes = divsufsort(data)
common = kasai(data, suffixes)
print(int((common >= {bytes}).sum()), "suffixes with a common prefix of {bytes} bytes or more")
"""
SENTENCES = """
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import JsonlWriter
import os
folder, work = os.path.split({path!r})[0], {work!r}
config = SentDedupConfig(n_sentences=1, split_sentences=True, only_dedup_in_index=True)
name = os.path.basename({path!r})
read = lambda: ParquetReader(folder, glob_pattern=name)
steps = [
    [read(), SentenceDedupSignature(work + "/sigs", config=config, finder_workers=1)],
    [SentenceFindDedups(work + "/sigs", work + "/dups", config=config)],
    [read(), SentenceDedupFilter(work + "/dups", config=config), JsonlWriter(work + "/out")],
]
for number, step in enumerate(steps):
    LocalPipelineExecutor(step, tasks=1, workers=1, logging_dir=work + f"/logs{{number}}").run()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--length", type=int, default=50, help="words of the shortest passage")
    parser.add_argument("--megabytes", type=int, help="use only about this much of the text")
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--tools", default="lookalike,pydivsufsort,datatrove")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        path, size = given.corpus.resolve(), 0
        path, size = part_of(path, given.megabytes, Path(work))
        print(f"{size / 1e6:,.0f} MB of text, passages of {given.length} words")
        print(f"{'tool':14} {'wall s':>8} {'CPU s':>8} {'MB/CPU s':>9} {'peak GB':>8}")
        values = {"path": str(path), "length": given.length, "bytes": 6 * given.length, "work": work}
        for tool, python, script in (
            ("lookalike", sys.executable, OURS),
            ("pydivsufsort", given.peers_python, SUFFIXES),
            ("datatrove", given.peers_python, SENTENCES),
        ):
            if tool in given.tools.split(","):
                wall, cpu, peak = measure([python, "-c", script.format(**values)])
                print(f"{tool:14} {wall:8.1f} {cpu:8.1f} {size / 1e6 / cpu:9.1f} {peak / 1e9:8.2f}", flush=True)


def part_of(path: Path, megabytes: int | None, work: Path) -> tuple[Path, int]:
    """Return a Parquet file with the first documents of a corpus, and its bytes of text."""
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["id", "text"])
    sizes = np.cumsum(pc.binary_length(table["text"]).to_numpy())
    rows = len(table) if megabytes is None else int(np.searchsorted(sizes, megabytes * 1_000_000))
    (work / "corpus").mkdir()
    pq.write_table(table.slice(0, rows), work / "corpus" / "part.parquet", row_group_size=2000)
    return work / "corpus" / "part.parquet", int(sizes[rows - 1])


def measure(command: list[str]) -> tuple[float, float, int]:
    """Return the wall time, CPU time and peak memory in bytes of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {command[0]} ... (exit status {status})")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


if __name__ == "__main__":
    main()
