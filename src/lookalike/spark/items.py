"""Find the items of a data frame: their columns, how to compare them, and the plan."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from lookalike.core.errors import (
    LARGEST_SEED,
    DataError,
    UsageError,
    argument,
    did_you_mean,
    one_column,
    remedy,
    whole,
)
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.documents import HEAD, SMALL, TEXT_NAMES
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.measures.table import BANDED, SHORT
from lookalike.search.fitting import fit
from lookalike.search.keeping import Keeping
from lookalike.search.plan import Plan, make_plan
from lookalike.search.sampling import sample_rows
from lookalike.spark.driver import SmallJob, counted_bytes, is_small, may_be_small
from lookalike.spark.frames import Frames, Ranks, staged
from lookalike.spark.making import Making, OfLists, OfTexts, no_content
from lookalike.spark.parcels import in_order_of_ids

JAVA_NUMBER = r"\s|[\d.][dDfF]$"  # what is a number for Spark, but not on one machine: " 9", "9d"
SPREAD = 500  # items from all over the data frame, of which a sample is taken


@dataclass(frozen=True)
class SparkSettings:
    """The arguments of the public functions, as documented there."""

    text: str | None = None
    id: str = "id"
    rows: tuple[str, str] | None = None
    plan: Plan | None = None
    threshold: float | str | Fraction = 0.8
    measure: str = "jaccard"
    recall: float = 0.99
    shingles: Shingles | str = "char:9"
    sketch: str = "minhash"
    seed: int = 1
    run: Run | None = None

    def given(self, *names: str) -> str | None:
        """Return the name of the first of these arguments that differs from its default."""
        return next((name for name in names if getattr(self, name) != getattr(SparkSettings, name)), None)


def check_supported(measure: str, recall: float) -> None:
    """Raise an error for settings that need another engine."""
    if SHORT.get(measure, measure) not in BANDED:
        raise UsageError(f"measure must be 'jaccard' or 'bag' on Spark; got {measure!r}.")
    if recall == 1:
        raise UsageError("recall must be below 1 on Spark.")


class FrameItems:
    """The items of a data frame, with checked settings; a plan is made if they are not one of two sides."""

    def __init__(self, df: DataFrame, settings: SparkSettings, keep: Any = "lowest-id", alone: bool = True):
        self.df, self.settings = df, settings
        self.run = settings.run or Run()
        self.by_rows = settings.rows is not None
        self.id, self.text = columns_of(df, settings)
        self.lists = self.by_rows or isinstance(type_of(df, self.text, "the text"), ArrayType)
        self._check_types()
        self.shingles = self._shingles()
        ranks, self.ranks = self._order(keep)
        self.frame = df.select(quoted(self.id).alias("id"), quoted(self.text).alias("content"), *ranks)
        if alone:
            self.plan, self.count, self.small = plan_for([self])

    def frames(self) -> Frames:
        """Return the stages for these items."""
        return Frames(self.frame, self.making(self.plan), self.count, self.run, self.ranks, self.by_rows)

    def making(self, plan: Plan) -> Making:
        """Return how the items become sets."""
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
        given = self.settings.shingles
        if self.lists and self.settings.given("shingles"):
            raise UsageError("shingles are for texts; got sets.")
        shingles = given if isinstance(given, Shingles) else Shingles.parse(given)
        known = self.settings.plan
        measure = self.settings.measure if known is None else known.measure
        return replace(shingles, bag=True) if SHORT.get(measure, measure) == "bag_jaccard" else shingles

    def _order(self, keep: Any) -> tuple[list[Column], Ranks]:
        """Return the columns that put the items to keep first, before the id, and how to sort by them."""
        keeping = Keeping.of(keep)
        if not keeping.rules:
            raise UsageError(f"keep must be rules or columns on Spark, not values; got {type(keep).__name__}.")
        columns: list[Column] = []
        descending: list[bool] = []
        longest = None
        for at, rule in enumerate(keeping.rules):
            if rule.name == "lowest-id":
                break
            if rule.name == "first":
                why = f"{argument('keep', 'first')} needs the order of rows, which Spark does not know"
                raise UsageError(
                    f"{why}; {argument('keep', 'lowest-id')} keeps the same rows on Spark and on one machine."
                )
            if self.by_rows:
                raise UsageError(f"keep must be 'lowest-id' for rows of sets and elements; got {keep!r}.")
            name = f"rank{at}"
            if rule.name == "longest":
                longest = name
                columns.append(F.lit(0).cast("long").alias(name))
            else:
                columns.append(self._sortable(rule.name).alias(name))
            descending.append(rule.greatest)
        return columns, Ranks(tuple(descending), longest)

    def _sortable(self, name: str) -> Column:
        """Return a column as values to sort by, where empty strings are missing; as numbers if all strings are."""
        kind, value = type_of(self.df, name, "keep, which is 'lowest-id', 'longest' or a column"), quoted(name)
        if isinstance(kind, BooleanType):
            return value.cast("byte")
        if isinstance(kind, StringType):
            filled = F.when(value != "", value)
            number = filled.try_cast("double")
            wrong = self.df.where(filled.isNotNull() & (number.isNull() | filled.rlike(JAVA_NUMBER))).limit(1)
            return filled if wrong.head(1) else number
        if not isinstance(kind, NumericType | DateType | TimestampType | TimestampNTZType):
            holds = kind.simpleString()
            raise DataError(f"column {name!r} must hold numbers, dates or texts to sort by; it holds {holds}.")
        return value

    # --- plan ---

    def size(self) -> tuple[int, int]:
        """Return the number of rows, and the bytes of their ids and contents."""
        fields = {name: self.frame.schema[name].dataType for name in ("id", "content")}
        size = sum((counted_bytes(name, kind) for name, kind in fields.items()), F.lit(0))
        found = self.frame.agg(F.count("*"), F.sum(size)).first()
        assert found is not None
        return int(found[0]), int(found[1] or 0)

    def collected(self) -> pa.Table:
        """Return the items in the driver, in order of their ids, which must be unique; none can be null."""
        table = in_order_of_ids(self.frame.toArrow())
        ids, column = table["id"], table["content"]
        check_ids(self.id, len(ids), len(ids) - ids.null_count, pc.count_distinct(ids).as_py())
        if column.null_count:
            raise no_content(ids[pc.index(column.is_null(), True).as_py()].as_py())
        return table

    def counted(self) -> int:
        """Return the number of items."""
        if not self.by_rows:
            return count_ids(self.frame, self.id)
        found = self.frame.agg(F.count_distinct("id"), F.count("*"), F.count("id"), F.count("content")).first()
        assert found is not None
        count, every, *there = found
        if min(there) < every:
            raise DataError(f"{self.id!r} or {self.text!r} is null in some rows: drop such rows first, as with dropna.")
        return int(count)

    def sample(self, making: Making, count: int) -> Sets:
        """Return the sets of a sample of `count` items.

        Of texts it is the sample of one machine if they are few: of the first HEAD by id.
        """
        content = self._contents(count // SPREAD)
        if self.lists:
            sets = making.sets(content)
            return sets.take(np.random.default_rng(0).permutation(len(sets)))
        texts = content.cast(pa.large_string())
        if count > HEAD and texts.nbytes * count <= SMALL * len(texts):
            texts = self._contents(0).cast(pa.large_string())
        return making.sets(texts.take(pa.array(sample_rows(texts))))

    def _contents(self, one_in: int) -> pa.Array:
        """Return the contents of one item in `one_in`, as hashes of ids decide; if 0, of the first HEAD by id."""
        some = self.frame.select("id", "content")
        if one_in:
            some = some.where(F.pmod(F.xxhash64("id"), F.lit(one_in)) == 0)
        else:
            ids = self.frame.select("id")
            last = (ids.distinct() if self.by_rows else ids).orderBy("id").limit(HEAD).agg(F.max("id")).first()
            some = some.where(F.col("id") <= F.lit(last[0] if last else None))
        if self.by_rows:
            some = some.groupBy("id").agg(F.collect_set("content").alias("content"))
        return in_order_of_ids(some.where("content is not null").toArrow())["content"].combine_chunks()


def plan_for(sides: list[FrameItems]) -> tuple[Plan, int, SmallJob | None]:
    """Return the plan that was given, or make one from a sample, the number of items, and the job if it is small."""
    one = sides[0]
    given, settings = one.settings.plan, one.settings
    what = "sets" if one.lists else str(one.shingles)
    made = given_plan(given, settings, what) if given is not None else new_plan(settings, what)
    if one.by_rows and (made.sketch != "minhash" or made.measure != "jaccard"):
        raise UsageError("data with one element per row supports only measure 'jaccard' with sketch 'minhash'.")
    with staged(one.run, one.df.sparkSession)("plan"):
        small = small_job(sides, made)
        if small is not None:
            count = sum(map(len, small.tables))
            made = made if given is not None else small.plan()
            small = replace(small, making=one.making(made))
        else:
            counts = [side.counted() for side in sides]
            count = sum(counts)
            made = made if given is not None else fitted(sides, counts, made)
    for line in made.lines():
        one.run.say(line)
    return made, count, small


def fitted(sides: list[FrameItems], counts: list[int], made: Plan) -> Plan:
    """Return the plan for data frames, from a sample of each; `counts` are their numbers of items."""
    samples = [side.sample(side.making(made), count) for side, count in zip(sides, counts, strict=True)]
    sets = Sets.concatenate(samples)
    if len(sides) > 1:
        sets = sets.take(np.random.default_rng(0).permutation(len(sets)))
    return fit(made, sets, sum(counts))


def small_job(sides: list[FrameItems], made: Plan) -> SmallJob | None:
    """Return the job as one for the driver, with its items, if it is small."""
    one = sides[0]
    session = one.df.sparkSession
    if one.by_rows or not all(may_be_small(side.frame) for side in sides):
        return None
    items, size = map(sum, zip(*(side.size() for side in sides), strict=True))
    if not is_small(session, items, size):
        return None
    return SmallJob(session, [side.collected() for side in sides], one.making(made), one.run)


def given_plan(given: Plan, settings: SparkSettings, what: str) -> Plan:
    """Return a plan after raising an error if it does not fit."""
    twice = settings.given("threshold", "measure", "recall", "sketch", "seed")
    if twice:
        raise UsageError(f"{twice} is already in the plan; give only one of the two.")
    if given.bands is None:
        raise UsageError("plan must have bands, since Spark supports only method 'lsh'.")
    if given.what != what:
        raise UsageError(f"plan must be for {what}; it is for {given.what}.")
    return given


def new_plan(settings: SparkSettings, what: str) -> Plan:
    """Return a plan without bands yet."""
    check_supported(settings.measure, settings.recall)
    return make_plan(
        threshold=settings.threshold,
        measure=settings.measure,
        method="lsh",
        seed=whole("seed", settings.seed, least=0, most=LARGEST_SEED),
        what=what,
        recall=settings.recall,
        sketch=settings.sketch,
        advice="Raise the threshold or lower the recall.",
    )


def columns_of(df: DataFrame, settings: SparkSettings) -> tuple[str, str]:
    """Return the columns of the id and of the text, or of a set and of one of its elements."""
    rows: Any = settings.rows
    if rows is not None:
        if isinstance(rows, str) or len(rows) != 2:
            raise UsageError(f"rows must be two columns, of set ids and of elements; got {rows!r}.")
        if settings.given("text", "id"):
            raise UsageError("give either text and id (one row per item) or rows (one row per element), not both.")
        return rows[0], rows[1]
    text = settings.text
    if text is None:
        text = next((name for name in TEXT_NAMES if name in df.columns), None)
    if text is None:
        have = ", ".join(df.columns) or "none"
        raise DataError(f"which column is the text? Name it with {argument('text')}; there are {have}.")
    if settings.id == SparkSettings.id and settings.id not in df.columns:
        raise DataError(
            f"Spark needs a column of unique ids; name it with {argument('id')}; the input has "
            f"{', '.join(df.columns)}.{did_you_mean(settings.id, df.columns)}"
        )
    return settings.id, text


def quoted(name: str) -> Column:
    """Return the column of a name with any characters."""
    return F.col(backticked(name))


def backticked(name: str) -> str:
    """Return a name quoted, so that Spark reads it as a column and not as a path."""
    return "`" + name.replace("`", "``") + "`"


def type_of(df: DataFrame, name: str, what: str) -> DataType:
    """Return the type of the column of a name; raise an error unless there is exactly one."""
    one_column(df.columns, name, remedy("the data frame has", "the input has"), f" for {what}")
    return df.schema[name].dataType


def check_id(df: DataFrame, name: str) -> None:
    """Raise an error if the column cannot hold ids."""
    kind = type_of(df, name, "the id")
    if not isinstance(kind, StringType | IntegralType):
        raise DataError(f"column {name!r} for the id must hold strings or integers; it holds {kind.simpleString()}.")


def count_ids(frame: DataFrame, name: str) -> int:
    """Count the ids, which must be unique; `name` is the user's name of the column `id`."""
    found = frame.agg(F.count("*"), F.count("id"), F.count_distinct("id")).first()
    assert found is not None
    count, there, different = found
    check_ids(name, count, there, different)
    return int(count)


def check_ids(name: str, count: int, there: int, different: int) -> None:
    """Raise an error unless all `count` rows have an id and no two have the same, given how many do."""
    if there < count:
        raise DataError(f"column {name!r} for the id is empty in {counted(count - there, 'row')}.")
    if different < count:
        rule = f"ids must be unique; the {count:,} rows have {different:,} different values in column {name!r}"
        raise DataError(f"{rule}. Name another column with {argument('id')}.")
