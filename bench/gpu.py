"""Measure all pairs of vectors on one CUDA card: time, rate, what is skipped, and whether none is missed.

    python bench/gpu.py check [--settings 20]                 random settings, compared with brute force on the CPU
    python bench/gpu.py heads [--rows 1048576] [--block 1024]  pairs and products per second, by the width of heads
    python bench/gpu.py pairs --rows N --dimensions D         a whole search of a .npy file, stage by stage
    python bench/gpu.py peers --rows N --dimensions D         plain PyTorch, faiss and cuVS, if installed

Vectors are drawn at random, with a near copy of one row in a hundred, which no method can skip; or, with
--like real, around centres and with few main directions, as embeddings of texts have; or --file FILE
names an .npy file. Equal hashes are equal results. A rate in TFLOP/s counts each pair of n rows of d
components once: n * n * d operations, however few the card has done. Times include starting nothing: a
first search of 20,000 rows compiles the kernels.
"""

import argparse
import hashlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from shared import machine, publish

import lookalike as la
from lookalike.core.run import Run

CHUNK = 1 << 16
COPIES = 100  # one row in COPIES is a near copy of another
WIDTHS = {64: (64,), 128: (128,), 256: (256,), 384: (64, 128, 256, 384), 768: (128, 768)}  # of heads, by dimensions
MEASURES = ("cosine_similarity", "angle", "euclidean", "hamming", "inner_product")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "heads", "pairs", "peers"))
    parser.add_argument("--settings", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1 << 20)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--measure", default="cosine_similarity")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: brute force, to compare with")
    parser.add_argument("--like", choices=("noise", "real"), default="noise")
    parser.add_argument("--file", type=Path, help="an .npy file of vectors, in place of drawn ones")
    parser.add_argument("--keep", action="store_true", help="keep the drawn file for the next run")
    parser.add_argument("--memory", type=float, help="gigabytes of the card's memory to use")
    parser.add_argument("--audit", type=int, default=0, help="rows to compare with all others on the CPU")
    parser.add_argument("--result", choices=("pairs", "clusters", "dedup"), default="pairs")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--ordered", action="store_true", help="order rows wherever this skips pairs of blocks")
    parser.add_argument("--block", type=int, help="rows per block on the card")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    if options.block:
        from lookalike.devices import cuda

        cuda.BLOCK = cuda.Cuda.block = options.block
    if options.ordered:
        from lookalike.devices import cuda

        cuda.Cuda.ordering = 0.0
    publish([machine("lookalike", "torch", "triton", "numpy", "numba"), *globals()[options.what](options)],
            options.markdown)  # fmt: skip


# --- data ---


def drawn(path: Path, rows: int, dimensions: int, like: str) -> None:
    """Write random float32 vectors to an .npy file, a chunk per task."""
    out = np.lib.format.open_memmap(path, "w+", np.float32, (rows, dimensions))
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4096, dimensions)).astype(np.float32)
    spread = (np.arange(1, dimensions + 1) ** -0.5).astype(np.float32)
    spread *= np.sqrt(dimensions / (spread * spread).sum())

    def work(start: int) -> None:
        rng = np.random.default_rng(1 + start)
        part = out[start : start + CHUNK]
        rng.standard_normal(out=(some := np.empty(part.shape, np.float32)), dtype=np.float32)
        if like == "real":
            some *= 0.8
            some += centres[rng.integers(0, len(centres), len(some))]
            some *= spread
        copied = np.arange(1, len(some), COPIES)
        noise = rng.standard_normal((len(copied), dimensions), np.float32) * rng.uniform(0.05, 0.6, (len(copied), 1))
        some[copied] = some[copied - 1] + (noise * (spread if like == "real" else 1)).astype(np.float32)
        part[:] = some

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(work, range(0, rows, CHUNK)))
    out.flush()


def given_file(options: argparse.Namespace) -> Path:
    if options.file:
        return Path(options.file)
    path = Path(tempfile.gettempdir()) / f"vectors-{options.like}-{options.rows}x{options.dimensions}.npy"
    if not path.exists():
        drawn(path, options.rows, options.dimensions, options.like)
    return path


