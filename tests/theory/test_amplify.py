"""Check cascades of ANDs and ORs: exact values, and the choice of bands."""

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lookalike import And, Or, choose_bands
from lookalike.core.errors import TooManyPairs, UsageError
from lookalike.families import BitSampling, Family, FieldEquality, GridSquares, Hyperplanes, MinHash, RandomLines
from lookalike.kernels.hashing import EMPTY
from lookalike.theory import banding
from lookalike.theory.amplify import Curve, bands_for
from tests import reference


def exact(bands, rows, p):
    """Return 1 - (1 - p**rows)**bands in exact arithmetic."""
    return 1 - (1 - Fraction(p) ** rows) ** bands


# --- curves ---


@pytest.mark.parametrize(("bands", "rows"), [(20, 5), (16, 4), (1, 1), (100, 2)])
def test_threshold_is_where_half_of_the_pairs_become_candidates(bands, rows):
    """It is (1 - (1/2)**(1/b))**(1/r); the textbook's (1/b)**(1/r) gives 1 - (1 - 1/b)**b."""
    curve = And(rows) >> Or(bands)
    assert curve.threshold() == pytest.approx((1 - 0.5 ** (1 / bands)) ** (1 / rows), abs=1e-12)
    assert curve((1 / bands) ** (1 / rows)) == pytest.approx(1 - (1 - 1 / bands) ** bands)


def test_curves_compose():
    left, right = And(3) >> Or(5), Or(2) >> And(7)
    p = np.linspace(0, 1, 101)
    assert ((left >> right)(p) == right(left(p))).all()
    assert (left >> right).functions == 3 * 5 * 2 * 7
    assert repr(left >> right) == "And(3) >> Or(5) >> Or(2) >> And(7)"


@given(st.lists(st.tuples(st.sampled_from([And, Or]), st.integers(1, 99)), min_size=1, max_size=5))
def test_curves_are_parsed_as_they_are_printed(steps):
    curve = reduce(Curve.__rshift__, [kind(count) for kind, count in steps])
    assert repr(Curve.parse(repr(curve))) == repr(Curve.parse(repr(curve).lower().replace(">>", "  >>"))) == repr(curve)


@pytest.mark.parametrize("text", ["", "And", "And 4", "And(4) Or(4)", "Xor(2)", "And(4) >> ", "And(4) > Or(2)"])
def test_invalid_cascades(text):
    with pytest.raises(UsageError) as error:
        Curve.parse(text)
    assert str(error.value) == f"a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got {text!r}."


def test_curves_accept_numbers_and_arrays():
    curve = And(2) >> Or(3)
    p = np.array([[0.0, 0.25], [0.5, 1.0]])
    assert curve(p).tolist() == [[curve(x) for x in row] for row in p.tolist()]
    assert isinstance(curve(0.5), float)
    assert (curve(0), curve(1)) == (0, 1)


@pytest.mark.parametrize("p", ["1e-12", "1e-6", "0.01", "0.5", "0.999999", "0.999999999999"])
@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (20, 1), (20, 2), (500, 3), (7, 30)])
def test_probabilities_keep_their_digits(p, bands, rows):
    """Even tiny ones, for which 1 - (1 - p)**b would lose them."""
    found = (And(rows) >> Or(bands))(float(p))
    assert found == pytest.approx(float(exact(bands, rows, float(p))), rel=1e-9, abs=0)


def test_tiny_probabilities_keep_their_digits_in_a_cascade():
    inner = exact(20, 1, 1e-12) ** 4
    assert (Or(20) >> And(4) >> Or(3))(1e-12) == pytest.approx(float(1 - (1 - inner) ** 3), rel=1e-9, abs=0)


def test_fixed_points():
    """1 - (1 - p**2)**2 = p at the golden ratio; a lone AND lowers every p, a lone OR raises it."""
    assert (And(2) >> Or(2)).fixed_points() == pytest.approx([(math.sqrt(5) - 1) / 2], abs=1e-12)
    assert (Or(2) >> And(2)).fixed_points() == pytest.approx([(3 - math.sqrt(5)) / 2], abs=1e-12)
    assert And(3).fixed_points() == Or(3).fixed_points() == []


@pytest.mark.parametrize("curve", [And(1), Or(1), And(1) >> Or(1)], ids=repr)
def test_a_curve_that_changes_nothing_has_no_fixed_points(curve):
    assert curve.fixed_points() == []


