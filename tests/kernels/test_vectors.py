"""Check kernels that measure and project vectors, each against its plain twin."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from lookalike.items.vectors import read_only
from lookalike.kernels.vectors import (
    ANGLE,
    COSINE,
    DISTANCE,
    PRODUCT,
    measure,
    measure_rows,
    measure_sparse,
    project,
    project_sparse,
)
from tests import reference as ref
from tests.strategies import matrices

seeds = st.integers(0, 2**64 - 1)


@given(matrices, st.integers(0, 4), seeds)
def test_project(rows, count, seed):
    """Equal to the last bit."""
    directions = np.random.default_rng(seed).normal(size=(count, len(rows[0])))
    found = project(np.array(rows), np.ascontiguousarray(directions.T))
    assert found.shape == (len(rows), count)
    assert found.tolist() == ref.project(rows, directions.tolist())


@pytest.mark.parametrize("items", [3, 4, 31, 32, 33, 37])
@pytest.mark.parametrize("dimensions", [3, 4, 5, 9])
@pytest.mark.parametrize("count", [15, 16, 17, 31, 32, 33, 49])
def test_project_on_many_directions(items, dimensions, count):
    """Equal to the last bit, whether or not rows, dimensions and directions fill whole blocks."""
    rng = np.random.default_rng([items, dimensions, count])
    rows = rng.normal(size=(items, dimensions)) * 10.0 ** rng.integers(-9, 9, (items, dimensions))
    rows[rng.random(rows.shape) < 0.2] = 0
    directions = rng.normal(size=(dimensions, count))
    assert project(rows, directions).tolist() == ref.project(rows.tolist(), directions.T.tolist())


MEASURES = {ANGLE: ref.angle, COSINE: ref.cosine_similarity, DISTANCE: ref.euclidean, PRODUCT: ref.inner_product}
FLOATS = [np.float32, np.float64]


# --- measures ---


def close(kind, found, expected):
    """Return whether values agree to 13 digits, or nearly so for small angles and cosines."""
    slack = {ANGLE: 1e-13, COSINE: 1e-15, DISTANCE: 0, PRODUCT: 0}[kind]
    return math.isclose(found, float(expected), rel_tol=1e-13, abs_tol=slack * 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5, 15, 16, 17, 50, 300])
def test_measures_of_rows(dimensions, kind):
    rng = np.random.default_rng(dimensions)
    base = rng.normal(size=(3, dimensions))
    rows = np.concatenate((base, -base, 3 * base, base + 1e-4 * rng.normal(size=base.shape), 1e6 + base)).astype(kind)
    left, right = np.triu_indices(len(rows))
    matrix = sparse.csr_array(rows)
    for what, twin in MEASURES.items():
        found = measure_rows(what, read_only(rows), left, right)
        expected = [twin(rows[i].tolist(), rows[j].tolist()) for i, j in zip(left, right, strict=True)]
        assert [close(what, a, b) for a, b in zip(found, expected, strict=True)] == [True] * len(expected)
        assert [measure(what, rows[i], rows[j]) for i, j in zip(left, right, strict=True)] == found.tolist()
        spread = measure_sparse(what, matrix.indptr, matrix.indices, matrix.data, left, right)
        assert spread.tolist() == found.tolist()


extremes = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.7e308, -1.7e308, 1e300, 1e-300, -1e-300, 5e-324, 1e-310, 3.0])


@pytest.mark.slow
@settings(max_examples=300)
@given(some.arrays(np.float64, (2, 3), elements=st.one_of(extremes, st.floats(-1e9, 1e9))))
def test_measures_of_huge_and_tiny_rows(rows):
    """Nothing overflows; a vector without direction has no angle."""
    x, y = rows.tolist()
    for what, twin in MEASURES.items():
        found = measure(what, *rows)
        if what in (ANGLE, COSINE) and not (any(x) and any(y)):
            assert math.isnan(found)
        elif what == DISTANCE and twin(x, y) > 1.79e308:
            assert found > 1.78e308
        else:
            assert close(what, found, twin(x, y)) or abs(found - float(twin(x, y))) <= 5e-324


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_rows_that_are_not_finite(wrong, kind):
    """They give nan; only the distance to infinity is infinite."""
    for x, y in ([wrong, 1], [1, 2]), ([1, 2], [3, wrong]), ([wrong, 1], [wrong, 1]):
        rows = np.array([x, y], kind)
        found = [measure(what, *rows) for what in MEASURES]
        assert all(map(math.isnan, found[:2]))
        assert math.isnan(found[2]) == (math.isnan(wrong) or x == y)


def test_measures_of_opposite_and_of_parallel_rows():
    rows = np.array([[1.0, 2, -2], [-1, -2, 2], [4, 8, -8], [1e300, 2e300, -2e300], [-5e-324, 0, 0], [5e-324, 0, 0]])
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 3], [4, 5], [0, 0]]).T
    assert measure_rows(ANGLE, read_only(rows), *pairs).tolist() == [180, 0, 0, 180, 180, 0]
    assert measure_rows(COSINE, read_only(rows), *pairs).tolist() == [-1, 1, 1, -1, -1, 1]
    assert measure_rows(DISTANCE, read_only(rows), *pairs).tolist() == [6, 9, 3e300, 3e300, 1e-323, 0]


def test_measures_of_no_rows_and_no_dimensions():
    rows, none = read_only(np.zeros((2, 0))), np.zeros(0, np.int64)
    assert measure_rows(DISTANCE, rows, np.array([0]), np.array([1])).tolist() == [0]
    assert np.isnan(measure_rows(ANGLE, rows, np.array([0]), np.array([1]))).all()
    assert measure_rows(ANGLE, rows, none, none).tolist() == []
    matrix = sparse.csr_array((2, 0))
    parts = (matrix.indptr, matrix.indices, matrix.data)
    assert measure_sparse(DISTANCE, *parts, np.array([0]), np.array([1])).tolist() == [0]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(FLOATS))
def test_sparse_rows_measure_like_dense_ones(seed, dimensions, kind):
    """To the last bit, even empty rows and rows with nothing in common."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(8, dimensions)).astype(kind)
    rows[rng.random(rows.shape) < 0.7] = 0
    matrix = sparse.csr_array(rows)
    left, right = (grid.ravel() for grid in np.indices((8, 8)))
    for what in MEASURES:
        dense = measure_rows(what, read_only(rows), left, right)
        spread = measure_sparse(what, matrix.indptr, matrix.indices, matrix.data, left, right)
        assert np.array_equal(dense, spread, equal_nan=True)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 20), st.integers(1, 20))
def test_products_of_sparse_rows_with_directions(seed, dimensions, count):
    rng = np.random.default_rng(seed)
    rows, directions = rng.normal(size=(5, dimensions)), rng.normal(size=(dimensions, count))
    rows[rng.random(rows.shape) < 0.5] = 0
    matrix = sparse.csr_array(rows)
    found = project_sparse(matrix.indptr, matrix.indices, matrix.data, directions)
    assert found.tolist() == project(rows, directions).tolist() == ref.project(rows.tolist(), directions.T.tolist())
