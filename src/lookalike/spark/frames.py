"""The stages as data frames: Spark does the shuffles, `tasks` the work between them.

    items       id, content           of the user's data frame
    groups      item, head, keys      identical items under the first of them, which has the band keys
    candidates  a, b, band            heads that share a bucket, each pair once, with the first band that has it
    similar     a, b, band, similarity

An item is its id; where other items are to be kept than the first, it is a record of its rank and its id, so that items
in order are those to be kept first.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike import errors
from lookalike.errors import LookalikeError, TooManyPairs
from lookalike.run import Run
from lookalike.spark import tasks
from lookalike.spark.buckets import units
from lookalike.spark.graphs import written_down
from lookalike.spark.making import Making

PAIRS = 200_000  # that one task spreads out, at least
BROADCAST = 500_000  # candidates whose ids are sent to all executors, so that other documents need not be shuffled


class Frames:
    """The stages for one collection."""

    def __init__(self, items: DataFrame, making: Making, rows: bool, run: Run):
        self.items, self.making, self.rows, self.stage = items, making, rows, staged(run)
        self.ranked = "rank" in items.columns

    def groups(self, longest: bool = False) -> DataFrame:
        """Sketch all items, and put identical ones into groups. If the `longest` come first, that is their rank."""
        with self.stage("read and sketch"):
            return written_down(self._by_rows() if self.rows else self._by_columns(longest))

    def _by_columns(self, longest: bool) -> DataFrame:
        """From whole documents or lists."""
        given = self.items if self.ranked else self.items.withColumn("rank", F.lit(0).cast("long"))
        made = f"id {type_of(given, 'id')}, rank {type_of(given, 'rank')}"
        task = partial(tasks.sketched, making=self.making, longest=longest)
        found = given.select("id", "rank", "content").mapInArrow(
            task, f"{made}, content0 long, content1 long, keys array<long>"
        )
        item = F.struct("rank", "id") if self.ranked else F.col("id")
        found = found.select(item.alias("item"), "content0", "content1", "keys")
        kind = type_of(found, "item")
        ordered = found.repartition("content0").sortWithinPartitions("content0", "content1", "item")
        return ordered.mapInArrow(tasks.grouped, f"item {kind}, head {kind}, keys array<long>")

    def _by_rows(self) -> DataFrame:
        """From rows of a set and an element: identical sets are not looked for, as no task has a whole set."""
        kind = type_of(self.items, "id")
        partly = partial(tasks.partial_minima, making=self.making)
        found = self.items.select("id", "content").mapInArrow(partly, f"id {kind}, signature array<long>")
        wholly = partial(tasks.least_minima, making=self.making)
        ordered = found.repartition("id").sortWithinPartitions("id")
        made = ordered.mapInArrow(wholly, f"item {kind}, keys array<long>")
        return made.select("item", F.col("item").alias("head"), "keys")

    def candidates(self, groups: DataFrame, every: bool, limit: int | None = None) -> DataFrame:
        """The heads to compare; more than `limit`, in all bands, are an error."""
        heads = groups.where("keys is not null").select(F.explode("keys").alias("key"), "item")
        return pairs_of_keys(heads, every, limit, self.stage)

    def similar(self, candidates: DataFrame) -> DataFrame:
        """The candidates that are similar, by their contents, which are read again."""
        contents = self.items.select("id", "content")
        if self.rows:
            contents = contents.groupBy("id").agg(F.collect_set("content").alias("content"))
        return similar(candidates, contents, contents, self.making, self.ranked)


Stage = Callable[[str], Any]  # what shows that a step is under way


def staged(run: Run) -> Stage:
    """A step of a run; what a task of it finds wrong is raised as it would be on one machine."""

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        with run.stage(name), own_errors():
            yield

    return stage


def pairs_of_keys(keyed: DataFrame, every: bool, limit: int | None, stage: Stage) -> DataFrame:
    """(key, item) to (a, b, band): items that share a key, a before b, each pair once.

    First the items of each bucket are brought together, then the pairs: a bucket is never held by one task, and the
    pairs of all are dealt out evenly.
    """
    kind = type_of(keyed, "item")
    task = partial(units, every=every)
    made = f"band int, lefts array<{kind}>, rights array<{kind}>"
    with stage("buckets"):
        found = written_down(keyed.repartition("key").sortWithinPartitions("key", "item").mapInArrow(task, made))
        size = F.size("lefts").cast("long")
        pairs = F.when(F.col("rights").isNull(), size * (size - 1) / 2).otherwise(size * F.size("rights"))
        row = found.agg(F.sum(pairs)).first()
    total = int(row[0] or 0) if row else 0
    if limit is not None and total > limit:
        raise TooManyPairs(
            f"about {total:,} pairs share a bucket, more than max_pairs = {limit:,}: `clusters` and `dedup` "
            "need no list of pairs; or raise the threshold, or max_pairs."
        )
    most = int(keyed.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    dealt = found.repartition(min(most, 1 + total // PAIRS))
    dealt = dealt.select("band", F.posexplode("lefts").alias("place", "a"), "lefts", "rights")
    after = F.slice("lefts", F.col("place") + 2, F.size("lefts"))
    spread = dealt.select("band", "a", F.explode(F.coalesce("rights", after)).alias("b"))
    with stage("pairs"):
        return written_down(spread.repartition("b").groupBy("a", "b").agg(F.min("band").alias("band")))


def similar(
    candidates: DataFrame, left: DataFrame, right: DataFrame, making: Making, ranked: bool = False
) -> DataFrame:
    """(a, b, band) to those that are similar, with their similarity: by the contents of the items, (id, content)."""
    a, b = (F.col(f"{name}.id" if ranked else name) for name in ("a", "b"))
    sides = [(left, a, "left"), (right, b, "right")]
    few = candidates.count() <= BROADCAST
    found = candidates
    for contents, item, name in reversed(sides):
        some = contents.select(F.col("id").alias(f"{name}_id"), F.col("content").alias(name))
        if few:
            ids = candidates.select(item.alias(f"{name}_id")).distinct()
            some = some.join(F.broadcast(ids), f"{name}_id", "left_semi")
        found = found.join(some, item == F.col(f"{name}_id"))
    kinds = [type_of(candidates, name) for name in ("a", "b")]
    made = f"a {kinds[0]}, b {kinds[1]}, band int, similarity double"
    return found.select("a", "b", "band", "left", "right").mapInArrow(partial(tasks.verified, making=making), made)


def type_of(frame: DataFrame, column: str) -> str:
    """The type of a column, as it is written in a schema."""
    return frame.schema[column].dataType.simpleString()


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the errors of this package that tasks raise as what they are."""
    try:
        yield
    except PySparkException as error:
        found = re.search(r"^lookalike\.errors\.(\w+): (.*)$", str(error), re.MULTILINE)
        kind = getattr(errors, found[1], None) if found else None
        if found and isinstance(kind, type) and issubclass(kind, LookalikeError):
            raise kind(found[2]) from None
        raise
