"""Check bit codes: the inputs they accept and those they reject."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.items.bits import Bits

NAN = float("nan")


# --- bits ---


def bits_of(codes: Bits) -> list[str]:
    """Return each code as a string, first bit first: the plain twin."""
    return [
        "".join(str(int(words[at // 64]) >> at % 64 & 1) for at in range(codes.length))
        for words in codes.words.tolist()
    ]


STRINGS = st.integers(1, 140).flatmap(
    lambda width: st.lists(st.text("01", min_size=width, max_size=width), min_size=1, max_size=5)
)


@given(STRINGS)
def test_strings_matrices_and_bytes_give_the_same_codes(strings: list[str]) -> None:
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
        ([[1, 0], [1]], r"bits must be integers, or rows of 0 and 1, all of the same length\."),
        ([[0, 1], [2, 0]], r"row 1: bits must be 0 or 1\. For packed bytes, use Bits\.packed\."),
        ([[0, NAN]], r"row 0: bits must be 0 or 1\."),
        (["01", "0"], r"row 1: codes must be strings of 0 and 1 of the same length; got '0'\."),
        (["01", "02"], r"row 1: codes must be strings of 0 and 1 of the same length; got '02'\."),
        (["01", None], r"row 1: codes must be strings of 0 and 1 of the same length; got None\."),
    ],
)
def test_invalid_bits(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Bits.of(rows)


def test_invalid_packed_bits() -> None:
    with pytest.raises(DataError, match=r"^packed bits must be a matrix of bytes; got int64 of shape \(1, 1\)\."):
        Bits.packed([[1]])
    with pytest.raises(DataError, match=r"^packed bits must be a matrix of bytes; got uint8 of shape \(1,\)\."):
        Bits.packed(np.zeros(1, np.uint8))
    with pytest.raises(DataError, match=r"^row 1: a bit beyond the code length of 9 is set\."):
        Bits.packed(np.array([[255, 1], [0, 2]], np.uint8), 9)
    for length in (0, 17):
        with pytest.raises(UsageError, match=r"^length must be an integer of at"):
            Bits.packed(np.zeros((1, 2), np.uint8), length)
    with pytest.raises(DataError, match=r"^there must be as many ids as items; got 2 ids for 1 item"):
        Bits.of(["01"], ids=[1, 2])


@pytest.mark.parametrize(
    ("words", "length"),
    [
        (np.zeros((2, 1), np.uint64), 65),
        (np.zeros((2, 1), np.uint64), -1),
        (np.zeros(2, np.uint64), 2),
        (np.zeros((2, 1), np.int64), 2),
        (np.zeros((2, 8), np.uint8), 64),
    ],
)
def test_words_that_kernels_could_not_bear(words: np.ndarray, length: int) -> None:
    """Codes longer than their words would be read outside of the array."""
    with pytest.raises(DataError, match=r"^words must be a matrix of 64-bit integers, with room for all bits; got "):
        Bits(words, length)


def test_as_many_ids_as_codes() -> None:
    with pytest.raises(DataError, match=r"^ids must name each item; got 1 id for 2 items\.$"):
        Bits(np.zeros((2, 1), np.uint64), 64, pa.array(["a"]))
