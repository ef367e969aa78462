"""Measure how well contained texts are found: recall by size, time and memory, next to datasketch's LSHEnsemble.

    python bench/containment.py CORPUS.parquet [--words 4000000] [--queries 100] [--megabytes 444] [--peer PYTHON]

The files of the corpus are put together to documents of 1,000, 10,000, 100,000 and 1,000,000 words, as
long as they last. Queries of 10, 100, 1,000 and 10,000 shingles are cut out of them, and up to 13% of
their words replaced, so that their containment is 1 to 0.5. The truth is the result of the exact search.
Each method runs in a process of its own. `--peer` is the Python of an environment with datasketch, which
gets the same shingles as sets. It runs with its default weights of false positives and negatives, (0.5,
0.5), and with (0.1, 0.9), which favour recall. Its answers are not verified, as it does not keep the sets.
With --megabytes, 52 queries are also looked for in that much of the corpus, its files as they are.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORDS = (1_000_000, 100_000, 10_000, 1_000)  # of documents
CUTS = (14, 104, 1_004, 10_004)  # words of queries, which have four shingles fewer
CHUNK = 10_000  # elements that datasketch hashes at a time
LARGE = 52  # queries for the files as they are
NOISE = (0.0, 0.02, 0.05, 0.1, 0.13)  # shares of replaced words; each changes five shingles
SHINGLES = "word:5"
WAYS = {
    "exact": {"method": "exact"},
    "draws": {"method": "lsh"},
    "draws, files": {"method": "lsh", "memory": "500MB"},
    "prefix join": {"method": "exact", "filter": "suffix"},
}
WEIGHTS = {"LSHEnsemble": (0.5, 0.5), "LSHEnsemble for recall": (0.1, 0.9)}  # of false positives and negatives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a Parquet file with a column `text`")
    parser.add_argument("--words", type=int, default=4_000_000, help="how many words of the corpus to use")
    parser.add_argument("--queries", type=int, default=100, help="queries of each size")
    parser.add_argument("--thresholds", default="0.5,0.7,0.9")
    parser.add_argument("--recall", type=float, default=0.99, help="the recall to request")
    parser.add_argument("--megabytes", type=int, default=0, metavar="N", help="also match with N MB of the files")
    parser.add_argument("--peer", help="the Python of an environment with datasketch")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    from shared import Table, machine, publish

    times: Table = [["threshold", "method", "found", "false", "recall", "stated", "CPU time", "memory"]]
    recalls: Table = [["threshold", *(f"{size - 4:,} shingles" for size in CUTS)]]
    with tempfile.TemporaryDirectory() as folder:
        counts = make_inputs(given.corpus, given.words, given.queries, Path(folder))
        for threshold in given.thresholds.split(","):
            run = {way: measured([sys.executable, __file__], way, threshold, given.recall, folder) for way in WAYS}
            if given.peer:
                for way in WEIGHTS:
                    run[way] = measured([given.peer, __file__], way, threshold, given.recall, folder)
            truth = {tuple(pair) for pair in run["exact"]["pairs"]}
            for way, result in run.items():
                pairs = {tuple(pair) for pair in result["pairs"]}
                right = len(pairs & truth)
                recall = f"{right / len(truth):.4f}"
                stated = f"{result['stated']:.4f}" if result["stated"] else "-"
                cost = f"{result['seconds']:.1f} s", f"{result['memory']:,} MB"
                times.append([threshold, way, f"{right:,}", f"{len(pairs) - right:,}", recall, stated, *cost])
            found = {tuple(pair) for pair in run["draws"]["pairs"]}
            cells = []
            for at in range(len(CUTS)):
                of_size = {pair for pair in truth if at * given.queries <= pair[0] < (at + 1) * given.queries}
                share = len(found & of_size) / max(1, len(of_size))
                cells.append(f"{share:.4f} of {len(of_size):,}")
            recalls.append([threshold, *cells])
        large = in_files(given.corpus, given.megabytes, given.recall, Path(folder)) if given.megabytes else []
    blocks = [
        machine("lookalike", "numpy", "numba", "pyarrow"),
        counts,
        times,
        "Recall of draws by size of query",
        recalls,
        *large,
    ]
    publish(blocks, given.markdown)


def in_files(corpus: Path, megabytes: int, recall: float, folder: Path) -> list[Any]:
    """Match LARGE queries with the files of a corpus as they are; return lines and a table for each threshold."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from shared import part_of

    part, size = part_of(corpus, megabytes, folder)
    part.rename(folder / "documents.parquet")
    texts = pq.read_table(folder / "documents.parquet", columns=["text"])["text"].to_pylist()
    rng, queries = random.Random(7), []
    for length in CUTS:
        longer = [text for text in texts if text.count(" ") > 2 * length]
        for at in range(LARGE // len(CUTS)):
            words = rng.choice(longer).split()
            start = rng.randrange(max(1, len(words) - length))
            queries.append(" ".join(replaced(words[start : start + length], NOISE[at % len(NOISE)], rng)))
    pq.write_table(pa.table({"text": queries}), folder / "queries.parquet")
    table: list[list[str]] = [["threshold", "method", "found", "recall", "CPU time", "memory"]]
    for threshold in ("0.5", "0.9"):
        run = {way: measured([sys.executable, __file__], way, threshold, recall, str(folder)) for way in WAYS}
        truth = {tuple(pair) for pair in run["exact"]["pairs"]}
        for way, result in run.items():
            found = {tuple(pair) for pair in result["pairs"]}
            share = f"{len(found & truth) / max(1, len(truth)):.4f}"
            table.append(
                [threshold, way, f"{len(found):,}", share, f"{result['seconds']:.1f} s", f"{result['memory']:,} MB"]
            )
    return [f"{len(queries)} queries of 10 to 10,000 shingles, {len(texts):,} files of {size / 1e6:,.0f} MB", table]


def replaced(words: list[str], noise: float, rng: random.Random) -> list[str]:
    """Return words of which this share was replaced by others."""
    return [f"other{rng.randrange(10**9)}" if rng.random() < noise else word for word in words]


def make_inputs(corpus: Path, words: int, count: int, folder: Path) -> str:
    """Write documents, queries and their shingles to a folder; return a line about them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import lookalike as la

    rng = random.Random(7)
    files = pq.read_table(corpus, columns=["text"])["text"].to_pylist()
    rng.shuffle(files)
    stream = (word for text in files for word in text.split())
    documents, used = [], 0
    for share, size in zip((0.5, 0.25, 0.15, 0.1), WORDS, strict=True):
        for _ in range(max(1, int(words * share / size))):
            documents.append([word for word, _ in zip(stream, range(size), strict=False)])
            used += len(documents[-1])
    queries = []
    for size in CUTS:
        for _ in range(count):
            document = rng.choice([one for one in documents if len(one) >= size])
            start = rng.randrange(len(document) - size + 1)
            queries.append(replaced(document[start : start + size], rng.choice(NOISE), rng))
    for name, texts in (("documents", documents), ("queries", queries)):
        joined = [" ".join(text) for text in texts]
        pq.write_table(pa.table({"text": joined}), folder / f"{name}.parquet", row_group_size=64)
        sets = la.Shingles.parse(SHINGLES).sets(joined)
        np.savez(folder / f"{name}.npz", indptr=sets.indptr, elements=sets.elements)
    sizes = np.diff(np.load(folder / "documents.npz")["indptr"])
    return (
        f"{len(documents):,} documents of {sizes.min():,} to {sizes.max():,} shingles ({SHINGLES}), "
        f"{len(queries):,} queries of up to {max(CUTS) - 4:,} shingles"
    )


def measured(command: list[str], way: str, threshold: str, recall: float, folder: str) -> dict[str, Any]:
    """Run one method in a process of its own."""
    given = [way, threshold, str(recall), folder]
    done = subprocess.run([*command, "--child", *given], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{way} failed: {done.stderr[-2000:]}")
    print(way, threshold, file=sys.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def child(way: str, threshold: str, recall: str, folder: str) -> None:
    """Run one method and print its pairs, its time and its peak memory."""
    find = peer if way in WEIGHTS else own
    seconds, pairs, stated = find(way, threshold, float(recall), Path(folder))
    status = Path("/proc/self/status").read_text()  # getrusage would count the peak of the parent too
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) // 1000
    print(json.dumps({"seconds": seconds, "memory": memory, "pairs": pairs, "stated": stated}))


def spent() -> float:
    """Return the seconds of processor time so far, which other programs affect less than elapsed time."""
    return sum(os.times()[:2])


def own(way: str, threshold: str, recall: float, folder: Path) -> tuple[float, list[Any], float]:
    """Match queries with documents by one of the methods of lookalike, from files."""
    import lookalike as la

    ways = {name: value for name, value in WAYS[way].items() if name != "memory"}
    la.find_matches(["a b"], ["a b"], measure="containment", **ways)  # loads the kernels
    start = spent()
    options = {"threshold": threshold, "recall": recall, "shingles": SHINGLES, **WAYS[way]}
    found = la.find_matches(folder / "queries.parquet", folder / "documents.parquet", measure="containment", **options)
    seconds = spent() - start
    return seconds, [[left, right] for left, right, _ in found], found.plan.recall


def peer(way: str, threshold: str, recall: float, folder: Path) -> tuple[float, list[Any], float]:
    """Match the same shingles with datasketch."""
    import numpy as np
    from datasketch import MinHash, MinHashLSHEnsemble

    start = spent()

    def signed(name: str) -> Any:
        with np.load(folder / f"{name}.npz") as arrays:
            indptr, elements = arrays["indptr"], arrays["elements"]
        for row in range(len(indptr) - 1):
            low = (elements[indptr[row] : indptr[row + 1]] >> np.uint64(32)).tolist()
            hashes = MinHash(num_perm=256, hashfunc=int)
            for at in range(0, len(low), CHUNK):  # it needs 2 KB per element of a batch
                hashes.update_batch(low[at : at + CHUNK])
            yield row, hashes, len(low)

    index = MinHashLSHEnsemble(threshold=float(threshold), num_perm=256, num_part=16, weights=WEIGHTS[way])
    index.index(list(signed("documents")))
    pairs = [[row, other] for row, hashes, size in signed("queries") for other in index.query(hashes, size)]
    return spent() - start, pairs, 0.0


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(*sys.argv[sys.argv.index("--child") + 1 :])
    else:
        main()
