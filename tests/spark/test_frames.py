"""Check how candidates are joined with their items."""

import pytest

from lookalike.spark import frames
from tests.engines import COLLECTIONS, Here, named

pytestmark = pytest.mark.spark


def test_many_candidates_are_not_sent_to_all(there, monkeypatch):
    monkeypatch.setattr(frames, "BROADCAST", 0)
    table, options = named(), COLLECTIONS["names"][1]
    assert there.pairs(table, **options) == Here().pairs(table, **options)
