"""Vectors and bit codes: what they are made from, what is refused, and what is left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from lookalike.core.errors import DataError, UsageError
from lookalike.items.bits import Bits
from lookalike.items.vectors import BLOCK, Vectors, not_finite

HINT = r"; on_error='skip' \(--on-error skip\) leaves such rows out\.$"
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


def test_floats_stay_where_they_are(tmp_path: Path) -> None:
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
def test_a_matrix_of_the_old_kind_becomes_an_array() -> None:
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
    with pytest.raises(DataError, match=f"^row 1: 1 components, where the first row has 2{HINT}"):
        Vectors.of(rows)


def test_no_vectors() -> None:
    assert len(Vectors.of([])) == 0
    assert Vectors.of(np.zeros((0, 4))).dimensions == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(3), r"vectors must be a matrix, one a row; got shape \(3,\)\."),
        (np.zeros((2, 2, 2)), r"vectors must be a matrix, one a row; got shape \(2, 2, 2\)\."),
        (5, r"vectors must be a matrix, one a row; got shape \(\)\."),
        (sparse.coo_array(np.ones(3)), r"vectors must be a matrix, one a row; got shape \(3,\)\."),
        (np.array([["a", "b"]]), "vectors must be of numbers; got <U1."),
        (np.ones((2, 2), complex), "vectors must be of numbers; got complex128."),
        (sparse.csr_array(np.ones((2, 2), complex)), "vectors must be of numbers; got complex128."),
        ([[1, None]], "vectors must be of numbers; got object."),
        ([[1, 10**400]], "vectors must be of numbers; got object."),
        ([[1, 2], [3, [4]]], "vectors must be rows of numbers."),
        ([1, 2], "vectors must be rows of numbers."),
        (np.ma.masked_array([[1.0, 2]], [[False, True]]), "vectors must have all their components; got a masked array"),
    ],
)
def test_what_are_no_vectors(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Vectors.of(rows)


def test_options_of_vectors() -> None:
    with pytest.raises(UsageError, match=r"^on_error must be one of fail, skip; got 'stop'"):
        Vectors.of([[1]], on_error="stop")
    with pytest.raises(DataError, match=r"^ids must name each of the 2 items; there are 1"):
        Vectors.of([[1], [2]], ids=["a"])
    with pytest.raises(DataError, match=r"^ids must be all of one type"):
        Vectors.of([[1], [2]], ids=["a", 2])


def test_a_sparse_matrix_of_the_user_is_not_changed() -> None:
    twice = sparse.csr_array((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    vectors = Vectors.of(twice)
    assert vectors.values.toarray().tolist() == [[0, 3], [3, 0]]
    assert vectors.values.nnz == 2
    assert (twice.data.tolist(), twice.indices.tolist(), twice.indptr.tolist()) == ([1, 2, 3], [1, 1, 0], [0, 2, 3])


# --- bits ---


def bits_of(codes: Bits) -> list[str]:
    """The plain twin: each code as a string, its first bit first."""
    return [
        "".join(str(int(words[at // 64]) >> at % 64 & 1) for at in range(codes.length))
        for words in codes.words.tolist()
    ]


STRINGS = st.integers(1, 140).flatmap(
    lambda width: st.lists(st.text("01", min_size=width, max_size=width), min_size=1, max_size=5)
)


@given(STRINGS)
def test_strings_matrices_and_bytes_are_one(strings: list[str]) -> None:
    matrix = np.array([[int(digit) for digit in row] for row in strings])
    packed = np.packbits(matrix.astype(bool), axis=1, bitorder="little")
    width = len(strings[0])
    for codes in (
        Bits.of(strings), Bits.of(tuple(strings)), Bits.of(matrix), Bits.of(matrix.astype(bool)),
        Bits.of(matrix.astype(np.float32)), Bits.of(matrix.tolist()), Bits.packed(packed, width),
    ):  # fmt: skip
        assert bits_of(codes) == strings
        assert (len(codes), codes.length) == (len(strings), width)
        assert codes.words.dtype == np.uint64
        assert codes.words.shape == (len(strings), -(-width // 64))
    assert bits_of(Bits.packed(packed)) == [row.ljust(8 * packed.shape[1], "0") for row in strings]


@pytest.mark.parametrize("kind", ["u1", "i1", "<u2", ">u2", "<i4", ">i4", "<u8", ">i8"])
def test_integers_have_the_bits_of_their_type(kind: str) -> None:
    given = np.array([0, 1, 5, np.iinfo(kind).max, np.iinfo(kind).min], kind)
    codes = Bits.of(given)
    size = 8 * given.dtype.itemsize
    assert codes.length == size
    assert codes.words[:, 0].tolist() == [int(number) % (1 << size) for number in given]


def test_integers_of_a_list_have_64_bits() -> None:
    codes = Bits.of([0, (1 << 64) - 1, np.int8(3)], ids=["a", "b", "c"])
    assert (codes.words.tolist(), codes.length) == ([[0], [(1 << 64) - 1], [3]], 64)
    assert codes.ids.to_pylist() == ["a", "b", "c"]
    assert codes.take(np.array([2, 0])).words.tolist() == [[3], [0]]
    assert (len(Bits.of([])), Bits.of([]).length) == (0, 64)
    assert Bits.of(np.zeros((0, 70), bool)).words.shape == (0, 2)
    assert Bits.of([[True], [False]], ids=pa.array([7, 8])).ids.to_pylist() == [7, 8]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1, -1], r"codes must be integers from 0 to 2\*\*64 - 1\."),
        ([1, 1 << 64], r"codes must be integers from 0 to 2\*\*64 - 1\."),
        ([1, 2.5], r"codes must be integers from 0 to 2\*\*64 - 1\."),
        ([1, "1"], r"codes must be integers from 0 to 2\*\*64 - 1\."),
        ([1.0], r"bits must be integers, or a matrix of 0 and 1; got float64 of shape \(1,\)\."),
        ([None], r"bits must be integers, or a matrix of 0 and 1; got object of shape \(1,\)\."),
        (np.uint64(3), r"bits must be integers, or a matrix of 0 and 1; got uint64 of shape \(\)\."),
        ([[1, 0], [1]], r"bits must be integers, or rows of 0 and 1, all of one length\."),
        ([[0, 1], [2, 0]], r"row 1: bits must be 0 or 1\. Packed bytes are taken by Bits\.packed\."),
        ([[0, NAN]], r"row 0: bits must be 0 or 1\."),
        (["01", "0"], r"row 1: codes must be strings of 0 and 1 of one length; got '0'\."),
        (["01", "02"], r"row 1: codes must be strings of 0 and 1 of one length; got '02'\."),
        (["01", None], r"row 1: codes must be strings of 0 and 1 of one length; got None\."),
    ],
)
def test_what_are_no_bits(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Bits.of(rows)


def test_what_are_no_packed_bits() -> None:
    with pytest.raises(DataError, match=r"^packed bits must be a matrix of bytes; got int64 of shape \(1, 1\)\."):
        Bits.packed([[1]])
    with pytest.raises(DataError, match=r"^packed bits must be a matrix of bytes; got uint8 of shape \(1,\)\."):
        Bits.packed(np.zeros(1, np.uint8))
    with pytest.raises(DataError, match=r"^row 1: a bit beyond the 9 of a code is set\."):
        Bits.packed(np.array([[255, 1], [0, 2]], np.uint8), 9)
    for length in (0, 17):
        with pytest.raises(UsageError, match=r"^length must be an integer of at"):
            Bits.packed(np.zeros((1, 2), np.uint8), length)
    with pytest.raises(DataError, match=r"^ids must name each of the 1 items; there are 2"):
        Bits.of(["01"], ids=[1, 2])
