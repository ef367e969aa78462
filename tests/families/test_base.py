"""Check what all families share: collision rates, and signatures that depend on one item only."""

import math
from functools import partial

import numpy as np
import pytest

from lookalike.core.errors import DataError, UsageError
from lookalike.families import (
    BitSampling,
    Family,
    FieldEquality,
    GridSquares,
    Hyperplanes,
    MinHash,
    RandomLines,
    WeightedMinHash,
)
from lookalike.families.base import as_keys
from lookalike.kernels.hashing import EMPTY
from lookalike.measures import MEASURES, angle, euclidean
from tests.collisions import (
    TRIALS,
    at_angle,
    at_distance,
    by_bits,
    by_fields,
    by_hyperplanes,
    by_lines,
    by_minhash,
    by_minhash_of_many_seeds,
    by_repeated_bits,
    by_squares,
    by_universal_minhash,
    by_weighted_minhash,
    off,
    random_prints,
    random_sets,
)
from tests.failing import fails

NONE = int(EMPTY)


# --- collision probabilities ---

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
    "WeightedMinHash of 4": (partial(by_weighted_minhash, union=4), [0, 0.2, 0.5, 0.8, 1]),
    "WeightedMinHash of 300": (partial(by_weighted_minhash, union=300), [0, 0.2, 0.5, 0.8, 1]),
    "MinHash.universal": (by_universal_minhash, [0, 0.2, 0.5, 0.8, 1]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "distance"), [(law, distance) for law, (_, distances) in LAWS.items() for distance in distances]
)
def test_collision_rates(law, distance):
    """They are within four standard errors of the formula."""
    family, collided = LAWS[law][0](distance)
    assert collided.shape == (TRIALS,)
    assert off(collided.mean(), family.collision(distance), TRIALS) <= 4


def test_samples_have_the_intended_distances():
    assert angle(*at_angle(135, 3)) == pytest.approx(135)
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
        (WeightedMinHash(), 1, 0),
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
        (WeightedMinHash(), 0.1, 0.1),
        (Hyperplanes(), 45, 0.75),
        (RandomLines(4.0), 4, RandomLines(1.0).collision(1)),
        (BitSampling(20), 5, 0.75),
        (FieldEquality(["a", "b"]), 1, 0.5),
        (GridSquares(squares=2, density=0.5), 0.8, 0.16),
    ],
)
def test_chance_at_a_threshold(family, threshold, chance):
    """The threshold is a least similarity or a greatest distance, depending on the measure."""
    assert family.measure in MEASURES
    assert family.chance(threshold) == pytest.approx(chance)


# --- what signatures depend on ---

