"""Check the pairs of buckets, all of them or a uniform sample."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.theory.banding import Buckets, all_pairs, in_buckets
from tests import reference as ref
from tests.kernel_samples import as_rows, seeds


@given(seeds, st.integers(2, 9), st.integers(0, 5))
def test_all_pairs(rng, items, buckets):
    """`all_pairs` lists a pair once per bucket that has it; the buckets here are disjoint."""
    shuffled = rng.sample(range(items), items)
    drawn = [sorted(shuffled[i : i + 3]) for i in range(0, items, 3)][:buckets]
    expected = ref.bucket_pairs(drawn)
    left, right = all_pairs(*as_rows(drawn, np.int64), len(expected))
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)


def test_sample_of_a_band_is_uniform():
    """Every pair of the band is drawn about equally often, whatever the size of its bucket."""
    drawn = [[0, 1], [2, 3, 4], [5, 6, 7, 8, 9]]
    buckets = Buckets([as_rows(drawn, np.int64)], np.empty((10, 0), np.uint64), np.uint64(0), np.arange(10))
    left, right = buckets.sample(0, 14_000, np.random.default_rng(1))
    pairs, counts = np.unique(np.sort(np.column_stack((left, right))), axis=0, return_counts=True)
    assert {tuple(pair) for pair in pairs.tolist()} == ref.bucket_pairs(drawn)
    assert abs(counts - 1000).max() < 4 * 1000**0.5


@settings(max_examples=50)
@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 5), st.integers(0, 2**64 - 1))
def test_buckets_in_parts_are_those_of_the_whole(numbers, bits, factor):
    keys = np.array(numbers, np.uint64) * np.uint64(factor | 1)
    whole = in_buckets(keys)
    parts = in_buckets(keys, max(1, (32 * 8 * len(keys)) >> bits))
    for one, other in zip(whole, parts, strict=True):
        assert one.tolist() == other.tolist()
