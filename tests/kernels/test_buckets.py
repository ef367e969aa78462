"""Check buckets, pairs, stars and components against plain twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import buckets as bucket_kernels
from lookalike.kernels.buckets import ONE
from lookalike.theory.banding import Buckets
from lookalike.theory.sorting import low_bits, sort_keys
from tests import reference as ref
from tests.kernel_samples import EDGES, SIZES, as_lists, as_rows, drawn_sets, seeds, thresholds

splits = st.one_of(st.none(), st.integers(0, 13))  # where the right collection begins


def drawn_buckets(rng, items, buckets):
    """Return random buckets of two or more items, each in ascending order."""
    return [sorted(rng.sample(range(items), rng.randint(2, items))) for _ in range(buckets)]


# --- buckets ---


def drawn_keys(rng, items, bands):
    """Return random keys: many are equal, and some are equal except for the lowest bits."""
    few = [*EDGES, *(rng.getrandbits(64) for _ in range(max(2, items // 3)))]
    return [[rng.choice(few) ^ (rng.random() < 0.2) for _ in range(bands)] for _ in range(items)]


@given(seeds, st.sampled_from(SIZES))
def test_members(rng, items):
    keys = [key for (key,) in drawn_keys(rng, items, 1)]
    ordered, mask = sort_keys(np.array(keys, np.uint64))
    found = bucket_kernels.members(ordered, mask)
    assert as_lists(*found) == ref.members(keys, int(mask))


@given(seeds, st.sampled_from([0, 1, 2, 9, 40]), st.sampled_from([1, 2, 5, 10_000]), splits)
def test_new_pairs(rng, items, room, split):
    """A few at a time, band by band: each pair once, in the first band where it shares a bucket."""
    bands = 4
    keys = drawn_keys(rng, items, bands)
    mask = low_bits(items)
    across = ONE if split is None else split
    array = np.array(keys, np.uint64).reshape(items, bands)
    seen = set()
    for band in range(bands):
        expected_buckets = ref.members([row[band] for row in keys], int(mask))
        indptr, inside = bucket_kernels.members(*sort_keys(np.ascontiguousarray(array[:, band])))
        assert as_lists(indptr, inside) == expected_buckets
        expected = ref.bucket_pairs(expected_buckets, split)
        buckets = Buckets([(indptr, inside)], array, mask, np.arange(len(array)))
        assert buckets.count(0) == len(ref.bucket_pairs(expected_buckets))
        found = []
        state, left, right = np.zeros(3, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        for stop in sorted({0, len(inside) // 3, len(inside)}):
            while state[1] < stop:
                n = bucket_kernels.new_pairs(indptr, inside, array, band, mask, across, state, stop, left, right)
                found += zip(left[:n].tolist(), right[:n].tolist(), strict=True)
        assert sorted(found) == sorted(expected - seen)
        seen |= expected


@pytest.mark.slow
@given(seeds, st.integers(2, 70), st.integers(0, 6))
def test_buckets_of(rng, items, buckets):
    drawn = drawn_buckets(rng, items, buckets)
    indptr, members = as_rows(drawn, np.int64)
    found = np.empty(len(members), np.int64)
    assert as_lists(bucket_kernels.buckets_of(indptr, members, items, found), found) == ref.buckets_of(drawn, items)


@given(seeds, thresholds, st.sampled_from([1, 2, 100]), st.sampled_from([1, 3, 100]), st.sampled_from([1, 5, 12]))
def test_stars(rng, threshold, room, patience, step):
    sets = drawn_sets(rng, rows=12)
    drawn = drawn_buckets(rng, 12, rng.randrange(5))
    order = rng.sample(range(12), 12)
    rooms = np.concatenate(([0], np.cumsum([min(len(bucket), room) for bucket in drawn], dtype=np.int64)))
    centre, shared = np.arange(12), np.array([len(one) for one in sets])
    indptr, members = as_rows(drawn, np.int64)
    found = np.empty(len(members), np.int64)
    state = (
        bucket_kernels.buckets_of(indptr, members, 12, found), found, rooms, np.empty(rooms[-1], np.int64),
        np.zeros(len(drawn), np.int64), np.zeros(12, np.bool_), np.zeros(12, np.int64), patience,
        *as_rows(sets), None, *threshold.as_integer_ratio(), centre, shared,
    )  # fmt: skip
    crowded = 0
    for batch in np.split(np.array(order), range(step, 12, step)):
        for part in np.array_split(batch, 2):
            bucket_kernels.look_at_kept(part, *state)
        crowded += bucket_kernels.stars(batch, *state)
    expected = ref.stars(order, drawn, room, patience, sets, threshold, step)
    assert (dict(enumerate(centre.tolist())), dict(enumerate(shared.tolist()))) == expected[:2]
    assert crowded == expected[2]


@given(seeds, st.sampled_from([0, 1, 30, 200]))
def test_join_pairs(rng, n):
    items = max(1, n // 2 + 5)
    left, right = ([rng.randrange(items) for _ in range(n)] for _ in range(2))
    parent = np.arange(items)
    bucket_kernels.join_pairs(np.array(left, np.int64), np.array(right, np.int64), parent)
    assert bucket_kernels.roots(parent).tolist() == ref.components(items, zip(left, right, strict=True))


@given(seeds, thresholds, st.sampled_from([1, 2, 100]), st.sampled_from([1, 3, 1000]), st.integers(1, 10))
def test_similar_in_buckets(rng, threshold, reach, patience, step):
    """Band by band, the pairs found in parts of the buckets connect the similar items."""
    sets = drawn_sets(rng, rows=10)
    bands = [disjoint_buckets(rng, 10) for _ in range(3)]
    parent, cut = np.arange(10), np.zeros(10, np.bool_)
    rules = (reach, patience, np.zeros(10, np.int64), cut, *as_rows(sets), None, *threshold.as_integer_ratio())
    joined = []
    for band in bands:
        indptr, items = as_rows(band, np.int64)
        found = []
        for start in range(0, len(items), step):
            bucket = int(np.searchsorted(indptr, start, side="right")) - 1
            stop = min(start + step, len(items))
            found.append(bucket_kernels.similar_in_buckets(start, stop, bucket, indptr, items, *rules, parent))
        for left, right in found:
            joined += zip(left.tolist(), right.tolist(), strict=True)
            bucket_kernels.join_pairs(left, right, parent)
        bucket_kernels.mark_apart(indptr, items, reach, parent, cut)
    found = bucket_kernels.roots(parent).tolist()
    assert joined == ref.similar_in_buckets(bands, reach, patience, sets, threshold, step)
    assert found == ref.components(10, joined)
    similar = ref.similar_pairs(sets, threshold).keys()
    shared = set().union(*(ref.bucket_pairs(band) for band in bands))
    if reach == 100 and patience == 1000:
        assert found == ref.components(10, similar & shared)
        assert not cut.any()
    if found != ref.components(10, similar & shared):
        assert cut.any()


def disjoint_buckets(rng, items):
    """Draw some of the items into buckets of two or more, each item into at most one."""
    drawn = rng.sample(range(items), rng.randrange(items + 1))
    cuts = sorted(rng.sample(range(items + 1), 3))
    parts = (sorted(drawn[start:stop]) for start, stop in pairwise([0, *cuts, items]))
    return [part for part in parts if len(part) > 1]
