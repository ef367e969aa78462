"""Check `lookalike match` on two collections, also with different column names."""

import json
from pathlib import Path

import pytest

from tests.cli.corpus import ROWS, SUFFIXES, read
from tests.commands import Commands, complaint
from tests.samples import write


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_match(run: Commands, corpus: Path, out: Path, tmp_path: Path, suffix: str) -> None:
    left = write(tmp_path / "left.csv", [row for row in ROWS if row["id"].endswith("-1")][:5])
    path = out / f"matches{suffix}"
    assert run("match", left, corpus, "-o", path).code == 0
    rows = read(path)
    assert list(rows[0]) == ["left", "right", "similarity"]
    expected = [(f"{i:03d}-1", f"{i:03d}-{j}") for i in range(5) for j in range(3)]
    assert [(row["left"], row["right"]) for row in rows] == expected
    assert [float(row["similarity"]) for row in rows if row["left"] == row["right"]] == [1.0] * 5


@pytest.mark.slow
def test_match_with_columns_of_other_names(run: Commands, tmp_path: Path) -> None:
    left = write(tmp_path / "left.csv", [{"key": row["id"], "title": row["text"], "x": "y"} for row in ROWS[:3]])
    right = write(tmp_path / "right.csv", [{"nr": row["id"], "headline": row["text"], "x": "y"} for row in ROWS[:3]])
    expected = run("match", left, left, "--text", "title", "--id", "key").out
    assert len(expected.splitlines()) == 9
    assert run("match", left, right, "--text", "title:headline", "--id", "key:nr").out == expected
    numbered = run("match", left, right, "--text", "title:headline", "--id", "key:-").out
    assert [json.loads(line)["right"] for line in numbered.splitlines()] == [0, 1, 2] * 3
    for text, message in {
        "title:headlin": f"{right}: no column 'headlin' for the text; it has nr, headline, x. Did you mean 'headline'?",
        "headline": f"{left}: no column 'headline' for the text; it has key, title, x.",
        "title:": "--text must be COLUMN or LEFT:RIGHT; got 'title:'.",
        ":headline": "--text must be COLUMN or LEFT:RIGHT; got ':headline'.",
    }.items():
        assert complaint(run("match", left, right, "--text", text, "--id", "-")) == message


def test_match_larger_than_memory(run: Commands, corpus: Path, out: Path, tmp_path: Path) -> None:
    left = write(tmp_path / "left.csv", [row for row in ROWS if row["id"].endswith("-1")][:5])
    for measure in ("jaccard", "containment"):
        here = run("match", left, corpus, "-m", measure, "--method", "lsh").out
        done = run("match", left, corpus, "-m", measure, "--memory", "100MB", "-o", out / "matches.jsonl")
        assert done.code == 0, done.err
        assert (out / "matches.jsonl").read_text() == here
    assert "set --workdir, or write to a file" in complaint(run("match", left, corpus, "--memory", "100MB"))
    assert "support only texts that are read from files" in complaint(
        run("match", "-", corpus, "--memory", "100MB", "-o", out / "m.jsonl", stdin=b"{}\n")
    )


def test_match_with_a_colon_in_a_name(run: Commands, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"id": row["id"], "dc:title": row["text"], "x": "y"} for row in ROWS[:3]])
    assert len(run("match", path, path, "--text", "dc:title").out.splitlines()) == 9


def test_a_text_file_matched_with_files_gives_a_note(run: Commands, inputs: Path) -> None:
    folder = inputs / "essays"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"An essay of {name} line,\nand of another one.")
    (inputs / "new.txt").write_text("An essay of one line,\nand of another one.")
    lines = run("match", inputs / "new.txt", folder, "-t", "0.9")
    assert (
        f"note: {inputs / 'new.txt'} is read as one document per line; use --format files to read it as one document"
        in lines.err
    )
    assert lines.out == ""
    whole = run("match", inputs / "new.txt", folder, "-t", "0.9", "--format", "files")
    assert "note: " not in whole.err
    assert len(whole.out.splitlines()) == 1
