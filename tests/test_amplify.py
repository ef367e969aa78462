"""Cascades of ANDs and ORs: exact values, and the choice of bands."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lookalike import And, Or, choose_bands
from lookalike.amplify import bands_for
from lookalike.errors import UsageError


def exact(bands, rows, p):
    """1 - (1 - p**rows)**bands in exact arithmetic."""
    return 1 - (1 - Fraction(p) ** rows) ** bands


# --- curves ---


@pytest.mark.parametrize(("bands", "rows"), [(20, 5), (16, 4), (1, 1), (100, 2)])
def test_threshold_is_where_half_of_the_pairs_become_candidates(bands, rows):
    """Exactly (1 - (1/2)**(1/b))**(1/r); at the textbook's estimate (1/b)**(1/r) it is 1 - (1 - 1/b)**b."""
    curve = And(rows) >> Or(bands)
    assert curve.threshold() == pytest.approx((1 - 0.5 ** (1 / bands)) ** (1 / rows), abs=1e-12)
    assert curve((1 / bands) ** (1 / rows)) == pytest.approx(1 - (1 - 1 / bands) ** bands)


def test_curves_compose():
    left, right = And(3) >> Or(5), Or(2) >> And(7)
    p = np.linspace(0, 1, 101)
    assert ((left >> right)(p) == right(left(p))).all()
    assert (left >> right).functions == 3 * 5 * 2 * 7
    assert repr(left >> right) == "And(3) >> Or(5) >> Or(2) >> And(7)"


def test_curves_take_numbers_and_arrays():
    curve = And(2) >> Or(3)
    p = np.array([[0.0, 0.25], [0.5, 1.0]])
    assert curve(p).tolist() == [[curve(x) for x in row] for row in p.tolist()]
    assert isinstance(curve(0.5), float)
    assert (curve(0), curve(1)) == (0, 1)


@pytest.mark.parametrize("p", ["1e-12", "1e-6", "0.01", "0.5", "0.999999", "0.999999999999"])
@pytest.mark.parametrize(("bands", "rows"), [(1, 1), (20, 1), (20, 2), (500, 3), (7, 30)])
def test_probabilities_keep_their_digits(p, bands, rows):
    """Tiny ones too: 1 - (1 - p)**b as it stands would lose them."""
    found = (And(rows) >> Or(bands))(float(p))
    assert found == pytest.approx(float(exact(bands, rows, float(p))), rel=1e-9, abs=0)


def test_tiny_probabilities_keep_their_digits_in_a_cascade():
    inner = exact(20, 1, 1e-12) ** 4
    assert (Or(20) >> And(4) >> Or(3))(1e-12) == pytest.approx(float(1 - (1 - inner) ** 3), rel=1e-9, abs=0)


def test_fixed_points():
    """1 - (1 - p**2)**2 = p at the golden ratio; a lone AND lowers every p and a lone OR raises it."""
    assert (And(2) >> Or(2)).fixed_points() == pytest.approx([(math.sqrt(5) - 1) / 2], abs=1e-12)
    assert (Or(2) >> And(2)).fixed_points() == pytest.approx([(3 - math.sqrt(5)) / 2], abs=1e-12)
    assert And(3).fixed_points() == Or(3).fixed_points() == []


@pytest.mark.parametrize("curve", [And(1), Or(1), And(1) >> Or(1)], ids=repr)
def test_a_curve_that_changes_nothing_has_no_fixed_point_of_its_own(curve):
    assert curve.fixed_points() == []


@pytest.mark.parametrize(("bands", "rows"), [(20, 5), (4, 4), (2, 2), (16, 8), (3, 30), (400, 3), (1, 3)])
def test_steepest(bands, rows):
    """The slope is b r p**(r-1) (1 - p**r)**(b-1), greatest where p**r = (r - 1) / (b r - 1)."""
    p = np.linspace(0, 1, 1_000_001)
    slopes = bands * rows * p ** (rows - 1) * (1 - p**rows) ** (bands - 1)
    best = int(np.argmax(slopes))
    where, slope = (And(rows) >> Or(bands)).steepest()
    assert where == pytest.approx(p[best], abs=1e-4)
    assert where == pytest.approx(((rows - 1) / (bands * rows - 1)) ** (1 / rows), abs=1e-4)
    assert slope == pytest.approx(slopes[best], rel=1e-6)


# --- choosing bands ---


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("recall", [0.05, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("hashes", [1, 100, 128])
def test_chosen_bands_are_the_most_selective(threshold, recall, hashes):
    """No other bands of as many hashes reach the recall with more rows, or with fewer bands of as many."""

    def reaches(bands, rows):
        return exact(bands, rows, threshold) >= Fraction(recall) - Fraction(1, 10**12)

    possible = [(r, -b) for r in range(1, hashes + 1) for b in range(1, hashes // r + 1) if reaches(b, r)]
    if not possible:
        with pytest.raises(UsageError, match=f"takes more than {hashes} hashes"):
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


def test_bands_for_more_rows_than_any_number_of_bands_would_make_up_for():
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
        ((0.8, 128, 1), "recall 1 takes an exact method, not bands: method='exact', or a recall under 1."),
        (
            (0.1, 10, 0.99),
            "recall 0.99 at threshold 0.1 takes more than 10 hashes; 10 reach 0.6513 at most. "
            "Raise hashes, or lower the recall.",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(UsageError) as error:
        choose_bands(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("step", [And, Or])
@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_errors_of_steps(step, count):
    with pytest.raises(UsageError) as error:
        step(count)
    assert str(error.value) == f"{step.__name__} must be an integer of at least 1; got {count!r}."
