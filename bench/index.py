"""Build, extend and query a persistent index: lookalike on disk, datasketch in memory and on Redis.

    python bench/index.py [--documents N] [--peers-documents N] [--queries N] [--threshold 0.7] [--folder FOLDER]
                          [--previous FOLDER]

The documents are generated from a fixed seed: 20 invented words each, with natural frequencies; one
in ten is a copy of an earlier one with one word replaced. Half of the queries are such copies of
documents in the index, half are new. The ground truth is exact: every document whose Jaccard
similarity with the query, by word:3 shingles, reaches the threshold.

Each tool runs in its own process, one after another, in several rounds; the best figure counts, and
a tool that takes over two minutes runs once. The peers are slow, so they get only the first
--peers-documents; lookalike gets those too, in a separate row. The index is created under --folder,
which should be on a disk.

    pip install datasketch redis          and redis-server, from your system's packages

With --previous, the `src` folder of an earlier version of lookalike, that version is measured too.

The script starts its own Redis, on a free port and without persistence, and stops it.
"""

import argparse
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Protocol

import numpy as np
from shared import Table, machine, publish, version_of

HERE = Path(__file__).resolve()
SEED = 1
WORDS = 50_000
LENGTH = 20  # words per document
COPIES = 10  # one document in this many is a copy
CHUNK = 10_000  # documents generated or searched at a time
BATCH = 1_000  # documents added at a time
HASHES = 128  # for datasketch
SHINGLES = "word:3"
SLOW = 120.0  # seconds per round; a tool that takes longer runs once
PEERS = {"datasketch, in memory": ("datasketch",), "datasketch, on Redis": ("datasketch", "redis")}  # with the packages
REDIS = "datasketch, on Redis"
TEXTS, PREVIOUS = "lookalike, texts kept", "lookalike, previous"
CLIENTS, EACH = 32, 10  # threads that add one by one, EACH times as many documents as one thread before them
BUILD_HEAD = (
    f"tool|documents|bands|build, documents/s|batches of {BATCH:,}, documents/s|one by one, adds/s|"
    f"from {CLIENTS} threads, adds/s|"
    "bytes per item|stored|once all are added|process memory, bytes per item|peak during build"
)
QUERY_HEAD = "tool|documents|queries|p50|p99|true matches|returned|recall|precision"

Result = dict[str, Any]
Found = list[list[int]]  # the documents found for each query


def main() -> None:
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that Redis is stopped as well
    kinds = ["lookalike", TEXTS, *([PREVIOUS] if given.previous else [])]
    contestants = [(kind, given.documents) for kind in kinds]
    if given.peers_documents and given.peers:
        sizes = [given.peers_documents] if given.peers_documents != given.documents else []
        contestants += [("lookalike", size) for size in sizes]
        contestants += [(name, given.peers_documents) for name in PEERS if name.partition(" ")[2] in given.peers]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        runs = measured(contestants, given, Path(folder))
        builds, asked = [BUILD_HEAD.split("|")], [QUERY_HEAD.split("|")]
        for (name, size), rounds in runs.items():
            first = [name, f"{size:,}"]
            if "error" in rounds[-1]:
                builds.append(padded([*first, rounds[-1]["error"]], builds))
                asked.append(padded([*first, rounds[-1]["error"]], asked))
                continue
            builds.append([*first, *build_columns(rounds)])
            asked.append([*first, *query_columns(rounds, size, given)])
    words = machine("lookalike", "numpy", "numba", "lmdb", "datasketch", "redis")
    publish([f"{words}{redis_version()}", describe(given), builds, BUILD_NOTES, asked, QUERY_NOTES], given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000, help="documents in lookalike's index")
    parser.add_argument("--peers-documents", type=int, default=100_000, help="for the peers; 0 skips them")
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--singles", type=int, default=1_000, help="documents added one by one")
    parser.add_argument("--threshold", type=float, default=0.7)
    parser.add_argument("--repeat", type=int, default=3, help="number of rounds")
    parser.add_argument("--peers", default="in memory,on Redis", help="where datasketch keeps its index")
    parser.add_argument("--previous", type=Path, help="the src folder of an earlier version to measure, too")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to create the index")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    given.peers = [name for name in given.peers.split(",") if name]
    if {*given.peers} - {name.partition(" ")[2] for name in PEERS}:
        parser.error(f"--peers must be of in memory,on Redis; got {','.join(given.peers)}")
    if not 0 < given.threshold <= 1:
        parser.error(f"--threshold must be above 0 and at most 1; got {given.threshold:g}")
    if min(given.documents, given.peers_documents or BATCH) < BATCH:
        parser.error(f"--documents and --peers-documents must be at least {BATCH:,}")
    if min(given.queries, given.singles, given.repeat) < 1:
        parser.error("--queries, --singles and --repeat must be at least 1")
    if not given.folder.is_dir():
        sys.exit(f"no such folder: {given.folder}")
    return given


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# --- the documents ---


