"""Find the k most similar documents, whatever the threshold of the index: an index, and datasketch's LSHForest.

    python bench/index_nearest.py [--documents 50000] [--queries 500] [-k 10] [--least 0.1]

The documents and queries are those of index.py. The ground truth is exact: of all documents whose
similarity to the query is at least --least, the k most similar. A tool's recall is the share of these that it
finds; another document just as similar as the last of them counts as well. The stated recall is what
`query_batch` reports: at least this much is expected.
"""

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import index as documents
import numpy as np
from shared import Table, machine, publish, version_of

THRESHOLDS = ("0.7", "0.3", "0.1")  # that the indexes are built for
TREES = (8, 32)  # of the forest

Search = Callable[[str], list[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--least", type=float, default=0.1, help="the least similarity that counts")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to create the indexes")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    given = parser.parse_args()
    rows = documents.documents(given.documents)
    asked = documents.questions(rows, given.queries)
    true = truth(rows, asked, given.least)
    texts, questions = documents.texts_of(rows), documents.texts_of(asked)
    table: Table = [["tool", "CPU of the build, per document", "p50, CPU", "p99, CPU", "recall", "stated recall"]]

    def add(name: str, built: float, search: Search, stated: str) -> None:
        for text in questions[:20]:
            search(text)
        found, times = [], []
        for text in questions:
            start = time.process_time()
            found.append(search(text))
            times.append(1000 * (time.process_time() - start))
        p50, p99 = np.percentile(times, (50, 99)).tolist()
        share = f"{recall(true, found, given.k):.3f}"
        per_document = f"{1e6 * built / given.documents:.0f} µs"
        table.append([name, per_document, f"{p50:.2f} ms", f"{p99:.2f} ms", share, stated])
        print(" | ".join(table[-1]), flush=True)

    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for threshold in THRESHOLDS:
            index, built = build(Path(folder) / f"{threshold}.index", texts, threshold)
            with index:
                stated = index.query_batch(questions, threshold=given.least, k=given.k).stats["recall"]
                add(f"index for {threshold}", built, nearest(index, given.k, given.least), f"{stated:.3f}")
    for trees in TREES if version_of("datasketch") else ():
        start = time.process_time()
        search = forest(texts, trees, given.k)
        add(f"LSHForest, {trees} trees", time.process_time() - start, search, "-")
    what = f"the {given.k} most similar of at least {given.least:g}"
    about = f"{given.documents:,} documents, {given.queries:,} queries, {what}."
    publish([machine("lookalike", "numpy", "numba", "lmdb", "datasketch"), about, table], given.markdown)


def build(place: Path, texts: list[str], threshold: str) -> tuple[Any, float]:
    """Return an index, and the CPU time that building it took."""
    from lookalike.index import Index

    options = {"threshold": threshold, "shingles": documents.SHINGLES, "expected": len(texts), "seed": 1}
    Index.build(place.with_name("warm.index" + threshold), texts[:1000], **options).close()
    start = time.process_time()
    index = Index.build(place, texts, ids=range(len(texts)), **options)
    return index, time.process_time() - start


def nearest(index: Any, k: int, least: float) -> Search:
    return lambda text: [name for name, _ in index.query(text, threshold=least, k=k)]


def forest(texts: list[str], trees: int, k: int) -> Search:
    """Return the search of a forest of these texts."""
    from datasketch import MinHashLSHForest

    sketch = documents.Datasketch(0.5).sketch
    made = MinHashLSHForest(num_perm=documents.HASHES, l=trees)
    for number, text in enumerate(texts):
        made.add(number, sketch(text))
    made.index()
    return lambda text: made.query(sketch(text), k)


def truth(rows: np.ndarray, asked: np.ndarray, least: float) -> list[dict[int, float]]:
    """Return for each query the documents that are at least this similar, with their similarity."""
    queries = [set(codes) for codes in documents.codes_of(asked).tolist()]
    holders: dict[int, list[int]] = defaultdict(list)
    for query, codes in enumerate(queries):
        for code in codes:
            holders[code].append(query)
    similar: list[dict[int, float]] = [{} for _ in queries]
    for row, listed in enumerate(documents.codes_of(rows).tolist()):
        codes = set(listed)
        shared = Counter(query for code in codes for query in holders.get(code, ()))
        for query, both in shared.items():
            if (value := both / (len(queries[query]) + len(codes) - both)) >= least:
                similar[query][row] = value
    return similar


def recall(true: list[dict[int, float]], found: list[list[int]], k: int) -> float:
    """Return the share of the most similar documents that were found."""
    there = wanted = 0
    for similar, some in zip(true, found, strict=True):
        best = sorted(similar.values(), reverse=True)[:k]
        wanted += len(best)
        there += min(len(best), sum(row in similar and similar[row] >= best[-1] for row in some)) if best else 0
    return there / max(1, wanted)


if __name__ == "__main__":
    main()
