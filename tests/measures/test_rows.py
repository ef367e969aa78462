"""Check that measures of many rows agree with those of two objects and with their plain twins."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, from_dtype

from lookalike.core.errors import DataError
from lookalike.items.sets import Sets
from lookalike.measures import MEASURES
from lookalike.measures import rows as pairwise
from tests import reference as ref
from tests.failing import fails
from tests.measure_samples import (
    CASES,
    INFINITE,
    LARGEST,
    LEAST,
    MAGNITUDES,
    NAN,
    bags,
    domain_of,
    long_strings,
    sets,
    strings,
)

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES += ("float16", "float32", "float64")
# How far a measure can be from its twin; counts must be equal. The angle is in degrees.
NORM = {"rel_tol": 1e-13, "abs_tol": 4 * LEAST}
TOLERANCE = dict.fromkeys(("minkowski", "euclidean", "manhattan", "chebyshev"), NORM)
TOLERANCE |= {"set_cosine": {"rel_tol": 1e-15, "abs_tol": 0}}
TOLERANCE |= {"angle": {"rel_tol": 0, "abs_tol": 1e-12}, "cosine_similarity": {"rel_tol": 0, "abs_tol": 1e-14}}
EXACT = {"rel_tol": 0, "abs_tol": 0}
VECTORS = [name for name, measure in MEASURES.items() if measure.domain == "vectors"]


# --- random items and pairs ---

LAYOUTS = (np.ascontiguousarray, np.asfortranarray, lambda matrix: np.repeat(matrix, 2, axis=1)[:, ::2])


@st.composite
def matrices(draw, least=0):
    """Draw vectors of every type and layout, some of them equal."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.integers(1, 5)), draw(st.sampled_from([size for size in (0, 1, 2, 3, 8, 9, 40) if size >= least]))
    elements = from_dtype(dtype, allow_nan=False, allow_infinity=False)
    if dtype == np.float64:
        elements = st.one_of(st.sampled_from(MAGNITUDES), st.floats(-9, 9), elements)
    matrix = draw(arrays(dtype, shape, elements=elements, fill=elements))
    matrix = matrix[draw(st.lists(st.integers(0, shape[0] - 1), min_size=shape[0], max_size=shape[0]))]
    return draw(st.sampled_from(LAYOUTS))(matrix)


def no_zeros(matrix):
    """Put a one into the first column of every zero vector."""
    matrix[~matrix.any(axis=1), 0] = 1
    return matrix


COLLECTIONS = {
    "sets": st.lists(sets, max_size=6),
    "bags": st.lists(bags, max_size=6),
    "vectors": matrices(),
    "directions": matrices(least=1).map(no_zeros),
    "strings": st.one_of(st.lists(strings, max_size=6), long_strings()),
}


def drawn_pairs(items):
    """Draw pairs of rows, all in both orders and one of them twice."""
    if not len(items):
        return st.just([])
    rows = st.integers(0, len(items) - 1)
    pairs = st.lists(st.tuples(rows, rows), max_size=6)
    return pairs.map(lambda some: [*some, *((j, i) for i, j in some), *some[:1]])


# --- each measure and its twin ---


def twin(name, x, y, **options):
    """Call the twin with Python's numbers; vectors become floats unless differences are counted."""
    if isinstance(x, np.ndarray):
        x, y = (side.tolist() if name == "hamming" else side.astype(float).tolist() for side in (x, y))
    return getattr(ref, name)(x, y, **options)


def assert_close(name, got, wanted):
    """Compare two values; near the largest float, infinity and a finite value count as equal."""
    one, two = (max(min(float(value), 0.999 * LARGEST), -LARGEST) for value in (got, wanted))
    assert math.isclose(one, two, **TOLERANCE.get(name, EXACT)), (got, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES)
@settings(max_examples=40)
@given(st.data(), st.sampled_from((1, 2, 5, 16, 1 << 20)))
def test_rows_and_two_objects_and_twin_agree(name, options, data, block):
    measure = MEASURES[name]
    items = data.draw(COLLECTIONS[domain_of(name)])
    pairs = data.draw(drawn_pairs(items))
    left, right = [i for i, _ in pairs], [j for _, j in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "BLOCK", block)
        rows = measure.rows(Sets.of(items) if measure.domain in ("sets", "bags") else items, left, right, **options)
    assert rows.shape == (len(pairs),)
    assert rows.dtype == (np.int64 if name in ("hamming", "edit", "levenshtein", "overlap") else np.float64)
    for (i, j), got in zip(pairs, rows.tolist(), strict=True):
        assert measure.low <= got <= measure.high
        assert got == measure.of(items[i], items[j], **options)
        assert_close(name, got, twin(name, items[i], items[j], **options))


@pytest.mark.parametrize("block", [1, 299, 300, 301, 1 << 20])
@pytest.mark.parametrize("name", VECTORS)
def test_long_vectors(monkeypatch, name, block):
    """They have more columns than NumPy sums at once, and fill several blocks."""
    monkeypatch.setattr(pairwise, "BLOCK", block)
    matrix = np.random.default_rng(1).normal(size=(4, 300)).round(1)
    left, right = [0, 1, 2, 3, 0], [1, 1, 3, 0, 2]
    for i, j, got in zip(left, right, MEASURES[name].rows(matrix, left, right), strict=True):
        assert got == MEASURES[name].of(matrix[i], matrix[j])
        assert_close(name, got, twin(name, matrix[i], matrix[j]))


