"""Turn pairs into connected components, by rounds of shuffles if they are many.

Pairs are the columns `a` and `b` of a data frame. The result of each round is checkpointed, so that
the next round does not repeat the earlier ones.
"""

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from lookalike.spark.tasks import firsts

FINISH = 5_000_000  # this few pairs are joined by one task


def written_down(frame: DataFrame) -> DataFrame:
    """Compute the rows now; keep them in the checkpoint folder, or on the disks of executors."""
    if has_checkpoints(frame.sparkSession):
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def has_checkpoints(session: SparkSession) -> bool:
    """Return whether the session has a folder for checkpoints."""
    try:
        return session.sparkContext.getCheckpointDir() is not None
    except PySparkException:  # Spark Connect has no context
        return session.conf.get("spark.checkpoint.dir", None) is not None


def components(pairs: DataFrame, count: int) -> DataFrame:
    """Return (item, first) for each item that is not the first of its connected component.

    Large-star and small-star alternate (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014):
    each item's larger neighbours are linked to its least neighbour, then its smaller ones, until
    nothing changes. The number of rounds grows about as the logarithm of the number of items. No
    item's neighbours are ever gathered in one place. If `count`, of pairs, is small, one task joins them.
    """
    if count <= FINISH:
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
    """Link the larger neighbours of each item to the least of its neighbours and itself."""
    both = edges.unionByName(edges.select(F.col("v").alias("u"), F.col("u").alias("v")))
    least = both.groupBy("u").agg(F.least("u", F.min("v")).alias("least"))
    larger = both.where("v > u").join(least, "u")
    return larger.select(F.col("v").alias("u"), F.col("least").alias("v")).distinct()


def small_star(edges: DataFrame) -> DataFrame:
    """Link each item and its smaller neighbours to the least of those; u > v in `edges`."""
    least = edges.groupBy("u").agg(F.min("v").alias("least"))
    smaller = edges.join(least, "u").where("v != least").select(F.col("v").alias("u"), F.col("least").alias("v"))
    return smaller.unionByName(least.withColumnRenamed("least", "v")).distinct()
