"""Check how many drawn elements a set that contains another must have."""

from fractions import Fraction
from math import ceil, comb

import pytest

from lookalike.theory.drawing import CLEAR, SIZES, chance_of, draws_for, most_needed

THRESHOLDS = [Fraction(t) for t in ("1/10", "1/3", "1/2", "7/10", "4/5", "17/20", "9/10", "19/20", "1")]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_chance_is_the_binomial_law(threshold):
    for size, need in ((32, 1), (32, 20), (64, 40), (64, 64)):
        terms = (comb(size, n) * threshold**n * (1 - threshold) ** (size - n) for n in range(need, size + 1))
        assert chance_of(threshold, size, need) == pytest.approx(float(sum(terms)), rel=1e-9)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99, 0.999])
def test_sets_of_any_size_are_found_at_least_as_often(threshold, recall):
    """The elements of a set are drawn without repeats: the law is hypergeometric, for each size of the set."""
    draws = draws_for(threshold, recall)
    if draws is None:
        assert threshold == THRESHOLDS[0]
        return
    size, need, stated = draws
    assert recall <= stated <= 1
    for whole in [*range(size, size + 200), 1000, 1001, 4999, 20011]:
        shared = ceil(threshold * whole)
        ways = sum(comb(shared, n) * comb(whole - shared, size - n) for n in range(need, size + 1))
        assert Fraction(ways, comb(whole, size)) >= Fraction(stated) - Fraction(1, 10**12)


def test_more_are_drawn_for_lower_thresholds_and_higher_recalls():
    found = [draws_for(threshold, 0.99) for threshold in THRESHOLDS[1:]]
    assert all(draws is not None and draws.size in SIZES and draws.need >= CLEAR for draws in found)
    sizes = [draws.size for draws in found]
    assert sizes == sorted(sizes, reverse=True)
    assert draws_for(Fraction(4, 5), 0.999).size > draws_for(Fraction(4, 5), 0.99).size
    assert draws_for(Fraction(1, 100), 0.99) is None


def test_as_many_as_possible_are_needed():
    draws = most_needed(Fraction(4, 5), 0.99, 64)
    assert chance_of(Fraction(4, 5), 64, draws.need) >= 0.99 > chance_of(Fraction(4, 5), 64, draws.need + 1)
    assert most_needed(Fraction(1, 100), 0.99, 32) is None
