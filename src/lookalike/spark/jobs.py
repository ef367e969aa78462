"""Find pairs and clusters of the items of a data frame, and decide which items to keep."""

from fractions import Fraction
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lookalike.core.errors import UsageError, parameter, whole
from lookalike.core.run import Run
from lookalike.items.shingles import Shingles
from lookalike.search.plan import Plan
from lookalike.spark.frames import BROADCAST, Frames, type_of
from lookalike.spark.graphs import components, written_down
from lookalike.spark.groups import Connections
from lookalike.spark.items import FrameItems, SparkSettings, backticked
from lookalike.spark.members import members_of
from lookalike.spark.pairs import similar_pairs

MAX_PAIRS = 10_000_000_000


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

    This counts the items, and estimates from some of them which bands cost least. Pass the plan to
    the other functions to use it, or print it to see the recall and the candidates to expect.

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
    items = FrameItems(df, settings)
    found = None if items.small is None else items.small.pairs(max_pairs)
    return similar_pairs(items.frames(), max_pairs) if found is None else found


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
    return clusters(FrameItems(df, settings))


def clusters(items: FrameItems) -> DataFrame:
    """Return (cluster, id, size) of the items that are connected with others by similar pairs."""
    found = None if items.small is None else items.small.clusters()
    return clusters_in(items.frames()) if found is None else found


def clusters_in(frames: Frames) -> DataFrame:
    """Return the clusters that executors find."""
    members = members_of(frames)
    found = members.compare(members.in_twos(), Connections).select("a", "b")
    with frames.stage("join"):
        labels = (
            components(found, found.count())
            if members.any_cut
            else found.select(F.col("a").alias("item"), F.col("b").alias("first"))
        )
        heads = labels.select(F.col("item").alias("head"), "first")
        copies = frames.copies.join(heads, "head", "left").select("item", F.coalesce("first", "head").alias("first"))
        others = written_down(labels.unionByName(copies))
    sizes = others.groupBy("first").agg((F.count("*") + 1).alias("size"))
    firsts = sizes.select(F.col("first").alias("item"), "first")
    every = others.unionByName(firsts).join(sizes, "first")
    return every.select(F.col("first").alias("cluster"), F.col("item").alias("id"), "size")


def dedup(
    df: DataFrame,
    *,
    keep: Any = "lowest-id",
    copies: int = 1,
    drop_all: bool = False,
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
            rules by columns of numbers, dates or texts, the first of which decides:
            "score:max,date:min", "score:max,longest", or [("score", "max"), ("date", "min")].
            Without a direction it is max; items without a value come last. The rows of a data frame
            have no order, so there is no first one.
        copies: how many items of each group to keep: the one that stands for the group, and the next
            ones in the order of `keep`. Each removed item is similar to the first of them.
        drop_all: whether to remove all items that are similar to another one, and keep only those
            that are similar to none.
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
        and `similarity`; with `drop_all`, of `id`, `cluster` (the id of the first item of its
        cluster) and `copies` (how many it has).

    >>> import lookalike as la
    >>> la.spark.dedup(df, threshold=0.8).kept.write.parquet("clean.parquet")  # doctest: +SKIP
    """
    whole("copies", copies)
    settings = SparkSettings(text, id, rows, plan, threshold, measure, recall, shingles, sketch, seed, run)
    if drop_all:
        for name, given, usual in (("keep", keep, "lowest-id"), ("copies", copies, 1)):
            if given != usual:
                none = f"{parameter('drop_all')}, which keeps none of similar items"
                raise UsageError(f"{parameter(name)} cannot be used with {none}.")
        items = FrameItems(df, settings)
        dropped = written_down(clusters(items).selectExpr("id", "cluster", "size AS copies"))
        return SparkDedup(without(df, items, dropped), dropped)
    items = FrameItems(df, settings, keep)
    few = None if items.small is None else items.small.dropped(copies, items.ranks.descending, items.ranks.longest)
    dropped = dropped_in(items.frames(), copies) if few is None else few
    return SparkDedup(without(df, items, dropped), dropped)


def dropped_in(frames: Frames, copies: int) -> DataFrame:
    """Return (id, kept, similarity) of the items to drop, as executors decide."""
    centres = members_of(frames).stars().select(F.col("a").alias("item"), F.col("b").alias("centre"), "similarity")
    with frames.stage("copies"):
        theirs = centres.withColumnRenamed("item", "head")
        same = frames.copies.join(theirs, "head", "left").select(
            "item",
            F.coalesce("centre", "head").alias("centre"),
            F.coalesce("similarity", F.lit(1.0)).alias("similarity"),
        )
        every = centres.unionByName(same)
        if copies > 1:
            place = F.row_number().over(Window.partitionBy("centre").orderBy(*frames.order()))
            every = every.withColumn("place", place).where(F.col("place") >= copies)
        names = [name if frames.kind == type_of(frames.items, "id") else f"{name}.id" for name in ("item", "centre")]
        item, centre = (F.col(name).alias(alias) for name, alias in zip(names, ("id", "kept"), strict=True))
        return written_down(every.select(item, centre, "similarity"))


def without(df: DataFrame, items: FrameItems, dropped: DataFrame) -> DataFrame:
    """Return the rows of a data frame that are not dropped."""
    few = items.small is not None or dropped.count() <= BROADCAST
    gone = dropped.select(F.col("id").alias("dropped id"))
    return df.join(F.broadcast(gone) if few else gone, df[backticked(items.id)] == gone["dropped id"], "left_anti")
