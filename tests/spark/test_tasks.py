"""What the tasks of a cluster do, without a cluster: any cut into batches gives what the whole would."""

import random
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import DataError, TooManyPairs
from lookalike.entities.candidates import record_sets
from lookalike.entities.fields import Column, Field
from lookalike.families import MinHash
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.kernels.sketch import fold_bands
from lookalike.search.plan import Plan, make_plan
from lookalike.spark import buckets, tasks
from lookalike.spark.buckets import dealt_rows, split, units
from lookalike.spark.making import OfLists, OfTexts
from lookalike.spark.parcels import Parcels, in_order
from lookalike.spark.record_tasks import OfRecords, written_out
from lookalike.theory.amplify import Bands
from lookalike.theory.mapreduce import map_rows, reduce_minima, run

PLAN = Plan("lsh", "jaccard", make_plan(threshold=0.6).threshold, 1, "sets", bands=Bands(5, 3, 0.9))


def in_batches(table, cuts):
    """The batches of a table, cut at some rows."""
    rows = sorted({0, len(table), *(cut % (len(table) + 1) for cut in cuts)})
    for start, stop in pairwise(rows):
        yield table.slice(start, stop - start).combine_chunks().to_batches()[0]


def rows_of(batches):
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


SENT = pa.schema({"place": pa.int32(), "parcel": pa.binary()})
ITEMS = pa.int64()
CUTS = st.lists(st.integers(0, 1000), max_size=6)


# --- parcels ---


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=60), CUTS, st.integers(1, 9), st.integers(1, 20))
def test_what_is_dealt_arrives_together(hashes, cuts, places, rows):
    schema = pa.schema({"hash": pa.int64(), "name": pa.string(), "list": pa.list_(pa.int64())})
    names, lists = [f"n{at}" for at in range(len(hashes))], [[at] * (at % 3) for at in range(len(hashes))]
    table = pa.table([pa.array(hashes, pa.int64()), names, lists], schema=schema)
    parcels = Parcels(schema, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lookalike.spark.parcels.ROWS", rows)
        sent = pa.Table.from_batches(parcels.deal(in_batches(table, cuts), "hash"), SENT)
    assert all(0 <= place < places for place in sent["place"].to_pylist())
    arrived = list(parcels.arrived(in_batches(sent.sort_by("place"), cuts)))
    homes = {}
    for at, rows_here in enumerate(arrived):
        for row in rows_here.to_pylist():
            assert homes.setdefault(row["hash"], at) == at
    every = pa.concat_tables([schema.empty_table(), *arrived]).sort_by("name")
    assert every.to_pylist() == table.sort_by("name").to_pylist()


def test_the_order_of_items():
    assert in_order(pa.array([3, -1, 2])).to_pylist() == [1, 2, 0]
    assert in_order(pa.array(["b", "é", "a"])).to_pylist() == [2, 0, 1]
    ranked = pa.array([{"rank": float("nan"), "id": "a"}, {"rank": 1.0, "id": "c"}, {"rank": 1.0, "id": "b"}])
    assert in_order(ranked).to_pylist() == [2, 1, 0]


# --- buckets ---


def sorted_parcels(batches, cuts=()):
    """What a shuffle makes of parcels."""
    return in_batches(pa.Table.from_batches(batches, SENT).sort_by("place"), cuts)


def units_of(keys, items, cuts, every, places=3):
    """The units of keys and items that are dealt out to some places."""
    table = pa.table([pa.array(keys, pa.int64()), pa.array(items, ITEMS)], names=["key", "item"])
    parcels = Parcels(table.schema, places)
    return units(sorted_parcels(dealt_rows(in_batches(table, cuts), parcels, every), cuts), parcels, every)


def pairs_of(batches):
    """The pairs that units stand for, as often as they are there."""
    found = Counter()
    for band, _, lefts, rights in rows_of(batches):
        pairs = combinations(lefts, 2) if rights is None else ((a, b) for a in lefts for b in rights)
        found.update((band, a, b) for a, b in pairs)
    return found


KEYS = st.lists(st.integers(0, 8), max_size=80)


def spread_out(number):
    """A key with a number of its own in its high bits, as hashes have them."""
    return int(np.array(number * 0x9E3779B97F4A7C15 % 2**64, np.uint64).view(np.int64)) >> 11 << 11 | number % 3


@given(KEYS, CUTS, st.integers(2, 9), st.integers(1, 5))
@settings(max_examples=200)
def test_units_have_each_pair_of_a_bucket_once(numbers, cuts, most, block):
    keys = [spread_out(number) for number in numbers]
    items = random.Random(len(keys)).sample(range(1000), len(keys))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "MOST", most)
        patch.setattr(buckets, "BLOCK", block)
        found = pairs_of(units_of(keys, items, cuts, every=True))
    every = sorted(zip(items, numbers, strict=True))
    expected = {(one % 3, a, b) for (a, one), (b, other) in combinations(every, 2) if one == other}
    assert set(found) == expected
    assert set(found.values()) <= {1}


