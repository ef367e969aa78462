"""What the tasks of a cluster do, by the same kernels as one machine: Arrow batches in, Arrow batches out.

Nothing here knows Spark. A task is given the batches of one partition, one after another; where it says that they are
sorted, rows that belong together follow each other, and may go on from one batch to the next.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import Sets
from lookalike.errors import DataError
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.sets import overlaps
from lookalike.kernels.sketch import fold_bands
from lookalike.pairwise import of_shared
from lookalike.run import slices
from lookalike.set_elements import assemble
from lookalike.spark.making import Making, hash_elements

BAND_BITS = 10  # of a key that say which band it is of; the others are enough, since pairs are verified
PIECE = 8 << 20  # bytes of texts or elements that are made sets of at a time
ROWS = 1 << 20  # rows of sets and elements of which minima are taken at a time

Batches = Iterator[pa.RecordBatch]


# --- signatures: of whole documents, and of rows of a set and an element ---


def sketched(batches: Batches, making: Making, longest: bool) -> Batches:
    """(id, rank, content) to (id, rank, content0, content1, keys); an item without elements is left out.

    `content0` and `content1` are hashes, equal just for equal contents. If the `longest` come first, the rank is made
    of the length.
    """
    for batch in batches:
        ids, rank, column = batch.columns
        if column.null_count:
            missing = ids[int(pc.index(column.is_null(), True).as_py())]
            raise DataError(f"the item {missing.as_py()!r} is null: leave out such rows first, as by dropna.")
        counts, lengths, contents, keys = making.sketch(column)
        live = np.flatnonzero(counts)
        if longest:
            rank = pa.array(-lengths.astype(np.int64))
        given = [column.take(pa.array(live)) for column in (ids, rank)]
        hashes = contents[live].view(np.int64)
        columns = [*given, pa.array(hashes[:, 0]), pa.array(hashes[:, 1]), key_lists(keys[live])]
        yield pa.record_batch(columns, names=["id", "rank", "content0", "content1", "keys"])


def key_lists(keys: np.ndarray) -> pa.ListArray:
    """The keys of each item that it has, items x bands, each with the number of its band in its low bits."""
    bands = np.arange(keys.shape[1], dtype=np.uint64)
    marked = (keys & ~np.uint64((1 << BAND_BITS) - 1)) | bands
    there = keys != EMPTY
    return lists_of(pa.array(marked[there].view(np.int64)), there.sum(axis=1))


def lists_of(values: pa.Array, sizes: np.ndarray) -> pa.ListArray:
    """Lists of so many of the values each, one after another."""
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)), values)


def partial_minima(batches: Batches, making: Making) -> Batches:
    """(set, element) to (set, signature): minima over those of the elements that came to this task.

    The minimum of minima is the minimum, so it does not matter how the elements of a set are spread over tasks.
    """
    for table in gathered(batches, ROWS):
        sets, elements = (column.combine_chunks() for column in table.columns)
        encoded = sets.dictionary_encode()
        rows = np.asarray(encoded.indices)
        made = assemble(len(encoded.dictionary), rows.astype(np.int64), hash_elements(elements), False)
        assert making.plan.bands is not None
        signatures = making.plan.functions(making.plan.bands.hashes).sketch(made.indptr, made.elements)
        yield pa.record_batch([encoded.dictionary, signature_lists(signatures)], names=["id", "signature"])


def gathered(batches: Batches, least: int) -> Iterator[pa.Table]:
    """The batches put together to tables of so many rows."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        if sum(len(one) for one in some) >= least:
            yield pa.Table.from_batches(some)
            some = []
    if some and any(len(one) for one in some):
        yield pa.Table.from_batches(some)


def signature_lists(signatures: np.ndarray) -> pa.ListArray:
    return lists_of(pa.array(signatures.ravel().view(np.int64)), np.full(*signatures.shape))


def least_minima(batches: Batches, making: Making) -> Batches:
    """(set, signature), sorted by set, to (set, keys): minima of the minima, and the bands of those."""
    assert making.plan.bands is not None
    bands, rows, _ = making.plan.bands
    held: pa.RecordBatch | None = None  # the last set, which may go on
    for batch in batches:
        if not len(batch):
            continue
        ids, lists = batch.columns if held is None else joined(held, batch)
        parts = np.asarray(lists.flatten()).view(np.uint64).reshape(len(ids), bands * rows)
        starts = np.flatnonzero(new_runs(ids))
        least = np.minimum.reduceat(parts, starts)
        names = ids.take(pa.array(starts))
        held = pa.record_batch([names[-1:], signature_lists(least[-1:])], names=["id", "signature"])
        yield with_keys(names[:-1], fold_bands(least[:-1], bands, rows))
    if held is not None:
        last = np.asarray(held["signature"].flatten()).view(np.uint64).reshape(1, -1)
        yield with_keys(held["id"], fold_bands(last, bands, rows))


