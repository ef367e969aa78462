"""Check that all results can do the same things."""

import sys

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.errors import UsageError

TEXTS = ["the cat sat on the mat", "the cat sat on the hat", "something else", "the cat sat on the mat"]
RATINGS = [(user, film) for user in "abc" for film in ("Alien", "Aliens")] + [("a", "Fargo"), ("d", "Alien")]
PEOPLE = [
    {"name": name, "city": city, "phone": phone, "born": born}
    for name, city, phone, born in [
        ("Ann Lee", "Rome", "555 0101", "1980-02-03"), ("Anne Lee", "Rome", "555 0101", "1980-02-03"),
        ("Bob Ray", "Oslo", "555 0202", "1975-07-09"), ("Cy Orr", "Bonn", "555 0303", "1990-01-31"),
    ]
]  # fmt: skip


def sifted():
    from tempfile import mkdtemp

    with la.Index.build(f"{mkdtemp()}/seen", TEXTS[:1], threshold=0.5, shingles="char:4") as index:
        return index.sift(TEXTS[1:3], ["hat", "else"])


RESULTS = {
    "pairs": lambda: la.find_pairs(TEXTS, threshold=0.5, shingles="char:4", audit=2),
    "matches": lambda: la.find_matches(TEXTS[:2], TEXTS[2:], threshold=0.5, shingles="char:4"),
    "vectors": lambda: la.find_pairs(np.eye(3) + 1, measure="angle", k=1),
    "clusters": lambda: la.find_clusters(TEXTS, threshold=0.5, shingles="char:4", audit=2),
    "dedup": lambda: la.dedup(TEXTS, threshold=0.5, shingles="char:4", audit=2),
    "groups": lambda: la.baskets.group_items(RATINGS, threshold=0.5),
    "resolution": lambda: la.entities.resolve(PEOPLE, fields=["name", "city", "phone", "born"]),
    "recommendations": lambda: la.baskets.recommend(RATINGS, "b"),
    "sifted": sifted,
}


@pytest.fixture(scope="module", params=RESULTS)
def result(request):
    return RESULTS[request.param]()


def test_rows_are_counted_iterated_and_indexed(result):
    rows = list(result)
    assert len(rows) == len(result) > 0
    assert [result[at] for at in range(len(rows))] == rows
    assert result[-1] == rows[-1]
    assert result[:] == rows
    assert result[1:] == rows[1:]
    assert result[::-1] == rows[::-1]
    with pytest.raises(IndexError, match=rf"^row {len(rows)} is out of range: the result has {len(rows)} rows?\.$"):
        result[len(rows)]
    with pytest.raises(IndexError):
        result[-len(rows) - 1]


def test_tables_are_the_same_in_every_library(result):
    table = result.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.num_rows >= len(result)
    assert pa.table(result).equals(table)  # by the Arrow stream
    assert result.to_pandas().equals(table.to_pandas())
    try:
        import polars
    except ImportError:
        with pytest.raises(
            UsageError, match=r"^to_polars\(\) needs polars, which is not installed: pip install polars"
        ):
            result.to_polars()
    else:
        assert result.to_polars().equals(polars.from_arrow(table))


def test_data_frames_need_pandas(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"^to_pandas\(\) needs pandas, which is not installed: pip install pandas\.$"):
        result.to_pandas()


def test_results_describe_themselves(result):
    assert repr(result).startswith("<")
    assert "<table>" in result._repr_html_()
    assert isinstance(result.stats, dict)
    assert hasattr(result, "plan")
    assert hasattr(result, "audit")


def test_every_row_is_explained(result):
    for at in range(len(result)):
        why = result.explain(at)
        assert isinstance(why, la.Explanation)
        assert str(why)
        assert len(why) == len(list(why)) == len(why.rows()) > 0
        assert why[0] == why.rows()[0]


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_page(name, tmp_path):
    RESULTS[name]().report(tmp_path / "page.html", title="A page")
    assert "A page" in (tmp_path / "page.html").read_text()


def test_members_of_a_cluster_are_explained():
    clusters = la.find_clusters([{1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}], threshold=0.7)
    assert list(clusters) == [[0, 1, 2]]
    assert clusters.explain(0).right_only == [4]
    assert clusters.explain(0, 0, 2).right_only == [4, 5]


def test_a_removed_item_is_explained_by_the_kept_one():
    result = la.dedup([{1, 2, 3}, {9}, {1, 2, 3, 4}], threshold=0.7)
    assert list(result) == [(2, 0, 0.75)]
    assert result.explain(0).both == [1, 2, 3]
    assert result.explain(0).right_only == [4]
