"""Plans, pairs, clusters and what to keep, of the items of a data frame."""

from typing import NamedTuple, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike.core.errors import TooManyPairs, whole
from lookalike.search.plan import Plan
from lookalike.spark.frames import BROADCAST, Frames
from lookalike.spark.graphs import components, to_drop, written_down
from lookalike.spark.items import FrameItems, SparkOptions, backticked

MAX_PAIRS = 10_000_000_000
ROUNDS = 10  # of comparing those that are left of very many alike


class SparkDedup(NamedTuple):
    """What to keep and what to drop."""

    kept: DataFrame  # the rows of the data frame that are kept
    dropped: DataFrame  # `id`, `kept` (the id of the item kept for it), `similarity`


def plan(df: DataFrame, **options: Unpack[SparkOptions]) -> Plan:
    """How pairs would be found: bands and rows, their recall, and about how many candidates are expected.

    It counts the items and looks at the first thousand of them by id.
    """
    return FrameItems(df, options).plan


def find_pairs(df: DataFrame, *, max_pairs: int = MAX_PAIRS, **options: Unpack[SparkOptions]) -> DataFrame:
    """All pairs of similar items, each one verified: `left`, `right` (ids, left before right) and `similarity`.

    Candidates are found now, and verified when the result is used.
    """
    whole("max_pairs", max_pairs)
    frames = FrameItems(df, options).frames()
    groups = frames.groups()
    alike = same_contents(frames.copies(groups), max_pairs)
    similar = frames.similar(frames.candidates(groups, every=True, limit=max_pairs).pairs)
    found = similar.select(F.col("a").alias("left"), F.col("b").alias("right"), "similarity")
    return found if alike is None else spread(found, alike)


def clusters(df: DataFrame, **options: Unpack[SparkOptions]) -> DataFrame:
    """Groups of items connected by similar pairs: `cluster` (the id of its first item), `id` and `size`, a row an item.

    Items that are similar to no other are left out.
    """
    frames = FrameItems(df, options).frames()
    groups = frames.groups()
    copies = frames.copies(groups).select(F.col("head").alias("a"), F.col("item").alias("b"))
    candidates = frames.candidates(groups, every=False)
    with frames.stage("verify"):
        similar = frames.similar(candidates.pairs).select("a", "b")
        pairs = written_down(similar.unionByName(copies))
    with frames.stage("join"):
        others = components(pairs)
    sizes = others.groupBy("first").agg((F.count("*") + 1).alias("size"))
    firsts = sizes.select(F.col("first").alias("item"), "first")
    every = others.unionByName(firsts).join(sizes, "first")
    return every.select(F.col("first").alias("cluster"), F.col("item").alias("id"), "size")


def dedup(df: DataFrame, *, keep: str = "first", **options: Unpack[SparkOptions]) -> SparkDedup:
    """What to keep: one of similar items. Each dropped item is verified similar to one that is kept.

    No two kept items are similar, but for pairs missed within the stated recall. `keep` says which of similar items is
    kept: the "first" by id, the "longest", or the one with the greatest number or date in the column of that name.
    """
    items = FrameItems(df, options, keep)
    frames = items.frames()
    groups = frames.groups(longest=keep == "longest")
    similar, gone = drop(frames, groups)
    centres = kept_for(similar, gone).drop("band")
    copies = frames.copies(groups).select(F.col("item").alias("copy"), "head")
    copies = copies.join(centres, copies["head"] == centres["item"], "left").select(
        F.col("copy").alias("item"),
        F.coalesce("centre", "head").alias("centre"),
        F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
    )
    names = ("item.id", "centre.id") if frames.ranked else ("item", "centre")
    item, centre = (F.col(name).alias(alias) for name, alias in zip(names, ("id", "kept"), strict=True))
    dropped = written_down(centres.unionByName(copies).select(item, centre, "similarity"))
    kept = df.join(dropped, df[backticked(items.id)] == dropped["id"], "left_anti")
    return SparkDedup(kept, dropped)


