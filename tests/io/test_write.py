"""Check that files are read back unchanged, do not depend on batches, and are never incomplete."""

import datetime
import gzip
import io
import json
from collections.abc import Iterator
from csv import DictReader
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from lookalike.core.errors import DataError, UsageError
from lookalike.io.write import GROUP, check_output, regroup, replacing, write_lines, write_tables, writing

SUFFIXES = (".parquet", ".arrow", ".jsonl", ".ndjson", ".csv", ".tsv", ".jsonl.gz", ".ndjson.gz", ".csv.gz", ".tsv.gz")
TABLE = pa.table(
    {
        "left": ["a", 'b "quoted", with\nnewline', "日本語 🙂", "", None],
        "right": [1, 2, 3, 4, 5],
        "similarity": [0.8, 1.0, 1 / 3, 0.1 + 0.2, 0.9999999999999999],
    }
)
SETTINGS = {"seed": "1", "items": "char:9"}


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path.read_bytes()).read_all()
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if "json" in path.name:
        return pa.Table.from_pylist([json.loads(line) for line in content.decode().splitlines()], TABLE.schema)
    options = csv.ConvertOptions(column_types=TABLE.schema, strings_can_be_null=True, quoted_strings_can_be_null=False)
    parse = csv.ParseOptions(newlines_in_values=True, delimiter="\t" if ".tsv" in path.name else ",")
    return csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=options)


def cuts(table: pa.Table, *sizes: int) -> Iterator[pa.Table]:
    """Yield the table in pieces of these sizes, repeated."""
    start = at = 0
    while start < len(table):
        yield table.slice(start, sizes[at % len(sizes)])
        start, at = start + sizes[at % len(sizes)], at + 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write_tables(cuts(TABLE, 2, 0, 1), str(path), SETTINGS)
    assert read(path).equals(TABLE)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    types = zip(TABLE.schema.names, TABLE.schema.types, strict=True)
    write_tables([TABLE[:0]], str(path), SETTINGS)
    assert read(path).equals(TABLE[:0])
    write_tables([pa.table({name: pa.chunked_array([], kind) for name, kind in types})], str(path), SETTINGS)
    assert read(path).equals(TABLE[:0])
    write_tables([], str(path), SETTINGS)
    assert path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_do_not_depend_on_how_the_rows_came(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"id": [f"{i % 997}" for i in range(2 * GROUP + 5)], "n": range(2 * GROUP + 5)})
    contents = set()
    for at, pieces in enumerate(([table], cuts(table, 1000), cuts(table, GROUP), cuts(table, 0, GROUP - 1, 2 * GROUP))):
        path = tmp_path / f"{at}{suffix}"
        write_tables(pieces, str(path), SETTINGS)
        contents.add(path.read_bytes())
    assert len(contents) == 1
    if suffix == ".parquet":
        meta = pq.read_metadata(path)
        assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [GROUP, GROUP, 5]


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [(0, [0]), (1, [1]), (9, [9]), (10, [10]), (11, [10, 1]), (30, [10, 10, 10]), (31, [10] * 3 + [1])],
)
@pytest.mark.parametrize("pieces", [(1,), (3, 0), (10,), (11, 1), (100,)])
def test_regroup(rows: int, sizes: list[int], pieces: tuple[int, ...]) -> None:
    table = pa.table({"n": pa.array(range(rows), pa.int64())})
    groups = list(regroup([table[:0], *cuts(table, *pieces)], 10))
    assert [len(group) for group in groups] == sizes
    assert pa.concat_tables(groups).equals(table)
    assert all(group["n"].num_chunks <= 1 for group in groups)


@pytest.mark.parametrize("pieces", [(1,), (3, 0), (5,), (100,)])
def test_groups_of_long_texts_have_fewer_rows(pieces: tuple[int, ...]) -> None:
    table = pa.table({"text": ["x" * length for length in (5, 5, 3, 0, 20, 1, 1, 1, 9, 1)], "n": range(10)})
    assert [len(group) for group in regroup(cuts(table, *pieces), 5, 10)] == [2, 3, 4, 1]
    assert pa.concat_tables(regroup(cuts(table, *pieces), 5, 10)).equals(table)


def test_regroup_of_nothing() -> None:
    assert list(regroup([])) == []


