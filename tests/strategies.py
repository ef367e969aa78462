"""Hold Hypothesis strategies that several files use."""

import numpy as np
from hypothesis import strategies as st

numbers = st.floats(-1e6, 1e6)
matrices = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=1, max_size=4)
)

elements = st.integers(0, 2**64 - 1)
rows_of_elements = st.lists(st.lists(elements, max_size=6), max_size=4)


def flat(rows):
    """Return rows as two arrays."""
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return indptr, np.array([x for row in rows for x in row], np.uint64)
