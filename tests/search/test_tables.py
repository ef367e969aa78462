"""Check how buckets are cut into blocks, so that each pair is compared once."""

import math
from itertools import pairwise

import numpy as np
import pytest

import lookalike as la
from lookalike.core.errors import TooManyPairs, UsageError
from lookalike.items.sides import ALONE, Sides
from lookalike.search.blocks import make_blocks
from tests import reference as ref
from tests.vector_samples import SINGLE, drawn_bits, found, oracle


@pytest.mark.parametrize(("side", "reach"), [(1, 1), (2, 3), (4, 4), (3, 10)])
def test_blocks_of_a_bucket_cover_each_pair_once(side, reach, monkeypatch):
    """With two collections, each pair across; even if a bucket has items of only one."""
    monkeypatch.setattr("lookalike.search.blocks.SIDE", side)
    monkeypatch.setattr("lookalike.search.blocks.REACH", reach)
    rng = np.random.default_rng(side)
    for sizes in ([0], [1], [2], [13], [1, 2, 3, 4, 5, 6, 7], [9, 1, 12], [3, 3, 20]):
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        for split in (None, 0, 1, 10, 40):
            items = np.concatenate([np.sort(rng.permutation(40)[:size]) for size in sizes])
            buckets = make_blocks(indptr, items, Sides(split))
            expected = [
                (int(a), int(b))
                for start, stop in pairwise(indptr)
                for i, a in enumerate(items[start:stop])
                for b in items[start:stop][i + 1 :]
                if split is None or a < split <= b
            ]
            met = ref.pairs_in(buckets.order.tolist(), buckets.rectangles.tolist())
            assert sorted((int(a), int(b)) for a, b in met) == sorted(expected)
            assert buckets.pairs == len(expected)
            tasks = [rectangle for task in buckets.tasks(100) for rectangle in task.tolist()]
            assert tasks == buckets.rectangles.tolist()


@pytest.mark.parametrize("items", [2047, 2048, 2049, 8192, 8193, 12289])
def test_large_buckets(items):
    buckets = make_blocks(np.array([0, items]), np.arange(items), ALONE)
    assert buckets.pairs == items * (items - 1) // 2
    across = make_blocks(np.array([0, items]), np.arange(items), Sides(2049))
    assert across.pairs == min(items, 2049) * max(0, items - 2049)


# --- probes ---


@pytest.mark.slow
@pytest.mark.parametrize("probes", [2, 8, 20])
def test_a_crowd_of_probes_in_a_bucket_that_is_nobodys(probes, monkeypatch):
    """More items of the first collection probe a bucket than a block holds; it has no items."""
    monkeypatch.setattr("lookalike.search.blocks.SIDE", 8)
    rng = np.random.default_rng(0)
    crowd = np.eye(1, 16) + 0.002 * rng.normal(size=(300, 16))
    others = rng.normal(size=(100, 16))
    options = {"measure": "angle", "threshold": 1, "method": "lsh", "recall": 0.9, "probes": probes, "run": SINGLE}
    matches = la.find_matches(crowd, others, **options)
    assert found(matches) == oracle("angle", np.concatenate((crowd, others)), 1, 300) == {}
    pairs = la.find_pairs(crowd[:60], **options)
    assert found(pairs).items() <= oracle("angle", crowd[:60], 1).items()


# --- pigeonholes ---


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 7, 64, 65, 200])
@pytest.mark.parametrize("threshold", range(11))
def test_pigeonholes_are_exact(threshold, length, parts):
    """This holds for any number of parts above the threshold, however bits are grouped."""
    if threshold >= length:
        codes = drawn_bits(threshold, 40, length)
        if threshold > length:
            with pytest.raises(UsageError, match=f"^threshold must be an integer of at most {length}; got {threshold}"):
                la.find_pairs(codes, measure="hamming", threshold=threshold)
        else:
            assert len(la.find_pairs(codes, measure="hamming", threshold=threshold)) == 40 * 39 // 2
        return
    rng = np.random.default_rng([threshold, length])
    centres = rng.integers(0, 2, (6, length))
    codes = centres[rng.integers(0, 6, 70)]
    for row in codes:
        row[rng.permutation(length)[: rng.integers(0, threshold + 3)]] ^= 1
    expected = oracle("hamming", codes, threshold)
    across = oracle("hamming", codes, threshold, 30)
    for number in range(threshold + 1, min(length, threshold + 3) + 1):
        parts(number)
        for seed in (1, 2):
            options = {"measure": "hamming", "threshold": threshold, "method": "exact", "seed": seed, "run": SINGLE}
            pairs = la.find_pairs(codes, **options)
            assert pairs.plan.tables == math.comb(number, threshold)
            assert found(pairs) == expected
            assert found(la.find_matches(codes[:30], codes[30:], **options)) == across


# --- too many pairs ---


def test_more_pairs_than_wait_to_be_merged(monkeypatch):
    """They are checked before they are counted."""
    monkeypatch.setattr("lookalike.search.tables.FRESH", 10)
    monkeypatch.setattr("lookalike.search.blocks.SIDE", 7)
    rows = np.linspace(0, 1, 60)[:, None] * [1.0, 1.0]
    options = {"measure": "euclidean", "threshold": 0.5, "method": "brute", "run": SINGLE}
    expected = oracle("euclidean", rows, 0.5)
    assert found(la.find_pairs(rows, max_pairs=len(expected), **options)) == expected
    with pytest.raises(TooManyPairs):
        la.find_pairs(rows, max_pairs=len(expected) - 1, **options)
