"""What goes in: sets, vectors and bit codes. Frozen, made of arrays."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import SKIP_HINT, DataError, choice, whole
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.sets import sort_rows
from lookalike.kernels.text import hash_contents

BLOCK = 1 << 18  # numbers that are worked on at a time
NOT_FINITE = "a component is nan or infinite"
NO_DIRECTION = "a zero vector has no direction"


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of 64-bit hashes: row i is elements[indptr[i]:indptr[i + 1]], sorted and distinct.

    A bag is held as the set of its (element, copy number), so that overlaps of bags are overlaps of sets.

    >>> sets = Sets.of([{"a", "d"}, {"c"}, {"b", "d", "e"}])
    >>> len(sets), sets.sizes.tolist()
    (3, [2, 1, 3])
    """

    indptr: np.ndarray
    elements: np.ndarray
    bag: bool = False
    ids: pa.Array | None = None  # what results are to call them; their positions if none
    named: Callable[[np.ndarray], list[Any]] | None = None  # the elements of rows as they were given, if at hand

    @classmethod
    def of(cls, items: Iterable[Iterable[Any]]) -> "Sets":
        """From Python sets or lists, or Counters (bags); the elements all strings or all integers."""
        rows: list[Any] = list(items)
        for item in rows:
            if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
                kind = type(item).__name__
                raise DataError(f"sets must be collections of elements; got {kind}. For texts: Shingles().sets(texts).")
        bag = any(isinstance(item, Counter) for item in rows)
        if bag or not all(hasattr(item, "__len__") for item in rows):
            rows = [list(item.elements()) if isinstance(item, Counter) else list(item) for item in rows]
        indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
        return cls.sorted(indptr, hash_values(list(chain.from_iterable(rows))), bag)

    @classmethod
    def sorted(cls, indptr: np.ndarray, hashes: np.ndarray, bag: bool = False) -> "Sets":
        """From rows of hashes in any order; repeats are dropped, or in a bag counted."""
        indptr, elements = sort_rows(indptr, hashes, bag)
        return cls(indptr, elements, bag)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        row = range(len(self))[row]
        return self.elements[self.indptr[row] : self.indptr[row + 1]]

    def hashes(self, rows: np.ndarray) -> list[list[int]]:
        """The elements of some rows."""
        return [self[row].tolist() for row in rows.tolist()]

    @property
    def sizes(self) -> np.ndarray:
        """How many elements each set has."""
        return np.diff(self.indptr)

    def take(self, rows: np.ndarray) -> "Sets":
        """The given rows, in that order."""
        sizes = self.sizes[rows]
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        where = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], sizes)
        return Sets(indptr, self.elements[where], self.bag)

    @staticmethod
    def concatenate(parts: "list[Sets]") -> "Sets":
        """The rows of all parts, one after another."""
        if not parts:
            return Sets(np.zeros(1, np.int64), np.zeros(0, np.uint64))
        sizes = np.concatenate([part.sizes for part in parts])
        elements = np.concatenate([part.elements for part in parts])
        return Sets(np.concatenate(([0], np.cumsum(sizes))), elements, parts[0].bag)

    def to_arrow(self) -> pa.LargeListArray:
        """A list of hashes a set."""
        return pa.LargeListArray.from_arrays(self.indptr, self.elements)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of one length, one a row, all components finite: an array, or for sparse ones a SciPy matrix (CSR).

    >>> vectors = Vectors.of([[3, 4], [6, 8], [-4, 3]])
    >>> len(vectors), vectors.dimensions, vectors.values.dtype
    (3, 2, dtype('float64'))
    """

    values: Any  # of float32 or float64
    ids: pa.Array | None = None  # what results are to call them; their positions if none
    on_error: str = "fail"  # or "skip": what to do with a row that a measure cannot take
    skipped: int = 0  # rows that have been left out

    @classmethod
    def of(cls, rows: Any, ids: Any = None, on_error: str = "fail") -> "Vectors":
        """From an array, a memory-mapped one, a SciPy matrix, or a list of rows.

        Numbers of 32 and 64 bits stay what they are and where they are, others become such. A row with a component
        that is nan or infinite, or with more or fewer components than the first, is an error, or is left out.
        """
        choice("on_error", on_error, ("fail", "skip"))
        ragged: dict[int, str] = {}
        if isinstance(rows, list | tuple):
            rows, ragged = _even_rows(rows, on_error)
        values = as_floats(rows)
        kept = None if ids is None else _as_ids(ids, values.shape[0] + len(ragged))
        vectors = cls(values, kept, on_error)
        if ragged:  # they are gone from the values: give the others their numbers
            numbers = np.delete(np.arange(len(values) + len(ragged)), list(ragged))
            vectors = cls(values, pa.array(numbers) if kept is None else kept.take(numbers), on_error, len(ragged))
        return vectors.without(not_finite(values), NOT_FINITE)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimensions(self) -> int:
        """How many components each has."""
        return int(self.values.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether only components that are not zero are held."""
        return not isinstance(self.values, np.ndarray)

    def without(self, bad: np.ndarray, why: str) -> "Vectors":
        """All but the bad rows, of which the first is an error unless such are to be skipped."""
        if not len(bad):
            return self
        if self.on_error == "fail":
            named = "" if self.ids is None else f" ({self.ids[bad[0]]})"
            raise DataError(f"row {bad[0]}{named}: {why}; {SKIP_HINT}.")
        good = np.delete(np.arange(len(self)), bad)
        ids = pa.array(good) if self.ids is None else self.ids.take(good)
        return Vectors(self.values[good], ids, self.on_error, self.skipped + len(bad))


