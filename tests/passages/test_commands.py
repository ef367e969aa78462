"""Check the commands on passages, from the command line to the files they write."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from tests.commands import Commands, complaint, left_in

ROWS = [
    {"n": 1, "id": "p", "text": "Home\nThe bridge is closed today."},
    {"n": 2, "id": "q", "text": "home\r\nThe ferry is late."},
    {"n": 3, "id": "r", "text": "Home"},
    {"n": 4, "id": "s", "text": "They say the bridge is closed, today!"},
]
CUT = ["Home\nThe bridge is closed today.", "The ferry is late.", "They say the bridge is closed, today!"]


@pytest.fixture
def corpus(inputs: Path) -> Path:
    (inputs / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return inputs / "corpus.jsonl"


def test_passages_are_listed(run: Commands, corpus: Path, out: Path) -> None:
    done = run("passages", corpus, "-n", 5, "-o", out / "p.parquet", "--report", out / "p.html")
    assert done.code == 0, done.err
    expected = la.find_passages(corpus, length=5).to_arrow()
    assert expected.num_rows == 1
    assert pq.read_table(out / "p.parquet").to_pylist() == expected.to_pylist()
    lines = done.err.splitlines()
    assert "read: 4 documents, 19 words" in lines
    assert "found: 1 passage, verified; none is missed" in lines
    assert "the bridge is closed, today" in (out / "p.html").read_text()


def test_passages_among_sources(run: Commands, corpus: Path, inputs: Path) -> None:
    (inputs / "sources.jsonl").write_text('{"id": "z", "text": "ferry is LATE"}\n')
    done = run("passages", corpus, "--among", inputs / "sources.jsonl", "-n", 3, "--quiet")
    [row] = map(json.loads, done.out.splitlines())
    assert (row["document"], row["text"], row["first_document"], row["copies"]) == ("q", "ferry is late", "z", 1)


def test_documents_shorter_than_the_window(run: Commands, corpus: Path) -> None:
    done = run("passages", corpus)
    assert (done.code, done.out) == (0, "")
    assert "note: no document has 50 words; choose a smaller --length" in done.err.splitlines()


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
@pytest.mark.parametrize("more", [[], ["--memory", "100MB"]])
def test_rows_and_columns_stay(run: Commands, corpus: Path, out: Path, suffix: str, more: list[str]) -> None:
    kept, removed = out / f"kept{suffix}", out / "removed.parquet"
    done = run("dedup", corpus, "--unit", "line", "-o", kept, "--removed", removed, *more)
    assert done.code == 0, done.err
    assert "cut: 2 lines at 2 places, all verified; 1 document dropped" in done.err.splitlines()
    source = la.Source(kept)
    table = pa.concat_tables(list(source.tables()))
    assert table["text"].to_pylist() == CUT
    assert table.column_names == ["n", "id", "text"]
    assert list(map(str, table["n"].to_pylist())) == ["1", "2", "4"]
    gone = pq.read_table(removed).to_pylist()
    assert [(row["document"], row["first_document"], row["text"]) for row in gone] == [
        ("q", "p", "home"),
        ("r", "p", "Home"),
    ]
    assert left_in(out) == {kept.name, removed.name}


def test_spans_copies_and_least(run: Commands, corpus: Path) -> None:
    args = ("dedup", corpus, "--unit", "span:5", "--quiet")
    texts = [json.loads(line)["text"] for line in run(*args).out.splitlines()]
    assert texts == [*(row["text"] for row in ROWS[:3]), "They say !"]
    assert len(run(*args, "--least", 3).out.splitlines()) == 3
    assert [json.loads(line) for line in run(*args, "--copies", 2).out.splitlines()] == ROWS


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--unit", "words"], "--unit must be line, sentence, paragraph or span:N"),
        (
            ["--unit", "span:0"],
            "--unit must be line, sentence, paragraph or span:N, with N from 1 to 1,048,576; got 'span:0'",
        ),
        (["--unit", "span:" + "9" * 30], "with N from 1 to 1,048,576; got 'span:9"),
        (["--unit", "line", "-t", "0.5"], "--threshold cannot be used with --unit"),
    ],
)
def test_wrong_options(run: Commands, corpus: Path, args: list[str], why: str) -> None:
    done = run("dedup", corpus, *args)
    assert done.code == 2
    assert why in complaint(done)


def test_windows_of_no_words(run: Commands, corpus: Path) -> None:
    done = run("passages", corpus, "--length", 0)
    assert done.code == 2
    assert "--length must be" in complaint(done)


def test_columns_that_are_not_there(run: Commands, corpus: Path) -> None:
    done = run("passages", corpus, "--text", "body")
    assert done.code == 1
    assert "body" in complaint(done)
