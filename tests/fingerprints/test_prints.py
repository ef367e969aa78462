"""Check which minutiae make prints, and which are refused."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError
from lookalike.fingerprints import Prints


def test_prints():
    prints = Prints.of([[(1, 2, 3), (4, 5, 6)], [], np.array([[7, 8, 9]])])
    assert len(prints) == 3
    assert prints.ids.to_pylist() == ["0", "1", "2"]
    assert prints.sizes.tolist() == [2, 0, 1]
    assert [one.tolist() for one in prints] == [[[1, 2, 3], [4, 5, 6]], [], [[7, 8, 9]]]
    assert prints[-1].tolist() == [[7, 8, 9]]
    assert prints.points.tolist() == [[1, 2, 3 / 360], [4, 5, 6 / 360], [7, 8, 9 / 360]]
    taken = prints.take(np.array([2, 0, 2]))
    assert taken.ids.to_pylist() == ["2", "0", "2"]
    assert taken.sizes.tolist() == [1, 2, 1]
    with pytest.raises(IndexError):
        prints[3]


@pytest.mark.parametrize("given", [[(1, 2)], (1, 2, 3), [(1, 2, "x")], [(1, 2, math.nan)], [(1, math.inf, 3)], None])
def test_what_is_no_print(given):
    with pytest.raises(DataError, match=r"^print 1: minutiae must be rows of three numbers: x, y and angle\.$"):
        Prints.of([[], given])


def test_as_many_ids_as_prints():
    with pytest.raises(DataError, match=r"^ids must name each print; got 2 ids for 1 print\.$"):
        Prints.of([[(1, 2, 3)]], ids=["a", "b"])


@given(st.lists(st.integers(0, 4), max_size=5))
def test_prints_as_a_table(sizes):
    draw = np.random.default_rng(1)
    prints = Prints.of([draw.normal(size=(size, 3)) for size in sizes], [f"\u00e9{at}" for at in range(len(sizes))])
    table = prints.to_arrow()
    for one in (table, pa.concat_tables([table.slice(0, 2), table.slice(2)])):
        again = Prints.of_arrow(one)
        assert again.ids.to_pylist() == prints.ids.to_pylist()
        assert again.starts.tolist() == prints.starts.tolist()
        assert (again.minutiae == prints.minutiae).all()


@pytest.mark.parametrize("angle", [np.nan, np.inf])
def test_prints_that_kernels_could_not_bear(angle):
    """A NaN as an index would write outside of an array."""
    ids = pa.array(["one"])
    with pytest.raises(DataError, match=r"^minutiae must be finite numbers, in rows of x, y and angle\.$"):
        Prints(np.array([[1, 2, angle]]), np.array([0, 1]), ids)
    table = pa.table({"id": ids, "x": [[1.0]], "y": [[2.0]], "angle": [[angle]]})
    with pytest.raises(DataError, match=r"^minutiae must be finite"):
        Prints.of_arrow(table)


def test_prints_whose_bounds_are_wrong():
    points = np.zeros((2, 3))
    for starts in ([0, 5], [1, 2], [0, 2, 1]):
        with pytest.raises(DataError, match=r"^starts must ascend from 0 to the number of minutiae, with one id"):
            Prints(points, np.array(starts), pa.array([str(n) for n in starts[1:]]))
    table = pa.table({"id": ["one"], "x": [[1.0, 2.0]], "y": [[2.0]], "angle": [[3.0, 4.0]]})
    with pytest.raises(DataError, match=r"^the lists x, y and angle of a print must have the same length\.$"):
        Prints.of_arrow(table)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": [["one"]]},
        {"x": [1.0]},
        {"x": [[[1.0]]]},
        {"x": pa.nulls(1), "y": pa.nulls(1), "angle": pa.nulls(1)},
        {"id": pa.nulls(1)},
        {"id": [["a"]]},
    ],
)
def test_tables_that_are_no_prints(changed):
    """A table with nulls, or columns of other types, is an error in one line."""
    table = pa.table({"id": ["one"], "x": [[1.0]], "y": [[2.0]], "angle": [[3.0]]} | changed)
    with pytest.raises(
        DataError, match=r"^(prints must be a string id, and lists|each print must have an id, and lists).*\.$"
    ):
        Prints.of_arrow(table)
