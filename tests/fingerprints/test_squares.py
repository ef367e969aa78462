"""Check what functions of squares find, and that it is as much as expected."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.fingerprints import (
    CornerTables,
    Prints,
    SquareIndex,
    expected_rates,
    grid_sets,
    local_grids,
    made_up_prints,
    two_impressions,
)
from tests import reference as ref

draws = st.integers(0, 2**32).map(np.random.default_rng)


# --- grids ---

GRIDS = np.ones((2, 9), bool)
WRONG = {
    "square": lambda: grid_sets(Prints.of([]), square=0),
    "columns": lambda: grid_sets(Prints.of([]), columns=0),
    "radius": lambda: local_grids(Prints.of([]), radius=-1),
    "directions": lambda: local_grids(Prints.of([]), directions=0),
    "tables": lambda: CornerTables(Prints.of([]), tables=0),
    "squares": lambda: SquareIndex(GRIDS, squares=10),
    "groups": lambda: SquareIndex(GRIDS, groups=0),
    "seed": lambda: SquareIndex(GRIDS, seed=-1),
    "cells asked": lambda: SquareIndex(GRIDS).look_up(np.ones(8, bool)),
    "functions": lambda: expected_rates(functions=0),
    "repeat": lambda: expected_rates(repeat=1.1),
    "density": lambda: expected_rates(density=0),
    "density and repeat": lambda: two_impressions(5, density=0.9, repeat=0.5),
    "prints": lambda: two_impressions(-1),
    "cells": lambda: two_impressions(5, cells=0),
    "fingers": lambda: made_up_prints(-1),
    "impressions": lambda: made_up_prints(1, 0),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters(name):
    with pytest.raises(LookalikeError) as error:
        WRONG[name]()
    assert "\n" not in str(error.value)


# --- squares ---


@given(draws, st.integers(1, 3), st.integers(1, 3), st.sampled_from([0, 1, 7, 8, 9, 30]))
def test_look_up(draw, squares, groups, size):
    grids = draw.random((size, 12)) < draw.choice((0.2, 0.5, 0.9))
    index = SquareIndex(grids, squares=squares, functions=6, groups=groups, seed=int(draw.integers(99)))
    asking = draw.random(12) < 0.6
    held = [set(np.flatnonzero(grid).tolist()) for grid in grids]
    functions = index.chosen.tolist()
    assert np.shape(functions) == (groups, 6, squares)
    found = index.look_up(asking).tolist()
    assert found == sorted(ref.look_up(held, functions, set(np.flatnonzero(asking).tolist())))


def test_look_up_of_extremes():
    grids = np.array([np.zeros(20), np.ones(20)], bool)
    index = SquareIndex(grids, functions=5, groups=2)
    assert index.look_up(grids[0]).tolist() == []
    assert index.look_up(grids[1]).tolist() == [1]


def test_expected_rates():
    """Example 3.22: 0.985 and 0.063, then 0.970 and 0.004."""
    assert expected_rates() == pytest.approx((0.985, 0.063), abs=0.0005)
    assert expected_rates(groups=2) == pytest.approx((0.970, 0.004), abs=0.0005)
    assert expected_rates(functions=1) == pytest.approx((0.004096, 0.000064))
    one = [1 - (1 - p) ** 100 for p in (0.16**2, 0.04**2)]
    assert expected_rates(2, 100, 3) == pytest.approx([p**3 for p in one])
    assert expected_rates(1, 1, density=0.5, repeat=1) == pytest.approx((0.5, 0.25))


@pytest.mark.parametrize(("density", "repeat"), [(0.2, 0.8), (0.5, 0.5), (0.9, 0.95), (0.2, 1), (1, 1), (0.05, 0.01)])
def test_two_impressions(density, repeat):
    """Densities, and the share of the first in the second, are within 4 standard errors."""
    one, two = two_impressions(300, cells=500, density=density, repeat=repeat, seed=5)
    assert one.shape == two.shape == (300, 500)

    def error(share, of):
        return 4 * math.sqrt(share * (1 - share) / of) + 1e-12

    assert one.mean() == pytest.approx(density, abs=error(density, one.size))
    assert two.mean() == pytest.approx(density, abs=error(density, one.size))
    assert two[one].mean() == pytest.approx(repeat, abs=error(repeat, one.sum()))
    again = two_impressions(300, cells=500, density=density, repeat=repeat, seed=5)
    assert (again[0] == one).all()
    assert (again[1] == two).all()


def bounds_of_rates(functions, share):
    """Return bounds of the share of pairs with a common bucket; `share` is that of common squares.

    Functions can have squares in common. So more pairs share no bucket than if functions were
    independent (Harris), but no more than exp(-m + d), where m is the mean number of shared
    buckets, and d the sum of the probabilities to share two that have squares in common (Janson).
    """
    held = np.zeros((len(functions), 1 + functions.max()))
    np.put_along_axis(held, functions, 1, axis=1)
    common = np.triu(held @ held.T, 1)[np.triu_indices(len(functions), 1)].astype(int)
    size = functions.shape[1]
    both = sum(count * share ** (2 * size - squares) for squares, count in Counter(common.tolist()).items() if squares)
    mean = len(functions) * share**size
    return 1 - math.exp(-mean + both), 1 - (1 - share**size) ** len(functions)


@pytest.mark.slow
def test_rates_of_a_simulation():
    """Of 5,000 fingers 0.980 were found and 0.065 of the others looked at; expected: 0.985, 0.063.

    All prints share the functions, so the mean itself depends on them: it lies between the bounds
    above, 0.975 and 0.985, 0.0629 and 0.0634. Around that, pairs of one finger are independent.
    Other pairs of one query are not, nor those of one enrolled print, so the errors of both means
    count. All are within 4 standard errors.
    """
    fingers = 5000
    one, two = two_impressions(fingers)
    index = SquareIndex(one, seed=2)
    looks = np.zeros((fingers, fingers), np.bool_)
    for number in range(fingers):
        looks[number, index.look_up(two[number])] = True
    own = looks.diagonal().copy()
    np.fill_diagonal(looks, False)
    low, high = bounds_of_rates(index.chosen[0], 0.2 * 0.8)
    error = 4 * math.sqrt(low * (1 - low) / fingers)
    assert low - error < own.mean() < high + error
    assert high == pytest.approx(expected_rates()[0])
    low, high = bounds_of_rates(index.chosen[0], 0.2 * 0.2)
    errors = [looks.mean(axis=axis).std() / math.sqrt(fingers) for axis in (0, 1)]
    assert low - 4 * math.hypot(*errors) < looks.mean() < high + 4 * math.hypot(*errors)
    assert high == pytest.approx(expected_rates()[1])
    assert max(errors) < 0.0004


@pytest.mark.slow
def test_rates_of_two_groups():
    """The groups share squares, too, so more is looked at than if they were independent (Harris).

    It is at most the sum over all pairs of a function of each group: 0.0053, where 0.0040 is
    expected.
    """
    fingers = 2500
    one, two = two_impressions(fingers, seed=3)
    index = SquareIndex(one, groups=2, seed=4)
    looks = np.zeros((fingers, fingers), np.bool_)
    for number in range(fingers):
        looks[number, index.look_up(two[number])] = True
    own = looks.diagonal().copy()
    np.fill_diagonal(looks, False)
    same, other = ([bounds_of_rates(group, share) for group in index.chosen] for share in (0.16, 0.04))
    low, high = math.prod(each[0] for each in same), min(each[1] for each in same)
    assert low - 4 * math.sqrt(low * (1 - low) / fingers) < own.mean() < high
    held = np.zeros((2, 1024, 1000))
    for group, functions in zip(held, index.chosen, strict=True):
        np.put_along_axis(group, functions, 1, axis=1)
    common = Counter((held[0] @ held[1].T).astype(int).ravel().tolist())
    low, high = math.prod(each[0] for each in other), sum(n * 0.04 ** (6 - squares) for squares, n in common.items())
    error = 4 * math.hypot(*(looks.mean(axis=axis).std() / math.sqrt(fingers) for axis in (0, 1)))
    assert low - error < looks.mean() < high + error
    assert (low, high) == pytest.approx((expected_rates(groups=2)[1], 0.0053), abs=0.0002)


@pytest.mark.parametrize("seed", [1, 2])
def test_made_up_grids_do_not_depend_on_the_functions(seed):
    """Print n is in bucket n as often as in others: a share of 0.2**3, within 4 standard errors."""
    one, _ = two_impressions(1000, seed=seed)
    index = SquareIndex(one, seed=seed)
    inside = one[np.arange(1000)[:, None], index.chosen[0][:1000]].all(axis=1)
    assert inside.mean() == pytest.approx(0.008, abs=4 * math.sqrt(0.008 / 1000))
