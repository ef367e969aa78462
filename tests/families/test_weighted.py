"""Check weighted minhash: what it takes, and how its functions relate; its law is in `test_base`."""

import numpy as np
import pytest

from lookalike.core.errors import DataError
from lookalike.families import WeightedMinHash
from lookalike.items.sets import Sets
from lookalike.kernels.hashing import EMPTY
from tests.failing import fails

ONE, TWO = {"a": 1.0, "b": 0.5, "c": 3}, {"b": 0.5, "c": 3, "d": 2}


def test_estimates():
    family = WeightedMinHash(20_000, seed=4)
    a, b = family.signatures([ONE, TWO])
    assert abs(family.estimate(a, b) - 3.5 / 6.5) < 4 * (0.25 / 20_000) ** 0.5
    assert repr(family) == "<WeightedMinHash: 20,000 functions for jaccard>"


def test_functions_are_independent():
    """The share of agreeing functions varies as if each were tossed alone."""
    shares = [
        family.estimate(*family.signatures([ONE, TWO])) for family in (WeightedMinHash(32, s) for s in range(800))
    ]
    s = 3.5 / 6.5
    assert np.var(shares) == pytest.approx(s * (1 - s) / 32, rel=4 * (2 / 800) ** 0.5)


def test_the_scale_of_weights_makes_no_difference():
    """The same elements arrive first, whatever the unit."""
    family = WeightedMinHash(64)
    for scale in (1e-12, 1e9):
        a, b = family.signatures([{x: w * scale for x, w in side.items()} for side in (ONE, TWO)])
        assert ((a == b) == np.equal(*family.signatures([ONE, TWO]))).all()


def test_golden_times():
    """They must not change, but for the last bits of logarithms, which machines round differently."""
    times = WeightedMinHash(4, seed=1).signatures([ONE]).view(np.float64)
    expected = [0.12231938417835626, 0.2810004752862056, 0.2397915030421415, 0.19257312871447163]
    assert times[0] == pytest.approx(expected, rel=1e-14)


def test_empty_sets_agree_with_nothing():
    family = WeightedMinHash(8)
    a, b, c = family.signatures([{}, {}, ONE])
    assert (a == EMPTY).all()
    assert family.estimate(a, b) == 0
    assert not (c == EMPTY).any()


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "x"])
def test_weights_must_be_positive(weight):
    message = f"weights must be positive numbers; that of 'a' is {weight!r}."
    fails(DataError, message, WeightedMinHash().signatures, [{"a": weight}])


def test_other_errors():
    family = WeightedMinHash()
    message = "an element must weigh the same in every set; 'a' weighs 1 and 2."
    fails(DataError, message, family.signatures, [{"a": 1}, {"a": 2}])
    fails(DataError, "sets must be dicts from element to weight; got set.", family.signatures, [{1, 2}])
    fails(DataError, "sets must have weights; for sets without them use MinHash.", family.signatures, Sets.of([{1}]))
