"""Define the tasks of a cluster, with the same kernels as one machine: Arrow batches in and out.

This module does not use Spark. A task receives the batches of one partition, one after another. If
they are sorted, rows that belong together are adjacent, but can continue in the next batch.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.elements import assemble
from lookalike.items.sets import hash_integers, hash_texts
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.sketch import fold_bands
from lookalike.search.identical import group_identical
from lookalike.spark.making import Making, hash_elements, no_content
from lookalike.spark.parcels import Batches, Parcels, gathered, in_order
from lookalike.theory.banding import in_buckets

ROWS = 1 << 20  # rows of (set, element) to take minima of at a time
HOT = 64  # copies of one content in a batch of rows, beyond which they do not travel
SIDE = "side"  # the rank that is the number of the data frame, if there are two
COPY, HOT_COPY = -1, -2  # the numbers of items that are not heads


# --- signatures of whole documents, and of rows of (set, element) ---


def sketch_schema(item: pa.DataType, bands: int) -> pa.Schema:
    """Return the schema of a parcel of sketches; `head` is null except for hot copies."""
    hashes = {"content0": pa.int64(), "content1": pa.int64()}
    return pa.schema({"item": item, "head": item, **hashes, "weight": pa.int64(), "keys": pa.binary(8 * bands)})


def group_schema(item: pa.DataType, bands: int) -> pa.Schema:
    """Return the schema of a parcel of groups; only heads have keys, and numbers from 0 on."""
    numbers = {"number": pa.int64(), "weight": pa.int64()}
    return pa.schema({"item": item, "head": item, **numbers, "keys": pa.binary(8 * bands)})


def sketched(
    batches: Batches, making: Making, longest: str | None, descending: tuple[bool, ...], parcels: Parcels
) -> Batches:
    """Turn (id, content, ranks...) into parcels of sketches, dealt by content.

    `content0` and `content1` are hashes that are equal only for equal contents, and `weight` is how
    many bytes the item takes: its text and its elements. Items without elements are left out. With
    ranks, items are structs of these and the id; `longest` names the rank that is the length.
    """

    def made() -> Iterator[pa.Table]:
        for batch in batches:
            ids, column = batch["id"], batch["content"]
            if column.null_count:
                raise no_content(ids[int(pc.index(column.is_null(), True).as_py())].as_py())
            counts, lengths, contents, keys, _ = making.sketch(column)
            live = np.flatnonzero(counts)
            ranks = {name: batch[name] for name in batch.schema.names[2:]}
            if longest is not None:
                ranks[longest] = pa.array(lengths.astype(np.int64))
            item = pa.StructArray.from_arrays([*ranks.values(), ids], names=[*ranks, "id"]) if ranks else ids
            if SIDE in ranks:  # identical items of two data frames are not grouped
                contents[:, 0] ^= mix.py_func(np.asarray(ranks[SIDE]).astype(np.uint64) + GOLDEN)
            hashes, items = contents[live].view(np.int64), item.take(pa.array(live))
            weights = pa.array((lengths + 8 * counts)[live].astype(np.int64))
            head = pa.nulls(len(live), items.type)
            columns = [items, head, pa.array(hashes[:, 0]), pa.array(hashes[:, 1]), weights, key_rows(keys[live])]
            yield pa.table(columns, schema=parcels.schema)

    return parcels.deal((leave_hot(table, descending) for table in gathered(made(), ROWS >> 3)), "content0")


def leave_hot(table: pa.Table, descending: tuple[bool, ...]) -> pa.Table:
    """Return sketches in which copies of a very frequent content have the first of them as head.

    Such copies no longer need to travel to where the others are: they are dealt evenly.
    """
    content = np.asarray(table["content0"].combine_chunks()).view(np.uint64)
    indptr, _ = in_buckets(content)
    if np.diff(indptr).max(initial=0) <= HOT:
        return table
    table = table.combine_chunks()
    table = table.take(in_order(table["item"].chunk(0), descending)).combine_chunks()
    contents = np.stack([np.asarray(table[name]).view(np.uint64) for name in ("content0", "content1")], axis=1)
    first = group_identical(contents, np.arange(len(table))).first
    hot = (np.bincount(first, minlength=len(table))[first] > HOT) & (first != np.arange(len(table)))
    items, masked = table["item"].chunk(0), pa.array(~hot)
    heads = items.take(pa.array(first, mask=~hot))
    with np.errstate(over="ignore"):
        spread = np.where(hot, mix.py_func(contents[:, 0] + np.arange(len(table), dtype=np.uint64)), contents[:, 0])
    keys = pc.if_else(masked, table["keys"], pa.scalar(None, table["keys"].type))
    columns = [items, heads, pa.array(spread.view(np.int64)), table["content1"], table["weight"], keys]
    return pa.table(columns, schema=table.schema)


def key_rows(keys: np.ndarray) -> pa.Array:
    """Return the keys of each item, given items x bands, as one value of bytes."""
    size = 8 * keys.shape[1]
    return pa.Array.from_buffers(pa.binary(size), len(keys), [None, pa.py_buffer(np.ascontiguousarray(keys))])


def keys_of(rows: pa.Array, bands: int) -> np.ndarray:
    """Return keys as items x bands, given one value of bytes per item and no nulls."""
    rows = rows.cast(pa.binary(8 * bands))
    return np.frombuffer(rows.buffers()[1], np.uint64)[rows.offset * bands :][: len(rows) * bands].reshape(-1, bands)


def minima_schema(item: pa.DataType, hashes: int) -> pa.Schema:
    """Return the schema of a parcel of minima of some of the elements of sets."""
    return pa.schema({"item": item, "hash": pa.int64(), "count": pa.int64(), "signature": pa.binary(8 * hashes)})


def partial_minima(batches: Batches, making: Making, parcels: Parcels) -> Batches:
    """Turn (set, element) into parcels of minima over the elements that reached this task.

    The minimum of minima is the minimum, so elements of a set can be in any number of tasks.
    """

    def made() -> Iterator[pa.Table]:
        for table in gathered(batches, ROWS):
            sets, elements = (table[name].combine_chunks() for name in ("id", "content"))
            encoded = sets.dictionary_encode()
            names, rows = encoded.dictionary, np.asarray(encoded.indices)
            made = assemble(len(names), rows.astype(np.int64), hash_elements(elements), False)
            assert making.plan.bands is not None
            signatures = making.plan.functions(making.plan.bands.hashes).sketch(made.indptr, made.elements)
            integers = pa.types.is_integer(names.type)
            hashes = hash_integers(np.asarray(names)) if integers else hash_texts(names.cast(pa.large_string()))
            columns = [names, pa.array(hashes.view(np.int64)), pa.array(made.sizes), key_rows(signatures)]
            yield pa.table(columns, schema=parcels.schema)

    return parcels.deal(made(), "hash")


def least_minima(batches: Batches, making: Making, parcels: Parcels) -> Batches:
    """Turn parcels of minima, sorted by place, into parcels of groups of one set."""
    assert making.plan.bands is not None
    bands, rows, _ = making.plan.bands
    for place, table in parcels.arrived(batches):
        table = table.take(pc.sort_indices(table["item"])).combine_chunks()
        names = table["item"].chunk(0)
        starts = np.flatnonzero(new_runs(names))
        least = np.minimum.reduceat(keys_of(table["signature"].chunk(0), bands * rows), starts)
        counts = np.add.reduceat(np.asarray(table["count"]), starts)
        items = names.take(pa.array(starts))
        keys = key_rows(fold_bands(least, bands, rows))
        yield group_parcel(items, items, numbers_at(place, len(items)), 8 * counts, keys, bands)


def new_runs(values: pa.Array) -> np.ndarray:
    """Return whether each value differs from the one before."""
    fresh = np.ones(len(values), np.bool_)
    if len(values) > 1:
        fresh[1:] = np.asarray(pc.fill_null(pc.not_equal(values[1:], values[:-1]), True))
    return fresh


# --- identical items ---


def grouped(batches: Batches, descending: tuple[bool, ...], parcels: Parcels, bands: int) -> Batches:
    """Turn parcels of sketches, sorted by place, into parcels of groups.

    The first of identical items, the head, keeps its keys and represents the others. It also gets a
    number that no other item has.
    """
    for place, rows in parcels.arrived(batches):
        rows = rows.take(in_order(rows["item"].chunk(0), descending)).combine_chunks()
        hot = np.asarray(rows["keys"].is_null())
        contents = np.stack([np.asarray(rows[name]).view(np.uint64) for name in ("content0", "content1")], axis=1)
        first = np.arange(len(rows))
        cold = np.flatnonzero(~hot)
        first[cold] = cold[group_identical(contents[cold], np.arange(len(cold))).first]
        alone = (first == np.arange(len(rows))) & ~hot
        number = np.where(hot, HOT_COPY, np.where(alone, numbers_at(place, len(rows)), COPY))
        items = rows["item"].chunk(0)
        heads = items.take(pa.array(first))
        heads = pc.if_else(pa.array(hot), rows["head"].chunk(0), heads) if hot.any() else heads
        keys = rows["keys"].chunk(0).take(pa.array(np.arange(len(rows)), mask=~alone))
        yield group_parcel(items, heads, number, np.asarray(rows["weight"]), keys, bands)


def numbers_at(place: int, rows: int) -> np.ndarray:
    """Return the numbers of the rows at a place, which are its own."""
    return (place << 32) + np.arange(rows)


def group_parcel(
    item: pa.Array, head: pa.Array, number: np.ndarray, weight: np.ndarray, keys: pa.Array, bands: int
) -> pa.RecordBatch:
    """Return a parcel of groups as a batch of one row."""
    schema = group_schema(item.type, bands)
    rows = pa.table([item, head, pa.array(number), pa.array(weight), keys], schema=schema).combine_chunks()
    return pa.record_batch([pa.array([Parcels(schema).pack(rows)], pa.binary())], names=["parcel"])


def heads(batches: Batches, groups: Parcels) -> Batches:
    """Return (number, item, weight, keys) of the items that are their own heads."""
    for rows in groups.opened(batches):
        found = rows.filter(rows["keys"].is_valid())
        keys = found["keys"].cast(pa.binary())
        yield pa.record_batch(
            [found["number"], found["item"], found["weight"], keys], names=["number", "item", "weight", "keys"]
        )


def copies(batches: Batches, groups: Parcels) -> Batches:
    """Return (item, head, hot) of the items that are not their own heads; the head of a hot one may have its own."""
    for rows in groups.opened(batches):
        found = rows.filter(rows["keys"].is_null())
        hot = pc.equal(found["number"], HOT_COPY)
        yield pa.record_batch([found["item"], found["head"], hot], names=["item", "head", "hot"])


# --- components, when few pairs are left ---


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
