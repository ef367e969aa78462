"""Run the stages on data frames: Spark shuffles, and the tasks of other modules work between shuffles.

    items       id, content, ranks...            of the user's data frame
    groups      parcels of item, head, number, weight, keys: identical items under the first of them
    members     number, item, keys               heads that share a bucket with another
    placed      number, place, part              where to compare them
    found       a, b, similarity                 items

An item is its id. If other items than the first are to be kept, or there are two data frames, it is
a struct of ranks and the id instead, whose fields decide the order. Between the first and the last
step a head is a number, of 8 bytes.
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
from lookalike.core.errors import LookalikeError, TooManyPairs, parameter, remedy
from lookalike.core.run import Run
from lookalike.spark import groups, tasks
from lookalike.spark.buckets import KEYED, connected, dealt_keys
from lookalike.spark.graphs import components, written_down
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
            if pa.types.is_floating(field.type):
                columns.append(F.coalesce(F.isnan(value), F.lit(False)))
            columns += [value.isNull(), value.desc() if down else value.asc()]
        return columns

    # --- groups of heads to compare ---

    def placed(self, limit: int | None = None) -> "Members":
        """Send the heads that share a bucket to places; raise an error for more than `limit` pairs over all bands."""
        rows = self.count * self.bands
        keys = Parcels(KEYED, places(self.groups, rows))
        task = partial(dealt_keys, groups=self.parcels, keys=keys, bands=self.bands)
        with self.stage("buckets"):
            dealt = sent(self.groups.mapInArrow(task, SENT))
            edges = written_down(dealt.mapInArrow(partial(connected, keys=keys), "a long, b long, pairs double"))
            row = edges.agg(F.sum("pairs"), F.count("a")).first()
        total, count = (int(value or 0) for value in row) if row else (0, 0)
        self.run.counts["candidates"] = total
        if limit is not None and total > limit:
            raise TooManyPairs(
                f"{total:,} candidate pairs, counted per band, more than {parameter('max_pairs')} = {limit:,}: "
                f"choose a stricter threshold, raise {parameter('max_pairs')}, or {find_groups()}."
            )
        with self.stage("groups"):
            others = components(edges.where("a is not null").select("a", "b"), count)
            labels = others.select(F.col("item").alias("number"), F.col("first").alias("group"))
            firsts = others.select(F.col("first").alias("number"), F.col("first").alias("group")).distinct()
            labels = self.to_all(labels.unionByName(firsts), 2 * count)
            made = f"number long, item {self.kind}, weight long, keys binary"
            heads = self.groups.mapInArrow(partial(tasks.heads, groups=self.parcels), made)
            members = written_down(heads.join(labels, "number"))
            self.run.counts["compared"] = members.count()
            return Members(self, members, self.run.counts["compared"])

    def to_all(self, frame: DataFrame, count: int) -> DataFrame:
        """Return a frame of so many rows that is sent to all executors, if they are few."""
        return F.broadcast(frame) if count <= BROADCAST else frame

    @cached_property
    def contents(self) -> DataFrame:
        """Return (item, content) of all items; they are read again."""
        return self.items.select(self.item.alias("item"), "content")


class Members:
    """The heads that share a bucket, and where to compare them."""

    def __init__(self, frames: Frames, members: DataFrame, count: int):
        self.frames, self.members, self.count = frames, members, count
        self.limit = groups.LIMIT
        self.schema = Parcels(groups.member_schema(frames.type, frames.bands))
        content = frames.items.select("content").limit(0).toArrow().schema.field("content").type
        content = pa.list_(content) if frames.rows else content
        self.texts = Parcels(pa.schema({"number": pa.int64(), "content": content}), compressed=True)
        task = partial(groups.packed, limit=self.limit)
        sorted_ = members.select("number", "group", "weight").repartition("group").sortWithinPartitions("group")
        with frames.stage("groups"):
            found = written_down(sorted_.mapInArrow(task, "number long, place long, part int"))
            self.placed = found.where("place is not null")
            self.cut = found.where("place is null").select("number")
            self.any_cut = bool(self.cut.head(1))

    def compare(self, placed: DataFrame, how: type[groups.Compare], **options: Any) -> DataFrame:
        """Compare the members of each place: (a, b, similarity); `placed` has number, place and part."""
        frames = self.frames
        task = how(frames.making, frames.ranks.descending, self.schema, self.texts, self.count, **options)
        placed = frames.to_all(placed, self.count)
        members = self.members.join(placed, "number")
        brought = "place long, members binary, texts binary"
        dealt = members.select("place", "number", "part", "item", "keys").mapInArrow(
            partial(groups.dealt_members, members=self.schema), brought
        )
        texts = self.contents(members.select("item", "number", "place")).mapInArrow(
            partial(groups.dealt_texts, texts=self.texts), brought
        )
        together = dealt.unionByName(texts).repartition(partitions(self.members), "place").sortWithinPartitions("place")
        with frames.stage("verify"):
            return written_down(together.mapInArrow(task, f"a {frames.kind}, b {frames.kind}, similarity double"))

    def contents(self, wanted: DataFrame) -> DataFrame:
        """Return (place, number, content) of members, given as (item, number, place)."""
        contents, wanted = self.frames.contents, self.frames.to_all(wanted, self.count)
        if self.frames.rows:
            found = contents.join(wanted.select("item").distinct(), "item", "left_semi")
            contents = found.groupBy("item").agg(F.collect_set("content").alias("content"))
        if "side" in self.frames.items.columns or not isinstance(self.frames.type, pa.StructType):
            on = "item"
        else:  # ranks are not needed to find an item
            contents = contents.select(F.col("item.id").alias("item"), "content")
            wanted = wanted.withColumn("item", F.col("item.id"))
            on = "item"
        return contents.join(wanted, on).select("place", "number", "content")

    def blocks(self, numbers: DataFrame) -> DataFrame:
        """Cut groups with some of these members into blocks, in order: (number, group, block, blocks)."""
        some = self.members.join(self.frames.to_all(numbers.select("number"), self.count), "number")
        rows = some.select("number", "group", "weight", "item").repartition("group").sortWithinPartitions("group")
        task = partial(groups.cut_up, descending=self.frames.ranks.descending, limit=self.limit)
        return written_down(rows.mapInArrow(task, "number long, group long, block long, blocks long"))

    def in_twos(self) -> DataFrame:
        """Return places for all members, with a place for any two blocks of a group that is cut."""
        if not self.any_cut:
            return self.placed
        crossed = self.blocks(self.cut).mapInArrow(groups.crossed, "number long, place long, part int")
        return written_down(self.placed.unionByName(crossed))

    def stars(self) -> DataFrame:
        """Return items to drop: (a, b, similarity), b being the kept item that a is similar to.

        A group that is cut takes rounds. In each, the first block of those left decides what it
        keeps, as no item before them is left; then the others are compared with what it kept.
        """
        found = self.compare(self.placed, groups.Stars)
        left = self.cut if self.any_cut else None
        while left is not None and left.head(1):
            blocks = self.blocks(left)
            first = blocks.where("block = 0").select("number", F.col("group").alias("place"), F.lit(0).alias("part"))
            own = self.compare(first, groups.Stars)
            kept = self._without(first.select("number", F.col("place").alias("group")), own)
            later = blocks.where("block > 0")
            found = found.unionByName(own)
            if not later.head(1):
                break
            place = F.xxhash64("group", "block")
            others = later.select("number", place.alias("place"), F.lit(1).alias("part"))
            numbers = later.select("group", "block").distinct()
            beside = numbers.join(kept, "group").select("number", place.alias("place"), F.lit(0).alias("part"))
            theirs = self.compare(written_down(others.unionByName(beside)), groups.Stars)
            found = found.unionByName(theirs)
            left = self._without(later.select("number"), theirs)
        return found

    def _without(self, numbers: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return the rows of numbers whose items were not dropped."""
        items = self.members.select("number", "item").join(dropped, F.col("item") == F.col("a"), "left_semi")
        return written_down(numbers.join(items.select("number"), "number", "left_anti"))


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
