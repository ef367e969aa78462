"""Check the keys of tables and their order against plain twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.sorting import sorted_part
from lookalike.kernels.tables import masked_keys
from lookalike.theory.sorting import low_bits, sort_keys
from tests import reference as ref
from tests.kernel_samples import EDGES, SIZES, seeds


@given(seeds, st.sampled_from(SIZES), st.integers(0, 5))
def test_sorted_parts(rng, items, bits):
    """One after another, they are all keys in order."""
    few = [*EDGES, *(rng.getrandbits(64) for _ in range(items))]
    keys = [rng.choice(few) for _ in range(items)]
    array, mask = np.array(keys, np.uint64), low_bits(items)
    parts = [sorted_part(array, bits, part, mask).tolist() for part in range(1 << bits)]
    assert parts == [ref.sorted_part(keys, bits, part, int(mask)) for part in range(1 << bits)]
    assert [number for part in parts for number in part] == sort_keys(array)[0].tolist()


@pytest.mark.parametrize("width", [1, 2, 5])
def test_masked_keys(width):
    rng = np.random.default_rng(width)
    words, mask = (rng.integers(0, 2**64, size, np.uint64) for size in ((20, width), width))
    rows = rng.integers(0, 20, 31)
    expected = [ref.masked_key(words[row].tolist(), mask.tolist()) for row in rows]
    assert masked_keys(words, rows, mask).tolist() == expected
