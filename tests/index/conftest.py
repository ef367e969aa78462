"""Provide a path for an index."""

import pytest


@pytest.fixture
def place(tmp_path):
    return tmp_path / "some.index"
