"""Check that small files with huge contents are read in little memory, or refused by name."""

import gzip
import io
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.io import part as parts
from lookalike.io.documents import Source
from lookalike.io.formats import FORMATS
from lookalike.io.lines import blocks
from lookalike.io.parquet_pages import DICTIONARY_PAGE, pages_of
from lookalike.io.part import Part
from lookalike.io.vectors import VectorSource
from tests.commands import Commands, complaint

LONG = 2_000_000  # bytes of the value that all rows of a bomb share
ROWS = 2000


@pytest.fixture
def peak() -> Iterator[Any]:
    """Return a function that tells the most bytes that Arrow has used since the test began."""
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(counted)
    yield counted.max_memory
    pa.set_memory_pool(usual)


def repeated(length: int, rows: int) -> pa.DictionaryArray:
    """Return a column whose rows all have one long value, which is stored once."""
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["a" * length])


# --- Parquet ---


@pytest.mark.parametrize("typed", [True, False])
def test_a_long_value_that_many_rows_share(tmp_path: Path, peak: Any, typed: bool) -> None:
    """A file of 1 kB with 4 GB of text is read a few rows at a time, as dictionary or as strings."""
    path = tmp_path / "bomb.parquet"
    table = pa.table({"text": repeated(LONG, ROWS)})
    pq.write_table(table, path, compression="zstd", store_schema=typed, dictionary_pagesize_limit=1 << 30)
    assert path.stat().st_size < 2000
    before = peak()
    batches = list(islice(Source(path).batches(), 5))
    assert 5 <= sum(map(len, batches)) < ROWS
    assert peak() - before < 400_000_000


@pytest.mark.parametrize("lists", [True, False])
def test_a_long_value_in_an_extra_column(tmp_path: Path, lists: bool) -> None:
    """The columns that are only written count too, also those of lists."""
    path, rows = tmp_path / "bomb.parquet", 200  # 400 MB of text
    extra: Any = repeated(LONG, rows)
    if lists:
        extra = pa.ListArray.from_arrays(np.arange(0, rows + 2, 2, np.int32), extra)
    table = pa.table({"text": [f"text {at}" for at in range(len(extra))], "extra": extra})
    pq.write_table(table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=1 << 30)
    sizes = [table.nbytes for table in islice(Source(path).tables(), 5)]
    assert max(sizes) < 100_000_000


