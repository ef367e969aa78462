"""Reads arrays, integers and strings as bit codes, and lists the rows that could not be read."""

from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.io.part import Part
from lookalike.items.bits import Bits
from lookalike.items.vectors import converted, row_blocks, stacked

Codes = tuple[np.ndarray, int, dict[int, str]]  # words of the good rows, bits of each, and the faults of the others
WRONG_BIT = "a bit must be 0 or 1"
WANTED = {
    "": "neither a string of 0 and 1 nor 0x and hexadecimal digits",
    "hexadecimal": "not 0x and {} hexadecimal digits",
    "binary": "not {} digits of 0 and 1",
    "decimal": "not a 64-bit integer",
}
HEX = np.full(256, 255, np.uint8)  # the value of each digit
HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = HEX[np.frombuffer(b"0123456789ABCDEF", np.uint8)] = np.arange(16)


def array_codes(part: Part, array: Any, run: Run) -> Codes:
    """Read integers as one code each, and a matrix row by row: 0 and 1 as bits, or bytes packed."""
    if not isinstance(array, np.ndarray):
        raise DataError(f"{part.name}: bits cannot be read from a sparse matrix.")
    if array.ndim == 1 and array.dtype.kind in "iu":
        native = array.astype(array.dtype.newbyteorder("="), copy=False).view(f"u{array.dtype.itemsize}")
        return converted(native[:, None], np.uint64, run), 8 * array.dtype.itemsize, {}
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "biuf":
        got = f"{array.dtype} of shape {array.shape}"
        raise DataError(f"{part.name}: bits must be integers, or a matrix of 0 and 1 or of bytes; got {got}.")
    if not len(array):
        return matrix_codes(array)
    blocks = row_blocks(array)
    packed = array.dtype == np.uint8 and (
        part.format == "bvecs" or any(run.map(lambda rows: array[rows].max() > 1, blocks))
    )

    def work(rows: slice) -> Codes:
        some = np.asarray(array[rows])
        return (Bits.packed(some).words, 8 * some.shape[1], {}) if packed else matrix_codes(some)

    found = list(run.map(work, blocks))
    wrong = [rows.start + at for rows, (_, _, faults) in zip(blocks, found, strict=True) for at in faults]
    return stacked([words for words, _, _ in found], run), found[0][1], dict.fromkeys(wrong, WRONG_BIT)


def matrix_codes(matrix: np.ndarray) -> Codes:
    """Read a matrix of 0 and 1."""
    wrong = np.flatnonzero(((matrix != 0) & (matrix != 1)).any(axis=1))
    good = np.delete(matrix, wrong, axis=0) if len(wrong) else matrix
    return Bits.of(good.astype(bool)).words, matrix.shape[1], dict.fromkeys(wrong.tolist(), WRONG_BIT)


def integer_codes(values: pa.Array) -> Codes:
    """Read integers without nulls as 64-bit codes; a negative one has the bits of its own type."""
    numbers = np.asarray(values)
    return numbers.view(f"u{numbers.dtype.itemsize}").astype(np.uint64)[:, None], 64, {}


class StringCodes:
    """A reader of string codes: of 0 and 1, hexadecimal after 0x, or, in untyped files, decimal.

    The first valid string decides which, and how many digits all of them must have.

    >>> words, bits, faults = StringCodes("code").read(["0x1f", "0xA0", "0x5"])
    >>> words.tolist(), bits, faults
    ([[31], [160]], 8, {2: "code is '0x5', not 0x and 2 hexadecimal digits"})
    """

    def __init__(self, name: str, untyped: bool = False):
        self.name = name
        self.untyped = untyped
        self.rule = ""  # none yet
        self.digits = 0

    def read(self, given: list[str]) -> Codes:
        """Read more strings."""
        cells = [text.strip() for text in given]
        early = 0  # strings before the first valid one
        while not self.rule and early < len(cells):
            self._settle(cells[early])
            early += not self.rule
        faults = {at: f"{self.name} is {cells[at]!r}, {WANTED['']}" for at in range(early)}
        if not self.rule:
            return np.zeros((0, 1), np.uint64), 0, faults
        words, kept = self._decimal(cells[early:]) if self.rule == "decimal" else self._digits(cells[early:])
        wanted = WANTED[self.rule].format(self.digits)
        for at in (early + np.flatnonzero(~kept)).tolist():
            faults[at] = f"{self.name} is {cells[at]!r}, {wanted}"
        return words, {"hexadecimal": 4 * self.digits, "binary": self.digits, "decimal": 64}[self.rule], faults

    def _settle(self, cell: str) -> None:
        """Infer the rule for all strings from one, if it is valid."""
        bare = cell[2:] if cell[:2] in ("0x", "0X") else ""
        if bare and not set(bare) - set("0123456789abcdefABCDEF"):
            self.rule, self.digits = "hexadecimal", len(bare)
        elif cell and not set(cell) - set("01") and (len(cell) > 1 or not self.untyped):
            self.rule, self.digits = "binary", len(cell)
        elif self.untyped and as_word(cell) is not None:
            self.rule, self.digits = "decimal", 0

    def _decimal(self, cells: list[str]) -> tuple[np.ndarray, np.ndarray]:
        words = [as_word(cell) for cell in cells]
        kept = np.array([word is not None for word in words], bool)
        return np.array([word for word in words if word is not None], np.uint64)[:, None], kept

    def _digits(self, cells: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of the good cells, and which cells are good."""
        prefix = 2 if self.rule == "hexadecimal" else 0
        width = prefix + self.digits
        kept = np.array([len(cell) == width and cell.isascii() for cell in cells], bool)
        rows = np.frombuffer("".join(cell for cell, ok in zip(cells, kept, strict=True) if ok).encode(), np.uint8)
        rows = rows.reshape(-1, width)
        values = HEX[rows[:, prefix:]]
        right = (values < (16 if prefix else 2)).all(axis=1)
        if prefix:
            right &= (rows[:, 0] == ord("0")) & ((rows[:, 1] | 32) == ord("x"))
        kept[np.flatnonzero(kept)] = right
        values = values[right]
        if prefix:  # the last digit is the lowest, and two make a byte
            values = np.pad(values, ((0, 0), (self.digits % 2, 0)))[:, ::-1]
            return Bits.packed(values[:, ::2] | values[:, 1::2] << 4).words, kept
        return Bits.of(values.astype(bool)).words, kept


def as_word(cell: str) -> int | None:
    """Return the bits of a decimal 64-bit integer, signed or unsigned; None if it is not one."""
    bare = cell.removeprefix("-")
    if not (bare.isascii() and bare.isdigit()) or len(bare) > 20:
        return None
    number = int(cell)
    return number % (1 << 64) if -(1 << 63) <= number < 1 << 64 else None
