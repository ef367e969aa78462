"""Compare lookalike with other tools on near-duplicate documents, from Parquet to pairs.

    python bench/documents.py CORPUS.parquet [--shingle word:5] [--threshold 0.8] [--repeat 3] [--rows N]

Each tool runs in its own process, one after another, in several rounds, and its best time counts; a
tool that takes over half a minute runs once. Imports and compilation are not timed. An exact join
is the ground truth. Two limits are measured as well: reading the file, and hashing its shingles
once.
"""

import argparse
import importlib.util
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shared import Table, machine, publish, take_head

HERE = Path(__file__).resolve()
PEERS = ("gaoya", "rensa", "rensa-tuned", "datasketch")
SLOW = 30.0  # seconds; a tool that takes longer runs once
WARM = [f"{'the quick brown fox jumps over the lazy dog and runs away ' * 3}{end}" for end in ("home", "now", "now")]

Result = dict[str, Any]


def main() -> None:
    given = arguments()
    peers = [name for name in given.peers.split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.parquet")  # peers write to the same folder
        if given.rows:
            run_child("head", str(given.corpus), str(given.rows), str(corpus))
        else:
            corpus.symlink_to(given.corpus.resolve())
        what = [str(corpus), given.shingle, given.threshold]
        contestants = {"lookalike": child("lookalike", *what, "0.99"), "limits": child("limits", *what)}
        contestants |= {peer: [sys.executable, str(HERE.with_name("peers.py")), peer, *what] for peer in peers}
        missing = [peer for peer in peers if importlib.util.find_spec(peer.partition("-")[0]) is None]
        runs = compete({name: line for name, line in contestants.items() if name not in missing}, given.repeat)
        if given.truth:
            runs["lookalike, exact"] = [run(child("lookalike", *what, "1.0"))]
            note("lookalike, exact", runs["lookalike, exact"][0])
        report(given, peers, runs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a Parquet file with a column `text`")
    parser.add_argument("--shingle", default="word:5", help="word:K or char:K")
    parser.add_argument("--threshold", default="0.8")
    parser.add_argument("--repeat", type=int, default=3, help="number of rounds")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"which peers to run, of {', '.join(PEERS)}")
    parser.add_argument("--no-truth", dest="truth", action="store_false", help="skip the exact join")
    parser.add_argument("--rows", type=int, help="use only the first rows of the file")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    unknown = set(given.peers.split(",")) - {*PEERS, ""}
    if unknown:
        parser.error(f"--peers must be of {', '.join(PEERS)}; got {', '.join(sorted(unknown))}")
    if not re.fullmatch(r"(word|char):[1-9]\d*", given.shingle):
        parser.error(f"--shingle must look like word:5 or char:9; got {given.shingle}")
    return given


# --- running ---


def compete(contestants: dict[str, list[str]], rounds: int) -> dict[str, list[Result]]:
    """Return the results of all runs of each contestant; every second round is in reverse order."""
    runs: dict[str, list[Result]] = {name: [] for name in contestants}
    for turn in range(max(1, rounds)):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            if any("error" in one or one["seconds"] > SLOW for one in runs[name]):
                continue
            runs[name].append(run(contestants[name]))
            note(name, runs[name][-1])
    return runs


def run(command: list[str]) -> Result:
    """Return what a contestant prints, or why it failed.

    This process stays small, since a child's peak memory is at least ours.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"failed with exit code {done.returncode}: {last}"}
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def note(name: str, result: Result) -> None:
    print(f"{name}: {result.get('error') or format(result['seconds'], '.2f') + ' s'}", file=sys.stderr)


def child(name: str, *given: str) -> list[str]:
    return [sys.executable, str(HERE), "--child", name, *given]


def run_child(name: str, *given: str) -> None:
    if "error" in (result := run(child(name, *given))):
        sys.exit(result["error"])


# --- in a child ---


def child_lookalike(path: str, shingle: str, threshold: str, recall: str) -> Result:
    import pyarrow.parquet  # noqa: F401  not timed, as for the peers

    from lookalike.find import find_pairs
    from lookalike.io.write import write_tables

    def find(items: str | list[str]) -> Any:
        return find_pairs(items, threshold=threshold, shingles=shingle, recall=float(recall))

    find(WARM)
    stem = f"{path.removesuffix('.parquet')}.{recall}"
    start = time.perf_counter()
    pairs = find(path)
    write_tables([pairs.to_arrow()], f"{stem}.pairs.parquet", pairs.plan.settings())
    seconds = time.perf_counter() - start
    np.save(f"{stem}.npy", np.column_stack((pairs.left, pairs.right)))
    bands = pairs.plan.bands
    return {
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "bands": f"{bands.bands} x {bands.rows}" if bands else "exact",
        "pairs": len(pairs),
        "out": f"{stem}.npy",
    }


def child_limits(path: str, shingle: str, threshold: str) -> Result:
    import pyarrow.compute as pc
    import pyarrow.parquet  # noqa: F401

    from lookalike.core.run import Run
    from lookalike.io.documents import Source
    from lookalike.items.shingles import Shingles, as_array

    shingles = Shingles.parse(shingle)
    shingles.sets(WARM)
    start = time.perf_counter()
    for _ in Source([path]).batches():
        pass
    read = time.perf_counter() - start
    texts = [as_array(batch["text"]) for batch in Source([path]).batches()]
    start = time.perf_counter()
    counts = [len(made[1]) for made in Run().map(lambda some: shingles.hashes(shingles.prepare(some)), texts)]
    hashed = time.perf_counter() - start
    size = sum(pc.sum(pc.binary_length(some)).as_py() for some in texts)
    documents = sum(map(len, texts))
    times = {"seconds": read + hashed, "read": read, "hash": hashed}
    return {**times, "documents": documents, "bytes": size, "shingles": sum(counts)}


def child_head(corpus: str, rows: str, out: str) -> Result:
    take_head(Path(corpus), int(rows), Path(out))
    return {}


CHILDREN: dict[str, Callable[..., Result]] = {
    "lookalike": child_lookalike,
    "limits": child_limits,
    "head": child_head,
}


# --- the report ---


def report(given: argparse.Namespace, peers: list[str], runs: dict[str, list[Result]]) -> None:
    for needed in ("lookalike", "limits"):
        if "error" in runs[needed][-1]:
            sys.exit(f"{needed}: {runs[needed][-1]['error']}")
    limits = runs["limits"]
    size = limits[0]
    ours = min(one["seconds"] for one in runs["lookalike"])
    exact = runs.get("lookalike, exact", [{}])[0].get("out")
    truth = pair_numbers(exact, size["documents"]) if exact else None
    head = "tool|time|slowest run|runs|MB/s|times as slow|peak memory|bands|pairs|recall|precision"
    table: Table = [head.split("|")]
    for name in ["lookalike", "lookalike, exact", *peers]:
        if name in runs:
            table.append([name, *columns(runs[name], ours, size, truth)])
        elif name in peers:
            table.append([name, "not installed: pip install 'lookalike[bench]'", *["-"] * (len(table[0]) - 2)])
    read, hashed = (min(one[part] for one in limits) for part in ("read", "hash"))
    packages = ("lookalike", "numpy", "numba", "pyarrow", "gaoya", "rensa", "datasketch")
    rows = f"first {given.rows:,} rows of " if given.rows else ""
    blocks: list[str | Table] = [
        f"{rows}{given.corpus.name}: {size['documents']:,} documents, {size['bytes'] / 1e6:,.1f} MB of text, "
        f"{size['shingles']:,} shingles {given.shingle}; similarity at least {given.threshold}",
        machine(*packages),
        table,
        "Time is from Parquet to pairs, the best of the runs; recall and precision are against the exact join.",
        [
            ["limit", "time", "MB/s"],
            ["reading the file, one thread", f"{read:.2f} s", f"{size['bytes'] / 1e6 / read:,.0f}"],
            ["hashing its shingles once, all cores", f"{hashed:.2f} s", f"{size['bytes'] / 1e6 / hashed:,.0f}"],
        ],
        f"lookalike takes {ours / (read + hashed):.2f} times the sum of the two.",
    ]
    publish(blocks, given.markdown)


def columns(runs: list[Result], ours: float, size: Result, truth: np.ndarray | None) -> list[str]:
    """Return a contestant's row of the table without its name."""
    if "error" in runs[-1]:
        return [runs[-1]["error"], *["-"] * 9]
    best = min(runs, key=lambda one: one["seconds"])
    seconds = best["seconds"]
    memory = f"{max(one['peak_mb'] for one in runs):,.0f} MB"
    if best.get("workers"):  # forked, so they share part of the memory
        memory += f" + {best['workers']} x {max(one['worker_peak_mb'] for one in runs):,} MB"
    recall = precision = "-"
    if truth is not None:
        found = pair_numbers(best["out"], size["documents"])
        both = len(np.intersect1d(found, truth, assume_unique=True))
        recall, precision = share(both, len(truth)), share(both, len(found))
    return [
        f"{seconds:.2f} s",
        f"{max(one['seconds'] for one in runs):.2f} s",
        str(len(runs)),
        f"{size['bytes'] / 1e6 / seconds:,.1f}",
        f"{seconds / ours:.1f}",
        memory,
        best["bands"],
        f"{best['pairs']:,}",
        recall,
        precision,
    ]


def pair_numbers(path: str, documents: int) -> np.ndarray:
    """Read pairs of rows as one number per pair."""
    pairs = np.load(path)
    return np.unique(pairs[:, 0] * documents + pairs[:, 1])


def share(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else "-"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(CHILDREN[sys.argv[2]](*sys.argv[3:])))
    else:
        main()
