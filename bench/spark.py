"""Compare lookalike on Spark with MLlib's MinHashLSH and with lookalike on one machine.

    python bench/spark.py [--documents 100000 300000] [--rounds 3] [--tables 3] [--engines lookalike MLlib] [--same]
                          [FILE.parquet ...]

Documents are those of bench/scale.py: 30 words from a vocabulary of 50,000; one in ten is a copy of
another with a word replaced. The first --rows of each file given are compared as well, as words
separated by blanks, since MLlib and lookalike define words differently. Similar means Jaccard >=
0.8 of shingles of three words. MLlib makes its shingles with its own Tokenizer, NGram and
HashingTF, and gets the fewest hash tables that match the recall of lookalike's plan at the
threshold. Both engines take turns and are timed from reading the file to counting the pairs; the
best counts. How many times as fast one is follows from core-seconds, which other programs on the
machine hardly change. The true pairs are those of an exact join. --same compares the pairs and clusters
of Spark and of one machine, pair by pair. --cost deduplicates the files given and measures each
step: the processor time of Java and of the Python workers, and the shuffled bytes in Spark's log.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.ml import Pipeline
from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from scale import generate
from shared import Table, machine, publish, take_head

import lookalike as la
import lookalike.spark
from lookalike.core.run import Run, Tick
from lookalike.items.shingles import split_words

ENGINES = ("lookalike", "MLlib")
THRESHOLD, WORDS = 0.8, 3
FEATURES = 1 << 20
SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
OPTIONS = {"threshold": THRESHOLD, "shingles": f"word:{WORDS}", "recall": 0.995}
Pairs = set[tuple[int, int]]
SEEN: dict[tuple[int, str], int] = {}  # ticks of the processor that processes have taken, by id and start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.parquet")
    parser.add_argument("--documents", nargs="*", type=int, default=[100_000, 300_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tables", type=int, default=3, help="hash tables for MLlib")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of each file")
    parser.add_argument("--same", action="store_true", help="compare with one machine, pair by pair")
    parser.add_argument("--cost", nargs="*", type=Path, default=[], metavar="FILE.parquet", help="measure each step")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    threading.Thread(target=watch, daemon=True).start()
    builder = SparkSession.builder.master("local[2]").appName("lookalike")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryDirectory() as folder:
        logs = {"enabled": "true", "dir": f"file://{folder}/log", "compress": "false", "rolling.enabled": "false"}
        Path(f"{folder}/log").mkdir()
        for name, value in logs.items():
            builder = builder.config(f"spark.eventLog.{name}", value)
        session = builder.getOrCreate()
        files = [as_words(file, given.rows, Path(folder)) for file in given.files]
        for count in given.documents:
            files.append(Path(folder) / f"made-up-{count}.parquet")
            generate(files[-1], count)
        compared: Table = [["input", "documents", "engine", "time", "core-seconds", "pairs", "recall", "times as fast"]]
        same: Table = [["input", "documents", "pairs", "clusters", "documents in them", "same result"]]
        for file in files:
            if given.rounds:
                compared += compare(session, file, given.rounds, given.tables, given.engines)
            if given.same:
                same.append(is_same(session, file))
        costs = [part for file in given.cost for part in cost(session, file, Path(folder) / "log")]
        session.stop()
    title = f"`local[2]`, {', '.join(f'{name}={value}' for name, value in list(SETTINGS.items())[:2])}"
    what = f"Jaccard >= {THRESHOLD} of shingles of {WORDS} words; MLlib with {given.tables} hash tables"
    parts = [machine("lookalike", "pyspark", "numpy", "numba", "pyarrow"), title, what]
    publish([*parts, *([compared] if given.rounds else []), *([same] if given.same else []), *costs], given.markdown)


def compare(session: SparkSession, file: Path, rounds: int, tables: int, engines: Sequence[str]) -> Table:
    """Time the engines in turns; return a row for each."""
    documents = pq.read_metadata(file).num_rows
    true = pairs_of(la.find_pairs(pq.read_table(file), method="exact", **OPTIONS).to_arrow())
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        "lookalike": lambda frame: la.spark.find_pairs(frame, **OPTIONS),
        "MLlib": lambda frame: by_mllib(frame, tables),
    }
    ways = {name: ways[name] for name in engines}
    found: dict[str, Pairs] = {}
    best, cores = dict.fromkeys(ways, float("inf")), dict.fromkeys(ways, float("inf"))
    for number in range(rounds + 1):  # the first warms up and collects the pairs
        for name, way in ways.items():
            start, before = time.perf_counter(), used()
            pairs = way(session.read.parquet(str(file)).select("id", "text"))
            if number == 0:
                found[name] = pairs_of(pairs.toArrow())
                continue
            pairs.count()
            best[name] = min(best[name], time.perf_counter() - start)
            cores[name] = min(cores[name], used() - before)
            print(f"{file.name}: {name} {best[name]:.1f} s, {cores[name]:.1f} core-seconds", file=sys.stderr)
    rows: Table = []
    for name in ways:
        recall = len(found[name] & true) / max(1, len(true))
        faster = f"{cores['MLlib'] / cores[name]:.1f}" if name == "lookalike" and "MLlib" in ways else ""
        wrong = len(found[name] - true)
        pairs = f"{len(found[name]):,}" + (f", {wrong:,} of them wrong" if wrong else "")
        rows.append(
            [
                file.stem,
                f"{documents:,}",
                name,
                f"{best[name]:.1f} s",
                f"{cores[name]:.1f}",
                pairs,
                f"{recall:.4f}",
                faster,
            ]
        )
    return rows


def by_mllib(frame: DataFrame, tables: int) -> DataFrame:
    """Find pairs of texts with MLlib's own stages."""
    stages = [
        RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\s+"),
        NGram(n=WORDS, inputCol="words", outputCol="shingles"),
        HashingTF(numFeatures=FEATURES, binary=True, inputCol="shingles", outputCol="features"),
    ]
    vectors = Pipeline(stages=stages).fit(frame).transform(frame).where(F.size("shingles") > 0).select("id", "features")
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=tables, seed=1).fit(vectors)
    joined = model.approxSimilarityJoin(vectors, vectors, 1 - THRESHOLD + 1e-9, distCol="distance")
    return joined.where("datasetA.id < datasetB.id").select(
        F.col("datasetA.id").alias("left"), F.col("datasetB.id").alias("right"), "distance"
    )


