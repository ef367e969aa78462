"""Sets and bags of 64-bit hashes, and the hashes of elements and texts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import even_slices, join_arrays
from lookalike.core.errors import DataError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.sets import sort_rows, take_rows
from lookalike.kernels.text import hash_contents
from lookalike.kernels.weights import row_totals

BYTES_PER_TASK = 1 << 21  # of texts


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of 64-bit hashes: row i is elements[indptr[i]:indptr[i + 1]], sorted and distinct.

    A bag is stored as the set of its (element, copy number), so overlaps of bags are those of sets.
    If elements have weights, weights[i] is that of elements[i]; the same element weighs the same in
    every set.

    >>> sets = Sets.of([{"a", "d"}, {"c"}, {"b", "d", "e"}])
    >>> len(sets), sets.sizes.tolist()
    (3, [2, 1, 3])
    """

    indptr: np.ndarray
    elements: np.ndarray
    bag: bool = False
    ids: pa.Array | None = None  # the ids that results show; None for positions
    named: Callable[[np.ndarray], list[Any]] | None = None  # returns the original elements of rows, if available
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the bounds that kernels rely on: they would read outside of the array otherwise."""
        if not is_indptr(self.indptr, len(self.elements)) or self.elements.dtype != np.uint64:
            raise DataError("indptr must ascend from 0 to the number of elements, which are 64-bit hashes.")

    @classmethod
    def of(cls, items: Iterable[Iterable[Any]]) -> "Sets":
        """Make sets from Python sets, lists or Counters (bags) of only strings or only integers."""
        if isinstance(items, str | bytes) or not hasattr(items, "__iter__"):
            raise DataError(f"sets must be a list of collections of elements; got {type(items).__name__}.")
        rows: list[Any] = list(items)
        for item in rows:
            if isinstance(item, str | bytes) or not hasattr(item, "__iter__"):
                kind = type(item).__name__
                raise DataError(f"sets must be collections of elements; got {kind}. For texts: Shingles().sets(texts).")
        bag = any(isinstance(item, Counter) for item in rows)
        if bag or not all(hasattr(item, "__len__") for item in rows):
            rows = [list(item.elements()) if isinstance(item, Counter) else list(item) for item in rows]
        indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
        sets = cls.sorted(indptr, hash_values(list(chain.from_iterable(rows))), bag)
        return replace(sets, named=partial(_originals, rows, bag))

    @classmethod
    def sorted(cls, indptr: np.ndarray, hashes: np.ndarray, bag: bool = False) -> "Sets":
        """Make sets from rows of hashes in any order; repeats are dropped, or counted in a bag."""
        indptr, elements = sort_rows(indptr, hashes, bag)
        return cls(indptr, elements, bag)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        row = range(len(self))[row]
        return self.elements[self.indptr[row] : self.indptr[row + 1]]

    def hashes(self, rows: np.ndarray) -> list[list[int]]:
        """Return the elements of some rows."""
        return [self[row].tolist() for row in rows.tolist()]

    @property
    def sizes(self) -> np.ndarray:
        """Return how many elements each set has."""
        return np.diff(self.indptr)

    @cached_property
    def totals(self) -> np.ndarray:
        """The total weight of each set: without weights, its size."""
        if self.weights is None:
            return self.sizes
        totals: np.ndarray = row_totals(self.indptr, self.weights)
        return totals

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
        """The arrays from which kernels compute overlaps."""
        return self.indptr, self.elements, None if self.weights is None else (self.weights, self.totals)

    def take(self, rows: np.ndarray) -> "Sets":
        """Return the given rows, in that order."""
        starts = self.indptr[:-1][rows]
        sizes = self.indptr[1:][rows] - starts
        indptr, elements = take_rows(starts, sizes, self.elements)
        weights = None if self.weights is None else take_rows(starts, sizes, self.weights)[1]
        return Sets(indptr, elements, self.bag, weights=weights)

    @staticmethod
    def concatenate(parts: "Iterable[Sets]", run: Run = ONE_THREAD) -> "Sets":
        """Return the rows of all parts, one after another, copied in the threads of `run`.

        A part that nobody else holds is freed as soon as it is copied.
        """
        sizes, elements, bag = [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)], False
        for part in parts:
            sizes.append(part.sizes)
            elements.append(part.elements)
            bag = part.bag
        if len(elements) == 2:
            return Sets(np.cumsum(np.concatenate(sizes)), elements[1], bag)
        return Sets(np.cumsum(np.concatenate(sizes)), join_arrays(elements, run), bag)

    def to_arrow(self) -> pa.LargeListArray:
        """Return one list of hashes per set."""
        return pa.LargeListArray.from_arrays(self.indptr, self.elements)


def is_indptr(indptr: np.ndarray, size: int) -> bool:
    """Return whether integers ascend from 0 to a size, so that they bound rows of an array."""
    right = indptr.ndim == 1 and len(indptr) > 0 and indptr.dtype.kind in "iu"
    return bool(right and indptr[0] == 0 and indptr[-1] == size and (indptr[1:] >= indptr[:-1]).all())


def _originals(given: list[Any], bag: bool, rows: np.ndarray) -> list[Any]:
    """Return some of the given collections as sets, or as Counters if they are bags."""
    chosen = (given[row] for row in rows.tolist())
    return [(Counter if bag else set)(one.tolist() if isinstance(one, np.ndarray) else one) for one in chosen]


def text_bounds(texts: pa.LargeStringArray, rows: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """Return the bytes of an Arrow array, and where each text (or each of `rows`) starts and stops.

    All three are read-only, like Arrow's own buffers, so that kernels compile for one type only.
    """
    _, offsets, data = texts.buffers()
    content = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    bounds = np.frombuffer(offsets if offsets is not None and offsets.size else bytes(8), np.int64)
    bounds = bounds[texts.offset : texts.offset + len(texts) + 1]
    starts, stops = (bounds[:-1], bounds[1:]) if rows is None else (bounds[rows], bounds[rows + 1])
    for array in (starts, stops):
        array.flags.writeable = False
    return content, starts, stops


def slices_of_texts(columns: Sequence[pa.LargeStringArray], rows: int, step: int) -> list[slice]:
    """Cut the rows of columns of texts into slices of at most `step`, or fewer if their texts are long.

    >>> slices_of_texts([pa.array(["a", "b", "c"], pa.large_string())], 3, 2)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    bounds = np.arange(rows + 1) * -(-BYTES_PER_TASK // step)
    for texts in columns:
        _, starts, stops = text_bounds(texts)
        bounds[1:] += stops - starts[:1]
    return even_slices(bounds, BYTES_PER_TASK)


def hash_values(values: list[Any]) -> np.ndarray:
    """Return one 64-bit hash per value, all strings or all integers; the same on every machine."""
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
            raise DataError("integer elements must fit in 64 bits, signed or unsigned.") from None
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(f"the elements of sets must be all strings or all integers; got {names}.")


def hash_texts(texts: pa.LargeStringArray) -> np.ndarray:
    """Return one hash per text."""
    return np.ascontiguousarray(hash_contents(*text_bounds(texts))[:, 0])


def hash_integers(numbers: np.ndarray) -> np.ndarray:
    """Return one hash per 64-bit integer; unsigned ones from 2**63 on differ from negative ones."""
    with np.errstate(over="ignore"):
        hashes: np.ndarray = mix.py_func(numbers.view(np.uint64) + GOLDEN)
        if numbers.dtype == np.uint64:
            hashes = np.where(numbers >> np.uint64(63) == 1, mix.py_func(hashes + GOLDEN), hashes)
    return hashes
