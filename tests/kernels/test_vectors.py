"""Check kernels that measure and project vectors, each against its plain twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.vectors import project
from tests import reference
from tests.strategies import matrices

seeds = st.integers(0, 2**64 - 1)


@given(matrices, st.integers(0, 4), seeds)
def test_project(rows, count, seed):
    """To the bit."""
    directions = np.random.default_rng(seed).normal(size=(count, len(rows[0])))
    found = project(np.array(rows), np.ascontiguousarray(directions.T))
    assert found.shape == (len(rows), count)
    assert found.tolist() == reference.project(rows, directions.tolist())
