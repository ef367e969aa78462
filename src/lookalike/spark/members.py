"""Find the heads that share buckets, and compare them in places.

members     number, item, weight, keys, group    heads that share a bucket with another
placed      number, place, part                  where to compare them
found       a, b, similarity                     items
"""

from functools import cached_property, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike.core.errors import TooManyPairs, parameter
from lookalike.spark import groups, tasks
from lookalike.spark.buckets import KEYED, connected, dealt_keys
from lookalike.spark.frames import SENT, Frames, find_groups, partitions, places, sent
from lookalike.spark.graphs import components, written_down
from lookalike.spark.parcels import Parcels


def members_of(frames: Frames, limit: int | None = None) -> "Members":
    """Return the heads that share a bucket; raise an error for more than `limit` pairs over all bands."""
    rows = frames.count * frames.bands
    keys = Parcels(KEYED, places(frames.groups, rows))
    task = partial(dealt_keys, groups=frames.parcels, keys=keys, bands=frames.bands)
    with frames.stage("buckets"):
        dealt = sent(frames.groups.mapInArrow(task, SENT))
        edges = written_down(dealt.mapInArrow(partial(connected, keys=keys), "a long, b long, pairs double"))
        row = edges.agg(F.sum("pairs"), F.count("a")).first()
    total, count = (int(value or 0) for value in row) if row else (0, 0)
    frames.run.counts["candidates"] = total
    if limit is not None and total > limit:
        raise TooManyPairs(
            f"{total:,} candidate pairs, counted per band, more than {parameter('max_pairs')} = {limit:,}: "
            f"choose a stricter threshold, raise {parameter('max_pairs')}, or {find_groups()}."
        )
    with frames.stage("groups"):
        others = components(edges.where("a is not null").select("a", "b"), count)
        labels = others.select(F.col("item").alias("number"), F.col("first").alias("group"))
        firsts = others.select(F.col("first").alias("number"), F.col("first").alias("group")).distinct()
        labels = frames.to_all(labels.unionByName(firsts), 2 * count)
        made = f"number long, item {frames.kind}, weight long, keys binary"
        heads = frames.groups.mapInArrow(partial(tasks.heads, groups=frames.parcels), made)
        members = written_down(heads.join(labels, "number"))
        frames.run.counts["compared"] = members.count()
        return Members(frames, members, frames.run.counts["compared"])


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

    def compare(self, placed: DataFrame, how: type[groups.Compare], again: bool = False, **options: Any) -> DataFrame:
        """Compare the members of each place: (a, b, similarity); `placed` has number, place and part.

        If members of groups that are cut are compared `again`, their texts are not read again.
        """
        frames = self.frames
        task = how(frames.making, frames.ranks.descending, self.schema, self.texts, self.count, **options)
        placed = frames.to_all(placed, self.count)
        members = self.members.join(placed, "number")
        brought = "place long, members binary, texts binary"
        dealt = members.select("place", "number", "part", "item", "keys").mapInArrow(
            partial(groups.dealt_members, members=self.schema), brought
        )
        wanted = members.select("item", "number", "place")
        if again:
            contents = self.cut_contents.join(frames.to_all(wanted.drop("item"), self.count), "number")
        else:
            contents = self.contents(wanted)
        texts = contents.select("place", "number", "content").mapInArrow(
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
        if tasks.SIDE not in self.frames.items.columns and pa.types.is_struct(self.frames.type):  # the id suffices
            contents = contents.withColumn("item", F.col("item.id"))
            wanted = wanted.withColumn("item", F.col("item.id"))
        return contents.join(wanted, "item").select("place", "number", "content")

    @cached_property
    def cut_contents(self) -> DataFrame:
        """Return (number, content) of the members of groups that are cut."""
        cut = self.members.join(self.frames.to_all(self.cut, self.count), "number")
        with self.frames.stage("verify"):
            return written_down(self.contents(cut.select("item", "number", F.lit(0).alias("place"))).drop("place"))

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
        found = self.compare(self.placed, groups.Removals)
        left = self.cut if self.any_cut else None
        while left is not None and left.head(1):
            blocks = self.blocks(left)
            first = blocks.where("block = 0").select("number", F.col("group").alias("place"), F.lit(0).alias("part"))
            own = self.compare(first, groups.Removals, again=True)
            kept = self._without(first.select("number", F.col("place").alias("group")), own)
            later = blocks.where("block > 0")
            found = found.unionByName(own)
            if not later.head(1):
                break
            place = F.xxhash64("group", "block")
            others = later.select("number", place.alias("place"), F.lit(1).alias("part"))
            numbers = later.select("group", "block").distinct()
            beside = numbers.join(kept, "group").select("number", place.alias("place"), F.lit(0).alias("part"))
            theirs = self.compare(written_down(others.unionByName(beside)), groups.Removals, again=True)
            found = found.unionByName(theirs)
            left = self._without(later.select("number"), theirs)
        return found

    def _without(self, numbers: DataFrame, dropped: DataFrame) -> DataFrame:
        """Return the rows of numbers whose items were not dropped."""
        items = self.members.select("number", "item").join(dropped, F.col("item") == F.col("a"), "left_semi")
        return written_down(numbers.join(items.select("number"), "number", "left_anti"))
