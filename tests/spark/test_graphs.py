"""Check clusters computed by rounds of shuffles."""

import pyarrow as pa
import pytest

from lookalike.spark import graphs
from tests.engines import COLLECTIONS, Here, documents

pytestmark = pytest.mark.spark


def test_rounds_of_shuffles_give_what_one_task_gives(there, monkeypatch):
    table, options = documents(), COLLECTIONS["documents"][1]
    monkeypatch.setattr(graphs, "FINISH", 0)
    assert there.clusters(table, **options) == Here().clusters(table, **options)


def test_a_long_chain(there, monkeypatch):
    """Each text is similar to the next, but not to the one after it."""
    words = [f"w{at}" for at in range(80)]
    texts = [" ".join(words[at : at + 10]) for at in range(24)]
    table = pa.table({"id": range(24), "text": texts})
    options = {"threshold": 0.8, "shingles": "word:1", "recall": 0.9999}
    monkeypatch.setattr(graphs, "FINISH", 0)
    assert [(row["id"], row["cluster"]) for row in there.clusters(table, **options)] == [(at, 0) for at in range(24)]
    assert [row["id"] for row in there.dropped(table, **options)] == list(range(1, 24, 2))
