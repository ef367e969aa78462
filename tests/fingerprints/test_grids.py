"""Check which squares of a grid are marked, however a print lies."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.fingerprints import Prints, SquareIndex, grid_sets, local_grids
from tests import reference as ref
from tests.print_samples import in_degrees, spread

seeds = st.integers(0, 2**32).map(random.Random)
draws = st.integers(0, 2**32).map(np.random.default_rng)


# --- grids ---


def as_degrees(draw, size):
    return draw.uniform((-50, -80, -720), (250, 300, 720), (size, 3))


@given(draws, st.sampled_from([(20.0, 5.0, 16, 20), (40.0, 0.0, 3, 2), (15.0, 7.0, 5, 9), (500.0, 100.0, 1, 1)]))
def test_grid_sets(draw, options):
    square, margin, columns, rows = options
    prints = Prints.of([as_degrees(draw, size) for size in draw.choice((0, 1, 2, 5, 30), 3)])
    grids = grid_sets(prints, square=square, margin=margin, columns=columns, rows=rows)
    assert grids.shape == (3, columns * rows)
    for number in range(3):
        cells = {(int(cell) // rows, int(cell) % rows) for cell in np.flatnonzero(grids[number])}
        assert cells == ref.grid_cells(prints[number].tolist(), square, margin, columns, rows)


@given(draws, st.sampled_from([(20.0, 4.0, 100.0, 4), (30.0, 0.0, 70.0, 1), (25.0, 12.0, 90.0, 7)]))
def test_local_grids(draw, options):
    square, margin, radius, directions = options
    prints = Prints.of([as_degrees(draw, size) for size in draw.choice((0, 1, 2, 9), 3)])
    grids = local_grids(prints, square=square, margin=margin, radius=radius, directions=directions)
    side = 2 * math.ceil(radius / square)
    assert grids.shape == (len(prints.minutiae), side * side * directions)
    expected = [
        ref.local_cells(one.tolist(), number, square, margin, radius, directions)
        for one in prints
        for number in range(len(one))
    ]
    found = [set(zip(*np.nonzero(grid.reshape(side, side, directions)), strict=True)) for grid in grids]
    assert found == expected


def upright(places):
    """Return a print that is upright, and centred by a copy turned half around."""
    places = np.array(places, float)
    both = np.vstack([places, -places])
    return Prints.of([np.column_stack([both, np.full(len(both), 90.0)])])


@pytest.mark.parametrize(
    ("place", "cells"),
    [
        ((10, 10), {(2, 2)}),  # in the middle of a square
        ((16, 10), {(2, 2), (3, 2)}),  # within the margin of the next square
        ((16, 16), {(2, 2), (2, 3), (3, 2), (3, 3)}),
        ((14, 14), {(2, 2)}),
        ((24, 10), {(2, 2), (3, 2)}),
        ((38, 38), {(3, 3)}),  # the margin reaches beyond the grid
        ((43, 10), {(3, 2)}),  # beyond the grid, but within the margin
        ((46, 10), set()),
        ((10, 1000), set()),
    ],
)
def test_margin_and_border_of_a_grid(place, cells):
    """Four by four squares of 20 pixels around the centre of the print; margins are 5 pixels."""
    found = grid_sets(upright([place]), columns=4, rows=4)[0].reshape(4, 4)
    opposite = {(3 - column, 3 - row) for column, row in cells}
    assert set(zip(*np.nonzero(found), strict=True)) == cells | opposite


def test_a_wide_margin_marks_the_square_itself():
    """A margin of 12 pixels around the middle of a square of 20 reaches three squares per side."""
    found = grid_sets(upright([(70, 70)]), columns=10, rows=10, margin=12.0)[0].reshape(10, 10)
    assert found[7:10, 7:10].all()
    assert found.sum() == 18


def test_grids_of_great_coordinates():
    """Minutiae beyond the grid are ignored, however far away they are."""
    assert not grid_sets(Prints.of([[(1e30, 0, 90), (-1e30, 0, 90)]])).any()


@pytest.mark.slow
@given(seeds, st.floats(-1 / 6, 1 / 6), st.floats(-1e4, 1e4))
@settings(max_examples=40)
def test_grids_of_turned_and_shifted_prints(rng, turn, shift):
    """Local grids stay the same; so do grids over prints that are not turned upside down.

    They are compared only if no minutia is within 2e-5 pixels of the border of a square.
    """
    minutiae = [(x, y, rng.gauss(0.25, 0.03)) for x, y, _ in spread(rng, 20)]
    one, other = in_degrees([minutiae]), in_degrees([ref.laid(minutiae, (turn, complex(shift, -shift / 3)))])
    for grids, margin in ((grid_sets, 5.0), (local_grids, 4.0)):
        about = [grids(one, margin=margin + beside) for beside in (0, -2e-5, 2e-5)]
        steady = (about[0] == about[1]).all() and (about[0] == about[2]).all()
        assert not steady or (about[0] == grids(other)).all()


def test_counts_may_be_floats_that_are_whole():
    """As everywhere else, 4.0 counts as 4."""
    prints = Prints.of([[(1, 2, 3)]])
    assert grid_sets(prints, columns=4.0, rows=4.0).shape == (1, 16)
    assert local_grids(prints, directions=2.0).shape == (1, 200)
    grids = np.ones((2, 9), bool)
    assert SquareIndex(grids, functions=8.0, groups=2.0).look_up(grids[0]).tolist() == [0, 1]
