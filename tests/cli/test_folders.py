"""Check outputs that are folders: one file per input, with its name and format; and compressed outputs."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.io.documents import Source
from tests.cli.corpus import KEPT_FIRST, ROWS
from tests.commands import Commands, complaint, left_in
from tests.samples import encode_jsonl, write, zstd

NAMES = ["a.parquet", "sub/b.jsonl.gz", "sub/c.csv", "d.arrow", "e.ndjson", "f.pq", "g.tsv", "h.jsonl.zst"]


@pytest.fixture
def shards(inputs: Path) -> Path:
    (inputs / "sub").mkdir()
    for at, name in enumerate(NAMES):
        rows = ROWS[at :: len(NAMES)]
        path = inputs / name
        if name.endswith(".pq"):
            pq.write_table(pa.Table.from_pylist(rows), path)
        elif name.endswith((".ndjson", ".zst")):
            path.write_bytes(zstd(encode_jsonl(rows)) if name.endswith(".zst") else encode_jsonl(rows))
        else:
            write(path, rows)
    return inputs


def ids(path: Path) -> list[str]:
    return [str(name) for batch in Source([path]).batches() for name in batch["id"].to_pylist()]


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_one_output_per_input(run: Commands, shards: Path, out: Path) -> None:
    expected = {*NAMES}
    for folder in (out / "new", out / "new"):  # the second time, the files are replaced
        outcome = run("dedup", shards, "-o", f"{folder}/", "--removed", out / "removed.csv", "--stats", out / "s.json")
        assert outcome.code == 0, outcome.err
        assert files(folder) == expected
    kept = [name for path in NAMES for name in ids(out / "new" / path)]
    assert sorted(kept) == sorted(KEPT_FIRST)
    for at, name in enumerate(NAMES):
        rows = [row["id"] for row in ROWS[at :: len(NAMES)] if row["id"] in KEPT_FIRST]
        assert ids(out / "new" / name) == rows
    lines = gzip.decompress((shards / NAMES[1]).read_bytes()).splitlines()
    assert {*gzip.decompress((out / "new" / NAMES[1]).read_bytes()).splitlines()} <= {*lines}
    listed = json.loads((out / "s.json").read_text())["outputs"]
    assert {Path(one["path"]).name for one in listed} == {Path(name).name for name in [*NAMES, "removed.csv"]}
    assert left_in(out) == {"new", "removed.csv", "s.json"}


def test_folders_of_marked_rows(run: Commands, shards: Path, out: Path) -> None:
    (out / "m").mkdir()  # empty, so that it can be filled; and without a slash
    for args in (["dedup", "--mark"], ["clusters", "--rows"]):
        assert run(*args, shards, "-o", out / "m", "--columns", "").code == 0
        table = pq.read_table(out / "m" / "f.pq").to_pylist()
        assert [row["id"] for row in table] == [row["id"] for row in ROWS[5 :: len(NAMES)]]
        assert {row["cluster"] for row in table} <= {*KEPT_FIRST}
    single = run("dedup", shards / "e.ndjson", shards / "a.parquet", "-o", f"{out / 'two'}/")
    assert (single.code, files(out / "two")) == (0, {"e.ndjson", "a.parquet"})


def test_partitions_stay_in_the_names_of_folders(run: Commands, inputs: Path, out: Path) -> None:
    for at, lang in enumerate(("de", "en")):
        (inputs / f"lang={lang}").mkdir()
        pq.write_table(pa.Table.from_pylist(ROWS[at::2]), inputs / f"lang={lang}" / "x.parquet")
    assert run("dedup", inputs, "--within", "lang", "-o", f"{out / 'clean'}/").code == 0
    assert files(out / "clean") == {"lang=de/x.parquet", "lang=en/x.parquet"}
    assert pq.ParquetFile(out / "clean" / "lang=de" / "x.parquet").schema_arrow.names == ["id", "text", "score"]
    assert len(ids(out / "clean")) > 20


def test_folders_that_cannot_be_written(run: Commands, shards: Path, out: Path, tmp_path: Path) -> None:
    clean = f"{out / 'clean'}/"
    text = tmp_path / "a.txt"
    text.write_text("one\ntwo\n")
    (out / "old").mkdir()
    (out / "old" / "x").touch()
    (tmp_path / "other").mkdir()
    twin = write(tmp_path / "other" / "a.parquet", ROWS)
    for args, why in {
        ("dedup", text, "-o", clean): "--out can be a folder for files of Parquet, Arrow, JSON lines, CSV or TSV; ",
        ("dedup", shards, "-o", out / "old"): "holds x, which is not an output of this run",
        ("dedup", shards, "-o", f"{text}/"): "it is a file, not a folder",
        ("dedup", shards, "-o", f"{shards / 'in'}/"): "is inside the input",
        ("dedup", shards, "-o", f"{out / 'no' / 'no'}/"): "there is no folder",
        ("dedup", shards / "a.parquet", twin, "-o", clean, "--id", "-"): "two inputs are called a.parquet",
        ("dedup", shards, "-o", out / "old", "--removed", out / "old" / "r.csv"): "--removed must be outside",
        ("dedup", shards, "-o", out / "old", "--stats", out / "old" / "r.json"): "--stats must be outside",
        ("clusters", shards, "--rows", "-o", clean, "--report", f"{clean}r.html"): "--report must be outside",
        ("pairs", shards, "-o", clean): "the output file must end in",
        ("dedup", shards, "-o", clean, "--against", out / "i", "--update"): "the output file must end in",
    }.items():
        assert why in complaint(run(*args))
    assert left_in(out) == {"old"}


def test_compressed_outputs_can_be_read_again(run: Commands, corpus: Path, out: Path) -> None:
    for name in ("kept.jsonl.zst", "kept.csv.zst", "kept.tsv.gz"):
        assert run("dedup", corpus, "-o", out / name).code == 0
        assert ids(out / name) == KEPT_FIRST
    outcome = run("dedup", corpus, "-o", out / "kept.parquet.zst")
    assert "or a text format and .gz or .zst" in complaint(outcome)
    assert run("pairs", corpus, "-t", 1, "-o", out / "none.jsonl.zst").code == 0
    assert pa.input_stream(out / "none.jsonl.zst", compression="zstd").read() == b""
