"""Check bit sampling: the positions drawn and the signatures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.families import BitSampling
from lookalike.measures import hamming
from tests import reference
from tests.failing import fails

# --- positions ---


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.text("01é中", min_size=n, max_size=n)] * 2)))
def test_all_positions_give_the_hamming_distance(pair):
    """Each position is used once."""
    family = BitSampling(len(pair[0]))
    assert family.positions.tolist() == list(range(len(pair[0])))
    assert family.estimate(*family.signatures(pair)) == pytest.approx(hamming(*pair), abs=1e-9)


@pytest.mark.parametrize("hashes", [1, 5, 19])
def test_positions_are_different_unless_repeated(hashes):
    for seed in range(50):
        positions = BitSampling(20, hashes, seed).positions.tolist()
        assert len(set(positions)) == hashes
        assert set(positions) <= set(range(20))
    assert len(set(BitSampling(20, 100, repeat=True).positions.tolist())) == 20


def test_given_positions():
    family = BitSampling.from_positions([2, 0, 2], dimensions=3)
    assert family.signatures(["abc", "cba"]).tolist() == [[99, 97, 99], [97, 99, 97]]
    assert family.collision(1) == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, np.uint64])
def test_large_numbers_are_not_mistaken_for_empty(kind):
    """The largest number of 64 bits would be, so it is rejected."""
    family, most = BitSampling(2), int(np.iinfo(kind).max)
    if np.iinfo(kind).bits == 64:
        fails(
            DataError, f"components must be less than {most}.", lambda: family.signatures(np.full((2, 2), most, kind))
        )
        most -= 1
    assert family.agreement(*family.signatures(np.full((2, 2), most, kind))) == 1


# --- plain twins ---

seeds = st.integers(0, 2**64 - 1)


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.one_of(
                st.lists(st.text("01é中", min_size=n, max_size=n), min_size=1, max_size=4),
                st.lists(st.lists(st.integers(-(2**31), 2**31), min_size=n, max_size=n), min_size=1, max_size=4),
            ),
            st.integers(1, n),
        )
    ),
    seeds,
    st.booleans(),
)
def test_bit_signatures(given_items, seed, repeat):
    items, hashes = given_items
    dimensions = len(items[0])
    family = BitSampling(dimensions, hashes, seed, repeat)
    if repeat:
        positions = [word % dimensions for word in reference.draw_words(seed, 1, hashes)[0]]
    else:
        (positions,) = reference.draw_samples(seed, 1, hashes, dimensions)
    assert family.signatures(items).tolist() == [reference.bit_signature(item, positions) for item in items]


# --- what signatures depend on ---

COMPONENTS = np.random.default_rng(5).integers(0, 2, (40, 12))


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint8, np.uint64, np.bool_])
def test_bits_do_not_depend_on_the_kind_of_number(kind):
    family = BitSampling(12, 5)
    found = family.signatures(COMPONENTS.astype(kind))
    assert (found == family.signatures(COMPONENTS)).all()
    texts = ["".join(map(str, row)) for row in COMPONENTS.tolist()]
    assert (found + ord("0") == family.signatures(texts)).all()


def test_the_first_positions_do_not_change_when_there_are_more():
    """By default they are all positions, in order."""
    most = BitSampling(50, 50).positions.tolist()
    assert all(BitSampling(50, hashes).positions.tolist() == most[:hashes] for hashes in range(1, 50))
    assert BitSampling(50).positions.tolist() == sorted(most) == list(range(50))
