"""Check the output of `lookalike pairs` and the settings in its files."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike
from tests.cli.corpus import ROWS, SUFFIXES, family, read
from tests.commands import Commands, left_in
from tests.samples import encode_jsonl, encode_parquet, write


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pairs(run: Commands, corpus: Path, out: Path, suffix: str) -> None:
    path = out / f"pairs{suffix}"
    assert run("pairs", corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["left", "right", "similarity"]
    names = [row["id"] for row in ROWS]
    expected = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if family(a) == family(b)]
    assert [(row["left"], row["right"]) for row in rows] == expected
    assert all(0.8 <= float(row["similarity"]) < 1 for row in rows)
    assert left_in(out) == {path.name}


def test_pairs_on_standard_output(run: Commands, corpus: Path, out: Path) -> None:
    run("pairs", corpus, "-o", out / "pairs.jsonl")
    for extra in ((), ("-o", "-")):
        outcome = run("pairs", corpus, *extra)
        assert outcome.out == (out / "pairs.jsonl").read_text()
        assert outcome.code == 0


def test_similarity_is_of_the_shingles_asked_for(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("A b c d\na b c d e\n")
    for options, expected in {
        ("-s", "word:2"): 2 / 5,
        ("-s", "word:2", "--lowercase"): 3 / 4,
        ("-s", "char:2", "--space", "remove"): 2 / 5,
        ("-s", "char:2", "--recall", "1"): 5 / 9,
    }.items():
        outcome = run("pairs", path, "-t", "0.1", "-q", *options)
        assert json.loads(outcome.out) == {"left": 0, "right": 1, "similarity": expected}


def test_settings_are_in_the_files(run: Commands, corpus: Path, out: Path) -> None:
    run("pairs", corpus, "-o", out / "pairs.parquet", "-t", "0.75", "-s", "word:3", "--seed", "5", "--recall", "1")
    found = pq.read_schema(out / "pairs.parquet").metadata
    ours = {key.decode(): value.decode() for key, value in found.items() if key.startswith(b"lookalike.")}
    assert ours == {
        "lookalike.version": lookalike.__version__,
        "lookalike.read": str(len(ROWS)),
        "lookalike.format": "1",
        "lookalike.measure": "jaccard",
        "lookalike.threshold": "3/4",
        "lookalike.items": "word:3",
        "lookalike.seed": "5",
        "lookalike.method": "exact",
    }
    run("dedup", corpus, "-o", out / "kept.parquet", "--removed", out / "removed.parquet")
    for name in ("kept.parquet", "removed.parquet"):
        assert pq.read_schema(out / name).metadata[b"lookalike.items"] == b"char:9"


def test_inputs_by_standard_input_and_options(run: Commands, corpus: Path, tmp_path: Path) -> None:
    expected = run("pairs", corpus).out
    assert run("pairs", "-", stdin=encode_jsonl(ROWS)).out == expected
    assert run("pairs", "-", stdin=encode_parquet(pa.Table.from_pylist(ROWS))).out == expected
    renamed = [{"key": row["id"], "id": 0, "body": row["text"], "text": ""} for row in ROWS]
    path = write(tmp_path / "renamed.parquet", renamed).rename(tmp_path / "renamed.data")
    assert run("pairs", path, "--format", "parquet", "--text", "body", "--id", "key").out == expected
    numbered = run("pairs", path, "--format", "parquet", "--text", "body", "--id", "-").out
    assert json.loads(numbered.splitlines()[0])["left"] == 0


def test_skipped_rows_are_counted(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode_jsonl(ROWS) + b'{"id": "x", "text": null}\nbroken\n')
    outcome = run("pairs", path, "--on-error", "skip")
    assert outcome.code == 0
    assert "read: 60 documents (2 skipped)" in outcome.err
    assert len(outcome.out.splitlines()) == 60


def test_audit_is_reported(run: Commands, corpus: Path) -> None:
    assert (
        "audit: 60 of 60 true pairs of 60 sampled items found: recall 1.0000"
        in run("pairs", corpus, "--audit", 100).err
    )


@pytest.mark.parametrize(("measure", "edits", "found"), [("edit", 1, 3), ("edit", 2, 4), ("levenshtein", 1, 4)])
def test_texts_by_edit_distance(run: Commands, inputs: Path, measure: str, edits: int, found: int) -> None:
    path = inputs / "names.csv"
    path.write_text("id,text\n1,Jon Smith\n2,John Smith\n3,Jane Doe\n4,Jane Do\n5,Jane Dot\n")
    outcome = run("pairs", path, "--measure", measure, "-t", edits)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert all(set(row) == {"left", "right", "distance"} and row["distance"] <= edits for row in rows)
    assert len(rows) == found
    assert f"plan: {measure} <= {edits} of texts, exact: index of 2-grams, every pair is found" in outcome.err


def test_common_shingles_and_weights(run: Commands, tmp_path: Path) -> None:
    """What was dropped is reported, and a report page can be made from the file alone."""
    texts = [f"dear number {at} please find enclosed item {at * 7} with our regards" for at in range(40)]
    rows = [{"id": at, "text": text} for at, text in enumerate([*texts, texts[5].replace("find", "Find")])]
    path, out = write(tmp_path / "letters.jsonl", rows), tmp_path / "pairs.parquet"
    assert len(run("pairs", path, "-s", "word:1", "-t", 0.6, "-q").out.splitlines()) > 700
    for way, expected in {
        ("--drop-common", "50%"): "dropped: 9 shingles in more than 50% of the 41 documents with shingles",
        ("--weights", "idf"): "jaccard >= 0.6 of word:1 weighted by idf, by",
    }.items():
        outcome = run("pairs", path, "-s", "word:1", "-t", 0.6, "-o", out, *way)
        assert expected in outcome.err
        assert [(row["left"], row["right"]) for row in read(out)] == [(5, 40)]
        kept = pq.read_schema(out).metadata
        assert b"idf" in kept.values() or b"1/2" in kept.values()
        assert run("report", out, "-o", tmp_path / "page.html", "--items", path).code == 0
