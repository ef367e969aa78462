"""What the tasks of a cluster do, without a cluster: any cut into batches gives what the whole would."""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.amplify import Bands
from lookalike.data import Sets
from lookalike.entities.blocks import Column, record_sets
from lookalike.entities.fields import Field
from lookalike.errors import DataError, TooManyPairs
from lookalike.families import MinHash
from lookalike.kernels.sketch import fold_bands
from lookalike.mapreduce import map_rows, reduce_minima, run
from lookalike.plan import Plan, make_plan
from lookalike.shingles import Shingles
from lookalike.spark import buckets, tasks
from lookalike.spark.buckets import units
from lookalike.spark.making import OfLists, OfTexts
from lookalike.spark.record_tasks import OfRecords, written_out

PLAN = Plan("lsh", "jaccard", make_plan(threshold=0.6).threshold, 1, "sets", bands=Bands(5, 3, 0.9))


def in_batches(table, cuts):
    """The batches of a table, cut at some rows."""
    rows = sorted({0, len(table), *(cut % (len(table) + 1) for cut in cuts)})
    for start, stop in pairwise(rows):
        yield table.slice(start, stop - start).combine_chunks().to_batches()[0]


def rows_of(batches):
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


CUTS = st.lists(st.integers(0, 1000), max_size=6)


# --- buckets ---


def pairs_of(batches):
    """The pairs that units stand for, as often as they are there."""
    found = Counter()
    for band, lefts, rights in rows_of(batches):
        pairs = combinations(lefts, 2) if rights is None else ((a, b) for a in lefts for b in rights)
        found.update((band, a, b) for a, b in pairs)
    return found


@given(st.lists(st.integers(0, 8), max_size=80), CUTS, st.integers(2, 9), st.integers(1, 5))
@settings(max_examples=200)
def test_units_have_each_pair_of_a_bucket_once(keys, cuts, most, block):
    keys = sorted(key << tasks.BAND_BITS | key % 3 for key in keys)
    items = list(range(len(keys)))
    table = pa.table({"key": pa.array(keys, pa.int64()), "item": pa.array(items, pa.int64())})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "MOST", most)
        patch.setattr(buckets, "BLOCK", block)
        found = pairs_of(units(in_batches(table, cuts), every=True))
    expected = {(keys[a] % 1024, a, b) for a, b in combinations(items, 2) if keys[a] == keys[b]}
    assert set(found) == expected
    assert set(found.values()) <= {1}


@given(st.lists(st.integers(0, 3), max_size=100), CUTS, st.integers(2, 9), st.integers(1, 5))
@settings(max_examples=200)
def test_few_pairs_of_a_large_bucket(keys, cuts, most, few):
    """Each item is compared with the first block of its bucket, and with the block before its own."""
    keys = sorted(key << tasks.BAND_BITS for key in keys)
    table = pa.table({"key": pa.array(keys, pa.int64()), "item": pa.array([f"i{at:03}" for at in range(len(keys))])})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "MOST", most)
        patch.setattr(buckets, "FEW", few)
        found = pairs_of(units(in_batches(table, cuts), every=False))
    assert set(found.values()) <= {1}
    expected = set()
    for key in set(keys):
        items = [f"i{at:03}" for at, other in enumerate(keys) if other == key]
        if len(items) <= most:
            expected |= set(combinations(items, 2))
            continue
        blocks = [items[at : at + few] for at in range(0, len(items), few)]
        for at, block in enumerate(blocks):
            expected |= set(combinations(block, 2))
            for other in {0, at - 1} - {at, -1}:
                expected |= {(a, b) for a in blocks[other] for b in block}
    assert {(a, b) for _, a, b in found} == expected


def test_a_bucket_too_large_for_all_its_pairs(monkeypatch):
    monkeypatch.setattr(buckets, "MOST_IN_BUCKET", 2000)
    table = pa.table({"key": np.zeros(3000, np.int64), "item": np.arange(3000)})
    with pytest.raises(TooManyPairs, match="more than 2,000 items are alike in one band"):
        list(units(iter(table.to_batches()), every=True))
    few = pairs_of(units(iter(table.to_batches()), every=False))
    assert sum(few.values()) < 3000 * 96


def test_items_that_are_records():
    items = pa.array([{"rank": -3, "id": "a"}, {"rank": -2, "id": "c"}, {"rank": -2, "id": "d"}])
    table = pa.table({"key": [5, 5, 5], "item": items})
    [(band, lefts, rights)] = rows_of(units(in_batches(table, [1, 2]), every=True))
    assert (band, lefts, rights) == (5, items.to_pylist(), None)


# --- identical items ---


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30), CUTS)
def test_the_first_of_identical_items_stands_for_them(contents, cuts):
    contents = sorted(contents)
    columns = [pa.array([content[at] for content in contents], pa.int64()) for at in (0, 1)]
    keys = pa.array([[item] for item in range(len(contents))], pa.list_(pa.int64()))
    names = ["item", "content0", "content1", "keys"]
    table = pa.table([pa.array(range(len(contents)), pa.int64()), *columns, keys], names=names)
    expected = []
    for item, content in enumerate(contents):
        head = contents.index(content)
        expected.append((item, head, [item] if item == head else None))
    assert rows_of(tasks.grouped(in_batches(table, cuts))) == expected


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
    found = rows_of(tasks.least_minima(in_batches(partial, others), making))
    expected = fold_bands(MinHash(15, 1).signatures(Sets.of([whole[name] for name in sorted(whole)])), 5, 3)
    assert found == list(zip(sorted(whole), tasks.key_lists(expected).to_pylist(), strict=True))


def test_partial_minima_are_the_textbook_s():
    """The map and reduce functions of exercise 3.3.7, on plain values, take the same minima of any functions."""
    functions = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
    matrix = [(0, [0, 3]), (1, [2]), (2, [1, 3]), (3, [0, 2, 3]), (4, [2])]
    halves = [run(map_rows(functions), reduce_minima, part) for part in (matrix[:2], matrix[2:])]
    merged = run(lambda column, numbers: [(column, numbers)], reduce_minima, [*halves[0], *halves[1]])
    assert merged == run(map_rows(functions), reduce_minima, matrix)


def test_keys_keep_the_number_of_their_band():
    keys = np.array([[1 << 60, 7 << 40], [2**64 - 1, 5 << 20]], np.uint64)
    assert tasks.key_lists(keys).to_pylist() == [[1 << 60, (7 << 40) | 1], [(5 << 20) | 1]]


def test_items_without_elements_are_left_out():
    batch = pa.record_batch({"id": [1, 2], "rank": [0, 0], "content": ["", "some text here"]})
    [made] = tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), longest=True)
    assert (made["id"].to_pylist(), made["rank"].to_pylist()) == ([2], [-14])


def test_a_null_is_named_by_its_id():
    batch = pa.record_batch({"id": ["a", "b"], "rank": [0, 0], "content": pa.array(["x", None])})
    with pytest.raises(DataError, match="the item 'b' is null"):
        list(tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), longest=False))


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
            "a": [a for a, _ in pairs],
            "b": [b for _, b in pairs],
            "band": pa.array([0] * len(pairs), pa.int32()),
            "left": [lists[a] for a, _ in pairs],
            "right": [lists[b] for _, b in pairs],
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
