"""Check counts of elements, and dropping by them, against plain counting."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.frequencies import add_part, drop_counted, idf, idf_weights, reaching
from lookalike.kernels.joins import index_elements
from tests import reference as ref
from tests.kernel_samples import as_lists, as_rows, drawn_rows, numbers, seeds


def table_of(counts):
    """Return the table in which kernels look counts up."""
    ordered = np.array(sorted(counts), np.uint64)
    shift = np.uint64(64 - max(1, (2 * len(ordered)).bit_length()))
    return index_elements(ordered, shift), shift, ordered, np.array([counts[x] for x in sorted(counts)], np.int64)


@given(st.lists(st.lists(numbers, max_size=40), max_size=4), st.sampled_from([0, 1, 5]))
def test_counts_grow_part_by_part(batches, high):
    found = []
    for part in range(1 << high):
        known = np.empty(0, np.uint64), np.empty(0, np.int64)
        for batch in batches:
            known = add_part(np.array(batch, np.uint64), high, part, *known)
        found += zip(*(column.tolist() for column in known), strict=True)
    assert found == sorted(Counter(x for batch in batches for x in batch).items())


@given(seeds, st.integers(0, 3))
def test_elements_with_high_counters(rng, least):
    elements = np.array([rng.getrandbits(64) for _ in range(50)], np.uint64)
    counters = np.array([rng.randrange(4) for _ in range(16)], np.int32)
    expected = [x for x in elements.tolist() if counters[x >> 60] >= least]
    assert reaching(elements, counters, np.uint64(60), least).tolist() == expected


@given(seeds, st.integers(0, 4))
def test_drop_counted(rng, limit):
    rows = drawn_rows(rng, 5, repeats=True)
    table = table_of(Counter(x for row in rows for x in set(row)))
    assert as_lists(*drop_counted(*as_rows(rows), *table, limit)) == ref.without_common(rows, limit)


def test_weights_of_elements():
    """Those that are not in the table are in one item."""
    elements, out = np.array([3, 7, 2**63, 8], np.uint64), np.empty(4)
    idf_weights(elements, *table_of({3: 10, 2**63: 4}), 10, out)
    assert out.tolist() == [idf(10, count) for count in (10, 1, 4, 1)]
    np.testing.assert_allclose(out, np.log([2, 11, 3.5, 11]))
