"""Check the nearest neighbours of records by a field or by all, against brute force."""

import itertools
import math
from collections import Counter
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.run import Run
from lookalike.entities import neighbours
from lookalike.entities.fields import Column
from lookalike.entities.neighbours import nearest_as_whole, nearest_by, whole_texts
from lookalike.items.sides import ALONE, Sides

RUN = Run(2)
VALUES = [None, "a", "b", "ann lee", "anne lee", "bob ray", "12 elm street", "bob rays"]


def column(values, name="name", kind="text"):
    texts = pa.array(values, pa.large_string())
    return Column(name, kind, texts, texts)


def elements(text):
    """Return the words, pairs of words and trigrams of a text in lower case."""
    words = text.split()
    pairs = [" ".join(pair) for pair in itertools.pairwise(words)] or [text]
    pieces = [text[at : at + 3] for at in range(len(text) - 2)] or [text]
    return {*((1, word) for word in words), *((2, pair) for pair in pairs), *((3, piece) for piece in pieces)}


def cosines(values):
    """Return the cosines of all texts, weighted by the rarity among distinct ones; nan if one is missing."""
    distinct = {value: elements(value) for value in values if value is not None}
    counts = Counter(one for some in distinct.values() for one in some)
    square = {one: math.log(1 + len(distinct) / count) ** 2 for one, count in counts.items()}
    out = np.full((len(values), len(values)), np.nan)
    for a, b in itertools.product(range(len(values)), repeat=2):
        if values[a] is not None and values[b] is not None:
            one, other = distinct[values[a]], distinct[values[b]]
            lengths = math.sqrt(sum(map(square.get, one)) * sum(map(square.get, other)))
            out[a, b] = sum(map(square.get, one & other)) / lengths
    return out


@given(st.lists(st.sampled_from(VALUES), min_size=1, max_size=12), st.integers(0, 12), st.integers(1, 3), st.booleans())
@settings(max_examples=80)
def test_nearest_by(values, split, k, two):
    """Each record has its k nearest or ties, in the other table if there are two."""
    sides = Sides(min(split, len(values))) if two else ALONE
    found = nearest_by(column(values), sides, k, RUN)
    assert (np.diff(found.record) >= 0).all()
    near = cosines(values)
    for record in range(len(values)):
        others = [
            other
            for other in range(len(values))
            if other != record and (not two or (other < sides.first) != (record < sides.first))
        ]
        ranked = sorted((near[record, other] for other in others if near[record, other] > 1e-9), reverse=True)
        rows = found.record == record
        assert found.similarity[rows].tolist() == pytest.approx(ranked[:k])
        assert near[record, found.neighbour[rows]] == pytest.approx(found.similarity[rows])
        assert {*found.neighbour[rows].tolist()} <= {*others}
    expected = {(min(a, b), max(a, b)) for a, b in zip(found.record, found.neighbour, strict=True)}
    assert {divmod(int(pair), len(values)) for pair in found.pairs(len(values))} == expected


def test_only_some_records_are_searched_for():
    values = ["ann lee", "bob ray", "ann leo", "bob rax", "zoe q"]
    every = nearest_by(column(values), Sides(2), 1, RUN)
    some = nearest_by(column(values), Sides(2), 1, RUN, np.array([True, False, False, True, True]))
    assert (every.record.tolist(), every.neighbour.tolist()) == ([0, 1, 2, 3], [2, 3, 0, 1])
    assert (some.record.tolist(), some.neighbour.tolist()) == ([0, 3], [2, 1])


@pytest.mark.parametrize("sides", [ALONE, Sides(0), Sides(3), Sides(5)])
def test_nearest_of_none(sides):
    for found in (
        nearest_by(column([None] * 5), sides, 2, RUN),
        nearest_as_whole([column([None] * 5)] * 2, sides, 2, RUN),
    ):
        assert (len(found.record), found.searches, found.proven) == (0, 0, 0)


def test_whole_texts():
    """The words of all fields, in one text; records without values have none."""
    columns = [column(["ann", None, None, "b"]), column([None, None, "1 elm", "2 oak"], "street")]
    assert whole_texts(columns, Run(1)).to_pylist() == ["ann", None, "1 elm", "b 2 oak"]


def test_values_in_another_column_or_order_are_near():
    left, right = ["the silver lining", "john smith ann lee"], ["lee ann", "lining silver the 1932"]
    columns = [column([*left, None, None]), column([None, None, *right], "other")]
    found = nearest_as_whole(columns, Sides(2), 1, RUN)
    assert dict(zip(found.record.tolist(), found.neighbour.tolist(), strict=True)) == {0: 3, 1: 2, 2: 1, 3: 0}


def test_parts_and_threads_do_not_matter(monkeypatch):
    draw = np.random.default_rng(1)
    values = [" ".join(draw.choice(["ann", "bob", "lee", "ray", "smith"], 3)) + str(n % 70) for n in range(150)]
    found = []
    for threads, size in ((1, 1 << 14), (3, 7)):
        monkeypatch.setattr(neighbours, "TEXTS_PER_TASK", size)
        monkeypatch.setattr(neighbours, "SEARCHES_PER_TASK", size)
        found.append(nearest_by(column(values), Sides(70), 2, Run(threads)))
    for one in fields(found[0]):
        assert np.array_equal(getattr(found[0], one.name), getattr(found[1], one.name))


def test_a_search_that_reads_little_is_not_proven(monkeypatch):
    values = [f"{word} street {n}" for n in range(20) for word in ("elm", "oak")]
    every = nearest_by(column(values), Sides(20), 1, RUN)
    monkeypatch.setattr(neighbours, "MOST_READ", 8)
    some = nearest_by(column(values), Sides(20), 1, RUN)
    assert some.proven < every.proven <= every.searches == some.searches == 40
