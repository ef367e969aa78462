"""Check the axioms of a metric: which measures obey them, and the counterexamples to others."""

import math
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.measures import (
    MEASURES,
    Counterexample,
    angle,
    counterexample,
    euclidean,
    hamming,
)
from tests.measure_samples import CASES, INFINITE, MAGNITUDES, NAN, bags, domain_of, sets

METRICS = [case for case in CASES if MEASURES[case.values[0]].metric and case.values[1] != {"union": "sum"}]


# --- axioms ---


def primitive(vector):
    """Return the shortest vector of integers in the same direction."""
    return tuple(value // math.gcd(*vector) for value in vector)


def of_one_length(elements):
    return st.integers(0, 5).flatmap(lambda n: st.lists(st.lists(elements, min_size=n, max_size=n), max_size=5))


finite = st.one_of(st.sampled_from(MAGNITUDES), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
POINTS = {
    "sets": st.lists(sets.filter(len), max_size=6),
    "bags": st.lists(bags.filter(len), max_size=6),
    "vectors": of_one_length(finite),
    "directions": st.lists(st.tuples(*[st.integers(-5, 5)] * 3).filter(any).map(primitive), max_size=6),
    "strings": st.lists(st.text("ab\U0001f600", max_size=6), max_size=6),
}
TRIANGLE = "d(x, z) <= d(x, y) + d(y, z)"
# For each measure whose distance is not a metric: points, and the axiom that fails.
NO_METRIC = {
    "containment": ([{1}, {1, 2}], Counterexample("d(x, y) > 0 unless x = y", ({1}, {1, 2}))),
    "set_cosine": ([{1}, {1, 2}, {2}], Counterexample(TRIANGLE, ({1}, {1, 2}, {2}))),
    "cosine_similarity": (
        [(1, 0), (1, 1), (0, 1)],
        Counterexample(TRIANGLE, ((1, 0), (1, 1), (0, 1))),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), METRICS)
@settings(max_examples=60)
@given(st.data())
def test_metrics(name, options, data):
    points = data.draw(POINTS[domain_of(name)])
    assert counterexample(partial(MEASURES[name].distance, **options), points) is None


@pytest.mark.parametrize(
    "name", [name for name, measure in MEASURES.items() if not measure.metric and not measure.unlimited]
)  # those without a limit have no distance
def test_measures_that_are_not_metrics(name):
    points, found = NO_METRIC[name]
    assert counterexample(MEASURES[name].distance, points) == found


@given(of_one_length(st.sampled_from("ab")).map(lambda points: ["".join(point) for point in points]))
def test_hamming_is_a_metric_on_strings(points):
    assert counterexample(hamming, points) is None


def test_equal_bags_have_a_distance_if_the_union_is_a_sum():
    apart = partial(MEASURES["bag_jaccard"].distance, union="sum")
    assert counterexample(apart, [Counter("ab")]) == Counterexample("d(x, x) = 0", (Counter("ab"),))


@pytest.mark.parametrize(("name", "empty"), [("jaccard", set()), ("bag_jaccard", Counter())])
def test_an_empty_set_has_a_distance_to_itself(name, empty):
    assert counterexample(MEASURES[name].distance, [empty]) == Counterexample("d(x, x) = 0", (empty,))


def test_the_angle_is_a_metric_only_on_directions():
    found = Counterexample("d(x, y) > 0 unless x = y", ([1, 2], [2, 4]))
    assert counterexample(angle, [[1, 2], [2, 4]]) == found


@pytest.mark.parametrize(
    ("d", "points", "found"),
    [
        (lambda x, y: x - y, [1, 2], ("d(x, y) >= 0", (1, 2))),
        (lambda x, y: NAN, [1], ("d(x, y) >= 0", (1, 1))),
        (lambda x, y: NAN if (x, y) == (2, 1) else abs(x - y), [1, 2], ("d(x, y) >= 0", (2, 1))),
        (lambda x, y: abs(x - y) + 1, [5], ("d(x, x) = 0", (5,))),
        (lambda x, y: x + y, [0, 1, 2], ("d(x, x) = 0", (1,))),
        (lambda x, y: abs(x // 2 - y // 2), [1, 2, 3], ("d(x, y) > 0 unless x = y", (2, 3))),
        (lambda x, y: max(x - y, 2 * (y - x)), [0, 1], ("d(x, y) = d(y, x)", (0, 1))),
        (lambda x, y: 0 if x == y else INFINITE if x < y else 1, [0, 1], ("d(x, y) = d(y, x)", (0, 1))),
        (lambda x, y: (x - y) ** 2, [0, 1, 2], (TRIANGLE, (0, 1, 2))),
        (lambda x, y: abs(x - y) * (1 if abs(x - y) < 2 else INFINITE), [2, 1, 0], (TRIANGLE, (2, 1, 0))),
    ],
)
def test_each_axiom_can_fail(d, points, found):
    assert counterexample(d, points) == found
    assert counterexample(d, points).axiom == found[0]
    assert counterexample(d, points).points == found[1]


@pytest.mark.parametrize(
    ("d", "points"),
    [
        (lambda x, y: abs(x - y), range(12)),
        (lambda x, y: int(x != y), [1, 1, 2, "a", None]),
        (lambda x, y: 0 if x == y else INFINITE, {1, 2, 3}),
        (lambda x, y: np.float32(abs(x - y)), [1, 2, 3]),
        (euclidean, [(0, 0), (3, 4), (3, 4.0)]),
        (lambda x, y: NAN, []),
    ],
)
def test_metrics_have_no_counterexample(d, points):
    assert counterexample(d, points) is None


def test_arrays_as_points():
    points = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 5.0]])
    assert counterexample(euclidean, points) is None
    assert counterexample(euclidean, [*points]) is None
    axiom, (x, y) = counterexample(lambda x, y: 0.0, points)
    assert axiom == "d(x, y) > 0 unless x = y"
    assert (x.tolist(), y.tolist()) == ([1, 2], [3, 5])
    axiom, (x, y) = counterexample(lambda x, y: 0.0, [np.zeros(2), np.zeros(3)])
    assert (x.shape, y.shape) == ((2,), (3,))


def test_tolerance():
    """Rounding errors, absolute or relative, are no counterexample; distance 0 must be exact."""

    def near_zero(x, y):
        return abs(x - y) + 1e-10

    assert counterexample(near_zero, [1]) is None
    assert counterexample(near_zero, [1], tolerance=1e-11).axiom == "d(x, x) = 0"

    def uneven(x, y):
        return 0 if x == y else 1e6 + (1e-4 if x < y else 0)

    assert counterexample(uneven, [1, 2]) is None
    assert counterexample(uneven, [1, 2], tolerance=1e-11).axiom == "d(x, y) = d(y, x)"

    def bent(x, y):
        return abs(x - y) * (1 + 1e-10 * (abs(x - y) == 2))

    assert counterexample(bent, [0, 1, 2]) is None
    found = counterexample(bent, [0, 1, 2], tolerance=0)
    assert found == Counterexample(TRIANGLE, (0, 1, 2))
    assert counterexample(lambda x, y: abs(x - y) * 1e-12, [1, 2]) is None


FAILS = {
    "d(x, y) >= 0": lambda d, x, y: not d[x, y] >= 0,
    "d(x, x) = 0": lambda d, x: d[x, x] != 0,
    "d(x, y) > 0 unless x = y": lambda d, x, y: d[x, y] == 0 and x != y,
    "d(x, y) = d(y, x)": lambda d, x, y: d[x, y] != d[y, x],
    TRIANGLE: lambda d, x, y, z: d[x, z] > d[x, y] + d[y, z],
}


@given(st.lists(st.integers(-1, 4), min_size=6, max_size=6), st.lists(st.sampled_from([0, 0, 0, 0, 1]), min_size=3))
def test_counterexamples_are_correct_and_complete(sides, diagonal):
    """For any distances of three points: None if no axiom fails, else points where one does."""
    pairs = [(x, y) for x in range(3) for y in range(3) if x != y]
    d = dict(zip(pairs, sides, strict=True)) | {(x, x): diagonal[x] for x in range(3)}
    broken = {
        axiom
        for axiom, fails in FAILS.items()
        for some in product(range(3), repeat=len({*"xyz"}.intersection(axiom)))
        if fails(d, *some)
    }
    found = counterexample(lambda x, y: d[x, y], range(3))
    assert (found is None) == (not broken)
    assert found is None or FAILS[found.axiom](d, *found.points)


def test_every_pair_is_measured_once():
    calls = []
    counterexample(lambda x, y: calls.append((x, y)) or abs(x - y), range(4))
    assert sorted(calls) == [*product(range(4), repeat=2)]


# --- equal points ---


@given(st.lists(st.text("ab", max_size=2), max_size=4))
def test_points_are_compared_by_equality(points):
    """Arrays drop a null character at the end of a text, so texts must not become arrays."""
    assert counterexample(lambda x, y: float(x != y), points) is None
    assert counterexample(lambda x, y: 0, ["a\0", "a"]) == ("d(x, y) > 0 unless x = y", ("a\0", "a"))
