"""Check vectors: the inputs they accept, those they reject, and the rows they skip."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.items.vectors import BLOCK, Vectors, not_finite, squares_of, stacked, zero_rows

HINT = r"; use Vectors\.of\(on_error='skip'\) to skip such rows\.$"
NAN = float("nan")


# --- vectors ---


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float16", "float32"), ("float32", "float32"), ("float64", "float64"), (">f4", "float32"), (">f8", "float64"),
        ("longdouble", "float64"), ("bool", "float32"), ("int8", "float32"), ("uint16", "float32"),
        ("int32", "float64"), ("uint64", "float64"),
    ],
)  # fmt: skip
def test_components_are_floats(given: str, kept: str) -> None:
    matrix = np.array([[0, 1, 1], [1, 0, 1]]).astype(given)
    vectors = Vectors.of(matrix)
    assert vectors.values.dtype == np.dtype(kept)
    assert vectors.values.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert (len(vectors), vectors.dimensions, vectors.sparse, vectors.ids, vectors.skipped) == (2, 3, False, None, 0)
    if given in ("bool", "float16", ">f4", ">f8"):
        return
    few = Vectors.of(sparse.coo_array(matrix))
    assert few.sparse
    assert few.values.format == "csr"
    assert few.values.dtype == np.dtype(kept)
    assert few.values.toarray().tolist() == [[0, 1, 1], [1, 0, 1]]


def test_floats_are_not_copied(tmp_path: Path) -> None:
    for kind in (np.float32, np.float64):
        matrix = np.ones((3, 2), kind)
        assert Vectors.of(matrix).values is matrix
        np.save(tmp_path / "a.npy", matrix)
        mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
        assert Vectors.of(mapped).values is mapped
    for other in (np.ones((2, 3)).T, np.ones((4, 2))[::2]):
        values = Vectors.of(other).values
        assert values.flags.c_contiguous
        assert values.tolist() == other.tolist()


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_numpy_matrix_becomes_an_array() -> None:
    values = Vectors.of(np.asmatrix([[1.0, 2.0]])).values
    assert type(values) is np.ndarray


@given(
    some.arrays(np.float64, st.tuples(st.integers(0, 20), st.integers(1, 5)), elements=st.sampled_from([0.0, 1.5, -2])),
    st.sets(st.integers(0, 19)),
    st.sampled_from([NAN, np.inf, -np.inf]),
    st.booleans(),
)
def test_rows_that_are_not_finite(matrix: np.ndarray, bad: set[int], value: float, few: bool) -> None:
    bad = {row for row in bad if row < len(matrix)}
    matrix[list(bad), -1] = value
    given = sparse.csr_array(matrix) if few else matrix
    assert not_finite(given).tolist() == sorted(bad)
    vectors = Vectors.of(given, on_error="skip")
    good = [row for row in range(len(matrix)) if row not in bad]
    values = vectors.values.toarray() if few else vectors.values
    assert values.tolist() == matrix[good].tolist()
    assert vectors.skipped == len(bad)
    assert vectors.ids is None if not bad else vectors.ids.to_pylist() == good
    if bad:
        with pytest.raises(DataError, match=f"^row {min(bad)}: a component is nan or infinite{HINT}"):
            Vectors.of(given)


def test_bad_rows_across_blocks() -> None:
    matrix = np.zeros((BLOCK // 4 + 10, 8), np.float32)
    bad = [0, BLOCK // 8 - 1, BLOCK // 8, len(matrix) - 1]
    matrix[bad, 3] = NAN
    assert not_finite(matrix).tolist() == bad


def test_ids_go_with_their_rows() -> None:
    rows = [[1.0, 2], [NAN, 1], [3, 4]]
    vectors = Vectors.of(rows, ids=["a", "b", "c"], on_error="skip")
    assert vectors.ids.to_pylist() == ["a", "c"]
    again = vectors.without(np.array([0]), "it is too small")
    assert (again.ids.to_pylist(), again.skipped, again.on_error) == (["c"], 2, "skip")
    with pytest.raises(DataError, match=rf"^row 1 \(b\): a component is nan or infinite{HINT}"):
        Vectors.of(rows, ids=["a", "b", "c"])
    assert vectors.without(np.array([], int), "nothing") is vectors


def test_ragged_rows() -> None:
    rows = [[1.0, 2], [3], [4, NAN], [5, 6], []]
    vectors = Vectors.of(rows, on_error="skip")
    assert vectors.values.tolist() == [[1, 2], [5, 6]]
    assert (vectors.ids.to_pylist(), vectors.skipped) == ([0, 3], 3)
    assert Vectors.of(rows, ids=list("abcde"), on_error="skip").ids.to_pylist() == ["a", "d"]
    with pytest.raises(DataError, match=f"^row 1: 1 component, where the first row has 2{HINT}"):
        Vectors.of(rows)


def test_no_vectors() -> None:
    assert len(Vectors.of([])) == 0
    assert Vectors.of(np.zeros((0, 4))).dimensions == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(3), r"vectors must be a matrix, one vector per row; got shape \(3,\)\."),
        (np.zeros((2, 2, 2)), r"vectors must be a matrix, one vector per row; got shape \(2, 2, 2\)\."),
        (5, r"vectors must be a matrix, one vector per row; got shape \(\)\."),
        (sparse.coo_array(np.ones(3)), r"vectors must be a matrix, one vector per row; got shape \(3,\)\."),
        (np.array([["a", "b"]]), "vectors must be numeric; got <U1."),
        (np.ones((2, 2), complex), "vectors must be numeric; got complex128."),
        (sparse.csr_array(np.ones((2, 2), complex)), "vectors must be numeric; got complex128."),
        ([[1, None]], "vectors must be numeric; got object."),
        ([[1, 10**400]], "vectors must be numeric; got object."),
        ([[1, 2], [3, [4]]], "vectors must be rows of numbers."),
        ([1, 2], "vectors must be rows of numbers."),
        (np.ma.masked_array([[1.0, 2]], [[False, True]]), "vectors must not have masked components; got a masked arra"),
    ],
)
def test_invalid_vectors(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Vectors.of(rows)


def test_options_of_vectors() -> None:
    with pytest.raises(UsageError, match=r"^on_error must be one of fail, skip; got 'stop'"):
        Vectors.of([[1]], on_error="stop")
    with pytest.raises(DataError, match=r"^there must be as many ids as items; got 1 id for 2 items"):
        Vectors.of([[1], [2]], ids=["a"])
    with pytest.raises(DataError, match=r"^ids must be all of one type"):
        Vectors.of([[1], [2]], ids=["a", 2])


def test_the_users_sparse_matrix_is_not_changed() -> None:
    twice = sparse.csr_array((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    vectors = Vectors.of(twice)
    assert vectors.values.toarray().tolist() == [[0, 3], [3, 0]]
    assert vectors.values.nnz == 2
    assert (twice.data.tolist(), twice.indices.tolist(), twice.indptr.tolist()) == ([1, 2, 3], [1, 1, 0], [0, 2, 3])


@pytest.mark.parametrize(("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 5, 2])])
def test_sparse_matrices_with_indices_out_of_range(indices, indptr):
    matrix = sparse.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    matrix.indices, matrix.indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
    for make in (Vectors, Vectors.of):
        with pytest.raises(DataError, match=r"^vectors must be a valid CSR matrix: "):
            make(matrix)


def test_sparse_vectors_that_claim_too_many_components():
    matrix = sparse.csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])), shape=(1, 1 << 60))
    with pytest.raises(DataError, match=r"^vectors can have at most 2,147,483,648 components; got 1,152,921,504,606,"):
        Vectors(matrix)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", [0, 1, 7, 16, 33])
def test_odd_rows_are_found_by_their_squares(dtype, dimensions):
    """Also rows of the least and the greatest numbers there are, whose squares single precision does not hold."""
    rows = np.random.default_rng(0).normal(size=(40, dimensions)).astype(dtype)
    limits = np.finfo(dtype)
    rows[3], rows[4], rows[5] = 0, limits.smallest_subnormal, limits.max
    if dimensions:
        rows[7, -1], rows[8, 0], rows[9, -1] = np.nan, np.inf, -np.inf
        rows[10], rows[10, -1] = 0, -limits.smallest_subnormal
    assert not_finite(rows).tolist() == np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist()
    assert zero_rows(rows).tolist() == np.flatnonzero(~rows.any(axis=1)).tolist()
    wide = rows[:3].astype(np.float64)
    np.testing.assert_allclose(squares_of(rows[:3]), (wide * wide).sum(axis=1), rtol=1e-14)


class OnCard:
    """A matrix on a card, as libraries show it: nothing but a copy on the host can be read."""

    def __init__(self, rows):
        self.rows, self.dtype = rows, f"torch.{rows.dtype}"

    def __dlpack_device__(self):
        return (2, 0)

    def detach(self):
        return self

    def cpu(self):
        return self.rows


def test_rows_on_a_card_are_remembered_as_long_as_they_are_the_same():
    rows = np.ones((4, 3), np.float32)
    given = OnCard(rows)
    vectors = Vectors.of(given)
    assert vectors.tensor is given
    assert vectors.values is rows
    assert vectors.without(np.array([], int), "").tensor is given
    rows[2, 1] = np.nan
    assert Vectors.of(given, on_error="skip").tensor is None
    assert Vectors.of(OnCard(np.ones((4, 3), np.float16))).tensor is None
    assert Vectors.of(np.ones((4, 3))).tensor is None


def test_very_large_matrices_are_put_together_in_a_file(monkeypatch):
    """The file has no name, so nothing is left of it; a search between two collections is the same."""
    rows = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    common = {"measure": "angle", "threshold": 30.0, "run": Run(2)}
    expected = la.find_matches(rows[:100], rows[100:], **common)
    monkeypatch.setattr("lookalike.items.vectors.IN_MEMORY", 0)
    whole = stacked([rows[:100], rows[100:]], Run(2))
    assert isinstance(whole, np.memmap)
    np.testing.assert_array_equal(whole, rows)
    found = la.find_matches(rows[:100], rows[100:], **common)
    assert len(found) > 20
    np.testing.assert_array_equal(found.values, expected.values)