def pairs_of(table: pa.Table) -> Pairs:
    """Return the pairs of ids."""
    return set(zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True))


def is_same(session: SparkSession, file: Path) -> list[str]:
    """Return a row that says whether Spark and one machine give the same pairs and clusters."""
    table, frame = pq.read_table(file).select(["id", "text"]), session.read.parquet(str(file)).select("id", "text")
    here = la.find_pairs(table, method="lsh", **OPTIONS).to_arrow()
    there = la.spark.find_pairs(frame, **OPTIONS).orderBy("left", "right").toArrow().cast(here.schema)
    groups = la.find_clusters(table, method="lsh", **OPTIONS).to_arrow()
    others = la.spark.find_clusters(frame, **OPTIONS).orderBy("cluster", "id").toArrow().cast(groups.schema)
    same = "yes" if here.equals(there) and groups.equals(others) else "NO"
    counts = [len(table), len(here), len(groups["cluster"].unique()), len(groups)]
    return [file.stem, *(f"{count:,}" for count in counts), same]


def cost(session: SparkSession, file: Path, logs: Path) -> list[str | Table]:
    """Return the cost of each step of a deduplication, in total and per document."""
    documents = pq.read_metadata(file).num_rows
    size = sum(batch.nbytes for batch in pq.ParquetFile(file).iter_batches(columns=["text"]))
    frame = session.read.parquet(str(file)).select("id", "text")
    la.spark.dedup(frame.limit(20_000), **OPTIONS).dropped.count()  # compiles the kernels
    before = sum(path.stat().st_size for path in logs.iterdir())
    start, run = time.perf_counter(), Metered()
    found = la.spark.dedup(frame, **OPTIONS, run=run)
    dropped = found.dropped.count()
    with tempfile.TemporaryDirectory() as folder, run.stage("write"):
        found.kept.write.parquet(f"{folder}/kept.parquet")
    seconds, cores = time.perf_counter() - start, run.finish()
    kept = documents - dropped
    shuffled, largest = taken(logs, before)
    rows: Table = [["step", "core-seconds", "MB shuffled", "core-microseconds per document", "bytes per document"]]
    steps = {name: (cores.get(name, 0.0), shuffled.get(name, 0)) for name in {**cores, **shuffled}}
    for name, (core, moved) in [*steps.items(), ("all", (sum(cores.values()), sum(shuffled.values())))]:
        a_document = [f"{core / documents * 1e6:.1f}", f"{moved / documents:.0f}"]
        rows.append([name, f"{core:.1f}", f"{moved / 1e6:,.1f}", *a_document])
    title = f"{file.name}: {documents:,} documents, {size / 1e6:,.0f} MB of text, {dropped:,} removed, {kept:,} kept"
    here = measure_here(file)
    most = f"no task read more than {largest / 1e6:,.1f} MB from a shuffle"
    return [f"{title}, in {seconds:.1f} s; {most}. On one machine, the same takes {here:.1f} core-seconds", rows]


