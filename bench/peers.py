"""Find candidate pairs of near-duplicate documents with other libraries.

    python peers.py PEER PARQUET UNIT:K THRESHOLD

PEER is one of those below. UNIT:K is word:5 (5 consecutive runs of word characters) or char:9 (9
consecutive characters, with each run of white space as one blank). A document of fewer than K units
is a single shingle. Prints one line of JSON and writes the pairs of row numbers (i < j) to an .npy
file next to the input.

gaoya        shingles, sketches and queries in Rust, on all cores
rensa        as documented: Python strings and the batch interface, in one process
rensa-tuned  one process per core; tokens hashed with NumPy, which is faster than joining strings
datasketch   as documented: encoded strings and its own hash function, in one process

All use 128 hashes. None of them verifies pairs on the documents themselves; gaoya checks the
sketches.
"""

import importlib
import json
import multiprocessing
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

HASHES = 128
CORES = len(os.sched_getaffinity(0))
SEED = 42
STEP = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]
Found = tuple[npt.NDArray[np.int64], str]  # pairs of rows, and the bands that found them
Document = TypeVar("Document", list[str], Hashes)
JOB: tuple[pa.ChunkedArray, str, int]  # set before the workers are forked, so that they share it


def gaoya(column: pa.ChunkedArray, unit: str, k: int, threshold: float) -> Found:
    """Run gaoya with its own choice of bands; documents too short for a shingle are skipped."""
    minhash: Any = importlib.import_module("gaoya.minhash")
    if unit == "word":  # it splits at all ASCII punctuation, so underscores are replaced
        texts = pc.replace_substring(column, "_", "\x1f").to_pylist()
        enough = re.compile(r"[^\w\x1f]*[\w\x1f]+" + r"[^\w\x1f]+[\w\x1f]+" * (k - 1))
    else:
        texts = [" ".join(text.split()) for text in column.to_pylist()]
        enough = re.compile("." * k)
    rows = [row for row, text in enumerate(texts) if enough.match(text)]
    texts = [texts[row] for row in rows]
    index = minhash.MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=threshold,
        num_bands=None,
        band_size=None,
        num_hashes=HASHES,
        analyzer=unit,
        ngram_range=(k, k),
        id_container="smallvec",
    )
    index.par_bulk_insert_docs(rows, texts)
    bands = re.search(r"bands = (\d+), rows_per_band = (\d+)", str(index))
    return pairs_of(rows, index.par_bulk_query(texts)), " x ".join(bands.groups()) if bands else "?"


def rensa(column: pa.ChunkedArray, unit: str, k: int, threshold: float) -> Found:
    """Run rensa on Python strings. Its matrix of digests is faster, but cannot return pairs."""
    package: Any = importlib.import_module("rensa")
    rows: list[int] = []
    documents = filled(string_shingles(column.to_pylist(), unit, k), rows)
    return rensa_pairs(rows, package.RMinHash.from_token_sets(documents, HASHES, SEED), threshold)


def rensa_tuned(column: pa.ChunkedArray, unit: str, k: int, threshold: float) -> Found:
    """Run rensa on hashed tokens, sketched in forked workers; its banding uses one thread."""
    global JOB
    JOB = column, unit, k
    cuts = np.linspace(0, len(column), 16 * CORES + 1).astype(int).tolist()
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        parts = pool.starmap(rensa_sketches, pairwise(cuts), chunksize=1)
    return rensa_pairs(
        [row for rows, _ in parts for row in rows], [one for _, some in parts for one in some], threshold
    )


def rensa_sketches(start: int, stop: int) -> tuple[list[int], list[Any]]:
    """Return the rows from start to stop that have shingles, and their sketches, in a worker."""
    package: Any = importlib.import_module("rensa")
    column, unit, k = JOB
    rows: list[int] = []
    documents = filled(number_shingles(column.slice(start, stop - start).to_pylist(), unit, k), rows, start)
    tokens = (hashes.view("V8").tolist() for hashes in documents)  # 8 bytes per token
    return rows, list(package.RMinHash.from_token_sets(tokens, HASHES, SEED))


def rensa_pairs(rows: list[int], sketches: list[Any], threshold: float) -> Found:
    package: Any = importlib.import_module("rensa")
    bands = rensa_bands(threshold)
    index = package.RMinHashLSH(threshold, HASHES, bands)
    index.insert_pairs(zip(rows, sketches, strict=True))
    return pairs_of(rows, index.query_all(sketches)), f"{bands} x {HASHES // bands}"


