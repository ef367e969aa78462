"""Check tasks without a cluster: any division into batches gives the same result."""

import random
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.families import MinHash
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.kernels.sketch import fold_bands
from lookalike.spark import tasks
from lookalike.spark.making import OfLists, OfTexts
from lookalike.spark.parcels import Parcels
from lookalike.theory.mapreduce import map_rows, reduce_minima, run
from tests.engines import CUTS, PLAN, in_batches, rows_of, sorted_parcels, spread_out

# --- identical items ---


@pytest.mark.slow
@given(st.lists(st.integers(0, 8), max_size=30), CUTS, st.booleans())
def test_the_first_of_identical_items_stands_for_them(contents, cuts, ranked):
    names = random.Random(len(contents)).sample(range(1000), len(contents))
    items = [{"rank": -(name % 7), "id": name} for name in names] if ranked else names
    kind = pa.struct({"rank": pa.int64(), "id": pa.int64()}) if ranked else pa.int64()
    hashes = [[spread_out(content + more) for content in contents] for more in (0, 99)]
    schema = pa.schema({"item": kind, "content0": pa.int64(), "content1": pa.int64(), "keys": pa.list_(pa.int64())})
    table = pa.table([pa.array(items, kind), *hashes, [[name] for name in names]], schema=schema)
    parcels, groups = Parcels(schema, 3), Parcels(tasks.group_schema(kind), 1)
    packed = list(tasks.grouped(sorted_parcels(parcels.deal(in_batches(table, cuts), "content0"), cuts), parcels))
    found = [row for batch in packed for parcel in batch["parcel"] for row in groups.unpack(parcel).to_pylist()]
    place = (lambda item: (item["rank"], item["id"])) if ranked else (lambda item: item)
    expected = []
    for item, name, content in zip(items, names, contents, strict=True):
        head = min((one for one, other in zip(items, contents, strict=True) if other == content), key=place)
        expected.append({"item": item, "head": head, "keys": [name] if item == head else None})
    assert sorted(found, key=lambda row: place(row["item"])) == sorted(expected, key=lambda row: place(row["item"]))
    copies = [row for batch in tasks.copies(iter(packed), groups) for row in batch.to_pylist()]
    assert copies == [{"item": row["item"], "head": row["head"]} for row in found if row["item"] != row["head"]]


# --- signatures ---


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=120), CUTS, CUTS)
@settings(max_examples=60)
def test_minima_of_partial_minima_are_those_of_the_whole(rows, cuts, others):
    """The keys of a set do not depend on how its elements are spread over tasks."""
    whole = {}
    for name, element in rows:
        whole.setdefault(name, set()).add(element)
    making = OfLists(PLAN)
    table = pa.table({"id": [name for name, _ in rows], "content": [element for _, element in rows]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "ROWS", 1)
        partial = pa.Table.from_batches(tasks.partial_minima(in_batches(table, cuts), making)).sort_by("id")
    groups = Parcels(tasks.group_schema(pa.int64()), 1)
    packed = tasks.least_minima(in_batches(partial, others), making)
    found = [row for batch in packed for parcel in batch["parcel"] for row in groups.unpack(parcel).to_pylist()]
    expected = fold_bands(MinHash(15, 1).signatures(Sets.of([whole[name] for name in sorted(whole)])), 5, 3)
    lists = zip(sorted(whole), tasks.key_lists(expected).to_pylist(), strict=True)
    assert found == [{"item": name, "head": name, "keys": keys} for name, keys in lists]


def test_partial_minima_are_the_textbook_s():
    """The map and reduce functions of exercise 3.3.7 give the same minima, for any functions."""
    functions = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
    matrix = [(0, [0, 3]), (1, [2]), (2, [1, 3]), (3, [0, 2, 3]), (4, [2])]
    halves = [run(map_rows(functions), reduce_minima, part) for part in (matrix[:2], matrix[2:])]
    merged = run(lambda column, numbers: [(column, numbers)], reduce_minima, [*halves[0], *halves[1]])
    assert merged == run(map_rows(functions), reduce_minima, matrix)


def test_keys_keep_the_number_of_their_band():
    keys = np.array([[1 << 60, 7 << 40], [2**64 - 1, 5 << 20]], np.uint64)
    one, other = tasks.key_lists(keys).to_pylist()
    assert [[key & 1023 for key in some] for some in (one, other)] == [[0, 1], [1]]
    again, _ = tasks.key_lists(np.array([[5 << 20, 5 << 20], [0, 0]], np.uint64)).to_pylist()
    assert again[1] == other[0]
    assert again[0] >> 20 != again[1] >> 20


def test_items_without_elements_are_left_out():
    batch = pa.record_batch({"id": [1, 2], "content": ["", "some text here"], "last": [False] * 2, "rank": [0, 0]})
    kind = pa.struct({"last": pa.bool_(), "rank": pa.int64(), "id": pa.int64()})
    keys = pa.list_(pa.int64())
    parcels = Parcels(pa.schema({"item": kind, "content0": pa.int64(), "content1": pa.int64(), "keys": keys}), 1)
    made = tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), ranked=True, longest=True, parcels=parcels)
    [rows] = parcels.arrived(made)
    assert rows["item"].to_pylist() == [{"last": False, "rank": -14, "id": 2}]


