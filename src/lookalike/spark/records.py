"""Find candidate pairs of records, in one table or two: with a common value, or similar overall.

The rules are those of `entities.candidates`, which in small tables also pairs nearest records.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lookalike.core.errors import LARGEST_SEED, fraction, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.entities.candidates import FREQUENT_ONE_IN as SHARE
from lookalike.entities.candidates import MOST_PER_RECORD as MOST
from lookalike.entities.candidates import RECALL
from lookalike.entities.fields import Field, as_fields
from lookalike.entities.kinds import guess_common_kind
from lookalike.entities.reading import id_columns
from lookalike.entities.values import day_comes_first
from lookalike.io.documents import HEAD
from lookalike.items.sets import Sets
from lookalike.search.fitting import fit
from lookalike.search.intake import SAMPLE_SETS
from lookalike.search.plan import make_plan
from lookalike.search.settings import MAX_PAIRS
from lookalike.spark.frames import Frames, Ranks, staged
from lookalike.spark.graphs import written_down
from lookalike.spark.items import check_id, count_ids, quoted, type_of
from lookalike.spark.pairs import both_sides, ids_again, similar_pairs
from lookalike.spark.record_tasks import OfRecords, written_out


def resolve_candidates(
    left: DataFrame,
    right: DataFrame | None = None,
    *,
    fields: Sequence[Field | str],
    id: str = "id",
    threshold: float = 0.6,
    seed: int = 1,
    run: Run | None = None,
) -> DataFrame:
    """Find candidate pairs of records in two tables, or within one.

    A pair has the same value in a field, and if that value is frequent, in another field too; or
    its shingles in all fields together are similar.

    Args:
        left: the records of the first table.
        right: the records of the second table; None to find pairs within the first.
        fields: the columns to compare, as for `entities.resolve`.
        id: the column of ids, or both columns, "key:number".
        threshold: the least Jaccard similarity of shingles, detected with probability 0.95.
        seed: the seed of all random choices.
        run: a `lookalike.core.run.Run`, of which a subclass can show progress.

    Returns:
        A data frame of `left` and `right` (ids).

    >>> import lookalike as la
    >>> la.spark.resolve_candidates(left, right, fields=["name", "town:city"]).show()  # doctest: +SKIP
    """
    found = Records([left] if right is None else [left, right], as_fields(fields), id, run or Run())
    threshold = fraction("threshold", threshold)
    seed = whole("seed", seed, least=0, most=LARGEST_SEED)
    same, frequent = found.same_values()
    parts = [same, found.same_together(frequent), found.alike(threshold, seed)]
    pairs = reduce(DataFrame.unionByName, [part.select("a", "b") for part in parts]).distinct()
    return pairs.select(F.col("a").alias("left"), F.col("b").alias("right"))


class Records:
    """One table or two, with the fields to compare them by."""

    def __init__(self, tables: list[DataFrame], fields: list[Field], id: str, run: Run):
        self.run, self.stage = run, staged(run, tables[0].sparkSession)
        given = []
        for df, name, side in zip(tables, id_columns(id), ("left", "right"), strict=False):
            check_id(df, name)
            columns = [getattr(field, side) for field in fields]
            for column in columns:
                type_of(df, column, "a field")
            named = [quoted(column).alias(f"field{at}") for at, column in enumerate(columns)]
            given.append(df.select(quoted(name).alias("id"), *named))
            count_ids(given[-1], name)
        with self.stage("fields"):
            samples = [df.orderBy("id").limit(HEAD).toArrow() for df in given]
            self.fields = [
                replace(field, kind=field.kind or guess_common_kind([field.left, field.right], sides))
                for at, field in enumerate(fields)
                if (sides := [sample[f"field{at}"] for sample in samples])
            ]
            orders = [self._day_first(samples[0][f"field{at}"], field) for at, field in enumerate(self.fields)]
            task = partial(written_out, fields=self.fields, day_first=orders)
            self.tables = [written_down(df.mapInArrow(task, made_of(df))) for df in given]
        self.values = [values_of(table) for table in self.tables]
        self.count = sum(table.count() for table in self.tables)

    def _day_first(self, sample: pa.ChunkedArray, field: Field) -> bool | None:
        if field.kind != "date" or not pa.types.is_string(sample.type):
            return None
        return day_comes_first(sample.drop_null().unique().to_pylist())

    def same_values(self) -> tuple[DataFrame, DataFrame]:
        """Return pairs with the same value in a field, and the `key` of values too frequent."""
        with self.stage("same values"):
            return self._sharing([values.select("key", "id") for values in self.values])

    def same_together(self, frequent: DataFrame) -> DataFrame:
        """Return pairs with the same frequent value in one field and the same value in another."""
        both = []
        for values in self.values:
            one = values.join(frequent, "key", "left_semi")
            other = values.select("id", F.col("place").alias("other_place"), F.col("key").alias("other_key"))
            joined = one.join(other, "id").where("place != other_place")
            both.append(joined.select(F.xxhash64("key", "other_key").alias("key"), "id"))
        with self.stage("same values"):
            return self._sharing(both)[0]

    def _sharing(self, keys: list[DataFrame]) -> tuple[DataFrame, DataFrame]:
        """Return pairs that share a key, without keys of very many pairs; and those keys."""
        sizes = [table.groupBy("key").agg(F.count("*").alias(f"n{at}")) for at, table in enumerate(keys)]
        if len(keys) == 1:
            counts = sizes[0].withColumn("records", F.col("n0"))
            counts = counts.withColumn("pairs", F.expr("n0 * (n0 - 1) div 2"))
        else:
            counts = sizes[0].join(sizes[1], "key").withColumn("records", F.expr("n0 + n1"))
            counts = counts.withColumn("pairs", F.expr("n0 * n1"))
        counts = written_down(counts.where("pairs > 0").select("key", "pairs", "records"))
        few = counts.where(F.col("pairs") <= MOST * F.col("records"))
        frequent = counts.where(F.col("pairs") > MOST * F.col("records")).select("key")
        return self._pairs([table.join(few, "key", "left_semi") for table in keys]), frequent

    def _pairs(self, keys: list[DataFrame]) -> DataFrame:
        """Turn (key, id) of one table or two into pairs (a, b)."""
        one, other = (
            table.select("key", F.col("id").alias(name))
            for table, name in zip((keys[0], keys[-1]), ("a", "b"), strict=True)
        )
        pairs = one.join(other, "key")
        pairs = pairs.where("a < b") if len(keys) == 1 else pairs
        return written_down(pairs.select("a", "b").distinct())

    def alike(self, threshold: float, seed: int) -> DataFrame:
        """Return pairs of records whose shingles in all fields together are similar."""
        plan = make_plan(threshold=threshold, recall=RECALL, method="lsh", seed=seed, advice="Raise the threshold.")
        making = OfRecords(plan, tuple(self.fields), self._common())
        with self.stage("alike"):
            plan = fit(plan, self._sample(making), self.count)
            making = replace(making, plan=plan)
            left, right = self.tables[0], self.tables[-1]
            two = len(self.tables) == 2
            items = both_sides(left, right) if two else left
            frames = Frames(items, making, self.count, self.run.quietly(), Ranks((False,)) if two else Ranks())
            found = similar_pairs(frames, MAX_PAIRS)
            found = ids_again(found, left, right) if two else found
            found = written_down(found.select(F.col("left").alias("a"), F.col("right").alias("b")))
        most = MOST * max(1000, self.count)
        if found.count() > most:
            self.run.say(f"note: more than {counted(most, 'pair')} are similar overall, too many to use; ignored them")
            return found.limit(0)
        return found

    def _common(self) -> frozenset[tuple[int, str]]:
        """Return the values that more than one in SHARE records have, at most SHARE per field."""
        every = reduce(DataFrame.unionByName, self.values)
        counts = every.groupBy("place", "value").agg(F.count("*").alias("records"))
        found = counts.where(F.col("records") > max(MOST, self.count // SHARE)).collect()
        return frozenset((row["place"], row["value"]) for row in found)

    def _sample(self, making: OfRecords) -> Sets:
        """Return the sets of a sample of the first records by id."""
        first = [table.orderBy("id").limit(HEAD).toArrow()["content"].combine_chunks() for table in self.tables]
        sets = Sets.concatenate([making.sets(content) for content in first])
        return sets.take(np.random.default_rng(0).permutation(len(sets))[:SAMPLE_SETS])


def made_of(df: DataFrame) -> str:
    return f"id {df.schema['id'].dataType.simpleString()}, content array<string>"


def values_of(table: DataFrame) -> DataFrame:
    """Turn (id, content) into (id, place, value, key), one row per value that is not null."""
    spread = table.select("id", F.posexplode("content").alias("place", "value")).where("value is not null")
    return spread.select("*", F.xxhash64("place", "value").alias("key"))
