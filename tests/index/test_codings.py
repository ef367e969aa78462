"""Check indexes of vectors, bits, sets and bags."""

import numpy as np
import pytest

from lookalike.core.errors import DataError
from lookalike.index import Index
from lookalike.items.bits import Bits
from lookalike.items.sets import Sets


@pytest.mark.slow
def test_vectors_and_bits(place, tmp_path):
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(500, 20))
    rows[250:] = rows[:250] + 0.05 * draw.normal(size=(250, 20))
    with Index.build(place, rows, measure="angle", threshold=15) as index:
        pairs = index.query_batch(rows, k=2)
        assert len(pairs) >= 0.98 * 1000
        assert index.verify() == 500
        with pytest.raises(DataError, match=r"^vectors must have 20 dimensions, like those of the index; got 3\.$"):
            index.query_batch(rows[:, :3])
    apart = np.linalg.norm(rows[:250] - rows[250:], axis=1)
    with Index.build(tmp_path / "far", rows + 1000, measure="euclidean", threshold=1.5 * apart.max()) as index:
        for row in range(250):  # one at a time: the centre of one row is not the index's
            assert [name for name, _ in index.query(rows[row] + 1000, k=2)] == [row, row + 250]
        index.remove(range(0, 500, 2))
        assert index.verify() == 250
    codes = draw.integers(0, 1 << 62, 300)
    codes[150:] = codes[:150] ^ (1 << draw.integers(0, 62, 150))
    with Index.build(tmp_path / "codes", codes.astype(np.uint64), measure="hamming", threshold=2) as index:
        found = index.query_batch(Bits.of(codes.astype(np.uint64)), k=None)
        assert len(found) >= 600  # an exact method: each code itself, and its twin
        assert found.distance.max() <= 2


def test_sets_and_bags(place, tmp_path):
    sets = [{1, 2, 3, 4}, {1, 2, 3, 5}, {7, 8}]
    with Index.build(place, sets, threshold=0.5) as index:
        assert index.query({1, 2, 3, 4}) == [(0, 1.0), (1, 0.6)]
    with Index.build(tmp_path / "named", Sets.of(sets), ids=["a", "b", "c"], threshold=0.5) as index:
        assert [name for name, _ in index.query({7, 8})] == ["c"]
