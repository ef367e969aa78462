"""Check `lookalike decontaminate`: its files, its messages, and its errors."""

import gzip
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.commands import Commands, complaint
from tests.samples import write

ITEM = "How many legs do twelve cats and seven parrots have in total?"
ROWS = [
    {"id": "a", "text": f"A puzzle: {ITEM} It is 62.", "more": {"x": 1}},
    {"id": "b", "text": "Nothing of the kind.", "more": None},
    {"id": "c", "text": ITEM.upper(), "more": None},
]
TESTS = [
    {"question": ITEM, "answer": "It is 62", "n": 7},
    {"question": "Why is there air at all?", "answer": "?", "n": 8},
]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "corpus.jsonl", ROWS), write(tmp_path / "tests.jsonl", TESTS), tmp_path / "clean.jsonl"]


def test_documents_with_items_are_dropped(run: Commands, files: list[Path], tmp_path: Path) -> None:
    corpus, tests, out = files
    leaks, items, page = tmp_path / "leaks.csv", tmp_path / "items.parquet", tmp_path / "page.html"
    more = ("--leaks", leaks, "--items", items, "--report", page)
    done = run("decontaminate", corpus, "--tests", tests, "--answer", "answer", "-o", out, *more)
    assert done.code == 0, done.err
    assert out.read_bytes() == corpus.read_bytes().splitlines(keepends=True)[1]
    assert [row["document"] for row in pyarrow.csv.read_csv(leaks).to_pylist()] == ["a", "c"]
    assert [row["answered"] for row in pyarrow.csv.read_csv(leaks).to_pylist()] == [True, False]
    assert pq.read_table(items).to_pylist() == [
        {"file": str(tests), "item": 0, "documents": 2, "places": 2, "text": ITEM}
    ]
    assert "1 test item in 2 documents" in page.read_text()
    assert [line.split() for line in done.err.splitlines() if line.startswith(("test file", str(tests)))] == [
        ["test", "file", "rows", "items", "leaked", "documents"],
        [str(tests), "2", "2", "1", "2"],
    ]
    assert "found: 2 leaks; 2 documents dropped, 1 unchanged" in done.err


def test_items_are_cut(run: Commands, files: list[Path]) -> None:
    corpus, tests, out = files
    done = run("decontaminate", corpus, "--tests", tests, "--cut", "-o", out)
    assert "2 documents cut from, 1 unchanged" in done.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows == [ROWS[0] | {"text": "A puzzle: It is 62."}, ROWS[1], ROWS[2] | {"text": ""}]


def test_tables_and_other_formats(run: Commands, files: list[Path], tmp_path: Path) -> None:
    tests = files[1]
    texts = [{"body": row["text"], "n": at} for at, row in enumerate(ROWS)]
    table = write(tmp_path / "corpus.parquet", texts)
    out = tmp_path / "clean.parquet"
    assert run("decontaminate", table, "--tests", tests, "--cut", "-o", out).code == 0
    assert pq.read_table(out).to_pylist() == [
        {"body": "A puzzle: It is 62.", "n": 0}, {"body": "Nothing of the kind.", "n": 1}, {"body": "", "n": 2}
    ]  # fmt: skip
    lines = tmp_path / "corpus.txt"
    lines.write_text("\n".join(row["text"] for row in ROWS))
    done = run("decontaminate", lines, "--tests", tests)
    assert [json.loads(line) for line in done.out.splitlines()] == [{"id": 1, "text": "Nothing of the kind."}]


def test_several_test_files_folders_and_compression(run: Commands, files: list[Path], tmp_path: Path) -> None:
    corpus, tests, out = files
    folder = tmp_path / "exams"
    folder.mkdir()
    (folder / "one.jsonl.gz").write_bytes(gzip.compress(tests.read_bytes()))
    write(folder / "two.jsonl", [{"question": "Another question that is in no document?"}])
    other = write(tmp_path / "other.csv", [{"prompt": "nothing of the kind"}])
    done = run("decontaminate", corpus, "--tests", folder, "--tests", other, "-o", out)
    assert out.read_text() == ""
    table = {line.split()[0]: line.split()[1:] for line in done.err.splitlines() if ".csv" in line or ".jsonl" in line}
    assert {Path(name).name: counts for name, counts in table.items()} == {
        "one.jsonl.gz": ["2", "2", "1", "2"],
        "two.jsonl": ["1", "1", "0", "0"],
        "other.csv": ["1", "1", "1", "1"],
    }


def test_counts_of_files_are_recorded_and_places_limited(run: Commands, files: list[Path], tmp_path: Path) -> None:
    corpus, tests, out = files
    leaks, stats = tmp_path / "leaks.csv", tmp_path / "stats.json"
    done = run("decontaminate", corpus, "--tests", tests, "-o", out, "--leaks", leaks, "--places", 1, "--stats", stats)
    assert "found: 2 leaks (1 listed, at most 1 of an item); 2 documents dropped" in done.err
    assert len(pyarrow.csv.read_csv(leaks)) == 1
    facts = json.loads(stats.read_text())
    assert facts["tests"] == [
        {"file": str(tests), "rows": 2, "items": 2, "leaked": 1, "places": 2, "documents": 2}
    ]  # fmt: skip
    assert facts["counts"] == {"items": 3, "skipped": 0, "leaks": 2, "leaking": 2}


def test_errors(run: Commands, files: list[Path], tmp_path: Path) -> None:
    corpus, tests, out = files
    assert "no column 'task'" in complaint(run("decontaminate", corpus, "--tests", tests, "--question", "task"))
    assert "Did you mean 'answer'" in complaint(run("decontaminate", corpus, "--tests", tests, "--answer", "answers"))
    assert "threshold must be in (0, 1]" in complaint(run("decontaminate", corpus, "--tests", tests, "-t", 2))
    assert "different files" in complaint(run("decontaminate", corpus, "--tests", tests, "-o", out, "--leaks", out))
    same = run("decontaminate", corpus, "--tests", tests, "-o", tests)
    assert "is an input and would be overwritten" in complaint(same)
    assert not out.exists()
    both = run("decontaminate", corpus, "--tests", tests, "--leaks", "-")
    assert "got '-' and '-'. Only one can go to standard output (-), which is the default of --out" in complaint(both)
    odd = write(tmp_path / "odd.csv", [{"id": "1", "foo": 2}])
    assert "which column has the questions? Name it with --question; it has id, foo" in complaint(
        run("decontaminate", corpus, "--tests", odd)
    )
    pages = run("decontaminate", corpus, "--tests", tests, "--cut", "--html")
    assert "--cut is for texts" in complaint(pages)
    empty = write(tmp_path / "empty.jsonl", [{"question": ""}])
    assert "at least one word" in complaint(run("decontaminate", corpus, "--tests", empty))
    two = write(tmp_path / "two.csv", [{"body": "a b c"}])
    both = run("decontaminate", corpus, two, "--tests", tests, "--cut")
    assert "--cut needs one column of texts; the inputs have text, body" in complaint(both)


def test_an_empty_corpus(run: Commands, files: list[Path], tmp_path: Path) -> None:
    _, tests, out = files
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    done = run("decontaminate", empty, "--tests", tests, "-o", out)
    assert "note: no documents in" in done.err
    assert out.read_text() == ""
