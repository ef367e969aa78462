"""Check that files are read back unchanged, do not depend on batches, and are never incomplete."""

import datetime
import gzip
import io
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from csv import DictReader
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.encode import merged
from lookalike.io.row_groups import encode_group, join_groups
from lookalike.io.write import (
    GROUP,
    GROUP_BYTES,
    check_output,
    group_ends,
    regroup,
    replacing,
    weighed,
    write_tables,
    writing,
    writing_kept,
    writing_lines,
)

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


def regrouped(tables: Iterable[pa.Table], rows: int, size: int = GROUP_BYTES) -> list[pa.Table]:
    return [merged(group) for group in regroup(map(weighed, tables), rows, size)]


def write_lines(lines: list[bytes], path: str, run: Run | None = None) -> None:
    """Write lines in batches of two, with one before each batch that is not kept."""
    ended = [line + b"\n" for line in lines]
    batches = [[b"no\n", *ended[at : at + 2]] for at in range(0, len(ended), 2)]
    masked = ((pa.array(batch, pa.large_binary()), np.arange(len(batch)) > 0) for batch in batches)
    with writing_lines(masked, path, run):
        pass


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
    """Nor on the number of threads."""
    table = pa.table({"id": [f"{i % 997}" for i in range(2 * GROUP + 5)], "n": range(2 * GROUP + 5)})
    contents = set()
    for at, pieces in enumerate(([table], cuts(table, 1000), cuts(table, GROUP), cuts(table, 0, GROUP - 1, 2 * GROUP))):
        path = tmp_path / f"{at}{suffix}"
        write_tables(pieces, str(path), SETTINGS, run=Run((1, 2, 8, 3)[at]))
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
    groups = regrouped([table[:0], *cuts(table, *pieces)], 10)
    assert [len(group) for group in groups] == sizes
    assert pa.concat_tables(groups).equals(table)
    assert all(group["n"].num_chunks <= 1 for group in groups)


@pytest.mark.parametrize("pieces", [(1,), (3, 0), (5,), (100,)])
def test_groups_of_long_texts_have_fewer_rows(pieces: tuple[int, ...]) -> None:
    table = pa.table({"text": ["x" * length for length in (5, 5, 3, 0, 20, 1, 1, 1, 9, 1)], "n": range(10)})
    assert [len(group) for group in regrouped(cuts(table, *pieces), 5, 10)] == [2, 3, 4, 1]
    assert pa.concat_tables(regrouped(cuts(table, *pieces), 5, 10)).equals(table)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_of_kept_rows_do_not_depend_on_batches_and_threads(tmp_path: Path, suffix: str) -> None:
    """The texts are long, so that there are several groups, whose ends are not those of batches."""
    rng = np.random.default_rng(1)
    texts = [f"{at} " * (GROUP_BYTES // 120) for at in range(100)]
    table, keep = pa.table({"text": texts, "n": range(100)}), rng.random(100) < 0.7
    expected, contents = table.filter(pa.array(keep)), set()
    for threads, step in ((1, 100), (2, 7), (8, 1), (8, 30)):
        path = tmp_path / f"out{suffix}"
        batches = ((table[at : at + step], keep[at : at + step]) for at in range(0, 100, step))
        with writing_kept(batches, str(path), SETTINGS, run=Run(threads)):
            pass
        contents.add(path.read_bytes())
    assert len(contents) == 1
    if suffix == ".parquet":
        assert read(path).equals(expected)
        assert pq.read_metadata(path).num_row_groups > 1
    if suffix == ".jsonl.gz":
        rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        assert rows == expected.to_pylist()


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_lines_are_copied_as_they_are(tmp_path: Path, suffix: str) -> None:
    lines = [b'{"text":"%d"  }' % at + b" " * (at * 997 % 40_000) for at in range(400)]
    lines[7] = b"\xff not UTF-8"
    contents = set()
    for threads in (1, 2, 8):
        path = tmp_path / f"out{suffix}"
        write_lines(lines, str(path), Run(threads))
        contents.add(path.read_bytes())
    assert len(contents) == 1
    content = gzip.decompress(path.read_bytes()) if suffix.endswith(".gz") else path.read_bytes()
    assert content == b"\n".join([*lines, b""])
    for batches in ([], [(pa.array([b"{}"], pa.large_binary()), np.zeros(1, bool))]):
        with writing_lines(batches, str(path), Run(2)):
            pass
        assert (gzip.decompress(path.read_bytes()) if suffix.endswith(".gz") else path.read_bytes()) == b""


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".csv.gz"])
def test_compressed_groups_are_one_file(tmp_path: Path, suffix: str) -> None:
    """Each group is compressed by itself; all programs read them as one file, and our own reader does."""
    rows = 2 * GROUP + 5
    path = tmp_path / f"out{suffix}"
    table = pa.table({"id": range(rows), "text": [f"text {at}" for at in range(rows)]})
    write_tables([table], str(path), SETTINGS, run=Run(2))
    content = path.read_bytes()
    assert content.count(content[:10]) == 3  # members, which all begin alike
    with pa.input_stream(str(path)) as stream:
        assert stream.read() == gzip.decompress(content)
    assert pa.concat_tables(Source(path).batches())["text"].to_pylist() == table["text"].to_pylist()
    assert subprocess.run(["gzip", "-t", str(path)], check=False).returncode == 0
    for nothing in ([], [table[:0]]):
        write_tables(nothing, str(path), SETTINGS)
        assert len(gzip.decompress(path.read_bytes()).splitlines()) == (len(nothing) if "csv" in suffix else 0)


