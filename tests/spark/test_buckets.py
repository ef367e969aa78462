"""Check that buckets are cut into units that contain each pair once."""

import random
import sys
from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from lookalike.core.errors import TooManyPairs
from lookalike.spark import buckets, frames
from lookalike.spark.buckets import dealt_rows, split, units
from lookalike.spark.parcels import Parcels
from tests.engines import CUTS, Here, in_batches, rows_of, sorted_parcels, spread_out

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not have this file

ITEMS = pa.int64()


# --- buckets ---


def units_of(keys, items, cuts, every, places=3):
    """Return the units of keys and items that are dealt to some places."""
    table = pa.table([pa.array(keys, pa.int64()), pa.array(items, ITEMS)], names=["key", "item"])
    parcels = Parcels(table.schema, places)
    return units(sorted_parcels(dealt_rows(in_batches(table, cuts), parcels, every), cuts), parcels, every)


def pairs_of(batches):
    """Count the pairs that units contain."""
    found = Counter()
    for band, _, lefts, rights in rows_of(batches):
        pairs = combinations(lefts, 2) if rights is None else ((a, b) for a in lefts for b in rights)
        found.update((band, a, b) for a, b in pairs)
    return found


KEYS = st.lists(st.integers(0, 8), max_size=80)


@pytest.mark.slow
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


@pytest.mark.slow
@given(KEYS, CUTS, st.integers(6, 9), st.integers(1, 5))
@settings(max_examples=200)
def test_few_pairs_of_a_large_bucket(numbers, cuts, most, few):
    """A small bucket is compared in full; a large one is connected by far fewer pairs."""
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
    """No task gets them all: a few keep the key, the others have the key of their block."""
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
    with pytest.raises(TooManyPairs, match="3,000 items share a bucket in one band"):
        list(units_of([5] * 3000, range(3000), [], every=True))
    few = pairs_of(units_of([5] * 3000, range(3000), [], every=False))
    assert sum(few.values()) < 3000 * 25


# --- the same results ---


def crowd(count):
    """Return texts of forty words, any two of which differ in two words."""
    draw = random.Random(1)
    base = draw.choices([f"w{at}" for at in range(300)], k=40)
    texts = []
    for at in range(count):
        words = list(base)
        words[draw.randrange(40)] = f"x{at}"
        texts.append(" ".join(words))
    return pa.table({"id": range(count), "text": texts})


@pytest.mark.spark
def test_large_buckets_are_split_and_none_is_left_out(there, monkeypatch):
    table, options = crowd(150), {"threshold": 0.8, "shingles": "word:1"}
    expected = Here().pairs(table, **options)
    assert len(expected) > 10_000
    monkeypatch.setattr(frames, "units", _patched(buckets.units, MOST=50, BLOCK=20))
    assert there.pairs(table, **options) == expected


@pytest.mark.spark
def test_of_very_many_alike_one_is_kept(there, monkeypatch):
    """Several tasks compare each item with a few; the items left are compared again."""
    table, options = crowd(300), {"threshold": 0.8, "shingles": "word:1"}
    numbers = {"MOST": 20, "FEW": 3}
    monkeypatch.setattr(there, "frame", lambda table: there.session.createDataFrame(table).repartition(3))
    for name in ("units", "dealt_keys", "dealt_rows"):
        monkeypatch.setattr(frames, name, _patched(getattr(buckets, name), **numbers))
    listed = []
    monkeypatch.setattr(frames, "similar", _counting(frames.similar, listed))
    assert [row["kept"] for row in there.dropped(table, **options)] == [0] * 299
    assert sum(listed) < 300 * 20
    clusters = there.clusters(table, **options)
    assert [(row["id"], row["cluster"]) for row in clusters] == [(at, 0) for at in range(300)]


def _counting(similar, listed):
    """Return the function wrapped to record how many pairs it receives."""

    def counting(candidates, *others):
        listed.append(candidates.count())
        return similar(candidates, *others)

    return counting


class _patched:
    """A task that replaces some constants of its module, in any process it runs in."""

    def __init__(self, task, **numbers):
        self.task, self.numbers = task, numbers

    def __call__(self, batches, **options):
        module = sys.modules[self.task.__module__]
        before = {name: getattr(module, name) for name in self.numbers}
        try:
            for name, number in self.numbers.items():
                setattr(module, name, number)
            yield from self.task(batches, **options)
        finally:
            for name, number in before.items():
                setattr(module, name, number)
