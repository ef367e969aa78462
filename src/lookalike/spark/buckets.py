"""Decide which items to compare: those that share a bucket, in lists short enough for one task.

Like `tasks`, this module does not use Spark.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import slices
from lookalike.spark.parcels import Batches, Parcels, gathered, in_order
from lookalike.spark.tasks import BAND_BITS, lists_of
from lookalike.theory.banding import in_buckets

MOST = 1000  # items of a bucket that are all compared with each other
BLOCK = 500  # items per block of a larger bucket, if all pairs are wanted
FEW = 8  # items per block if some of the pairs suffice
SPLIT = 1 << BAND_BITS  # bit of a key: its bucket was split
MOST_IN_BUCKET = 1_000_000  # items, if all pairs are wanted

Unit = tuple[pa.Array, pa.Array | None]  # items, and those to compare each with; None: later items


def dealt_keys(batches: Batches, groups: Parcels, keys: Parcels, every: bool) -> Batches:
    """Turn groups into parcels of (key, item), one row per band of a head, dealt by key."""

    def rows() -> Iterator[pa.Table]:
        for found in groups.opened(batches):
            lists = found["keys"]
            sizes = np.asarray(lists.value_lengths().fill_null(0))
            items = found["item"].take(pa.array(np.repeat(np.arange(len(found)), sizes)))
            yield pa.table([lists.flatten(), items], schema=keys.schema)

    return deal_keys(rows(), keys, every)


def dealt_rows(batches: Batches, keys: Parcels, every: bool) -> Batches:
    """Deal rows of (key, item) into parcels, by key."""
    return deal_keys((pa.Table.from_batches([batch]).cast(keys.schema) for batch in batches), keys, every)


def deal_keys(rows: Iterator[pa.Table], parcels: Parcels, every: bool) -> Batches:
    """Deal (key, item) into parcels; unless `every` pair is wanted, split very large buckets."""
    tables = gathered(rows, 1 << 20)
    return parcels.deal(tables if every else map(split, tables), "key")


def split(rows: pa.Table) -> pa.Table:
    """Return the rows with new keys where more than MOST items share one: only FEW keep it.

    The others are cut into blocks, each with a new key that the first few get too. So the items of
    a frequent key do not all reach one task: they meet the items of their block and those few, and
    the few meet the few of other tasks.
    """
    indptr, places = in_buckets(np.asarray(rows["key"]).view(np.uint64))
    large = np.flatnonzero(np.diff(indptr) > MOST)
    if not len(large):
        return rows
    key, items = np.asarray(rows["key"]).copy(), rows["item"].combine_chunks()
    more_keys, more = [], []
    for bucket in large.tolist():
        inside = places[indptr[bucket] : indptr[bucket + 1]]
        first, rest = inside[:FEW], inside[FEW:]
        for part in slices(len(rest), 3 * FEW):
            own = new_key(int(key[first[0]]), items[int(rest[part.start])].as_py())
            key[rest[part]] = own
            more_keys.append(np.full(len(first), own))
            more.append(first)
    every = items.take(pa.array(np.concatenate([np.arange(len(items)), *more])))
    return pa.table([np.concatenate([key, *more_keys]), every], schema=rows.schema)


def new_key(key: int, item: Any) -> int:
    """Return a key of the same band that is unique to the block with this first item."""
    digest = blake2b(f"{key} {item}".encode(), digest_size=8).digest()
    low = 2 * SPLIT - 1
    return (int.from_bytes(digest, "little", signed=True) & ~low) | SPLIT | (key & (SPLIT - 1))


def units(batches: Batches, parcels: Parcels, every: bool) -> Batches:
    """Turn parcels of (key, item), sorted by place, into lists: (band, crowded, lefts, rights).

    Each of `lefts` is to be compared with all of `rights`, or, if that is null, with those after it
    in `lefts`. Unless `every` pair is wanted, items of large buckets are crowded: they are compared
    with only some of the others.
    """
    for rows in parcels.arrived(batches):
        rows = rows.take(in_order(rows["item"].combine_chunks())).combine_chunks()
        keys, items = np.asarray(rows["key"]), rows["item"].combine_chunks()
        indptr, places = in_buckets(keys.view(np.uint64))
        sizes, first = np.diff(indptr), keys[places[indptr[:-1]]]
        small = sizes <= MOST
        lefts = lists_of(items.take(pa.array(places[np.repeat(small, sizes)])), sizes[small])
        yield unit_batch(first[small], False, lefts, pa.nulls(len(lefts), lefts.type))
        for bucket in np.flatnonzero(~small).tolist():
            inside = items.take(pa.array(places[indptr[bucket] : indptr[bucket + 1]]))
            for left, right in crowd(inside, every):
                lefts = lists_of(left, np.array([len(left)]))
                rights = pa.nulls(1, lefts.type) if right is None else lists_of(right, np.array([len(right)]))
                yield unit_batch(first[bucket : bucket + 1], not every, lefts, rights)


def crowd(items: pa.Array, every: bool) -> Iterator[Unit]:
    """Cut a large bucket into blocks, and yield the units to compare.

    Each block is compared within itself, and with every block before it; or, if not all pairs are
    wanted, with the first block and the previous one.
    """
    if every and len(items) > MOST_IN_BUCKET:
        raise TooManyPairs(
            f"{len(items):,} items share a bucket in one band: use clusters or dedup, which list no pairs, or raise "
            "the threshold."
        )
    blocks = [items[part] for part in slices(len(items), BLOCK if every else FEW)]
    for number, block in enumerate(blocks):
        yield block, None
        for other in range(number) if every else sorted({0, number - 1} - {number, -1}):
            yield blocks[other], block


def unit_batch(keys: np.ndarray, crowded: bool, lefts: pa.Array, rights: pa.Array) -> pa.RecordBatch:
    bands = (keys & (SPLIT - 1)).astype(np.int32)
    cut = pa.array((keys & SPLIT > 0) | crowded)
    return pa.record_batch([pa.array(bands), cut, lefts, rights], names=["band", "crowded", "lefts", "rights"])
