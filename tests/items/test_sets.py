"""Check the hashes of elements, which must never change."""

import numpy as np
import pyarrow as pa
import pytest

from lookalike.core.errors import DataError
from lookalike.items import sets
from lookalike.items.sets import Sets, slices_of_texts

# Values of format 1; the hash of the integer 0 is the value published for splitmix64.
STRINGS = [7548481514061301999, 17653579546828544110]
INTEGERS = [0xE220A8397B1DCDAF, 16490336266968443936, 3055647633038352039]


def test_format_1_elements_of_sets():
    assert Sets.of([["a"], ["\u00e9clair"], []]).elements.tolist() == STRINGS
    assert Sets.of([[0], [-1], [2**63 - 1]]).elements.tolist() == INTEGERS


@pytest.mark.parametrize("indptr", [[0, 5], [1, 2], [0, 3, 1, 2], [], [[0, 2]], [0.0, 2.0], [0, -1, 2]])
def test_bounds_of_rows_must_ascend_to_the_number_of_elements(indptr):
    with pytest.raises(DataError, match=r"^indptr must ascend from 0 to the number of elements"):
        Sets(np.array(indptr), np.array([1, 2], np.uint64))
    with pytest.raises(DataError, match=r"^indptr must ascend"):
        Sets(np.array([0, 2]), np.array([1, 2]))


def test_sets_come_as_a_list():
    for items in (5, "abc", None):
        with pytest.raises(
            DataError, match=rf"^sets must be a list of collections of elements; got {type(items).__name__}"
        ):
            Sets.of(items)


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_slices_of_texts(monkeypatch, columns):
    """All rows once, in order, at most `step` at a time; the bytes of a slice are limited, but for its last row."""
    monkeypatch.setattr(sets, "BYTES_PER_TASK", 100)
    lengths = np.random.default_rng(1).integers(0, 40, (columns, 50))
    texts = [pa.array(["a" * length for length in row], pa.large_string()) for row in lengths]
    parts = slices_of_texts([one.slice(5) for one in texts], 45, 7)
    assert [row for part in parts for row in range(45)[part]] == list(range(45))
    assert all(part.stop - part.start <= 7 for part in parts)
    assert all(lengths[:, 5 + part.start : 5 + part.stop - 1].sum() <= 100 for part in parts)
    assert slices_of_texts([one.slice(50) for one in texts], 0, 7) == []
