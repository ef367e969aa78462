"""Do small jobs in the driver with the functions of one machine: the steps of a cluster would take far longer.

A job is small if its ids and contents have less than LIMIT bytes. They are then collected, and what is
found becomes a data frame. If that turns out to take too much memory after all, executors do the job.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.core.storage import IN_MEMORY
from lookalike.io.documents import Source
from lookalike.items.sets import Sets
from lookalike.search.fitting import fit
from lookalike.search.identical import Groups
from lookalike.search.intake import SAMPLE_SETS, take_in_sets, take_in_texts
from lookalike.search.keeping import first_members
from lookalike.search.plan import Plan
from lookalike.search.sampling import take_sample
from lookalike.search.sets import SetSearch
from lookalike.search.settings import Settings
from lookalike.spark.making import Making, OfTexts
from lookalike.spark.parcels import in_order
from lookalike.theory.banding import Buckets, find_buckets

LIMIT, SHARE = 256 << 20, 4  # bytes of ids and contents; and at most one in SHARE of what the driver may receive
ITEMS = 2_000_000
ELEMENTS = 1 << 26  # of items that share buckets, with 8 bytes each
PAIRS = 10_000_000  # to list
RECEIVED = "spark.driver.maxResultSize"
UNKNOWN = 1 << 60  # bytes: Spark's estimate if it knows nothing


class TooLarge(Exception):
    """Raised by a search for which the driver has too little memory."""


# --- what is small ---


def most_bytes(session: SparkSession) -> int:
    """Return the bytes from which a job is no longer small: LIMIT, or less if the driver may receive little."""
    given = re.fullmatch(r"(\d+)([kmgtp]?)b?", (session.conf.get(RECEIVED, None) or "1g").strip().lower())
    received = int(given[1]) << 10 * " kmgtp".index(given[2] or " ") if given else 0
    return min(LIMIT, received // SHARE) if received else LIMIT


def estimated_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate of the bytes of a data frame: for files, their sizes."""
    try:
        size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    except PySparkException:  # Spark Connect does not say
        return UNKNOWN
    return min(size, UNKNOWN)


def may_be_small(frame: DataFrame) -> bool:
    """Return whether counting the bytes of a data frame is worth the time."""
    return not most_bytes(frame.sparkSession) <= estimated_bytes(frame) < UNKNOWN


def is_small(session: SparkSession, items: int, size: int) -> bool:
    """Return whether the driver does a job with this number of items, and of bytes in them."""
    return items <= ITEMS and size < most_bytes(session)


def counted_bytes(name: str, kind: DataType) -> Column:
    """Return the bytes of a column of integers or texts, or of lists of these."""
    value = F.col(name)
    if isinstance(kind, ArrayType):
        whole = F.array_join(value, "") if isinstance(kind.elementType, StringType) else None
        return 8 * F.size(value) + (0 if whole is None else F.octet_length(whole))
    return F.octet_length(value) if isinstance(kind, StringType) else F.lit(8)


# --- what is done with it ---


class DriverSearch(SetSearch):
    """A search that counts as the steps on a cluster do, and ends if it would take too much memory."""

    def _buckets(self, groups: Groups) -> tuple[Buckets, np.ndarray, Sets]:
        buckets = find_buckets(self.collection.keys, groups.heads, self.run, self.storage)
        members = groups.heads[buckets.items]
        self.run.counts["candidates"] = sum(map(buckets.count, range(len(buckets.bands))))
        self.run.counts["compared"] = len(members)
        if self.collection.counts[members].sum() > ELEMENTS:
            raise TooLarge
        return buckets, members, self.collection.sets(members, self.run, "candidates")


