"""Check that runs of Parquet pages, read by several threads, give what Arrow gives for the whole file."""

import decimal
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import BadFile
from lookalike.core.run import Run
from lookalike.io import parquet_runs
from lookalike.io.documents import Source
from lookalike.io.formats import FORMATS
from lookalike.io.parquet_runs import row_group
from lookalike.io.part import Part

ROWS = 1500
RNG = np.random.default_rng(1)
FEW = [f"a text that many rows share, number {at}" for at in range(5)]
TEXTS = [FEW[at % 5] if at < 900 else f"{at} {'x' * int(RNG.integers(200))} é" for at in range(ROWS)]


def with_nulls(values: list[object]) -> list[object]:
    return [None if at % 7 == 3 else value for at, value in enumerate(values)]


COLUMNS = {
    "text": pa.array(TEXTS),
    "large": pa.array(with_nulls(TEXTS), pa.large_string()),
    "view": pa.array(TEXTS, pa.string_view()),
    "category": pa.array([FEW[at % 3] for at in range(ROWS)]).dictionary_encode(),
    "bytes": pa.array([bytes([at % 256, 255]) for at in range(ROWS)]),
    "fixed": pa.array([at.to_bytes(4, "big") for at in range(ROWS)], pa.binary(4)),
    "whole": pa.array(with_nulls(list(range(ROWS)))),
    "small": pa.array(np.arange(ROWS, dtype=np.uint8)),
    "real": pa.array(RNG.normal(size=ROWS)),
    "flag": pa.array(with_nulls([at % 3 == 0 for at in range(ROWS)])),
    "day": pa.array([date(2020, 1, 1 + at % 28) for at in range(ROWS)]),
    "time": pa.array([datetime(2020, 1, 1, at % 24, tzinfo=UTC) for at in range(ROWS)], pa.timestamp("us", "UTC")),
    "price": pa.array([decimal.Decimal(at) / 4 for at in range(ROWS)], pa.decimal128(9, 2)),
    "nothing": pa.nulls(ROWS),
}
TABLE = pa.table(COLUMNS)


def read(path: Path, table: pa.Table, size: int) -> pa.Table:
    """Read a file block by block, as sources do; return its rows with the types of a table."""
    blocks = FORMATS["parquet"].read(Part(str(path), "parquet", (path,)), table.schema, size)
    parts = [list(map(as_kind, block.table.columns, PLAIN)) for block in blocks]
    return pa.concat_tables([pa.table(part, names=table.schema.names) for part in parts])


def as_kind(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind)  # casting takes time even if nothing changes


PLAIN = [
    pa.large_string() if name in ("text", "large", "view", "category") else one.type for name, one in COLUMNS.items()
]
EXPECTED = pa.table([one.cast(kind) for one, kind in zip(TABLE.columns, PLAIN, strict=True)], names=TABLE.schema.names)


