"""Heads and allowances: the bound holds for every pair, and is tight enough to drop most."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.devices.base import ALWAYS, LEAST, MOST, NEVER, WIDEST, rounded
from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from lookalike.search.heads import (
    WIDTHS,
    basis_for,
    evened,
    fitted,
    full_width,
    longest_row,
    make_heads,
    rows_of,
    taken,
)
from lookalike.search.spaces import BitSpace, VectorSpace
from tests.vector_samples import drawn, drawn_bits


def space_of(rows, measure="angle", threshold=25.0):
    return VectorSpace(Vectors(np.asarray(rows)), measure, threshold)


def everything(space):
    return np.arange(len(space))


def compared(space, heads):
    """Return the products of all heads, and the allowances of rows on the left and on the right."""
    rows = everything(space)
    made, *squares = rounded(rows_of(space, rows), heads.frame.basis, heads.frame.step)
    squares = np.array(squares)
    left = heads.allowances(squares, taken(space, rows, space.bounds))
    return (made @ made.T).astype(np.int64), left.astype(np.int64), heads.allowances(squares, taken(space, rows))


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize(
    ("measure", "threshold"), [("angle", 25.0), ("cosine_similarity", 0.5), ("euclidean", 9.0), ("inner_product", 90.0)]
)
def test_no_near_pair_is_dropped(measure, threshold, width):
    rows = drawn(3, 300, 150)
    rows[7] *= 1e12
    rows[8] = np.eye(150)[0] * 5  # one large component
    space = space_of(rows, measure, threshold)
    rng = np.random.default_rng(1)
    heads = fitted(space, rows_of(space, everything(space)), width, longest_row(space), rng)
    products, left, right = compared(space, heads)
    near = space.within(space.measured(*np.divmod(np.arange(300 * 300), 300))).reshape(300, 300)
    passed = products + left[:, None] + right >= 0
    assert near.sum() > 300
    assert not (near & ~passed).any()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    dimensions=st.sampled_from([1, 2, 63, 64, 65, 130]),
    step=st.floats(1e-4, 1.0),
    balance=st.floats(1e-4, 10.0),
    columns=st.integers(1, 64),
)
def test_slack_bounds_every_product(seed, dimensions, step, balance, columns):
    """Whatever the basis, the step and the balance: x.z <= step**2 q.p + e(x) + e(z)."""
    rng = np.random.default_rng(seed)
    space = space_of(rng.normal(size=(40, dimensions)) * 10.0 ** rng.uniform(-2, 2, (40, 1)))
    rows = rows_of(space, everything(space))
    heads = fitted(space, rows, 64, longest_row(space), rng)
    basis = basis_for(rows, min(columns, dimensions), rng)
    heads = replace(heads, balance=balance, frame=replace(heads.frame, basis=basis, step=step))
    made, *squares = rounded(rows, basis, step)
    slack = heads.slack(np.array(squares))
    assert (rows @ rows.T <= step**2 * (made @ made.T) + slack[:, None] + slack).all()


def test_few_pairs_pass_besides_the_near_ones():
    rng = np.random.default_rng(0)
    space = space_of(rng.normal(size=(2000, 384)), "cosine_similarity", 0.9)
    heads = make_heads(space, everything(space), everything(space), space.bounds)
    products, left, right = compared(space, heads)
    passed = np.triu(products + left[:, None] + right >= 0, 1)
    assert heads.frame.width < 384
    assert passed.sum() < 10


def test_few_pairs_pass_of_rows_of_uneven_lengths():
    """A step that suits most rows cuts off the longest, which alone have large inner products."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 64)) * rng.lognormal(0, 0.5, (2000, 1))
    threshold = float(np.sort((rows @ rows.T)[np.triu_indices(2000, 1)])[-50])
    space = space_of(rows, "inner_product", threshold)
    heads = make_heads(space, everything(space), everything(space), space.bounds)
    products, left, right = compared(space, heads)
    passed = np.triu(products + left[:, None] + right >= 0, 1)
    assert 50 <= passed.sum() < 2000


def test_a_loose_threshold_needs_all_components():
    rng = np.random.default_rng(0)
    space = space_of(rng.normal(size=(1500, 384)), "cosine_similarity", 0.2)
    heads = make_heads(space, everything(space), everything(space), space.bounds)
    assert (heads.kept, heads.frame.width) == (384, 384)


def test_bases_are_orthonormal():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 100):
        matrix = evened(size, rng)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-13)
    for sample in (rng.normal(size=(500, 90)), np.zeros((500, 90)), np.ones((500, 90))):
        matrix = basis_for(sample, 64, rng)
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(64), atol=1e-13)


def test_one_direction_is_spread_over_all_components():
    """Otherwise one step would not suit rows that lie along an axis."""
    rows = np.eye(128)
    assert np.abs(rows @ evened(128, np.random.default_rng(0))).max() < 0.2


def test_codes_pass_exactly_if_near():
    space = BitSpace(Bits.of(drawn_bits(1, 100)), 3)
    heads = make_heads(space, everything(space), everything(space), space.bounds)
    signs = np.where(space.bits.matrix(), 1, -1)
    zeros = np.zeros((3, 100))
    left = heads.allowances(zeros, taken(space, everything(space), space.bounds))
    right = heads.allowances(zeros, taken(space, everything(space)))
    passed = signs @ signs.T + left[:, None] + right >= 0
    assert (passed == ((signs[:, None] != signs).sum(axis=2) <= 3)).all()


def test_widths():
    widths = {1: 64, 64: 64, 65: 128, 256: 256, 257: 384, 9999: WIDEST}
    assert {dimensions: full_width(dimensions) for dimensions in widths} == widths


def test_sums_of_allowances_and_products_fit_in_32_bits_and_decide():
    most = MOST * MOST * WIDEST
    assert ALWAYS + LEAST - most >= 0  # passes with any row
    assert NEVER + ALWAYS + most < 0  # passes with none
    assert 2 * NEVER - most >= -(2**31)
    assert 2 * ALWAYS + most < 2**31
    assert max(WIDTHS) <= WIDEST


def test_rows_that_cannot_be_bounded_pass_with_all():
    tiny = np.ones((3, 70))
    tiny[1] = 1e-310
    space = space_of(tiny)
    heads = make_heads(space, everything(space), everything(space), space.bounds)
    _, left, right = compared(space, heads)
    assert left[1] > 0
    assert (left[1] + right + LEAST >= 0).all() or (left[1] + right >= 0).all()
