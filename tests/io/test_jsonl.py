"""Check the reader of JSON lines: inferred types, faulty lines, and the fault of each."""

import json

import pyarrow as pa
import pytest

from lookalike.io.jsonl import json_schema, read_json, simple_types
from lookalike.io.part import Part


def part(*lines):
    return Part("lines", "jsonl", content="\n".join(lines).encode())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1], pa.uint64()), ([1, -1], pa.int64()), ([1.5, 2], pa.float64()), (["x"], pa.string()), ([True], pa.bool_()),
        ([None, 3], pa.uint64()), ([None], pa.null()), ([[]], pa.list_(pa.null())), ([[], [1]], pa.list_(pa.uint64())),
        ([[None, "x"]], pa.list_(pa.string())), ([{"a": 1}], pa.struct([])),
    ],
)  # fmt: skip
def test_types_of_columns(values, kind):
    assert json_schema(part(*(json.dumps({"x": value}) for value in values))).field("x").type == kind


def test_simple_types():
    schema = pa.schema(
        [("a", pa.uint64()), ("b", pa.list_(pa.int64())), ("c", pa.float64()), ("d", pa.list_(pa.null()))]
    )
    assert simple_types(schema).types == [pa.int64(), pa.string(), pa.string(), pa.string()]
    assert simple_types(schema, lists=True).types[1::2] == [pa.list_(pa.int64()), pa.list_(pa.string())]


FAULTS = {
    '{"x": "1", "l": [1]}': "x is str, not int",
    '{"x": 1.5, "l": [1]}': "x is float, not int",
    '{"x": 9223372036854775808, "l": [1]}': "x is 9223372036854775808, not a 64-bit integer",
    '{"x": true, "l": [1]}': "x is bool, not int",
    '{"x": 1, "l": 1}': "l is int, not list",
    '{"x": 1, "l": [1, "a"]}': "l holds str, not numbers",
    "null": "not a JSON object but NoneType",
    "[1]": "not a JSON object but list (convert an array with jq -c '.[]')",
    '{"x": 1} {"x": 2}': "not valid JSON (Extra data: line 1 column 10 (char 9))",
    '{"x": 1, "l": [1]': "not valid JSON (Expecting ',' delimiter: line 1 column 18 (char 17))",
}


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_faulty_lines_between_good_ones(size):
    good = ['{"x": 1, "l": [0.5, 2]}', "{}", '{"x": null, "l": [null], "more": {"a": [1]}}']
    lines = [line for fault in FAULTS for line in (good[0], fault, *good[1:])]
    schema = pa.schema([("x", pa.int64()), ("l", pa.list_(pa.float64()))])
    rows, faults, kept, start = [], {}, [], 0
    for block in read_json(part(*lines), schema, size):
        rows += block.table.to_pylist()
        kept += block.lines
        faults |= {start + at: why for at, why in block.faults.items()}
        start += len(block.table) + len(block.faults)
    assert faults == {4 * at + 1: why for at, why in enumerate(FAULTS.values())}
    assert rows == [{"x": 1, "l": [0.5, 2]}, {"x": None, "l": None}, {"x": None, "l": [None]}] * len(FAULTS)
    assert kept == [line.encode() for line in lines if line not in FAULTS]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"x": "\\ud800"}', "JSON parse error: The surrogate pair in string is invalid."),
        ('{"x": "a", "x": "b"}', "JSON parse error: Column(/x) was specified twice"),
    ],
)
@pytest.mark.parametrize("at", [0, 5, 9])
def test_what_arrow_alone_refuses_is_found_by_halves(line, why, at):
    lines = ['{"x": "good"}'] * 9
    lines.insert(at, line)
    (block,) = read_json(part(*lines), pa.schema([("x", pa.string())]), 1 << 20)
    assert block.faults == {at: why}
    assert block.table["x"].to_pylist() == ["good"] * 9
