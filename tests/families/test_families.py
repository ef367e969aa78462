"""Families of hash functions: that they collide as often as their law says, and what their signatures are."""

import math
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from lookalike.core.errors import DataError, UsageError
from lookalike.families import BitSampling, Family, FieldEquality, GridSquares, Hyperplanes, MinHash, RandomLines
from lookalike.families.base import as_keys
from lookalike.families.draws import gaussians, samples, signs, uniforms, words
from lookalike.kernels.hashing import EMPTY
from lookalike.kernels.vectors import project
from lookalike.measures import MEASURES, cosine, euclidean, hamming
from tests import reference

TRIALS = 20_000
NONE = int(EMPTY)


def agree(a, b):
    """On which functions two signatures agree."""
    return (a == b) & (as_keys(a) != EMPTY)


def off(measured, p, trials):
    """How many standard errors a rate is off."""
    error = math.sqrt(max(0.0, p * (1 - p)) / trials)
    return abs(measured - p) / error if error else (0.0 if measured == p else math.inf)


# --- laws ---
#
# Each function below gives a family and, for a pair at the distance, whether it collides in each of 20,000
# independent trials.


def at_angle(angle, dimensions):
    """Two vectors at an angle, of unequal lengths."""
    u, v = np.linalg.qr(np.random.default_rng(dimensions).normal(size=(dimensions, 2)))[0].T
    return np.array([3 * u, math.cos(math.radians(angle)) * u + math.sin(math.radians(angle)) * v])


def at_distance(distance, dimensions):
    """Two points at a distance."""
    start, way = np.random.default_rng(dimensions).normal(size=(2, dimensions))
    return np.array([start, start + distance * way / np.linalg.norm(way)])


def random_prints(distance, cells, density):
    """A minutia in each cell with probability `density`; the second print has a share 1 - distance of the first's."""
    rng = np.random.default_rng(7)
    first = rng.random((TRIALS, cells)) < density
    return first, rng.random((TRIALS, cells)) < np.where(first, 1 - distance, density)


def random_sets(union, shared):
    """Sets of random elements, `shared` of `union` in both, the rest about half to each side."""
    elements = np.random.default_rng(union).integers(0, 2**61 - 1, (TRIALS, union))
    half = shared + (union - shared + 1) // 2
    return elements[:, :half], np.hstack((elements[:, :shared], elements[:, half:]))


def by_hyperplanes(angle, dimensions=3, vectors="gaussian"):
    family = Hyperplanes(TRIALS, seed=3, vectors=vectors)
    return family, agree(*family.signatures(at_angle(angle, dimensions)))


def by_lines(distance, dimensions, lines):
    family = RandomLines(4.0, TRIALS, seed=5, lines=lines, dimensions=dimensions)
    return family, agree(*family.signatures(at_distance(distance, dimensions)))


@cache
def bits_of_many_seeds(dimensions, hashes):
    """Row d has d ones, then zeros: one component of each row for each seed."""
    rows = np.tri(dimensions + 1, dimensions, -1, dtype=np.int64)
    families = (BitSampling(dimensions, hashes, seed) for seed in range(TRIALS))
    return np.array([family.signatures(rows)[:, family.seed % hashes] for family in families])


def by_bits(distance):
    found = bits_of_many_seeds(20, 3)
    return BitSampling(20, 3), found[:, 0] == found[:, distance]


def by_repeated_bits(distance):
    family = BitSampling(20, TRIALS, repeat=True)
    return family, agree(*family.signatures(np.arange(20)[None] < [[0], [distance]]))


def by_squares(distance, squares, density):
    family = GridSquares(squares, hashes=8, cells=25, density=density)
    left, right = (family.signatures(side) for side in random_prints(distance, 25, density))
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 8]


def by_fields(distance):
    family = FieldEquality(["name", "street", "town", "phone"])
    rng = np.random.default_rng(1)
    records = rng.integers(0, 1000, (TRIALS, 4))
    others = np.where(np.argsort(rng.random((TRIALS, 4))) < distance, -1, records)
    left, right = (family.signatures(side.tolist()) for side in (records, others))
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 4]


def by_minhash(distance, union):
    """One position of the sketch of each of many pairs: those of one sketch depend on each other."""
    family = MinHash(64, seed=9)
    sides = random_sets(union, round((1 - distance) * union))
    left, right = (family.sketch(np.arange(TRIALS + 1) * side.shape[1], side.ravel().view(np.uint64)) for side in sides)
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 64]


def by_minhash_of_many_seeds(distance):
    """The same for one pair of sets of 10 elements in all, and many seeds."""
    left, right = (np.unique(side[0]).view(np.uint64) for side in random_sets(10, round((1 - distance) * 10)))
    both, indptr = np.concatenate((left, right)), np.array([0, len(left), len(left) + len(right)])
    found = [agree(*MinHash(16, seed).sketch(indptr, both))[seed % 16] for seed in range(TRIALS)]
    return MinHash(16), np.array(found)


def by_universal_minhash(distance):
    family = MinHash.universal(hashes=1, seed=2)
    left, right = (family.signatures(side.tolist()) for side in random_sets(10, round((1 - distance) * 10)))
    return family, agree(left, right)[:, 0]


LAWS = {
    "Hyperplanes": (by_hyperplanes, [15, 45, 90, 135, 170]),
    "Hyperplanes in 50 dimensions": (partial(by_hyperplanes, dimensions=50), [15, 45, 90, 135, 170]),
    **{
        f"RandomLines {lines} in {dimensions}": (
            partial(by_lines, dimensions=dimensions, lines=lines),
            [0.5, 2, 4, 8, 20],
        )
        for lines, dimensions in (("gaussian", 1), ("gaussian", 5), ("unit", 1), ("unit", 2), ("unit", 3), ("unit", 10))
    },
    "BitSampling": (by_bits, [0, 1, 5, 12, 20]),
    "BitSampling with repetition": (by_repeated_bits, [0, 1, 5, 12, 20]),
    "GridSquares 1": (partial(by_squares, squares=1, density=0.5), [0, 0.2, 0.5, 0.8, 1]),
    "GridSquares 3": (partial(by_squares, squares=3, density=0.6), [0, 0.2, 0.4, 0.6, 0.8]),
    "GridSquares of the textbook": (partial(by_squares, squares=3, density=0.2), [0, 0.1, 0.2, 0.3, 0.5]),
    "FieldEquality": (by_fields, [0, 1, 2, 3, 4]),
    "MinHash of 1": (partial(by_minhash, union=1), [0, 1]),
    "MinHash of 3": (partial(by_minhash, union=3), [0, 1 / 3, 2 / 3, 1]),
    "MinHash of 10": (partial(by_minhash, union=10), [0, 0.2, 0.5, 0.8, 1]),
    "MinHash of 200": (partial(by_minhash, union=200), [0, 0.2, 0.5, 0.8, 1]),
    "MinHash, many seeds": (by_minhash_of_many_seeds, [0, 0.2, 0.5, 0.8, 1]),
    "MinHash.universal": (by_universal_minhash, [0, 0.2, 0.5, 0.8, 1]),
}


