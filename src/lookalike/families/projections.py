"""Project vectors on random directions, for hyperplanes and lines."""

from typing import Any

import numpy as np

from lookalike.core.errors import DataError
from lookalike.items.vectors import Vectors
from lookalike.kernels.vectors import project, project_sparse
from lookalike.measures.rows import as_matrix, finite


def is_sparse(items: Any) -> bool:
    """Return whether items are a sparse SciPy matrix."""
    return hasattr(items, "tocsr")


def as_rows(items: Any) -> Any:
    """Return items as a matrix of finite numbers in double precision, dense or CSR."""
    if isinstance(items, Vectors):  # known to be finite
        return items.values.astype(np.float64)
    if is_sparse(items):
        return Vectors.of(items).values.astype(np.float64)
    matrix = as_matrix(items)
    return finite(matrix, np.arange(len(matrix)))


def along(rows: Any, directions: np.ndarray) -> np.ndarray:
    """Return the dot products of all rows with all directions (dimensions x directions)."""
    products: np.ndarray
    if is_sparse(rows):
        products = project_sparse(rows.indptr, rows.indices, rows.data, directions)
    else:
        products = project(rows, directions)
    return products


def as_directions(items: Any) -> Any:
    """Return items like `as_rows`, scaled so that no dot product overflows; reject zero vectors."""
    rows = as_rows(items)
    small = isinstance(items, Vectors) and items.values.dtype == np.float32  # too small to overflow in float64
    return of_size_one(rows, small)


def of_size_one(rows: Any, small: bool = False) -> Any:
    """Scale rows by powers of two, without rounding, so that no dot product overflows.

    `small` rows cannot overflow and are only checked for zero vectors.
    """
    if is_sparse(rows):
        most = abs(rows).max(axis=1).toarray().ravel() if rows.shape[1] else np.zeros(rows.shape[0])
    else:
        most = rows.any(axis=1) if small else np.abs(rows).max(axis=1, initial=0)
    if not most.all():
        raise DataError(f"a zero vector has no direction; row {np.argmin(most)} is zero.")
    if small:
        return rows
    _, exponents = np.frexp(most)
    if not is_sparse(rows):
        return np.ldexp(rows, -exponents[:, None])
    scaled = rows.copy()
    scaled.data = np.ldexp(rows.data, -np.repeat(exponents, np.diff(rows.indptr)))
    return scaled
