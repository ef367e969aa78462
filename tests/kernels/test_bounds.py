"""Check the bounds of exact joins against their definitions."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import bounds
from tests import reference as ref
from tests.kernel_samples import MEASURES, RATIOS

numbers = st.one_of(st.integers(0, ref.ALL), st.sampled_from((0, 1, 2**32 - 1, 2**32, 2**63, ref.ALL)))


# --- bounds ---


@given(numbers, numbers, numbers, numbers)
def test_products_of_128_bits(w, x, y, z):
    high, low = bounds.product(np.uint64(w), np.uint64(x))
    assert (int(high) << 64) + int(low) == w * x
    assert bool(bounds.below(np.uint64(w), np.uint64(x), np.uint64(y), np.uint64(z))) == (w * x < y * z)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_how_much_must_be_shared(measure):
    """It is the least number of shared elements that makes sets of these sizes similar."""
    kind, p, q = measure
    for a in range(1, 31):
        for b in range(1, 31):
            if kind == "GRAMS" and abs(a - b) > q:
                continue  # never similar
            enough = [s for s in range(1, 200) if ref.is_similar(kind, a, b, s, p, q)] if kind != "JACCARD" else None
            found = bounds.need(getattr(bounds, kind), a, b, p, q)
            if kind == "JACCARD":
                assert Fraction(found * (p + q), a + b) >= p or found == 1
                assert found == 1 or (found - 1) * (p + q) < p * (a + b)
            else:
                assert found == enough[0]


@given(st.integers(1, 2**30), st.integers(1, 2**30), st.sampled_from(RATIOS))
def test_how_much_large_sets_must_share_by_cosine(a, b, ratio):
    p, q = ratio.as_integer_ratio()
    exact = isqrt((p * p * a * b - 1) // (q * q)) + 1  # the least s with s**2 >= p**2 a b / q**2
    assert bounds.need(bounds.COSINE, a, b, p, q) == exact


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_how_small_a_similar_set_can_be(measure):
    kind, p, q = measure
    for n in range(1, 31):
        sizes = [
            b
            for b in range(1, n + 1)
            if any(ref.is_similar(kind, n, b, shared, p, q) for shared in range(1, min(n, b) + 1))
        ]
        if sizes:
            assert bounds.least(getattr(bounds, kind), n, p, q) == sizes[0]
