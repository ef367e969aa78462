"""Find pairs and clusters of the items of a data frame, and decide which items to keep."""

from fractions import Fraction
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike.core.errors import TooManyPairs, parameter, whole
from lookalike.core.run import Run
from lookalike.items.shingles import Shingles
from lookalike.search.plan import Plan
from lookalike.spark.frames import BROADCAST, Frames, find_groups
from lookalike.spark.graphs import components, to_drop, written_down
from lookalike.spark.items import FrameItems, SparkSettings, backticked

MAX_PAIRS = 10_000_000_000
ROUNDS = 10  # at most, of comparing the kept items of crowded buckets again


class SparkDedup(NamedTuple):
    """The rows to keep, and the items to remove.

    >>> import lookalike as la
    >>> kept, dropped = la.spark.dedup(df, threshold=0.8)  # doctest: +SKIP
    """

    kept: DataFrame  # the rows of the data frame that are kept
    dropped: DataFrame  # `id`, `kept` (the id of the similar item that is kept), `similarity`


def plan(
    df: DataFrame,
    *,
    text: str | None = None,
    id: str = "id",
    rows: tuple[str, str] | None = None,
    threshold: float | str | Fraction = 0.8,
    measure: str = "jaccard",
    recall: float = 0.99,
    shingles: Shingles | str = "char:9",
    sketch: str = "minhash",
    seed: int = 1,
    run: Run | None = None,
) -> Plan:
    """Choose the bands and rows for finding pairs, without finding them.

    This counts the items, and estimates from the first thousand by id which bands cost least. Pass
    the plan to the other functions to use it, or print it to see the recall and the candidates to
    expect.

    Args:
        df: the data frame with the items.
        text: the column of texts, or of lists of elements; by default `text`, `content`, `body` or
            `document`.
        id: the column of ids, unique strings or integers; items are ordered by id.
        rows: instead of `text` and `id`, for data with one element per row: the columns of set
            ids and of elements.
        threshold: the minimum Jaccard similarity of a similar pair.
        measure: "jaccard" or "bag".
        recall: the probability of finding a pair exactly at the threshold.
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        sketch: the kind of signature: "minhash" or "simhash".
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        A `Plan`; its `.lines()` describe it.

    >>> import lookalike as la
    >>> print("\\n".join(la.spark.plan(df, threshold=0.8).lines()))  # doctest: +SKIP
    """
    settings = SparkSettings(text, id, rows, None, threshold, measure, recall, shingles, sketch, seed, run)
    return FrameItems(df, settings).plan


def find_pairs(
    df: DataFrame,
    *,
    max_pairs: int = MAX_PAIRS,
    text: str | None = None,
    id: str = "id",
    rows: tuple[str, str] | None = None,
    plan: Plan | None = None,
    threshold: float | str | Fraction = 0.8,
    measure: str = "jaccard",
    recall: float = 0.99,
    shingles: Shingles | str = "char:9",
    sketch: str = "minhash",
    seed: int = 1,
    run: Run | None = None,
) -> DataFrame:
    """Find all pairs of similar items, each one verified.

    Candidates are found now, and verified when the result is used.

    Args:
        df: the data frame with the items.
        max_pairs: the number of pairs above which the search stops with an error.
        text: the column of texts, or of lists of elements; by default `text`, `content`, `body` or
            `document`.
        id: the column of ids, unique strings or integers; items are ordered by id.
        rows: instead of `text` and `id`, for data with one element per row: the columns of set
            ids and of elements.
        plan: a plan to use instead of threshold, measure, recall, sketch and seed: one that
            `la.spark.plan` returned, or the `.plan` of a result of `la.find_pairs` and the like.
        threshold: the minimum Jaccard similarity of a similar pair.
        measure: "jaccard" or "bag".
        recall: the probability of finding a pair exactly at the threshold.
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        sketch: the kind of signature: "minhash" or "simhash".
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        A data frame of `left`, `right` (ids, left before right) and `similarity`.

    >>> import lookalike as la
    >>> la.spark.find_pairs(df, threshold=0.8).show()  # doctest: +SKIP
    """
    whole("max_pairs", max_pairs)
    settings = SparkSettings(text, id, rows, plan, threshold, measure, recall, shingles, sketch, seed, run)
    frames = FrameItems(df, settings).frames()
    groups = frames.groups()
    alike = same_contents(frames.copies(groups), max_pairs)
    similar = frames.similar(frames.candidates(groups, every=True, limit=max_pairs).pairs)
    found = similar.select(F.col("a").alias("left"), F.col("b").alias("right"), "similarity")
    return found if alike is None else spread(found, alike)


