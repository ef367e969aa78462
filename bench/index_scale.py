"""Build, query and change an index of many short documents, and see how large it grows.

    python bench/index_scale.py [--documents 20000000] [--changes 100000] [--folder FOLDER] [--hashes]

The documents are those of index.py: 20 invented words each, one in ten a copy of an earlier one with
one word replaced; they are read from a Parquet file. Then queries are timed, and scattered documents
are removed and new ones added, --batch at a time; last, 32 threads add one document at a time. The
index keeps the texts, or with --hashes the hashes of their shingles. CPU time counts all threads.
"""

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import index as documents
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shared import Table, machine, publish

CLIENTS = 32
CHUNK = 1_000_000  # documents generated at a time
SINGLES = 20_000  # documents added one at a time, by all clients


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000_000)
    parser.add_argument("--changes", type=int, default=100_000, help="documents removed, and as many added")
    parser.add_argument("--batch", type=int, default=1000, help="documents removed or added at a time")
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--hashes", action="store_true", help="keep hashes of shingles, not texts")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to create the index")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        table = measured(given, Path(folder))
    what = "hashes" if given.hashes else "texts"
    about = f"{given.documents:,} documents of 20 words, word:3, similarity 0.7; the index keeps {what}."
    publish([machine("lookalike", "numpy", "numba", "lmdb"), about, table], given.markdown)


def measured(given: argparse.Namespace, folder: Path) -> Table:
    """Measure an index in a folder."""
    from lookalike.index import Index

    count = given.documents
    rows = documents.documents(count + given.changes + SINGLES)
    put(folder / "documents.parquet", rows[:count])
    asked = documents.texts_of(documents.questions(rows[:count], given.queries))
    more = documents.texts_of(rows[count:])
    del rows
    place = folder / "some.index"
    table: Table = [["step", "time", "CPU time", "bytes per document", "peak memory, MB"]]

    def step(name: str, work: Callable[[], Any]) -> Any:
        start, cpu = time.perf_counter(), time.process_time()
        result = work()
        took, spent = time.perf_counter() - start, time.process_time() - cpu
        size = (place / "data.mdb").stat().st_size / count
        table.append([name, f"{took:,.1f} s", f"{spent:,.1f} s", f"{size:.1f}", f"{peak():,.0f}"])
        print(" | ".join(table[-1]), flush=True)
        return result

    warm(Index, folder / "warm.index", asked)
    options = {"threshold": 0.7, "shingles": "word:3", "expected": count, "store_text": not given.hashes, "seed": 1}
    index = step("build", lambda: Index.build(place, folder / "documents.parquet", **options))
    (folder / "documents.parquet").unlink()
    with index:
        times = step(f"{len(asked):,} queries, one by one", lambda: [seconds(index.query, text) for text in asked])
        table.append(shown("of these", times))
        step(f"{len(asked):,} queries, together", lambda: index.query_batch(asked))
        step(f"{given.changes:,} removed and as many added", lambda: change(index, more, given))
        times = step(f"{len(asked):,} queries, one by one", lambda: [seconds(index.query, text) for text in asked])
        table.append(shown("of these", times))
        step(f"{SINGLES:,} added by {CLIENTS} threads", lambda: add_singly(index, more[given.changes :], count))
        step("compact", index.compact)
    return table


def put(path: Path, rows: np.ndarray) -> None:
    """Write documents to a Parquet file."""
    with pq.ParquetWriter(path, pa.schema({"text": pa.string()})) as file:
        for start in range(0, len(rows), CHUNK):
            file.write_table(pa.table({"text": documents.texts_of(rows[start : start + CHUNK])}))


def warm(kind: Any, place: Path, texts: list[str]) -> None:
    """Compile what a small index needs."""
    with kind.build(place, texts, threshold=0.7, shingles="word:3", store_text=True) as index:
        index.query_batch(texts[:10])
        index.query(texts[0])
        index.add(texts[:1], ["new"])
        index.remove(["new"])
    shutil.rmtree(place)


def change(index: Any, more: list[str], given: argparse.Namespace) -> None:
    """Remove scattered documents and add new ones."""
    draw, count = Random(1), given.documents
    gone = draw.sample(range(count), given.changes)
    for start in range(0, given.changes, given.batch):
        some = range(start, min(start + given.batch, given.changes))
        index.remove([gone[at] for at in some])
        index.add([more[at] for at in some], range(count + some.start, count + some.stop))


def add_singly(index: Any, texts: list[str], first: int) -> None:
    """Add documents one at a time from several threads."""

    def work(client: int) -> None:
        for at in range(client, len(texts), CLIENTS):
            index.add([texts[at]], [2 * first + at])

    threads = [Thread(target=work, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def seconds(work: Callable[[str], Any], text: str) -> float:
    start = time.perf_counter()
    work(text)
    return time.perf_counter() - start


def shown(name: str, times: list[float]) -> list[str]:
    p50, p99 = (1000 * np.percentile(times, (50, 99))).tolist()
    return [name, f"p50 {p50:.3f} ms, p99 {p99:.3f} ms", "-", "-", "-"]


def peak() -> float:
    """Return the peak memory of this process so far, in megabytes, pages of mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