@pytest.mark.parametrize(("bands", "rows"), [(20, 5), (4, 4), (2, 2), (16, 8), (3, 30), (400, 3), (1, 3)])
def test_steepest(bands, rows):
    """The slope b r p**(r-1) (1 - p**r)**(b-1) is greatest where p**r = (r - 1) / (b r - 1)."""
    p = np.linspace(0, 1, 1_000_001)
    slopes = bands * rows * p ** (rows - 1) * (1 - p**rows) ** (bands - 1)
    best = int(np.argmax(slopes))
    where, slope = (And(rows) >> Or(bands)).steepest()
    assert where == pytest.approx(p[best], abs=1e-4)
    assert where == pytest.approx(((rows - 1) / (bands * rows - 1)) ** (1 / rows), abs=1e-4)
    assert slope == pytest.approx(slopes[best], rel=1e-6)


@pytest.mark.parametrize(
    ("p", "shown"),
    [(1.5, "1.5"), (-1, "-1"), (-1e-9, "-1e-09"), (math.nan, "nan"), (math.inf, "inf"), ([0, 0.5, 2, 3], "2")],
)
@pytest.mark.parametrize("curve", [And(2), Or(2), And(4) >> Or(4)], ids=repr)
def test_probabilities_out_of_bounds(curve, p, shown):
    for call in (curve, curve.slope):
        with pytest.raises(UsageError) as error:
            call(p)
        assert str(error.value) == f"p must be in [0, 1]; got {shown}."


def test_probabilities_of_a_sensitivity_out_of_bounds():
    with pytest.raises(UsageError, match=r"^p must be in \[0, 1\]; got 1.25.$"):
        (And(2) >> Or(2)).amplify((0.2, 0.8, 1.25, 0.5))
    with pytest.raises(UsageError, match=r"^p must be in \[0, 1\]; got 80.$"):
        bands_for(80, 2, 0.9)


# --- running cascades ---

FIGURE = And(4) >> Or(4) >> Or(4) >> And(4)


class Given(Family):
    """Functions with given values, an array items x hashes; the items are its row numbers."""

    measure = "jaccard"

    def __init__(self, values):
        self.values = values
        self.hashes = values.shape[1]

    def signatures(self, items):
        return self.values[items]

    def _law(self, distance):
        return 1 - distance


def pairs_of(curve, family, items):
    left, right = curve.candidates(family, items)
    return list(zip(left.tolist(), right.tolist(), strict=True))


def brute_force(curve, signatures):
    """Return the pairs on which the cascade agrees, testing each pair by itself."""
    steps = [(type(step).__name__, step.count) for step in curve.steps]
    rows = [row[: curve.functions] for row in signatures.tolist()]
    return [
        (i, j)
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
        if reference.cascade_agrees(steps, reference.agreement(rows[i], rows[j]))
    ]


def cascade(steps):
    curve, *rest = (kind(count) for kind, count in steps)
    for step in rest:
        curve = curve >> step
    return curve


@given(
    st.lists(st.tuples(st.sampled_from([And, Or]), st.integers(1, 3)), min_size=1, max_size=4),
    st.integers(0, 12),
    st.sampled_from([0.5, 0.8, 0.95]),
    st.sampled_from([np.bool_, np.uint8, np.int8, np.int64, np.uint64]),
    st.integers(0, 2),
    st.integers(0, 2**32 - 1),
)
def test_candidates_are_the_pairs_on_which_the_cascade_agrees(steps, items, alike, kind, more, seed):
    """For all steps and types of numbers, with surplus functions and EMPTY, which never agrees."""
    curve = cascade(steps)
    assume(curve.functions <= 36)
    rng = np.random.default_rng(seed)
    shape = (items, curve.functions + more)
    values = np.where(rng.random(shape) < alike, -1, rng.integers(-3, 3, shape)).astype(kind)
    if kind is np.uint64:
        values[rng.random(shape) < 0.1] = EMPTY
    assert pairs_of(curve, Given(values), range(items)) == brute_force(curve, values)


@pytest.mark.parametrize(
    "curve",
    [
        And(2),
        Or(2),
        And(2) >> And(3),
        Or(2) >> Or(3),
        And(1) >> Or(1) >> And(1),
        And(2) >> Or(2) >> And(2),
        Or(2) >> And(2) >> Or(2),
        Or(2) >> And(2) >> And(2) >> Or(2),
        And(2) >> And(2) >> Or(2) >> Or(2),
        Or(2) >> Or(2) >> And(2) >> And(2),
    ],
    ids=repr,
)
def test_candidates_of_many_items(curve):
    rng = np.random.default_rng(curve.functions)
    values = rng.choice(np.array([5, 6, 7, EMPTY], np.uint64), (60, curve.functions), p=[0.6, 0.2, 0.1, 0.1])
    expected = brute_force(curve, values)
    assert 0 < len(expected) < 60 * 59 / 2
    assert pairs_of(curve, Given(values), range(60)) == expected


