"""Check fields as hash functions: which values count as equal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.families import FieldEquality
from lookalike.kernels.hashing import EMPTY
from tests import reference

NONE = int(EMPTY)


# --- values ---


@pytest.mark.parametrize("missing", [None, "", math.nan, np.float32("nan"), np.datetime64("NaT", "D")])
def test_missing_values_equal_no_other(missing):
    family = FieldEquality(["name", "phone"])
    a, b = family.signatures([("Ann", missing), ("Ann", missing)])
    assert a.tolist()[1] == NONE
    assert family.agreement(a, b) == family.agreement(a, a) == 0.5


def test_values_are_compared_as_texts():
    family = FieldEquality(["value"])
    values = [1, "1", np.int8(1), 1.0, "1.0", " ", "0", 0, False, "False"]
    found = family.signatures([[value] for value in values])[:, 0].tolist()
    assert found[0] == found[1] == found[2] != found[3] == found[4]
    assert found[6] == found[7] != found[8] == found[9]
    assert len(set(found)) == 5
    assert NONE not in found


def test_records_are_mappings_or_sequences():
    family = FieldEquality(["a", "b"])
    records = [{"b": 2, "a": 1, "c": 3}, {"a": 1, "b": 2}, (1, 2), [1, 2], np.array([1, 2])]
    assert len({tuple(row) for row in family.signatures(records).tolist()}) == 1


# --- plain twins ---


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.text(max_size=20), st.integers(), st.floats()), min_size=3, max_size=3),
        max_size=5,
    )
)
def test_field_signatures(records):
    family = FieldEquality(["a", "b", "c"])
    found = family.signatures(records)
    assert found.shape == (len(records), 3)
    assert found.tolist() == [reference.field_signature(record) for record in records]
    named = [dict(zip("cba", record[::-1], strict=True)) for record in records]
    assert (family.signatures(named) == found).all()
