"""Measure how much of each command runs on one thread, and how commands gain from more threads.

    python bench/threads.py CORPUS.parquet [--threads 8] [--jobs pairs-word-lsh,dedup] [--table 1,2,4,8,16]

CORPUS is a Parquet file with a column `text`, of 1 GB or more for figures that mean something;
`corpus.py` collects one, `generate.py FOLDER --messages 5000000 --variants 0` makes one up. Sets,
vectors and records are made up unless files are given.

Each job is a whole command, start-up included; one that compiles kernels runs once more.
*main thread* is its CPU time, measured by the system; *one thread* adds the CPU time of any other
thread that alone does more than half the work of a stage. Its share of the CPU time of the process
limits what more cores can give: with a share of 6%, 16 cores give at most a factor of 8.4.

Work in several threads that holds the interpreter lock is serial too, but its CPU time does not
show it. *cores* does: CPU time by wall time, which is about 1 for such a stage, however many cores
are free. It means something on a machine that does nothing else.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from shared import Table, machine, publish

HERE = Path(__file__).resolve()
TICKS = os.sysconf("SC_CLK_TCK")
SMALL = 0.01  # stages with a smaller share of the CPU time are not shown
LONG = 0.1  # with --table: so are stages with a smaller share of the time with the fewest threads
OUTSIDE = "outside stages"
SET_COUNT, SET_SIZE, ELEMENTS = 2_000_000, 10, 50_000
VECTOR_COUNT, DIMENSIONS, NEAR = 400_000, 50, 0.2  # the noise of near copies; 0.2 is an angle of 11 degrees
FIELDS = ("name:customer=name", "address:street=address", "phone:telephone=phone")

JOBS = {
    "pairs-word-lsh": "pairs {corpus} -s word:5 --method lsh",
    "pairs-word-exact": "pairs {corpus} -s word:5 --method exact",
    "pairs-char-lsh": "pairs {corpus} -s char:9 --method lsh",
    "pairs-char-exact": "pairs {corpus} -s char:9 --method exact",
    "dedup": "dedup {corpus} -s word:5",
    "clusters": "clusters {corpus} -s word:5",
    "match": "match {corpus} {corpus} -s word:5",
    "sets": "sets {sets} -t 0.5 --recall 1",
    "vectors": "vectors {vectors} -t 20",
    "index": "index build {out}.index {corpus} -s word:5",
    "index-texts": "index build {out}.index {corpus} -s word:5 --store-text",
    "resolve": f"resolve {{left}} {{right}} {' '.join(f'-f {field}' for field in FIELDS)}",
}


class Stage(NamedTuple):
    """What a stage took, in seconds."""

    wall: float
    cpu: float
    main: float  # CPU time of the main thread
    busiest: float  # CPU time of the busiest other thread

    @property
    def one_thread(self) -> float:
        """The CPU time of the busiest other thread, if it does most of the work of the stage."""
        return self.busiest if self.busiest > self.cpu / 2 else 0.0


class Ran(NamedTuple):
    """What a command took, in seconds, as the system says."""

    wall: float
    cpu: float
    main: float
    stages: dict[str, Stage]

    @property
    def serial(self) -> float:
        """The CPU time of all that runs on one thread."""
        return self.main + sum(stage.one_thread for stage in self.stages.values())


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        files = {"corpus": given.corpus, **inputs(given, Path(folder))}
        blocks = threads_blocks(given, files, folder) if given.table else share_blocks(given, files, folder)
    facts = f"{given.corpus.name}: {given.corpus.stat().st_size / 1e6:,.0f} MB on disk"
    publish([machine("lookalike", "numpy", "numba", "pyarrow"), facts, *blocks], given.markdown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a Parquet file with a column `text`")
    parser.add_argument("--jobs", default=",".join(JOBS), help=f"which jobs to run, of {', '.join(JOBS)}")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--table", metavar="N,N,...", help="show wall times with these numbers of threads instead")
    parser.add_argument("--sets", type=Path, help=f"one set per line; default: {SET_COUNT:,} made-up sets")
    parser.add_argument("--vectors", type=Path, help=f"default: {VECTOR_COUNT:,} x {DIMENSIONS} made-up numbers")
    parser.add_argument("--records", type=int, default=1_000_000, help="records in each made-up table of `resolve`")
    parser.add_argument("--folder", type=Path, help="where to put temporary files")
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    given = parser.parse_args()
    given.jobs = given.jobs.split(",")
    if unknown := {*given.jobs} - {*JOBS}:
        parser.error(f"--jobs must be of {', '.join(JOBS)}; got {', '.join(sorted(unknown))}")
    if given.table:
        given.table = [int(number) for number in given.table.split(",")]
    return given


# --- tables ---


def share_blocks(given: argparse.Namespace, files: dict[str, Path], folder: str) -> list[str | Table]:
    jobs: Table = [["job", "wall", "CPU", "cores", "main thread", "share", "one thread", "share"]]
    stages: Table = [["job and stage", "wall", "CPU", "cores", "main thread", "busiest other", ""]]
    for name in given.jobs:
        ran = run(name, given.threads, files, folder)
        jobs.append([name, *columns(ran), share(ran.main, ran.cpu), seconds(ran.serial), share(ran.serial, ran.cpu)])
        shown = {stage: took for stage, took in ran.stages.items() if took.cpu >= SMALL * ran.cpu}
        for stage, took in shown.items():
            mark = "on one thread" if took.one_thread or took.main > took.cpu / 2 else ""
            stages.append([f"{name}: {stage}", *columns(took), seconds(took.busiest), mark])
    return [f"with --threads {given.threads}", jobs, stages]


def columns(took: Ran | Stage) -> list[str]:
    return [seconds(took.wall), seconds(took.cpu), f"{took.cpu / max(took.wall, 1e-9):.1f}", seconds(took.main)]


def threads_blocks(given: argparse.Namespace, files: dict[str, Path], folder: str) -> list[str | Table]:
    table: Table = [["job", *(f"{number} thread{'s' * (number > 1)}" for number in given.table)]]
    for name in given.jobs:
        runs = [run(name, number, files, folder) for number in given.table]
        table.append([name, *(seconds(ran.wall) for ran in runs)])
        for stage, took in runs[0].stages.items():
            if took.wall >= LONG * runs[0].wall:
                walls = [ran.stages[stage].wall if stage in ran.stages else 0.0 for ran in runs]
                table.append([f"- of which {stage}", *map(seconds, walls)])
    return ["wall time of whole commands", table]


def seconds(amount: float) -> str:
    return f"{amount:.2f} s"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%"


# --- running ---


def run(name: str, threads: int, files: dict[str, Path], folder: str) -> Ran:
    """Run a job, again if it had to compile kernels, and return what it took."""
    compiled, ran = once(name, threads, files, folder)
    if compiled:
        _, ran = once(name, threads, files, folder)
    print(f"{name}, {threads} threads: {ran.wall:.1f} s, {share(ran.serial, ran.cpu)} serial", file=sys.stderr)
    return ran


def once(name: str, threads: int, files: dict[str, Path], folder: str) -> tuple[bool, Ran]:
    """Run a job; return whether it compiled kernels, and what it took."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out, record = Path(place, "out"), Path(place, "stages.json")
        line = [word.format(out=out, **files) for word in JOBS[name].split()]
        line += ["--threads", str(threads)] + ([] if name.startswith("index") else ["--out", f"{out}.parquet"])
        start = time.perf_counter()
        process = subprocess.Popen(child("command", str(record), *line), stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        said = process.stderr.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it still has an entry in /proc
        wall = time.perf_counter() - start
        cpu, own = (cpu_of(f"/proc/{process.pid}/{task}stat") for task in ("", f"task/{process.pid}/"))
        if process.wait():
            sys.exit(f"lookalike {' '.join(line)} failed: {said}")
        stages = {stage: Stage(*took) for stage, took in json.loads(record.read_text()).items()}
        return "compiling" in said, Ran(wall, cpu, own, stages)


def cpu_of(path: str) -> float:
    """Return the CPU seconds of a process or a thread."""
    fields = Path(path).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def child(name: str, *given: str) -> list[str]:
    return [sys.executable, str(HERE), "--child", name, *given]


# --- in a child ---


class Watch:
    """Measures what each stage takes, and the time between stages."""

    def __init__(self) -> None:
        self.open: list[str] = []  # nested stages, the innermost last
        self.stages: dict[str, Stage] = {}
        self.ended: dict[int, float] = {}  # CPU time of threads that have ended
        self.last = time.perf_counter(), 0.0, dict[int, float]()

    def now(self) -> tuple[float, float, dict[int, float]]:
        """Return the wall time, the CPU time of this process, and that of each of its threads."""
        threads = dict(self.ended)
        for name in os.listdir("/proc/self/task"):
            try:
                threads.setdefault(
                    int(name), int(Path(f"/proc/self/task/{name}/schedstat").read_text().split()[0]) / 1e9
                )
            except OSError:  # it has ended: next time it is among `ended`
                continue
        return time.perf_counter(), time.process_time(), threads

    def mark(self) -> None:
        """Add the time since the last mark to the innermost stage."""
        then, self.last = self.last, self.now()
        threads = {key: value - then[2].get(key, 0.0) for key, value in self.last[2].items()}
        main = threads.pop(os.getpid())
        took = self.last[0] - then[0], self.last[1] - then[1], main, max(threads.values(), default=0.0)
        name = self.open[-1] if self.open else OUTSIDE
        self.stages[name] = Stage(*map(sum, zip(self.stages.get(name, (0.0,) * 4), took, strict=True)))

    def over(self, stage: Callable[..., Any]) -> Callable[..., Any]:
        """Return a `Run.stage` that is measured."""

        @contextmanager
        def watched(run: Any, name: str, total: float | None = None) -> Iterator[Any]:
            self.mark()
            self.open.append(name)
            try:
                with stage(run, name, total) as tick:
                    yield tick
            finally:
                self.mark()
                self.open.remove(name)

        return watched

    def until_end(self, work: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
        """Return a `Thread.run` that notes the CPU time of the thread."""

        def noted(thread: threading.Thread) -> None:
            try:
                work(thread)
            finally:
                self.ended[threading.get_native_id()] = time.thread_time()

        return noted


def child_command(record: str, *line: str) -> None:
    """Run a command and write down what its stages took."""
    watch = Watch()
    threading.Thread.run = watch.until_end(threading.Thread.run)  # type: ignore[assignment, method-assign]
    from lookalike.cli import main
    from lookalike.core.run import Run

    Run.stage = watch.over(Run.stage)  # type: ignore[method-assign]
    sys.argv = ["lookalike", *line]
    try:
        main()
    finally:
        watch.mark()
        Path(record).write_text(json.dumps(watch.stages))


# --- inputs ---


def inputs(given: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """Return the files of sets, vectors and records, making up those that are needed and not given."""
    files = {"sets": given.sets or folder / "sets.txt", "vectors": given.vectors or folder / "vectors.npy"}
    files |= {side: folder / f"{side}.parquet" for side in ("left", "right")}
    for name in {*given.jobs} & {"sets", "vectors", "resolve"}:
        if not getattr(given, name, None):
            subprocess.run(child(name, str(folder), str(given.records)), check=True)
    return files


def child_sets(folder: str, _: str) -> None:
    """Write sets of numbers with natural frequencies; every tenth is a copy with one other element."""
    import numpy as np

    draw = np.random.default_rng(1)
    weights = np.cumsum(1 / (np.arange(ELEMENTS) + 3))
    rows = np.searchsorted(weights, draw.random((SET_COUNT, SET_SIZE)) * weights[-1])
    copies = np.arange(9, SET_COUNT, 10)
    rows[copies] = rows[copies - draw.integers(1, 10, len(copies))]
    rows[copies, 0] = draw.integers(0, ELEMENTS, len(copies))
    np.savetxt(Path(folder, "sets.txt"), rows, "%d")


def child_vectors(folder: str, _: str) -> None:
    """Write random vectors; every twentieth is near another."""
    import numpy as np

    draw = np.random.default_rng(1)
    rows = draw.standard_normal((VECTOR_COUNT, DIMENSIONS), np.float32)
    copies = np.arange(19, VECTOR_COUNT, 20)
    rows[copies] = rows[copies - draw.integers(1, 20, len(copies))]
    rows[copies] += NEAR * draw.standard_normal((len(copies), DIMENSIONS), np.float32)
    np.save(Path(folder, "vectors.npy"), rows)


def child_resolve(folder: str, people: str) -> None:
    """Write the customers of two companies."""
    import pyarrow.parquet as pq

    import lookalike as la

    made = la.entities.two_companies(int(people))
    pq.write_table(made.left, Path(folder, "left.parquet"))
    pq.write_table(made.right, Path(folder, "right.parquet"))


CHILDREN: dict[str, Callable[..., None]] = {
    "command": child_command,
    "sets": child_sets,
    "vectors": child_vectors,
    "resolve": child_resolve,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        CHILDREN[sys.argv[2]](*sys.argv[3:])
    else:
        main()