# --- what is measured ---


def check(options: argparse.Namespace) -> list[Any]:
    """Compare pairs and values of random settings with those of brute force, bit for bit."""
    table = [["rows", "dimensions", "measure", "threshold", "kind", "pairs", "equal"]]
    for seed in range(options.settings):
        rng = np.random.default_rng(seed)
        measure = MEASURES[seed % 5]
        rows, dimensions = int(rng.integers(2, 30_000)), int(rng.choice([3, 17, 50, 64, 100, 200, 384, 768, 1000]))
        given, kind = odd_rows(rng, rows, dimensions, measure)
        threshold: Any = {"cosine_similarity": rng.uniform(0.3, 0.99), "angle": rng.uniform(2, 60)}.get(measure)
        if measure == "euclidean":
            threshold = float(rng.uniform(0.05, 0.5)) * float(np.sqrt(dimensions)) * float(np.median(np.abs(given)))
        if measure == "inner_product":
            with np.errstate(over="ignore"):
                squares = np.square(given.astype(np.float64)).sum(axis=1)
            threshold = float(rng.uniform(0.3, 1.2) * np.quantile(squares, 0.98))
        if measure == "hamming":
            threshold = int(dimensions * rng.uniform(0.02, 0.3))
        common: dict[str, Any] = {"measure": measure, "threshold": threshold}
        other: Any = ()
        if seed % 3 == 2:  # between two collections
            half = rows // 2
            search, other = la.find_matches, (given[half:],)
            given = given[:half]
        else:
            search = la.find_pairs
        one = search(given, *other, **common, device="cuda")
        two = search(given, *other, **common, device="cpu", method="brute")
        equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("left", "right", "values"))
        table.append([f"{rows:,}", str(dimensions), measure, f"{threshold:.4g}", kind, f"{len(two):,}", str(equal)])
        if not equal:
            raise SystemExit(f"setting {seed} differs: {table[-1]}")
    return [table]


