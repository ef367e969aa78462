"""Connect the items that share a bucket in a band, without listing their pairs.

Like `tasks`, this module does not use Spark.
"""

import numpy as np
import pyarrow as pa

from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.spark.parcels import Batches, Parcels, gathered
from lookalike.spark.tasks import keys_of
from lookalike.theory.banding import in_buckets

KEYS = 1 << 21  # keys to work on at a time
EDGES = 1 << 21  # edges to hold before they are reduced to a forest
KEYED = pa.schema({"key": pa.uint32(), "items": pa.uint32(), "number": pa.int64()})  # as it travels: 16 bytes


def dealt_keys(batches: Batches, groups: Parcels, keys: Parcels, bands: int) -> Batches:
    """Turn groups into parcels of (key, items, number), dealt by key.

    Of the heads here that have the same key, only the first travels with it, and with how many
    these are. They are connected by a key of their own, which all of them have once, not per band.
    """
    step = max(1, KEYS // bands)
    for table in gathered((rows.filter(rows["keys"].is_valid()) for rows in groups.opened(batches)), step):
        numbers = np.asarray(table["number"].combine_chunks())
        rows, hashed = hashed_keys(keys_of(table["keys"].combine_chunks(), bands))
        indptr, places = in_buckets(hashed)
        items = np.ones(len(rows), np.uint32)
        leaders = places[indptr[:-1]]
        items[places] = 0
        items[leaders] = np.diff(indptr)
        parent = np.arange(len(numbers))
        join_pairs(rows[places], rows[np.repeat(leaders, np.diff(indptr))], parent)
        root = roots(parent)
        tied = np.flatnonzero(np.bincount(root, minlength=len(root))[root] > 1)
        own = mix.py_func(numbers[root[tied]].view(np.uint64) ^ EMPTY)
        sent = np.flatnonzero(items)
        every = np.concatenate((hashed[sent], own))
        yield keys.dealt(
            pa.table(
                {
                    "key": pa.array((every & np.uint64(0xFFFFFFFF)).astype(np.uint32)),
                    "items": pa.array(np.concatenate((items[sent], np.zeros(len(tied), np.uint32)))),
                    "number": pa.array(np.concatenate((numbers[rows[sent]], numbers[tied]))),
                }
            ),
            (((every >> np.uint64(32)) * np.uint64(keys.places)) >> np.uint64(32)).view(np.int64),
        )


def hashed_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys that items have, as (item, hash of key and band), given items x bands."""
    with np.errstate(over="ignore"):
        hashed = mix.py_func(keys + np.arange(1, keys.shape[1] + 1, dtype=np.uint64) * GOLDEN)
    there = np.flatnonzero(keys != EMPTY)
    return there // keys.shape[1], hashed.ravel()[there]


def connected(batches: Batches, keys: Parcels) -> Batches:
    """Turn parcels of keys, sorted by place, into (a, b, pairs): a forest of numbers that share buckets.

    Each task ends with a row without numbers, whose `pairs` counts the pairs of its buckets.
    """
    held: list[tuple[np.ndarray, np.ndarray]] = []
    pairs = 0.0
    for _, rows in keys.arrived(batches):
        numbers, items = np.asarray(rows["number"]), np.asarray(rows["items"]).astype(np.float64)
        indptr, places = in_buckets(mix.py_func(np.asarray(rows["key"]).astype(np.uint64) << np.uint64(32)))
        leaders = np.repeat(places[indptr[:-1]], np.diff(indptr))
        sizes = np.bincount(leaders, items[places], len(rows))  # of the buckets, at their leaders
        alone = np.ones(len(rows), np.bool_)
        alone[places] = False
        sizes[alone] = items[alone]
        pairs += float((sizes * np.maximum(sizes - 1, 0) / 2).sum())
        apart = leaders != places
        held.append((numbers[leaders[apart]], numbers[places[apart]]))
        if sum(len(left) for left, _ in held) > EDGES:
            held = [spanning(held)]
    left, right = spanning(held)
    nothing = pa.array(np.append(np.zeros(len(left), np.bool_), True))
    columns = [pa.array(np.append(side, -1), mask=np.asarray(nothing)) for side in (left, right)]
    yield pa.record_batch([*columns, pa.array(np.append(np.zeros(len(left)), pairs))], names=["a", "b", "pairs"])


def spanning(edges: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return fewer pairs that connect the same numbers: the first of a component with each other one."""
    left, right = (np.concatenate([np.zeros(0, np.int64), *(pair[side] for pair in edges)]) for side in (0, 1))
    numbers, places = np.unique(np.concatenate((left, right)), return_inverse=True)
    parent = np.arange(len(numbers))
    join_pairs(places[: len(left)], places[len(left) :], parent)
    first = roots(parent)
    others = np.flatnonzero(first != np.arange(len(numbers)))
    return numbers[first[others]], numbers[others]
