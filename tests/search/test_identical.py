"""Check groups of identical texts."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.sets import text_bounds
from lookalike.kernels.text import hash_contents
from lookalike.search.identical import Contents, first_of, group_identical


@given(st.lists(st.text("ab\u00e9", max_size=5), max_size=12), st.randoms(use_true_random=False))
def test_identical_texts(texts, random):
    """The first of a group in the given order stands for it."""
    order = list(range(len(texts)))
    random.shuffle(order)
    contents = hash_contents(*text_bounds(pa.array(texts, pa.large_string())))
    groups = group_identical(contents, np.array(order, np.int64))
    expected = [next(at for at in order if texts[at] == text) for text in texts]
    assert groups.first.tolist() == expected
    assert groups.heads.tolist() == sorted({*expected})
    assert groups.identical == len(texts) - len({*texts})


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
