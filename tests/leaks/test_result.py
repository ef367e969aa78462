"""Check the tables, cuts and page of `Leaks`."""

from pathlib import Path

import pytest

import lookalike as la

ONE = "How many legs do twelve cats and seven parrots have in total?"
TWO = "Parrots have in total how many wings, tails, beaks, claws and eyes?"


@pytest.fixture
def found() -> la.Leaks:
    return la.decontaminate([f"1: {ONE} 2: {TWO}", "nothing", f"{ONE} {ONE}"], [TWO, "Why is there air?", ONE])


def test_iteration_and_tables(found: la.Leaks) -> None:
    assert repr(found) == "<4 leaks in 2 of 3 documents>"
    assert [row[:4] for row in found] == [
        (0, "the table", 2, 1.0),
        (0, "the table", 0, 1.0),
        *[(2, "the table", 2, 1.0)] * 2,
    ]
    assert found[-1][-1] == ONE[:-1]
    assert found.items.to_pylist() == [
        {"file": "the table", "item": 2, "documents": 2, "text": ONE},
        {"file": "the table", "item": 0, "documents": 1, "text": TWO},
    ]
    assert found.files.to_pylist() == [{"file": "the table", "items": 3, "leaked": 2, "documents": 2}]


def test_cuts_join_what_overlaps() -> None:
    text = f"{ONE[:-1]} {TWO.split(' ', 4)[-1]}"  # the end of one item is the beginning of the other
    found = la.decontaminate([text, "none"], [ONE, TWO])
    assert len(found) == 2
    assert found.cuts(0) == [(0, len(text) - 1)]
    assert found.cuts(1) == []


def test_explanations(found: la.Leaks) -> None:
    why = found.explain(0)
    assert why.both
    assert not why.left_only
    assert "seven parrots have" in why.both
    with pytest.raises(IndexError):
        found.explain(4)


def test_the_page_shows_items_beside_passages(found: la.Leaks, tmp_path: Path) -> None:
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 test items in 2 documents" in page
    assert "at least 0.5, and at least 5, of the three-word shingles of a test item" in page
    assert "items of the table found" in page
