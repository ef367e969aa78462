"""Check hyperplanes: which side a vector is on, and how often two are on the same side."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.families import Hyperplanes
from tests import reference
from tests.collisions import TRIALS, at_angle, by_hyperplanes
from tests.failing import fails
from tests.strategies import matrices

# --- collision probabilities ---


@pytest.mark.slow
@pytest.mark.parametrize("angle", [15, 45, 90, 135, 170])
def test_collision_rates_of_signs(angle):
    """In 256 dimensions, vectors of +1 and -1 come within 0.01 of the formula, besides chance."""
    family, collided = by_hyperplanes(angle, dimensions=256, vectors="signs")
    p = family.collision(angle)
    assert abs(collided.mean() - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS) + 0.01


# --- hyperplanes ---


@pytest.mark.parametrize("hashes", [1, 7, 8, 9, 30, 64, 65])
def test_sketches_are_packed_signatures(hashes):
    family = Hyperplanes(hashes)
    vectors = np.random.default_rng(hashes).normal(size=(9, 4))
    signatures, sketches = family.signatures(vectors), family.sketches(vectors)
    assert sketches.shape == (9, -(-hashes // 8))
    assert sketches.dtype == np.uint8
    assert (sketches == np.packbits(signatures, axis=1, bitorder="little")).all()
    left, right = np.indices((9, 9)).reshape(2, -1)
    expected = [family.estimate(signatures[a], signatures[b]) for a, b in zip(left, right, strict=True)]
    assert family.angles(sketches, left, right) == pytest.approx(expected, abs=1e-9)


def test_angles_of_no_pairs():
    family = Hyperplanes(9)
    assert family.angles(family.sketches([[1, 2]]), np.empty(0, int), np.empty(0, int)).tolist() == []


@pytest.mark.parametrize("zero", [[0.0, 0.0], [-0.0, 0.0], [False, False]])
def test_zero_vectors_have_no_direction(zero):
    message = "a zero vector has no direction; row 1 is zero."
    fails(DataError, message, lambda: Hyperplanes(4).signatures([[1, 2], zero]))
    fails(DataError, message, lambda: Hyperplanes.from_vectors([[1, 2], zero]))
    fails(
        DataError, "a zero vector has no direction; row 0 is zero.", lambda: Hyperplanes(4).signatures(np.zeros((1, 0)))
    )


def test_vectors_within_a_hyperplane_are_on_its_positive_side():
    family = Hyperplanes.from_vectors([[1, -1], [-1, 1], [2, 2], [1e-200, 0]])
    assert family.signatures([[3, 3], [-3, -3], [1, -1], [-1e-200, 1]]).tolist() == [
        [1, 1, 1, 1],
        [1, 1, 0, 0],
        [1, 0, 1, 1],
        [0, 1, 1, 0],
    ]


def test_zero_dot_products_of_great_vectors_count_as_positive():
    assert Hyperplanes.from_vectors([[2, -2]]).signatures([[1e308, 1e308]]).tolist() == [[1]]


@pytest.mark.parametrize("angle", [0, 1, 60, 100, 180])
def test_estimates_come_near_the_angle(angle):
    x, y = at_angle(angle, 6)
    p = 1 - angle / 180
    for hashes in (100, 1000, 50_000):
        family = Hyperplanes(hashes, seed=8)
        estimate = family.estimate(*family.signatures([x, y]))
        assert abs(estimate - angle) <= 4 * 180 * math.sqrt(p * (1 - p) / hashes) + 1e-9


def test_lengths_make_no_difference_to_the_side():
    vectors = np.random.default_rng(1).normal(size=(5, 4))
    found = Hyperplanes(64).signatures(vectors)
    assert (Hyperplanes(64).signatures(vectors * 1024) == found).all()
    assert (Hyperplanes(64).signatures(-vectors) == 1 - found).all()


# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("vectors", ["gaussian", "signs"])
@given(rows=matrices, hashes=st.integers(1, 12), seed=seeds)
def test_hyperplane_signatures(vectors, rows, hashes, seed):
    rows = [[*row[:-1], row[-1] or 1.0] for row in rows]  # a zero vector has no signature
    family = Hyperplanes(hashes, seed, vectors)
    normals = family.normals(len(rows[0])).T.tolist()
    drawn = {"gaussian": reference.draw_gaussians, "signs": reference.draw_signs}[vectors]
    assert np.array(normals) == pytest.approx(np.array(drawn(seed, hashes, len(rows[0]))), rel=1e-12, abs=1e-14)
    assert family.signatures(rows).tolist() == [reference.hyperplane_signature(row, normals) for row in rows]


# --- what signatures depend on ---

COMPONENTS = np.random.default_rng(5).integers(0, 2, (40, 12))


@pytest.mark.parametrize("options", [{}, {"vectors": "signs"}], ids=str)
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint64, np.float16, np.float32, np.bool_])
def test_signs_do_not_depend_on_the_kind_of_number(options, kind):
    family = Hyperplanes(50, **options)
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.astype(np.float64))).all()
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.tolist())).all()


# --- golden values, which must never change ---

GOLDEN_ITEMS = [[1, 2, 3, 4], [4, -3, 2, -1]]


def test_golden_sketches():
    assert Hyperplanes(20).sketches(GOLDEN_ITEMS).tolist() == [[53, 16, 15], [88, 104, 6]]
