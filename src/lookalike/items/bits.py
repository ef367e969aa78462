"""Collections of bit codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, whole
from lookalike.core.wording import counted
from lookalike.items.vectors import as_array_of_numbers, as_ids, as_numpy


@dataclass(frozen=True, eq=False)
class Bits:
    """Codes of `length` bits, 64 per word: bit i of an item is bit i % 64 of words[item, i // 64].

    >>> codes = Bits.of(["10101", "11110"])
    >>> len(codes), codes.length, codes.words.tolist()
    (2, 5, [[21], [15]])
    """

    words: np.ndarray  # items x words, uint64; bits from `length` on are 0
    length: int
    ids: pa.Array | None = None
    skipped: int = 0

    def __post_init__(self) -> None:
        """Check what kernels rely on: they would read outside of the array otherwise."""
        if self.words.ndim != 2 or self.words.dtype != np.uint64 or not 0 <= self.length <= 64 * self.words.shape[1]:
            got = f"{self.words.dtype} of shape {self.words.shape} for {self.length} bits"
            raise DataError(f"words must be a matrix of 64-bit integers, with room for all bits; got {got}.")
        if self.ids is not None and len(self.ids) != len(self.words):
            raise DataError(
                f"ids must name each item; got {counted(len(self.ids), 'id')} for {counted(len(self.words), 'item')}."
            )

    @classmethod
    def of(cls, rows: Any, ids: Any = None) -> "Bits":
        """Make codes from integers, from a matrix of 0 and 1, or from strings of 0 and 1.

        Strings have equal lengths. Integers in a list have 64 bits, in an array those of its type.
        """
        if isinstance(rows, list | tuple) and rows and isinstance(rows[0], str):
            rows = _digits(rows)
        elif isinstance(rows, list | tuple) and (not rows or type(rows[0]) is int):
            if not all(isinstance(row, int | np.integer) and 0 <= row < 1 << 64 for row in rows):
                raise DataError("codes must be integers from 0 to 2**64 - 1.")
            rows = np.array(rows, np.uint64)
        if hasattr(rows, "tocsr"):
            raise DataError("bits cannot be read from a sparse matrix; pass a dense array.")
        rows = as_numpy(rows) if hasattr(rows, "detach") else rows
        matrix = as_array_of_numbers(rows, "bits must be integers, or rows of 0 and 1, all of the same length.")
        if matrix.ndim == 1 and matrix.dtype.kind in "iu":
            matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)
            words = matrix.view(f"u{matrix.dtype.itemsize}").astype(np.uint64)[:, None]
            return cls(words, 8 * matrix.dtype.itemsize, None if ids is None else as_ids(ids, len(words)))
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise DataError(
                f"bits must be integers, or a matrix of 0 and 1; got {matrix.dtype} of shape {matrix.shape}."
            )
        if matrix.dtype.kind != "b":
            wrong = np.flatnonzero(((matrix != 0) & (matrix != 1)).any(axis=1))
            if len(wrong):
                raise DataError(f"row {wrong[0]}: bits must be 0 or 1. For packed bytes, use Bits.packed.")
        return cls.packed(np.packbits(matrix.astype(bool), axis=1, bitorder="little"), matrix.shape[1], ids)

    @classmethod
    def packed(cls, rows: Any, length: int | None = None, ids: Any = None) -> "Bits":
        """Make codes from bytes, items x ceil(length / 8), lowest bit first; default: all bits."""
        matrix = np.ascontiguousarray(rows)
        if matrix.ndim != 2 or matrix.dtype != np.uint8:
            raise DataError(f"packed bits must be a matrix of bytes; got {matrix.dtype} of shape {matrix.shape}.")
        items, width = matrix.shape
        length = 8 * width if length is None else whole("length", length, most=8 * width)
        padded = np.zeros((items, 8 * max(1, -(-width // 8))), np.uint8)
        padded[:, :width] = matrix
        unused = np.unpackbits(padded, axis=1, bitorder="little")[:, length:] if length < 8 * width else padded[:0]
        if unused.any():
            raise DataError(f"row {np.argmax(unused.any(axis=1))}: a bit beyond the code length of {length} is set.")
        words = padded.view("<u8").astype(np.uint64, copy=False)
        return cls(words, length, None if ids is None else as_ids(ids, items))

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: np.ndarray) -> "Bits":
        """Return the given rows, in that order."""
        return Bits(self.words[rows], self.length)

    def matrix(self) -> np.ndarray:
        """Return the bits as booleans, one code per row."""
        octets = np.ascontiguousarray(self.words.astype("<u8")).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little", count=self.length).astype(bool)


def _digits(rows: Any) -> np.ndarray:
    """Return strings of 0 and 1 as a matrix."""
    for at, row in enumerate(rows):
        if not isinstance(row, str) or len(row) != len(rows[0]) or set(row) - {"0", "1"}:
            raise DataError(f"row {at}: codes must be strings of 0 and 1 of the same length; got {row!r}.")
    return np.array([[digit == "1" for digit in row] for row in rows])
