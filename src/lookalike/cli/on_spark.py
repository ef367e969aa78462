"""`--engine spark`: the commands on one collection of documents, as jobs of a cluster.

Spark reads the inputs and writes the results, each a folder of files, wherever it can: on disks that all machines
share, HDFS, S3.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from lookalike import spark  # first, since it says what is missing
from lookalike.cli.job import Job
from lookalike.cli.progress import time_line
from lookalike.core.errors import DataError, LookalikeError, UsageError, choice
from lookalike.core.wording import counted
from lookalike.io.formats import format_of
from lookalike.spark.frames import staged
from lookalike.spark.items import columns_of

from py4j.protocol import Py4JError, Py4JJavaError  # isort: skip
from pyspark.errors import PySparkException  # isort: skip
from pyspark.sql import DataFrame, Observation, SparkSession  # isort: skip
from pyspark.sql import functions as F  # isort: skip

NOT_HERE = ("html", "article", "encoding", "method", "audit", "threads", "memory", "workdir", "against", "update")
READ = ("parquet", "jsonl", "csv", "tsv")
WRITTEN = (".parquet", ".jsonl", ".csv")
TELLING = re.compile("error|exception|not set|no such file", re.IGNORECASE)  # in what Java says
QUIET = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}


def pairs_on_spark(job: Job, inputs: list[str], max_pairs: int) -> None:
    """Write the similar pairs."""
    work = OnSpark(job, [job.out])
    limit: Any = {"max_pairs": max_pairs} if "max_pairs" in job.chosen else {}
    with failing():
        found = spark.find_pairs(work.read(inputs), **work.options, **limit)
        count = work.write(found, job.out, "verify and write")
    work.report(f"found: {counted(count, 'pair')}, all verified")


def clusters_on_spark(job: Job, inputs: list[str]) -> None:
    """Write the clusters."""
    work = OnSpark(job, [job.out])
    with failing():
        count = work.write(spark.clusters(work.read(inputs), **work.options), job.out, "write")
    work.report(f"found: {counted(count, 'document')} in clusters")


def dedup_on_spark(job: Job, inputs: list[str], keep: str, removed: str | None) -> None:
    """Write the rows that are kept, and what was dropped to `removed`."""
    work = OnSpark(job, [job.out] if removed is None else [job.out, removed])
    with failing():
        found = spark.dedup(work.read(inputs), keep=keep, **work.options)
        dropped = found.dropped.count() if removed is None else work.write(found.dropped, removed, "write")
        kept = work.write(found.kept, job.out, "write")
    work.report(f"found: {counted(dropped, 'document')} to drop, each similar to one of the {kept:,} kept")


class OnSpark:
    """A command with a session of Spark, which reads and writes for it."""

    def __init__(self, job: Job, outputs: list[str]):
        self.job = job
        for name in NOT_HERE:
            if name in job.chosen:
                raise UsageError(f"--{name} is not for --engine spark.")
        if job.given["id"] == "-":
            raise UsageError("--id must name a column for --engine spark, since rows have no numbers there.")
        for path in outputs:
            if Path(path).suffix not in WRITTEN:
                ends = ", ".join(WRITTEN)
                raise UsageError(f"output must be a folder that ends in {ends} for --engine spark; got {path!r}.")
            if Path(path).exists():
                raise DataError(f"{path}: is there already, and Spark writes a new folder.")
        names = ("measure", "threshold", "recall", "sketch", "seed", "shingles", "run")
        self.options: Any = {name: job.options[name] for name in names if name in job.options}
        self.options |= {name: job.given[name] for name in ("text", "id") if job.given[name] is not None}
        with job.run.stage("start"):
            self.session = start(job.given["master"])

    def read(self, inputs: list[str]) -> DataFrame:
        """The rows of the inputs."""
        kinds = {self.job.given["format"] or format_of(Path(path)) or "none" for path in inputs}
        if len(kinds) > 1:
            raise UsageError(f"the inputs must be of one format for --engine spark; got {', '.join(sorted(kinds))}.")
        kind = choice("format", kinds.pop(), READ)
        with self.job.run.stage("open"):
            frames = [self._read_one(kind, path) for path in inputs]  # which may have columns of their own
            frame = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
        identity, text = columns_of(frame, self.options)
        if self.job.given["on_error"] == "skip":
            frame = frame.dropna(subset=[identity, text])
        elif kind in ("csv", "tsv"):
            frame = frame.fillna("", subset=[text])  # which is what an empty cell says
        return frame

    def _read_one(self, kind: str, path: str) -> DataFrame:
        if kind == "parquet":
            return self.session.read.parquet(path)
        if kind == "jsonl":
            return self.session.read.json(path)
        separator = "\t" if kind == "tsv" else ","
        return self.session.read.csv(path, sep=separator, header=True, escape='"', multiLine=True, enforceSchema=False)

    def write(self, frame: DataFrame, path: str, stage: str) -> int:
        """Write a data frame as a folder; how many rows it has."""
        rows = Observation()
        writer = frame.observe(rows, F.count(F.lit(1)).alias("count")).write
        with staged(self.job.run, self.session)(stage):
            if path.endswith(".csv"):
                spaces: Any = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
                writer.csv(path, header=True, escape='"', **spaces)
            elif path.endswith(".jsonl"):
                writer.json(path, ignoreNullFields=False)
            else:
                writer.parquet(path)
        return int(rows.get["count"])

    def report(self, found: str) -> None:
        """Say what was found."""
        self.job.run.say(found)
        self.job.run.say(time_line(self.job.run.seconds))


def start(master: str | None) -> SparkSession:
    """A session of the cluster that `master` names, or else of the one that this program was sent to."""
    if master is None or master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lookalike")
    for name, value in QUIET.items():
        builder = builder.config(name, value)
    with TemporaryFile() as said:
        try:
            with stderr_to(said.fileno()) if master is not None and master.startswith("local") else nullcontext():
                return (builder if master is None else builder.master(master)).getOrCreate()
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            said.seek(0)
            lines = said.read().decode(errors="replace").splitlines()
            why = next((line for line in lines if TELLING.search(line)), first_line(error))
            raise UsageError(f"Spark does not start (it needs Java 17 or later): {why}") from error


@contextmanager
def stderr_to(file: int) -> Iterator[None]:
    """Java, which is started meanwhile, has much to say for itself on standard error; let it say that to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def failing() -> Iterator[None]:
    """What Spark complains of in one line."""
    try:
        yield
    except LookalikeError:
        raise
    except (PySparkException, Py4JError) as error:
        raise DataError(f"Spark: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """What went wrong: of what Java tells, its cause; of what a task tells, the error in it."""
    text = str(error).strip()
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    told = re.findall(r"^(?:[\w.]+\.)?\w*(?:Error|Exception): .+$", text, re.MULTILINE)
    return str(told[-1]) if "Traceback" in text and told else text.partition("\n")[0]
