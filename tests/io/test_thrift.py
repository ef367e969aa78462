"""Check that structs of Thrift are read as they were written, and that damage is an error."""

import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.io import thrift
from lookalike.io.thrift import Listing, Value, read_struct, write_struct

LONGS = st.integers(-(2**63), 2**63 - 1)
PLAIN: dict[int, st.SearchStrategy[Any]] = {
    thrift.BYTE: st.integers(-128, 127),
    thrift.SHORT: st.integers(-(2**15), 2**15 - 1),
    thrift.INTEGER: st.integers(-(2**31), 2**31 - 1),
    thrift.LONG: LONGS,
    thrift.DOUBLE: st.floats(allow_nan=False),
    thrift.BINARY: st.binary(max_size=200),
}


def values_of(kind: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Value]:
    return st.builds(Value, st.just(kind), values)


def items_of(kind: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Value]:
    items = st.builds(Listing, st.just(kind), st.lists(values, max_size=20))
    return st.builds(Value, st.sampled_from([thrift.LIST, thrift.SET]), items)


BOOLEANS = st.sampled_from([Value(thrift.TRUE, True), Value(thrift.FALSE, False)])
SIMPLE = st.one_of(
    BOOLEANS,
    items_of(thrift.TRUE, st.booleans()),
    *(values_of(kind, values) for kind, values in PLAIN.items()),
    *(items_of(kind, values) for kind, values in PLAIN.items()),
)


def structs_of(values: st.SearchStrategy[Value]) -> st.SearchStrategy[dict[int, Value]]:
    return st.dictionaries(st.integers(-(2**15), 2**15 - 1) | st.integers(1, 20), values, max_size=6)


def nested(structs: st.SearchStrategy[dict[int, Value]]) -> st.SearchStrategy[dict[int, Value]]:
    return structs_of(SIMPLE | values_of(thrift.STRUCT, structs) | items_of(thrift.STRUCT, structs))


STRUCTS = st.recursive(structs_of(SIMPLE), nested, max_leaves=5)


@given(STRUCTS, st.binary(max_size=5))
def test_a_struct_is_read_as_it_was_written(fields: dict[int, Value], before: bytes) -> None:
    written = write_struct(fields)
    for content in (before + written + b"rest", memoryview(before + written), pa.py_buffer(before + written)):
        assert read_struct(content, len(before)) == (fields, len(before) + len(written))


@given(STRUCTS, st.data())
def test_a_struct_that_is_cut_off(fields: dict[int, Value], data: st.DataObject) -> None:
    written = write_struct(fields)
    with pytest.raises(ValueError, match="cut off"):
        read_struct(written[: data.draw(st.integers(0, len(written) - 1))], 0)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_struct_or_an_error(content: bytes) -> None:
    try:
        fields, end = read_struct(content, 0)
    except ValueError:
        return
    assert end <= len(content)
    assert read_struct(write_struct(fields), 0)[0].keys() == fields.keys()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1c" * 5000, "nested too deeply"),
        (b"\x19" * 5000, "nested too deeply"),
        (b"\x16" + b"\xff" * 5000, "number is too large"),
        (b"\x18\xff\xff\xff\xff\xff\x0f" + b"x" * 99, "number is too large"),  # a string of 500 gigabytes
        (b"\x19\xf5\xff\xff\xff\xff\x0f" + b"\0" * 99, "number is too large"),  # a list of 4 billion integers
        (b"\x1b\x01\x55\x02\x02\0", "there is no type 11"),  # a map
    ],
)
def test_structs_that_are_damaged(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_struct(content, 0)


def test_the_footer_of_a_parquet_file_is_written_back_byte_for_byte() -> None:
    draw = random.Random(1)
    names = {f"column {at}": [draw.choice(["a", "b", None]) for _ in range(300)] for at in range(20)}
    file = io.BytesIO()
    pq.write_table(pa.table({**names, "n": range(300)}), file, row_group_size=10, write_page_index=True)
    content = file.getvalue()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    fields, end = read_struct(footer, 0)
    assert end == len(footer)
    assert fields[3] == Value(thrift.LONG, 300)
    assert len(fields[4].value.values) == 30
    assert write_struct(fields) == footer
