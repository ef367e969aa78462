"""Reads arrays: .npy and .npz of NumPy and SciPy, and the .fvecs, .bvecs and .ivecs of benchmarks.

Arrays are memory-mapped where no copy is needed. Nothing is ever unpickled.
"""

import io
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import BadFile, DataError, LookalikeError, argument, did_you_mean, remedy
from lookalike.core.run import Run
from lookalike.io.part import CODECS, Part, check_ratio
from lookalike.io.tables import reading
from lookalike.items.vectors import as_floats

VECS: dict[str, np.dtype[Any]] = {"fvecs": np.dtype("<f4"), "bvecs": np.dtype("u1"), "ivecs": np.dtype("<i4")}
ARRAYS = ("npy", "npz", *VECS)
BLOCK = 1 << 22  # bytes decompressed at a time
BROKEN = (
    ValueError, OverflowError, TypeError, LookupError, AttributeError, SyntaxError, RuntimeError, TokenError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_arrays(part: Part, vector: str | None, identity: str | None) -> tuple[Any, pa.Array | None]:
    """Return the array or sparse matrix of a part, and its ids or None; only .npz has names."""
    with loading(part):
        if part.format == "npz":
            return read_npz(part, vector, identity)
        unnamed(part, vector, identity)
        return (read_npy if part.format == "npy" else read_vecs)(part), None


def unnamed(part: Part, vector: str | None, identity: str | None) -> None:
    """Raise an error if a name is given for a format without names."""
    for option, name in (("vector", vector), ("id", identity)):
        if name is not None and (option, name) != ("id", "-"):
            raise DataError(
                f"{part.name}: {argument(option, name)} names a column or array, but {part.format} has no names."
            )


def as_vectors(part: Part, matrix: Any, run: Run) -> Any:
    """Return the matrix in float32 or float64, row by row in memory; copy it only if necessary."""
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise DataError(f"{part.name}: vectors must be a matrix, one vector per row; got shape {matrix.shape}.")
    try:
        return as_floats(matrix, run)
    except DataError as error:
        raise DataError(f"{part.name}: {error}") from None


@contextmanager
def loading(part: Part) -> Iterator[None]:
    """Turn errors of NumPy, SciPy and zipfile into a one-line DataError that names the part."""
    try:
        with reading(part):
            yield
    except LookalikeError:
        raise
    except BROKEN as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if "allow_pickle" in reason or "Python objects" in reason:
            reason = "it holds Python objects, which are never loaded; save it as numbers"
        raise BadFile(f"{part.name}: cannot be read as {part.format}: {reason.rstrip('.')}.") from error


def read_npy(part: Part) -> np.ndarray:
    """Read one array, memory-mapped if possible."""
    path = plain_path(part)
    if path is not None:
        return np.lib.format.open_memmap(path, "r")
    with part.open() as stream:
        return read_stream(part, stream)


def read_stream(part: Part, stream: Any) -> np.ndarray:
    """Read one array block by block into its place, after a check of the size that its header states."""
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version[0] == 1 else np.lib.format.read_array_header_2_0
    shape, columns_first, dtype = header(stream)
    if dtype.hasobject:
        raise ValueError("allow_pickle")  # as NumPy says
    size, done = math.prod(shape) * dtype.itemsize, 0
    check_ratio(part, "its array", size, part.stored_size())
    content = np.empty(size, np.uint8)
    while done < size and (block := stream.read(min(BLOCK, size - done))):
        content[done : done + len(block)] = np.frombuffer(block, np.uint8)
        done += len(block)
    if done < size:
        raise ValueError(f"its header says that {size:,} bytes follow; there are {done:,}")
    return content.view(dtype).reshape(shape, order="F" if columns_first else "C")


def read_npz(part: Part, vector: str | None, identity: str | None) -> tuple[Any, pa.Array | None]:
    """Read the only array or the one named, or a sparse matrix. An array `id` holds ids."""
    path = plain_path(part)
    with io.BytesIO(part.read()) if path is None else path.open("rb") as source:
        return read_zip(part, source, vector, identity)


def read_zip(part: Part, source: Any, vector: str | None, identity: str | None) -> tuple[Any, pa.Array | None]:
    """Read an open .npz file as `read_npz` does."""
    if not zipfile.is_zipfile(source):
        raise ValueError("it is not a zip file")
    source.seek(0)
    with np.load(source, allow_pickle=False) as file:
        names = list(file.files)
        if {"format", "shape", "data"} <= set(names):
            unnamed(part, vector, identity)
            return read_sparse(source), None
        identity = identity or ("id" if "id" in names else None)
        identity = None if identity == "-" else identity
        if vector is None:
            others = [name for name in names if name != identity]
            if len(others) != 1:
                how = remedy("Pass Vectors.of(matrix)", f"Name it with {argument('vector')}")
                raise DataError(f"{part.name}: which array holds the vectors? {how}; {has(names)}.")
            vector = others[0]
        for name in (vector, identity):
            if name is not None and name not in names:
                raise DataError(f"{part.name}: no array {name!r}; {has(names)}.{did_you_mean(name, names)}")
        array = np.asarray(file[vector])
        if identity is None:
            return array, None
        return array, array_ids(part, identity, np.asarray(file[identity]), len(np.atleast_1d(array)))


def array_ids(part: Part, name: str, values: np.ndarray, rows: int) -> pa.Array:
    """Return an array of ids, one per row."""
    if values.shape != (rows,) or values.dtype.kind not in "biufUSM":
        what = f"{values.dtype} of shape {values.shape}"
        raise DataError(f"{part.name}: array {name!r} must hold an id for each of the {rows:,} rows; got {what}.")
    return pa.array(values)


def read_sparse(source: Any) -> Any:
    """Read a matrix that scipy.sparse.save_npz has written."""
    from scipy import sparse  # slow to import

    source.seek(0)
    matrix = sparse.load_npz(source)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # a bad index would read outside the array
    return sparse.csr_array(matrix)


def read_vecs(part: Part) -> np.ndarray:
    """Read rows that each hold a dimension (little-endian int32) and that many components."""
    path, kind = plain_path(part), VECS[part.format]
    if path is None or not path.stat().st_size:
        data: np.ndarray = np.frombuffer(part.read(), np.uint8)
    else:
        data = np.memmap(path, np.uint8, "r")
    if not len(data):
        raise DataError(f"{part.name}: the file is empty.")
    width = int(data[:4].view("<i4")[0]) if len(data) >= 4 else 0
    if width < 1:
        raise DataError(f"{part.name}, row 0: its dimension must be at least 1; got {width}.")
    length = 4 + width * kind.itemsize
    full = len(data) // length * length
    rows, rest = data[:full].reshape(-1, length), data[full:]
    widths = np.ascontiguousarray(rows[:, :4]).view("<i4").ravel()
    if len(rest) >= 4:
        widths = np.append(widths, rest[:4].view("<i4"))
    wrong = np.flatnonzero(widths != width)
    if len(wrong):
        what = f"{widths[wrong[0]]} dimensions, where the first has {width}"
        raise DataError(f"{part.name}, row {wrong[0]}: {what}.")
    if len(rest):
        raise DataError(f"{part.name}, row {len(rows)}: the file ends in the middle of it.")
    return rows[:, 4:].view(kind)


def plain_path(part: Part) -> Path | None:
    """Return the path if the file's bytes can be used as they are."""
    return part.local() if part.paths and part.paths[0].suffix.lower() not in CODECS else None


def has(names: list[str]) -> str:
    """Return the end of a message that lists the names."""
    return f"it has {', '.join(names) or 'none'}"