@pytest.mark.parametrize(
    ("law", "distance"), [(law, distance) for law, (_, distances) in LAWS.items() for distance in distances]
)
def test_collision_rates(law, distance):
    """Within four standard errors of the law."""
    family, collided = LAWS[law][0](distance)
    assert collided.shape == (TRIALS,)
    assert off(collided.mean(), family.collision(distance), TRIALS) <= 4


@pytest.mark.parametrize("angle", [15, 45, 90, 135, 170])
def test_collision_rates_of_signs(angle):
    """Vectors of +1 and -1 come close to the law where many dimensions matter: within 0.01 more in 256."""
    family, collided = by_hyperplanes(angle, dimensions=256, vectors="signs")
    p = family.collision(angle)
    assert abs(collided.mean() - p) <= 4 * math.sqrt(p * (1 - p) / TRIALS) + 0.01


def test_pairs_are_at_the_distances_they_are_meant_to_be():
    assert cosine(*at_angle(135, 3)) == pytest.approx(135)
    assert euclidean(*at_distance(8, 10)) == pytest.approx(8)
    first, second = random_prints(0.3, 25, 0.6)
    assert (first & second).sum() / first.sum() == pytest.approx(0.7, abs=0.01)
    sides = [set(side[0].tolist()) for side in random_sets(10, 2)]
    assert (len(sides[0] & sides[1]), len(sides[0] | sides[1])) == (2, 10)


@pytest.mark.parametrize(
    "family",
    [Hyperplanes(), RandomLines(4.0), RandomLines(4.0, lines="unit", dimensions=3), BitSampling(20), GridSquares()],
)
def test_collision_falls_as_the_distance_grows(family):
    p = family.collision(np.linspace(0, min(family.farthest, 1000), 1001))
    assert (np.diff(p) < 0).all()
    assert ((p >= 0) & (p <= 1)).all()


@pytest.mark.parametrize(
    ("family", "nearest", "farthest"),
    [
        (MinHash(), 1, 0),
        (Hyperplanes(), 1, 0),
        (RandomLines(4.0), 1, None),
        (RandomLines(4.0, lines="unit", dimensions=1), 1, None),
        (RandomLines(4.0, lines="unit", dimensions=2), 1, None),
        (BitSampling(20), 1, 0),
        (FieldEquality(["a", "b"]), 1, 0),
        (GridSquares(squares=3, density=0.5), 0.125, 0),
    ],
)
def test_collision_at_both_ends(family, nearest, farthest):
    assert family.collision(0) == nearest
    assert isinstance(family.collision(0), float)
    if farthest is not None:
        assert family.collision(family.farthest) == farthest
        assert family.collision([[0, family.farthest]]).tolist() == [[nearest, farthest]]
    else:
        assert family.farthest == math.inf
        assert 0 <= family.collision(1e6) < 1e-5


def test_sensitivity():
    assert Hyperplanes().sensitivity(30, 90) == pytest.approx((30, 90, 5 / 6, 1 / 2))
    assert BitSampling(10).sensitivity(1, 4) == pytest.approx((1, 4, 0.9, 0.6))
    assert FieldEquality(["a", "b", "c", "d"]).sensitivity(1, 2) == (1, 2, 0.75, 0.5)
    assert GridSquares(squares=3, density=0.2).sensitivity(0.2, 0.8) == pytest.approx((0.2, 0.8, 0.004096, 6.4e-5))
    lines = RandomLines(4.0)
    assert lines.sensitivity(1, 4) == (1, 4, lines.collision(1), lines.collision(4))


@pytest.mark.parametrize(
    ("family", "threshold", "chance"),
    [
        (MinHash(), 0.8, 0.8),
        (MinHash(), 0.1, 0.1),
        (Hyperplanes(), 45, 0.75),
        (RandomLines(4.0), 4, RandomLines(1.0).collision(1)),
        (BitSampling(20), 5, 0.75),
        (FieldEquality(["a", "b"]), 1, 0.5),
        (GridSquares(squares=2, density=0.5), 0.8, 0.16),
    ],
)
def test_chance_at_a_threshold(family, threshold, chance):
    """A least similarity, or a greatest distance: as the family's measure is one or the other."""
    assert family.measure in MEASURES
    assert family.chance(threshold) == pytest.approx(chance)


# --- random lines ---