PARQUET = {
    "text": pa.array(["a", "", None, "日本語"] * 25),
    "number": pa.array(range(100)),
    "real": pa.array([0.5, None] * 50),
    "flag": pa.array([True, False] * 50),
    "few": pa.array(["x", "y"] * 50).dictionary_encode(),
    "list": pa.array([[1, 2], [], None, [3]] * 25),
    "deep": pa.array([{"a": ["b"], "c": None}, None] * 50),
    "none": pa.nulls(100),
}


@pytest.mark.parametrize("rows", [0, 1, 10, 100])
def test_row_groups_are_joined_as_parquet_would_write_them(rows: int) -> None:
    """The file has exactly the bytes of Arrow's own writer: pages, places, statistics and metadata."""
    table = pa.table(PARQUET)[:rows]
    expected = io.BytesIO()
    with pq.ParquetWriter(expected, table.schema, compression="zstd") as writer:
        for start in range(0, max(1, rows), 9):
            writer.write_table(table[start : start + 9])
    groups = (encode_group(merged([table[start : start + 9]])) for start in range(0, max(1, rows), 9))
    assert b"".join(bytes(part) for piece in join_groups(groups) for part in piece) == expected.getvalue()


def test_statistics_of_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    write_tables([pa.table({"n": range(GROUP + 5)})], str(path), SETTINGS, run=Run(2))
    meta = pq.read_metadata(path)
    assert (meta.num_rows, meta.num_row_groups) == (GROUP + 5, 2)
    found = [meta.row_group(group).column(0).statistics for group in range(2)]
    assert [(one.min, one.max, one.null_count) for one in found] == [(0, GROUP - 1, 0), (GROUP, GROUP + 4, 0)]
    assert pq.read_table(path, filters=[("n", ">", GROUP + 1)])["n"].to_pylist() == [GROUP + 2, GROUP + 3, GROUP + 4]


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 7), st.integers(1, 60), st.lists(st.integers(0, 60)))
def test_where_groups_end(sizes, rows, size, cuts):
    """`group_ends` says it from the weights alone, and a group can be made from the row where it begins."""
    table = pa.table({"text": ["x" * length for length in sizes]})
    bounds = sorted({0, len(sizes), *(cut for cut in cuts if cut < len(sizes))})
    whole = weighed(table)
    batches = [weighed(table[start:stop]) for start, stop in pairwise(bounds)]
    counts = [sum(map(len, group)) for group in regroup(iter(batches), rows, size)]
    ends = group_ends(whole.weights, size, rows)
    assert np.cumsum([count for count in counts if count]).tolist() == ends.tolist()
    for start, count in zip([0, *ends], counts, strict=False):
        rest = regroup(iter([weighed(table[int(start) :])]), rows, size)
        assert sum(map(len, next(rest))) == count


def test_regroup_of_nothing() -> None:
    assert regrouped([], 5) == []


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
    for threads in (1, 4):
        with pytest.raises(expected):
            write_tables(tables(), str(path), SETTINGS, run=Run(threads))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("threads", [1, 4])
def test_a_full_disk(tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, content: memoryview, at: int) -> int:
        raise OSError(28, "No space left on device")

    path = tmp_path / "out.parquet"
    path.write_text("old")
    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(DataError, match=r"out\.parquet: cannot be written: No space left on device"):
        write_tables(cuts(TABLE, 1), str(path), SETTINGS, run=Run(threads))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_a_disk_that_takes_a_few_bytes_at_a_time(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda file, content, at: write(file, content[:100], at))
    path = tmp_path / f"out{suffix}"
    write_tables(cuts(TABLE, 1), str(path), SETTINGS, run=Run(4))
    assert read(path).equals(TABLE)


def test_the_file_is_not_there_before_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    def batches() -> Iterator[tuple[pa.Array, np.ndarray]]:
        for _ in range(3):
            assert not path.exists()
            yield pa.array([b"{}\n"], pa.large_binary()), np.ones(1, bool)

    with writing_lines(batches(), str(path)):
        assert not path.exists()
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
    write_lines([b'{"a" :1}'], "-", Run(2))
    assert capsys.readouterr().out == '{"a" :1}\n'


def test_standard_output_that_takes_a_few_bytes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with PYTHONUNBUFFERED, where it writes what the pipe takes; the rest must not be lost."""

    class Pipe(io.RawIOBase):
        taken = b""

        def write(self, content: Any) -> int:
            self.taken += bytes(content[:7])
            return len(content[:7])

    pipe = Pipe()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=pipe))
    write_tables([TABLE], "-", SETTINGS)
    assert [json.loads(line) for line in pipe.taken.splitlines()] == TABLE.to_pylist()


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