@dataclass(frozen=True, eq=False)
class Bits:
    """Codes of `length` bits, 64 to a word: bit i of an item is bit i % 64 of words[item, i // 64].

    >>> codes = Bits.of(["10101", "11110"])
    >>> len(codes), codes.length, codes.words.tolist()
    (2, 5, [[21], [15]])
    """

    words: np.ndarray  # items x words, of uint64; bits from `length` on are 0
    length: int
    ids: pa.Array | None = None
    skipped: int = 0

    @classmethod
    def of(cls, rows: Any, ids: Any = None) -> "Bits":
        """From integers, a code each; from a matrix of 0 and 1; or from strings of them, all of one length.

        Integers of an array have the bits of its type, those of a list have 64.
        """
        if isinstance(rows, list | tuple) and rows and isinstance(rows[0], str):
            rows = _digits(rows)
        elif isinstance(rows, list | tuple) and (not rows or type(rows[0]) is int):
            if not all(isinstance(row, int | np.integer) and 0 <= row < 1 << 64 for row in rows):
                raise DataError("codes must be integers from 0 to 2**64 - 1.")
            rows = np.array(rows, np.uint64)
        if hasattr(rows, "tocsr"):
            raise DataError("bits are not taken from a sparse matrix; give it as an array.")
        matrix = _as_array(rows, "bits must be integers, or rows of 0 and 1, all of one length.")
        if matrix.ndim == 1 and matrix.dtype.kind in "iu":
            matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)
            words = matrix.view(f"u{matrix.dtype.itemsize}").astype(np.uint64)[:, None]
            return cls(words, 8 * matrix.dtype.itemsize, None if ids is None else _as_ids(ids, len(words)))
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise DataError(
                f"bits must be integers, or a matrix of 0 and 1; got {matrix.dtype} of shape {matrix.shape}."
            )
        if matrix.dtype.kind != "b":
            wrong = np.flatnonzero(((matrix != 0) & (matrix != 1)).any(axis=1))
            if len(wrong):
                raise DataError(f"row {wrong[0]}: bits must be 0 or 1. Packed bytes are taken by Bits.packed.")
        return cls.packed(np.packbits(matrix.astype(bool), axis=1, bitorder="little"), matrix.shape[1], ids)

    @classmethod
    def packed(cls, rows: Any, length: int | None = None, ids: Any = None) -> "Bits":
        """From bytes, items x ceil(length / 8), the first bit of each the lowest; by default all bits count."""
        matrix = np.ascontiguousarray(rows)
        if matrix.ndim != 2 or matrix.dtype != np.uint8:
            raise DataError(f"packed bits must be a matrix of bytes; got {matrix.dtype} of shape {matrix.shape}.")
        items, width = matrix.shape
        length = 8 * width if length is None else whole("length", length, most=8 * width)
        padded = np.zeros((items, 8 * max(1, -(-width // 8))), np.uint8)
        padded[:, :width] = matrix
        unused = np.unpackbits(padded, axis=1, bitorder="little")[:, length:] if length < 8 * width else padded[:0]
        if unused.any():
            raise DataError(f"row {np.argmax(unused.any(axis=1))}: a bit beyond the {length} of a code is set.")
        words = padded.view("<u8").astype(np.uint64, copy=False)
        return cls(words, length, None if ids is None else _as_ids(ids, items))

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: np.ndarray) -> "Bits":
        """The given rows, in that order."""
        return Bits(self.words[rows], self.length)

    def matrix(self) -> np.ndarray:
        """The bits as booleans, a code a row."""
        octets = np.ascontiguousarray(self.words.astype("<u8")).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little", count=self.length).astype(bool)


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written to, as a memory-mapped array cannot: kernels are compiled for one kind alone."""
    view: np.ndarray = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def not_finite(values: Any) -> np.ndarray:
    """The rows that hold a component that is nan or infinite."""
    if not isinstance(values, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(values.data))
        return np.unique(np.searchsorted(values.indptr, bad, side="right") - 1)
    return _rows_where(values, lambda rows: ~np.isfinite(rows).all(axis=1))


def zero_rows(values: Any) -> np.ndarray:
    """The rows that are zero throughout."""
    if not isinstance(values, np.ndarray):
        held = np.concatenate(([0], np.cumsum(values.data != 0)))
        return np.flatnonzero(held[values.indptr[1:]] == held[values.indptr[:-1]])
    return _rows_where(values, lambda rows: ~rows.any(axis=1))


def _rows_where(values: np.ndarray, test: Callable[[np.ndarray], Any]) -> np.ndarray:
    """The rows for which the test is true, looked at a block at a time."""
    step = max(1, BLOCK // max(1, values.shape[1]))
    starts = range(0, len(values), step)
    found = [start + np.flatnonzero(test(values[start : start + step])) for start in starts]
    return np.concatenate([np.zeros(0, np.int64), *found])


def as_floats(rows: Any) -> Any:
    """A matrix of float32 or float64, an array or in rows (CSR)."""
    if hasattr(rows, "tocsr"):
        from scipy.sparse import csr_array  # slow to import

        matrix = csr_array(rows)
        if not matrix.has_canonical_format:
            matrix = csr_array(rows, copy=True)  # which is not the user's own
            matrix.sum_duplicates()
    elif np.ma.is_masked(rows):
        raise DataError("vectors must have all their components; got a masked array. Fill it, for example with nan.")
    else:
        matrix = rows if isinstance(rows, np.memmap) else np.asarray(rows)
    if matrix.ndim != 2:
        raise DataError(f"vectors must be a matrix, one a row; got shape {matrix.shape}.")
    kind, size = matrix.dtype.kind, matrix.dtype.itemsize
    if kind not in "biuf":
        raise DataError(f"vectors must be of numbers; got {matrix.dtype}.")
    wanted = np.float32 if (kind == "f" and size <= 4) or size <= 2 else np.float64
    if not isinstance(matrix, np.ndarray):
        return matrix.astype(wanted)
    return np.require(matrix, wanted, "C")


def _even_rows(rows: Any, on_error: str) -> tuple[Any, dict[int, str]]:
    """Rows of one length as an array, and the others."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        raise DataError("vectors must be rows of numbers.") from None
    ragged = {
        i: f"{n} components, where the first row has {lengths[0]}" for i, n in enumerate(lengths) if n != lengths[0]
    }
    for row, why in ragged.items():
        if on_error == "fail":
            raise DataError(f"row {row}: {why}; {SKIP_HINT}.")
    even = [row for i, row in enumerate(rows) if i not in ragged]
    return _as_array(even, "vectors must be rows of numbers.") if even else np.zeros((0, 0)), ragged


def _as_array(rows: Any, rule: str) -> np.ndarray:
    try:
        return np.asarray(rows)
    except (ValueError, OverflowError):  # rows within rows
        raise DataError(rule) from None


def _as_ids(ids: Any, items: int) -> pa.Array:
    try:
        given = ids if isinstance(ids, pa.Array) else pa.array(ids)
    except (pa.ArrowException, OverflowError):
        raise DataError("ids must be all of one type.") from None
    if len(given) != items:
        raise DataError(f"ids must name each of the {items:,} items; there are {len(given):,}.")
    return given


def _digits(rows: Any) -> np.ndarray:
    """Strings of 0 and 1 as a matrix."""
    for at, row in enumerate(rows):
        if not isinstance(row, str) or len(row) != len(rows[0]) or set(row) - {"0", "1"}:
            raise DataError(f"row {at}: codes must be strings of 0 and 1 of one length; got {row!r}.")
    return np.array([[digit == "1" for digit in row] for row in rows])


def text_bounds(texts: pa.LargeStringArray, rows: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """The bytes of an Arrow array of texts, and where each text (or each of `rows`) starts and stops.

    All three are read-only, as Arrow's own buffers are, so that kernels are compiled for one type alone.
    """
    _, offsets, data = texts.buffers()
    content = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    bounds = np.frombuffer(offsets if offsets is not None and offsets.size else bytes(8), np.int64)
    bounds = bounds[texts.offset : texts.offset + len(texts) + 1]
    starts, stops = (bounds[:-1], bounds[1:]) if rows is None else (bounds[rows], bounds[rows + 1])
    for array in (starts, stops):
        array.flags.writeable = False
    return content, starts, stops


def hash_values(values: list[Any]) -> np.ndarray:
    """One 64-bit hash a value, all of them strings or all integers; the same on every machine."""
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        try:
            return hash_texts(pa.array(values, pa.large_string()))
        except UnicodeError as error:
            raise DataError(f"elements must be valid Unicode: {error}") from error
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            signed = max(values) < 1 << 63
            return hash_integers(np.array(values, dtype=np.int64 if signed else np.uint64))
        except OverflowError:
            raise DataError("integer elements must fit in 64 bits, with a sign or without.") from None
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(f"the elements of sets must be all strings or all integers; got {names}.")


def hash_texts(texts: pa.LargeStringArray) -> np.ndarray:
    """One hash a text."""
    return np.ascontiguousarray(hash_contents(*text_bounds(texts))[:, 0])


def hash_integers(numbers: np.ndarray) -> np.ndarray:
    """One hash an integer of 64 bits, with a sign or without; those of 2**63 or more differ from negative ones."""
    with np.errstate(over="ignore"):
        hashes: np.ndarray = mix.py_func(numbers.view(np.uint64) + GOLDEN)
        if numbers.dtype == np.uint64:
            hashes = np.where(numbers >> np.uint64(63) == 1, mix.py_func(hashes + GOLDEN), hashes)
    return hashes
