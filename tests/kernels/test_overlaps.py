"""Check the comparison of rows of weighted elements against plain twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.overlaps import common_weights, count_apart, count_nearest, overlaps, sums_of_rows, two_best
from tests import reference as ref

ROWS = st.lists(st.lists(st.integers(0, 9), unique=True, max_size=7).map(sorted), min_size=1, max_size=12)
WEIGHTS = st.lists(st.floats(-3, 9), min_size=10, max_size=10)


def as_arrays(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    return indptr, np.array([element for row in rows for element in row], np.int32)


def pairs_of(rows, data):
    places = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(places, places), max_size=9))
    return np.array(pairs, np.int64).reshape(-1, 2).T


@given(ROWS, WEIGHTS)
def test_sums_of_rows(rows, weights):
    found = sums_of_rows(*as_arrays(rows), np.array(weights))
    assert found.tolist() == pytest.approx([sum(weights[one] for one in row) for row in rows])


@given(ROWS, WEIGHTS, st.data())
def test_overlaps(rows, weights, data):
    left, right = pairs_of(rows, data)
    found = overlaps(*as_arrays(rows), np.array(weights), left, right)
    expected = [ref.overlaps(rows[a], rows[b], weights) for a, b in zip(left, right, strict=True)]
    assert np.column_stack(found) == pytest.approx(np.array(expected).reshape(-1, 4))
    common = common_weights(*as_arrays(rows), np.array(weights), left, right)
    assert np.array_equal(common, found[0])


@given(ROWS, st.data())
def test_count_apart(rows, data):
    left, right = pairs_of(rows, data)
    found = count_apart(*as_arrays(rows), left, right, 10)
    pairs = [(rows[a], rows[b]) for a, b in zip(left, right, strict=True)]
    assert [one.tolist() for one in found] == [*ref.count_apart(pairs, 10)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-2, 2)), max_size=12))
def test_two_best(pairs):
    left, right = np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2).T
    values = [value for *_, value in pairs]
    found = np.column_stack(two_best(left, right, np.array(values), 5))
    assert found.tolist() == ref.two_best([*left, *right], [*values, *values], 5)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(5, 8), st.integers(0, 3)), max_size=12))
def test_count_nearest(pairs):
    left, right, values = (np.array(some, np.int64) for some in (zip(*pairs, strict=True) if pairs else ([], [], [])))
    best = np.array([max((v for a, b, v in pairs if row in (a, b)), default=-1) for row in range(9)], float)
    expected = [
        sum(v >= best[b] for a, b, v in pairs if a == row) + sum(v >= best[a] for a, b, v in pairs if b == row)
        for row in range(9)
    ]
    assert count_nearest(left, right, values.astype(float), best).tolist() == expected
