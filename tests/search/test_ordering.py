"""Blocks that are skipped hold no near pair, whatever the rows, the measure and the axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.run import Run
from lookalike.devices.plain import Plain
from lookalike.items.vectors import Vectors
from lookalike.search.heads import make_heads, rows_of, taken
from lookalike.search.ordering import AXES, boxes_of, close, main_axes, margin, ordered, places_of, skipped
from lookalike.search.spaces import VectorSpace
from tests.vector_samples import SINGLE, drawn

MEASURES = (("angle", 12.0), ("cosine_similarity", 0.97), ("euclidean", 0.8))


def low_dimensional(seed, items, dimensions=20):
    """Draw rows that differ mostly in few directions, so that blocks of them are apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(items, dimensions)) * 0.5 ** np.arange(dimensions)


def sorted_blocks(space, rows, axes, block, bounds=None):
    values = rows_of(space, rows)
    places = places_of(values, axes)
    order = ordered(places, block, 3)
    squares = (values * values).sum(axis=1)
    extra = -2 * taken(space, rows, bounds)
    return order, boxes_of(places[order], squares[order], extra[order], block, space.dimensions)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    measure=st.sampled_from(MEASURES),
    dimensions=st.sampled_from([1, 2, 7, 30]),
    block=st.sampled_from([1, 3, 16]),
    spread=st.sampled_from([0.0, 1.0, 6.0]),
)
def test_skipped_blocks_hold_no_near_pair(seed, measure, dimensions, block, spread):
    rng = np.random.default_rng(seed)
    values = drawn(seed, 90, dimensions) * 10.0 ** rng.uniform(-spread, spread, (90, 1))
    space = VectorSpace(Vectors(values[values.any(axis=1)]), *measure)
    rows = np.arange(len(space))
    axes = main_axes(rows_of(space, rows[rng.permutation(len(rows))[:20]]), rng)
    order, ours = sorted_blocks(space, rows, axes, block, space.bounds)
    _, theirs = sorted_blocks(space, rows, axes, block)
    near = space.within(space.measured(*np.divmod(np.arange(len(rows) ** 2), len(rows)))).reshape(len(rows), -1)
    blocks = np.arange(len(ours.most))
    for one in blocks:
        kept = close(ours, one, theirs, blocks)
        for other in np.setdiff1d(blocks, kept):
            assert not near[np.ix_(order[one * block :][:block], order[other * block :][:block])].any()


def test_most_blocks_of_few_dimensions_are_skipped():
    space = VectorSpace(Vectors(low_dimensional(1, 4000)), "euclidean", 0.05)
    rows = np.arange(4000)
    axes = main_axes(rows_of(space, rows[:500]), np.random.default_rng(0))
    order, ours = sorted_blocks(space, rows, axes, 32, space.bounds)
    _, theirs = sorted_blocks(space, rows, axes, 32)
    assert sorted(order.tolist()) == rows.tolist()
    assert 0.8 < skipped(ours, theirs) < 1


def test_places_that_are_not_known_are_never_skipped():
    places = np.zeros((4, 3), np.float32)
    places[0], places[2:, 0] = np.nan, 100
    boxes = boxes_of(places, np.ones(4), np.zeros(4), 1, 3)
    kept = [close(boxes, row, boxes, np.arange(4)).tolist() for row in range(4)]
    assert kept == [[0, 1, 2, 3], [0, 1], [0, 2, 3], [0, 2, 3]]


def test_axes_are_orthonormal_main_directions():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 40))
    rows[:, [3, 7]] *= 20
    axes = main_axes(rows, rng)
    np.testing.assert_allclose(axes.T @ axes, np.eye(AXES), atol=1e-12)
    assert (np.abs(axes[[3, 7], :2]).sum(axis=0) > 0.9).all()
    assert main_axes(rows[:, :2], rng).shape == (2, 2)


def test_margin_covers_the_length_that_is_left():
    rng = np.random.default_rng(0)
    for dimensions in (2, 50, 800):
        axes = main_axes(rng.normal(size=(100, dimensions)), rng)
        rows = rng.normal(size=(200, axes.shape[1])) @ axes.T  # nothing is left
        lengths = np.sqrt((rows * rows).sum(axis=1))
        assert (places_of(rows, axes)[:, -1] <= margin(dimensions) * lengths).all()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("memory", [1 << 30, 250_000, 130_000])
def test_searches_that_skip_find_what_brute_force_finds(measure, memory):
    """Also of two collections, of the nearest, and of groups, with all rows or parts of them on the device."""
    rows = low_dimensional(2, 900)
    rows[600:] = rows[:300] + 0.002 * np.random.default_rng(0).normal(size=(300, 20))
    rows[5] *= 1e-200
    said = []
    run = Run(1)
    run.say = said.append
    common = {"measure": measure[0], "threshold": measure[1] / 10 if measure[0] != "cosine_similarity" else 0.9995}
    device, brute = (
        {"device": Plain(32, memory=memory), "run": run},
        {"device": "cpu", "method": "brute", "run": SINGLE},
    )
    found, expected = la.find_pairs(rows, **common, **device), la.find_pairs(rows, **common, **brute)
    assert len(expected) > 250
    assert found.stats["blocks_skipped"] > found.stats["blocks"] / 20
    assert found.stats["candidates"] < 0.95 * expected.stats["candidates"]
    assert any("of the pairs of blocks of rows hold no near pair, and were skipped" in line for line in said)
    for one, other in (
        (found, expected),
        (la.find_matches(rows[:500], rows[400:], **common, **device),
         la.find_matches(rows[:500], rows[400:], **common, **brute)),
        (la.find_matches(rows[:200], rows, k=2, measure=measure[0], **device),
         la.find_matches(rows[:200], rows, k=2, measure=measure[0], **brute)),
    ):  # fmt: skip
        for name in ("left", "right", "values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert list(la.find_clusters(rows, **common, **device)) == list(la.find_clusters(rows, **common, **brute))


def test_nothing_is_ordered_if_little_would_be_skipped():
    rows = np.random.default_rng(0).normal(size=(2000, 64))
    space = VectorSpace(Vectors(rows), "angle", 60.0)
    every = np.arange(2000)
    assert make_heads(space, every, every, space.bounds, block=64).frame.axes is None
    space = VectorSpace(Vectors(low_dimensional(1, 2000)), "angle", 3.0)
    heads = make_heads(space, every, every, space.bounds, block=64)
    assert heads.frame.axes.shape == (20, AXES)
    assert heads.skipped > 0.2
    assert make_heads(space, every, every, space.bounds, block=1024).frame.axes is None


def test_nothing_is_ordered_if_that_takes_longer_than_it_saves():
    rows = low_dimensional(1, 2000)
    space, every = VectorSpace(Vectors(rows), "angle", 3.0), np.arange(2000)
    compared = 2000 * make_heads(space, every, every, space.bounds).cost() / 2  # picoseconds per row
    for ordering, axes in ((0.25 * compared, True), (0.999 * compared, False), (2 * compared, False)):
        heads = make_heads(space, every, every, space.bounds, block=64, ordering=ordering)
        assert (heads.frame.axes is not None) == axes
