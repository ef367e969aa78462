"""Check groups of identical texts."""

from itertools import product

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.sets import text_bounds
from lookalike.kernels.text import hash_contents
from lookalike.search.identical import Contents, first_of, group_by_positions, group_identical


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


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=30))
def test_contents_met_before(batches: list[list[int]]) -> None:
    """Each content is new once; both of its hashes count."""
    met, seen = Contents(), set()
    for batch in batches:
        contents = np.array([(one % 6, one // 6 + 1) for one in batch], np.uint64).reshape(-1, 2)
        expected = []
        for one in batch:
            expected.append(one not in seen)
            seen.add(one)
        assert met.add(contents).tolist() == expected


def test_many_contents() -> None:
    """The table grows, and keeps what it holds."""
    met = Contents()
    contents = np.random.default_rng(1).integers(0, 2**63, (5000, 2)).astype(np.uint64)
    assert all(met.add(part).all() for part in np.array_split(contents, 13))
    assert not met.add(contents).any()


@given(st.lists(st.integers(0, 11), min_size=1, max_size=40))
def test_the_known_item_with_the_same_content(given: list[int]) -> None:
    """Also if several contents agree in the first hash."""
    contents = np.array([(one % 3, one // 3) for one in given], np.uint64)
    known = np.array([one not in given[:at] for at, one in enumerate(given)])
    assert first_of(contents, known).tolist() == [given.index(one) for at, one in enumerate(given) if not known[at]]
