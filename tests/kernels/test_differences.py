"""Rows of sorted hashes as differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import differences as kernels
from tests import reference as ref
from tests.kernel_samples import drawn_rows, seeds


def packed(rows):
    indptr = np.cumsum([0, *map(len, rows)])
    return kernels.pack_differences(indptr, np.array([x for row in rows for x in row], np.uint64))


@given(seeds)
def test_rows_come_back(rng):
    """Rows of any length, with elements that are not evenly spread, too."""
    rows = [sorted(row) for row in drawn_rows(rng, 8)]
    content, bounds = packed(rows)
    assert [content[bounds[at] : bounds[at + 1]].tobytes() for at in range(8)] == [ref.differences(row) for row in rows]
    sizes = kernels.row_sizes(content, bounds[:-1], bounds[1:])
    assert sizes.tolist() == [len(row) for row in rows]
    elements = kernels.unpack_differences(content, bounds[:-1], bounds[1:], np.append(0, np.cumsum(sizes)))
    assert elements.tolist() == [x for row in rows for x in row]
    indptr, together = kernels.unpack_rows(content, bounds)
    assert np.diff(indptr).tolist() == sizes.tolist()
    assert np.array_equal(together, elements)


def test_evenly_spread_hashes_take_fewer_bits():
    draw = np.random.default_rng(1)
    for size, most in ((20, 7.9), (1000, 7.1), (20_000, 6.5)):
        content, _ = packed([sorted(draw.integers(0, 1 << 64, size, dtype=np.uint64).tolist())])
        assert len(content) / size < most


@given(st.binary(max_size=60))
def test_bytes_that_are_no_row(content):
    """They are recognized, or read without a step beyond their end."""
    data = np.frombuffer(content or b"\0", np.uint8)
    starts, stops = np.array([0]), np.array([len(content)])
    (size,) = kernels.row_sizes(data, starts, stops).tolist()
    assert size <= len(content)
    assert len(kernels.unpack_rows(data, np.array([0, len(content)]))[0]) == (0 if size < 0 else 2)
    if size >= 0:
        assert len(kernels.unpack_differences(data, starts, stops, np.array([0, size]))) == size