def vocabulary() -> list[str]:
    """Return distinct words of three syllables, the most frequent ones first."""
    syllables = ["".join(letters) for letters in product("bdfgklmnprstvz", "aeiou")]
    return Random(SEED).sample(["".join(three) for three in product(syllables, repeat=3)], WORDS)


def draw(stream: int, *shape: int) -> np.ndarray:
    """Draw words as numbers, rank r with the weight 1 / (r + 3); a larger shape starts the same."""
    weights = np.cumsum(1 / (np.arange(WORDS) + 3))
    drawn = np.random.default_rng((SEED, stream)).random(shape)
    return np.searchsorted(weights, drawn * weights[-1]).astype(np.uint16)


def documents(count: int) -> np.ndarray:
    """Return documents as word numbers; every tenth is a copy. A larger count starts the same."""
    rows = draw(1, count, LENGTH)
    copies = np.arange(COPIES - 1, count, COPIES)
    rows[copies] = copied(rows[originals(copies)], 2)
    return rows


def originals(copies: np.ndarray) -> np.ndarray:
    """Return for each copy an earlier document that is not a copy."""
    before = (copies + 1) // COPIES * (COPIES - 1)  # earlier documents that are not copies
    picked = (np.random.default_rng((SEED, 4)).random(len(copies)) * before).astype(np.int64)
    return picked // (COPIES - 1) * COPIES + picked % (COPIES - 1)


def copied(rows: np.ndarray, stream: int) -> np.ndarray:
    """Return the rows with one word replaced in each."""
    every, rows = np.arange(len(rows)), rows.copy()
    places = (np.random.default_rng((SEED, stream, 1)).random(len(rows)) * LENGTH).astype(np.int64)
    words = draw(stream, len(rows))
    rows[every, places] = np.where(words == rows[every, places], (words + 1) % WORDS, words)
    return rows


def questions(rows: np.ndarray, count: int) -> np.ndarray:
    """Return queries as word numbers, alternating between copies of rows and new ones."""
    asked = draw(5, count, LENGTH)
    known = np.random.default_rng((SEED, 6)).integers(len(rows), size=len(asked[::2]))
    asked[::2] = copied(rows[known], 7)
    return asked


def texts_of(rows: np.ndarray) -> list[str]:
    words = np.array(vocabulary(), object)
    parts = (words[rows[start : start + CHUNK]].tolist() for start in range(0, len(rows), CHUNK))
    return [" ".join(row) for part in parts for row in part]


def in_all(size: int, singles: int) -> int:
    """Return the final number of documents, given the number at the build."""
    return size + batched(size) + singles + EACH * singles


