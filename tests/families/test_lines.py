"""Check random lines: how often two points share a segment, and the segments' numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from lookalike.core.errors import DataError
from lookalike.families import RandomLines
from tests import reference
from tests.collisions import at_distance
from tests.failing import fails
from tests.strategies import matrices

# --- random lines ---


def mean_overlap(width, distance, lines, dimensions):
    """Integrate the probability of sharing a segment over the distance of two projections.

    In several dimensions the sine of an angle is a component of a random unit vector; the angle's
    density is the cosine to the power of dimensions - 2.
    """
    if lines == "gaussian":
        last = min(width / distance, 40)
        return quad(
            lambda x: (1 - x * distance / width) * math.sqrt(2 / math.pi) * math.exp(-x * x / 2),
            0,
            last,
            epsabs=1e-12,
            points=[min(1, last)],
        )[0]
    if dimensions == 1:
        return max(0, 1 - distance / width)
    constant = 2 * math.gamma(dimensions / 2) / math.sqrt(math.pi) / math.gamma((dimensions - 1) / 2)
    last = math.asin(min(1, width / distance))
    return quad(
        lambda t: (1 - math.sin(t) * distance / width) * constant * math.cos(t) ** (dimensions - 2),
        0,
        last,
        epsabs=1e-12,
    )[0]


@pytest.mark.parametrize(
    ("lines", "dimensions"),
    [("gaussian", None), *(("unit", dimensions) for dimensions in (1, 2, 3, 4, 10, 100))],
)
@pytest.mark.parametrize("width", [0.5, 4.0])
def test_collision_of_lines_is_an_integral(lines, dimensions, width):
    family = RandomLines(width, lines=lines, dimensions=dimensions)
    distances = width * np.array([1e-3, 0.1, 0.5, 0.9, 1, 1.1, 2, 3.7, 10, 100, 1e4])
    expected = [mean_overlap(width, distance, lines, dimensions) for distance in distances.tolist()]
    assert family.collision(distances) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("lines", "dimensions"), [("gaussian", None), ("unit", 2), ("unit", 3), ("unit", 10)])
def test_collision_of_lines_falls(lines, dimensions):
    distances = np.geomspace(1e-3, 1e5, 2001)
    p = RandomLines(1.0, lines=lines, dimensions=dimensions).collision(distances)
    assert (np.diff(p) < 0).all()
    assert p[0] < 1


@pytest.mark.parametrize("dimensions", [2, 3, 10])
def test_collision_of_unit_lines_far_apart(dimensions):
    """It is width / distance times the density of a component of the unit vector at 0."""
    k = math.exp(math.lgamma(dimensions / 2) - math.lgamma((dimensions - 1) / 2)) / math.sqrt(math.pi)
    distances = np.array([1e6, 1e7, 1e8, 1e9])
    p = RandomLines(1.0, lines="unit", dimensions=dimensions).collision(distances)
    assert p * distances == pytest.approx([k] * 4, rel=1e-6)


@pytest.mark.parametrize("distance", [1e-155, 5e-324])
def test_collision_of_lines_at_tiny_distances(distance):
    assert RandomLines(4.0).collision(distance) == 1


def test_unit_lines_in_many_dimensions_are_like_gaussian_ones():
    """A component of a unit vector times the square root of the dimensions is nearly normal."""
    distances = np.array([0.5, 1, 4])
    many = RandomLines(1.0, lines="unit", dimensions=10**4).collision(distances * 100)
    assert many == pytest.approx(RandomLines(1.0).collision(distances), abs=1e-4)


@pytest.mark.parametrize("width", [1.0, 4.0])
def test_bounds_of_lines_in_the_plane(width):
    """The textbook's bounds for points at most a/2 apart and for those at least 2a apart."""
    family = RandomLines(width, lines="unit", dimensions=2)
    assert family.plane_bounds() == (width / 2, 2 * width, 1 / 2, 1 / 3)
    near, far, p1, p2 = family.plane_bounds()
    assert (family.collision(np.linspace(0, near, 1001)) >= p1).all()
    assert (family.collision(np.append(np.linspace(far, 10 * far, 1001), 1e6)) <= p2).all()


def test_given_lines():
    """Lines are cut from the origin or an offset; points before it have negative numbers."""
    family = RandomLines.from_lines([[1, 0], [0, 1], [30, 40]], width=2, offsets=[0, 1, 0])
    assert family.signatures([[0, 0], [3, 1], [-0.5, -1.5], [3, 4]]).tolist() == [
        [0, 0, 0],
        [1, 1, 1],
        [-1, -1, -1],
        [1, 2, 2],
    ]
    assert (family.hashes, family.dimensions, family.lines) == (3, 2, "unit")


# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize("lines", ["gaussian", "unit"])
@given(rows=matrices, hashes=st.integers(1, 12), seed=seeds, width=st.floats(1e-3, 1e6))
def test_line_signatures(lines, rows, hashes, seed, width):
    family = RandomLines(width, hashes, seed, lines)
    directions = family.directions(len(rows[0])).T.tolist()
    drawn = {"gaussian": reference.draw_gaussians, "unit": reference.draw_units}[lines]
    assert np.array(directions) == pytest.approx(np.array(drawn(seed, hashes, len(rows[0]))), rel=1e-12, abs=1e-14)
    (places,) = reference.draw_uniforms(seed, 1, hashes, stream=2)
    offsets = [place * width for place in places]
    expected = [reference.line_signature(row, directions, offsets, width) for row in rows]
    assert family.signatures(rows).tolist() == expected


# --- what signatures depend on ---

COMPONENTS = np.random.default_rng(5).integers(0, 2, (40, 12))


@pytest.mark.parametrize("lines", ["gaussian", "unit"])
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint64, np.float16, np.float32, np.bool_])
def test_segments_do_not_depend_on_the_kind_of_number(lines, kind):
    family = RandomLines(0.3, 50, lines=lines)
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.astype(np.float64))).all()
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.tolist())).all()


# --- errors ---


@pytest.mark.parametrize("width", [0.5, 4.0])
def test_estimates_of_lines(width):
    """The distance at which this share agrees, by bisection, as there is no closed form."""
    for family in (RandomLines(width, 4000), RandomLines(width, 4000, lines="unit", dimensions=5)):
        for distance in (0.3, 2.0, 5.0):
            pair = family.signatures(at_distance(distance, 5))
            p = family.collision(distance)
            spread = 4 * math.sqrt(p * (1 - p) / 4000)
            assert family.collision(family.estimate(*pair)) == pytest.approx(family.agreement(*pair), abs=1e-9)
            assert abs(family.collision(family.estimate(*pair)) - p) <= spread
        assert family.estimate(*family.signatures([[1.0] * 5] * 2)) == pytest.approx(0, abs=1e-12)


def test_the_farthest_segments():
    """Numbers up to 2**53 are distinct."""
    family = RandomLines.from_lines([[1]], width=1)
    assert family.signatures([[2.0**53 - 1], [-(2.0**53) + 1]]).tolist() == [[2**53 - 1], [-(2**53) + 1]]


def test_errors_of_a_width_too_small_by_far():
    fails(
        DataError,
        "width must be larger for items this far from the origin; got 1e-300.",
        lambda: RandomLines(1e-300).signatures([[1e10]]),
    )
