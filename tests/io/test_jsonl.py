"""Check the reader of JSON lines: inferred types, faulty lines, and the fault of each."""

import gzip
import json

import pyarrow as pa
import pytest

from lookalike import Source
from lookalike.core.errors import DataError
from lookalike.io.formats import FORMATS
from lookalike.io.jsonl import json_schema, simple_types
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
    '{"x": "1", "l": [1]}': "x is a string, not an integer",
    '{"x": 1.5, "l": [1]}': "x is a number, not an integer",
    '{"x": 9223372036854775808, "l": [1]}': "x is 9223372036854775808, not a 64-bit integer",
    '{"x": true, "l": [1]}': "x is a boolean, not an integer",
    '{"x": 1, "l": 1}': "l is an integer, not a list",
    '{"x": 1, "l": [1, "a"]}': "l holds a string, not numbers",
    "null": "not a JSON object but null",
    "[1]": "not a JSON object but a list (a file can be one whole array; jq -c '.[]' splits others)",
    '{"x": 1} {"x": 2}': "not valid JSON at column 10 (Extra data)",
    '{"x": 1, "l": [1]': "not valid JSON at column 18 (Expecting ',' delimiter)",
}


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_faulty_lines_between_good_ones(size):
    good = ['{"x": 1, "l": [0.5, 2]}', "{}", '{"x": null, "l": [null], "more": {"a": [1]}}']
    lines = [line for fault in FAULTS for line in (good[0], fault, *good[1:])]
    schema = pa.schema([("x", pa.int64()), ("l", pa.list_(pa.float64()))])
    rows, faults, kept, start = [], {}, [], 0
    for block in FORMATS["jsonl"].read(part(*lines), schema, size):
        rows += block.table.to_pylist()
        kept += block.lines.to_pylist()
        faults |= {start + at: why for at, why in block.faults.items()}
        start += len(block.table) + len(block.faults)
    assert faults == {4 * at + 1: why for at, why in enumerate(FAULTS.values())}
    assert rows == [{"x": 1, "l": [0.5, 2]}, {"x": None, "l": None}, {"x": None, "l": [None]}] * len(FAULTS)
    assert kept == [f"{line}\n".encode() for line in lines if line not in FAULTS]


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
    (block,) = FORMATS["jsonl"].read(part(*lines), pa.schema([("x", pa.string())]), 1 << 20)
    assert block.faults == {at: why}
    assert block.table["x"].to_pylist() == ["good"] * 9


# --- arrays ---

OBJECTS = [{"id": "a", "text": "one [1], {2}"}, {"id": "b", "text": 'two "quoted",\nlines'}, {"id": "c", "text": "é\\"}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", ["", "\ufeff", " \n\t"])
@pytest.mark.parametrize("size", [1, 60, 1 << 20])
def test_an_array_of_objects_is_read_like_lines(tmp_path, indent, before, size):
    path = tmp_path / "a.json"
    path.write_text(before + json.dumps(OBJECTS, indent=indent, ensure_ascii=False) + "\n", "utf-8")
    batches = list(Source(path, batch_bytes=size).batches())
    assert [row for batch in batches for row in batch.to_pylist()] == OBJECTS


def test_arrays_that_are_empty_compressed_or_on_standard_input(tmp_path, run):
    (tmp_path / "empty.json").write_text(" [ ] ")
    assert run("pairs", tmp_path / "empty.json", "-q").code == 0
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(OBJECTS).encode()))
    assert run("dedup", tmp_path / "a.json.gz", "-o", tmp_path / "kept.jsonl", "-q").code == 0
    assert [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()] == OBJECTS


def test_bad_elements_of_an_array_are_skipped_or_reported(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"text": "one"}, 5, {"text": null}, {"text": "caf\xe9"}, {"text": "two"}]')
    message = r"a\.json, row 1: not a JSON object but an integer; use Source\(on_error='skip'\) to skip such rows"
    with pytest.raises(DataError, match=message):
        list(Source(path).batches())
    source = Source(path, on_error="skip")
    assert [text for batch in source.batches() for text in batch["text"].to_pylist()] == ["one", "two"]
    assert source.skipped == 3


@pytest.mark.parametrize("text", ['[{"text": "a"}, {"text": }]', '[{"text": "a"}', '[{"text": "a"},]', '[{"a": 1}] {}'])
def test_broken_arrays(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"a\.json, row 0: not valid JSON at column \d+ \("):
        list(Source(tmp_path / "a.json").batches())