def test_a_null_is_named_by_its_id():
    batch = pa.record_batch({"id": ["a", "b"], "content": pa.array(["x", None])})
    parcels = Parcels(pa.schema({}), 1)
    with pytest.raises(DataError, match=r"item 'b' has no text \(null\): drop such rows"):
        list(tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), False, False, parcels))


# --- verification ---


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=2, max_size=6), CUTS)
def test_pairs_are_verified(lists, cuts):
    pairs = list(combinations(range(len(lists)), 2))
    table = pa.table(
        {
            "a": [a for a, _ in pairs for _ in range(2)],
            "b": [b for _, b in pairs for _ in range(2)],
            "side": pa.array([0, 1] * len(pairs), pa.int32()),
            "band": pa.array([0] * 2 * len(pairs), pa.int32()),
            "content": [lists[item] for pair in pairs for item in pair],
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "PIECE", 100)
        found = rows_of(tasks.verified(in_batches(table, cuts), OfLists(PLAN)))
    expected = []
    for a, b in pairs:
        one, other = set(lists[a]), set(lists[b])
        if 5 * len(one & other) >= 3 * len(one | other):
            expected.append((a, b, 0, len(one & other) / len(one | other)))
    assert found == expected


@pytest.mark.parametrize("rows", [[0], [1, 0], [0, 1, 2], [0, 3], [0, 1, 3, 2]])
def test_a_row_that_is_missing_is_noticed(rows):
    """This happens if a data frame returns different rows when it is read again."""
    table = pa.table(
        {"a": [1, 1, 1, 1], "b": [2, 2, 3, 3], "side": [0, 1, 0, 1], "band": [0] * 4, "content": [[1]] * 4}
    )
    [batch] = table.take(rows).combine_chunks().to_batches()
    with pytest.raises(DataError, match="the data frame returned different rows when it was read again"):
        list(tasks.verified(iter([batch]), OfLists(PLAN)))


# --- groups ---


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30), CUTS)
def test_first_items_of_components(pairs, cuts):
    table = pa.table(
        {"a": pa.array([a for a, _ in pairs], pa.int64()), "b": pa.array([b for _, b in pairs], pa.int64())}
    )
    label = {item: item for pair in pairs for item in pair}
    for _ in label:
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    expected = sorted((item, first) for item, first in label.items() if item != first)
    assert rows_of(tasks.firsts(in_batches(table, cuts))) == expected
    strings = pa.table({name: [f"{value:02}" for value in table[name].to_pylist()] for name in ("a", "b")})
    strings = strings.cast(pa.schema({"a": pa.string(), "b": pa.string()}))
    named = [(f"{item:02}", f"{first:02}") for item, first in expected]
    assert rows_of(tasks.firsts(in_batches(strings, cuts))) == named


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30), CUTS)
def test_dropped_are_those_similar_to_one_kept_before(pairs, cuts):
    pairs = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}, key=lambda pair: pair[::-1])
    table = pa.table(
        {"a": pa.array([a for a, _ in pairs], pa.int64()), "b": pa.array([b for _, b in pairs], pa.int64())}
    )
    gone = set()
    for item in range(13):
        if any(b == item and a not in gone for a, b in pairs):
            gone.add(item)
    assert {item for (item,) in rows_of(tasks.dropped(in_batches(table, cuts)))} == gone
