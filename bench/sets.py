"""Compare lookalike with other tools on exact joins of sets by Jaccard similarity.

    python bench/sets.py FILE... [--thresholds 0.9,0.8,0.7,0.5] [--repeat 3] [--patience 600]

A file has one set per line, its elements separated by white space; blank lines are skipped. Each
tool runs in its own process, one after another, in several rounds, and its best time counts; a tool
that takes over half a minute runs once. Reading, imports and compilation are not timed. A peer
whose whole process takes longer than the patience is killed.

    pip install SetSimilaritySearch

py_stringsimjoin needs an older NumPy than lookalike, so it runs in another environment:

    python -m venv OTHER
    OTHER/bin/pip install 'numpy<2' 'pandas<2' 'setuptools<74' wheel py_stringmatching==0.4.7
    OTHER/bin/pip install --no-build-isolation py_stringsimjoin==0.3.6
    python bench/sets.py FILE... --python py_stringsimjoin=OTHER/bin/python
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from shared import Table, machine, publish, version_of

HERE = Path(__file__).resolve()
EXACT, LSH = "lookalike, exact", "lookalike, recall 0.99"
PEERS = {  # with the packages whose versions are reported
    "setsimilaritysearch": ("SetSimilaritySearch",),
    "py_stringsimjoin": ("py_stringsimjoin", "py_stringmatching", "pandas", "numpy"),
}
SLOW = 30.0  # seconds; a tool that takes longer runs once
HEAD = (
    "threshold|tool|join|times as slow|from Python sets|times as slow|slowest join|runs|"
    "pairs|same pairs as lookalike, exact|recall"
)

Result = dict[str, Any]


def main() -> None:
    given = arguments()
    blocks: list[str | Table] = []
    versions: dict[str, str] = {}
    for path in given.files:
        blocks += [describe(path), file_table(path, given, versions)]
    threads = f"{given.threads} threads" if given.threads > 1 else "one thread" if given.threads else "all cores"
    notes = (
        "Each time is the best of its runs. The join of lookalike starts from Sets; the time from Python sets "
        "includes making them with Sets.of. SetSimilaritySearch starts from Python sets and py_stringsimjoin from a "
        f"table of lines that it splits itself, so each has only one time. lookalike runs on {threads}, the other "
        "tools on one thread."
    )
    words = machine("lookalike", "numpy", "numba", "pyarrow")
    publish(["; ".join([words, *versions.values()]), *blocks, notes], given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a file with one set per line")
    parser.add_argument("--thresholds", default="0.9,0.8,0.7,0.5")
    parser.add_argument("--repeat", type=int, default=3, help="number of rounds")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"which peers to run, of {', '.join(PEERS)}")
    parser.add_argument("--patience", type=float, default=600, help="seconds after which a peer is killed")
    parser.add_argument("--threads", type=int, default=0, help="threads for lookalike; default: all cores")
    parser.add_argument(
        "--python", action="append", default=[], metavar="PEER=PYTHON", help="the Python to run a peer with"
    )
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    given.peers = [name for name in given.peers.split(",") if name]
    given.thresholds = [one for one in given.thresholds.split(",") if one]
    given.python = dict(one.partition("=")[::2] for one in given.python)
    unknown = {*given.peers, *given.python} - {*PEERS}
    if unknown:
        parser.error(f"peers must be of {', '.join(PEERS)}; got {', '.join(sorted(unknown))}")
    if not given.thresholds or not all(is_threshold(one) for one in given.thresholds):
        parser.error(f"--thresholds must be above 0 and at most 1, like 0.9,0.8; got {','.join(given.thresholds)}")
    for path in [*given.files, *map(Path, given.python.values())]:
        if not path.is_file():
            sys.exit(f"no such file: {path}")
    return given


def is_threshold(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


def read_lines(path: Path) -> list[list[str]]:
    """Return the elements of each line that is not blank."""
    with path.open(encoding="utf-8") as file:
        return [elements for line in file if (elements := line.split())]


def read_sets(path: str) -> list[set[int]]:
    """Return one set of numbers per line; elements are numbered in order of appearance."""
    numbers: dict[str, int] = {}
    return [{numbers.setdefault(one, len(numbers)) for one in line} for line in read_lines(Path(path))]


def describe(path: Path) -> str:
    sets = read_sets(str(path))
    if not sets:
        sys.exit(f"no sets in {path}")
    count = sum(map(len, sets))
    return (
        f"{path.name}: {len(sets):,} sets of {count / len(sets):.1f} elements on average, {max(map(len, sets)):,} at "
        f"most, {len(set().union(*sets)):,} distinct elements"
    )


# --- running ---


def file_table(path: Path, given: argparse.Namespace, versions: dict[str, str]) -> Table:
    """Return the rows of all thresholds and tools; add the versions of the peers to `versions`."""
    table: Table = [HEAD.split("|")]
    for threshold in given.thresholds:
        with tempfile.TemporaryDirectory() as folder:
            what = [str(path), threshold]
            contestants = {
                EXACT: child(sys.executable, "lookalike", folder, *what, "exact", str(given.threads)),
                LSH: child(sys.executable, "lookalike", folder, *what, "lsh", str(given.threads)),
            }
            for peer in given.peers:
                contestants[peer] = child(given.python.get(peer, sys.executable), peer, folder, *what)
            runs = compete(f"{path.name} {threshold}", contestants, given.repeat, given.patience)
            if "error" in runs[EXACT][-1]:
                sys.exit(f"{EXACT}, {path.name}, {threshold}: {runs[EXACT][-1]['error']}")
            truth = np.load(runs[EXACT][-1]["out"])
            for name, results in runs.items():
                table.append([threshold, name, *columns(name, results, runs[EXACT], truth)])
                if "versions" in results[-1]:
                    versions[name] = results[-1]["versions"]
    return table


def compete(what: str, contestants: dict[str, list[str]], rounds: int, patience: float) -> dict[str, list[Result]]:
    """Return the results of all runs of each contestant; every second round is in reverse order."""
    runs: dict[str, list[Result]] = {name: [] for name in contestants}
    for turn in range(max(1, rounds)):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            if any("error" in one or one["seconds"] > SLOW for one in runs[name]):
                continue
            result = run(contestants[name], patience if name in PEERS else None)
            runs[name].append(result)
            said = result.get("error") or f"{result['seconds']:.2f} s"
            print(f"{what} {name}: {said}", file=sys.stderr)
    return runs


def run(command: list[str], patience: float | None) -> Result:
    """Return what a contestant prints, or why it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"error": f"killed after {patience:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"failed with exit code {done.returncode}: {last}"}
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def child(python: str, name: str, *given: str) -> list[str]:
    return [python, str(HERE), "--child", name, *given]


