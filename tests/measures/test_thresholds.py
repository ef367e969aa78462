"""Check that thresholds are exact, however they are written."""

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.core.errors import UsageError
from lookalike.measures import exact_fraction

thresholds = st.one_of(
    st.floats(0, 1, exclude_min=True),
    st.integers(1, 10**6).map(lambda n: n / 10**6),
    st.tuples(st.integers(1, 300), st.integers(1, 300)).map(lambda ab: min(ab) / max(ab)),
    st.integers(1, 10**12).map(lambda n: Fraction(n, 10**12)),
    st.sampled_from([0.1 + 0.2, 2 / 3, 1 / 3, 0.7 + 0.2, 1 - 0.9, 1e-12, 5e-324, 1 - 2**-53, 1, "2/3"]),
)


# --- thresholds ---


@given(thresholds)
@example(0.6666666666666666)
@example(0.6666666666666667)
@example(Fraction(1, 3 * 2**30))
def test_thresholds_are_compared_exactly(threshold):
    """i/u >= threshold, read as a decimal, exactly if i q >= p u, for all small i/u."""
    p, q = exact_fraction(threshold)
    wanted = Fraction(str(threshold))
    assert 0 < p <= q < 2**31
    assert Fraction(p, q) >= wanted
    for u in range(1, 41):
        for i in range(u + 1):
            assert (Fraction(i, u) >= wanted) == (i * q >= p * u)


@given(thresholds, st.integers(2, 2**30), st.integers(-3, 3))
def test_thresholds_are_compared_exactly_with_large_sets(threshold, union, off):
    """Overlaps next to the threshold, where one element more or less decides."""
    p, q = exact_fraction(threshold)
    wanted = Fraction(str(threshold))
    shared = max(0, min(union, int(wanted * union) + off))
    assert (Fraction(shared, union) >= wanted) == (shared * q >= p * union)


def test_thresholds_next_to_fractions_of_the_largest_sets():
    rng = random.Random(1)
    for _ in range(2000):
        u = rng.randrange(2**29, 2**30 + 1)
        i = rng.randrange(1, u)
        for off in (0, Fraction(1, 2**70), Fraction(-1, 2**70)):
            wanted = Fraction(i, u) + off
            p, q = exact_fraction(wanted)
            assert (Fraction(i, u) >= wanted) == (i * q >= p * u)
            assert q < 2**31


@pytest.mark.parametrize(
    "threshold", [0.8, "0.8", "4/5", Decimal("0.80"), Fraction(4, 5), np.float64(0.8), np.float32(0.8)]
)
def test_every_way_to_write_a_threshold(threshold):
    assert exact_fraction(threshold) == (4, 5)


@pytest.mark.parametrize("threshold", [1, 1.0, "1", True + 0.0])
def test_threshold_one(threshold):
    assert exact_fraction(threshold) == (1, 1)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (0, "threshold must be in (0, 1]; got 0."),
        (-0.5, "threshold must be in (0, 1]; got -0.5."),
        (80, "threshold must be in (0, 1]; got 80. Did you mean 0.8?"),
        (101, "threshold must be in (0, 1]; got 101."),
        (float("nan"), "threshold must be in (0, 1]; got nan."),
        (float("inf"), "threshold must be in (0, 1]; got inf."),
        ("x", "threshold must be a number in (0, 1]; got 'x'."),
        ("1/0", "threshold must be a number in (0, 1]; got '1/0'."),
        ("nan", "threshold must be a number in (0, 1]; got 'nan'."),
        ("1e400", "threshold must be in (0, 1]; got '1e400'."),
        ("80", "threshold must be in (0, 1]; got '80'. Did you mean 0.8?"),
        (True, "threshold must be a number in (0, 1]; got True."),
        (None, "threshold must be a number in (0, 1]; got None."),
    ],
)
def test_invalid_thresholds(threshold, message):
    with pytest.raises(UsageError) as error:
        exact_fraction(threshold)
    assert str(error.value) == message
