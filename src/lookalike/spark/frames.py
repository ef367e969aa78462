"""Run the stages on data frames: Spark shuffles, and `tasks` does the work between shuffles.

    items       id, content           of the user's data frame
    groups      item, head, keys      items under the first identical one, which has the band keys
    candidates  a, b, band            heads that share a bucket, once, with the first shared band
    similar     a, b, band, similarity

An item is its id. If other items than the first are to be kept, it is a struct of (last, rank, id)
instead, so that items to be kept come first in order.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lookalike.core import errors
from lookalike.core.errors import LookalikeError, TooManyPairs, parameter, remedy
from lookalike.core.run import Run
from lookalike.spark import tasks
from lookalike.spark.buckets import dealt_keys, dealt_rows, units
from lookalike.spark.graphs import written_down
from lookalike.spark.making import Making
from lookalike.spark.parcels import Parcels

AT_A_PLACE = 500_000  # rows that a task works on at a time
PAIRS = 200_000  # pairs that one task lists, at least
BROADCAST = 500_000  # up to this many, candidates go to all executors, to avoid a shuffle of documents


class Candidates(NamedTuple):
    """Pairs of items to compare, and the items not paired with all others of their bucket."""

    pairs: DataFrame  # a, b, band
    crowded: DataFrame  # item


class Frames:
    """The stages for one collection."""

    def __init__(self, items: DataFrame, making: Making, count: int, rows: bool, run: Run):
        self.items, self.making, self.count, self.rows = items, making, count, rows
        self.stage = staged(run, items.sparkSession)
        self.ranked = "rank" in items.columns
        item = F.struct("last", "rank", "id") if self.ranked else F.col("id")
        empty = items.select(item.alias("item")).limit(0)
        self.kind, self.item = type_of(empty, "item"), empty.toArrow().schema.field("item").type
        self.parcels = Parcels(tasks.group_schema(self.item), 1)

    def groups(self, longest: bool = False) -> DataFrame:
        """Sketch all items and group identical ones; with `longest`, rank them by length."""
        with self.stage("read and sketch"):
            return written_down(self._by_rows() if self.rows else self._by_columns(longest))

    def _by_columns(self, longest: bool) -> DataFrame:
        """Group whole documents or lists."""
        hashes = {"content0": pa.int64(), "content1": pa.int64(), "keys": pa.list_(pa.int64())}
        parcels = Parcels(pa.schema({"item": self.item, **hashes}), places(self.items, self.count))
        task = partial(tasks.sketched, making=self.making, ranked=self.ranked, longest=longest, parcels=parcels)
        return sent(self.items.mapInArrow(task, SENT)).mapInArrow(
            partial(tasks.grouped, parcels=parcels), "parcel binary"
        )

    def _by_rows(self) -> DataFrame:
        """Sketch rows of (set, element); no task has a whole set, so identical ones stay apart."""
        task = partial(tasks.partial_minima, making=self.making)
        found = self.items.select("id", "content").mapInArrow(task, f"id {self.kind}, signature array<long>")
        ordered = found.repartition("id").sortWithinPartitions("id")
        return ordered.mapInArrow(partial(tasks.least_minima, making=self.making), "parcel binary")

    def copies(self, groups: DataFrame) -> DataFrame:
        """Return (item, head) of the items that are not their own heads."""
        task = partial(tasks.copies, groups=self.parcels)
        return written_down(groups.mapInArrow(task, f"item {self.kind}, head {self.kind}"))

    def candidates(self, groups: DataFrame, every: bool, limit: int | None = None) -> Candidates:
        """Pair the heads to compare; raise an error for more than `limit` pairs over all bands."""
        assert self.making.plan.bands is not None
        rows = self.count * self.making.plan.bands.bands
        parcels = Parcels(pa.schema({"key": pa.int64(), "item": self.item}), places(groups, rows))
        task = partial(dealt_keys, groups=self.parcels, keys=parcels, every=every)
        return pairs_of_keys(groups.mapInArrow(task, SENT), parcels, self.kind, every, limit, self.stage)

    def among(self, groups: DataFrame, items: DataFrame) -> DataFrame:
        """Return the candidate pairs among some of the heads, given as `item`."""
        heads = groups.mapInArrow(partial(tasks.heads, groups=self.parcels), f"item {self.kind}, keys array<long>")
        some = heads.join(items, "item", "left_semi").select(F.explode("keys").alias("key"), "item")
        return pairs_of_rows(some, self.count, False, self.stage).pairs

    def similar(self, pairs: DataFrame) -> DataFrame:
        """Return the candidate pairs that are similar; their contents are read again."""
        contents = self.items.select("id", "content")
        if self.rows:
            ids = [pairs.select(F.col(name).alias("id")) for name in ("a", "b")]
            wanted = contents.join(ids[0].union(ids[1]), "id", "left_semi")
            contents = wanted.groupBy("id").agg(F.collect_set("content").alias("content"))
        return similar(pairs, contents, contents, self.making, self.ranked)


SENT = "place int, parcel binary"


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
            describe(f"lookalike: {name}")
        try:
            with run.stage(name), own_errors():
                yield
        finally:
            if describe is not None:
                describe(None)  # type: ignore[arg-type]

    return stage


def find_groups() -> str:
    """Return what to do instead of listing pairs."""
    groups = remedy("find_clusters or dedup", "`lookalike clusters` or `lookalike dedup`")
    return f"use {groups}, which have no such limit"


def pairs_of_keys(
    keys: DataFrame, parcels: Parcels, kind: str, every: bool, limit: int | None, stage: Stage
) -> Candidates:
    """Turn parcels of (key, item) into pairs (a, b, band) that share a key, a before b, each once.

    First gather the items of each bucket into lists to compare, none too long for one task; then
    distribute the lists evenly and list their pairs.
    """
    task = partial(units, parcels=parcels, every=every)
    made = f"band int, crowded boolean, lefts array<{kind}>, rights array<{kind}>"
    with stage("buckets"):
        found = written_down(sent(keys).mapInArrow(task, made))
        size = F.size("lefts").cast("long")
        pairs = F.when(F.col("rights").isNull(), size * (size - 1) / 2).otherwise(size * F.size("rights"))
        row = found.agg(F.sum(pairs)).first()
    total = int(row[0] or 0) if row else 0
    if limit is not None and total > limit:
        raise TooManyPairs(
            f"{total:,} candidate pairs, counted per band, more than {parameter('max_pairs')} = {limit:,}: "
            f"choose a stricter threshold, raise {parameter('max_pairs')}, or {find_groups()}."
        )
    dealt = found.repartition(min(partitions(keys), 1 + total // PAIRS))
    dealt = dealt.select("band", F.posexplode("lefts").alias("place", "a"), "lefts", "rights")
    after = F.slice("lefts", F.col("place") + 2, F.size("lefts"))
    spread = dealt.select("band", "a", F.explode(F.coalesce("rights", after)).alias("b"))
    crowded = found.where("crowded").select(F.explode(F.concat("lefts", F.coalesce("rights", F.array()))).alias("item"))
    with stage("pairs"):
        listed = written_down(spread.repartition("b").groupBy("a", "b").agg(F.min("band").alias("band")))
    return Candidates(listed, crowded)


def pairs_of_rows(keys: DataFrame, count: int, every: bool, stage: Stage) -> Candidates:
    """Turn rows of (key, item) into pairs, as `pairs_of_keys` does for parcels."""
    item = keys.limit(0).toArrow().schema.field("item").type
    parcels = Parcels(pa.schema({"key": pa.int64(), "item": item}), places(keys, count))
    dealt = keys.mapInArrow(partial(dealt_rows, keys=parcels, every=every), SENT)
    return pairs_of_keys(dealt, parcels, type_of(keys, "item"), every, None, stage)


def similar(
    candidates: DataFrame, left: DataFrame, right: DataFrame, making: Making, ranked: bool = False
) -> DataFrame:
    """Return the similar pairs of (a, b, band) with their similarity, given items as (id, content).

    Each pair is joined with the contents of its two items, one row each, which then come together.
    """
    sides = [("a", left), ("b", right)]
    few = candidates.count() <= BROADCAST
    parts = []
    for at, (name, _) in enumerate(sides):
        item = F.col(f"{name}.id" if ranked else name)
        parts.append(candidates.select(item.alias("id"), "a", "b", "band", F.lit(at).alias("side")))
    if left is right:  # read it only once
        sides, parts = sides[:1], [parts[0].unionByName(parts[1])]
    found = [
        contents.join(F.broadcast(part) if few else part, "id").select("a", "b", "band", "side", "content")
        for (_, contents), part in zip(sides, parts, strict=True)
    ]
    both = reduce(DataFrame.unionByName, found).repartition("a", "b").sortWithinPartitions("a", "b", "side")
    kinds = [type_of(candidates, name) for name in ("a", "b")]
    made = f"a {kinds[0]}, b {kinds[1]}, band int, similarity double"
    columns = both.select("a", "b", "side", "band", "content")
    return columns.mapInArrow(partial(tasks.verified, making=making), made)


def type_of(frame: DataFrame, column: str) -> str:
    """Return the type of a column as written in a schema."""
    return frame.schema[column].dataType.simpleString()


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
