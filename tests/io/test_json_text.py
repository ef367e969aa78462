"""Check that tables become the same lines as with Python's own JSON writer."""

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.io.encode import merged
from lookalike.io.json_text import json_lines


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.decode() if isinstance(value, bytes) else value


def expected(table: pa.Table) -> bytes:
    """Return the lines, written row by row."""
    rows = [{name: plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode()


REALS = st.floats() | st.integers(-(10**17), 10**17).map(float) | st.decimals(-1, 1, places=5).map(float)


@given(st.lists(st.none() | REALS, min_size=1, max_size=20))
@example([0.0, -0.0, 1.0, 1e-4, 9.999e-5, 1e10, 9999999999.0, 1e15, 1e16, 1e22, 5e-324, 1.5, -2.5, 1 / 3])
def test_numbers_are_written_as_python_writes_them(values: list[float | None]) -> None:
    for kind in (pa.float64(), pa.float32(), pa.float16()):
        table = pa.table({"x": pa.array(values, pa.float64()).cast(kind, safe=False)})
        assert json_lines(table) == pa.py_buffer(expected(table))


TEXTS = st.none() | st.text(max_size=9)
ROW = st.tuples(TEXTS, TEXTS, st.none() | st.integers(-9, 9))


@given(st.lists(ROW, max_size=6), st.integers(0, 2), st.text(max_size=3))
def test_strings_bytes_and_integers(rows: list[tuple[Any, ...]], start: int, name: str) -> None:
    """Also in a slice, and with a name that needs escapes."""
    texts, some, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {
        name: pa.array(texts, pa.string()),
        "large" + name: pa.array(texts, pa.large_string()),
        "bytes" + name: pa.array(some, pa.string()).cast(pa.binary()),
        "number" + name: pa.array(numbers, pa.int8()),
        "few" + name: pa.array(texts, pa.string()).dictionary_encode(),
    }
    table = pa.table(columns)[start:]
    assert json_lines(table) == pa.py_buffer(expected(table))
    assert json_lines(merged([table[:1], table[1:]])) == pa.py_buffer(expected(table))


def test_other_types() -> None:
    day = datetime.date(2024, 1, 2)
    columns = {
        "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
        "flag": [True, None],
        "none": [None, None],
        "day": [day, None],
        "decimal": [Decimal("1.50"), None],
        "list": [["a\n", None], []],
        "struct": [{"x": 1.0, "y": '"'}, None],
        "time": pa.array([datetime.datetime(2024, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
        "fixed": pa.array([b"ab", None], pa.binary(2)),
    }
    table = pa.table(columns)
    assert json_lines(table) == pa.py_buffer(expected(table))


def test_columns_that_share_a_name() -> None:
    """The last one counts, as in a dict."""
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    assert json_lines(table).to_pybytes() == b'{"a": 3, "b": 2}\n'


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_strings_that_are_not_utf8(kind: pa.DataType) -> None:
    broken = pa.array([b"good", b"caf\xe9"], pa.large_binary() if kind == pa.large_string() else pa.binary())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        json_lines(pa.table({"x": pa.Array.from_buffers(kind, 2, broken.buffers())}))
