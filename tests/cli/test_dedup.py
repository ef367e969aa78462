"""Check which documents `lookalike dedup` keeps, with all their columns."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.corpus import KEPT_FIRST, ROWS, SUFFIXES, family, read
from tests.commands import Commands, complaint, left_in
from tests.samples import write


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv"])
def test_dedup_keeps_all_columns(run: Commands, out: Path, tmp_path: Path, name: str, suffix: str) -> None:
    kept, removed = out / f"kept{suffix}", out / f"removed{suffix}"
    assert run("dedup", write(tmp_path / name, ROWS), "-o", kept, "--removed", removed).code == 0
    strings = "sv" in name or suffix == ".csv"
    expected = [{key: str(value) if strings else value for key, value in row.items()} for row in ROWS]
    assert read(kept) == [row for row in expected if row["id"] in KEPT_FIRST]
    dropped = read(removed)
    assert list(dropped[0]) == ["id", "kept", "similarity"]
    assert [row["id"] for row in dropped] == [row["id"] for row in ROWS if row["id"] not in KEPT_FIRST]
    assert all(row["kept"] == f"{family(row['id'])}-0" for row in dropped)
    assert left_in(out) == {kept.name, removed.name}


def test_dedup_copies_lines_of_json(run: Commands, out: Path, tmp_path: Path) -> None:
    lines = [
        b'{"text" : "the same text, twice",  "x": 1.50}',
        b'{"x": null, "text": "the same text, twice"}',
        b'{"text": "\\u00e9 else"}\r',
    ]
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(lines))
    expected = lines[0] + b"\n" + lines[2] + b"\n"
    assert run("dedup", path, "-o", out / "kept.jsonl").code == 0
    assert (out / "kept.jsonl").read_bytes() == expected
    assert run("dedup", path).out.encode() == expected


def test_dedup_of_lines_and_files(run: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in "ab":
        (folder / name).write_text("the same text, twice")
    (folder / "lines.txt").write_text("one line\none line\n")
    assert [json.loads(line)["id"] for line in run("dedup", folder).out.splitlines()] == ["a", "lines.txt"]
    assert run("dedup", folder / "lines.txt").out == '{"id": 0, "text": "one line"}\n'


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv"])
def test_dedup_keeps_the_one_asked_for(run: Commands, tmp_path: Path, name: str) -> None:
    rows = [row | {"score": score} for row, score in zip(ROWS, [9, 10, -1] * 20, strict=True)]  # as strings "9" > "10"
    path = write(tmp_path / name, rows)
    for keep, copy in {"first": 0, "longest": 2, "score": 1}.items():
        outcome = run("dedup", path, "--keep", keep)
        assert [json.loads(line)["id"][-1] for line in outcome.out.splitlines()] == [str(copy)] * 20


def test_keep_by_a_column_of_words(run: Commands, tmp_path: Path) -> None:
    rows = [{"text": "the same text, thrice", "date": date} for date in ("2024-01-02", "", "2024-03-01")]
    outcome = run("dedup", write(tmp_path / "a.csv", rows), "--keep", "date")
    assert [json.loads(line)["date"] for line in outcome.out.splitlines()] == ["2024-03-01"]


def test_keep_by_a_column_that_is_not_there(run: Commands, corpus: Path, out: Path) -> None:
    outcome = run("dedup", corpus, "--keep", "scor", "-o", out / "kept.csv")
    message = "the input has no column 'scor' to keep by; it has id, text, score. Did you mean 'score'?"
    assert complaint(outcome) == message
    assert outcome.code == 1
    nested = out.parent / "nested.jsonl"
    nested.write_text('{"text": "a", "tags": ["x"]}\n')
    assert "'tags' holds list" in complaint(run("dedup", nested, "--keep", "tags", "-o", out / "kept.csv"))
    assert left_in(out) == set()


def test_out_and_removed_are_two_files(run: Commands, corpus: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(out)
    for removed in ("kept.csv", "./kept.csv", out / "kept.csv"):
        outcome = run("dedup", corpus, "-o", "kept.csv", "--removed", removed)
        assert outcome.code == 2
        assert "--out and --removed must be different files" in complaint(outcome)
    assert run("dedup", corpus, "--removed", "-").code == 2
    assert left_in(out) == set()


@pytest.mark.parametrize("suffix", [".ndjson", ".jsonl.gz"])
def test_lines_are_written_as_they_stood(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"kept{suffix}"
    assert run("dedup", corpus, "-q", "-o", path).code == 0
    content = gzip.decompress(path.read_bytes()) if suffix.endswith("gz") else path.read_bytes()
    kept = [line for line in corpus.read_bytes().splitlines() if json.loads(line)["id"] in KEPT_FIRST]
    assert content.splitlines() == kept


def test_columns_of_one_name_are_reported_before_the_work(run: Commands, tmp_path: Path, out: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,x,x\na,some text,1,2\n")
    message = f"{path}: column names must be unique; 2 columns are called 'x'."
    for args in (
        ("dedup", path),
        ("dedup", path, "--against", tmp_path / "i", "--update"),
        ("resolve", path, "-f", "x"),
    ):
        outcome = run(*args, "-o", out / "p.csv")
        assert (outcome.code, complaint(outcome)) == (1, message)
    assert run("pairs", path).code == 0  # pairs writes no columns of the input


def test_views_of_strings_as_polars_writes_them(run: Commands, inputs: Path, out: Path) -> None:
    """Also in lists and structs, and in columns that are not compared."""
    kind = pa.struct([("word", pa.string_view())])
    table = pa.table(
        {
            "text": pa.array(["the same text of some length"] * 2 + ["another one"], pa.string_view()),
            "tags": pa.array([["a"], ["b"], ["c", "d"]], pa.list_(pa.string_view())),
            "more": pa.array([{"word": "x"}, {"word": "y"}, None], kind),
        }
    )
    with pa.OSFile(str(inputs / "views.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("kept.parquet", "kept.jsonl"):
        assert run("dedup", inputs / "views.arrow", "-o", out / name).code == 0
        assert [row["tags"] for row in read(out / name)] == [["a"], ["c", "d"]]
    assert run("dedup", inputs / "views.arrow", "-o", out / "kept.csv").code == 0


def test_copies_and_drop_all(run: Commands, corpus: Path, out: Path) -> None:
    outcome = run("dedup", corpus, "--copies", 2, "--keep", "score:min,longest", "-o", out / "kept.jsonl")
    assert "found: 20 documents to remove, each similar to one of the 40 kept" in outcome.err
    kept = [row["id"] for row in read(out / "kept.jsonl")]
    assert kept == [row["id"] for row in ROWS if row["score"] < 2]
    more = {"id": "x", "text": "like no other", "score": 0}
    path = write(out.parent / "more.jsonl", [*ROWS, more])
    outcome = run("dedup", path, "--drop-all", "-o", out / "kept.jsonl", "--removed", out / "removed.jsonl")
    assert "found: 60 documents to remove, each similar to another one; 1 kept" in outcome.err
    assert read(out / "kept.jsonl") == [more]
    assert [*read(out / "removed.jsonl")[1].values()] == ["000-1", "000-0", 3]
    for args in (["--mark"], ["--keep", "longest"], ["--copies", 2], ["--unit", "line"], ["--against", "i"]):
        assert "--drop-all" in complaint(run("dedup", path, "--drop-all", *args))
    assert "--copies cannot be used with --against" in complaint(run("dedup", path, "--copies", 2, "--against", "i"))
