"""The items of a data frame: which columns they are in, how they are compared, and the plan for that."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from lookalike.core.errors import LARGEST_SEED, DataError, UsageError, choice, one_column, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.documents import TEXT_NAMES
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.measures.table import BANDED, SHORT
from lookalike.search.collection import HEAD, sample_rows
from lookalike.search.plan import Plan, fit, make_plan
from lookalike.spark.frames import Frames, staged
from lookalike.spark.making import Making, OfLists, OfTexts


class SparkOptions(TypedDict, total=False):
    """What all functions on items take: where the items are, what similar means, and what may be missed."""

    text: str  # the column of texts, or of lists of elements; `text`, `content`, `body` or `document` by default
    id: str  # the column of ids, `id` by default: strings or integers, unique, and the order of the items
    rows: tuple[str, str]  # in place of both: the columns of a set's id and of one of its elements
    plan: Plan  # in place of all that follows but shingles: what `plan` gave, or the plan of a run on one machine
    threshold: float | str | Fraction  # the least Jaccard similarity, 0.8 by default
    measure: str  # "jaccard" or "bag"
    recall: float  # of a pair right at the threshold, 0.99 by default
    shingles: Shingles | str  # how texts become sets, "char:9" by default
    sketch: str  # what is banded: "minhash", the default, or "simhash"
    seed: int
    run: Run  # how progress is shown


class FrameItems:
    """The items of a data frame, with the options checked."""

    def __init__(self, df: DataFrame, options: SparkOptions, keep: str = "first"):
        for name in options:
            choice("option", name, SparkOptions.__annotations__)
        self.df, self.options = df, options
        self.run = options.get("run") or Run()
        self.by_rows = "rows" in options
        self.id, self.text = columns_of(df, options)
        self.lists = self.by_rows or isinstance(type_of(df, self.text, "the text"), ArrayType)
        self._check_types()
        self.shingles = self._shingles()
        columns = [quoted(self.id).alias("id"), quoted(self.text).alias("content"), *self._order(keep)]
        self.frame = df.select(*columns)
        self.plan = self._plan()
        for line in self.plan.lines():
            self.run.say(line)

    def frames(self) -> Frames:
        """The stages for them."""
        return Frames(self.frame, self._making(self.plan), self.count, self.by_rows, self.run)

    def _making(self, plan: Plan) -> Making:
        return OfLists(plan) if self.lists else OfTexts(plan, self.shingles)

    # --- columns ---

    def _check_types(self) -> None:
        check_id(self.df, self.id)
        kind = type_of(self.df, self.text, "the element" if self.by_rows else "the text")
        inner = kind.elementType if isinstance(kind, ArrayType) and not self.by_rows else kind
        if not isinstance(inner, (StringType, IntegralType) if self.lists else StringType):
            want = "strings or integers" if self.by_rows else "strings, or lists of strings or integers"
            raise DataError(f"column {self.text!r} must hold {want}; it holds {kind.simpleString()}.")

    def _shingles(self) -> Shingles:
        given = self.options.get("shingles", "char:9")
        if self.lists and "shingles" in self.options:
            raise UsageError("shingles are for texts; got sets.")
        shingles = given if isinstance(given, Shingles) else Shingles.parse(given)
        known = self.options.get("plan")
        measure = self.options.get("measure", "jaccard") if known is None else known.measure
        return replace(shingles, bag=True) if SHORT.get(measure, measure) == "bag_jaccard" else shingles

    def _order(self, keep: str) -> list[Column]:
        """What is least for the items to be kept first, if that is not the id: whether they come last, and a rank.

        Those without a value come last. The rank of the longest is told later.
        """
        if keep == "first":
            return []
        if self.by_rows:
            raise UsageError(f"keep must be 'first' for rows of sets and elements; got {keep!r}.")
        if keep == "longest":
            return [F.lit(False).alias("last"), F.lit(0).cast("long").alias("rank")]
        kind = type_of(self.df, keep, "keep, which is 'first', 'longest' or a column")
        value = quoted(keep)
        if isinstance(kind, IntegralType):
            rank = F.bitwise_not(value.cast("long"))  # which no number is too large or too small for
        elif isinstance(kind, NumericType):
            rank = -value
        elif isinstance(kind, DateType | TimestampType):
            rank = -F.unix_micros(value.cast("timestamp"))
        elif isinstance(kind, TimestampNTZType):
            minutes = (F.unix_date(value.cast("date")).cast("long") * 24 + F.hour(value)) * 60 + F.minute(value)
            rank = -(minutes * 60_000_000 + (F.extract(F.lit("SECOND"), value) * 1_000_000).cast("long"))
        else:
            holds = kind.simpleString()
            raise DataError(f"column {keep!r} must hold numbers or dates, to keep the greatest of; it holds {holds}.")
        return [value.isNull().alias("last"), F.coalesce(rank, F.lit(0)).alias("rank")]

    # --- plan ---

    def _plan(self) -> Plan:
        """The plan that was given, or one made from a sample."""
        what = "sets" if self.lists else str(self.shingles)
        given = self.options.get("plan")
        if given is not None:
            for name in ("threshold", "measure", "recall", "sketch", "seed"):
                if name in self.options:
                    raise UsageError(f"{name} is in the plan already; give one of the two.")
            if given.bands is None:
                raise UsageError("plan must have bands: on Spark pairs are found by method 'lsh'.")
            if given.what != what:
                raise UsageError(f"plan must be for {what}; it is for {given.what}.")
            self._check_rows(given)
            self.count = self._count()
            return given
        chosen: dict[str, Any] = {name: value for name, value in self.options.items() if name in ("recall", "sketch")}
        measure = self.options.get("measure", "jaccard")
        if SHORT.get(measure, measure) not in BANDED:
            raise UsageError(f"measure must be 'jaccard' or 'bag' on Spark; got {measure!r}.")
        seed = whole("seed", self.options.get("seed", 1), least=0, most=LARGEST_SEED)
        threshold = self.options.get("threshold", 0.8)
        made = make_plan(threshold=threshold, measure=measure, method="lsh", seed=seed, what=what, **chosen)
        self._check_rows(made)
        with staged(self.run, self.df.sparkSession)("plan"):
            self.count = self._count()
            return fit(made, self._sample(self._making(made)), self.count)

    def _check_rows(self, made: Plan) -> None:
        if self.by_rows and (made.sketch != "minhash" or made.measure != "jaccard"):
            raise UsageError(
                "rows of sets and elements are for measure 'jaccard' by minhash, whose minima can be partial."
            )

    def _count(self) -> int:
        """How many items there are."""
        if not self.by_rows:
            return count_ids(self.frame, self.id)
        found = self.frame.agg(F.count_distinct("id"), F.count("*"), F.count("id"), F.count("content")).first()
        assert found is not None
        count, every, *there = found
        if min(there) < every:
            raise DataError(f"{self.id!r} or {self.text!r} is null in some rows: leave those out first, as by dropna.")
        return int(count)

    def _sample(self, making: Making) -> Sets:
        """The sets of some of the first items by id."""
        ids = self.frame.select("id")
        last = (ids.distinct() if self.by_rows else ids).orderBy("id").limit(HEAD).agg(F.max("id")).first()
        some = self.frame.select("id", "content").where(F.col("id") <= F.lit(last[0] if last else None))
        if self.by_rows:
            some = some.groupBy("id").agg(F.collect_set("content").alias("content"))
        content = some.where("content is not null").orderBy("id").limit(HEAD).toArrow()["content"].combine_chunks()
        if self.lists:
            sets = making.sets(content)
            return sets.take(np.random.default_rng(0).permutation(len(sets)))
        texts = content.cast(pa.large_string())
        return making.sets(texts.take(pa.array(sample_rows(texts))))


def columns_of(df: DataFrame, options: SparkOptions) -> tuple[str, str]:
    """The columns of the id and of the text, or of a set and an element of it."""
    if "rows" in options:
        rows: Any = options["rows"]
        if isinstance(rows, str) or len(rows) != 2:
            raise UsageError(f"rows must be two columns, of a set's id and of an element; got {rows!r}.")
        if "text" in options or "id" in options:
            raise UsageError("text and id are for whole items; rows name the columns of sets and elements.")
        return rows[0], rows[1]
    text = options.get("text")
    if text is None:
        text = next((name for name in TEXT_NAMES if name in df.columns), None)
    if text is None:
        have = ", ".join(df.columns) or "none"
        raise DataError(f"which column is the text? Name it with text; there are {have}.")
    return options.get("id", "id"), text


def quoted(name: str) -> Column:
    """The column of a name, whatever signs it has."""
    return F.col(backticked(name))


def backticked(name: str) -> str:
    """A name as Spark takes it for a column, not for a path within one."""
    return "`" + name.replace("`", "``") + "`"


def type_of(df: DataFrame, name: str, what: str) -> DataType:
    """The type of the column of a name, of which there must be just one."""
    one_column(df.columns, name, "the data frame has", f" for {what}")
    return df.schema[name].dataType


def check_id(df: DataFrame, name: str) -> None:
    """The column must hold what can be an id."""
    kind = type_of(df, name, "the id")
    if not isinstance(kind, StringType | IntegralType):
        raise DataError(f"column {name!r} holds {kind.simpleString()}, which is no id: strings and integers are.")


def count_ids(frame: DataFrame, name: str) -> int:
    """How many ids there are; each item must have one of its own. `name` is what the user calls the column `id`."""
    found = frame.agg(F.count("*"), F.count("id"), F.count_distinct("id")).first()
    assert found is not None
    count, there, different = found
    if there < count:
        raise DataError(f"column {name!r} for the id has {counted(count - there, 'row')} without one.")
    if different < count:
        rule = f"ids must be unique; the {count:,} rows have {different:,} different values in column {name!r}"
        raise DataError(f"{rule}. Name another column with id.")
    return int(count)
