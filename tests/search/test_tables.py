"""Check how buckets are cut into blocks, so that each pair is looked at once."""

from itertools import pairwise

import numpy as np
import pytest

from lookalike.kernels.buckets import ONE
from lookalike.search.tables import make_buckets
from tests import reference as ref


@pytest.mark.parametrize(("side", "reach"), [(1, 1), (2, 3), (4, 4), (3, 10)])
def test_blocks_of_a_bucket_cover_each_pair_once(side, reach, monkeypatch):
    """Of one collection each pair, of two each across the split; also where a bucket has items of one side alone."""
    monkeypatch.setattr("lookalike.search.tables.SIDE", side)
    monkeypatch.setattr("lookalike.search.tables.REACH", reach)
    rng = np.random.default_rng(side)
    for sizes in ([0], [1], [2], [13], [1, 2, 3, 4, 5, 6, 7], [9, 1, 12], [3, 3, 20]):
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        for split in (ONE, 0, 1, 10, 40):
            items = np.concatenate([np.sort(rng.permutation(40)[:size]) for size in sizes])
            buckets = make_buckets(indptr, items, split)
            expected = [
                (int(a), int(b))
                for start, stop in pairwise(indptr)
                for i, a in enumerate(items[start:stop])
                for b in items[start:stop][i + 1 :]
                if split == ONE or a < split <= b
            ]
            met = ref.pairs_in(buckets.order.tolist(), buckets.rectangles.tolist())
            assert sorted((int(a), int(b)) for a, b in met) == sorted(expected)
            assert buckets.pairs == len(expected)
            tasks = [rectangle for task in buckets.tasks() for rectangle in task.tolist()]
            assert tasks == buckets.rectangles.tolist()


@pytest.mark.parametrize("items", [2047, 2048, 2049, 8192, 8193, 12289])
def test_large_buckets(items):
    buckets = make_buckets(np.array([0, items]), np.arange(items), ONE)
    assert buckets.pairs == items * (items - 1) // 2
    assert make_buckets(np.array([0, items]), np.arange(items), 2049).pairs == min(items, 2049) * max(0, items - 2049)