def test_candidates_are_integers_in_order():
    left, right = (And(2) >> Or(3)).candidates(Given(np.zeros((4, 6), np.uint64)), range(4))
    assert left.dtype == right.dtype == np.int64
    assert (left.tolist(), right.tolist()) == ([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3])


def trials_of(family, pair, functions):
    """Return the signatures of a pair under many functions as those of many pairs under few.

    Also returns the number of these trials. It is mixed into the values, so that items of different
    trials are never candidates.
    """
    chunks = family.signatures(pair).astype(np.int64).reshape(2, -1, functions)
    trials = chunks.shape[1]
    values = chunks * trials + np.arange(trials)[:, None]
    return Given(values.swapaxes(0, 1).reshape(2 * trials, functions)), trials


def found_rate(curve, family, items):
    """Return the share of candidates among the pairs 0 and 1, 2 and 3, ...; there are no others."""
    left, right = curve.candidates(family, items)
    assert (left % 2 == 0).all()
    assert (right == left + 1).all()
    return 2 * len(left) / len(items)


def at_distance(chance):
    """Return for each family a distance with about this collision probability, and a pair at it."""
    angle = 180 * (1 - chance)
    spot = np.array([0.3, -1.2, 0.7])
    distance = {0.4: 3.6, 0.5: 2.7, 0.6: 2.0, 0.8: 1.0}[chance]
    turned = [math.cos(math.radians(angle)), math.sin(math.radians(angle)), 0]
    bits = np.arange(20)[None] < [[0], [round(20 * (1 - chance))]]
    return {
        "Hyperplanes": (lambda hashes: Hyperplanes(hashes, seed=2), angle, [[1, 0, 0], turned]),
        "RandomLines": (
            lambda hashes: RandomLines(4.0, hashes, seed=3),
            distance,
            [spot, spot + distance * np.eye(3)[1]],
        ),
        "BitSampling": (lambda hashes: BitSampling(20, hashes, seed=4, repeat=True), bits[1].sum(), bits),
    }


@pytest.mark.slow
@pytest.mark.parametrize("curve", [And(4) >> Or(4), Or(4) >> And(4), FIGURE], ids=repr)
@pytest.mark.parametrize("chance", [0.4, 0.5, 0.6, 0.8])
@pytest.mark.parametrize("name", ["Hyperplanes", "RandomLines", "BitSampling"])
def test_the_rate_of_candidates_follows_the_curve(curve, chance, name):
    """It is within four standard errors of curve(collision(distance)) for independent functions."""
    make, distance, pair = at_distance(chance)[name]
    family = make(3000 * curve.functions)
    run, trials = trials_of(family, np.array(pair), curve.functions)
    p = curve(family.collision(distance))
    assert abs(found_rate(curve, run, range(2 * trials)) - p) <= 4 * math.sqrt(p * (1 - p) / trials)


@pytest.mark.slow
@pytest.mark.parametrize("curve", [And(4) >> Or(4), Or(4) >> And(4), FIGURE], ids=repr)
@pytest.mark.parametrize("shared", [3, 6, 8])
def test_the_rate_of_minhash_candidates_follows_the_curve(curve, shared):
    """For pairs of random sets with ten elements in the union, under the same functions."""
    trials = 300 if curve is FIGURE else 1500
    elements = np.random.default_rng(shared).integers(0, 2**61 - 1, (trials, 10)).tolist()
    half = (10 + shared) // 2
    sets = [side for row in elements for side in (row[:half], row[:shared] + row[half:])]
    family = MinHash.universal(curve.functions, seed=1)
    p = curve(family.collision(1 - shared / 10))
    assert abs(found_rate(curve, family, sets) - p) <= 4 * math.sqrt(p * (1 - p) / trials)


def test_records_that_share_a_field():
    """They are found by an OR of all fields; a missing value is never shared."""
    records = [
        {"name": "Ann", "phone": "1", "town": ""},
        {"name": "Ann", "phone": "2", "town": None},
        {"name": "Bob", "phone": "2", "town": ""},
        {"name": "", "phone": None, "town": ""},
        {"name": "", "phone": math.nan, "town": "1"},
        {"name": "Cid", "phone": "3", "town": "X"},
        {"name": "Dan", "phone": 3, "town": "X"},
    ]
    family = FieldEquality(["name", "phone", "town"])
    assert pairs_of(Or(3), family, records) == [(0, 1), (1, 2), (5, 6)]
    assert pairs_of(And(2), family, records) == []
    assert pairs_of(And(2), family, [*records, records[0]]) == [(0, 7)]
    assert pairs_of(And(3), family, [*records, records[0], records[5]]) == [(5, 8)]