def odd_rows(rng: np.random.Generator, rows: int, dimensions: int, measure: str) -> tuple[np.ndarray, str]:
    """Draw rows with near copies and duplicates; some with huge, tiny or zero lengths."""
    centres = rng.normal(size=(max(2, rows // 4), dimensions))
    given = centres[rng.integers(0, len(centres), rows)]
    if measure == "hamming":
        return (given > 0) ^ (rng.random(given.shape) < 0.05), "bits"
    moved = rng.random(rows) < 0.7
    given[moved] += rng.normal(size=given[moved].shape) * rng.choice([0.01, 0.3, 0.6], (int(moved.sum()), 1))
    kind = str(rng.choice(["float32", "float64", "scaled", "far out"]))
    if kind == "scaled":
        given *= (
            10.0 ** rng.uniform(-30, 30, (rows, 1)) if measure != "euclidean" else 10.0 ** rng.uniform(-2, 2, (rows, 1))
        )
    if kind == "far out":
        some = rng.integers(0, rows, 3)
        given[some] *= np.array([[1e-300], [1e200], [1e280]])
    if measure == "euclidean" and rows > 10:
        given[rng.integers(0, rows, 5)] = 0
    return given.astype(np.float32 if kind == "float32" else np.float64), kind


def heads(options: argparse.Namespace) -> list[Any]:
    """Time the comparison of heads of each width that holds all components or some."""
    import torch

    from lookalike.devices.opening import open_cuda
    from lookalike.items.vectors import Vectors
    from lookalike.search.heads import fitted, longest_row, rows_of
    from lookalike.search.on_device import Fit, Joiner
    from lookalike.search.spaces import VectorSpace

    table = [["rows", "dimensions", "width of heads", "seconds", "pairs per second", "products (TOP/s)",
              "n * n * d (TFLOP/s)"]]  # fmt: skip
    device = open_cuda()
    print(f"{device.name}: {device.slowness:.2f} times as long as planned for", flush=True)
    run = Run()
    n = options.rows
    for dimensions, widths in WIDTHS.items():
        values = np.random.default_rng(0).standard_normal((n, dimensions), np.float32)
        space = VectorSpace(Vectors(values), "cosine_similarity", options.threshold, run)
        joiner = Joiner(device, space, run)
        rows = np.arange(n)
        for width in widths:
            chosen = fitted(space, rows_of(space, rows[:4096]), width, longest_row(space), np.random.default_rng(0))
            held = joiner._get(Fit(chosen, True), rows)
            one, other = (joiner._side(chosen, held, rows, bounds) for bounds in (space.bounds, None))
            times = []
            for _ in range(1 + options.repeat):
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _found in joiner._batches(chosen, one, other, True):
                    pass
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
            seconds = min(times[1:])
            pairs = n * (n - 1) / 2
            rates = 2 * pairs * width / seconds / 1e12, n * n * dimensions / seconds / 1e12
            each = f"{pairs / seconds / 1e12:.2f} T"
            table.append([f"{n:,}", str(dimensions), str(width), f"{seconds:.3f}", each, *(f"{x:,.0f}" for x in rates)])
            del held, one, other
            joiner.close()
    return [table]


def pairs(options: argparse.Namespace) -> list[Any]:
    """Search an .npy file, from reading to verified pairs, and show the seconds of each stage.

    Some parts overlap: rows are loaded while others are compared, if they do not all fit.
    """
    import torch

    from lookalike.devices.cuda import Cuda
    from lookalike.io.vectors import VectorSource

    path = given_file(options)
    warm = np.random.default_rng(0).standard_normal((20_000, np.load(path, mmap_mode="r").shape[1]), np.float32)
    common: dict[str, Any] = {"measure": options.measure, "threshold": options.threshold}
    la.find_pairs(
        warm, **common, **({"device": "cpu", "method": "brute"} if options.device == "cpu" else {"device": "cuda"})
    )
    table = [["run", "seconds", "read", "prepare", "load", "compare", "verify", "order", "audit", "n * n * d (TFLOP/s)",
              "blocks skipped", "on the card", "found", "hash", "audited"]]  # fmt: skip
    said: list[str] = []
    within = timed()
    for _ in range(options.repeat):
        run = Run()
        run.say = said.append  # type: ignore[method-assign]
        where: dict[str, Any] = {"device": "cpu", "method": "brute"}
        if options.device == "cuda":
            where = {"device": Cuda(None if options.memory is None else int(options.memory * 1e9))}
            torch.cuda.reset_peak_memory_stats()
        within.clear()
        start = time.perf_counter()
        items = VectorSource([str(path)], directions=options.measure in ("cosine_similarity", "angle")).read(run)
        search = {"pairs": la.find_pairs, "clusters": la.find_clusters, "dedup": la.dedup}[options.result]
        found = search(items, **common, **where, run=run, audit=options.audit)
        seconds = time.perf_counter() - start
        n, d = items.values.shape
        took = {name: f"{run.seconds.get(name, 0.0):.2f}" for name in ("read", "prepare", "order", "audit")}
        parts = {name: f"{within.get(name, 0.0):.2f}" for name in ("load", "candidates", "measured_pairs")}
        skipped = found.stats.get("blocks_skipped", 0) / max(1, found.stats.get("blocks", 1))
        held = torch.cuda.max_memory_reserved() / 1e9 if options.device == "cuda" else 0.0
        what = f"{path.stem}, {options.measure} {options.threshold}, {options.result}"
        what += "" if options.memory is None else f", {options.memory:g} GB of the card"
        what += ", ordered" if options.ordered else ""
        what += ", brute force on the processor" if options.device == "cpu" else ""
        audited = "" if found.audit is None else f"{found.audit.found} of {found.audit.true}"
        table.append([what, f"{seconds:.2f}", took["read"], took["prepare"], parts["load"], parts["candidates"],
                      parts["measured_pairs"], took["order"], took["audit"],
                      f"{n * n * d / run.seconds['compare'] / 1e12:,.0f}", f"{skipped:.1%}", f"{held:.1f} GB",
                      f"{len(found):,}", content(found), audited])  # fmt: skip
        print(table[-1], flush=True)
    if not options.keep and not options.file:
        path.unlink()
    return [table, *dict.fromkeys(" ".join(line.split()) for line in said)]


def content(found: Any) -> str:
    """Return a hash of a result: equal results have equal hashes."""
    arrays = [value for name, value in sorted(vars(found).items()) if isinstance(value, np.ndarray)]
    state = hashlib.blake2b(digest_size=6)
    for array in arrays:
        state.update(np.ascontiguousarray(array).view(np.uint8))
    return state.hexdigest()


def timed() -> dict[str, float]:
    """Time the parts of a comparison on a card; some of them overlap."""
    from lookalike.devices.cuda import Cuda
    from lookalike.search import on_device, tables

    seconds: dict[str, float] = {}
    places = ((on_device, "make_heads"), (on_device, "ordered"), (Cuda, "__init__"), (Cuda, "load"), (Cuda, "side"),
              (Cuda, "candidates"), (Cuda, "close"), (tables, "measured_pairs"))  # fmt: skip
    for owner, name in places:
        inner = getattr(owner, name)

        def call(*given: Any, inner: Any = inner, name: str = name, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return inner(*given, **options)
            finally:
                seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

        setattr(owner, name, call)
    return seconds


def peers(options: argparse.Namespace) -> list[Any]:
    """Time plain PyTorch in half precision and, if they are installed, faiss and cuVS."""
    import torch

    path = given_file(options)
    values = np.load(path)
    n, d = values.shape
    table = [["tool", "seconds", "pairs", "how"]]
    for _ in range(2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        x = torch.from_numpy(values).cuda()
        x /= x.norm(dim=1, keepdim=True)
        half, found, block, slack = x.bfloat16(), 0, 16_384, 0.008
        for a in range(0, n, block):
            for b in range(a, n, block):
                near = torch.nonzero(half[a : a + block] @ half[b : b + block].T >= options.threshold - slack)
                one, other = near[:, 0] + a, near[:, 1] + b
                keep = one < other
                one, other = one[keep], other[keep]
                for part in range(0, len(one), 1 << 22):
                    products = (x[one[part : part + (1 << 22)]] * x[other[part : part + (1 << 22)]]).sum(1)
                    found += int((products >= options.threshold).sum())
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    table.append(["PyTorch", f"{seconds:.2f}", f"{found:,}", "bfloat16 products of 16,384 rows, checked in float32"])
    try:
        from cuvs.neighbors import brute_force
    except ImportError:
        missing = ["cuVS"]
    else:
        missing = []
        start = time.perf_counter()
        index = brute_force.build(torch.from_numpy(values).cuda(), metric="cosine")
        for a in range(0, n, block):
            brute_force.search(index, torch.from_numpy(values[a : a + block]).cuda(), 100)
        torch.cuda.synchronize()
        table.append(["cuVS, 100 nearest", f"{time.perf_counter() - start:.2f}", "", "it has no search by threshold"])
    try:
        import faiss
    except ImportError:
        return [table, f"{' and '.join(['faiss', *missing])} not installed here."]
    few = values[np.random.default_rng(0).permutation(n)[:2000]].copy()
    faiss.normalize_L2(few)
    whole = values.copy()
    faiss.normalize_L2(whole)
    flat = faiss.IndexFlatIP(d)
    flat.add(whole)
    start = time.perf_counter()
    flat.range_search(few, options.threshold)
    seconds = (time.perf_counter() - start) * n / len(few)
    table.append(["faiss flat, CPU", f"{seconds:,.0f}", "", "2,000 rows as queries, scaled up"])
    if hasattr(faiss, "StandardGpuResources"):
        flat = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, flat)
        start = time.perf_counter()
        flat.search(whole, 100)
        table.append(
            ["faiss flat, GPU, 100 nearest", f"{time.perf_counter() - start:.2f}", "", "no search by threshold"]
        )
    return [table, *(f"{name} is not installed here." for name in missing)]


if __name__ == "__main__":
    main()
