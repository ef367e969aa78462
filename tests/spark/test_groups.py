"""Check how groups are packed into places and cut, and what is compared there."""

import random
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.spark import groups
from lookalike.spark.groups import (
    Connections,
    Removals,
    SimilarPairs,
    crossed,
    cut_up,
    dealt_members,
    dealt_texts,
    packed,
)
from lookalike.spark.making import OfLists
from lookalike.spark.parcels import Parcels
from lookalike.spark.tasks import key_rows
from tests.engines import CUTS, PLAN, in_batches, rows_of

BANDS = PLAN.bands.bands


# --- places ---


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 4), CUTS)
@settings(max_examples=200)
def test_no_place_takes_more_than_its_limit(weights, members, cuts):
    """Every group is at one place; only groups that are larger have none."""
    limit = 50
    table = pa.table(
        {
            "number": range(len(weights) * members),
            "group": np.repeat(7 * np.arange(len(weights)), members),
            "weight": np.repeat(np.array(weights), members),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "LEAST", 10)
        found = rows_of(packed(in_batches(table, cuts), limit))
    assert [number for number, _, _ in found] == list(range(len(table)))
    load, homes = {}, {}
    for (_, place, part), group, weight in zip(
        found, *table.select(["group", "weight"]).to_pydict().values(), strict=True
    ):
        assert part == 0
        assert (place is None) == (weight * members > limit)
        assert homes.setdefault(group, place) == place
        load[place] = load.get(place, 0) + weight
    load.pop(None, None)
    assert all(bytes_ <= limit for bytes_ in load.values())
    assert set(load) <= set(homes)


@given(st.lists(st.integers(1, 20), min_size=2, max_size=25))
def test_every_two_members_of_a_cut_group_meet_once(weights):
    """Across blocks or within one; no two blocks exceed the limit."""
    items = random.Random(len(weights)).sample(range(100), len(weights))
    table = pa.table({"number": range(len(weights)), "group": [5] * len(weights), "weight": weights, "item": items})
    blocks = pa.Table.from_batches(cut_up(in_batches(table, []), (), 80))
    of_block = dict(zip(blocks["number"].to_pylist(), blocks["block"].to_pylist(), strict=True))
    order = sorted(range(len(items)), key=lambda at: items[at])
    assert [of_block[at] for at in order] == sorted(of_block.values())
    met, load = [], {}
    places = {}
    for number, place, part in rows_of(crossed(iter(blocks.combine_chunks().to_batches()))):
        assert place < 0
        places.setdefault(place, {0: [], 1: []})[part].append(number)
        load[place] = load.get(place, 0) + weights[number]
    for parts in places.values():
        inside = combinations(parts[0], 2) if not parts[1] else ((a, b) for a in parts[0] for b in parts[1])
        met += [tuple(sorted(pair)) for pair in inside]
    assert sorted(met) == list(combinations(range(len(weights)), 2))
    assert all(bytes_ <= 80 for bytes_ in load.values())


# --- what is compared ---


LISTS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=1, max_size=9)


def brought(lists, parts, cuts, wrong=None):
    """Return the parcels of members that are all in one bucket, at place 3, and how to compare them."""
    count = len(lists)
    names = random.Random(count).sample(range(1000), count)
    schema = Parcels(groups.member_schema(pa.int64(), BANDS))
    texts = Parcels(pa.schema({"number": pa.int64(), "content": pa.list_(pa.int64())}), compressed=True)
    keys = key_rows(np.zeros((count, BANDS), np.uint64))
    numbers, place = pa.array(range(count), pa.int64()), pa.array([3] * count, pa.int64())
    members = pa.table(
        {"place": place, "number": numbers, "part": pa.array(parts, pa.int32()), "item": names, "keys": keys}
    )
    content = pa.table({"place": place, "number": numbers, "content": pa.array(lists, pa.list_(pa.int64()))})
    if wrong is not None:
        content = content.take(pa.array(wrong, pa.int64()))
    sent = [*dealt_members(in_batches(members, cuts), schema), *dealt_texts(in_batches(content, cuts), texts)]
    random.Random(1).shuffle(sent)
    return names, sent, (OfLists(PLAN), (), schema, texts, count)


def similarity(one, other):
    return len(set(one) & set(other)) / len(set(one) | set(other))


@pytest.mark.slow
@given(LISTS, CUTS, st.data())
def test_pairs_are_verified(lists, cuts, data):
    parts = data.draw(st.lists(st.integers(0, 1), min_size=len(lists), max_size=len(lists)))
    names, sent, given_ = brought(lists, parts, cuts)
    found = rows_of(SimilarPairs(*given_, limit=1000)(iter(sent)))
    expected = []
    for one, other in combinations(sorted(range(len(lists)), key=lambda at: (parts[at], names[at])), 2):
        value = similarity(lists[one], lists[other])
        if value >= 0.6 and (not any(parts) or parts[one] != parts[other]):
            expected.append((names[one], names[other], value))
    assert sorted(found) == sorted(expected)


@pytest.mark.slow
@given(LISTS, CUTS)
def test_stars_and_connections(lists, cuts):
    names, sent, given_ = brought(lists, [0] * len(lists), cuts)
    order = sorted(range(len(lists)), key=lambda at: names[at])
    kept, dropped = [], {}
    label = {at: at for at in order}
    for place, item in enumerate(order):
        centre = next((one for one in kept if similarity(lists[one], lists[item]) >= 0.6), None)
        if centre is None:
            kept.append(item)
        else:
            dropped[names[item]] = similarity(lists[centre], lists[item])
        for other in order[:place]:
            if similarity(lists[other], lists[item]) >= 0.6:
                old, new = label[item], label[other]
                label = {at: new if one == old else one for at, one in label.items()}
    found = rows_of(Removals(*given_)(iter(sent)))
    assert {item: value for item, _, value in found} == dropped
    assert {centre for _, centre, _ in found} <= {names[at] for at in kept}
    first = {}
    for item in order:
        first.setdefault(label[item], names[item])
    expected = {(names[at], first[label[at]]) for at in order if names[at] != first[label[at]]}
    assert {(item, one) for item, one, _ in rows_of(Connections(*given_)(iter(sent)))} == expected


@pytest.mark.slow
@given(LISTS, CUTS, st.data())
def test_later_members_are_compared_only_with_what_the_first_keep(lists, cuts, data):
    parts = data.draw(st.lists(st.integers(0, 1), min_size=len(lists), max_size=len(lists)))
    names, sent, given_ = brought(lists, parts, cuts)
    kept, gone = [], set()
    for item in sorted((at for at in range(len(lists)) if not parts[at]), key=lambda at: names[at]):
        if any(similarity(lists[one], lists[item]) >= 0.6 for one in kept):
            gone.add(names[item])
        else:
            kept.append(item)
    gone |= {
        names[at]
        for at in range(len(lists))
        if parts[at] and any(similarity(lists[at], lists[one]) >= 0.6 for one in kept)
    }
    assert {item for item, _, _ in rows_of(Removals(*given_)(iter(sent)))} == gone


@pytest.mark.parametrize("wrong", [[0], [0, 1, 1], [1, 1], []])
def test_a_text_that_is_missing_or_repeated_is_noticed(wrong):
    """This happens if a data frame returns different rows when it is read again."""
    _, sent, given_ = brought([[1], [1, 2]], [0, 0], [], wrong)
    with pytest.raises(DataError, match="the data frame returned different rows when it was read again"):
        list(Removals(*given_)(iter(sent)))