@pytest.mark.parametrize("curve", [Or(2), And(2), And(2) >> Or(2), Or(2) >> And(2)], ids=repr)
@pytest.mark.parametrize("items", [0, 1])
def test_one_item_or_none_has_no_candidates(curve, items):
    families = [
        (Hyperplanes(4), np.ones((items, 3))),
        (RandomLines(1.0, 4), np.ones((items, 3))),
        (BitSampling(4), np.ones((items, 4), int)),
        (GridSquares(2, 4, cells=4), [{0, 1, 2, 3}] * items),
        (FieldEquality(list("abcd")), [(1, 2, 3, 4)] * items),
        (MinHash(4), [{1, 2}] * items),
    ]
    for family, given_items in families:
        left, right = curve.candidates(family, given_items)
        assert (left.tolist(), right.tolist()) == ([], [])
        assert left.dtype == right.dtype == np.int64


def test_equal_items_are_candidates_of_any_cascade():
    assert pairs_of(FIGURE, Hyperplanes(256), [[1, 2], [-1, -2], [1, 2]]) == [(0, 2)]


def test_surplus_functions_are_not_used():
    family = BitSampling.from_positions([0, 1, 2], dimensions=3)
    assert pairs_of(And(2), family, ["aab", "aac", "baa"]) == [(0, 1)]


@pytest.mark.parametrize(
    ("curve", "family", "message"),
    [
        (And(4) >> Or(4), Hyperplanes(15), "And(4) >> Or(4) needs 16 functions; there are 15."),
        (Or(3), FieldEquality(["a", "b"]), "Or(3) needs 3 functions; there are 2."),
        (FIGURE, MinHash(255), "And(4) >> Or(4) >> Or(4) >> And(4) needs 256 functions; there are 255."),
    ],
)
def test_families_of_too_few_functions(curve, family, message):
    with pytest.raises(UsageError) as error:
        curve.candidates(family, [])
    assert str(error.value) == message


def test_too_many_candidates_to_list(monkeypatch):
    monkeypatch.setattr(banding, "MOST_CANDIDATES", 11)
    same = Given(np.zeros((4, 2), np.uint64))
    assert len(pairs_of(And(2), same, range(4))) == 6
    with pytest.raises(TooManyPairs) as error:
        Or(2).candidates(Given(np.zeros((5, 2), np.uint64)), range(5))
    assert str(error.value) == "about 20 candidates, more than 11: use more rows, or fewer bands."


