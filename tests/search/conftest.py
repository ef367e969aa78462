"""Provide fixtures that override the choices of a plan."""

from dataclasses import replace

import pytest


@pytest.fixture
def parts(monkeypatch):
    """Set how many parts codes are split into, whatever the planner would choose."""

    def set_parts(number):
        def plan(given, space, rows, *_):
            return replace(given, method="pigeonhole", parts=number, items=len(rows))

        monkeypatch.setattr("lookalike.search.vectors.fit_vectors", plan)

    return set_parts
