"""Check the signs of sums against their plain twin, whatever the order of elements."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.simhash import NORMAL, sign_rows, sign_weighted_rows, unpack_signs
from tests import reference
from tests.strategies import elements, flat, rows_of_elements

seeds = st.sampled_from([0, 1, 2**63, 2**64 - 1])
hashes = st.sampled_from([1, 7, 8, 9, 63, 64, 65, 130])
whole_weights = st.integers(-1000, 1000).map(float)


def weighted_rows(weights):
    """Draw rows of (element, weight)."""
    return st.lists(st.lists(st.tuples(elements, weights), max_size=6), max_size=4)


def signed(rows, seed, count):
    """Return the packed signs of rows of (element, weight)."""
    indptr, flat_elements = flat([[x for x, _ in row] for row in rows])
    weights = np.array([weight for row in rows for _, weight in row], np.float64)
    return sign_weighted_rows(indptr, flat_elements, weights, np.uint64(seed), count).tolist()


# --- kernels ---


def test_the_table_is_that_of_the_twin():
    assert NORMAL.tolist() == reference.NORMAL_PARTS
    assert (np.diff(NORMAL) > 0).all()
    assert (NORMAL + NORMAL[::-1] == 0).all()
    assert np.mean(NORMAL**2) == pytest.approx(1000**2, rel=0.01)


@given(rows_of_elements, seeds, hashes)
def test_signs_are_those_of_the_twin(rows, seed, count):
    words = sign_rows(*flat(rows), np.uint64(seed), count)
    expected = [reference.simhash(row, seed, count) for row in rows]
    assert words.shape == (len(rows), (count + 63) // 64)
    assert words.tolist() == [reference.pack_signs(signs) for signs in expected]
    assert unpack_signs(words, count).tolist() == expected


@given(weighted_rows(st.floats(-1e100, 1e100)), seeds, hashes)
def test_weighted_signs_are_those_of_the_twin(rows, seed, count):
    expected = [reference.simhash([x for x, _ in row], seed, count, [w for _, w in row]) for row in rows]
    assert signed(rows, seed, count) == [reference.pack_signs(signs) for signs in expected]


@pytest.mark.slow
@given(rows_of_elements, seeds, st.randoms(use_true_random=False))
def test_the_order_of_elements_makes_no_difference(rows, seed, random):
    shuffled = [random.sample(row, len(row)) for row in rows]
    first, second = (sign_rows(*flat(given_rows), np.uint64(seed), 65).tolist() for given_rows in (rows, shuffled))
    assert first == second


@given(weighted_rows(whole_weights), seeds, st.randoms(use_true_random=False))
def test_the_order_of_weighted_elements_makes_no_difference(rows, seed, random):
    """If sums are exact, as those of whole numbers are."""
    assert signed(rows, seed, 65) == signed([random.sample(row, len(row)) for row in rows], seed, 65)


@given(rows_of_elements, seeds, hashes)
def test_weights_of_one_make_no_difference(rows, seed, count):
    weighted = signed([[(x, 1.0) for x in row] for row in rows], seed, count)
    assert weighted == sign_rows(*flat(rows), np.uint64(seed), count).tolist()


@given(weighted_rows(st.floats(-1e90, 1e90, allow_subnormal=False)), seeds)
def test_twice_the_weights_make_no_difference(rows, seed):
    assert signed(rows, seed, 65) == signed([[(x, 2 * w) for x, w in row] for row in rows], seed, 65)


@given(st.lists(elements, max_size=6), seeds)
def test_an_element_counts_as_often_as_it_occurs(row, seed):
    counted = [[(x, float(n)) for x, n in Counter(row).items()]]
    assert sign_rows(*flat([row]), np.uint64(seed), 65).tolist() == signed(counted, seed, 65)