# --- choosing bands ---


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("recall", [0.05, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("hashes", [1, 100, 128])
def test_chosen_bands_are_the_most_selective(threshold, recall, hashes):
    """No others reach the recall with more rows, or with as many rows and fewer bands."""

    def reaches(bands, rows):
        return exact(bands, rows, threshold) >= Fraction(recall) - Fraction(1, 10**12)

    possible = [(r, -b) for r in range(1, hashes + 1) for b in range(1, hashes // r + 1) if reaches(b, r)]
    if not possible:
        with pytest.raises(UsageError, match=f"needs more than {hashes} hash function"):
            choose_bands(threshold, hashes, recall)
        return
    found = choose_bands(threshold, hashes, recall)
    assert (found.rows, -found.bands) == max(possible)
    assert found.recall == pytest.approx(float(exact(found.bands, found.rows, threshold)), rel=1e-12)
    assert found.hashes == found.bands * found.rows <= hashes
    assert found.curve(threshold) == found.recall


@pytest.mark.parametrize("rows", [1, 5, 20])
def test_bands_for_rows_are_the_fewest(rows):
    for threshold in (0.8, 0.95, 0.999):
        for recall in (0.3, 0.9, 0.999):
            found = bands_for(threshold, rows, recall)
            assert found.recall >= recall - 1e-12
            assert found.bands == 1 or (And(rows) >> Or(found.bands - 1))(threshold) < recall


def test_bands_for_too_many_rows():
    assert bands_for(0.001, 400, 0.99).hashes > 10**100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "threshold must be in (0, 1]; got 0."),
        ((80,), "threshold must be in (0, 1]; got 80. Did you mean 0.8?"),
        ((math.nan,), "threshold must be in (0, 1]; got nan."),
        (("x",), "threshold must be a number in (0, 1]; got 'x'."),
        ((None,), "threshold must be a number in (0, 1]; got None."),
        ((0.8, 0), "hashes must be an integer of at least 1; got 0."),
        ((0.8, 128, 0), "recall must be in (0, 1]; got 0."),
        ((0.8, 128, 99), "recall must be in (0, 1]; got 99. Did you mean 0.99?"),
        ((0.8, 128, 1), "recall must be below 1 for bands; only an exact method, which has no bands, reaches 1."),
        (
            (0.1, 10, 0.99),
            "recall 0.99 at threshold 0.1 needs more than 10 hash functions; with 10, it is at most 0.6513. "
            "Raise hashes or lower the recall.",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(UsageError) as error:
        choose_bands(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("family", "threshold", "chance"),
    [
        (MinHash(), 0.8, 0.8),
        (Hyperplanes(), 20, 8 / 9),
        (Hyperplanes(), 0, 1),
        (RandomLines(4.0), 1, RandomLines(4.0).collision(1)),
        (RandomLines(4.0, lines="unit", dimensions=1), 1, 0.75),
        (BitSampling(64), 8, 0.875),
        (FieldEquality(list("abcd")), 1, 0.75),
        (GridSquares(squares=2, density=0.5), 0.8, 0.16),
    ],
)
def test_bands_for_a_threshold_of_the_family(family, threshold, chance, recall):
    """The threshold is one of the family's measure; the bands follow from its collision rate."""
    found = choose_bands(threshold, hashes=200, recall=recall, family=family)
    assert found.recall == pytest.approx(found.curve(family.chance(threshold)))
    assert found.recall == pytest.approx(found.curve(chance))
    assert found.recall >= recall - 1e-12
    assert found.hashes <= min(200, family.most)
    assert bands_for(chance, found.rows + 1, recall).hashes > min(200, family.most)


def test_bands_without_a_family_are_those_of_minhashes():
    for threshold in (0.1, 0.3, 0.8, 0.95):
        assert choose_bands(threshold, recall=0.9, family=MinHash()) == choose_bands(threshold, recall=0.9)


def test_chosen_bands_find_the_pairs_at_the_threshold():
    bands = choose_bands(threshold=20, hashes=128, recall=0.9, family=Hyperplanes())
    pair = [[1, 0], [math.cos(math.radians(20)), math.sin(math.radians(20))]]
    run, trials = trials_of(Hyperplanes(3000 * bands.hashes, seed=6), pair, bands.hashes)
    rate = found_rate(bands.curve, run, range(2 * trials))
    assert rate >= 0.9 - 4 * math.sqrt(0.9 * 0.1 / trials)
    assert abs(rate - bands.recall) <= 4 * math.sqrt(0.9 * 0.1 / trials)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((200, 128, 0.99, Hyperplanes()), "threshold must be in [0, 180]; got 200."),
        ((-1, 128, 0.99, RandomLines(4.0)), "threshold must be in [0, infinity); got -1."),
        ((math.nan, 128, 0.99, BitSampling(5)), "threshold must be in [0, 5]; got nan."),
        (
            (20, 128, 1, Hyperplanes()),
            "recall must be below 1 for bands; only an exact method, which has no bands, reaches 1.",
        ),
        ((20, 128, 0, Hyperplanes()), "recall must be in (0, 1]; got 0."),
        ((20, 0, 0.9, Hyperplanes()), "hashes must be an integer of at least 1; got 0."),
        (
            (162, 10, 0.99, Hyperplanes()),
            "recall 0.99 at threshold 162 needs more than 10 hash functions; with 10, it is at most 0.6513. "
            "Raise hashes or lower the recall.",
        ),
        (
            (5, 128, 0.99, BitSampling(5)),
            "recall 0.99 at threshold 5 needs more than 5 hash functions; with 5, it is at most 0. "
            "The family has no more; lower the recall.",
        ),
        (
            (0.8, 1024, 0.99, GridSquares()),
            "recall 0.99 at threshold 0.8 needs more than 1,024 hash functions; with 1,024, it is at most 0.985. "
            "Raise hashes or lower the recall.",
        ),
        (
            (1, 10, 0.9, RandomLines(4.0, lines="unit")),
            "dimensions must be given for lines='unit': collision probabilities depend on it.",
        ),
    ],
)
def test_errors_of_a_family(arguments, message):
    with pytest.raises(UsageError) as error:
        choose_bands(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("step", [And, Or])
@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_errors_of_steps(step, count):
    with pytest.raises(UsageError) as error:
        step(count)
    assert str(error.value) == f"the number in {step.__name__} must be an integer of at least 1; got {count!r}."