def test_no_cosine_exceeds_one():
    """Although the sums of squares are rounded, up or down."""
    matrix = np.random.default_rng(1).normal(size=(500, 3))
    rows = np.arange(500)
    of = MEASURES["cosine_similarity"].rows
    same, opposite = of(matrix, rows, rows), of(np.vstack((matrix, -matrix)), rows, rows + 500)
    assert same.max() == 1
    assert opposite.min() == -1
    assert same.min() == pytest.approx(1, rel=1e-15)
    assert opposite.max() == pytest.approx(-1, rel=1e-15)


@settings(max_examples=300)
@given(st.data(), st.integers(1, 5))
def test_inner_products_are_as_exact_as_double_precision_is(data, dimensions):
    """However large the products are: off by at most a few roundings of their sizes, and of the least number."""
    numbers = st.one_of(st.sampled_from(MAGNITUDES), st.floats(allow_nan=False, allow_infinity=False))
    rows = data.draw(arrays(np.float64, (2, dimensions), elements=numbers))
    got = MEASURES["inner_product"].rows(rows, [0], [1])[0]
    products = [Fraction(x) * Fraction(y) for x, y in zip(*rows.tolist(), strict=True)]
    slack = dimensions * (Fraction(2) ** -52 * sum(map(abs, products)) + Fraction(LEAST))
    least, most = (max(-(2**1024), min(2**1024, sum(products) + sign * slack)) for sign in (-1, 1))
    assert not math.isnan(got)
    assert least <= (Fraction(got) if math.isfinite(got) else 2**1024 if got > 0 else -(2**1024)) <= most


def test_inner_products_of_huge_rows():
    huge = np.array([[1e200, 1e200], [1e200, -1e200], [2.0, 1.0], [-1e200, 0]])
    rows = MEASURES["inner_product"].rows(huge, [0, 0, 0, 0], [0, 1, 2, 3])
    assert rows.tolist() == [INFINITE, 0, 3e200, -INFINITE]
    fails(DataError, "vectors must have finite components; row 1 does not.", MEASURES["inner_product"].rows,
          [[0.0], [INFINITE]], [0], [1])  # fmt: skip


# --- invalid input ---

NO_MATRIX = "vectors must be the rows of a matrix of real numbers; got {}."


@pytest.mark.parametrize("name", ["angle", "cosine_similarity"])
def test_a_zero_row_has_no_direction(monkeypatch, name):
    """Only rows in a pair count; the message names the row, in whichever block it is."""
    monkeypatch.setattr(pairwise, "BLOCK", 4)
    rows = MEASURES[name].rows
    matrix = [[1, 1], [0, 0], [2, 1], [1, 3], [0, 0]]
    assert len(rows(matrix, [0, 2, 3], [2, 3, 0])) == 3
    fails(DataError, "a zero vector has no direction; row 1 is zero.", rows, matrix, [0, 2, 1], [2, 3, 4])
    fails(DataError, "a zero vector has no direction; row 4 is zero.", rows, matrix, [0, 2, 0, 3], [2, 3, 4, 1])
    fails(DataError, "a zero vector has no direction; row 0 is zero.", rows, [[], []], [0], [1])


@pytest.mark.parametrize("name", [name for name in VECTORS if name != "hamming"])
def test_invalid_matrices(monkeypatch, name):
    monkeypatch.setattr(pairwise, "BLOCK", 2)
    rows = MEASURES[name].rows
    for pairs in ([0], []):
        fails(DataError, "vectors must all have the same length.", rows, [[1, 2], [3]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("1 dimensions of int64"), rows, [1, 2], pairs, pairs)
        fails(DataError, NO_MATRIX.format("3 dimensions of int64"), rows, [[[1]]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("1 dimensions of <U2"), rows, ["ab", "cd"], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of <U1"), rows, [["1"], ["2"]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of object"), rows, [[1], [None]], pairs, pairs)
        fails(DataError, NO_MATRIX.format("2 dimensions of complex128"), rows, [[1j]], pairs, pairs)
    for bad in (NAN, INFINITE, -INFINITE):
        matrix = [[1, 2], [3, 4], [1, bad]]
        assert len(rows(matrix, [0], [1])) == 1
        fails(DataError, "vectors must have finite components; row 2 does not.", rows, matrix, [0, 1, 2], [1, 0, 0])
        fails(DataError, "vectors must have finite components; row 2 does not.", rows, matrix, [0, 1, 0], [1, 0, 2])


@pytest.mark.parametrize("bad", [5, None, b"a", ["a"]])
def test_items_that_are_not_strings(bad):
    rows = MEASURES["edit"].rows
    fails(DataError, "items must be strings.", rows, ["a", bad], [0], [1])
    fails(DataError, "items must be strings.", rows, ["a", bad], [1], [0])
    assert rows(["a", bad], [0], [0]).tolist() == [0]
