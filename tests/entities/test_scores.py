"""Check points for fields, and the share of true matches."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.entities import match_fraction, points
from lookalike.measures import edit

words = st.text("abc", max_size=6)
means = st.integers(-1000, 1000)
two_means = st.tuples(means, means).filter(lambda two: two[0] != two[1])
shares = st.integers(0, 64).map(lambda n: n / 64)


# --- points ---


@given(words, words)
def test_points(a, b):
    """100 less four times the square of the edit distance, but never less than nothing."""
    found = points(a, b)
    assert found == points(b, a) == max(0, 100 - 4 * edit(a, b) ** 2)
    assert 0 <= found <= 100
    assert (found == 100) == (a == b)


@pytest.mark.parametrize(("distance", "expected"), [(0, 100), (1, 96), (2, 84), (3, 64), (4, 36), (5, 0), (6, 0)])
def test_points_fall_faster_and_faster(distance, expected):
    assert points("x" * 8, "x" * (8 - distance)) == expected


@given(words, words, st.floats(0, 50))
def test_penalty(a, b, penalty):
    assert points(a, b, penalty=penalty) == pytest.approx(max(0, 100 - penalty * edit(a, b) ** 2))
    assert points(a, b, penalty=0) == 100


@given(words, words, st.sampled_from([0, 0.5, 1, 2, 9]))
def test_values_known_to_go_together(a, b, distance):
    """In either order; other values are not touched, nor are equal ones."""
    expected = max(0, 100 - 4 * distance**2) if a != b else 100
    assert points(a, b, alike={(a, b): distance}) == points(b, a, alike={(a, b): distance}) == expected
    assert points(a, b + "d", alike={(a, b): distance}) == points(a, b + "d")


def test_the_order_of_the_record_goes_first():
    alike = {("Bill", "William"): 1, ("William", "Bill"): 2}
    assert (points("Bill", "William", alike=alike), points("William", "Bill", alike=alike)) == (96, 84)


def test_empty_fields():
    assert (points("", ""), points("", "a"), points("", "abcde")) == (100, 96, 0)


@pytest.mark.parametrize(
    ("fields", "options", "kind", "message"),
    [
        (("a", "b"), {"penalty": -4}, UsageError, "penalty must be a number from 0 on; got -4."),
        (("a", "b"), {"penalty": math.nan}, UsageError, "penalty must be a number from 0 on; got nan."),
        (("a", None), {}, DataError, "fields must be texts; got 'a' and None."),
        (
            ("a", "b"),
            {"alike": {("b", "a"): -1}},
            UsageError,
            "alike must hold numbers from 0 on; got -1 for 'a' and 'b'.",
        ),
    ],
)
def test_points_that_cannot_be(fields, options, kind, message):
    with pytest.raises(kind) as error:
        points(*fields, **options)
    assert str(error.value) == message


# --- true matches ---


@given(two_means, shares)
def test_match_fraction_of_a_mixture(two, share):
    """Whichever of the two means is the greater."""
    perfect, random = two
    observed = share * perfect + (1 - share) * random
    assert match_fraction(observed, perfect=perfect, random=random) == pytest.approx(share)


@given(two_means, means)
def test_match_fraction_is_a_share(two, observed):
    perfect, random = two
    found = match_fraction(observed, perfect=perfect, random=random)
    assert 0 <= found <= 1
    assert found == pytest.approx(1 - match_fraction(observed, perfect=random, random=perfect))


@pytest.mark.parametrize(("perfect", "random"), [(10, 45), (45, 10)])
def test_match_fraction_beyond_the_two_means(perfect, random):
    step = random - perfect
    assert match_fraction(perfect - step, perfect=perfect, random=random) == 1
    assert match_fraction(random + step, perfect=perfect, random=random) == 0


@pytest.mark.parametrize("given", [(math.nan, 1, 2), (1, math.inf, 2), (1, 2, -math.inf)])
def test_means_that_are_none(given):
    observed, perfect, random = given
    with pytest.raises(UsageError) as error:
        match_fraction(observed, perfect=perfect, random=random)
    assert str(error.value) == f"means must be finite numbers; got {observed!r}, {perfect!r} and {random!r}."


@pytest.mark.parametrize("mean", [0, 7, 4.5])
def test_a_value_that_tells_nothing(mean):
    with pytest.raises(UsageError) as error:
        match_fraction(3, perfect=mean, random=mean)
    assert str(error.value) == f"perfect and random must differ, or the value tells nothing; got {mean!r} for both."
