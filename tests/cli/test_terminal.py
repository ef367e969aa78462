"""Check that names and values cannot control the terminal: it shows their control characters."""

import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.cli import _show_warning
from lookalike.core.wording import visible
from tests.commands import Commands
from tests.samples import write

EVIL = "a\x1b[2J\x9b31m\u202etxt.\nlookalike: done\r\x07"
CONTROLS = "\x1b\x9b\u202e\r\x07"


def shows(text: str, name: str = visible(EVIL)) -> bool:
    """Return whether a text shows the name, escaped, and controls nothing."""
    return name in text and not any(character in text for character in CONTROLS)


@given(st.text())
def test_all_controls_are_escaped(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in shown)
    assert not any(unicodedata.bidirectional(one) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI") for one in shown)
    if text.isprintable():
        assert shown == text


def test_letters_of_all_languages_stay() -> None:
    for text in ("naïve.txt", "日本語 🙂.txt", "می‌خواهم", "👩‍💻", "שלום"):
        assert visible(text) == text


def test_errors(run: Commands, tmp_path: Path) -> None:
    """The line break of the name is a space there, as all messages are one line."""
    name = visible(" ".join(EVIL.split()))
    ended = run("pairs", tmp_path / EVIL)
    assert ended.code == 1
    assert shows(ended.err, name)
    assert len(ended.err.splitlines()) == 1
    assert shows(run("pairs", tmp_path / "a", f"--{EVIL}").err, "\\x1b[2J")


def test_notes_and_summaries(run: Commands, tmp_path: Path) -> None:
    (tmp_path / f"{EVIL}.csv").write_text("")
    ended = run("dedup", tmp_path / f"{EVIL}.csv", "-o", tmp_path / "out.csv")
    assert ended.code == 0
    assert shows(ended.err)


def test_tables(run: Commands, tmp_path: Path) -> None:
    ratings = [{"user": user, "item": f"{item}{EVIL}", "rating": 5} for user in "ab" for item in "xyz"]
    ratings = write(tmp_path / "ratings.jsonl", [*ratings, {"user": "b", "item": f"w{EVIL}", "rating": 5}])
    ended = run("baskets", ratings, "--recommend", "a", "-o", tmp_path / "out.csv")
    assert ended.code == 0
    assert shows(ended.err, "\\x1b")


def test_warnings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "showwarning", _show_warning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(EVIL, stacklevel=1)
    assert shows(capsys.readouterr().err)
