"""What the tests of commands share."""

from pathlib import Path

import pytest

from tests.cli.corpus import ROWS
from tests.samples import write


@pytest.fixture
def corpus(inputs: Path) -> Path:
    return write(inputs / "corpus.jsonl", ROWS)
