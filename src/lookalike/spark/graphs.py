"""Groups from pairs, by rounds of shuffles: connected components, and what to keep of similar items.

Pairs are columns `a` and `b` of a data frame. What is known after a round is written down, so that the next one begins
from there and not from the start.
"""

from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from lookalike.spark.tasks import dropped, firsts

FINISH = 1_000_000  # pairs that one task decides about, in order, when so few are left


def written_down(frame: DataFrame) -> DataFrame:
    """The same rows, computed now and kept in the session's folder of checkpoints, or on the disks of executors."""
    if has_checkpoints(frame.sparkSession):
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def has_checkpoints(session: SparkSession) -> bool:
    """Whether the session has a folder for checkpoints."""
    try:
        return session.sparkContext.getCheckpointDir() is not None
    except PySparkException:  # through Spark Connect there is no context
        return session.conf.get("spark.checkpoint.dir", None) is not None


def components(pairs: DataFrame) -> DataFrame:
    """(item, first) for each item of a pair that is not the first of its connected component.

    Large-star and small-star in turns (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014): each item's larger
    neighbours are given to its least neighbour, then its smaller ones, until nothing changes, which takes about as many
    rounds as the logarithm of the number of items. No item's neighbours are ever gathered in one place. Few pairs are
    joined by one task.
    """
    if pairs.count() <= FINISH:
        kind = pairs.schema["a"].dataType.simpleString()
        return written_down(pairs.coalesce(1).mapInArrow(firsts, f"item {kind}, first {kind}"))
    edges = pairs.select(F.greatest("a", "b").alias("u"), F.least("a", "b").alias("v")).distinct()
    before = None
    while True:
        edges = written_down(small_star(large_star(edges)))
        now = edges.agg(F.count("*"), F.bit_xor(F.xxhash64("u", "v"))).first()
        if now == before:
            return edges.select(F.col("u").alias("item"), F.col("v").alias("first"))
        before = now


def large_star(edges: DataFrame) -> DataFrame:
    """Each item's larger neighbours, joined to the least of its neighbours and itself."""
    both = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    least = both.groupBy("u").agg(F.least("u", F.min("v")).alias("least"))
    larger = both.where("v > u").join(least, "u")
    return larger.select(F.col("v").alias("u"), F.col("least").alias("v")).distinct()


def small_star(edges: DataFrame) -> DataFrame:
    """Each item and its smaller neighbours, joined to the least of those; in `edges` u is the larger."""
    least = edges.groupBy("u").agg(F.min("v").alias("least"))
    smaller = edges.join(least, "u").where("v != least").select(F.col("v").alias("u"), F.col("least").alias("v"))
    return smaller.unionByName(least.withColumnRenamed("least", "v")).distinct()


def to_drop(pairs: DataFrame) -> DataFrame:
    """The items, as `item`, that are similar to one kept before; in each pair `a` comes before `b`.

    What no earlier item is similar to is kept, and what is similar to that is dropped: so the others are decided round
    by round. When few pairs are left one task goes through them in order, since a long chain takes many rounds.
    """
    item = pairs.schema["b"].dataType.simpleString()
    undecided = pairs.select("a", "b")
    gone = []
    while undecided.count() > FINISH:
        kept = undecided.select(F.col("a").alias("item")).distinct()
        kept = kept.join(undecided, kept["item"] == undecided["b"], "left_anti")
        found = undecided.join(kept, undecided["a"] == kept["item"], "left_semi")
        gone.append(written_down(found.select(F.col("b").alias("item")).distinct()))
        undecided = written_down(without(without(undecided, "a", gone[-1]), "b", gone[-1]))
    rest = undecided.coalesce(1).sortWithinPartitions("b").mapInArrow(dropped, f"item {item}")
    return reduce(DataFrame.unionByName, gone, rest)


def without(frame: DataFrame, column: str, items: DataFrame) -> DataFrame:
    """The rows whose column is none of the items."""
    return frame.join(items, frame[column] == items["item"], "left_anti")
