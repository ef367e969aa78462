"""Check which of similar items are kept: by several rules, several of each group, or none."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, LookalikeWarning, UsageError
from lookalike.core.run import Run
from lookalike.search.keeping import Keeping, Rule, first_members
from tests.samples import families

ONE = Run(1)
SETS = st.lists(st.frozensets(st.integers(0, 6), max_size=5), min_size=1, max_size=12)


def similar(one: frozenset[int], other: frozenset[int], threshold: float = 0.5) -> bool:
    return bool(one | other) and len(one & other) >= threshold * len(one | other)


def alone_by_force(items: Sequence[frozenset[int]], order: Sequence[int]) -> list[int]:
    """Return the items that stand for a group: those unlike all that do and come before them."""
    centres: list[int] = []
    for item in order:
        if not any(similar(items[one], items[item]) for one in centres):
            centres.append(item)
    return sorted(centres)


@given(SETS, st.lists(st.integers(0, 3), min_size=12, max_size=12), st.integers(1, 3))
def test_copies_of_each_group_are_kept(items: list[frozenset[int]], scores: list[int], copies: int) -> None:
    scores = scores[: len(items)]
    found = la.dedup(items, threshold=0.5, recall=1.0, keep=scores, copies=copies, run=ONE)
    order = sorted(range(len(items)), key=lambda item: (-scores[item], item))
    assert np.flatnonzero(found.centre == np.arange(len(items))).tolist() == alone_by_force(items, order)
    sizes: dict[int, int] = {}
    for item in order:  # an item can be similar to several centres, of which any may stand for it
        group = int(found.centre[item])
        assert group == item or similar(items[group], items[item])
        sizes[group] = sizes.get(group, 0) + 1
        assert found.keep[item] == (sizes[group] <= copies or not items[item])
    assert len(found) == int((~found.keep).sum()) == found.stats["dropped"]
    for _, kept, value in found:
        assert found.keep[kept]
        assert value >= 0.5


@given(SETS)
def test_drop_all_keeps_only_items_like_no_other(items: list[frozenset[int]]) -> None:
    for options in ({"recall": 1.0}, {"method": "lsh", "recall": 0.999999}):
        found = la.dedup(items, threshold=0.5, drop_all=True, run=ONE, **options)
        expected = [
            not any(similar(one, other) for at, other in enumerate(items) if at != place)
            for place, one in enumerate(items)
        ]
        assert found.keep.tolist() == expected
    clusters = la.find_clusters(items, threshold=0.5, recall=1.0, run=ONE)
    marked = found.marked().to_pydict()
    assert list(marked) == ["id", "cluster", "copies"]
    assert marked["cluster"] == clusters.marked()["cluster"].to_pylist()
    assert found.to_arrow().to_pylist() == [row for row in found.marked().to_pylist() if row["copies"] > 1]


ROWS = [row | {"meta": {"quality": at % 4, "day": f"2026-01-{9 - at % 3}"}} for at, row in enumerate(families(8, 4))]
COPIES = {"shingles": "char:5", "threshold": 0.8}


def best(rows: list[dict[str, Any]], key: Any, copies: int = 1) -> set[str]:
    """Return the ids of the first rows of each family."""
    kept: dict[str, list[str]] = {}
    for row in sorted(rows, key=key):
        kept.setdefault(row["id"][:3], []).append(row["id"])
    return {name for names in kept.values() for name in names[:copies]}


RULES: dict[Any, Any] = {
    "score:max,meta.day:min": lambda row: (-row["score"], row["meta"]["day"], row["id"]),
    "meta.quality:min": lambda row: (row["meta"]["quality"], row["id"]),
    "meta.day, longest": lambda row: ([-ord(c) for c in row["meta"]["day"]], -len(row["text"]), row["id"]),
    "score:min,longest,first": lambda row: (row["score"], -len(row["text"]), row["id"]),
    (("score", "max"), ("meta.quality", "min")): lambda row: (-row["score"], row["meta"]["quality"], row["id"]),
}


@pytest.mark.parametrize("rules", RULES)
def test_keep_by_columns(rules: Any, tmp_path: Path) -> None:
    """From memory and from files, with limited memory or without."""
    keep = rules if isinstance(rules, str) else list(rules)
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for items, more in (
        (table, {}),
        (tmp_path / "a.parquet", {"memory": "200MB"}),
        (tmp_path / "a.jsonl", {"copies": 2}),
        (tmp_path / "a.jsonl", {"copies": 2, "memory": "200MB"}),
    ):
        found = la.dedup(items, keep=keep, **COPIES, **more)
        assert {*found.kept.to_pylist()} == best(ROWS, RULES[rules], more.get("copies", 1))


def test_rows_without_a_value_come_last() -> None:
    rows = [{"text": "the same text", "score": score} for score in (None, 2.0, float("nan"), 1.0)]
    table = pa.Table.from_pylist(rows)
    assert la.dedup(table, keep="score:max").kept.to_pylist() == [1]
    assert la.dedup(table, keep="score:min").kept.to_pylist() == [3]
    assert la.dedup(table, keep="score:min", copies=2).kept.to_pylist() == [1, 3]
    flags = pa.table({"text": ["the same text"] * 2, "good": [False, True]})
    assert la.dedup(flags, keep="good").kept.to_pylist() == [1]


def test_empty_cells_of_csv_come_last(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text,day\na,"one text",2026-01-02\nb,"one text",2026-01-01\nc,"one text",\n')
    for rule, first in {"day:min": "b", "day:max": "a"}.items():
        assert la.dedup(tmp_path / "a.csv", keep=rule).kept.to_pylist() == [first]


def test_a_column_with_only_some_numbers_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text,score\na,"one text",9\nb,"one text",10\nc,"one text",n/a\n')
    with pytest.warns(LookalikeWarning, match="not all values of column 'score' are numbers .'n/a' is not.*as text"):
        assert la.dedup(tmp_path / "a.csv", keep="score:max").kept.to_pylist() == ["c"]


def test_copies_and_drop_all_of_vectors_and_strings() -> None:
    matrix = np.array([[1, 0], [1, 0.01], [0, 1], [1, 0.02]])
    assert la.dedup(matrix, measure="angle", threshold=3, copies=2).keep.tolist() == [True, True, True, False]
    assert la.dedup(matrix, measure="angle", threshold=3, drop_all=True).keep.tolist() == [False, False, True, False]
    texts = ["abcd", "abce", "xyz", ""]
    found = la.dedup(texts, measure="edit", threshold=2, drop_all=True)
    assert found.kept.to_pylist() == [2, 3]
    assert "abc" in str(la.dedup(["abcdef", "abcdeg"], shingles="char:3", threshold=0.5, drop_all=True).explain(0))


def test_reports_of_drop_all(tmp_path: Path) -> None:
    found = la.dedup([row["text"] for row in ROWS], **COPIES, drop_all=True)
    found.report(tmp_path / "r.html")
    assert "0 of 32 documents kept, 32 removed" in (tmp_path / "r.html").read_text()


def test_rules_that_cannot_be_used() -> None:
    table = pa.Table.from_pylist(ROWS)
    for keep, why in {
        "score:max,": "keep must be rules such as longest, score:max or date:min; got 'score:max,'",
        "scor:min": r"the input has no column 'scor' to keep by; .* Did you mean 'score'\?",
        "meta.qualty": r"no column 'qualty' among its fields .* Did you mean 'quality'\?",
        "score.x": "int64 has no field 'x' to keep by",
        "meta": "'meta' holds struct",
    }.items():
        with pytest.raises((DataError, UsageError), match=why):
            la.dedup(table, keep=keep)
    for items in ([{1, 2}], ["a text"]):
        with pytest.raises(UsageError, match="keep must be one of lowest-id, first, longest; got 'score'"):
            la.dedup(items, keep="score:max")
    with pytest.raises(UsageError, match="copies must be an integer of at least 1; got 0"):
        la.dedup(["a"], copies=0)
    for more in ({"copies": 2}, {"keep": "longest"}, {"keep": np.array([1])}):
        with pytest.raises(UsageError, match="cannot be used with drop_all, which keeps none of"):
            la.dedup(["a"], drop_all=True, **more)


def test_parsed_rules() -> None:
    assert Keeping.of([("a", "min")]).rules == (Rule("a", False),)
    assert Keeping.of([("a", "b")]).rules == ()  # one value per item
    assert Keeping.of("url:host:min").rules == (Rule("url:host", False),)
    assert first_members(np.zeros(0, np.int64), np.zeros(0, np.int64), 2).tolist() == []
