"""Check the CSV reader on its hard cases: cells of any size, and all separators."""

import pytest

import lookalike as la
from lookalike.core.run import Run
from lookalike.io.csv import csv_cells, csv_rows, looks_like_csv, separator_in
from lookalike.io.part import Part
from lookalike.io.records import RecordSource

LARGE = "x" * (1 << 20)


def test_a_cell_of_a_megabyte(tmp_path, run):
    """It is read in a table, and in a file that is inspected to see whether it is one."""
    (tmp_path / "a.csv").write_text(f"id,text\n1,{LARGE}\n2,{LARGE}\n")
    assert RecordSource(tmp_path / "a.csv").read(Run(1))["text"].to_pylist() == [LARGE, LARGE]
    assert csv_rows(Part("a.csv", "csv", (tmp_path / "a.csv",)), 2)[1] == ["1", LARGE]
    (tmp_path / "head.csv").write_text(f"{LARGE},text\n1,2\n")
    assert csv_cells(Part("head.csv", "csv", (tmp_path / "head.csv",))) == [LARGE, "text"]
    (tmp_path / "notes").write_text(f"{LARGE}\n{LARGE}\n")
    done = run("pairs", tmp_path / "notes", "-o", tmp_path / "pairs.csv")
    assert (done.code, "Traceback" in done.err) == (0, False)
    assert [(left, right) for left, right, _ in la.find_pairs(tmp_path / "notes")] == [(0, 1)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name,born\nann,1970\nbob,1980\n", True),
        (b"name;born\nann;1970\n", True),
        (b"name,born\n", False),  # only one line
        (b"a sentence, with a comma\nand one without\n", False),
        (b"name,name\na,b\n", False),
        (b"", False),
        (b"name,born\n" + b"ann,1970\n" * 10_000 + b"bob\n", True),  # the start decides
        (b"name,born\n" + b"x" * (1 << 17), False),  # only the first line is complete
    ],
)
def test_what_looks_like_csv(tmp_path, content, expected):
    (tmp_path / "notes").write_bytes(content)
    assert looks_like_csv(Part("notes", "text", (tmp_path / "notes",))) == expected


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("id,text\n", ","),
        ("id;text\n1,5;2,5", ";"),
        ("\r\nid\ttext", "\t"),
        ('"a;b;c",d', ","),
        ("id|text", "|"),
        ("", ","),
    ],
)
def test_separators(text, separator):
    assert separator_in(text) == separator
