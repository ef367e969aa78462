"""List the similar pairs of one data frame, or between two."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike.core.errors import TooManyPairs, parameter
from lookalike.spark.frames import BROADCAST, Frames, find_groups
from lookalike.spark.groups import SimilarPairs
from lookalike.spark.members import members_of
from lookalike.spark.tasks import SIDE


def similar_pairs(frames: Frames, limit: int) -> DataFrame:
    """Return all similar pairs of items: (left, right, similarity)."""
    two = SIDE in frames.items.columns
    alike = same_contents(frames.copies, limit, two)
    members = members_of(frames, None if two else limit)
    similar = members.compare(members.in_twos(), SimilarPairs, limit=limit, two=two)
    found = similar.select(F.col("a").alias("left"), F.col("b").alias("right"), "similarity")
    return found if alike is None else spread(found, alike, two)


def both_sides(left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the rows of two data frames as one, with their `side`; ids of two types become strings."""
    same = left.schema["id"].dataType == right.schema["id"].dataType
    sides = [
        frame.select(*(["id"] if same else [F.col("id").cast("string").alias("id")]), "content", F.lit(at).alias(SIDE))
        for at, frame in enumerate((left, right))
    ]
    return sides[0].unionByName(sides[1])


def ids_again(found: DataFrame, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return pairs of items of two data frames as pairs of ids, of the types that these have."""
    columns = [
        F.col(f"{name}.id").cast(frame.schema["id"].dataType).alias(name)
        for name, frame in (("left", left), ("right", right))
    ]
    return found.select(*columns, "similarity")


def same_contents(copies: DataFrame, limit: int, two: bool) -> DataFrame | None:
    """Return (item, head) of identical items, heads included, or None if there are none.

    Raise an error if they form more pairs than the limit, unless there are two data frames.
    """
    sizes = copies.groupBy("head").agg(F.count("*").cast("double").alias("copies"))
    found = sizes.agg(F.sum("copies"), F.sum(F.col("copies") * (F.col("copies") + 1) / 2)).first()
    count, pairs = (int(number or 0) for number in found) if found else (0, 0)
    if pairs > limit and not two:
        raise TooManyPairs(
            f"{pairs:,} pairs of identical items, more than {parameter('max_pairs')} = {limit:,}: "
            f"raise {parameter('max_pairs')}, or {find_groups()}."
        )
    alike = copies.unionByName(sizes.select(F.col("head").alias("item"), "head"))
    if not count:
        return None
    return F.broadcast(alike) if count <= BROADCAST else alike


def spread(pairs: DataFrame, alike: DataFrame, two: bool) -> DataFrame:
    """Expand pairs of heads to pairs of all items, and add the pairs of identical items of one data frame."""
    one, other = (
        alike.select(F.col("head").alias(f"{side}_head"), F.col("item").alias(side)) for side in ("one", "other")
    )
    crossed = pairs.join(one, F.col("left") == F.col("one_head"), "left")
    crossed = crossed.join(other, F.col("right") == F.col("other_head"), "left")
    both = crossed.select(
        F.coalesce("one", "left").alias("one"), F.coalesce("other", "right").alias("other"), "similarity"
    )
    if two:
        return both.select(F.col("one").alias("left"), F.col("other").alias("right"), "similarity")
    inside = one.join(other, F.col("one_head") == F.col("other_head")).where("one < other")
    every = both.unionByName(inside.select("one", "other", F.lit(1.0).alias("similarity")))
    return every.select(F.least("one", "other").alias("left"), F.greatest("one", "other").alias("right"), "similarity")
