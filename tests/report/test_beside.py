"""Check how two items are shown side by side."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.shingles import Shingles
from lookalike.report.beside import ENDS, MOST, beside, pieces, stretches
from lookalike.report.describe import brief
from tests.reports import documents

# --- side by side ---


def test_texts_with_what_they_share():
    left, right = "An old cat sat on the mat today.", "Yesterday an old cat sat on the mat."
    found = beside(left, right, Shingles.parse("word:3", lowercase=True))
    assert found.line == "1 shared passage, 69% of the right text"
    assert [(piece.text, piece.passages) for piece in found.left] == [
        ("An old cat sat on the mat", (0,)),
        (" today.", ()),
    ]
    assert [(piece.text, piece.passages) for piece in found.right] == [
        ("Yesterday ", ()),
        ("an old cat sat on the mat", (0,)),
        (".", ()),
    ]
    assert beside("abc", "xyz", Shingles()).line == "no shared passages"
    assert beside("abc", "abc", None).line == "the two texts are the same"


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=6).map(
    lambda pairs: [(start, start + size, at) for at, (start, size) in enumerate(pairs)]
)


@given(spans)
def test_pieces_are_the_text(some):
    """The pieces are the whole text in order, and exactly the parts within a span have a number."""
    length = max([60, *(end for _, end, _ in some)])
    text = "".join(chr(97 + at % 26) for at in range(length))
    shown = list(pieces(text, some))
    assert "".join(piece.text for piece in shown) == text
    at = 0
    for piece in shown:
        inside = [any(start <= place < end for start, end, _ in some) for place in range(at, at + len(piece.text))]
        assert all(inside) if piece.passages else not any(inside)
        at += len(piece.text)
    used = {number for _, _, numbers in stretches(length, some) for number in numbers}
    assert used <= {number for _, _, number in some}


def test_long_texts_are_cut():
    text = "".join(map(str, range(10_000)))
    shown = list(pieces(text, [(0, len(text), 7)]))
    assert [piece.note for piece in shown] == [False, True, False]
    assert (shown[0].text, shown[2].text) == (text[:ENDS], text[-ENDS:])
    assert shown[1].text == f"{len(text) - 2 * ENDS:,} shared characters"
    short = [(at, at + 50, at) for at in range(0, len(text) - 50, 100)]
    shown = list(pieces(text, short))
    assert sum(len(piece.text) for piece in shown if not piece.note) == MOST
    assert shown[-1].text == f"{len(text) - MOST:,} more characters"
    long = " ".join(documents(400))
    assert "(first 20,000 characters only)" in beside(long, long + "!", Shingles()).line


def test_control_characters_are_shown_as_signs():
    assert [piece.text for piece in beside("a\0b\x1b\tc", "z", Shingles()).left] == ["a␀b␛\tc"]


def test_sets_and_bags():
    found = beside({"tea", "milk"}, {"milk", "oil"}, None)
    assert (found.both, found.left, found.right, found.counts) == (["milk"], ["tea"], ["oil"], (1, 1, 1))
    found = beside(Counter(a=3, b=1), Counter(a=1), None)
    assert (found.both, found.left, found.counts) == (["a"], ["a (×2)", "b"], (1, 3, 0))  # noqa: RUF001
    assert beside({10, 9, 2}, {9}, None).left == ["2", "10"]


def test_vectors_and_codes():
    found = beside(np.array([0.0, 2.0, -1.0]), np.array([0.0, 1.0, -1.0]), None)
    assert found.rows == [(1, "2", "1")]
    assert found.line == "3 components; lengths 2.236 and 1.414"
    assert found.left == "0,26.67 50,0 100,40"
    assert found.zero == pytest.approx(26.67, abs=0.01)
    long = beside(np.ones(1000), np.zeros(1000), None)
    assert len(long.left.split(" ")) == 250
    assert "one in 4 drawn" in long.line
    found = beside(np.array([True, False, True]), np.array([True, True, True]), None)
    assert found.line == "1 of 3 bits differ"
    assert [(piece.text, bool(piece.passages)) for piece in found.left] == [("1", True), ("0", False), ("1", True)]


# --- regressions ---


def test_large_sets_and_vectors_are_shown_in_part():
    """A few of very many are shown, without sorting or formatting all of them."""
    one, other = set(range(400_000)), set(range(5, 400_005))
    assert len(beside(one, other, None).both) == 60
    assert brief(one).startswith("0, 1, 2")
    wide = np.zeros(300_000)
    assert len(beside(wide, wide + 1, None).left.split()) <= 256
