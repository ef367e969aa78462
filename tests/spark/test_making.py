"""Check sets made from lists."""

import pyarrow as pa
import pytest

from lookalike.core.errors import DataError
from lookalike.items.sets import Sets
from lookalike.spark.making import OfLists
from tests.engines import PLAN


def test_a_null_element():
    with pytest.raises(DataError, match="an element is null"):
        OfLists(PLAN).sets(pa.array([["a", None]]))


@pytest.mark.parametrize("content", [pa.array([["b", "a", "b"], [], ["c"]]), pa.array([[2, 1, 2], [], [-3]])])
def test_sets_of_lists(content):
    found = OfLists(PLAN).sets(content.slice(0, 3))
    expected = Sets.of([set(one) for one in content.to_pylist()])
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.elements.tolist() == expected.elements.tolist()
    assert OfLists(PLAN).sets(content.slice(2))[0].tolist() == expected[2].tolist()
