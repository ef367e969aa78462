"""Collections of vectors of the same length, dense or sparse."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, choice, skip_hint
from lookalike.core.run import Run, slices
from lookalike.core.wording import counted
from lookalike.kernels.vectors import square_lengths

IN_MEMORY = 0.5  # of all memory: larger matrices that are put together are in a file
BLOCK = 1 << 18  # numbers to work on at a time
LEAST_BYTES, TASKS = 1 << 20, 8  # of rows in a task that copies none, at least; such tasks per thread, at most
MOST_DIMENSIONS = 1 << 31  # of sparse vectors, whose file can claim any number
CARD = 2  # DLPack's number of CUDA devices
NOT_FINITE = "a component is nan or infinite"
NO_DIRECTION = "a zero vector has no direction"


@dataclass(frozen=True, eq=False)
class Vectors:
    """Finite vectors of the same length, one per row of an array or of a sparse SciPy matrix (CSR).

    >>> vectors = Vectors.of([[3, 4], [6, 8], [-4, 3]])
    >>> len(vectors), vectors.dimensions, vectors.values.dtype
    (3, 2, dtype('float64'))
    """

    values: Any  # float32 or float64
    ids: pa.Array | None = None  # the ids that results show; None for positions
    on_error: str = "fail"  # or "skip": what to do with a row that a measure cannot handle
    skipped: int = 0  # number of rows that have been skipped
    tensor: Any = None  # the same rows on a card, if they came from there
    squares: np.ndarray | None = None  # the squared length of each row, if it is known from reading them

    def __post_init__(self) -> None:
        if self.sparse:
            check_csr(self.values)

    @classmethod
    def of(cls, rows: Any, ids: Any = None, on_error: str = "fail", run: Run | None = None) -> "Vectors":
        """Make vectors from an array, a memory-mapped array, a SciPy matrix, or a list of rows.

        Floats of 32 and 64 bits are used in place, other numbers are converted. A row with a nan or
        infinite component, or not as long as the first, is an error or is skipped. Rows are checked
        in the threads of the run, by default in one.
        """
        choice("on_error", on_error, ("fail", "skip"))
        ragged: dict[int, str] = {}
        if isinstance(rows, list | tuple):
            rows, ragged = _even_rows(rows, on_error)
        values = as_floats(rows, run)
        kept = None if ids is None else as_ids(ids, values.shape[0] + len(ragged))
        vectors = cls(values, kept, on_error, tensor=on_card(rows, values))
        if ragged:  # these rows are gone from the values, so the others need ids to keep their numbers
            numbers = np.delete(np.arange(len(values) + len(ragged)), list(ragged))
            vectors = cls(values, pa.array(numbers) if kept is None else kept.take(numbers), on_error, len(ragged))
        return vectors.without(not_finite(values, run), NOT_FINITE)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimensions(self) -> int:
        """Return how many components each vector has."""
        return int(self.values.shape[1])

    @property
    def sparse(self) -> bool:
        """Return whether the vectors are a sparse matrix."""
        return not isinstance(self.values, np.ndarray)

    def without(self, bad: np.ndarray, why: str) -> "Vectors":
        """Return the vectors without the bad rows, or raise an error if `on_error` is "fail"."""
        if not len(bad):
            return self
        if self.on_error == "fail":
            named = "" if self.ids is None else f" ({self.ids[bad[0]]})"
            raise DataError(f"row {bad[0]}{named}: {why}; {skip_hint(of='Vectors.of')}.")
        good = np.delete(np.arange(len(self)), bad)
        ids = pa.array(good) if self.ids is None else self.ids.take(good)
        return Vectors(self.values[good], ids, self.on_error, self.skipped + len(bad))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, as of a mapped array: kernels then compile for one type only."""
    view: np.ndarray = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def not_finite(values: Any, run: Run | None = None) -> np.ndarray:
    """Return the rows with a component that is nan or infinite."""
    if not isinstance(values, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(values.data))
        return np.unique(np.searchsorted(values.indptr, bad, side="right") - 1)
    if values.dtype == np.float32:  # the sum of their squares is finite in double precision
        return np.flatnonzero(~np.isfinite(squares_of(values, run)))
    return _rows_where(values, lambda rows: ~np.isfinite(rows).all(axis=1), run)


