"""Check what result files hold: all rows, and settings that are read back unchanged."""

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.core.run import Run
from lookalike.results import files
from lookalike.results.files import audit_of, settings_of, sides_of, stats_of, tables_of

TEXTS = ["the cat sat on the mat", "the cat sat on the hat", "something else"]


def test_pairs_of_one_collection():
    found = lookalike.find_pairs(TEXTS, threshold=0.5, shingles="char:4", audit=3)
    settings = settings_of(found)
    assert list(settings)[:3] == ["version", "audit", "read"]
    assert settings["version"] == lookalike.__version__
    assert settings.items() >= found.plan.settings().items()
    assert audit_of(settings) == (found.audit.sampled, found.audit.true, found.audit.found, found.audit.nearest)
    assert sides_of(settings) == [3]
    assert stats_of(settings) == {"items": 3}


@pytest.mark.parametrize(("threshold", "bounded"), [({}, False), ({"threshold": 90}, True)])
def test_the_nearest_of_two_collections(threshold, bounded):
    vectors = np.random.default_rng(1).normal(size=(20, 3))
    found = lookalike.find_matches(vectors[:5], vectors, k=2, measure="angle", **threshold)
    settings = settings_of(found)
    assert sides_of(settings) == [5, 20]
    assert stats_of(settings) == {"items": 25, "nearest": 2, "bounded": bounded}
    assert audit_of(settings) is None


def test_pages():
    found = lookalike.find_clusters(TEXTS)
    assert settings_of(found, "article")["pages"] == "article"
    assert "pages" not in settings_of(found)


@pytest.mark.parametrize("settings", [{}, {"audit": "1 2", "read": "many", "nearest": "few"}])
def test_settings_that_say_nothing(settings):
    assert (audit_of(settings), sides_of(settings), stats_of(settings)) == (None, [], {})


@pytest.mark.parametrize("find", [lookalike.find_pairs, lookalike.find_clusters, lookalike.dedup])
@pytest.mark.parametrize("threads", [1, 3])
def test_tables_hold_all_rows(find, threads, monkeypatch):
    """They are the rows of `to_arrow`, in tables of at most three rows; the first has the columns, but no rows."""
    monkeypatch.setattr(files, "BATCH", 3)
    for items in ([{at // 4, 100 + at // 3} for at in range(30)], [{at} for at in range(9)]):
        found = find(items, threshold=0.9)
        first, *rest = tables_of(found, Run(threads))
        whole = found.to_arrow()
        assert len(first) == 0
        assert pa.concat_tables([first, *rest]).equals(whole)
        assert [len(table) for table in rest] == [min(3, len(whole) - start) for start in range(0, len(whole), 3)]
