"""Run the commands on one collection of documents as jobs of a cluster: `--engine spark`.

Spark reads the inputs and writes each result as a folder of files, on any storage that it supports:
disks that all machines share, HDFS, S3.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from lookalike import spark  # first: its error names a missing PySpark
from lookalike.cli.app import GivenOptions
from lookalike.cli.documents import search_settings
from lookalike.cli.options import CollectionOptions, ColumnOptions
from lookalike.cli.progress import TerminalRun
from lookalike.cli.stats import record, record_inputs_at, record_outputs, record_run
from lookalike.cli.summary import time_line
from lookalike.core.errors import DataError, LookalikeError, UsageError, choice, one_column
from lookalike.core.wording import counted, verified
from lookalike.io.csv import separator_in
from lookalike.io.formats import format_of
from lookalike.spark.frames import shuffled, staged
from lookalike.spark.items import SparkSettings, check_supported, columns_of

from py4j.protocol import Py4JError, Py4JJavaError  # isort: skip
from pyspark.errors import PySparkException  # isort: skip
from pyspark.sql import DataFrame, Observation, SparkSession  # isort: skip
from pyspark.sql import functions as F  # isort: skip

UNSUPPORTED = (
    "html", "article", "encoding", "on_bad_file", "max_document_bytes", "method", "audit", "threads", "memory",
    "workdir", "against", "update", "excel_safe", "mark", "rows", "dry_run", "within", "across", "weights",
    "drop_common", "shard",
)  # fmt: skip
READ = ("parquet", "jsonl", "csv", "tsv")
WRITTEN = (".parquet", ".jsonl", ".csv")
CAUSE = re.compile("error|exception|not set|no such file", re.IGNORECASE)  # in the output of Java
QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # it looks up who calls, column by column
}
PARTITIONS, PER_CORE = "spark.sql.shuffle.partitions", 4


def pairs_on_spark(inputs: list[str], options: CollectionOptions, given: GivenOptions, max_pairs: int) -> None:
    """Write the similar pairs."""
    out = options.output.out
    cluster = begin(options, given, [out])
    limit: Any = {"max_pairs": max_pairs} if "max_pairs" in given else {}
    with failing():
        found = spark.find_pairs(read(cluster, inputs, options.reading.columns), **cluster.settings, **limit)
        count = write(cluster, found, out, "write")
    print_summary(cluster, f"found: {counted(count, 'similar pair')}{verified(count)}", count, out)


def clusters_on_spark(inputs: list[str], options: CollectionOptions, given: GivenOptions) -> None:
    """Write the clusters."""
    out = options.output.out
    cluster = begin(options, given, [out])
    with failing():
        found = spark.find_clusters(read(cluster, inputs, options.reading.columns), **cluster.settings)
        count = write(cluster, found, out, "write")
    print_summary(cluster, f"found: {counted(count, 'document')} in clusters", count, out)


def dedup_on_spark(
    inputs: list[str],
    options: CollectionOptions,
    given: GivenOptions,
    choice: dict[str, Any],
    removed: str | None,
    columns: str | None,
) -> None:
    """Write the kept rows, and the removed documents to `removed`; `choice` says which to keep."""
    out = options.output.out
    cluster = begin(options, given, [out] if removed is None else [out, removed])
    with failing():
        frame = read(cluster, inputs, options.reading.columns)
        names = columns_to_write(cluster, frame, columns)
        found = spark.dedup(frame, **choice, **cluster.settings)
        dropped = found.dropped.count() if removed is None else write(cluster, found.dropped, removed, "write")
        kept = write(cluster, found.kept.select(names), out, "write")
    why = "which are similar to others" if choice["drop_all"] else f"each similar to one of the {kept:,} kept"
    print_summary(cluster, f"found: {counted(dropped, 'document')} to remove, {why}", dropped, out, removed)


def columns_to_write(cluster: "SparkCluster", frame: DataFrame, columns: str | None) -> list[str]:
    """Return the columns of a data frame to write: the text, the id and those named, or all."""
    if columns is None:
        return frame.columns
    names = [name.strip() for name in columns.split(",") if name.strip()]
    for name in names:
        one_column(frame.columns, name, "the input has", " to write")
    return [name for name in frame.columns if name in {*columns_of(frame, SparkSettings(**cluster.settings)), *names}]


@dataclass(frozen=True)
class SparkCluster:
    """A Spark session, the run that uses it, and the options as keywords of Spark functions."""

    session: SparkSession
    run: TerminalRun
    settings: dict[str, Any]


def begin(options: CollectionOptions, given: GivenOptions, outputs: list[str]) -> SparkCluster:
    """Start a session, after raising an error for anything that Spark does not support."""
    run = TerminalRun(**vars(options.running))
    record_run(run)
    settings, columns = search_settings(options, run), options.reading.columns
    settings = {name: value for name, value in settings.items() if name not in UNSUPPORTED}
    settings |= {name: getattr(columns, name) for name in ("text", "id") if getattr(columns, name) is not None}
    given.refuse(UNSUPPORTED, "--engine spark")
    check_supported(options.similarity.measure, settings["recall"])
    if columns.id == "-":
        raise UsageError("--id must name a column for --engine spark, where rows have no numbers.")
    for path in outputs:
        if Path(path).suffix not in WRITTEN:
            ends = ", ".join(WRITTEN)
            raise UsageError(f"the output must be a folder that ends in {ends} for --engine spark; got {path!r}.")
        if Path(path).exists():
            raise DataError(f"{path}: already exists; Spark writes to a new folder, so name another.")
    with run.stage("start"):
        return SparkCluster(start(options.engine.master), run, settings)


def read(cluster: SparkCluster, inputs: list[str], columns: ColumnOptions) -> DataFrame:
    """Return the rows of the inputs as a data frame."""
    record_inputs_at(inputs)
    kinds = {columns.format or inferred_format(path) for path in inputs}
    if len(kinds) > 1:
        raise UsageError(f"the inputs must have one format for --engine spark; got {', '.join(sorted(kinds))}.")
    kind = choice("format", kinds.pop(), READ)
    with cluster.run.stage("open"):
        frames = [_read_one(cluster.session, kind, path) for path in inputs]  # whose columns can differ
        frame = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
    identity, text = columns_of(frame, SparkSettings(**cluster.settings))
    if columns.on_error == "skip":
        frame = frame.dropna(subset=[identity, text])
    elif kind in ("csv", "tsv"):
        frame = frame.fillna("", subset=[text])  # an empty cell is an empty text
    return frame


def inferred_format(path: str) -> str:
    """Return the format that the name of an input shows; raise an error if it shows none."""
    kind = format_of(Path(path))
    if kind is None:
        known = f"{', '.join(READ[:-1])} or {READ[-1]}"
        raise UsageError(f"{path}: cannot infer the format from the name; set --format to {known}.")
    return kind


def _read_one(session: SparkSession, kind: str, path: str) -> DataFrame:
    if kind == "parquet":
        return session.read.parquet(path)
    if kind == "jsonl":
        return session.read.json(path)
    separator = "\t" if kind == "tsv" else _separator(session, path)
    return session.read.csv(path, sep=separator, header=True, escape='"', multiLine=True, enforceSchema=False)


def _separator(session: SparkSession, path: str) -> str:
    """Infer the separator of CSV cells from the first line, as the local reader does."""
    lines = session.read.text(path).filter("trim(value) != ''").take(1)
    return separator_in(lines[0].value.removeprefix("\ufeff") if lines else "")


def write(cluster: SparkCluster, frame: DataFrame, path: str, stage: str) -> int:
    """Write a data frame as a folder; return its number of rows."""
    rows = Observation()
    writer = frame.observe(rows, F.count(F.lit(1)).alias("count")).write
    with staged(cluster.run, cluster.session)(stage):
        if path.endswith(".csv"):
            spaces: Any = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
            writer.csv(path, header=True, escape='"', **spaces)
        elif path.endswith(".jsonl"):
            writer.json(path, ignoreNullFields=False)
        else:
            writer.parquet(path)
    return int(rows.get["count"])


def print_summary(cluster: SparkCluster, found: str, rows: int, *outputs: str | None) -> None:
    """Print what was found, and the time it took; record both."""
    counts = {**cluster.run.counts, "rows": rows}
    record(counts=counts, shuffled=shuffled(cluster.session))
    record_outputs(*(path for path in outputs if path is not None and Path(path).exists()))
    cluster.run.say(found)
    cluster.run.say(time_line(cluster.run))


def start(master: str | None) -> SparkSession:
    """Start a session on the cluster `master`, or on the one this program was submitted to."""
    local = master is not None and master.startswith("local")
    if master is None or local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lookalike")
    for name, value in QUIET.items():
        builder = builder.config(name, value)
    with TemporaryFile() as output:
        try:
            with stderr_to(output.fileno()) if local else nullcontext():
                session = (builder if master is None else builder.master(master)).getOrCreate()
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()
            why = next((line for line in lines if CAUSE.search(line)), first_line(error))
            raise UsageError(f"Spark does not start (it needs Java 17 or later): {why}") from error
    if local:
        use_few_partitions(session)
    return session


def use_few_partitions(session: SparkSession) -> None:
    """Shuffle to some partitions per core, unless Spark is configured otherwise; its default of 200 is for clusters."""
    if not session.sparkContext.getConf().contains(PARTITIONS):
        session.conf.set(PARTITIONS, PER_CORE * session.sparkContext.defaultParallelism)


@contextmanager
def stderr_to(file: int) -> Iterator[None]:
    """Redirect standard error to a file meanwhile, since Java prints much there as it starts."""
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
    """Turn the exceptions of Spark into errors of one line."""
    try:
        yield
    except LookalikeError:
        raise
    except (PySparkException, Py4JError) as error:
        raise DataError(f"Spark: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the cause of an error in one line: of a Java exception, or of a failed task."""
    text = str(error).strip()
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = str(cause.toString())
    errors = re.findall(r"^(?:[\w.]+\.)?\w*(?:Error|Exception): .+$", text, re.MULTILINE)
    return str(errors[-1]) if "Traceback" in text and errors else text.partition("\n")[0]
