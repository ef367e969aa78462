"""Vectors along random directions: what hyperplanes and lines have in common."""

from typing import Any

import numpy as np

from lookalike.core.errors import DataError
from lookalike.items.vectors import Vectors
from lookalike.kernels.vectors import project, project_sparse
from lookalike.measures.rows import as_matrix, finite


def is_sparse(items: Any) -> bool:
    """Whether items are a SciPy matrix, whose zeros are not held."""
    return hasattr(items, "tocsr")


def as_rows(items: Any) -> Any:
    """Items as a matrix of finite numbers in double precision, dense or in rows (CSR)."""
    if isinstance(items, Vectors):  # which are finite
        return items.values.astype(np.float64)
    if is_sparse(items):
        return Vectors.of(items).values.astype(np.float64)
    matrix = as_matrix(items)
    return finite(matrix, np.arange(len(matrix)))


def along(rows: Any, directions: np.ndarray) -> np.ndarray:
    """Dot products of all rows with all directions, which are given as dimensions x directions."""
    products: np.ndarray
    if is_sparse(rows):
        products = project_sparse(rows.indptr, rows.indices, rows.data, directions)
    else:
        products = project(rows, directions)
    return products


def as_directions(items: Any) -> Any:
    """The same, of a size at which no dot product overflows; a zero vector is an error."""
    rows = as_rows(items)
    small = isinstance(items, Vectors) and items.values.dtype == np.float32  # whatever they are multiplied with
    return of_size_one(rows, small)


def of_size_one(rows: Any, small: bool = False) -> Any:
    """Rows times powers of two, which round nothing, such that no dot product of them overflows, as of small ones."""
    if is_sparse(rows):
        most = abs(rows).max(axis=1).toarray().ravel() if rows.shape[1] else np.zeros(rows.shape[0])
    else:
        most = rows.any(axis=1) if small else np.abs(rows).max(axis=1, initial=0)
    if not most.all():
        raise DataError(f"a zero vector has no direction; row {np.argmin(most)} is one.")
    if small:
        return rows
    _, exponents = np.frexp(most)
    if not is_sparse(rows):
        return np.ldexp(rows, -exponents[:, None])
    scaled = rows.copy()
    scaled.data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
    return scaled
