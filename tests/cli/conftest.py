"""Fixtures for the tests of commands."""

from pathlib import Path

import pytest

from tests.cli.corpus import ROWS
from tests.samples import write


@pytest.fixture
def corpus(inputs: Path) -> Path:
    return write(inputs / "corpus.jsonl", ROWS)