def batched(size: int) -> int:
    """Return how many documents are added in batches: 1%, and at least one batch."""
    return max(BATCH, size // 100 // BATCH * BATCH)


# --- the ground truth ---


def codes_of(rows: np.ndarray) -> np.ndarray:
    """Return the shingles of rows of words, each as a unique number."""
    wide = rows.astype(np.int64)
    return (wide[:, :-2] * WORDS + wide[:, 1:-1]) * WORDS + wide[:, 2:]


def truth(rows: np.ndarray, asked: np.ndarray, threshold: float) -> list[set[int]]:
    """Return the similar rows of each query, by an index of the shingles of all queries."""
    queries = [set(codes) for codes in codes_of(asked).tolist()]
    holders: dict[int, list[int]] = defaultdict(list)
    for query, codes in enumerate(queries):
        for code in codes:
            holders[code].append(query)
    wanted = np.array(sorted(holders))
    similar: list[set[int]] = [set() for _ in queries]
    for start in range(0, len(rows), CHUNK):
        codes = codes_of(rows[start : start + CHUNK])
        hit = wanted[np.minimum(np.searchsorted(wanted, codes), len(wanted) - 1)] == codes
        shared: Counter[tuple[int, int]] = Counter()
        for row in np.flatnonzero(hit.any(1)).tolist():
            shared.update((query, row) for code in {*codes[row][hit[row]].tolist()} for query in holders[code])
        for (query, row), both in shared.items():
            if both / (len(queries[query]) + len(set(codes[row].tolist())) - both) >= threshold:
                similar[query].add(start + row)
    return similar


@cache
def truth_of(size: int, singles: int, queries: int, threshold: float) -> list[set[int]]:
    """Return the ground truth for a tool with this many documents."""
    progress(f"computing the ground truth for {size:,} documents")
    rows = documents(in_all(size, singles))
    return truth(rows, questions(rows, queries), threshold)


def describe(given: argparse.Namespace) -> str:
    rows = documents(10_000)
    copies = np.arange(COPIES - 1, len(rows), COPIES)
    pairs = zip(codes_of(rows[copies]).tolist(), codes_of(rows[originals(copies)]).tolist(), strict=True)
    similar = [len(set(one) & set(other)) / len(set(one) | set(other)) for one, other in pairs]
    size = np.mean([len(text) for text in texts_of(rows[:1000])])
    return (
        f"Documents of {LENGTH} words, {size:.0f} characters, from {WORDS:,} words; one in {COPIES} is a copy of an "
        f"earlier one with one word replaced; their Jaccard similarity is {min(similar):.2f} to {max(similar):.2f}, "
        f"with a mean of {np.mean(similar):.2f} and a median of {np.median(similar):.2f}. "
        f"Shingles {SHINGLES}; similarity at least {given.threshold:g}."
    )


# --- the tools, each in a child ---


class Tool(Protocol):
    """A tool to be measured. Documents are numbered in order."""

    def build(self, texts: list[str]) -> None: ...
    def add(self, texts: list[str], first: int) -> None: ...
    def add_one(self, text: str, number: int) -> None: ...
    def add_from_clients(self, texts: list[str], first: int) -> float | None: ...  # seconds, if it has several
    def query(self, text: str) -> list[int]: ...
    def bands(self) -> str: ...
    def kept(self) -> dict[str, int]: ...  # bytes, by place
    def close(self) -> None: ...


class Lookalike:
    """lookalike, on disk and with verified answers. A small index first compiles the kernels."""

    def __init__(self, path: Path, threshold: float, keep_texts: bool, warm_up: bool = True) -> None:
        self.path, self.threshold, self.keep_texts = path, threshold, keep_texts
        if warm_up:
            small = Lookalike(path.with_name(f"{path.name}-small"), threshold, keep_texts, warm_up=False)
            texts = texts_of(documents(2000))
            small.build(texts[:1000])
            small.add(texts[1000:1999], 1000)
            small.add_one(texts[1999], 1999)
            for text in texts[:20]:
                small.query(text)
            small.close()

    def build(self, texts: list[str]) -> None:
        from lookalike.index import Index

        self.index = Index.build(
            self.path,
            texts,
            ids=range(len(texts)),
            threshold=self.threshold,
            shingles=SHINGLES,
            expected=len(texts),
            store_text=self.keep_texts,
        )

    def add(self, texts: list[str], first: int) -> None:
        self.index.add(texts, ids=range(first, first + len(texts)))

    def add_one(self, text: str, number: int) -> None:
        self.index.add([text], ids=[number])

    def add_from_clients(self, texts: list[str], first: int) -> float:
        def work(client: int) -> None:
            for at in range(client, len(texts), CLIENTS):
                self.add_one(texts[at], first + at)

        threads = [Thread(target=work, args=(client,)) for client in range(CLIENTS)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    def query(self, text: str) -> list[int]:
        return [int(number) for number, _ in self.index.query(text, k=10)]

    def bands(self) -> str:
        bands = self.index.settings["coding"]["bands"]
        return f"{bands[0]} x {bands[1]}"

    def kept(self) -> dict[str, int]:
        return {"on disk": self.index.info()["bytes"]}

    def close(self) -> None:
        self.index.close()
        shutil.rmtree(self.path)


class Datasketch:
    """datasketch in memory, with its own choice of bands; it verifies neither answers nor ids."""

    def __init__(self, threshold: float, storage: dict[str, Any] | None = None) -> None:
        from datasketch import MinHash, MinHashLSH

        self.none = MinHash(num_perm=HASHES)
        self.index = MinHashLSH(threshold=threshold, num_perm=HASHES, storage_config=storage)

    def sketch(self, text: str) -> Any:
        """Return the minhashes of a text, as MinHash.bulk does, but with less memory."""
        words = text.split(" ")
        shingles = {" ".join(words[i : i + 3]).encode() for i in range(len(words) - 2)}
        sketch = self.none.copy()
        sketch.update_batch(shingles)
        return sketch

    def build(self, texts: list[str]) -> None:
        self.add(texts, 0)

    def add(self, texts: list[str], first: int) -> None:
        with self.index.insertion_session(buffer_size=50_000) as session:
            for number, text in enumerate(texts, first):
                session.insert(number, self.sketch(text), check_duplication=False)

    def add_one(self, text: str, number: int) -> None:
        self.index.insert(number, self.sketch(text), check_duplication=False)

    def add_from_clients(self, texts: list[str], first: int) -> None:
        self.add(texts, first)

    def query(self, text: str) -> list[int]:
        found: list[int] = self.index.query(self.sketch(text))
        return found

    def bands(self) -> str:
        return f"{self.index.b} x {self.index.r}"

    def kept(self) -> dict[str, int]:
        return {}

    def close(self) -> None:
        pass


class DatasketchRedis(Datasketch):
    """datasketch on Redis; the memory of Redis counts."""

    def __init__(self, threshold: float, port: int) -> None:
        import redis

        where = {"host": "127.0.0.1", "port": port}
        self.redis = redis.Redis(**where)
        super().__init__(threshold, {"type": "redis", "redis": where, "redis_buffer": {"transaction": False}})
        self.before = self.memory()

    def memory(self) -> dict[str, int]:
        facts = self.redis.info("memory")
        return {"in Redis": facts["used_memory"], "resident": facts["used_memory_rss"]}

    def kept(self) -> dict[str, int]:
        return {where: size - self.before[where] for where, size in self.memory().items()}


def child(name: str, size: int, given: argparse.Namespace, folder: Path, port: int) -> Result:
    """Measure a tool and write what it finds to the folder."""
    rows = documents(in_all(size, given.singles))
    asked = texts_of(questions(rows, given.queries))
    texts = texts_of(rows)
    del rows
    tool: Tool
    if name in ("lookalike", TEXTS, PREVIOUS):
        tool = Lookalike(folder / "lookalike.index", given.threshold, name == TEXTS)
    else:
        tool = DatasketchRedis(given.threshold, port) if name == REDIS else Datasketch(given.threshold)
    try:
        result, found = measure(tool, texts, size, given.singles, asked)
    finally:
        tool.close()
    out = folder / f"{name}-{size}.json"
    out.write_text(json.dumps(found))
    return {**result, "out": str(out)}


def measure(tool: Tool, texts: list[str], size: int, singles: int, asked: list[str]) -> tuple[Result, Found]:
    """Build with the first documents, add the others in batches and one by one, and query."""
    cut = size + batched(size)
    first, more, last, others = texts[:size], texts[size:cut], texts[cut : cut + singles], texts[cut + singles :]
    gc.collect()
    before = memory()
    build = seconds(lambda: tool.build(first))
    gc.collect()
    after = memory()
    kept = tool.kept()
    for_batches = sum(
        seconds(lambda at=at: tool.add(more[at : at + BATCH], size + at)) for at in range(0, len(more), BATCH)
    )
    for_singles = sum(seconds(lambda at=at: tool.add_one(last[at], cut + at)) for at in range(len(last)))
    for_clients = tool.add_from_clients(others, cut + singles)
    for text in texts[:50]:
        tool.query(text)
    found: Found = []
    times = [seconds(lambda text=text: found.append(tool.query(text))) for text in asked]
    p50, p99 = np.percentile(times, (50, 99)).tolist()
    result = {
        "build": size / build,
        "batches": len(more) / for_batches,
        "singles": len(last) / for_singles,
        "clients": len(others) / for_clients if for_clients else None,
        "p50": 1000 * p50,
        "p99": 1000 * p99,
        "memory": (after["RssAnon"] - before["RssAnon"]) / size,
        "peak": (after["VmHWM"] - before["VmRSS"]) / size,
        "kept": {where: each / size for where, each in kept.items()},
        "kept once added": {where: each / len(texts) for where, each in tool.kept().items()},
        "bands": tool.bands(),
    }
    return result, found


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def memory() -> dict[str, int]:
    """Return bytes of this process: anonymous, resident, and peak since the last call."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    sizes = {line[0][:-1]: 1024 * int(line[1]) for line in lines if line[0] in ("RssAnon:", "VmRSS:", "VmHWM:")}
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    return sizes


# --- running ---


def measured(
    contestants: list[tuple[str, int]], given: argparse.Namespace, folder: Path
) -> dict[tuple[str, int], list[Result]]:
    """Return the results of all runs of each tool; every second round is in reverse order."""
    runs: dict[tuple[str, int], list[Result]] = {one: [] for one in contestants}
    for turn in range(given.repeat):
        for name, size in contestants[:: -1 if turn % 2 else 1]:
            done = runs[name, size]
            if any("error" in one or one["seconds"] > SLOW for one in done):
                continue
            start = time.perf_counter()
            result = run(name, size, given, folder)
            done.append({**result, "seconds": time.perf_counter() - start})
            said = result.get("error") or f"{result['build']:,.0f} documents/s built, query {result['p50']:.2f} ms"
            progress(f"round {turn + 1}, {name}, {size:,} documents: {said}; {done[-1]['seconds']:.0f} s in all")
    return runs


def run(name: str, size: int, given: argparse.Namespace, folder: Path) -> Result:
    """Return what a child prints, or why it failed."""
    missing = [package for package in PEERS.get(name, ()) if version_of(package) is None]
    if name == REDIS and shutil.which("redis-server") is None:
        missing.append("redis-server")
    if missing:
        return {"error": f"not installed: {', '.join(missing)}"}
    if name != REDIS:
        return started(name, size, given, folder, 0)
    with own_redis() as port:
        return started(name, size, given, folder, port)


def started(name: str, size: int, given: argparse.Namespace, folder: Path, port: int) -> Result:
    options = {"queries": given.queries, "singles": given.singles, "threshold": given.threshold}
    job = json.dumps({"name": name, "size": size, "folder": str(folder), "port": port, **options})
    environment = dict(os.environ)
    if name == PREVIOUS:
        folders = [str(given.previous), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    command = [sys.executable, str(HERE), "--child", job]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"failed with exit code {done.returncode}: {last}"}
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


@contextmanager
def own_redis() -> Iterator[int]:
    """Run a Redis without persistence, on a free local port; yield the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    options = {"bind": "127.0.0.1", "port": str(port), "save": "", "appendonly": "no"}
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", *(word for name, value in options.items() for word in (f"--{name}", value))]
        server = subprocess.Popen([*command, "--dir", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(server, port)
            yield port
        finally:
            server.kill()  # there is nothing to save
            server.wait()


def wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(100):
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"redis-server does not answer on port {port}")


# --- the report ---


BUILD_NOTES = (
    "Each figure is the best of the rounds. Documents per second and bytes per item can be compared between rows "
    "with different numbers of documents. Stored says where the bytes are: on disk, where lookalike's include the "
    "hashed shingles of every document or its text, which verify the answers; in the memory of the process; or in "
    "Redis, as it reports itself (resident in brackets). datasketch keeps only ids and bands, which cannot verify "
    f"anything. Once all are added, there are 1% more documents (at least {BATCH:,}) and those added one by one, by "
    f"one thread and then by {CLIENTS} threads, which share flushes of the disk. The memory of the process is its "
    "growth, excluding pages of mapped files, which the system can drop; the peak includes these. Documents added to "
    "lookalike are on disk when the call returns; the others write nothing to disk. lookalike builds and adds on all "
    f"cores; datasketch uses one thread, {HASHES} hashes and insertion sessions, and does not check that ids are new."
)
QUERY_NOTES = (
    "One query at a time, starting from the text, after all documents were added; the best of the rounds. Recall "
    "and precision count pairs of a query and a document. lookalike returns at most 10 documents, verified and with "
    "their similarity; datasketch returns candidates that are not verified."
)


def padded(row: list[str], table: Table) -> list[str]:
    return [*row, *["-"] * (len(table[0]) - len(row))]


def build_columns(rounds: list[Result]) -> list[str]:
    """Return a tool's row of the first table without its name and number of documents."""
    last = rounds[-1]
    held = min(one["memory"] for one in rounds)
    kept, later = last["kept"] or {"in memory": held}, last["kept once added"]
    where = next(iter(kept))
    return [
        last["bands"],
        *(f"{max(one[what] for one in rounds):,.0f}" for what in ("build", "batches", "singles")),
        f"{max(one['clients'] for one in rounds):,.0f}" if last["clients"] else "-",
        f"{kept[where]:,.0f}" + (f" ({kept['resident']:,.0f})" if "resident" in kept else ""),
        where,
        f"{later[where]:,.0f}" if later else "-",
        f"{held:,.0f}",
        f"{min(one['peak'] for one in rounds):,.0f}",
    ]


def query_columns(rounds: list[Result], size: int, given: argparse.Namespace) -> list[str]:
    """Return a tool's row of the second table without its name and number of documents."""
    true = truth_of(size, given.singles, given.queries, given.threshold)
    found: Found = json.loads(Path(rounds[-1]["out"]).read_text())
    both = sum(len(one & set(some)) for one, some in zip(true, found, strict=True))
    matches, returned = sum(map(len, true)), sum(map(len, found))
    return [
        f"{given.queries:,}",
        *(f"{min(one[what] for one in rounds):.3f} ms" for what in ("p50", "p99")),
        f"{matches:,}",
        f"{returned:,}",
        f"{both / matches:.4f}" if matches else "-",
        f"{both / returned:.4f}" if returned else "-",
    ]


def redis_version() -> str:
    if shutil.which("redis-server") is None:
        return ""
    said = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=False).stdout
    return "".join(f"; redis-server {word[2:]}" for word in said.split() if word.startswith("v="))


def run_child(job: dict[str, Any]) -> Result:
    given = argparse.Namespace(**{name: job[name] for name in ("queries", "singles", "threshold")})
    return child(job["name"], job["size"], given, Path(job["folder"]), job["port"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(run_child(json.loads(sys.argv[2]))))
    else:
        main()