def joined(one: pa.RecordBatch, other: pa.RecordBatch) -> list[pa.Array]:
    """The columns of two batches, one after the other."""
    return [pa.concat_arrays(two) for two in zip(one.columns, other.columns, strict=True)]


def with_keys(ids: pa.Array, keys: np.ndarray) -> pa.RecordBatch:
    return pa.record_batch([ids, key_lists(keys)], names=["item", "keys"])


def new_runs(values: pa.Array) -> np.ndarray:
    """Whether each value differs from the one before; a record by all it has."""
    if pa.types.is_struct(values.type):
        fresh: np.ndarray = np.logical_or.reduce([new_runs(field) for field in values.flatten()])
        return fresh
    fresh = np.ones(len(values), np.bool_)
    if len(values) > 1:
        fresh[1:] = np.asarray(pc.fill_null(pc.not_equal(values[1:], values[:-1]), True))
    return fresh


def keyed(batches: Batches, making: Making) -> Batches:
    """(id, content) to (item, keys), where identical items are not looked for."""
    for batch in batches:
        counts, _, _, keys = making.sketch(batch["content"])
        live = np.flatnonzero(counts)
        yield with_keys(batch["id"].take(pa.array(live)), keys[live])


# --- identical items ---


def grouped(batches: Batches) -> Batches:
    """(item, content0, content1, keys), sorted by content and item, to (item, head, keys).

    The first of identical items, the head, keeps its keys and stands for the others.
    """
    last: tuple[np.ndarray, pa.Array] | None = None  # the content and the head of the group that may go on
    for batch in batches:
        if not len(batch):
            continue
        item, *hashes, keys = batch.columns
        contents = np.stack(hashes, axis=1)
        fresh = np.ones(len(item), np.bool_)
        fresh[1:] = (contents[1:] != contents[:-1]).any(axis=1)
        fresh[0] = last is None or (contents[0] != last[0]).any()
        first = np.maximum.accumulate(np.where(fresh, np.arange(1, len(item) + 1), 0))  # 0: in an earlier batch
        head = pa.concat_arrays([item[:1] if last is None else last[1], item]).take(pa.array(first))
        own = keys.take(pa.array(np.arange(len(item)), mask=~fresh))
        last = contents[-1], head[-1:]
        yield pa.record_batch([item, head, own], names=["item", "head", "keys"])


# --- verification ---


def verified(batches: Batches, making: Making) -> Batches:
    """(a, b, band, left, right) to (a, b, band, similarity) of those that are similar; left and right are contents."""
    p, q = making.plan.threshold.as_integer_ratio()
    for whole in batches:
        for batch in cut(whole):
            a, b, band, left, right = batch.columns
            fresh = new_runs(a)  # an item is often compared with several, one after another
            one, other = making.sets(left.filter(pa.array(fresh))), making.sets(right)
            sets = Sets.concatenate([one, other])
            rows = np.cumsum(fresh) - 1
            others = len(one) + np.arange(len(other))
            shared = overlaps(sets.indptr, sets.elements, rows, others, p, q)
            good = np.flatnonzero(shared >= 0)
            values = of_shared("jaccard", shared[good], sets.sizes[rows[good]], sets.sizes[others[good]])
            columns = [column.take(pa.array(good)) for column in (a, b, band)]
            yield pa.record_batch([*columns, pa.array(values)], names=["a", "b", "band", "similarity"])


def cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Slices of a batch with about PIECE bytes each."""
    if len(batch):
        step = max(1, PIECE * len(batch) // max(1, batch.nbytes))
        for part in slices(len(batch), step):
            yield batch[part]


# --- groups, where few pairs are left ---


def firsts(batches: Batches) -> Batches:
    """(a, b) to (item, first): the first item of the connected component of each item that is not its own first."""
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
    """(a, b), a before b in order, sorted by b, to the items that are dropped: those similar to one kept before."""
    gone: set[Any] = set()
    for batch in batches:
        mask = []
        for a, b in zip(plain_items(batch["a"]), plain_items(batch["b"]), strict=True):
            mask.append(a not in gone and b not in gone)
            if mask[-1]:
                gone.add(b)
        yield pa.record_batch([batch["b"].filter(pa.array(mask, pa.bool_()))], names=["item"])


def plain_items(items: pa.Array) -> list[Any]:
    """Items as Python values that can be told apart: of records the id, which is the last field."""
    plain: list[Any] = (items.flatten()[-1] if pa.types.is_struct(items.type) else items).to_pylist()
    return plain
