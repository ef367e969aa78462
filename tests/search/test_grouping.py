"""Check that only pairs within groups, or across them, count: against brute force, for every kind of result."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from tests.samples import families

ONE = Run(1)
SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), min_size=1, max_size=12)
GROUPS = st.lists(st.sampled_from(["a", "b", None]), min_size=12, max_size=12)
METHODS: list[dict[str, Any]] = [{"recall": 1.0}, {"method": "lsh", "recall": 0.999999}]
KINDS = ("within", "across")


def counts(kind: str, one: Any, other: Any) -> bool:
    return (one == other) == (kind == "within")


def pairs_by_force(items: list[frozenset[int]], groups: list[Any], kind: str) -> set[tuple[int, int]]:
    return {
        (left, right)
        for right in range(len(items))
        for left in range(right)
        if counts(kind, groups[left], groups[right])
        and items[left] | items[right]
        and 2 * len(items[left] & items[right]) >= len(items[left] | items[right])
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS, ids=["exact", "lsh"])
@settings(max_examples=40)
@given(items=SETS, drawn=GROUPS)
def test_all_results_against_brute_force(
    method: dict[str, Any], kind: str, items: list[frozenset[int]], drawn: list[Any]
) -> None:
    groups = drawn[: len(items)]
    true = pairs_by_force(items, groups, kind)
    options = {"threshold": 0.5, kind: groups, "run": ONE, **method}
    pairs = la.find_pairs(items, audit=20, **options)
    assert {(left, right) for left, right, _ in pairs} == true
    for left, right, value in pairs:
        assert value == len(items[left] & items[right]) / len(items[left] | items[right])
    assert pairs.audit is not None
    assert pairs.audit.true == pairs.audit.found == len(true)
    label = list(range(len(items)))
    for _ in items:
        for left, right in true:
            label[left] = label[right] = min(label[left], label[right])
    assert la.find_clusters(items, **options).label.tolist() == label
    kept: list[int] = []
    for item in range(len(items)):
        if not any((one, item) in true for one in kept):
            kept.append(item)
    found = la.dedup(items, **options)
    assert np.flatnonzero(found.keep).tolist() == kept
    assert all((min(one, other), max(one, other)) in true for one, other, _ in found)
    alone = la.dedup(items, drop_all=True, **options)
    assert alone.kept.to_pylist() == [item for item in range(len(items)) if not any(item in pair for pair in true)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(items=SETS, drawn=GROUPS)
def test_containment_against_brute_force(kind: str, items: list[frozenset[int]], drawn: list[Any]) -> None:
    groups = drawn[: len(items)]
    true = {
        (left, right)
        for left in range(len(items))
        for right in range(len(items))
        if left != right and counts(kind, groups[left], groups[right])
        if items[left] and items[left] <= items[right]
    }
    options: dict[str, Any] = {"measure": "containment", "threshold": 1.0, kind: groups, "run": ONE}
    for method in ({"recall": 1.0}, {"recall": 0.99}):
        assert {(left, right) for left, right, _ in la.find_pairs(items, **options, **method)} == true


ROWS = [
    row | {"lang": "xyz"[at % 2] if at % 7 else None, "meta": {"site": at % 3}}
    for at, row in enumerate(families(15, 6))
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "a.parquet", row_group_size=7)
    return tmp_path / "a.parquet"


@pytest.mark.parametrize(("kind", "column"), [(kind, column) for kind in KINDS for column in ("lang", "meta.site")])
def test_texts_in_memory_and_in_files(corpus: Path, kind: str, column: str) -> None:
    table = pa.Table.from_pylist(ROWS)
    values = [row["lang"] if column == "lang" else row["meta"]["site"] for row in ROWS]
    options: dict[str, Any] = {"threshold": 0.7, "shingles": "char:5"}
    every = {(left, right) for left, right, _ in la.find_pairs(table, **options)}
    group = dict(zip((row["id"] for row in ROWS), values, strict=True))
    true = {(left, right) for left, right in every if counts(kind, group[left], group[right])}
    assert 0 < len(true) < len(every)
    ways: list[tuple[Any, dict[str, Any]]] = [
        (table, {kind: column}),
        (table, {kind: values, "threads": 2}),
        (corpus, {kind: column}),
        (corpus, {kind: column, "memory": "200MB"}),
        (corpus, {kind: pa.array(values), "recall": 1.0}),
        (corpus, {kind: column, "measure": "bag"}),
    ]
    kept = []
    for items, more in ways:
        assert {(left, right) for left, right, _ in la.find_pairs(items, **options, **more)} == true
        found = la.dedup(items, **options, **more)
        assert all(counts(kind, group[one], group[other]) for one, other, _ in found)
        kept.append(found.kept.to_pylist())
    assert all(one == kept[0] for one in kept)


def test_a_large_group_is_not_compared_with_others() -> None:
    """Copies of one text in many groups: the pairs within groups are few, those across are very many."""
    groups = np.arange(3000) % 1500
    texts = ["the same text in all of the groups, and long enough"] * 3000
    found = la.find_pairs(texts, within=groups, max_pairs=1500, method="lsh")
    assert len(found) == 1500
    assert found.stats["candidates"] == 0  # identical items within a group are the only ones that meet
    assert len(la.find_clusters(texts, within=groups, method="lsh")) == 1500


def test_groups_that_cannot_be_used(corpus: Path) -> None:
    texts = ["a text", "a text"]
    for more, why in (
        ({"within": ["a", "b"], "across": ["a", "b"]}, "within and across cannot be used together"),
        ({"within": "lang"}, "the input has no column 'lang' to group by"),
        ({"within": [1]}, "within must have a value for each of the 2 items; got 1"),
        ({"across": [1, 2, 3]}, "across must have a value for each of the 2 items; got 3"),
        ({"within": [1, "a"]}, "within must be a column, or one value per item; got list"),
        ({"within": [1, 1], "measure": "edit", "threshold": 2}, "within is for measures of sets, not for edit"),
    ):
        with pytest.raises((DataError, UsageError), match=why):
            la.find_pairs(texts, **more)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="within must be one value per item for sets; got 'lang'"):
        la.find_pairs([{1}, {2}], within="lang")
    with pytest.raises(UsageError, match="within cannot be used with order"):
        la.find_pairs([{1}, {2}], within=[1, 1], order=[1, 2])
    with pytest.raises(UsageError, match="across is for sets and texts"):
        la.find_pairs(np.eye(3), measure="angle", threshold=5, across=[1, 2, 3])
    with pytest.raises(DataError, match=r"no column 'langs' to group by; .* Did you mean 'lang'"):
        la.dedup(corpus, within="langs")
