"""Check that items are connected exactly if buckets connect them, and how many pairs share one."""

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kernels.hashing import EMPTY
from lookalike.spark import buckets, tasks
from lookalike.spark.buckets import KEYED, connected, dealt_keys
from lookalike.spark.parcels import Parcels
from tests.engines import CUTS, in_batches, sorted_parcels

BANDS = 3


def forest_of(keys, cuts, places=3):
    """Return the rows that `connected` makes of items' keys, an item a row, numbered from 1000."""
    items = pa.array(np.arange(len(keys)))
    made = np.array([[EMPTY if key is None else key for key in row] for row in keys], np.uint64).reshape(-1, BANDS)
    columns = [items, items, pa.array(1000 + np.arange(len(keys))), items, tasks.key_rows(made)]
    table = pa.table(columns, schema=tasks.group_schema(pa.int64(), BANDS))
    groups, sent = Parcels(table.schema), Parcels(KEYED, places)
    packed = (
        pa.record_batch({"parcel": [groups.pack(pa.Table.from_batches([part]))]}) for part in in_batches(table, cuts)
    )
    dealt = dealt_keys(packed, groups, sent, BANDS)
    return pa.Table.from_batches(connected(sorted_parcels(dealt, cuts), sent)).to_pylist()


def expected_of(keys):
    """Return the least item of each item's component, and the number of pairs in buckets."""
    label = list(range(len(keys)))
    pairs = 0
    for band in range(BANDS):
        for key, count in Counter(row[band] for row in keys if row[band] is not None).items():
            pairs += count * (count - 1) // 2
            inside = [at for at, row in enumerate(keys) if row[band] == key]
            for a in inside[1:]:
                old, new = label[a], label[inside[0]]
                label = [min(old, new) if one in (old, new) else one for one in label]
    return label, pairs


KEYS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 9))] * BANDS), max_size=40)


@pytest.mark.slow
@given(KEYS, CUTS, st.integers(1, 20), st.integers(1, 9))
@settings(max_examples=200)
def test_items_are_connected_as_buckets_connect_them(keys, cuts, step, edges):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "KEYS", BANDS * step)
        patch.setattr(buckets, "EDGES", edges)
        rows = forest_of(keys, cuts)
    label = list(range(len(keys)))
    for row in rows:
        if row["a"] is not None:
            a, b = label[row["a"] - 1000], label[row["b"] - 1000]
            label = [min(a, b) if one in (a, b) else one for one in label]
    expected, pairs = expected_of(keys)
    assert label == expected
    assert sum(row["pairs"] for row in rows) == pairs


def test_a_frequent_key_hardly_travels():
    """Of the items with it in one batch, one travels per band, and each once to be connected with it."""
    draw = random.Random(1)
    keys = [(1, 2, draw.randrange(1 << 60)) for _ in range(5000)]
    rows = forest_of(keys, [], places=1)
    assert sum(row["pairs"] for row in rows) == 2 * 5000 * 4999 / 2
    assert len([row for row in rows if row["a"] is not None]) == 4999
    groups = Parcels(tasks.group_schema(pa.int64(), BANDS))
    items = pa.array(np.arange(5000))
    table = pa.table([items, items, items, items, tasks.key_rows(np.array(keys, np.uint64))], schema=groups.schema)
    sent = Parcels(KEYED, 2)
    dealt = dealt_keys(iter([pa.record_batch({"parcel": [groups.pack(table)]})]), groups, sent, BANDS)
    travelled = sum(len(batch) for batch in sent.opened(dealt))
    assert travelled == 2 + 5000 + 5000
    assert sum(field.type.bit_width for field in KEYED) == 8 * 16
