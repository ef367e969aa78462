"""Entries in blocks of bits, and hashes of names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.index.postings import joined
from lookalike.kernels import blocks as kernels
from lookalike.kernels.hashing import EMPTY
from tests import reference as ref
from tests.kernel_samples import numbers

ENTRIES = st.lists(numbers, max_size=300).map(lambda some: np.array(sorted(some), np.uint64))


def packed(entries, most):
    """Return the blocks of entries, each with its last entry."""
    content, bounds, lasts = kernels.pack_blocks(entries, most)
    return [(entries[last], content[bounds[at] : bounds[at + 1]]) for at, last in enumerate(lasts)]


def read(blocks):
    """Return the entries of blocks."""
    return kernels.unpack_blocks(*joined(blocks))[0]


@given(entries=ENTRIES, most=st.sampled_from([1, 20, 100, 1000]))
def test_blocks_hold_the_entries(entries, most):
    blocks = packed(entries, most)
    assert read([block for _, block in blocks]).tolist() == entries.tolist()
    each = [read([block]).tolist() for _, block in blocks]
    assert [last for last, _ in blocks] == [some[-1] for some in each]
    assert [block.tobytes() for _, block in blocks] == [ref.block(some) for some in each]
    sizes = [kernels.size_of_block(block) for _, block in blocks]
    assert sizes == list(map(len, each))
    assert all(len(block) <= most or size == 1 for size, (_, block) in zip(sizes, blocks, strict=True))


@given(entries=ENTRIES.filter(len), places=st.lists(st.integers(0, 299), min_size=1, max_size=5))
def test_entries_are_found_by_their_keys(entries, places):
    """In several blocks at once, each searched for a key of its own; some keys are in no entry."""
    blocks = [block for _, block in packed(entries, 100)]
    chosen = [blocks[at % len(blocks)] for at in places]
    keys = [5, *(int(entries[at % len(entries)]) >> 32 for at in places[1:])]
    each = [read([block]).tolist() for block in chosen]
    expected = [[one & 0xFFFFFFFF for one in some if one >> 32 == key] for key, some in zip(keys, each, strict=True)]
    numbers, ends = kernels.find_in_blocks(*joined(chosen), np.array(keys, np.uint64))
    assert numbers.tolist() == [number for some in expected for number in some]
    assert ends.tolist() == np.cumsum([len(some) for some in expected]).tolist()


@given(st.binary(max_size=40))
def test_bytes_that_are_no_block(content):
    """They are recognized, whatever they are, before anything is read beyond their end."""
    widths, count = list(content[:2]), int.from_bytes(content[2:4], "little")
    right = len(content) >= 8 and max(widths) <= 32 and len(content) == 8 + -(-count * sum(widths) // 8)
    assert kernels.size_of_block(np.frombuffer(content, np.uint8)) == (count if right else -1)
    assert kernels.unpack_blocks(*joined([content]))[1] == right
    if not right:
        assert kernels.find_in_blocks(*joined([content]), np.zeros(1, np.uint64))[1].tolist() == [-1]


def test_long_runs_of_equal_entries_are_split():
    """A block counts its entries in two bytes."""
    entries = np.zeros(10_000, np.uint64)
    blocks = packed(entries, 1000)
    assert [kernels.size_of_block(block) for _, block in blocks] == [4096, 4096, 1808]


@given(
    rows=st.lists(st.lists(st.one_of(numbers, st.just(int(EMPTY))), min_size=2, max_size=2), max_size=20),
    data=st.data(),
)
def test_entries_go_into_slices(rows, data):
    chosen = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    hashes = np.array(rows, np.uint64).reshape(-1, 2)
    owners = np.arange(7, 7 + len(rows), dtype=np.uint64)
    entries, starts = kernels.into_slices(hashes, owners, np.array(chosen, np.bool_))
    kept = [(one, 7 + at) for at, row in enumerate(rows) if chosen[at] for one in row if one != EMPTY]
    for part in range(256):
        expected = [(one >> 24 & 0xFFFFFFFF) << 32 | number for one, number in kept if one >> 56 == part]
        assert entries[starts[part] : starts[part + 1]].tolist() == expected


@given(names=st.lists(st.binary(max_size=40), max_size=10), salt=numbers)
def test_hashes_of_names(names, salt):
    ends = np.cumsum([0, *map(len, names)])
    data = np.frombuffer(b"".join(names) or b"\0", np.uint8)
    hashes = kernels.hash_names(data, ends[:-1], ends[1:], np.uint64(salt)).tolist()
    assert hashes == [ref.hash_name(name, salt) for name in names]