def test_settings_are_in_the_metadata(tmp_path: Path) -> None:
    table = TABLE.replace_schema_metadata({"theirs": "kept"})
    for suffix in (".parquet", ".arrow"):
        path = tmp_path / f"out{suffix}"
        write_tables([table], str(path), SETTINGS)
        found = read(path).schema.metadata
        assert found == {b"theirs": b"kept", b"lookalike.seed": b"1", b"lookalike.items": b"char:9"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("failure", [RuntimeError("stop"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, suffix: str, failure: BaseException) -> None:
    def tables() -> Iterator[pa.Table]:
        yield from cuts(pa.concat_tables([TABLE] * (GROUP // 2)), 1000)  # enough that some is already written
        raise failure

    path = tmp_path / f"out{suffix}"
    path.write_text("old")
    expected = DataError if isinstance(failure, OSError) else type(failure)
    with pytest.raises(expected):
        write_tables(tables(), str(path), SETTINGS)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_not_there_before_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    def lines() -> Iterator[bytes]:
        for _ in range(3):
            assert not path.exists()
            yield b"{}"

    write_lines(lines(), str(path))
    assert path.read_bytes() == b"{}\n{}\n{}\n"


def test_two_files_take_their_places_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.jsonl"
    with pytest.raises(RuntimeError), writing([TABLE], str(first), {}):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with writing([TABLE], str(first), {}):
        write_lines([b"{}"], str(second))
        assert not first.exists()
    assert read(first).equals(TABLE)


def test_standard_output_is_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    write_tables([TABLE], "-", SETTINGS)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == TABLE.to_pylist()
    write_lines([b'{"a" :1}'], "-")
    assert capsys.readouterr().out == '{"a" :1}\n'


def test_json_of_what_json_has_no_word_for(tmp_path: Path) -> None:
    day = datetime.date(2024, 1, 2)
    path = tmp_path / "out.jsonl"
    write_tables([pa.table({"b": [b"caf\xc3\xa9"], "d": [day], "m": [Decimal("1.50")], "l": [[day]]})], str(path), {})
    assert json.loads(path.read_text()) == {"b": "café", "d": "2024-01-02", "m": "1.50", "l": ["2024-01-02"]}


def test_a_column_that_the_format_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with pytest.raises(DataError, match=r"out\.csv: cannot be written: .*interval"):
        write_tables([pa.table({"time": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})], str(path), {})
    invalid = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    with pytest.raises(DataError, match=r"out\.jsonl: cannot be written: .*UTF-8"):
        write_tables([pa.table({"x": invalid})], str(tmp_path / "out.jsonl"), {})
    far = pa.array([1 << 30], pa.int32()).cast(pa.date32())
    with pytest.raises(DataError, match=r"out\.jsonl: cannot be written: a date or time is out of range: "):
        write_tables([pa.table({"day": far})], str(tmp_path / "out.jsonl"), {})
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for name, message in {
        "no/out.csv": "there is no folder",
        "file/out.csv": "there is no folder",
        "folder.csv": "cannot be written",
    }.items():
        with pytest.raises(DataError, match=message):
            check_output(str(tmp_path / name))
    for name in ("out.xlsx", "out", "out.parquet.gz", ".csv", ".csv.gz"):
        with pytest.raises(
            UsageError, match=r"the output file must end in \.parquet, \.arrow, \.jsonl, \.ndjson, \.csv, \.tsv, or "
        ):
            check_output(str(tmp_path / name))
    for name in ("out.csv", "file.arrow"):
        check_output(str(tmp_path / name))
    check_output("-")


def test_a_name_that_the_disk_refuses(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: File name too long"), replacing(f"{tmp_path}/{'x' * 300}"):
        pass


def test_json_has_null_for_what_is_no_number(tmp_path):
    path = tmp_path / "a.jsonl"
    write_tables([pa.table({"x": [1.5, float("nan"), float("inf"), None]})], str(path), {})
    assert [json.loads(line)["x"] for line in path.read_text().splitlines()] == [1.5, None, None, None]
    assert "NaN" not in path.read_text()


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_lists_are_json_in_a_cell(tmp_path: Path, suffix: str) -> None:
    values = {
        "list": [["a", "é"], None, []],
        "deep": [{"x": [1, None]}, {"x": None}, None],
        "bytes": [[b"z"], None, []],
    }
    path = tmp_path / f"out{suffix}"
    write_tables(cuts(pa.table(values), 1), str(path), SETTINGS)
    with path.open(newline="") as file:
        rows = list(DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
    assert [json.loads(row["list"] or "null") for row in rows] == values["list"]
    assert [json.loads(row["deep"] or "null") for row in rows] == values["deep"]
    assert [row["bytes"] for row in rows] == ['["z"]', "", "[]"]


FORMULAS = {
    "=1+1": "'=1+1",
    "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
    "-2+3": "'-2+3",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
    "=1\n-5": "'=1\n-5",
    "-": "'-",
    "+49 170 1234": "'+49 170 1234",
    "-5": "-5",
    "+3.25e-4": "+3.25e-4",
    "-1,5": "-1,5",
    "'=1": "'=1",
    " =1": " =1",
    "a=1": "a=1",
    "": "",
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_texts_that_begin_like_formulas(tmp_path: Path, suffix: str) -> None:
    """A spreadsheet would compute them, and a formula can run programs."""
    path = tmp_path / f"out{suffix}"
    texts = pa.array([*FORMULAS, None])
    columns = {
        "text": texts,
        "large": texts.cast(pa.large_string()),
        "bytes": texts.cast(pa.binary()),
        "few": texts.dictionary_encode(),
        "@number": range(-8, len(FORMULAS) - 7),
        "=list": [["=1"]] * len(texts),
    }
    for excel_safe, expected in ((True, FORMULAS.values()), (False, FORMULAS.keys())):
        write_tables(cuts(pa.table(columns), 3), str(path), SETTINGS, excel_safe)
        content = gzip.decompress(path.read_bytes()) if suffix.endswith(".gz") else path.read_bytes()
        rows = list(DictReader(io.StringIO(content.decode(), newline=""), delimiter="\t" if suffix == ".tsv" else ","))
        quote = "'" if excel_safe else ""
        for name in ("text", "large", "bytes", "few"):
            assert [row[name] for row in rows] == [*expected, ""]
        assert [int(row[f"{quote}@number"]) for row in rows] == list(columns["@number"])
        assert {row[f"{quote}=list"] for row in rows} == {'["=1"]'}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl"])
def test_other_formats_hold_texts_as_they_are(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"left": ["=1"], "right": [1], "similarity": [0.5]})
    write_tables([table], str(tmp_path / f"out{suffix}"), SETTINGS, excel_safe=True)
    assert read(tmp_path / f"out{suffix}").to_pylist() == table.to_pylist()
