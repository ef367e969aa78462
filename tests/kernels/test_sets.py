"""Check the sorting and comparison of rows against plain twins."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.sets import (
    group_rows,
    hash_rows,
    overlaps,
    overlaps_between,
    sort_rows,
    sorted_hashes,
    take_rows,
)
from tests import reference as ref
from tests.kernel_samples import EDGES, SIZES, THRESHOLDS, as_lists, as_rows, drawn_rows, drawn_sets, seeds, thresholds


@given(seeds, st.sampled_from(SIZES), st.sampled_from(["even", "low", "high", "equal"]))
def test_sorted_hashes_whatever_their_spread(rng, n, spread):
    """Evenly spread values make the sort fast, but it is right for all values."""
    make = {
        "even": lambda: rng.getrandbits(64),
        "low": lambda: rng.getrandbits(10),
        "high": lambda: ref.ALL - rng.getrandbits(10),
        "equal": lambda: rng.choice(EDGES),
    }[spread]
    values = [make() for _ in range(n)]
    assert sorted_hashes(np.array(values, np.uint64)).tolist() == sorted(values)


@given(seeds, st.booleans())
def test_sort_rows(rng, bag):
    rows = drawn_rows(rng, 5, repeats=True)
    found = sort_rows(*as_rows(rows), bag)
    assert as_lists(*found) == [ref.sort_row(row, bag) for row in rows]


@given(seeds)
def test_take_rows(rng):
    rows = drawn_rows(rng, 6)
    indptr, elements = as_rows(rows)
    taken = rng.choices(range(6), k=4)
    starts = indptr[:-1][taken]
    assert as_lists(*take_rows(starts, np.diff(indptr)[taken], elements)) == [rows[row] for row in taken]


@given(st.lists(st.integers(0, 5)))
def test_group_rows(rows):
    elements = range(100, 100 + len(rows))
    for some in (rows, sorted(rows)):
        found = group_rows(6, np.array(some, np.int64), np.array(elements, np.uint64))
        assert as_lists(*found) == [
            [x for x, row in zip(elements, some, strict=True) if row == one] for one in range(6)
        ]


def test_overlap_of_bags_is_the_sum_of_the_lesser_counts():
    rng = random.Random(1)
    rows = [[x for x in range(5) for _ in range(rng.randrange(6))] for _ in range(30)]
    hashed = [[ref.mix(x) for x in row] for row in rows]
    found = as_lists(*sort_rows(*as_rows(hashed), True))
    for a, set_a in zip(rows, found, strict=True):
        for b, set_b in zip(rows, found, strict=True):
            assert len(set(set_a) & set(set_b)) == sum(min(a.count(x), b.count(x)) for x in range(5))


@given(seeds)
def test_hash_rows(rng):
    rows = [sorted(row) for row in drawn_rows(rng, 4)]
    assert hash_rows(*as_rows(rows)).tolist() == [ref.hash_row(row) for row in rows]


@given(seeds, thresholds)
def test_overlaps(rng, threshold):
    rows = drawn_sets(rng) + [sorted(row) for row in drawn_rows(rng, 4)]
    left, right = np.divmod(np.arange(len(rows) ** 2), len(rows))
    found = overlaps(*as_rows(rows), None, left, right, *threshold.as_integer_ratio())
    assert found.tolist() == [ref.similar_overlap(a, b, threshold) for a in rows for b in rows]


@given(seeds)
def test_overlaps_between_two_collections(rng):
    rows, others = (drawn_sets(rng) + [sorted(row) for row in drawn_rows(rng, 4)] for _ in range(2))
    left, right = np.divmod(np.arange(len(rows) * len(others)), len(others))
    found = overlaps_between(*as_rows(rows), *as_rows(others), left, right)
    assert found.tolist() == [len(set(a) & set(b)) for a in rows for b in others]


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_overlaps_on_both_sides_of_the_threshold(threshold):
    """For all sizes and overlaps of small sets, so that one element more or less decides."""
    rows, expected = [], []
    for a in range(13):
        for b in range(13):
            for shared in range(min(a, b) + 1):
                rows += [list(range(a)), [*range(shared), *range(100, 100 + b - shared)]]
                expected.append(ref.similar_overlap(*rows[-2:], threshold))
    evens = np.arange(0, len(rows), 2)
    assert overlaps(*as_rows(rows), None, evens, evens + 1, *threshold.as_integer_ratio()).tolist() == expected
