"""Group the identical items of data frames: Spark shuffles, and `tasks` works between shuffles.

    items       id, content, ranks...     of the user's data frame
    groups      item, head, number, weight, keys, in parcels: identical items under the first of them
    copies      item, head                the items that are not their own heads

An item is its id. If other items than the first are to be kept, or there are two data frames, it is
a struct of ranks and the id instead, whose fields decide the order. In the steps that follow, a head
is a number of 8 bytes.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lookalike.core import errors
from lookalike.core.errors import LookalikeError, remedy
from lookalike.core.run import Run
from lookalike.spark import tasks
from lookalike.spark.graphs import written_down
from lookalike.spark.making import Making
from lookalike.spark.parcels import Parcels

AT_A_PLACE = 500_000  # rows that a task works on at a time
BROADCAST = 2_000_000  # up to this many, members go to all executors, to avoid a shuffle of documents
SENT = "place long, parcel binary"
PREFIX = "lookalike: "  # of what Spark shows as the description of a job


@dataclass(frozen=True)
class Ranks:
    """The columns that come before the id in the order of items."""

    descending: tuple[bool, ...] = ()  # of each
    longest: str | None = None  # the one that is the length


class Frames:
    """The stages for one collection, or for two that are matched, whose items have a `side`."""

    def __init__(
        self, items: DataFrame, making: Making, count: int, run: Run, ranks: Ranks = Ranks(), rows: bool = False
    ):
        self.items, self.making, self.count, self.ranks, self.rows = items, making, count, ranks, rows
        self.stage, self.run = staged(run, items.sparkSession), run
        run.counts["items"] = count
        names = [name for name in items.columns if name not in ("id", "content")]
        self.item = F.struct(*names, "id") if names else F.col("id")
        empty = items.select(self.item.alias("item")).limit(0)
        self.kind, self.type = type_of(empty, "item"), nullable(empty.toArrow().schema.field("item").type)
        assert making.plan.bands is not None
        self.bands = making.plan.bands.bands
        self.parcels = Parcels(tasks.group_schema(self.type, self.bands))

    # --- identical items ---

    @cached_property
    def groups(self) -> DataFrame:
        """Sketch all items and group identical ones."""
        with self.stage("read and sketch"):
            return written_down(self._by_rows() if self.rows else self._by_columns())

    def _by_columns(self) -> DataFrame:
        """Group whole documents or lists."""
        parcels = Parcels(tasks.sketch_schema(self.type, self.bands), places(self.items, self.count))
        order: dict[str, Any] = {"descending": self.ranks.descending, "parcels": parcels}
        task = partial(tasks.sketched, making=self.making, longest=self.ranks.longest, **order)
        return sent(self.items.mapInArrow(task, SENT)).mapInArrow(
            partial(tasks.grouped, bands=self.bands, **order), "parcel binary"
        )

    def _by_rows(self) -> DataFrame:
        """Sketch rows of (set, element); no task has a whole set, so identical ones stay apart."""
        assert self.making.plan.bands is not None
        schema = tasks.minima_schema(self.type, self.making.plan.bands.hashes)
        given: dict[str, Any] = {"making": self.making, "parcels": Parcels(schema, places(self.items, self.count))}
        found = self.items.select("id", "content").mapInArrow(partial(tasks.partial_minima, **given), SENT)
        return sent(found).mapInArrow(partial(tasks.least_minima, **given), "parcel binary")

    @cached_property
    def copies(self) -> DataFrame:
        """Return (item, head) of the items that are not their own heads."""
        task = partial(tasks.copies, groups=self.parcels)
        with self.stage("copies"):
            found = written_down(self.groups.mapInArrow(task, f"item {self.kind}, head {self.kind}, hot boolean"))
        cold, hot = found.where("not hot").drop("hot"), found.where("hot").drop("hot")
        if not hot.head(1):
            return cold
        heads = cold.select(F.col("item").alias("head"), F.col("head").alias("first"))
        final = hot.join(heads, "head", "left").select("item", F.coalesce("first", "head").alias("head"))
        return written_down(cold.unionByName(final))

    def order(self) -> list[Column]:
        """Return the columns by which to sort rows with an `item` as `in_order` sorts items."""
        if not isinstance(self.type, pa.StructType):
            return [F.col("item")]
        columns = []
        fields = list(self.type)
        falling = [*self.ranks.descending, *[False] * (len(fields) - len(self.ranks.descending))]
        for field, down in zip(fields, falling, strict=True):
            value = F.col(f"item.{field.name}")
            columns.append(value.isNull())
            if pa.types.is_floating(field.type):
                columns.append(F.isnan(value))
            columns.append(value.desc() if down else value.asc())
        return columns

    def to_all(self, frame: DataFrame, count: int) -> DataFrame:
        """Return a frame of so many rows that is sent to all executors, if they are few."""
        return F.broadcast(frame) if count <= BROADCAST else frame

    @cached_property
    def contents(self) -> DataFrame:
        """Return (item, content) of all items; they are read again."""
        return self.items.select(self.item.alias("item"), "content")


def sent(parcels: DataFrame) -> DataFrame:
    """Bring the parcels of each place together."""
    return parcels.repartition("place").sortWithinPartitions("place")


def places(frame: DataFrame, rows: int) -> int:
    """Return how many places to deal rows to: several per partition, none with too many rows."""
    return max(4 * partitions(frame), rows // AT_A_PLACE)


def partitions(frame: DataFrame) -> int:
    """Return the number of partitions of a shuffle."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