@given(KEYS, CUTS, st.integers(6, 9), st.integers(1, 5))
@settings(max_examples=200)
def test_few_pairs_of_a_large_bucket(numbers, cuts, most, few):
    """Items of a small bucket are all compared; those of a large one are connected, by far fewer pairs."""
    keys = [spread_out(number % 3) for number in numbers]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "MOST", most)
        patch.setattr(buckets, "FEW", few)
        found = pairs_of(units_of(keys, list(range(len(keys))), cuts, every=False))
    for number in range(3):
        items = [at for at, other in enumerate(numbers) if other % 3 == number]
        pairs = {(a, b) for band, a, b in found if a in items or b in items}
        assert pairs <= set(combinations(items, 2))
        if len(items) <= most:
            assert pairs == set(combinations(items, 2))
        else:
            label = {item: item for item in items}
            for a, b in sorted(pairs):
                label = {item: label[a] if one == label[b] else one for item, one in label.items()}
            assert set(label.values()) == {items[0]}


def test_a_key_that_very_many_have_is_split_where_it_comes_from():
    """So that no task gets them all: few keep the key, the others have one of their block."""
    many = pa.table({"key": [spread_out(1)] * 5000 + [spread_out(2)] * 3, "item": range(5003)})
    found = split(many)
    assert Counter(found["key"].to_pylist())[spread_out(1)] == buckets.FEW
    assert Counter(found["key"].to_pylist())[spread_out(2)] == 3
    assert max(Counter(found["key"].to_pylist()).values()) == 4 * buckets.FEW
    assert {key & 1023 for key in found["key"].to_pylist()} == {1, 2}
    assert set(found["item"].to_pylist()) == set(range(5003))
    assert split(many.slice(0, 900)) == many.slice(0, 900)
    other = split(many.set_column(1, "item", pa.array(range(9000, 14003))))
    assert set(found["key"].to_pylist()) & set(other["key"].to_pylist()) == {spread_out(1), spread_out(2)}


def test_a_bucket_too_large_for_all_its_pairs(monkeypatch):
    monkeypatch.setattr(buckets, "MOST_IN_BUCKET", 2000)
    with pytest.raises(TooManyPairs, match="3,000 items are alike in one band"):
        list(units_of([5] * 3000, range(3000), [], every=True))
    few = pairs_of(units_of([5] * 3000, range(3000), [], every=False))
    assert sum(few.values()) < 3000 * 25


# --- identical items ---


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


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=120), CUTS, CUTS)
@settings(max_examples=60)
def test_minima_of_partial_minima_are_those_of_the_whole(rows, cuts, others):
    """However the elements of a set are spread over tasks, its keys are those of the whole set."""
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
    """The map and reduce functions of exercise 3.3.7, on plain values, take the same minima of any functions."""
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
    with pytest.raises(DataError, match="the item 'b' is null"):
        list(tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), False, False, parcels))


def test_a_null_element():
    with pytest.raises(DataError, match="an element is null"):
        OfLists(PLAN).sets(pa.array([["a", None]]))


@pytest.mark.parametrize("content", [pa.array([["b", "a", "b"], [], ["c"]]), pa.array([[2, 1, 2], [], [-3]])])
def test_sets_of_lists(content):
    found = OfLists(PLAN).sets(content.slice(0, 3))
    expected = Sets.of([set(one) for one in content.to_pylist()])
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.elements.tolist() == expected.elements.tolist()
    assert OfLists(PLAN).sets(content.slice(2))[0].tolist() == expected[2].tolist()


# --- verification ---


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
    """As when a data frame gives other rows when it is read again."""
    table = pa.table(
        {"a": [1, 1, 1, 1], "b": [2, 2, 3, 3], "side": [0, 1, 0, 1], "band": [0] * 4, "content": [[1]] * 4}
    )
    [batch] = table.take(rows).combine_chunks().to_batches()
    with pytest.raises(DataError, match="the data frame gave other rows when it was read again"):
        list(tasks.verified(iter([batch]), OfLists(PLAN)))


# --- groups ---


def pair_table(pairs):
    return pa.table({name: pa.array([pair[at] for pair in pairs], pa.int64()) for at, name in enumerate("ab")})


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


# --- records ---


def test_records_are_written_out_and_made_sets():
    fields = (Field("name", "n", "n", "name"), Field("sex", "s", "s", "category"), Field("born", "b", "b", "date"))
    batch = pa.record_batch(
        {
            "id": [1, 2],
            "field0": ["Bill O'Brien", "Ann Lee"],
            "field1": pa.array(["f", None]),
            "field2": ["3/4/2020", "5/6/2020"],
        }
    )
    [made] = written_out(iter([batch]), fields, [None, None, True])
    assert made["content"].to_pylist() == [["william obrien", "f", "2020-04-03"], ["anne lee", None, "2020-06-05"]]
    found = OfRecords(PLAN, fields, frozenset({(2, "2020-06-05"), (0, "2020-04-03")})).sets(made["content"])
    columns = [
        Column("name", "name", *[pa.array(["william obrien", "anne lee"], pa.large_string())] * 2),
        Column("born", "date", *[pa.array(["2020-04-03", None], pa.large_string())] * 2),
    ]
    expected = record_sets(columns, slice(0, 2))
    assert (found.indptr.tolist(), found.elements.tolist()) == (expected.indptr.tolist(), expected.elements.tolist())
