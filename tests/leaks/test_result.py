"""Check the tables, cuts and page of `Leaks`."""

from pathlib import Path

import pyarrow as pa
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
        {"file": "the table", "item": 2, "documents": 2, "places": 3, "text": ONE},
        {"file": "the table", "item": 0, "documents": 1, "places": 1, "text": TWO},
    ]
    assert found.files.to_pylist() == [
        {"file": "the table", "rows": 3, "items": 3, "leaked": 2, "places": 4, "documents": 2}
    ]


def test_counts_are_of_all_places_and_the_first_are_listed() -> None:
    texts = [f"{ONE} {ONE} {TWO}", "nothing", ONE, f"{TWO} {ONE}"]
    every = la.decontaminate(texts, [ONE, TWO])
    for places in range(1, 6):
        found = la.decontaminate(la.Source(pa.table({"text": texts}), batch_bytes=80), [ONE, TWO], places=places)
        assert (found.items, found.files) == (every.items, every.files)
        rows = every.to_arrow().to_pylist()
        first = [row for at, row in enumerate(rows) if [r["item"] for r in rows[:at]].count(row["item"]) < places]
        assert found.to_arrow().to_pylist() == first
        assert (found.keep == every.keep).all()
    assert repr(la.decontaminate(texts, [ONE, TWO], places=1)) == "<6 leaks in 3 of 4 documents, 2 of them listed>"


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


def test_the_page_says_if_not_all_places_are_listed(tmp_path: Path) -> None:
    la.decontaminate([ONE, ONE, "none"], [ONE], places=1).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "1 test item in 2 documents" in page
    assert "2, 1 of them listed: the first 1 of each item" in page