@dataclass(frozen=True)
class SmallJob:
    """A job on items in the driver: of one data frame, or of two to be matched."""

    session: SparkSession
    tables: Sequence[pa.Table]  # id, content, ranks...; in order of the ids
    making: Making
    run: Run

    def plan(self) -> Plan:
        """Return the plan that one machine makes for these items."""
        count = sum(map(len, self.tables))
        if isinstance(self.making, OfTexts):
            sample = take_sample(self._sources(), self.run)
            return fit(self.making.plan, self.making.sets(sample.whole), count, places=sample.places)
        sets = Sets.concatenate(self._sets())
        rows = np.random.default_rng(0).permutation(count)[:SAMPLE_SETS]
        return fit(self.making.plan, sets.take(rows), count)

    def pairs(self, limit: int) -> DataFrame | None:
        """Return the similar pairs (left, right, similarity); None if there are too many for the driver."""

        def listed(search: DriverSearch) -> pa.Table:
            most, groups = min(limit, PAIRS), search.identical()
            found = search.pairs(groups, most)
            with self.run.stage("order"):
                left, right, values = groups.spread(*found[:4], search.sides, most, run=self.run)
            one, other = search.ids[0], search.ids[-1]
            ids = [one.take(pa.array(left)), other.take(pa.array(right - search.sides.offset))]
            return pa.table([*ids, values], names=["left", "right", "similarity"])

        return self._found(listed)

    def clusters(self) -> DataFrame | None:
        """Return (cluster, id, size) of the items that are connected with others; None if that takes too much."""

        def grouped(search: DriverSearch) -> pa.Table:
            groups = search.identical()
            label = search.labels(groups).label
            label[search.live] = label[groups.first[search.live]]
            sizes = np.bincount(label, minlength=len(label))[label]
            rows, ids = np.flatnonzero(sizes > 1), search.ids[0]
            columns = [ids.take(pa.array(label[rows])), ids.take(pa.array(rows)), sizes[rows]]
            return pa.table(columns, names=["cluster", "id", "size"])

        return self._found(grouped)

    def dropped(self, copies: int, descending: tuple[bool, ...], longest: str | None) -> DataFrame | None:
        """Return (id, kept, similarity) of the items to drop; None if that takes too much."""

        def decided(search: DriverSearch) -> pa.Table:
            ranks = {name: self.tables[0][name].combine_chunks() for name in self.tables[0].column_names[2:]}
            if longest is not None:
                ranks[longest] = pa.array(search.lengths)
            items = pa.StructArray.from_arrays([*ranks.values(), search.ids[0]], names=[*ranks, "id"])
            order = np.asarray(in_order(items, descending))
            visit = order[np.isin(order, search.live, kind="table")]
            groups = search.identical(visit)
            centre, values, *_ = search.stars(groups, visit)
            heads = groups.first[search.live]
            centre[search.live], values[search.live] = centre[heads], values[heads]
            rows = np.flatnonzero(~first_members(centre, visit, copies))
            ids = search.ids[0]
            columns = [ids.take(pa.array(rows)), ids.take(pa.array(centre[rows])), values[rows]]
            return pa.table(columns, names=["id", "kept", "similarity"])

        return self._found(decided)

    def _found(self, work: Callable[[DriverSearch], pa.Table]) -> DataFrame | None:
        """Return what a search finds as a data frame; None if it would take too much memory."""
        self.run.counts["items"] = sum(map(len, self.tables))
        try:
            return self.session.createDataFrame(work(self._search()))
        except (TooLarge, TooManyPairs):
            return None

    def _search(self) -> DriverSearch:
        """Read and sketch the items; the plan is known, and was shown."""
        plan, settings, quiet = self.making.plan, Settings(run=self.run), self.run.quietly()
        if isinstance(self.making, OfTexts):
            sources, shingles = self._sources(), self.making.shingles
            collection = take_in_texts(sources, shingles, lambda *_, **__: plan, quiet, IN_MEMORY)
            return DriverSearch(collection, settings, IN_MEMORY, sources, shingles)
        return DriverSearch(take_in_sets(self._sets(), lambda *_, **__: plan, quiet), settings, IN_MEMORY)

    def _sources(self) -> list[Source]:
        tables = (table.select(["id", "content"]) for table in self.tables)
        return [Source(table, text="content", id="id", max_document_bytes=LIMIT) for table in tables]

    def _sets(self) -> list[Sets]:
        made = ((table, self.making.sets(table["content"].combine_chunks())) for table in self.tables)
        return [replace(sets, ids=table["id"].combine_chunks()) for table, sets in made]