def find_clusters(
    df: DataFrame,
    *,
    text: str | None = None,
    id: str = "id",
    rows: tuple[str, str] | None = None,
    plan: Plan | None = None,
    threshold: float | str | Fraction = 0.8,
    measure: str = "jaccard",
    recall: float = 0.99,
    shingles: Shingles | str = "char:9",
    sketch: str = "minhash",
    seed: int = 1,
    run: Run | None = None,
) -> DataFrame:
    """Group items that are connected by similar pairs.

    Args:
        df: the data frame with the items.
        text: the column of texts, or of lists of elements; by default `text`, `content`, `body` or
            `document`.
        id: the column of ids, unique strings or integers; items are ordered by id.
        rows: instead of `text` and `id`, for data with one element per row: the columns of set
            ids and of elements.
        plan: a plan to use instead of threshold, measure, recall, sketch and seed: one that
            `la.spark.plan` returned, or the `.plan` of a result of `la.find_pairs` and the like.
        threshold: the minimum Jaccard similarity of a similar pair.
        measure: "jaccard" or "bag".
        recall: the probability of finding a pair exactly at the threshold.
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        sketch: the kind of signature: "minhash" or "simhash".
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        A data frame with one row per item of a cluster of two or more: `cluster` (the id of its
        first item), `id` and `size`.

    >>> import lookalike as la
    >>> la.spark.find_clusters(df, threshold=0.8).orderBy("cluster").show()  # doctest: +SKIP
    """
    settings = SparkSettings(text, id, rows, plan, threshold, measure, recall, shingles, sketch, seed, run)
    frames = FrameItems(df, settings).frames()
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


def dedup(
    df: DataFrame,
    *,
    keep: str = "lowest-id",
    text: str | None = None,
    id: str = "id",
    rows: tuple[str, str] | None = None,
    plan: Plan | None = None,
    threshold: float | str | Fraction = 0.8,
    measure: str = "jaccard",
    recall: float = 0.99,
    shingles: Shingles | str = "char:9",
    sketch: str = "minhash",
    seed: int = 1,
    run: Run | None = None,
) -> SparkDedup:
    """Decide which items to keep, so that each removed item is verified similar to a kept one.

    No two kept items are similar, except for pairs missed within the stated recall.

    Args:
        df: the data frame with the items.
        keep: which of several similar items to keep: the one with the "lowest-id", the "longest", or
            the one with the greatest number or date in the column of this name. The rows of a data
            frame have no order, so there is no first one.
        text: the column of texts, or of lists of elements; by default `text`, `content`, `body` or
            `document`.
        id: the column of ids, unique strings or integers; items are ordered by id.
        rows: instead of `text` and `id`, for data with one element per row: the columns of set
            ids and of elements.
        plan: a plan to use instead of threshold, measure, recall, sketch and seed: one that
            `la.spark.plan` returned, or the `.plan` of a result of `la.find_pairs` and the like.
        threshold: the minimum Jaccard similarity of a similar pair.
        measure: "jaccard" or "bag".
        recall: the probability of finding a pair exactly at the threshold.
        shingles: how a text becomes a set, such as "char:9" or "word:5", or `Shingles`.
        sketch: the kind of signature: "minhash" or "simhash".
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        `kept`, the rows to keep, and `dropped`, a data frame of `id`, `kept` (the id kept instead)
        and `similarity`.

    >>> import lookalike as la
    >>> la.spark.dedup(df, threshold=0.8).kept.write.parquet("clean.parquet")  # doctest: +SKIP
    """
    settings = SparkSettings(text, id, rows, plan, threshold, measure, recall, shingles, sketch, seed, run)
    items = FrameItems(df, settings, keep)
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
    """Return the similar pairs of heads, and the heads to drop.

    In a crowded bucket each item is compared with only a few others. So the items of such buckets
    that are kept are then compared among themselves. If one of them is dropped, the items that were
    dropped for it are compared with the item that it was dropped for. Repeat until none is dropped.
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
    """Compare candidate pairs now, and return the similar ones."""
    with frames.stage("verify"):
        return written_down(frames.similar(pairs))


def decided(frames: Frames, similar: DataFrame) -> DataFrame:
    """Decide now which items to drop, and return them."""
    with frames.stage("keep"):
        return written_down(to_drop(similar))


def not_among(pairs: DataFrame, known: DataFrame) -> DataFrame:
    """Return the pairs that are not among those known."""
    return written_down(pairs.join(known.select("a", "b"), ["a", "b"], "left_anti").select("a", "b", "band"))


def same_contents(copies: DataFrame, limit: int) -> DataFrame | None:
    """Return (item, head) of identical items, heads included, or None if there are none.

    Raise an error if they form more pairs than the limit.
    """
    sizes = copies.groupBy("head").agg(F.count("*").cast("double").alias("copies"))
    found = sizes.agg(F.sum("copies"), F.sum(F.col("copies") * (F.col("copies") + 1) / 2)).first()
    count, pairs = (int(number or 0) for number in found) if found else (0, 0)
    if pairs > limit:
        raise TooManyPairs(
            f"{pairs:,} pairs of identical items, more than {parameter('max_pairs')} = {limit:,}: "
            f"raise {parameter('max_pairs')}, or {find_groups()}."
        )
    alike = copies.unionByName(sizes.select(F.col("head").alias("item"), "head"))
    if not count:
        return None
    return F.broadcast(alike) if count <= BROADCAST else alike


def spread(pairs: DataFrame, alike: DataFrame) -> DataFrame:
    """Expand pairs of heads to pairs of all items, and add the pairs of identical items."""
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
    """Return (item, centre, similarity, band): each dropped item and its first kept match."""
    into = similar.join(gone, similar["b"] == gone["item"], "left_semi")
    kept = into.join(gone, into["a"] == gone["item"], "left_anti")
    best = kept.groupBy("b").agg(F.min(F.struct("band", "a", "similarity")).alias("best"))
    columns = [F.col("best.a").alias("centre"), F.col("best.similarity"), F.col("best.band")]
    return best.select(F.col("b").alias("item"), *columns)
