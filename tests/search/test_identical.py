"""Check groups of identical texts."""

from itertools import product

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.sets import text_bounds
from lookalike.kernels.text import hash_contents
from lookalike.search.identical import group_by_positions, group_identical


@given(st.lists(st.text("ab\u00e9", max_size=5), max_size=12), st.integers(1, 4), st.integers(0, 9))
def test_identical_texts_by_a_few_positions(texts, positions, seed):
    """The groups are the same as by a hash of the whole text."""
    array = pa.array(texts, pa.large_string())
    few = group_by_positions(array, positions, seed)
    whole = group_identical(hash_contents(*text_bounds(array)), np.arange(len(texts)))
    assert few.first.tolist() == whole.first.tolist()
    assert few.heads.tolist() == whole.heads.tolist()


def test_all_short_texts_in_all_orders():
    texts = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)] * 2
    groups = group_by_positions(pa.array(texts, pa.large_string()))
    assert groups.identical == len(texts) // 2
    assert groups.first.tolist() == [texts.index(text) for text in texts]
