"""Check tasks without a cluster: any division into batches gives the same result."""

import random

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
@given(st.lists(st.integers(0, 8), max_size=30), CUTS, st.booleans(), st.integers(0, 4))
def test_the_first_of_identical_items_stands_for_them(contents, cuts, ranked, hot):
    """Whether all of them travel to one place, or copies of a frequent content stay where they are."""
    names = random.Random(len(contents)).sample(range(1000), len(contents))
    items = [{"rank": name % 7, "id": name} for name in names] if ranked else names
    kind = pa.struct({"rank": pa.int64(), "id": pa.int64()}) if ranked else pa.int64()
    hashes = [[spread_out(content + more) for content in contents] for more in (0, 99)]
    keys = tasks.key_rows(np.array([[name] for name in names], np.uint64).reshape(-1, 1))
    schema, order = tasks.sketch_schema(kind, 1), (True,) if ranked else ()
    items, weights = pa.array(items, kind), pa.array(names, pa.int64())
    table = pa.table([items, pa.nulls(len(names), kind), *hashes, weights, keys], schema=schema)
    parcels, groups = Parcels(schema, 3), Parcels(tasks.group_schema(kind, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "HOT", hot)
        left = (tasks.leave_hot(pa.Table.from_batches([part]), order) for part in in_batches(table, cuts))
        sent = sorted_parcels(parcels.deal(left, "content0"), cuts)
    packed = list(tasks.grouped(sent, order, parcels, 1))
    found = [row for batch in packed for parcel in batch["parcel"] for row in groups.unpack(parcel).to_pylist()]
    place = (lambda item: (-item["rank"], item["id"])) if ranked else (lambda item: item)
    head_of = {}
    for item, content in zip(items.to_pylist(), contents, strict=True):
        head = min((one for one, other in zip(items.to_pylist(), contents, strict=True) if other == content), key=place)
        head_of[str(item)] = head
    copies = {str(row["item"]): row for batch in tasks.copies(iter(packed), groups) for row in batch.to_pylist()}
    heads = [row for batch in tasks.heads(iter(packed), groups) for row in batch.to_pylist()]
    assert {str(row["item"]) for row in heads} == {str(head) for head in head_of.values()}
    assert len(copies) + len(heads) == len(found) == len(names)
    assert len({row["number"] for row in heads}) == len(heads)
    for row in heads:
        name = row["item"]["id"] if ranked else row["item"]
        assert (row["weight"], int.from_bytes(row["keys"], "little")) == (name, name)
    for row in copies.values():
        head = row["head"] if not row["hot"] else copies.get(str(row["head"]), {"head": row["head"]})["head"]
        assert head == head_of[str(row["item"])]


def test_copies_of_a_very_frequent_content_do_not_travel_to_one_place():
    count = 2000
    table = pa.table(
        [range(count), pa.nulls(count, pa.int64()), [7 << 40] * count, [5] * count, [1] * count, [b"12345678"] * count],
        schema=tasks.sketch_schema(pa.int64(), 1),
    )
    parcels = Parcels(table.schema, 8)
    sent = pa.Table.from_batches(parcels.deal(iter([tasks.leave_hot(table, ())]), "content0"))
    sizes = [len(parcels.unpack(parcel)) for parcel in sent["parcel"]]
    assert sum(sizes) == count
    assert max(sizes) < count / 4


# --- signatures ---


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=120), CUTS, CUTS, st.booleans())
@settings(max_examples=60)
def test_minima_of_partial_minima_are_those_of_the_whole(rows, cuts, others, named):
    """The keys of a set do not depend on how its elements are spread over tasks."""
    whole = {}
    for name, element in rows:
        whole.setdefault(f"n{name}" if named else name, []).append(element)
    making = OfLists(PLAN)
    ids = [f"n{name}" if named else name for name, _ in rows]
    table = pa.table({"id": ids, "content": [element for _, element in rows]})
    kind = table.schema.field("id").type
    parcels = Parcels(tasks.minima_schema(kind, 15), 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "ROWS", 1)
        sent = sorted_parcels(tasks.partial_minima(in_batches(table, cuts), making, parcels), others)
    groups = Parcels(tasks.group_schema(kind, 5))
    packed = tasks.least_minima(sent, making, parcels)
    found = [row for batch in packed for parcel in batch["parcel"] for row in groups.unpack(parcel).to_pylist()]
    names = sorted(whole)
    expected = fold_bands(MinHash(15, 1).signatures(Sets.of([set(whole[name]) for name in names])), 5, 3)
    assert len({row["number"] for row in found}) == len(found)
    found.sort(key=lambda row: row["item"])
    assert [row["item"] for row in found] == [row["head"] for row in found] == names
    for row in found:
        assert 8 * len(set(whole[row["item"]])) <= row["weight"] <= 8 * len(whole[row["item"]])
    assert [row["keys"] for row in found] == [keys.tobytes() for keys in expected]


def test_partial_minima_are_the_textbook_s():
    """The map and reduce functions of exercise 3.3.7 give the same minima, for any functions."""
    functions = [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5]
    matrix = [(0, [0, 3]), (1, [2]), (2, [1, 3]), (3, [0, 2, 3]), (4, [2])]
    halves = [run(map_rows(functions), reduce_minima, part) for part in (matrix[:2], matrix[2:])]
    merged = run(lambda column, numbers: [(column, numbers)], reduce_minima, [*halves[0], *halves[1]])
    assert merged == run(map_rows(functions), reduce_minima, matrix)


def test_keys_as_bytes():
    keys = np.random.default_rng(1).integers(0, 1 << 63, (5, 3)).astype(np.uint64)
    rows = tasks.key_rows(keys)
    assert np.array_equal(tasks.keys_of(rows.slice(1, 3), 3), keys[1:4])
    assert np.array_equal(tasks.keys_of(rows.cast(pa.binary()), 3), keys)


def test_items_without_elements_are_left_out():
    batch = pa.record_batch({"id": [1, 2], "content": ["", "some text here"], "rank0": [0, 0]})
    kind = pa.struct({"rank0": pa.int64(), "id": pa.int64()})
    parcels = Parcels(tasks.sketch_schema(kind, PLAN.bands.bands), 1)
    made = tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), "rank0", (True,), parcels)
    [(_, rows)] = parcels.arrived(made)
    assert rows["item"].to_pylist() == [{"rank0": 14, "id": 2}]
    assert rows["weight"].to_pylist() == [14 + 8 * 12]


def test_a_null_is_named_by_its_id():
    batch = pa.record_batch({"id": ["a", "b"], "content": pa.array(["x", None])})
    parcels = Parcels(pa.schema({}), 1)
    with pytest.raises(DataError, match=r"item 'b' has no text \(null\): drop such rows"):
        list(tasks.sketched(iter([batch]), OfTexts(PLAN, Shingles(k=3)), None, (), parcels))


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
