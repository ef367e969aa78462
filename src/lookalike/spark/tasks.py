"""Define the tasks of a cluster, with the same kernels as one machine: Arrow batches in and out.

This module does not use Spark. A task receives the batches of one partition, one after another. If
they are sorted, rows that belong together are adjacent, but can continue in the next batch.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError
from lookalike.core.run import slices
from lookalike.io.elements import assemble
from lookalike.items.sets import Sets
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.kernels.sets import overlaps
from lookalike.kernels.sketch import fold_bands
from lookalike.measures import MEASURES
from lookalike.search.identical import group_identical
from lookalike.spark.making import Making, hash_elements
from lookalike.spark.parcels import Batches, Parcels, gathered, in_order, pack

BAND_BITS = 10  # low bits of a key that hold its band; the rest suffice, since pairs are verified
PIECE = 8 << 20  # bytes of texts or elements to turn into sets at a time
CHANGED = "the data frame returned different rows when it was read again: write it to a file first, or cache it."
ROWS = 1 << 20  # rows of (set, element) to take minima of at a time


# --- signatures of whole documents, and of rows of (set, element) ---


def sketched(batches: Batches, making: Making, ranked: bool, longest: bool, parcels: Parcels) -> Batches:
    """Turn (id, content[, last, rank]) into parcels of (item, content0, content1, keys).

    `content0` and `content1` are hashes that are equal only for equal contents. Items without
    elements are left out. `ranked` items are structs of (last, rank, id); with `longest`, the rank
    is the negative length.
    """

    def made() -> Iterator[pa.Table]:
        for batch in batches:
            ids, column, *order = batch.columns
            if column.null_count:
                missing = ids[int(pc.index(column.is_null(), True).as_py())]
                raise DataError(
                    f"item {missing.as_py()!r} has no text (null): drop such rows first, with dropna, "
                    "or use --on-error skip on the command line."
                )
            counts, lengths, contents, keys, _ = making.sketch(column)
            live = np.flatnonzero(counts)
            item = ids
            if ranked:
                last, rank = order
                rank = pa.array(-lengths.astype(np.int64)) if longest else rank
                item = pa.StructArray.from_arrays([last, rank, ids], names=["last", "rank", "id"])
            hashes = contents[live].view(np.int64)
            columns = [item.take(pa.array(live)), pa.array(hashes[:, 0]), pa.array(hashes[:, 1]), key_lists(keys[live])]
            yield pa.table(columns, schema=parcels.schema)

    return parcels.deal(made(), "content0")


def key_lists(keys: np.ndarray) -> pa.ListArray:
    """Return the keys of each item, given items x bands, with the band number in the low bits.

    The high bits are hashed again, since bands of few rows can have equal keys.
    """
    bands = np.arange(keys.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        hashed = mix.py_func(keys + bands * GOLDEN)
    marked = (hashed & ~np.uint64((2 << BAND_BITS) - 1)) | bands  # the bit above is 0: not split
    there = keys != EMPTY
    return lists_of(pa.array(marked[there].view(np.int64)), there.sum(axis=1))


def lists_of(values: pa.Array, sizes: np.ndarray) -> pa.ListArray:
    """Return lists of these sizes, filled with the values one after another."""
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)), values)


def partial_minima(batches: Batches, making: Making) -> Batches:
    """Turn (set, element) into (set, signature): minima over the elements that reached this task.

    The minimum of minima is the minimum, so elements of a set can be in any number of tasks.
    """
    for table in gathered(batches, ROWS):
        sets, elements = (column.combine_chunks() for column in table.columns)
        encoded = sets.dictionary_encode()
        rows = np.asarray(encoded.indices)
        made = assemble(len(encoded.dictionary), rows.astype(np.int64), hash_elements(elements), False)
        assert making.plan.bands is not None
        signatures = making.plan.functions(making.plan.bands.hashes).sketch(made.indptr, made.elements)
        yield pa.record_batch([encoded.dictionary, signature_lists(signatures)], names=["id", "signature"])


def signature_lists(signatures: np.ndarray) -> pa.ListArray:
    return lists_of(pa.array(signatures.ravel().view(np.int64)), np.full(*signatures.shape))


def least_minima(batches: Batches, making: Making) -> Batches:
    """Turn (set, signature), sorted by set, into groups of one set, by the least of its minima."""
    assert making.plan.bands is not None
    bands, rows, _ = making.plan.bands
    held: pa.RecordBatch | None = None  # the last set, which can continue
    for batch in batches:
        if not len(batch):
            continue
        ids, lists = batch.columns if held is None else joined(held, batch)
        parts = np.asarray(lists.flatten()).view(np.uint64).reshape(len(ids), bands * rows)
        starts = np.flatnonzero(new_runs(ids))
        least = np.minimum.reduceat(parts, starts)
        names = ids.take(pa.array(starts))
        held = pa.record_batch([names[-1:], signature_lists(least[-1:])], names=["id", "signature"])
        yield from lone_groups(names[:-1], fold_bands(least[:-1], bands, rows))
    if held is not None:
        last = np.asarray(held["signature"].flatten()).view(np.uint64).reshape(1, -1)
        yield from lone_groups(held["id"], fold_bands(last, bands, rows))


def joined(one: pa.RecordBatch, other: pa.RecordBatch) -> list[pa.Array]:
    """Concatenate the columns of two batches."""
    return [pa.concat_arrays(two) for two in zip(one.columns, other.columns, strict=True)]


def lone_groups(items: pa.Array, keys: np.ndarray) -> Batches:
    """Yield groups of one item each, if there are items."""
    if len(items):
        yield group_parcel(items, items, key_lists(keys))


def new_runs(values: pa.Array) -> np.ndarray:
    """Return whether each value differs from the one before."""
    fresh = np.ones(len(values), np.bool_)
    if len(values) > 1:
        fresh[1:] = np.asarray(pc.fill_null(pc.not_equal(values[1:], values[:-1]), True))
    return fresh


def keyed(batches: Batches, making: Making) -> Batches:
    """Turn (id, content) into (item, keys), without grouping identical items."""
    for batch in batches:
        counts, _, _, keys, _ = making.sketch(batch["content"])
        live = np.flatnonzero(counts)
        yield pa.record_batch([batch["id"].take(pa.array(live)), key_lists(keys[live])], names=["item", "keys"])


# --- identical items ---


def grouped(batches: Batches, parcels: Parcels) -> Batches:
    """Turn parcels, sorted by place, into groups: parcels of (item, head, keys).

    The first of identical items, the head, keeps its keys and represents the others.
    """
    for rows in parcels.arrived(batches):
        rows = rows.take(in_order(rows["item"].combine_chunks())).combine_chunks()
        contents = np.stack([np.asarray(rows[name]).view(np.uint64) for name in ("content0", "content1")], axis=1)
        first = group_identical(contents, np.arange(len(rows))).first
        alone = first == np.arange(len(rows))
        keys = rows["keys"].take(pa.array(np.arange(len(rows)), mask=~alone))
        yield group_parcel(rows["item"], rows["item"].take(pa.array(first)), keys)


def group_parcel(item: pa.Array, head: pa.Array, keys: pa.Array) -> pa.RecordBatch:
    """Return a parcel of groups as a batch of one row."""
    rows = pa.table({"item": item, "head": head, "keys": keys}).combine_chunks()
    return pa.record_batch([pa.array([pack(rows)], pa.binary())], names=["parcel"])


def group_schema(item: pa.DataType) -> pa.Schema:
    """Return the schema of a parcel of groups."""
    return pa.schema({"item": item, "head": item, "keys": pa.list_(pa.int64())})


def heads(batches: Batches, groups: Parcels) -> Batches:
    """Return (item, keys) of the items that are their own heads."""
    for rows in groups.opened(batches):
        yield rows.filter(rows["keys"].is_valid()).select(["item", "keys"])


def copies(batches: Batches, groups: Parcels) -> Batches:
    """Return (item, head) of the items that are not their own heads."""
    for rows in groups.opened(batches):
        yield rows.filter(rows["keys"].is_null()).select(["item", "head"])


# --- verification ---


def verified(batches: Batches, making: Making) -> Batches:
    """Turn (a, b, side, band, content) into (a, b, band, similarity) of the similar pairs.

    Each pair is two adjacent rows: side 0 with the content of a, side 1 with the content of b.
    """
    p, q = making.plan.threshold.as_integer_ratio()
    for batch in in_twos(batches):
        even, odd = (pa.array(np.arange(at, len(batch), 2)) for at in (0, 1))
        one, other = batch.take(even), batch.take(odd)
        sides = np.asarray(one["side"]), np.asarray(other["side"])
        same = all(ids_of(one[name]).equals(ids_of(other[name])) for name in ("a", "b"))
        if len(one) != len(other) or sides[0].any() or not sides[1].all() or not same:
            raise DataError(CHANGED)
        a, b, _, band, _ = one.columns
        fresh = new_runs(ids_of(a))  # an item often occurs in several adjacent pairs
        left, right = making.sets(one["content"].filter(pa.array(fresh))), making.sets(other["content"])
        sets = Sets.concatenate([left, right])
        rows, others = np.cumsum(fresh) - 1, len(left) + np.arange(len(right))
        shared = overlaps(*sets.arrays, rows, others, p, q)
        good = np.flatnonzero(shared >= 0)
        values = MEASURES["jaccard"].of_overlaps(shared[good], sets.sizes[rows[good]], sets.sizes[others[good]])
        columns = [column.take(pa.array(good)) for column in (a, b, band)]
        yield pa.record_batch([*columns, pa.array(values)], names=["a", "b", "band", "similarity"])


def in_twos(batches: Batches) -> Batches:
    """Yield slices of about PIECE bytes and an even number of rows, also across batches."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        if held is not None:
            batch = pa.record_batch(joined(held, batch), schema=batch.schema)
        even = len(batch) - len(batch) % 2
        held = batch.slice(even) if even < len(batch) else None
        step = 2 * max(1, PIECE * len(batch) // max(1, 2 * batch.nbytes))
        for part in slices(even, step):
            yield batch[part]
    if held is not None:
        yield held


# --- groups, when few pairs are left ---


def firsts(batches: Batches) -> Batches:
    """Return (item, first) for each item of pairs (a, b) that is not the first of its component."""
    for table in gathered(batches, 1 << 62):
        values = pa.chunked_array([*table["a"].chunks, *table["b"].chunks]).to_numpy()
        items, places = np.unique(values, return_inverse=True)
        parent = np.arange(len(items))
        join_pairs(places[: len(table)], places[len(table) :], parent)
        first = roots(parent)
        others = np.flatnonzero(first != np.arange(len(items)))
        kind = table["a"].type
        columns = [pa.array(items[rows], kind) for rows in (others, first[others])]
        yield pa.record_batch(columns, names=["item", "first"])


def dropped(batches: Batches) -> Batches:
    """Return the items to drop, similar to a kept one, given (a, b), a before b, sorted by b."""
    gone: set[Any] = set()
    for batch in batches:
        mask = []
        for a, b in zip(ids_of(batch["a"]).to_pylist(), ids_of(batch["b"]).to_pylist(), strict=True):
            mask.append(a not in gone and b not in gone)
            if mask[-1]:
                gone.add(b)
        yield pa.record_batch([batch["b"].filter(pa.array(mask, pa.bool_()))], names=["item"])


def ids_of(items: pa.Array) -> pa.Array:
    """Return the ids of items; of structs, the last field."""
    return items.flatten()[-1] if pa.types.is_struct(items.type) else items
