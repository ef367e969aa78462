"""Check which positions belong to which collection."""

import numpy as np
import pytest

from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.buckets import ONE

ROWS = np.array([1, 3, 4, 8])


def test_one_collection():
    assert Sides.of([5]) == ALONE == Sides()
    assert (ALONE.two, ALONE.split, ALONE.offset) == (False, ONE, 0)
    assert ALONE.among(ROWS) is ALONE
    assert [side.tolist() for side in ALONE.apart(ROWS)] == [ROWS.tolist()] * 2
    assert ALONE.across(ROWS[:2], ROWS[2:]).tolist() == [True, True]


@pytest.mark.parametrize(("first", "left"), [(0, 0), (1, 0), (2, 1), (4, 2), (9, 4)])
def test_two_collections(first, left):
    sides = Sides.of([first, 9 - first])
    assert (sides.two, sides.split, sides.offset) == (True, first, first)
    assert sides.among(ROWS) == Sides(left)
    assert [len(side) for side in sides.apart(ROWS)] == [left, len(ROWS) - left]
    assert np.concatenate(sides.apart(ROWS)).tolist() == ROWS.tolist()


def test_pairs_across():
    left, right = np.array([0, 0, 1, 3]), np.array([1, 4, 3, 4])
    assert Sides(3).across(left, right).tolist() == [False, True, True, False]
