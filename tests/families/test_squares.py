"""Check grid squares: which are drawn, and which prints are in the bucket."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.families import GridSquares
from lookalike.kernels.hashing import EMPTY
from tests import reference

NONE = int(EMPTY)


# --- squares ---


def test_squares_of_a_function_are_different():
    chosen = GridSquares(squares=4, hashes=200, cells=6).chosen
    assert chosen.shape == (200, 4)
    assert all(len(set(function)) == 4 and set(function) <= set(range(6)) for function in chosen.tolist())


def test_prints_outside_the_bucket_agree_with_nothing():
    family = GridSquares.from_squares([(0, 1), (1, 2), (2, 3)], cells=4)
    signatures = family.signatures([{0, 1, 2}, {1, 2, 3}, set(), [2, 1]])
    assert signatures.tolist() == [[0, 0, NONE], [NONE, 0, 0], [NONE] * 3, [NONE, 0, NONE]]
    assert [family.agreement(signatures[0], other) for other in signatures] == pytest.approx([2 / 3, 1 / 3, 0, 1 / 3])


# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=5), st.integers(1, 4), st.integers(1, 8), seeds)
def test_square_signatures(prints, squares, hashes, seed):
    family = GridSquares(squares, hashes, cells=10, seed=seed)
    functions = reference.draw_samples(seed, hashes, squares, 10)
    assert family.signatures(prints).tolist() == [reference.square_signature(cells, functions) for cells in prints]
    grid = np.array([[cell in cells for cell in range(10)] for cells in prints]).reshape(len(prints), 10)
    for kind in (np.bool_, np.uint8, np.int64):
        assert (family.signatures(grid.astype(kind)) == family.signatures(prints)).all()
