"""Check Wilson's interval against its equation."""

import pytest

from lookalike.core.statistics import wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # these four: Newcombe, Statistics in Medicine 17 (1998), table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (99, 100, 0.9455, 0.9982),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=6e-5)


def test_wilson_solves_its_equation():
    """The bounds are the p that a normal test just rejects: (s/n - p)**2 = z**2 p (1 - p) / n."""
    for trials in (1, 7, 100, 10**6):
        for successes in (0, trials // 3, trials):
            for p in wilson(successes, trials, z=2.5):
                square = 2.5**2 * p * (1 - p) / trials
                assert (successes / trials - p) ** 2 == pytest.approx(square, abs=1e-12)


def test_wilson_stays_within_bounds():
    for n in (1, 3, 10**9):
        for successes in (0, n):
            low, high = wilson(successes, n)
            assert 0 <= low < high <= 1