@given(
    st.sampled_from(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
    st.sampled_from(["1.0", "2.0"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([100, 1000, 1 << 20]),
    st.sampled_from([700, ROWS]),
    st.sampled_from([500, 20_000, 1 << 22]),
)
def test_all_types_in_files_of_all_kinds(
    tmp_path_factory: pytest.TempPathFactory,
    codec: str,
    pages: str,
    dictionary: bool,
    typed: bool,
    page: int,
    group: int,
    size: int,
) -> None:
    path = tmp_path_factory.mktemp("files") / "a.parquet"
    pq.write_table(
        TABLE, path, compression=codec, data_page_version=pages, use_dictionary=dictionary, store_schema=typed,
        data_page_size=page, row_group_size=group, dictionary_pagesize_limit=5000, write_batch_size=64,
    )  # fmt: skip
    assert read(path, TABLE, size).equals(EXPECTED)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_encodings_of_strings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        TABLE.select(["text"]), path, use_dictionary=False, column_encoding={"text": encoding}, data_page_size=1000
    )
    assert [row["text"] for table in Source(path, batch_bytes=5000).batches() for row in table.to_pylist()] == TEXTS


def test_one_row_group_is_read_in_many_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the columns that are too large to decode as a whole."""
    monkeypatch.setattr(parquet_runs, "SMALL", 1000)
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, data_page_size=1000, write_batch_size=64, dictionary_pagesize_limit=5000)
    part = Part("a", "parquet", (path,))
    with pq.ParquetFile(path) as file:
        found = row_group(part, file, 0, list(range(len(COLUMNS))))
        assert found is not None
        assert len(list(found.runs(20_000))) > 10
    assert read(path, TABLE, 20_000).equals(EXPECTED)


def test_strings_that_many_rows_share_stay_in_a_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As strings they could fill memory; the blocks are then cut by the size they will have."""
    monkeypatch.setattr(parquet_runs, "EXPANDED", 1000)
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE.select(["text"]).slice(0, 900), path)
    (task,) = FORMATS["parquet"].tasks(Part("a", "parquet", (path,)), pa.schema([("text", pa.string())]), 5000)
    blocks = list(task())
    assert len(blocks) > 3
    assert all(pa.types.is_dictionary(block.table["text"].type) for block in blocks)
    assert [text for block in blocks for text in block.table["text"].to_pylist()] == TEXTS[:900]


def test_lists_and_structs_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["a", "b"], "list": [[1], [2, 3]], "struct": [{"x": 1}, {"x": 2}]})
    pq.write_table(table, path)
    part = Part("a", "parquet", (path,))
    with pq.ParquetFile(path) as file:
        assert row_group(part, file, 0, [0]) is not None
        assert row_group(part, file, 0, [0, 1]) is row_group(part, file, 0, [2]) is None
    blocks = FORMATS["parquet"].read(part, table.schema, 1 << 20)
    assert [row for block in blocks for row in block.table.to_pylist()] == table.to_pylist()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_batches(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        TABLE, path, data_page_size=1000, row_group_size=1000, write_batch_size=64, dictionary_pagesize_limit=5000
    )
    found = list(Source(path, text="text", batch_bytes=10_000).batches(Run(threads)))
    again = list(Source(path, text="text", batch_bytes=10_000).batches())
    assert len(found) > 5
    assert [table.to_pylist() for table in found] == [table.to_pylist() for table in again]


def test_a_damaged_page_is_reported_whatever_thread_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE.select(["text"]), path, compression="zstd", data_page_size=1000, write_batch_size=64)
    column = pq.read_metadata(path).row_group(0).column(0)
    content = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    content[middle : middle + 300] = bytes(300)
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"a\.parquet: cannot be read as parquet"):
        list(Source(path).batches(Run(3)))


def spots(path: Path, column: str, size: int, count: int) -> list[list[object]]:
    """Return the values at some places of a file."""
    find = FORMATS["parquet"].spots
    assert find is not None
    tasks = find(Part("a", "parquet", (path,)), TABLE.select([column]).schema, size, count)
    return [[value for block in task() for value in block.table[column].to_pylist()] for task in tasks]


@pytest.mark.parametrize("compression", ["zstd", "gzip", "brotli", "none", "snappy"])
@pytest.mark.parametrize("column", ["text", "large", "bytes"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_spots_are_the_first_values_of_pages(tmp_path: Path, column: str, compression: str, version: str) -> None:
    path, size, page = tmp_path / "a.parquet", 200, 100
    how = {"compression": compression, "data_page_version": version, "data_page_size": 1, "write_batch_size": page}
    pq.write_table(TABLE.select([column]), path, use_dictionary=False, **how)
    found = spots(path, column, size, 5)
    for values, start in zip(found, [100, 400, 700, 1000, 1300], strict=True):
        expected = TABLE[column][start : start + page].to_pylist()
        if compression != "snappy" and version == "1.0":  # their beginning can be read alone
            expected = [value for value in expected if value is not None]
            assert sum(map(len, values[:-1])) < size
            assert len(values) >= 2
        assert values == expected[: len(values)]


def test_spots_pass_over_dictionaries_if_other_pages_have_values(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    how = {"data_page_size": 1000, "write_batch_size": 64, "dictionary_pagesize_limit": 5000}
    pq.write_table(TABLE.select(["text"]), path, **how)
    assert not {values[0] for values in spots(path, "text", 300, 100)} & {*FEW}
    pq.write_table(TABLE.select(["text"]).slice(0, 900), path, **how)
    assert spots(path, "text", 300, 1)[0][:5] == FEW


def test_spots_of_nulls_have_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array([None] * 50, pa.string())}), path, use_dictionary=False)
    assert spots(path, "text", 300, 1) == [[None] * 50]


@pytest.mark.parametrize("page", [b"\2\0\0\0ab\3\0\0\0c", b"\2\0\0\0ab\3\0", b"\xff\0\0\0ab", b"\2\0\0\0"])
def test_a_page_that_is_cut_off(page: bytes) -> None:
    with pytest.raises(EOFError, match="cut off"):
        parquet_runs._first_values(pa.BufferReader(page), 100, len(page) + 1)