def mean_overlap(width, distance, lines, dimensions):
    """The expected share of a segment that two projections have in common: an integral over their distance.

    In several dimensions the sine of an angle is a component of a random unit vector; the angle's density is
    the cosine to the power of dimensions - 2.
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
    """Half of width / distance times the density of a component at 0."""
    k = math.exp(math.lgamma(dimensions / 2) - math.lgamma((dimensions - 1) / 2)) / math.sqrt(math.pi)
    distances = np.array([1e6, 1e7, 1e8, 1e9])
    p = RandomLines(1.0, lines="unit", dimensions=dimensions).collision(distances)
    assert p * distances == pytest.approx([k] * 4, rel=1e-6)


@pytest.mark.parametrize("distance", [1e-155, 5e-324])
def test_collision_of_lines_at_tiny_distances(distance):
    assert RandomLines(4.0).collision(distance) == 1


def test_unit_lines_in_many_dimensions_are_as_gaussian_ones():
    """A component of a unit vector times the square root of the dimensions is nearly normal."""
    distances = np.array([0.5, 1, 4])
    many = RandomLines(1.0, lines="unit", dimensions=10**4).collision(distances * 100)
    assert many == pytest.approx(RandomLines(1.0).collision(distances), abs=1e-4)


@pytest.mark.parametrize("width", [1.0, 4.0])
def test_bounds_of_lines_in_the_plane(width):
    """What the textbook shows of points up to a/2 apart and from 2a on."""
    family = RandomLines(width, lines="unit", dimensions=2)
    assert family.plane_bounds() == (width / 2, 2 * width, 1 / 2, 1 / 3)
    near, far, p1, p2 = family.plane_bounds()
    assert (family.collision(np.linspace(0, near, 1001)) >= p1).all()
    assert (family.collision(np.append(np.linspace(far, 10 * far, 1001), 1e6)) <= p2).all()


def test_given_lines():
    """Cut from the origin on, or from an offset; points under it have negative numbers. Directions have no length."""
    family = RandomLines.from_lines([[1, 0], [0, 1], [30, 40]], width=2, offsets=[0, 1, 0])
    assert family.signatures([[0, 0], [3, 1], [-0.5, -1.5], [3, 4]]).tolist() == [
        [0, 0, 0],
        [1, 1, 1],
        [-1, -1, -1],
        [1, 2, 2],
    ]
    assert (family.hashes, family.dimensions, family.lines) == (3, 2, "unit")


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
    message = "a zero vector has no direction; row 1 is one."
    fails(DataError, message, lambda: Hyperplanes(4).signatures([[1, 2], zero]))
    fails(DataError, message, lambda: Hyperplanes.from_vectors([[1, 2], zero]))
    fails(
        DataError, "a zero vector has no direction; row 0 is one.", lambda: Hyperplanes(4).signatures(np.zeros((1, 0)))
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


# --- bits, squares and fields ---


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.text("01é中", min_size=n, max_size=n)] * 2)))
def test_all_positions_give_the_hamming_distance(pair):
    """Each position is looked at once."""
    family = BitSampling(len(pair[0]))
    assert family.positions.tolist() == list(range(len(pair[0])))
    assert family.estimate(*family.signatures(pair)) == pytest.approx(hamming(*pair), abs=1e-9)


@pytest.mark.parametrize("hashes", [1, 5, 19])
def test_positions_are_different_unless_repeated(hashes):
    for seed in range(50):
        positions = BitSampling(20, hashes, seed).positions.tolist()
        assert len(set(positions)) == hashes
        assert set(positions) <= set(range(20))
    assert len(set(BitSampling(20, 100, repeat=True).positions.tolist())) == 20


def test_given_positions():
    family = BitSampling.from_positions([2, 0, 2], dimensions=3)
    assert family.signatures(["abc", "cba"]).tolist() == [[99, 97, 99], [97, 99, 97]]
    assert family.collision(1) == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, np.uint64])
def test_great_numbers_are_not_taken_for_empty(kind):
    """The greatest of 64 bits would be, and is refused."""
    family, most = BitSampling(2), int(np.iinfo(kind).max)
    if np.iinfo(kind).bits == 64:
        fails(
            DataError, f"components must be less than {most}.", lambda: family.signatures(np.full((2, 2), most, kind))
        )
        most -= 1
    assert family.agreement(*family.signatures(np.full((2, 2), most, kind))) == 1


def test_squares_of_a_function_are_different():
    chosen = GridSquares(squares=4, hashes=200, cells=6).chosen
    assert chosen.shape == (200, 4)
    assert all(len(set(function)) == 4 and set(function) <= set(range(6)) for function in chosen.tolist())


def test_prints_outside_the_bucket_agree_with_nothing():
    family = GridSquares.from_squares([(0, 1), (1, 2), (2, 3)], cells=4)
    signatures = family.signatures([{0, 1, 2}, {1, 2, 3}, set(), [2, 1]])
    assert signatures.tolist() == [[0, 0, NONE], [NONE, 0, 0], [NONE] * 3, [NONE, 0, NONE]]
    assert [family.agreement(signatures[0], other) for other in signatures] == pytest.approx([2 / 3, 1 / 3, 0, 1 / 3])


@pytest.mark.parametrize("missing", [None, "", math.nan, np.float32("nan"), np.datetime64("NaT")])
def test_missing_values_are_the_same_as_no_other(missing):
    family = FieldEquality(["name", "phone"])
    a, b = family.signatures([("Ann", missing), ("Ann", missing)])
    assert a.tolist()[1] == NONE
    assert family.agreement(a, b) == family.agreement(a, a) == 0.5


def test_values_are_compared_as_texts():
    family = FieldEquality(["value"])
    values = [1, "1", np.int8(1), 1.0, "1.0", " ", "0", 0, False, "False"]
    found = family.signatures([[value] for value in values])[:, 0].tolist()
    assert found[0] == found[1] == found[2] != found[3] == found[4]
    assert found[6] == found[7] != found[8] == found[9]
    assert len(set(found)) == 5
    assert NONE not in found


def test_records_are_mappings_or_sequences():
    family = FieldEquality(["a", "b"])
    records = [{"b": 2, "a": 1, "c": 3}, {"a": 1, "b": 2}, (1, 2), [1, 2], np.array([1, 2])]
    assert len({tuple(row) for row in family.signatures(records).tolist()}) == 1


# --- plain twins ---

numbers = st.floats(-1e6, 1e6)
matrices = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=1, max_size=4)
)
seeds = st.integers(0, 2**64 - 1)


@given(seeds, st.integers(1, 4), st.integers(1, 5), st.integers(0, 5))
def test_draws(seed, rows, columns, stream):
    """Whole numbers to the bit; normal ones to rounding, as logarithms and cosines are."""
    assert words(seed, rows, columns, stream).tolist() == reference.draw_words(seed, rows, columns, stream)
    assert uniforms(seed, rows, columns, stream).tolist() == reference.draw_uniforms(seed, rows, columns, stream)
    assert signs(seed, rows, columns).tolist() == reference.draw_signs(seed, rows, columns)
    assert samples(seed, rows, columns, columns + stream).tolist() == reference.draw_samples(
        seed, rows, columns, columns + stream
    )
    normal = np.array(reference.draw_gaussians(seed, rows, columns))
    assert gaussians(seed, rows, columns) == pytest.approx(normal, rel=1e-12, abs=1e-14)


@given(matrices, st.integers(0, 4), seeds)
def test_project(rows, count, seed):
    """To the bit."""
    directions = np.random.default_rng(seed).normal(size=(count, len(rows[0])))
    found = project(np.array(rows), np.ascontiguousarray(directions.T))
    assert found.shape == (len(rows), count)
    assert found.tolist() == reference.project(rows, directions.tolist())


@pytest.mark.parametrize("vectors", ["gaussian", "signs"])
@given(rows=matrices, hashes=st.integers(1, 12), seed=seeds)
def test_hyperplane_signatures(vectors, rows, hashes, seed):
    rows = [[*row[:-1], row[-1] or 1.0] for row in rows]  # a zero vector has none
    family = Hyperplanes(hashes, seed, vectors)
    normals = family.normals(len(rows[0])).T.tolist()
    drawn = {"gaussian": reference.draw_gaussians, "signs": reference.draw_signs}[vectors]
    assert np.array(normals) == pytest.approx(np.array(drawn(seed, hashes, len(rows[0]))), rel=1e-12, abs=1e-14)
    assert family.signatures(rows).tolist() == [reference.hyperplane_signature(row, normals) for row in rows]


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


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.one_of(
                st.lists(st.text("01é中", min_size=n, max_size=n), min_size=1, max_size=4),
                st.lists(st.lists(st.integers(-(2**31), 2**31), min_size=n, max_size=n), min_size=1, max_size=4),
            ),
            st.integers(1, n),
        )
    ),
    seeds,
    st.booleans(),
)
def test_bit_signatures(given_items, seed, repeat):
    items, hashes = given_items
    dimensions = len(items[0])
    family = BitSampling(dimensions, hashes, seed, repeat)
    if repeat:
        positions = [word % dimensions for word in reference.draw_words(seed, 1, hashes)[0]]
    else:
        (positions,) = reference.draw_samples(seed, 1, hashes, dimensions)
    assert family.signatures(items).tolist() == [reference.bit_signature(item, positions) for item in items]


@given(st.lists(st.sets(st.integers(0, 9)), max_size=5), st.integers(1, 4), st.integers(1, 8), seeds)
def test_square_signatures(prints, squares, hashes, seed):
    family = GridSquares(squares, hashes, cells=10, seed=seed)
    functions = reference.draw_samples(seed, hashes, squares, 10)
    assert family.signatures(prints).tolist() == [reference.square_signature(cells, functions) for cells in prints]
    grid = np.array([[cell in cells for cell in range(10)] for cells in prints]).reshape(len(prints), 10)
    for kind in (np.bool_, np.uint8, np.int64):
        assert (family.signatures(grid.astype(kind)) == family.signatures(prints)).all()


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.text(max_size=20), st.integers(), st.floats()), min_size=3, max_size=3),
        max_size=5,
    )
)
def test_field_signatures(records):
    family = FieldEquality(["a", "b", "c"])
    found = family.signatures(records)
    assert found.shape == (len(records), 3)
    assert found.tolist() == [reference.field_signature(record) for record in records]
    named = [dict(zip("cba", record[::-1], strict=True)) for record in records]
    assert (family.signatures(named) == found).all()


@given(st.lists(st.sets(st.integers(0, 2**64 - 1), max_size=5), min_size=1, max_size=4), seeds)
def test_minhash_signatures(sets, seed):
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in sets])))
    elements = np.array([x for row in sets for x in row], np.uint64)
    found = MinHash(7, seed).sketch(indptr, elements)
    assert found.tolist() == [reference.sketch(row, seed, 7) for row in sets]


# --- what signatures depend on ---

VECTORS = np.random.default_rng(4).normal(size=(40, 7))
COMPONENTS = np.random.default_rng(5).integers(0, 2, (40, 12))
OF_ITEMS = {
    "MinHash": (MinHash(20), [set(row.nonzero()[0].tolist()) for row in COMPONENTS]),
    "Hyperplanes": (Hyperplanes(20), VECTORS),
    "Hyperplanes signs": (Hyperplanes(20, vectors="signs"), VECTORS),
    "RandomLines": (RandomLines(0.5, 20), VECTORS),
    "RandomLines unit": (RandomLines(0.5, 20, lines="unit"), VECTORS),
    "BitSampling": (BitSampling(12, 5), COMPONENTS),
    "BitSampling with repetition": (BitSampling(12, 30, repeat=True), COMPONENTS),
    "GridSquares": (GridSquares(2, 20, cells=12), COMPONENTS == 1),
    "FieldEquality": (FieldEquality([f"f{i}" for i in range(12)]), COMPONENTS.tolist()),
}


@pytest.mark.parametrize(("family", "items"), OF_ITEMS.values(), ids=OF_ITEMS)
def test_signatures_do_not_depend_on_the_other_items(family, items):
    """To the bit, whatever the size of the batch."""
    together = family.signatures(items)
    assert together.shape == (40, family.hashes)
    assert together.dtype.kind in "iu"
    for size in (1, 3, 39):
        parts = [family.signatures(items[start : start + size]) for start in range(0, 40, size)]
        assert (np.concatenate(parts) == together).all()
    assert (family.signatures(items[::-1]) == together[::-1]).all()


@pytest.mark.parametrize("kind", ["Hyperplanes", "RandomLines"])
def test_signatures_that_hang_on_rounding_do_not_depend_on_the_other_items(kind):
    """The sign of a dot product that is zero but for rounding; segments as short as the last digits."""
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


@pytest.mark.parametrize(("family", "items"), OF_ITEMS.values(), ids=OF_ITEMS)
def test_functions_are_drawn_once(family, items):
    assert (family.signatures(items) == family.signatures(items)).all()


@pytest.mark.parametrize("options", [{}, {"vectors": "signs"}], ids=str)
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint64, np.float16, np.float32, np.bool_])
def test_signs_do_not_depend_on_the_kind_of_number(options, kind):
    family = Hyperplanes(50, **options)
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.astype(np.float64))).all()
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.tolist())).all()


@pytest.mark.parametrize("lines", ["gaussian", "unit"])
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint64, np.float16, np.float32, np.bool_])
def test_segments_do_not_depend_on_the_kind_of_number(lines, kind):
    family = RandomLines(0.3, 50, lines=lines)
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.astype(np.float64))).all()
    assert (family.signatures(COMPONENTS.astype(kind)) == family.signatures(COMPONENTS.tolist())).all()


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint8, np.uint64, np.bool_])
def test_bits_do_not_depend_on_the_kind_of_number(kind):
    family = BitSampling(12, 5)
    found = family.signatures(COMPONENTS.astype(kind))
    assert (found == family.signatures(COMPONENTS)).all()
    texts = ["".join(map(str, row)) for row in COMPONENTS.tolist()]
    assert (found + ord("0") == family.signatures(texts)).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_signatures_do_not_depend_on_the_layout(order):
    for family in (Hyperplanes(20), RandomLines(0.5, 20)):
        assert (family.signatures(np.asarray(VECTORS, order=order)) == family.signatures(VECTORS)).all()
        assert (family.signatures(np.repeat(VECTORS, 2, axis=0)[::2]) == family.signatures(VECTORS)).all()


@pytest.mark.parametrize(
    ("make", "items"),
    [
        (Hyperplanes, VECTORS),
        (partial(Hyperplanes, vectors="signs"), VECTORS),
        (partial(RandomLines, 0.5), VECTORS),
        (partial(RandomLines, 0.5, lines="unit"), VECTORS),
        (partial(GridSquares, 2, cells=12), COMPONENTS == 1),
        (partial(BitSampling, 12, repeat=True), COMPONENTS),
    ],
    ids=["Hyperplanes", "signs", "RandomLines", "unit", "GridSquares", "BitSampling with repetition"],
)
def test_the_first_functions_do_not_change_when_there_are_more(make, items):
    most = make(hashes=100).signatures(items)
    for hashes in (1, 7, 99):
        assert (make(hashes=hashes).signatures(items) == most[:, :hashes]).all()


def test_the_first_positions_do_not_change_when_there_are_more():
    """Asked for none in particular there are all of them, in order."""
    most = BitSampling(50, 50).positions.tolist()
    assert all(BitSampling(50, hashes).positions.tolist() == most[:hashes] for hashes in range(1, 50))
    assert BitSampling(50).positions.tolist() == sorted(most) == list(range(50))


@pytest.mark.parametrize(
    ("make", "items"),
    [
        (partial(Hyperplanes, 64), VECTORS),
        (partial(Hyperplanes, 64, vectors="signs"), VECTORS),
        (partial(RandomLines, 0.5, 64), VECTORS),
        (partial(BitSampling, 12, 11), COMPONENTS),
        (partial(BitSampling, 12, 64, repeat=True), COMPONENTS),
        (partial(GridSquares, 2, 64, 12), COMPONENTS == 1),
    ],
)
def test_seeds_make_different_functions(make, items):
    found = [make(seed=seed).signatures(items).tobytes() for seed in (0, 1, 2, 2**53, 2**53 + 1, 2**64 - 1)]
    assert len(set(found)) == 6


# --- golden values, which must never change ---


GOLDEN_ITEMS = [[1, 2, 3, 4], [4, -3, 2, -1]]
GOLDEN = {
    "MinHash": (
        MinHash(4),
        [{1, 2, 3}, {2, 3, 4}],
        [[12194133179, 4293998602, 1680346355, 2428600947], [12194133179, 1104782603, 1680346355, 15028832724]],
    ),
    "Hyperplanes": (
        Hyperplanes(12),
        GOLDEN_ITEMS,
        [[1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1]],
    ),
    "Hyperplanes signs": (
        Hyperplanes(12, vectors="signs"),
        GOLDEN_ITEMS,
        [[1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1]],
    ),
    "RandomLines": (
        RandomLines(1.0, 8),
        GOLDEN_ITEMS,
        [[6, -2, 2, -2, 3, 2, -8, -2], [-4, -1, -1, 0, 4, -9, 1, -2]],
    ),
    "RandomLines unit": (
        RandomLines(1.0, 8, lines="unit"),
        GOLDEN_ITEMS,
        [[3, -2, 1, -3, 1, 2, -4, -1], [-2, -1, -1, 0, 2, -5, 1, -1]],
    ),
    "BitSampling": (BitSampling(10, 4), ["abcdefghij"], [[*map(ord, "heib")]]),
    "BitSampling with repetition": (BitSampling(4, 12, repeat=True), ["0123"], [[*map(ord, "233032021021")]]),
    "GridSquares": (
        GridSquares(2, 8, cells=6),
        [{0, 1, 2, 3}, {1, 2, 3, 4, 5}],
        [[NONE, 0, NONE, 0, NONE, NONE, NONE, NONE], [0, 0, 0, 0, NONE, 0, 0, 0]],
    ),
    "FieldEquality": (
        FieldEquality(["name", "number"]),
        [("Ann", None), ("Bob", 12)],
        [[17977562122256627077, NONE], [8872263254380554596, 11850597262975795136]],
    ),
}


def test_golden_words():
    expected = [[13830413928045401970, 6869446166584666695], [8084911050856847527, 17600346874777673004]]
    assert words(1, 2, 2).tolist() == expected
    assert words(1, 1, 2, stream=1).tolist() == [[6791897765849424158, 17405687883870564846]]


@pytest.mark.parametrize(("family", "items", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_golden_signatures(family, items, expected):
    assert family.signatures(items).tolist() == expected


def test_golden_sketches():
    assert Hyperplanes(20).sketches(GOLDEN_ITEMS).tolist() == [[53, 16, 15], [88, 104, 6]]


# --- keys ---


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64, np.bool_])
def test_keys_are_equal_just_where_signatures_are(kind):
    values = np.array([[-3, -1, 0, 1, 2, 100]]).astype(kind)
    keys = as_keys(values)
    assert keys.dtype == np.uint64
    assert ((keys == keys.T) == (values == values.T)).all()
    assert EMPTY not in keys or kind == np.uint64


def test_agreement_of_signatures():
    one, two = np.array([1, -1, 3, 4]), np.array([1, -1, 0, 0])
    assert Family.agreement(one, two) == 0.5
    assert Family.agreement(np.array([EMPTY, EMPTY]), np.array([EMPTY, 0])) == 0
    assert Family.agreement(np.array([255], np.uint8), np.array([255], np.uint8)) == 1
    assert Family.agreement([1, 2], [1, 3]) == 0.5


# --- no items ---


@pytest.mark.parametrize(
    ("family", "items"),
    [
        (MinHash(5), []),
        (Hyperplanes(5), np.zeros((0, 3))),
        (RandomLines(1.0, 5), np.zeros((0, 3))),
        (BitSampling(5), np.zeros((0, 5), int)),
        (GridSquares(2, 5, cells=4), []),
        (GridSquares(2, 5, cells=4), np.zeros((0, 4), bool)),
        *((family, []) for family in (Hyperplanes(5), RandomLines(1.0, 5), BitSampling(9, 5), BitSampling(5))),
        (Hyperplanes.from_vectors(np.ones((5, 2))), []),
        (RandomLines.from_lines(np.ones((5, 2)), width=1), []),
        (FieldEquality(list("abcde")), []),
    ],
)
def test_no_items_have_no_signatures(family, items):
    assert family.signatures(items).shape == (0, 5)


# --- errors ---


def fails(error, message, call):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
    assert raised.type is error


ALL_FAMILIES = {
    "MinHash": (MinHash(), "1]"),
    "Hyperplanes": (Hyperplanes(), "180]"),
    "RandomLines": (RandomLines(4.0), "infinity)"),
    "RandomLines unit": (RandomLines(4.0, lines="unit", dimensions=2), "infinity)"),
    "BitSampling": (BitSampling(20), "20]"),
    "GridSquares": (GridSquares(), "1]"),
    "FieldEquality": (FieldEquality(["a", "b"]), "2]"),
}


@pytest.mark.parametrize(("family", "end"), ALL_FAMILIES.values(), ids=ALL_FAMILIES)
@pytest.mark.parametrize("distance", [-1, -1e-9, math.nan, math.inf, -math.inf])
def test_distances_out_of_bounds(family, end, distance):
    message = f"distance must be in [0, {end}; got {distance:g}."
    fails(UsageError, message, lambda: family.collision(distance))
    fails(UsageError, message, lambda: family.collision([0, 0.5, distance, -7]))
    fails(UsageError, message, lambda: family.sensitivity(0, distance))
    fails(UsageError, message, lambda: family.sensitivity(distance, 0.5))


@pytest.mark.parametrize(("family", "end"), ALL_FAMILIES.values(), ids=ALL_FAMILIES)
@pytest.mark.parametrize("distance", ["x", {}, [1, "x"]])
def test_distances_that_are_no_numbers(family, end, distance):
    fails(UsageError, f"distance must be a number in [0, {end}; got {distance!r}.", lambda: family.collision(distance))


@pytest.mark.parametrize(
    ("family", "threshold", "message"),
    [
        (MinHash(), 1.2, "threshold must be in [0, 1]; got 1.2."),
        (Hyperplanes(), 200, "threshold must be in [0, 180]; got 200."),
        (RandomLines(1), -1, "threshold must be in [0, infinity); got -1."),
        (GridSquares(), "x", "threshold must be a number in [0, 1]; got 'x'."),
    ],
)
def test_thresholds_out_of_bounds(family, threshold, message):
    fails(UsageError, message, lambda: family.chance(threshold))


def test_the_chance_at_a_threshold():
    """Of a similarity measure the threshold is a similarity, of a distance a distance."""
    assert MinHash().chance(0.1) == 0.1
    assert Hyperplanes().chance(18) == 0.9
    assert GridSquares(3, density=0.2).chance(0.8) == pytest.approx(0.16**3)


@pytest.mark.parametrize("width", [0.5, 4.0])
def test_estimates_of_lines(width):
    """The distance at which so many functions agree; by bisection, since the law has no inverse in closed form."""
    for family in (RandomLines(width, 4000), RandomLines(width, 4000, lines="unit", dimensions=5)):
        for distance in (0.3, 2.0, 5.0):
            pair = family.signatures(at_distance(distance, 5))
            p = family.collision(distance)
            spread = 4 * math.sqrt(p * (1 - p) / 4000)
            assert family.collision(family.estimate(*pair)) == pytest.approx(family.agreement(*pair), abs=1e-9)
            assert abs(family.collision(family.estimate(*pair)) - p) <= spread
        assert family.estimate(*family.signatures([[1.0] * 5] * 2)) == pytest.approx(0, abs=1e-12)


def test_estimates_of_records_and_prints():
    records = FieldEquality(list("abcd"))
    assert records.estimate(*records.signatures([(1, 2, 3, 4), (1, 2, 3, 5)])) == 1
    prints = GridSquares(squares=1, hashes=4, cells=4, density=0.5)
    assert prints.estimate(*prints.signatures([{0, 1, 2, 3}, {0, 1}])) == 1  # half of all cells are in both
    assert prints.estimate(*prints.signatures([{0, 1}, {1, 2}])) == 0.5
    assert prints.estimate(*prints.signatures([{0}, {1}])) == 0


def test_families_say_what_they_are():
    assert repr(Hyperplanes(8)) == "<Hyperplanes: 8 functions for cosine>"
    assert repr(FieldEquality(["a"])) == "<FieldEquality: 1 function for hamming>"


def test_how_many_functions_there_can_be():
    assert [family.most for family in (MinHash(), Hyperplanes(), RandomLines(1), GridSquares())] == [math.inf] * 4
    assert (BitSampling(7, 3).most, BitSampling(7, 30, repeat=True).most) == (7, math.inf)
    assert FieldEquality(["a", "b"]).most == 2


@pytest.mark.parametrize(("family", "end"), ALL_FAMILIES.values(), ids=ALL_FAMILIES)
def test_distances_over_the_greatest(family, end):
    if family.farthest < math.inf:
        more = family.farthest + 1
        fails(UsageError, f"distance must be in [0, {end}; got {more:g}.", lambda: family.collision(more))
        fails(UsageError, f"distance must be in [0, {end}; got {more:g}.", lambda: family.sensitivity(0, more))


@pytest.mark.parametrize("family", [family for family, _ in ALL_FAMILIES.values()], ids=ALL_FAMILIES)
@pytest.mark.parametrize(("d1", "d2"), [(0.5, 0.5), (0.5, 0.25), (1, 0)])
def test_sensitivity_of_distances_out_of_order(family, d1, d2):
    fails(UsageError, f"d1 must be less than d2; got {d1!r} and {d2!r}.", lambda: family.sensitivity(d1, d2))


MAKERS = {
    "MinHash": MinHash,
    "Hyperplanes": Hyperplanes,
    "RandomLines": partial(RandomLines, 1.0),
    "BitSampling": partial(BitSampling, 10),
    "GridSquares": GridSquares,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hashes": 0}, "hashes must be an integer of at least 1; got 0."),
        ({"hashes": 1.5}, "hashes must be an integer of at least 1; got 1.5."),
        ({"hashes": "8"}, "hashes must be an integer of at least 1; got '8'."),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1."),
        ({"seed": None}, "seed must be an integer of at least 0; got None."),
        ({"seed": 2**64}, f"seed must be an integer of at most {2**64 - 1}; got {2**64}."),
    ],
)
def test_errors_of_hashes_and_seeds(make, options, message):
    fails(UsageError, message, lambda: make(**options))


WIDTH = "width must be a positive number; got "
MATRIX = "vectors must be the rows of a matrix of real numbers; got "
FIELDS = "fields must be a list of different names; got "
NO_PRINT = (
    "a print must be the cells that hold a minutia, each once; print 0 is {}. Rows of truth values must be an array."
)
GRID = "items must be rows of 4 truth values, one a cell; got "
NO_RECORD = "records must be mappings, or lists of 2 values, one a field; got "


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Hyperplanes(vectors="sign"),
            "vectors must be one of gaussian, signs; got 'sign'. Did you mean 'signs'?",
        ),
        (lambda: Hyperplanes(vectors=None), "vectors must be one of gaussian, signs; got None."),
        (lambda: Hyperplanes.from_vectors(np.zeros((0, 3))), "hashes must be an integer of at least 1; got 0."),
        (
            lambda: Hyperplanes(9).angles(np.zeros((2, 1), np.uint8), [0], [1]),
            "sketches must have 2 bytes a row; got shape (2, 1).",
        ),
        (
            lambda: Hyperplanes(9).angles(np.zeros(2, np.uint8), [0], [1]),
            "sketches must have 2 bytes a row; got shape (2,).",
        ),
        (
            lambda: Hyperplanes().estimate(np.zeros(2, np.uint8), np.zeros(3, np.uint8)),
            "signatures must have one length; got shapes (2,) and (3,).",
        ),
        *(
            (lambda width=width: RandomLines(width), f"{WIDTH}{width!r}.")
            for width in (0, -1, -1.5, math.nan, math.inf, "4", None, True)
        ),
        (
            lambda: RandomLines(1.0, lines="units"),
            "lines must be one of gaussian, unit; got 'units'. Did you mean 'unit'?",
        ),
        (lambda: RandomLines(1.0, dimensions=0), "dimensions must be an integer of at least 1; got 0."),
        (
            lambda: RandomLines(1.0, lines="unit").collision(1),
            "dimensions must be given for lines 'unit': collisions depend on them.",
        ),
        (lambda: RandomLines.from_lines([[1, 0]], width=0), f"{WIDTH}0."),
        (lambda: RandomLines.from_lines(np.zeros((0, 3)), width=1), "hashes must be an integer of at least 1; got 0."),
        (lambda: BitSampling(0), "dimensions must be an integer of at least 1; got 0."),
        (
            lambda: BitSampling(3, 4),
            "hashes must be at most 3, the number of positions: there are no more functions; got 4. "
            "With repeat=True positions are used more than once.",
        ),
        (lambda: BitSampling.from_positions([0, 3], 3), "position must be an integer of at most 2; got 3."),
        (lambda: BitSampling.from_positions([-1], 3), "position must be an integer of at least 0; got -1."),
        (lambda: BitSampling.from_positions([], 3), "hashes must be an integer of at least 1; got 0."),
        (
            lambda: BitSampling(3).estimate(np.zeros((2, 3)), np.zeros((2, 3))),
            "signatures must have one length; got shapes (2, 3) and (2, 3).",
        ),
        (lambda: GridSquares(squares=0), "squares must be an integer of at least 1; got 0."),
        (lambda: GridSquares(cells=0), "cells must be an integer of at least 1; got 0."),
        (lambda: GridSquares(density=0), "density must be in (0, 1]; got 0."),
        (lambda: GridSquares(density=20), "density must be in (0, 1]; got 20. Did you mean 0.2?"),
        (lambda: GridSquares(density="x"), "density must be a number in (0, 1]; got 'x'."),
        (lambda: GridSquares(squares=5, cells=4), "squares must be at most 4, the number of cells; got 5."),
        (
            lambda: GridSquares.from_squares([(0, 1), (1,)], cells=4),
            "functions must be one or more, all of as many squares.",
        ),
        (lambda: GridSquares.from_squares([], cells=4), "functions must be one or more, all of as many squares."),
        (
            lambda: GridSquares.from_squares([(1, 2), (3, 3)], cells=4),
            "the squares of a function must be different; got [3, 3].",
        ),
        (lambda: GridSquares.from_squares([()], cells=4), "squares must be an integer of at least 1; got 0."),
        (lambda: GridSquares.from_squares([(0, 4)], cells=4), "square must be an integer of at most 3; got 4."),
        (lambda: GridSquares.from_squares([(0, -1)], cells=4), "square must be an integer of at least 0; got -1."),
        *(
            (lambda fields=fields: FieldEquality(fields), f"{FIELDS}{fields!r}.")
            for fields in ("ab", [], ["a", "a"], None, ["a", 1])
        ),
    ],
)
def test_errors_of_parameters(call, message):
    fails(UsageError, message, call)


@pytest.mark.parametrize("family", [Hyperplanes(8), RandomLines(1.0, 8), RandomLines(1.0, 8, lines="unit")])
@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([1, 2], f"{MATRIX}1 dimensions of int64."),
        (["ab"], f"{MATRIX}1 dimensions of <U2."),
        ([[1j, 2]], f"{MATRIX}2 dimensions of complex128."),
        ([[[1.0]]], f"{MATRIX}3 dimensions of float64."),
        ([[None, 2]], f"{MATRIX}2 dimensions of object."),
        ([[1, 2], [3]], "vectors must all have one length."),
        ([[1, 2], [3, math.nan]], "vectors must be of finite numbers; row 1 is not."),
        ([[1, 2], [3, 4], [-math.inf, 5]], "vectors must be of finite numbers; row 2 is not."),
    ],
)
def test_errors_of_vectors(family, items, message):
    fails(DataError, message, lambda: family.signatures(items))
    made = Hyperplanes.from_vectors if isinstance(family, Hyperplanes) else partial(RandomLines.from_lines, width=1)
    fails(DataError, message, lambda: made(items))


PRINTS = GridSquares(2, 8, cells=4)
RECORDS = FieldEquality(["a", "b"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Hyperplanes.from_vectors([[1, 2]]).signatures([[1, 2, 3]]),
            "items must have 2 dimensions, as the vectors do; got 3.",
        ),
        (
            lambda: RandomLines.from_lines([[1, 2]], width=1).signatures([[1, 2, 3]]),
            "items must have 2 dimensions, as the lines do; got 3.",
        ),
        (
            lambda: RandomLines(1.0, dimensions=2).signatures([[1, 2, 3]]),
            "items must have 2 dimensions, as the lines do; got 3.",
        ),
        (
            lambda: RandomLines(1e-3).signatures([[1e20]]),
            "width must be greater for items so far from the origin; got 0.001.",
        ),
        (
            lambda: RandomLines.from_lines([[1]], width=1).signatures([[2.0**53]]),
            "width must be greater for items so far from the origin; got 1.",
        ),
        (
            lambda: RandomLines(1.0).signatures([[1e308, 1e308, -1e308, 1e308]]),
            "width must be greater for items so far from the origin; got 1.",
        ),
        (
            lambda: RandomLines.from_lines([[1, 0], [0, 0]], width=1),
            "a zero vector has no direction; row 1 is one.",
        ),
        (
            lambda: RandomLines.from_lines([[1, 0], [0, 1]], width=1, offsets=[1, 2, 3]),
            "offsets must be a number, or one for each of 2 lines.",
        ),
        (
            lambda: RandomLines.from_lines([[1, 0]], width=1, offsets="x"),
            "offsets must be a number, or one for each of 1 lines.",
        ),
        (lambda: RandomLines.from_lines([[1, 0]], width=1, offsets=math.nan), "offsets must be finite numbers."),
        (lambda: BitSampling(3).signatures("abc"), "items must be vectors or strings; got one string."),
        (lambda: BitSampling(3).signatures(None), f"{MATRIX}0 dimensions of object."),
        (lambda: BitSampling(3).signatures(["abc", "ab"]), "vectors must all have one length."),
        (lambda: BitSampling(3).signatures([[1, 2, 3], [1]]), "vectors must all have one length."),
        (lambda: BitSampling(3).signatures(["ab", "ab"]), "items must have 3 components; got 2."),
        (lambda: BitSampling(3).signatures([1, 2, 3]), f"{MATRIX}1 dimensions of int64."),
        (
            lambda: BitSampling(3).signatures([[1.0, 2, 3]]),
            "components must be whole numbers, truth values or characters; got float64.",
        ),
        (
            lambda: BitSampling(1).signatures([[2**64]]),
            f"{MATRIX}2 dimensions of object.",
        ),
        (lambda: PRINTS.signatures(np.zeros(4, bool)), f"{GRID}shape (4,) of bool."),
        (lambda: PRINTS.signatures(np.zeros((2, 3), bool)), f"{GRID}shape (2, 3) of bool."),
        (lambda: PRINTS.signatures(np.full((2, 4), math.nan)), f"{GRID}shape (2, 4) of float64."),
        (lambda: PRINTS.signatures([[True, False]]), "cells must be in range(4); print 0 has True."),
        (lambda: PRINTS.signatures([{1.5}]), "cells must be in range(4); print 0 has 1.5."),
        (lambda: PRINTS.signatures([{"a"}]), "cells must be in range(4); print 0 has 'a'."),
        (lambda: PRINTS.signatures([3]), NO_PRINT.format("3")),
        (lambda: PRINTS.signatures([[0, 0, 1, 1]]), NO_PRINT.format("[0, 0, 1, 1]")),
        (lambda: PRINTS.signatures([{0}, {4}]), "cells must be in range(4); print 1 has 4."),
        (lambda: PRINTS.signatures([{-1}]), "cells must be in range(4); print 0 has -1."),
        (lambda: RECORDS.signatures([{"a": 1, "c": 2}]), "records must have the field 'b'; one has a, c."),
        (lambda: RECORDS.signatures([(1, 2, 3)]), f"{NO_RECORD}(1, 2, 3)."),
        (lambda: RECORDS.signatures(["ab"]), f"{NO_RECORD}'ab'."),
        (lambda: RECORDS.signatures([3]), f"{NO_RECORD}3."),
        (
            lambda: RECORDS.signatures([("\ud800", "b")]),
            "elements must be valid Unicode: 'utf-8' codec can't encode character '\\ud800' in position 0: "
            "surrogates not allowed",
        ),
    ],
)
def test_errors_of_items(call, message):
    fails(DataError, message, call)


def test_the_farthest_segments():
    """Up to 2**53 they can be told apart."""
    family = RandomLines.from_lines([[1]], width=1)
    assert family.signatures([[2.0**53 - 1], [-(2.0**53) + 1]]).tolist() == [[2**53 - 1], [-(2**53) + 1]]


def test_errors_of_a_width_too_small_by_far():
    fails(
        DataError,
        "width must be greater for items so far from the origin; got 1e-300.",
        lambda: RandomLines(1e-300).signatures([[1e10]]),
    )