Stage = Callable[[str], Any]  # returns a context that shows a stage by its name


def staged(run: Run, session: SparkSession) -> Stage:
    """Return a function that runs a stage: Spark shows its name, errors of tasks become ours."""
    try:
        describe = session.sparkContext.setJobDescription
    except PySparkException:  # Spark Connect has no context
        describe = None

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        if describe is not None:
            describe(f"{PREFIX}{name}")
        try:
            with run.stage(name), own_errors():
                yield
        finally:
            if describe is not None:
                describe(None)  # type: ignore[arg-type]

    return stage


def shuffled(session: SparkSession) -> dict[str, int]:
    """Return the bytes that each stage has shuffled so far; none if Spark does not say it."""
    found: dict[str, int] = {}
    try:
        java, gateway = session.sparkContext._jsc.sc(), session.sparkContext._gateway
    except PySparkException:  # Spark Connect has no context
        return found
    assert gateway is not None
    nothing = gateway.new_array(gateway.jvm.double, 0)
    stages = java.statusStore().stageList(None, False, False, nothing, gateway.jvm.java.util.ArrayList())
    for at in range(stages.size()):
        stage = stages.apply(at)
        name = stage.description().get() if stage.description().isDefined() else ""
        if name.startswith(PREFIX):
            name = name.removeprefix(PREFIX)
            found[name] = found.get(name, 0) + int(stage.shuffleWriteBytes())
    return found


def find_groups() -> str:
    """Return what to do instead of listing pairs."""
    groups = remedy("find_clusters or dedup", "`lookalike clusters` or `lookalike dedup`")
    return f"use {groups}, which have no such limit"


def type_of(frame: DataFrame, column: str) -> str:
    """Return the type of a column as written in a schema."""
    return frame.schema[column].dataType.simpleString()


def nullable(kind: pa.DataType) -> pa.DataType:
    """Return the type of items with fields that can be null, as those of a missing item are."""
    return pa.struct([(field.name, field.type) for field in kind]) if pa.types.is_struct(kind) else kind


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise errors of this package from tasks as themselves, without the wrapping of Spark."""
    try:
        yield
    except PySparkException as error:
        found = re.search(rf"^{re.escape(errors.__name__)}\.(\w+): (.*)$", str(error), re.MULTILINE)
        kind = getattr(errors, found[1], None) if found else None
        if found and isinstance(kind, type) and issubclass(kind, LookalikeError):
            raise kind(found[2]) from None
        raise