VECTORS = np.random.default_rng(4).normal(size=(40, 7))
COMPONENTS = np.random.default_rng(5).integers(0, 2, (40, 12))
OF_ITEMS = {
    "MinHash": (MinHash(20), [set(row.nonzero()[0].tolist()) for row in COMPONENTS]),
    "WeightedMinHash": (
        WeightedMinHash(20),
        [{int(x): 0.1 + x * x for x in row.nonzero()[0]} for row in COMPONENTS],
    ),
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
    """They are equal to the last bit, whatever the size of the batch."""
    together = family.signatures(items)
    assert together.shape == (40, family.hashes)
    assert together.dtype.kind in "iu"
    for size in (1, 3, 39):
        parts = [family.signatures(items[start : start + size]) for start in range(0, 40, size)]
        assert (np.concatenate(parts) == together).all()
    assert (family.signatures(items[::-1]) == together[::-1]).all()


@pytest.mark.parametrize(("family", "items"), OF_ITEMS.values(), ids=OF_ITEMS)
def test_functions_are_drawn_once(family, items):
    assert (family.signatures(items) == family.signatures(items)).all()


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


@pytest.mark.parametrize(("family", "items", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_golden_signatures(family, items, expected):
    assert family.signatures(items).tolist() == expected


# --- keys ---


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64, np.bool_])
def test_keys_are_equal_exactly_where_signatures_are(kind):
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
        (WeightedMinHash(5), []),
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

ALL_FAMILIES = {
    "MinHash": (MinHash(), "1]"),
    "WeightedMinHash": (WeightedMinHash(), "1]"),
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
def test_distances_that_are_not_numbers(family, end, distance):
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
    """The threshold is a similarity or a distance, depending on the measure."""
    assert MinHash().chance(0.1) == 0.1
    assert Hyperplanes().chance(18) == 0.9
    assert GridSquares(3, density=0.2).chance(0.8) == pytest.approx(0.16**3)


def test_estimates_of_records_and_prints():
    records = FieldEquality(list("abcd"))
    assert records.estimate(*records.signatures([(1, 2, 3, 4), (1, 2, 3, 5)])) == 1
    prints = GridSquares(squares=1, hashes=4, cells=4, density=0.5)
    assert prints.estimate(*prints.signatures([{0, 1, 2, 3}, {0, 1}])) == 1  # half of all cells are in both
    assert prints.estimate(*prints.signatures([{0, 1}, {1, 2}])) == 0.5
    assert prints.estimate(*prints.signatures([{0}, {1}])) == 0


def test_repr():
    assert repr(Hyperplanes(8)) == "<Hyperplanes: 8 functions for angle>"
    assert repr(FieldEquality(["a"])) == "<FieldEquality: 1 function for hamming>"


def test_the_greatest_number_of_functions():
    assert [family.most for family in (MinHash(), Hyperplanes(), RandomLines(1), GridSquares())] == [math.inf] * 4
    assert (BitSampling(7, 3).most, BitSampling(7, 30, repeat=True).most) == (7, math.inf)
    assert FieldEquality(["a", "b"]).most == 2


@pytest.mark.parametrize(("family", "end"), ALL_FAMILIES.values(), ids=ALL_FAMILIES)
def test_distances_beyond_the_greatest(family, end):
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
GRID = "items must be rows of 4 truth values, one per cell; got "
NO_RECORD = "records must be mappings, or lists of 2 values, one per field; got "


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
            "sketches must have 2 bytes per row; got shape (2, 1).",
        ),
        (
            lambda: Hyperplanes(9).angles(np.zeros(2, np.uint8), [0], [1]),
            "sketches must have 2 bytes per row; got shape (2,).",
        ),
        (
            lambda: Hyperplanes().estimate(np.zeros(2, np.uint8), np.zeros(3, np.uint8)),
            "signatures must have the same length; got shapes (2,) and (3,).",
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
            "dimensions must be given for lines='unit': collision probabilities depend on it.",
        ),
        (lambda: RandomLines.from_lines([[1, 0]], width=0), f"{WIDTH}0."),
        (lambda: RandomLines.from_lines(np.zeros((0, 3)), width=1), "hashes must be an integer of at least 1; got 0."),
        (lambda: BitSampling(0), "dimensions must be an integer of at least 1; got 0."),
        (
            lambda: BitSampling(3, 4),
            "hashes must be at most 3, the number of positions: there are no more functions; got 4. "
            "repeat=True uses positions more than once.",
        ),
        (lambda: BitSampling.from_positions([0, 3], 3), "position must be an integer of at most 2; got 3."),
        (lambda: BitSampling.from_positions([-1], 3), "position must be an integer of at least 0; got -1."),
        (lambda: BitSampling.from_positions([], 3), "hashes must be an integer of at least 1; got 0."),
        (
            lambda: BitSampling(3).estimate(np.zeros((2, 3)), np.zeros((2, 3))),
            "signatures must have the same length; got shapes (2, 3) and (2, 3).",
        ),
        (lambda: GridSquares(squares=0), "squares must be an integer of at least 1; got 0."),
        (lambda: GridSquares(cells=0), "cells must be an integer of at least 1; got 0."),
        (lambda: GridSquares(density=0), "density must be in (0, 1]; got 0."),
        (lambda: GridSquares(density=20), "density must be in (0, 1]; got 20. Did you mean 0.2?"),
        (lambda: GridSquares(density="x"), "density must be a number in (0, 1]; got 'x'."),
        (lambda: GridSquares(squares=5, cells=4), "squares must be at most 4, the number of cells; got 5."),
        (
            lambda: GridSquares.from_squares([(0, 1), (1,)], cells=4),
            "give at least one function; all must have the same number of squares.",
        ),
        (
            lambda: GridSquares.from_squares([], cells=4),
            "give at least one function; all must have the same number of squares.",
        ),
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
            "width must be larger for items this far from the origin; got 0.001.",
        ),
        (
            lambda: RandomLines.from_lines([[1]], width=1).signatures([[2.0**53]]),
            "width must be larger for items this far from the origin; got 1.",
        ),
        (
            lambda: RandomLines(1.0).signatures([[1e308, 1e308, -1e308, 1e308]]),
            "width must be larger for items this far from the origin; got 1.",
        ),
        (
            lambda: RandomLines.from_lines([[1, 0], [0, 0]], width=1),
            "a zero vector has no direction; row 1 is zero.",
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
        (lambda: BitSampling(3).signatures(["abc", "ab"]), "vectors must all have the same length."),
        (lambda: BitSampling(3).signatures([[1, 2, 3], [1]]), "vectors must all have the same length."),
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