def measure_here(file: Path) -> float:
    """Return the core-seconds of the same deduplication without Spark."""
    command = ["dedup", str(file), "-t", str(THRESHOLD), "-s", f"word:{WORDS}", "--recall", str(OPTIONS["recall"])]
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole = [sys.executable, "-m", "lookalike", *command, "--memory", "2GB", "-o", f"{folder}/kept.parquet"]
        subprocess.run(whole, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Metered(Run):
    """A run that measures the processor time of each stage: of this process, of Java, and of Python workers."""

    def __init__(self) -> None:
        super().__init__()
        self.cores: dict[str, float] = defaultdict(float)
        self.last = used()

    @contextmanager
    def show(self, name: str, total: float | None) -> Iterator[Tick]:
        """Measure a stage."""
        self.take("other")
        yield lambda amount: None
        self.take(name)

    def take(self, name: str) -> None:
        """Count the time since the last call as that of a stage."""
        now = used()
        self.cores[name] += now - self.last
        self.last = now

    def finish(self) -> dict[str, float]:
        """Return the core-seconds of all stages."""
        self.take("other")
        return dict(self.cores)


def used() -> float:
    """Return the processor time so far, in seconds, of this process, those it has started, and theirs.

    Spark's daemon of Python workers does not collect the times of those that have ended: they are kept here.
    """
    parents, times = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        process = int(stat.parent.name)
        parents[process] = int(fields[1])
        times[process] = (fields[19], sum(map(int, fields[11:13])))  # when it started, and its time
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    for one in ours:
        start, ticks = times[one]
        SEEN[one, start] = ticks
    return sum(SEEN.values()) / os.sysconf("SC_CLK_TCK")


def watch() -> None:
    """Look at the processes now and then: Spark ends a Python worker that has been idle for a minute."""
    while True:
        used()
        time.sleep(20)


def taken(logs: Path, start: int) -> tuple[dict[str, int], int]:
    """Return the bytes shuffled per step, and the most that a task read, from the event log after `start`."""
    (log,) = logs.iterdir()
    names: dict[int, str] = {}
    steps: dict[str, int] = defaultdict(int)
    largest = 0
    with log.open() as file:
        file.seek(start)
        for line in file:
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                name = (event.get("Properties") or {}).get("spark.job.description") or "other"
                names |= dict.fromkeys(event["Stage IDs"], name.removeprefix("lookalike: "))
            elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                metrics = event["Task Metrics"]
                steps[names[event["Stage ID"]]] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                read = metrics["Shuffle Read Metrics"]
                largest = max(largest, read["Local Bytes Read"] + read["Remote Bytes Read"])
    return dict(steps), largest


def as_words(file: Path, rows: int, folder: Path) -> Path:
    """Write the first documents as lower-case words separated by blanks, numbered from 0."""
    take_head(file, rows, folder / "head.parquet")
    texts = pq.read_table(folder / "head.parquet", columns=["text"])["text"].to_pylist()
    words = [" ".join(split_words(text.lower())) for text in texts]
    pq.write_table(pa.table({"id": range(len(words)), "text": words}), folder / file.name)
    return folder / file.name


if __name__ == "__main__":
    main()
