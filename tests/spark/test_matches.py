"""Check the pairs between two data frames."""

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import DataError
from lookalike.spark import groups
from tests.engines import COLLECTIONS, as_items, baskets, documents

pytestmark = pytest.mark.spark


def halves(table, at, names=False):
    """Return two parts of a table, both numbered from 0 or with ids of two types."""
    left, right = table.select(["id", "text"]).slice(0, at), table.select(["id", "text"]).slice(at)
    ids = [f"r{row}" for row in range(len(right))] if names else list(range(len(right)))
    return left, right.set_column(0, "id", pa.array(ids))


def pairs_of(table):
    return {(a, b): value for a, b, value in zip(*table.to_pydict().values(), strict=True)}


@pytest.mark.parametrize(("limit", "names"), [(groups.LIMIT, False), (4000, True)])
def test_the_same_matches_as_on_one_machine(there, monkeypatch, limit, names):
    """Identical documents within a side stay apart, and so do groups that are cut."""
    monkeypatch.setattr(groups, "LIMIT", limit)
    options = COLLECTIONS["documents"][1]
    left, right = halves(documents().slice(0, 800), 420, names)
    there_pairs = pairs_of(la.spark.find_matches(there.frame(left), there.frame(right), **options).toArrow())
    assert there_pairs == pairs_of(la.find_matches(left, right, method="lsh", **options).to_arrow())
    assert len(there_pairs) > 30


def test_matches_of_lists(there):
    left, right = halves(baskets(), 300)
    here = la.find_matches(as_items(left), as_items(right), threshold=0.6, method="lsh")
    found = la.spark.find_matches(there.frame(left), there.frame(right), threshold=0.6).toArrow()
    assert pairs_of(found) == pairs_of(here.to_arrow())
    assert len(here) > 50


def test_columns_of_two_names(there):
    left = pa.table({"key": ["a"], "body": ["one text of some words"]})
    right = pa.table({"number": [7], "article": ["one text of some words"]})
    found = la.spark.find_matches(
        there.frame(left), there.frame(right), text="body:article", id="key:number", shingles="word:2"
    )
    assert found.toArrow().to_pylist() == [{"left": "a", "right": 7, "similarity": 1.0}]
    lists = pa.table({"number": [7], "article": [["one"]]})
    with pytest.raises(DataError, match="columns 'body' and 'article' must both hold texts, or both lists of elements"):
        la.spark.find_matches(there.frame(left), there.frame(lists), text="body:article", id="key:number")
