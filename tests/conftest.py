"""What all tests share: Hypothesis draws the same examples on every run, and commands have folders to work in."""

from pathlib import Path

import pytest
from commands import Commands
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, database=None, max_examples=100)
settings.load_profile("fixed")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    """Runs a command within this process."""
    return Commands(monkeypatch, capsys)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """An empty folder for inputs."""
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty folder for outputs."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
