"""Check the intersection of arrays, and the table of meetings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import probes


@given(st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)), st.integers(1, 6))
def test_the_intersection_of_two_arrays(left, right, least):
    sides = [np.array(sorted(side), np.uint64) for side in (left, right)]
    shared = len(left & right)
    assert probes.shared_between(*sides, least) == (shared if shared >= least else -1)


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=5))
def test_meetings_are_recorded_per_query(queries):
    starts = np.concatenate(([0], np.cumsum([len(rows) for rows in queries], dtype=np.int64)))
    one = np.arange(starts[-1])
    table = probes.no_meetings(starts, one, one + 1, 41)
    assert len(table) >= 2 * max((len(set(rows)) for rows in queries), default=1)
    for number, rows in enumerate(queries):
        assert [probes.meets(table, number, row) for row in rows] == [row not in rows[:i] for i, row in enumerate(rows)]


def test_a_table_is_no_larger_than_the_index_requires():
    starts, begins, ends = np.array([0, 2]), np.array([0, 0]), np.array([10**9, 10**9])
    assert len(probes.no_meetings(starts, begins, ends, 5)) == 16