def zero_rows(values: Any, run: Run | None = None) -> np.ndarray:
    """Return the rows that are all zero."""
    if not isinstance(values, np.ndarray):
        held = np.concatenate(([0], np.cumsum(values.data != 0)))
        return np.flatnonzero(held[values.indptr[1:]] == held[values.indptr[:-1]])
    if values.dtype == np.float32:  # the least of their squares is not rounded to 0 in double precision
        return np.flatnonzero(squares_of(values, run) == 0)
    return _rows_where(values, lambda rows: ~rows.any(axis=1), run)


def squares_of(values: np.ndarray, run: Run | None = None) -> np.ndarray:
    """Return the squared length of each row, summed in double precision, without copying the rows."""
    run, found = run or Run(1), np.empty(len(values))

    def work(part: slice) -> None:
        square_lengths(read_only(values[part]), found[part])

    run.each(work, long_parts(values, run))
    return found


def long_parts(values: np.ndarray, run: Run) -> list[slice]:
    """Return slices of rows for work that copies none: few, since threads take turns between them."""
    least = 1 + LEAST_BYTES // max(1, values.itemsize * values.shape[1])
    return slices(len(values), max(least, len(values) // (TASKS * run.threads)))


def _rows_where(values: np.ndarray, test: Callable[[np.ndarray], Any], run: Run | None) -> np.ndarray:
    """Return the rows for which the test is true, working through them in blocks."""

    def work(part: slice) -> np.ndarray:
        found: np.ndarray = part.start + np.flatnonzero(test(np.asarray(values[part])))
        return found

    found = (run or Run(1)).map(work, row_blocks(values))
    return np.concatenate([np.zeros(0, np.int64), *found])


def row_blocks(values: np.ndarray) -> list[slice]:
    """Return slices of rows that hold about 4 BLOCK numbers each."""
    return slices(len(values), max(1, 4 * BLOCK // max(1, values.shape[1])))


def stacked(chunks: list[np.ndarray], run: Run) -> np.ndarray:
    """Return the rows of all chunks in one array, and empty the list, so that each can be freed."""
    rows = sum(len(chunk) for chunk in chunks)
    whole = new_matrix((rows, chunks[0].shape[1]), np.result_type(*{chunk.dtype for chunk in chunks}))

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        stop = rows
        while chunks:
            chunk = chunks.pop()
            stop -= len(chunk)
            for part in row_blocks(chunk):
                yield whole[stop + part.start : stop + part.stop], chunk[part]

    def work(block: tuple[np.ndarray, np.ndarray]) -> None:
        block[0][:] = block[1]

    run.each(work, blocks())
    return whole


def new_matrix(shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Return a matrix to fill: in memory, or in a temporary file that nobody else sees, if it is very large."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if size <= IN_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        return np.empty(shape, dtype)
    with TemporaryFile(prefix="lookalike-") as file:
        os.posix_fallocate(file.fileno(), 0, size)  # an error now if the disk is too small, not a crash later
        return np.memmap(file, dtype, "r+", shape=shape)


def as_floats(rows: Any, run: Run | None = None) -> Any:
    """Return a matrix of float32 or float64: an array, or a CSR matrix if sparse."""
    if hasattr(rows, "tocsr"):
        from scipy.sparse import csr_array  # slow to import

        matrix = csr_array(rows)
        check_csr(matrix)
        if not matrix.has_canonical_format:
            matrix = csr_array(rows, copy=True)  # so that the user's matrix stays unchanged
            matrix.sum_duplicates()
    elif np.ma.is_masked(rows):
        raise DataError("vectors must not have masked components; got a masked array. Fill it, for example with nan.")
    else:
        matrix = rows if isinstance(rows, np.memmap) else as_numpy(rows)
    if matrix.ndim != 2:
        raise DataError(f"vectors must be a matrix, one vector per row; got shape {matrix.shape}.")
    kind, size = matrix.dtype.kind, matrix.dtype.itemsize
    if kind not in "biuf":
        raise DataError(f"vectors must be numeric; got {matrix.dtype}.")
    wanted = np.float32 if (kind == "f" and size <= 4) or size <= 2 else np.float64
    if not isinstance(matrix, np.ndarray):
        return matrix.astype(wanted)
    return converted(matrix, wanted, run or Run(1))


def converted(matrix: np.ndarray, wanted: Any, run: Run) -> np.ndarray:
    """Return a matrix row by row in memory with the type wanted; copy it only if necessary."""
    if matrix.dtype == wanted and matrix.flags.c_contiguous and matrix.flags.aligned:
        return matrix
    whole = np.empty(matrix.shape, wanted)

    def work(part: slice) -> None:
        whole[part] = matrix[part]

    run.each(work, row_blocks(matrix))
    return whole


def check_csr(matrix: Any) -> None:
    """Raise an error for indices out of range: kernels would read outside of arrays."""
    try:
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise DataError(f"vectors must be a valid CSR matrix: {error}.") from error
    if matrix.shape[-1] > MOST_DIMENSIONS:
        raise DataError(f"vectors can have at most {MOST_DIMENSIONS:,} components; got {matrix.shape[-1]:,}.")


def as_numpy(array: Any) -> np.ndarray:
    """Return an array or tensor of any library as a NumPy array, copied from a GPU if need be.

    >>> as_numpy([1, 2]).tolist()
    [1, 2]
    """
    for step in ("detach", "cpu"):  # a tensor of torch: without its gradient, in main memory
        if callable(getattr(array, step, None)):
            array = getattr(array, step)()
    if "bfloat16" in str(getattr(array, "dtype", "")) and hasattr(array, "float"):
        array = array.float()  # NumPy has no such type
    try:
        dlpack = hasattr(array, "__dlpack__") and not hasattr(array, "__array__")
        return np.from_dlpack(array) if dlpack else np.asarray(array)
    except (TypeError, RuntimeError, BufferError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"a {type(array).__name__} cannot be read as a NumPy array ({reason}); convert it.") from error


def on_card(rows: Any, values: Any) -> Any:
    """Return rows that are a tensor on a CUDA card with the type of their values on the host, or None."""
    kind = getattr(rows, "__dlpack_device__", None)
    if kind is None or kind()[0] != CARD or not str(rows.dtype).endswith(str(values.dtype)):
        return None
    return rows.detach() if hasattr(rows, "detach") else rows


def _even_rows(rows: Any, on_error: str) -> tuple[Any, dict[int, str]]:
    """Return the rows as long as the first as an array, and why the others are wrong, by row."""
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        raise DataError("vectors must be rows of numbers.") from None
    ragged = {
        i: f"{counted(n, 'component')}, where the first row has {lengths[0]}"
        for i, n in enumerate(lengths)
        if n != lengths[0]
    }
    for row, why in ragged.items():
        if on_error == "fail":
            raise DataError(f"row {row}: {why}; {skip_hint(of='Vectors.of')}.")
    even = [as_numpy(row) if hasattr(row, "detach") else row for i, row in enumerate(rows) if i not in ragged]
    return as_array_of_numbers(even, "vectors must be rows of numbers.") if even else np.zeros((0, 0)), ragged


def as_array_of_numbers(rows: Any, rule: str) -> np.ndarray:
    try:
        return np.asarray(rows)
    except (ValueError, OverflowError):  # rows within rows
        raise DataError(rule) from None


def as_ids(ids: Any, items: int) -> pa.Array:
    try:
        given = ids if isinstance(ids, pa.Array) else pa.array(ids)
    except (pa.ArrowException, OverflowError):
        raise DataError("ids must be all of one type.") from None
    if len(given) != items:
        raise DataError(
            f"there must be as many ids as items; got {counted(len(given), 'id')} for {counted(items, 'item')}."
        )
    return given
