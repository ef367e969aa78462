"""Check random numbers drawn from a seed against plain twins and fixed values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.families.draws import gaussians, samples, signs, uniforms, words
from tests import reference

# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@given(seeds, st.integers(1, 4), st.integers(1, 5), st.integers(0, 5))
def test_draws(seed, rows, columns, stream):
    """Whole numbers agree exactly, normal ones up to the rounding of logarithms and cosines."""
    assert words(seed, rows, columns, stream).tolist() == reference.draw_words(seed, rows, columns, stream)
    assert uniforms(seed, rows, columns, stream).tolist() == reference.draw_uniforms(seed, rows, columns, stream)
    assert signs(seed, rows, columns).tolist() == reference.draw_signs(seed, rows, columns)
    assert samples(seed, rows, columns, columns + stream).tolist() == reference.draw_samples(
        seed, rows, columns, columns + stream
    )
    normal = np.array(reference.draw_gaussians(seed, rows, columns))
    assert gaussians(seed, rows, columns) == pytest.approx(normal, rel=1e-12, abs=1e-14)


# --- golden values, which must never change ---


def test_golden_words():
    expected = [[13830413928045401970, 6869446166584666695], [8084911050856847527, 17600346874777673004]]
    assert words(1, 2, 2).tolist() == expected
    assert words(1, 1, 2, stream=1).tolist() == [[6791897765849424158, 17405687883870564846]]