def rensa_bands(threshold: float) -> int:
    """Return the fewest bands that find a pair at the threshold with a probability of about 0.95.

    At 0.8 these are 16 bands of 8 rows. The default of rensa's deduplicator, 8 bands of 16 rows,
    would find a fifth of such pairs.
    """
    for bands in (1 << i for i in range(HASHES.bit_length())):
        if 1 - (1 - threshold ** (HASHES // bands)) ** bands >= 0.94:
            return bands
    return HASHES


def datasketch(column: pa.ChunkedArray, unit: str, k: int, threshold: float) -> Found:
    """Run datasketch with its own choice of bands."""
    package: Any = importlib.import_module("datasketch")
    rows: list[int] = []
    documents = filled(string_shingles(column.to_pylist(), unit, k), rows)
    encoded = ([shingle.encode("utf8") for shingle in document] for document in documents)
    sketches = package.MinHash.bulk(encoded, num_perm=HASHES)
    index = package.MinHashLSH(threshold=threshold, num_perm=HASHES)
    for row, sketch in zip(rows, sketches, strict=True):
        index.insert(row, sketch)
    return pairs_of(rows, [index.query(sketch) for sketch in sketches]), f"{index.b} x {index.r}"


def string_shingles(texts: list[str], unit: str, k: int) -> Iterator[list[str]]:
    """Yield the shingles of each text as strings."""
    word = re.compile(r"\w+")
    for text in texts:
        if unit == "word":
            words = word.findall(text)
            yield [" ".join(window) for window in zip(*(words[i:] for i in range(min(k, len(words)))), strict=False)]
        else:
            clean = " ".join(text.split())
            size = min(k, len(clean))
            yield [clean[i : i + size] for i in range(len(clean) - size + 1) if size]


def number_shingles(texts: list[str], unit: str, k: int) -> Iterator[Hashes]:
    """Yield the 64-bit hashes of the shingles of each text."""
    word = re.compile(r"\w+")
    table = np.random.default_rng(SEED).integers(0, 2**64, 0x110000 if unit == "char" else 0, np.uint64)
    for text in texts:
        if unit == "word":
            words = word.findall(text)
            values = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
        else:
            values = table[np.frombuffer(" ".join(text.split()).encode("utf-32-le"), np.uint32)]
        size = min(k, len(values))
        hashes = np.zeros(len(values) - size + 1 if size else 0, np.uint64)
        for i in range(size):
            hashes = hashes * STEP + values[i : i + len(hashes)]
        yield hashes


def filled(documents: Iterable[Document], rows: list[int], first: int = 0) -> Iterator[Document]:
    """Yield the documents that have shingles; append their row numbers to `rows`."""
    for row, document in enumerate(documents, first):
        if len(document):
            rows.append(row)
            yield document


def pairs_of(rows: list[int], found: list[list[int]]) -> npt.NDArray[np.int64]:
    """Return the pairs i < j where row j was found for row i."""
    left = np.repeat(np.array(rows, np.int64), [len(some) for some in found])
    right = np.fromiter(chain.from_iterable(found), np.int64, len(left))
    return np.column_stack((left, right))[left < right]


PEERS: dict[str, Callable[[pa.ChunkedArray, str, int, float], Found]] = {
    "gaoya": gaoya,
    "rensa": rensa,
    "rensa-tuned": rensa_tuned,
    "datasketch": datasketch,
}


def package_of(peer: str) -> str:
    """Return the package that a peer needs."""
    return peer.partition("-")[0]


def main(peer: str, path: str, shingle: str, threshold: str) -> None:
    importlib.import_module(package_of(peer))
    unit, k = shingle.split(":")
    start = time.perf_counter()
    column = pq.read_table(path, columns=["text"])["text"]
    read = time.perf_counter() - start
    pairs, bands = PEERS[peer](column, unit, int(k), float(threshold))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest worker
    out = f"{os.path.splitext(path)[0]}.{peer}.{unit}{k}.{threshold}.npy"
    np.save(out, pairs)
    result = {
        "peer": peer,
        "version": version(package_of(peer)),
        "seconds": round(seconds, 3),
        "read_seconds": round(read, 3),
        "peak_mb": round(peak),
        "worker_peak_mb": round(worker),
        "workers": CORES if worker else 0,
        "bands": bands,
        "pairs": len(pairs),
        "out": out,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    # Fixed string hashes and Rayon's number of threads must be set before Python starts.
    wanted = {"PYTHONHASHSEED": "0", "RAYON_NUM_THREADS": str(CORES)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
