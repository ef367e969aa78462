"""Provide ways to choose what a plan would."""

from dataclasses import replace

import pytest


@pytest.fixture
def parts(monkeypatch):
    """Sets how many parts codes are split into, whatever the planner thinks of it."""

    def set_parts(number):
        def plan(given, space, rows, *_):
            return replace(given, method="pigeonhole", parts=number, items=len(rows))

        monkeypatch.setattr("lookalike.search.vectors.fit_vectors", plan)

    return set_parts