def drop(frames: Frames, groups: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Similar pairs of heads, and the heads that are dropped.

    Of very many in one bucket each is compared with few. So those of them that are kept are compared again, among
    themselves; and if one is dropped then, what was dropped for it is compared with what that one was dropped for. This
    is done until no more are dropped.
    """
    candidates = frames.candidates(groups, every=False)
    crowded = written_down(candidates.crowded.distinct())
    similar = verified(frames, candidates.pairs)
    gone = decided(frames, similar)
    left = crowded.count()
    for _ in range(ROUNDS if left else 0):
        still = written_down(crowded.join(gone, "item", "left_anti"))
        before, left = left, still.count()
        if left < 2 or left == before:
            break
        centres = kept_for(similar, gone)
        similar = similar.unionByName(verified(frames, not_among(frames.among(groups, still), similar)))
        moved = kept_for(similar, decided(frames, similar)).join(still, "item", "left_semi")
        again = centres.select(F.col("item").alias("b"), F.col("centre").alias("by"), "band").join(
            moved.select(F.col("item").alias("by"), F.col("centre").alias("a")), "by"
        )
        similar = similar.unionByName(verified(frames, not_among(again.select("a", "b", "band"), similar)))
        gone = decided(frames, similar)
    return similar, gone


def verified(frames: Frames, pairs: DataFrame) -> DataFrame:
    """The similar ones of some candidates, which are compared now."""
    with frames.stage("verify"):
        return written_down(frames.similar(pairs))


def decided(frames: Frames, similar: DataFrame) -> DataFrame:
    """The items that are dropped, which are told now."""
    with frames.stage("keep"):
        return written_down(to_drop(similar))


def not_among(pairs: DataFrame, known: DataFrame) -> DataFrame:
    """The pairs that are not known yet."""
    return written_down(pairs.join(known.select("a", "b"), ["a", "b"], "left_anti").select("a", "b", "band"))


def same_contents(copies: DataFrame, limit: int) -> DataFrame | None:
    """(item, head) of identical items, the head among them; more pairs of those than the limit are an error."""
    sizes = copies.groupBy("head").agg(F.count("*").cast("double").alias("copies"))
    found = sizes.agg(F.sum("copies"), F.sum(F.col("copies") * (F.col("copies") + 1) / 2)).first()
    count, pairs = (int(number or 0) for number in found) if found else (0, 0)
    if pairs > limit:
        raise TooManyPairs(
            f"{pairs:,} pairs of identical items, more than max_pairs = {limit:,}: `clusters` and `dedup` need no list "
            "of pairs; or raise max_pairs."
        )
    alike = copies.unionByName(sizes.select(F.col("head").alias("item"), "head"))
    if not count:
        return None
    return F.broadcast(alike) if count <= BROADCAST else alike


def spread(pairs: DataFrame, alike: DataFrame) -> DataFrame:
    """Pairs of heads to pairs of all items: those of their groups, and of identical ones."""
    one, other = (
        alike.select(F.col("head").alias(f"{side}_head"), F.col("item").alias(side)) for side in ("one", "other")
    )
    crossed = pairs.join(one, F.col("left") == F.col("one_head"), "left")
    crossed = crossed.join(other, F.col("right") == F.col("other_head"), "left")
    both = crossed.select(
        F.coalesce("one", "left").alias("one"), F.coalesce("other", "right").alias("other"), "similarity"
    )
    inside = one.join(other, F.col("one_head") == F.col("other_head")).where("one < other")
    every = both.unionByName(inside.select("one", "other", F.lit(1.0).alias("similarity")))
    return every.select(F.least("one", "other").alias("left"), F.greatest("one", "other").alias("right"), "similarity")


def kept_for(similar: DataFrame, gone: DataFrame) -> DataFrame:
    """(item, centre, similarity, band): for each dropped item the kept one it is found with in the first band."""
    into = similar.join(gone, similar["b"] == gone["item"], "left_semi")
    kept = into.join(gone, into["a"] == gone["item"], "left_anti")
    best = kept.groupBy("b").agg(F.min(F.struct("band", "a", "similarity")).alias("best"))
    columns = [F.col("best.a").alias("centre"), F.col("best.similarity"), F.col("best.band")]
    return best.select(F.col("b").alias("item"), *columns)