# --- in a child ---


def child_lookalike(folder: str, path: str, threshold: str, method: str, threads: str) -> Result:
    import lookalike as la

    options: dict[str, Any] = {"threshold": threshold, "method": method}
    if int(threads):
        options["threads"] = int(threads)
    la.find_pairs(la.Sets.of([{1, 2, 3}, {1, 2, 3}, *({i, i + 1, i + 2, 7} for i in range(500))]), **options)
    items = read_sets(path)
    start = time.perf_counter()
    sets = la.Sets.of(items)
    made = time.perf_counter()
    pairs = la.find_pairs(sets, **options)
    end = time.perf_counter()
    out = save(f"{folder}/lookalike-{method}.npy", pairs.left, pairs.right, len(items))
    return {"seconds": end - made, "total": end - start, **out}


def child_setsimilaritysearch(folder: str, path: str, threshold: str) -> Result:
    from SetSimilaritySearch import all_pairs

    sets = read_sets(path)
    start = time.perf_counter()
    found = list(all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=float(threshold)))
    seconds = time.perf_counter() - start
    left, right = (np.fromiter((pair[side] for pair in found), np.int64, len(found)) for side in (0, 1))
    return {"seconds": seconds, **save(f"{folder}/setsimilaritysearch.npy", left, right, len(sets))}


def child_py_stringsimjoin(folder: str, path: str, threshold: str) -> Result:
    import pandas as pd
    import py_stringmatching as sm
    import py_stringsimjoin as ssj

    lines = [" ".join(line) for line in read_lines(Path(path))]
    table = pd.DataFrame({"row": range(len(lines)), "line": lines})
    columns = ("row", "row", "line", "line")
    tokenizer = sm.WhitespaceTokenizer(return_set=True)
    options = {"allow_missing": False, "n_jobs": 1, "show_progress": False}
    start = time.perf_counter()
    found = ssj.jaccard_join(table, table, *columns, tokenizer, float(threshold), **options)
    seconds = time.perf_counter() - start
    left, right = found["l_row"].to_numpy(np.int64), found["r_row"].to_numpy(np.int64)
    return {"seconds": seconds, **save(f"{folder}/py_stringsimjoin.npy", left, right, len(lines))}


def save(out: str, left: np.ndarray, right: np.ndarray, rows: int) -> Result:
    """Write each pair of different rows once, in either order found, as one number."""
    apart = left != right
    low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
    numbers = np.unique(low.astype(np.int64) * rows + high)
    np.save(out, numbers)
    return {"pairs": len(numbers), "out": out}


CHILDREN: dict[str, Callable[..., Result]] = {
    "lookalike": child_lookalike,
    "setsimilaritysearch": child_setsimilaritysearch,
    "py_stringsimjoin": child_py_stringsimjoin,
}


def answer(name: str, *given: str) -> Result:
    """Return a child's result with the versions of its packages, or which package is missing."""
    packages = PEERS.get(name, ())
    if packages and version_of(packages[0]) is None:
        return {"error": f"not installed; see {HERE.name} --help"}
    used = ", ".join(f"{package} {version_of(package)}" for package in packages)
    return {**CHILDREN[name](*given), **({"versions": used} if used else {})}


# --- the report ---


def columns(name: str, runs: list[Result], exact: list[Result], truth: np.ndarray) -> list[str]:
    """Return a tool's row of the table without threshold and name."""
    if "error" in runs[-1]:
        return [runs[-1]["error"], *["-"] * (HEAD.count("|") - 2)]
    seconds, total = best(runs)
    our_seconds, our_total = best(exact)
    found = np.load(runs[-1]["out"])
    both = len(np.intersect1d(found, truth, assume_unique=True))
    missing, more = len(truth) - both, len(found) - both
    same = "yes" if not missing and not more else f"no: {missing:,} missing, {more:,} extra"
    return [
        f"{seconds:.2f} s",
        f"{seconds / our_seconds:.1f}",
        f"{total:.2f} s",
        f"{total / our_total:.1f}",
        f"{max(one['seconds'] for one in runs):.2f} s",
        str(len(runs)),
        f"{len(found):,}",
        "-" if name == EXACT else same,
        f"{both / len(truth):.5f}" if len(truth) else "-",
    ]


def best(runs: list[Result]) -> tuple[float, float]:
    """Return the best time of the join alone, and of the join from the tool's input."""
    return min(one["seconds"] for one in runs), min(one.get("total", one["seconds"]) for one in runs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(answer(*sys.argv[2:])))
    else:
        main()
