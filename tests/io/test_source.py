"""Check that damaged files stop a run by name, or are skipped as a whole and named."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.core.errors import DataError, LookalikeError
from lookalike.core.run import Run
from lookalike.io.documents import Source
from lookalike.io.records import RecordSource
from lookalike.io.vectors import VectorSource
from tests.commands import Commands, complaint
from tests.samples import encode_arrow, encode_csv, encode_jsonl, encode_parquet, sentence, zstd

ROWS = [{"id": f"d{at}", "text": sentence(at, 40)} for at in range(300)]
TABLE = pa.Table.from_pylist(ROWS)


def cut(content: bytes) -> bytes:
    """Return a file that was not written to its end."""
    return content[: len(content) * 2 // 3]


def spoiled(content: bytes) -> bytes:
    """Return a file with some other bytes in its middle."""
    half = len(content) // 2
    return content[:half] + b"\0" * 40 + content[half + 40 :]


DAMAGED: dict[str, Callable[[], bytes]] = {
    "cut.jsonl.gz": lambda: cut(gzip.compress(encode_jsonl(ROWS))),
    "cut.jsonl.zst": lambda: cut(zstd(encode_jsonl(ROWS))),
    "spoiled.jsonl.gz": lambda: spoiled(gzip.compress(encode_jsonl(ROWS))),
    "cut.csv.gz": lambda: cut(gzip.compress(encode_csv(ROWS))),
    "cut.txt.gz": lambda: cut(gzip.compress("\n".join(row["text"] for row in ROWS).encode())),
    "cut.parquet": lambda: cut(encode_parquet(TABLE)),
    "empty.parquet": lambda: b"",
    "cut.arrow": lambda: cut(encode_arrow(TABLE)),
    "cut.feather": lambda: cut(encode_arrow(TABLE, stream=True)),
}


def shards(folder: Path, name: str) -> list[Path]:
    """Write a damaged file between two good ones."""
    good = [folder / "1.jsonl", folder / "3.jsonl"]
    good[0].write_bytes(encode_jsonl([{"id": "first", "text": "the first text"}]))
    good[1].write_bytes(encode_jsonl([{"id": "last", "text": "the last text"}]))
    (folder / name).write_bytes(DAMAGED[name]())
    return [good[0], folder / name, good[1]]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_or_skipped_as_a_whole(tmp_path: Path, name: str) -> None:
    """None of its rows is read, not even those before the damage."""
    paths = shards(tmp_path, name)
    with pytest.raises(DataError, match=f"{paths[1]}: .*cannot be read|{paths[1]}, batch"):
        [list(read) for read in (Source(paths).batches(), Source(paths).tables())]
    source = Source(paths, on_bad_file="skip")
    assert source.bad_files == [str(paths[1])]
    assert [row["text"] for table in source.batches() for row in table.to_pylist()] == [
        "the first text",
        "the last text",
    ]


@pytest.mark.parametrize("command", ["dedup", "pairs"])
def test_skipped_files_are_in_the_summary(run: Commands, tmp_path: Path, out: Path, command: str) -> None:
    paths = shards(tmp_path, "cut.jsonl.gz")
    outcome = run(command, *paths, "-o", out / "kept.jsonl")
    assert complaint(outcome).startswith(f"{paths[1]}: cannot be read as jsonl: ")
    assert complaint(outcome).endswith("; use --on-bad-file skip to skip such files.")
    outcome = run(command, *paths, "-o", out / "kept.jsonl", "--on-bad-file", "skip")
    assert outcome.code == 0
    assert f"\nnote: skipped 1 damaged file: {paths[1]}\n" in outcome.err
    assert "read: 2 documents" in outcome.err


def test_damage_in_a_column_that_is_not_compared(run: Commands, tmp_path: Path, out: Path) -> None:
    """It is found before the search, though only the rows to write need that column."""
    table = TABLE.append_column("extra", [[np.random.default_rng(0).bytes(100).hex() for _ in ROWS]])
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, compression="zstd")
    column = pq.read_metadata(path).row_group(0).column(2)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset : column.data_page_offset + 20] = b"\xff" * 20
    path.write_bytes(content)
    good = tmp_path / "b.jsonl"
    good.write_bytes(encode_jsonl(ROWS[:3]))
    outcome = run("dedup", path, good, "-o", out / "kept.jsonl", "--on-bad-file", "skip")
    assert outcome.code == 0
    assert f"skipped 1 damaged file: {path}" in outcome.err


def test_a_damaged_file_in_a_folder_of_texts(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"the text of {name}")
    (tmp_path / "c.txt.gz").write_bytes(cut(gzip.compress(sentence(1, 400).encode())))
    source = Source(tmp_path, on_bad_file="skip")
    assert [row["id"] for table in source.batches() for row in table.to_pylist()] == ["a.txt", "b.txt"]
    assert source.bad_files == [str(tmp_path / "c.txt.gz")]


def test_nothing_but_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(DAMAGED["cut.parquet"]())
    with pytest.raises(DataError, match=r"no input can be read\. .*a.parquet: cannot be read as parquet"):
        Source(path, on_bad_file="skip")
    with pytest.raises(LookalikeError, match="on_bad_file must be one of fail, skip; got 'ignore'"):
        Source(path, on_bad_file="ignore")


def test_other_sources_skip_files_too(tmp_path: Path) -> None:
    """Records and vectors, in tables and in arrays."""
    paths = shards(tmp_path, "cut.parquet")
    records = RecordSource(paths, on_bad_file="skip")
    assert records.read(Run(1))["id"].to_pylist() == ["first", "last"]
    assert records.bad_files == [str(paths[1])]
    for name in ("good.npy", "bad.npy"):
        np.save(tmp_path / name, np.eye(40))
    (tmp_path / "bad.npy").write_bytes(cut((tmp_path / "bad.npy").read_bytes()))
    vectors = VectorSource([tmp_path / "bad.npy", tmp_path / "good.npy"], on_bad_file="skip")
    assert len(vectors.read(Run(1))) == 40
    assert vectors.bad_files == [str(tmp_path / "bad.npy")]


def test_running_out_of_memory_is_no_fault_of_the_file(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good file is neither blamed nor skipped; the advice names an option that the command has."""
    path = tmp_path / "a.parquet"
    path.write_bytes(encode_parquet(TABLE))

    def fail(*_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 1740000000 failed")

    monkeypatch.setattr("lookalike.io.parquet.with_partition", fail)
    files = "out of memory; --memory 2GB keeps large data in files."
    for skip in ("fail", "skip"):
        assert complaint(run("dedup", path, "-o", tmp_path / "out.jsonl", "--on-bad-file", skip)) == files
    assert complaint(run("match", path, path)) == files
    said = complaint(run("dedup", path, "-o", tmp_path / "out.jsonl", "--memory", "200MB"))
    assert said == "out of memory; use fewer --threads, or a smaller input."
    other = "out of memory; use a smaller input, or a machine with more memory."
    for options in (("--method", "exact"), ("--recall", "1"), ("--measure", "overlap", "-t", "3")):
        assert complaint(run("dedup", path, "-o", tmp_path / "out.jsonl", *options)) == other
