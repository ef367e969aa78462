"""Check the search for nearest rows against plain twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import postings
from lookalike.kernels.postings import (
    nearest_by_elements,
    number_distinct,
    rank_rows,
    rows_of_elements,
    spread_to_records,
)
from tests import reference as ref

NO_LIMIT = 1 << 30
ROWS = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=8).map(sorted), min_size=1, max_size=30)


def as_arrays(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    return indptr, np.array([element for row in rows for element in row], np.int32)


def search(rows, queries, targets, k, most, alone):
    weights = 1 + np.log(13 / np.arange(1, 14))
    lengths = np.sqrt([sum(weights[element] ** 2 for element in row) for row in rows])
    indptr, elements = as_arrays(rows)
    index = rows_of_elements(indptr, elements, np.array(targets, np.int64), 13)
    given = (np.array(queries, np.int64), indptr, elements, weights, lengths, *index, k, most, alone)
    return (*nearest_by_elements(*given), weights)


@given(ROWS, st.integers(1, 4), st.booleans(), st.data())
def test_nearest_by_elements(rows, k, alone, data):
    """With no limit, the nearest rows are found; where proven, a limit does not matter."""
    places = st.lists(st.integers(0, len(rows) - 1), unique=True, max_size=10).map(sorted)
    queries, targets = data.draw(places), data.draw(places)
    found, cosines, proven, weights = search(rows, queries, targets, k, NO_LIMIT, alone)
    _, near, certain, _ = search(rows, queries, targets, k, data.draw(st.integers(0, 20)), alone)
    for at, query in enumerate(queries):
        expected = ref.nearest_by_elements(rows, weights.tolist(), query, targets, k, alone)
        assert cosines[at].tolist() == pytest.approx([cosine for _, cosine in expected], abs=1e-9)
        assert [row >= 0 for row in found[at]] == [cosine > 0 for cosine in cosines[at]]
        for row, cosine in zip(found[at].tolist(), cosines[at].tolist(), strict=True):
            assert row < 0 or (row in targets and not (alone and row == query))
            assert row < 0 or cosine == pytest.approx(ref.cosine_of_elements(rows[query], rows[row], weights.tolist()))
        if certain[at]:
            assert near[at].tolist() == pytest.approx(cosines[at].tolist(), abs=1e-9)
        assert (near[at] <= cosines[at] + 1e-9).all()
    assert (certain <= proven).all() or len(targets) > postings.FINALISTS


def test_the_nearest_are_proven_without_reading_all():
    """Row 1 has all of the query's rare elements; the frequent one, which all rows have, is not read."""
    rows = [[0, 1, 12], [0, 1, 12], *([12] for _ in range(200))]
    found, cosines, proven, _ = search(rows, [0], range(1, len(rows)), 1, 50, False)
    assert (found.tolist(), proven.tolist()) == ([[1]], [True])
    assert cosines[0, 0] == pytest.approx(1)
    *_, proven, _ = search(rows, [0], range(1, len(rows)), 3, 50, False)
    assert not proven[0]  # the second nearest has only the frequent element in common


def test_ties_go_to_the_first_row():
    rows = [[3, 5], *([3, 5] for _ in range(40))]
    assert search(rows, [0], range(1, 41), 3, NO_LIMIT, False)[0].tolist() == [[1, 2, 3]]


@given(ROWS, st.data())
def test_rows_of_elements(rows, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), unique=True).map(sorted))
    by_indptr, by_rows = rows_of_elements(*as_arrays(rows), np.array(chosen, np.int64), 13)
    lists = [by_rows[start:stop].tolist() for start, stop in pairwise(by_indptr.tolist())]
    assert lists == ref.rows_of_elements(rows, chosen, 13)


@given(st.lists(st.sampled_from([0, 1, 2, 16, 32, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1), max_size=40))
def test_number_distinct(hashes):
    found = number_distinct(np.array(hashes, np.uint64))
    assert [some.tolist() for some in found] == list(ref.number_distinct(hashes))


@given(ROWS, st.randoms())
def test_rank_rows(rows, rng):
    ranks = list(range(13))
    rng.shuffle(ranks)
    weights = [1.5 + rank for rank in ranks]
    indptr, elements = as_arrays(rows)
    lengths = rank_rows(indptr, elements, np.array(ranks, np.int32), np.array(weights))
    expected, expected_lengths = ref.rank_rows(rows, ranks, weights)
    assert elements.tolist() == [rank for row in expected for rank in row]
    assert lengths.tolist() == pytest.approx(expected_lengths)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 3), st.booleans(), st.data())
def test_spread_to_records(texts, k, alone, data):
    """Record i has the text texts[i]; each text has some nearest texts, none of them its own."""
    wanted = sorted(set(texts))
    near = []
    for text in wanted:
        others = [one for one in wanted if one != text]
        near.append(data.draw(st.lists(st.sampled_from(others), unique=True, max_size=k)) if others else [])
    rows = np.array([[*row, *[-1] * (k - len(row))] for row in near], np.int64).reshape(len(wanted), k)
    cosines = np.where(rows >= 0, 0.5, 0.0)
    records = np.arange(len(texts))
    order = np.argsort(texts, kind="stable")
    by_text = np.cumsum(np.bincount(np.array(texts) + 1, minlength=6))
    place = np.searchsorted(wanted, texts)
    found, similarity = spread_to_records(records, np.array(texts), place, rows, cosines, by_text, order, alone)
    for record, text in enumerate(texts):
        expected = ref.spread_to_records(
            record, texts, [one for one in rows[place[record]].tolist() if one >= 0], k, alone
        )
        cosine = [1.0 if alone and texts[one] == text else 0.5 for one in expected]
        assert found[record].tolist() == [*expected, *[-1] * (k - len(expected))]
        assert similarity[record].tolist() == [*cosine, *[0.0] * (k - len(expected))]
