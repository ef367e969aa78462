"""Check projections: they depend neither on other items nor on the layout."""

import math
from functools import partial

import numpy as np
import pytest

from lookalike.core.errors import DataError
from lookalike.families import Hyperplanes, RandomLines
from tests import reference
from tests.failing import fails

# --- what signatures depend on ---

VECTORS = np.random.default_rng(4).normal(size=(40, 7))


@pytest.mark.parametrize("kind", ["Hyperplanes", "RandomLines"])
def test_signatures_decided_by_rounding_do_not_depend_on_the_other_items(kind):
    """Dot products are zero except for rounding, or segments are as short as the last digits."""
    normals = np.random.default_rng(6).normal(size=(50, 30))
    items = np.random.default_rng(7).normal(size=(50, 30))
    if kind == "Hyperplanes":
        family = Hyperplanes.from_vectors(normals)
        items -= normals * ((items * normals).sum(axis=1) / (normals * normals).sum(axis=1))[:, None]
        expected = [reference.hyperplane_signature(item, normals.tolist()) for item in items.tolist()]
        assert 5 < np.diagonal(family.signatures(items)).sum() < 45
    else:
        family = RandomLines.from_lines(normals, width=2.0**-47)
        normals = family.directions(30).T
        expected = [reference.line_signature(item, normals.tolist(), [0.0] * 50, 2.0**-47) for item in items.tolist()]
    together = family.signatures(items)
    assert together.tolist() == expected
    assert (np.concatenate([family.signatures(items[[i]]) for i in range(50)]) == together).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_signatures_do_not_depend_on_the_layout(order):
    for family in (Hyperplanes(20), RandomLines(0.5, 20)):
        assert (family.signatures(np.asarray(VECTORS, order=order)) == family.signatures(VECTORS)).all()
        assert (family.signatures(np.repeat(VECTORS, 2, axis=0)[::2]) == family.signatures(VECTORS)).all()


# --- errors ---

MATRIX = "vectors must be the rows of a matrix of real numbers; got "


@pytest.mark.parametrize("family", [Hyperplanes(8), RandomLines(1.0, 8), RandomLines(1.0, 8, lines="unit")])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([1, 2], f"{MATRIX}1 dimensions of int64."),
        (["ab"], f"{MATRIX}1 dimensions of <U2."),
        ([[1j, 2]], f"{MATRIX}2 dimensions of complex128."),
        ([[[1.0]]], f"{MATRIX}3 dimensions of float64."),
        ([[None, 2]], f"{MATRIX}2 dimensions of object."),
        ([[1, 2], [3]], "vectors must all have the same length."),
        ([[1, 2], [3, math.nan]], "vectors must have finite components; row 1 does not."),
        ([[1, 2], [3, 4], [-math.inf, 5]], "vectors must have finite components; row 2 does not."),
    ],
)
def test_errors_of_vectors(family, items, message):
    fails(DataError, message, lambda: family.signatures(items))
    made = Hyperplanes.from_vectors if isinstance(family, Hyperplanes) else partial(RandomLines.from_lines, width=1)
    fails(DataError, message, lambda: made(items))
