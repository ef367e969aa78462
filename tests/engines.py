"""Ask one machine and Spark the same, and cut tables into batches as Spark does."""

import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import lookalike as la
from lookalike.search.plan import Plan, make_plan
from lookalike.theory.amplify import Bands
from tests.samples import texts_of

PLAN = Plan("lsh", "jaccard", make_plan(threshold=0.6).threshold, 1, "sets", bands=Bands(5, 3, 0.9))


def in_batches(table, cuts):
    """Return the batches of a table, cut at some rows."""
    rows = sorted({0, len(table), *(cut % (len(table) + 1) for cut in cuts)})
    for start, stop in pairwise(rows):
        yield table.slice(start, stop - start).combine_chunks().to_batches()[0]


def rows_of(batches):
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


SENT = pa.schema({"place": pa.int64(), "parcel": pa.binary()})
CUTS = st.lists(st.integers(0, 1000), max_size=6)


# --- buckets ---


def sorted_parcels(batches, cuts=()):
    """Return parcels as a shuffle delivers them."""
    return in_batches(pa.Table.from_batches(batches, SENT).sort_by("place"), cuts)


def spread_out(number):
    """Return a key with a distinct number in its high bits, as hashes have."""
    return int(np.array(number * 0x9E3779B97F4A7C15 % 2**64, np.uint64).view(np.int64)) >> 11 << 11 | number % 3


# --- one interface for both engines ---


class Here:
    """The functions on one machine."""

    def pairs(self, table, **options):
        found = la.find_pairs(as_items(table), method="lsh", **options).to_arrow()
        return {(a, b): s for a, b, s in zip(*found.to_pydict().values(), strict=True)}

    def clusters(self, table, **options):
        return la.find_clusters(as_items(table), method="lsh", **options).to_arrow().to_pylist()

    def dropped(self, table, keep="lowest-id", **options):
        keep = table[keep] if keep in table.column_names else keep
        return la.dedup(as_items(table), keep=keep, method="lsh", **options).to_arrow().to_pylist()


class There:
    """The functions on Spark."""

    def __init__(self, session):
        self.session = session

    def frame(self, table):
        return self.session.createDataFrame(table)

    def pairs(self, table, **options):
        found = la.spark.find_pairs(self.frame(table), **options).toArrow().to_pydict()
        return {(a, b): s for a, b, s in zip(*found.values(), strict=True)}

    def clusters(self, table, **options):
        return la.spark.find_clusters(self.frame(table), **options).orderBy("cluster", "id").toArrow().to_pylist()

    def dropped(self, table, keep="lowest-id", **options):
        found = la.spark.dedup(self.frame(table), keep=keep, **options)
        dropped = found.dropped.orderBy("id").toArrow().to_pylist()
        gone = {row["id"] for row in dropped}
        kept = found.kept.toArrow()
        assert kept.schema.names == table.schema.names
        assert sorted(kept["id"].to_pylist()) == sorted(set(table["id"].to_pylist()) - gone)
        return dropped


def as_items(table):
    """Return a table of texts as it is, and one of lists as sets."""
    if pa.types.is_string(table["text"].type):
        return table
    sets = la.Sets.of([set(one) for one in table["text"].to_pylist()])
    return la.Sets(sets.indptr, sets.elements, ids=table["id"].combine_chunks())


# --- collections ---


def documents():
    """Make texts with copies, near-copies, and two that are empty."""
    texts = [*texts_of(1200), "", "  \n "]
    ranks = random.Random(3).choices([1, 2, 3, None], k=len(texts))
    return pa.table({"id": range(len(texts)), "text": texts, "rank": pa.array(ranks, pa.int64())})


def named():
    """Make short lines in several scripts, with ids that are strings."""
    draw = random.Random(5)
    words = ["東京", "naïve", "Привет", "שלום", "of", "the", "and", "crème", "🙂", "data", "set"]
    lines = [" ".join(draw.choices(words, k=draw.randrange(3, 9))) for _ in range(400)]
    return pa.table({"id": [f"line {at:04}" for at in range(400)], "text": lines})


def baskets():
    """Make lists of integers."""
    draw = random.Random(7)
    lists = [sorted(draw.sample(range(60), draw.randrange(1, 12))) for _ in range(300)]
    lists += [[*one[1:], draw.randrange(60)] for one in lists[:150]]
    return pa.table({"id": range(450), "text": [*lists]})


COLLECTIONS = {
    "documents": (documents, {"threshold": 0.6, "shingles": "word:2"}),
    "names": (named, {"threshold": 0.5, "shingles": "char:4"}),
    "baskets": (baskets, {"threshold": 0.6}),
}
