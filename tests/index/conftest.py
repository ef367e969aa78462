"""Provide a place for an index."""

import pytest


@pytest.fixture
def place(tmp_path):
    return tmp_path / "some.index"