def test_a_page_compressed_beyond_belief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page must be decompressed whole, so a huge one that was nearly nothing is refused."""
    path = tmp_path / "page.parquet"
    texts = pa.table({"text": ["a" * LONG] * 20})
    pq.write_table(texts, path, compression="zstd", use_dictionary=False, data_page_size=1 << 30)
    assert len(list(Source(path).batches())) > 1
    monkeypatch.setattr(parts, "WHOLE", 1 << 20)
    with pytest.raises(
        DataError, match=r"page.parquet: a page of column 'text' expands from [\d,]+ to over 40,000,\d+ bytes, "
    ):
        list(Source(path).batches())


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "zstd", "snappy"])
def test_the_headers_of_pages_are_understood(tmp_path: Path, version: str, codec: str) -> None:
    """The pages of a column, walked by their headers, fill it exactly."""
    path = tmp_path / "pages.parquet"
    rng = np.random.default_rng(0)
    texts = ["".join(map(chr, rng.integers(97, 120, length))) for length in rng.integers(0, 500, 3000)]
    table = pa.table(
        {"text": texts, "few": ["a", None, "b"] * 1000, "list": [["x", "y"][: at % 3] for at in range(3000)]}
    )
    pq.write_table(
        table, path, compression=codec, data_page_version=version, data_page_size=5000,
        dictionary_pagesize_limit=20_000, row_group_size=1000, write_page_index=True, write_page_checksum=True,
    )  # fmt: skip
    content = path.read_bytes()
    meta = pq.read_metadata(path)
    for group in range(meta.num_row_groups):
        for at in range(3):
            column = meta.row_group(group).column(at)
            pages = list(pages_of(content, column))
            assert [page.kind for page in pages].count(DICTIONARY_PAGE) == 1
            assert sum(page.size for page in pages) < column.total_uncompressed_size  # which includes the headers
            assert sum(page.stored for page in pages) < column.total_compressed_size
    whole = pa.concat_tables(Source(path, text="text", id="-").tables())
    assert whole.to_pylist() == table.to_pylist()


def test_page_headers_that_are_damaged(tmp_path: Path) -> None:
    """They are in the second row group, so that Arrow does not see them first."""
    path = tmp_path / "pages.parquet"
    pq.write_table(pa.table({"text": [f"text {at}" for at in range(9000)]}), path, row_group_size=3000)
    content, column = path.read_bytes(), pq.read_metadata(path).row_group(1).column(0)
    start = min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset)
    for header in (b"\0" * 20, b"\x1c" * 5000, b"\x19\xfc\xff\xff\xff\x7f" * 4, b"\x15\x01" * 9, b"\xff" * 30):
        path.write_bytes((content[:start] + header + content[start + len(header) :])[: len(content)])
        with pytest.raises(DataError, match=r"pages\.parquet: cannot be read as parquet: "):
            list(Source(path).batches())


def test_a_dictionary_in_an_arrow_file(tmp_path: Path) -> None:
    """Batches are cut by the size that they have without dictionaries."""
    path = tmp_path / "bomb.arrow"
    table = pa.table({"text": pa.chunked_array([repeated(LONG, 30), repeated(10, 40)])})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table.unify_dictionaries())
    sizes = [len(block.table) for block in FORMATS["arrow"].read(Part("bomb", "arrow", (path,)), table.schema, 4 << 20)]
    assert sum(sizes) == 70
    assert max(sizes[:-1]) < 5


# --- text ---


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_a_line_without_an_end_is_cut_off(tmp_path: Path, size: int) -> None:
    """The lines around it are whole, and it stays longer than the limit."""
    path = tmp_path / "long.txt"
    path.write_bytes(b"first\n" + b"a" * 5000 + b"\nmiddle\n" + b"b" * 3000)
    found = b"".join(blocks(Part("long", "text", (path,)), size, 1000)).split(b"\n")
    assert [found[0], found[2]] == [b"first", b"middle"]
    assert all(len(line) > 1000 for line in (found[1], found[3]))
    assert max(map(len, found)) <= max(2000, size) or size == 10_000


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a.arrow", "files"])
def test_documents_over_the_limit_are_bad_rows(tmp_path: Path, name: str) -> None:
    """They are named by file and row, or skipped and counted; the limit itself is allowed."""
    texts = ["short", "x" * 1000, "y" * 1001, "last"]
    path = put_texts(tmp_path / name, texts)
    where = rf"{path}/2" if name == "files" else rf"{path}, row 2"
    with pytest.raises(DataError, match=rf"{where}: .* has more than 1,000 bytes, the limit set by Source\(max"):
        list(Source(path, max_document_bytes=1000).batches())
    source = Source(path, max_document_bytes=1000, on_error="skip")
    assert [text for table in source.batches() for text in table["text"].to_pylist()] == ["short", "x" * 1000, "last"]
    assert source.skipped == 1
    assert len(list(Source(path).batches())) >= 1


def put_texts(path: Path, texts: list[str]) -> Path:
    """Write texts as one file, or as a folder with one file each."""
    if path.name == "files":
        path.mkdir()
        for at, text in enumerate(texts):
            (path / str(at)).write_text(text)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, pa.schema([("text", pa.string())])) as writer:
            writer.write_table(pa.table({"text": texts}))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        path.write_text("".join(f"{line}\n" for line in (["text"] if path.suffix == ".csv" else []) + texts))
    return path


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [("a.txt.gz", b"", b""), ("a.jsonl.gz", b'{"text": "', b'"}'), ("a.csv.gz", b'text\n"', b'"')],
)
def test_one_endless_row_in_a_compressed_file(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, start: bytes, end: bytes
) -> None:
    """It is reported, with the option that sets the limit, once the limit is passed."""
    for module in ("csv", "jsonl"):
        monkeypatch.setattr(f"lookalike.io.{module}.OTHERS", 1000)
    path = tmp_path / name
    path.write_bytes(gzip.compress(start + b"a" * 10_000_000 + end + b"\n"))
    said = complaint(run("dedup", path, "-o", tmp_path / "kept.jsonl", "--max-document-bytes", "1MB"))
    assert said.startswith(str(path))
    assert "the limit set by --max-document-bytes" in said


def test_a_limit_must_be_a_size(run: Commands, tmp_path: Path) -> None:
    path = put_texts(tmp_path / "a.txt", ["one"])
    rule = "--max-document-bytes must be a size of at least 1B, such as 64MB; got 'many'."
    assert complaint(run("dedup", path, "--max-document-bytes", "many")) == rule
    with pytest.raises(UsageError, match="max_document_bytes must be a size"):
        Source(path, max_document_bytes=0)


def test_an_array_of_json_compressed_beyond_belief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'[{"text": "' + b"a" * 4_000_000 + b'"}]'))
    assert len(list(Source(path).batches())) == 1
    monkeypatch.setattr(parts, "WHOLE", 1 << 20)
    bomb = r"a.json.gz: its content expands from .* to over .* bytes, which looks like a decompression bomb"
    with pytest.raises(DataError, match=bomb):
        list(Source(path).batches())


# --- arrays ---


def npy(shape: tuple[int, ...], numbers: bytes) -> bytes:
    """Return a .npy file whose header can say anything."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return file.getvalue() + numbers


@pytest.mark.parametrize(
    ("rows", "why"),
    [(10**12, "looks like a decompression bomb"), (100, "its header says that 40,000 bytes follow; there are 800")],
)
def test_a_header_that_promises_more_than_there_is(tmp_path: Path, rows: int, why: str) -> None:
    """Nothing is allocated on the word of a header."""
    path = tmp_path / "a.npy.gz"
    path.write_bytes(gzip.compress(npy((rows, 100), b"\1" * 800)))
    with pytest.raises(DataError, match=rf"a.npy.gz: .*{why}"):
        VectorSource(path).read(Run(1))


@pytest.mark.parametrize("order", ["C", "F"])
def test_compressed_arrays_are_read_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Any) -> None:
    monkeypatch.setattr("lookalike.io.npy.BLOCK", 100)
    values = np.asarray(np.random.default_rng(0).normal(size=(50, 7)), order=order)
    file = io.BytesIO()
    np.save(file, values)
    path = tmp_path / "a.npy.gz"
    path.write_bytes(gzip.compress(file.getvalue()))
    found = VectorSource(path).read(Run(1))
    assert np.array_equal(np.asarray(found.values), values)
