"""Check the mixing of bits against its plain twin and fixed values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.hashing import mix
from tests import reference as ref
from tests.kernel_samples import numbers

# Values of format 1; mix(1) is the value published for splitmix64.
MIX = [0, 0x5692161D100B05E5, 13029008266876403067]


# --- hashes of texts ---


@given(st.lists(numbers, min_size=1, max_size=20))
def test_mix(values):
    assert [int(mix(np.uint64(x))) for x in values] == [ref.mix(x) for x in values]


# --- format 1 ---


def test_format_1_mix():
    assert [int(mix(np.uint64(x))) for x in (0, 1, ref.ALL)] == MIX
