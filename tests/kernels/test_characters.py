"""Check the frozen table of characters against Unicode."""

import unicodedata
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels.characters import ALONE, INDEX, KIND, LETTER, MARK, PAGES, SEPARATOR, SPACE, UNSTABLE

SPACES = [*b"\t\n\v\f\r ", 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
KIND_COUNTS = [912861, 25, 39055, 159761, 2410]  # separators, white space, letters, lone letters, marks
FLAT = PAGES[INDEX].reshape(-1)  # the entries of all code points


# --- the frozen table ---

UNSPACED = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "THAI ", "LAO ", "MYANMAR ", "KHMER ",
    "TAI THAM", "NEW TAI LUE", "TAI VIET", "TAI LE", "AHOM", "TANGUT IDEOGRAPH",
)  # fmt: skip


def expected_kind(code):
    """Return the kind that a character should have, by the Unicode data of the running Python."""
    category, name = unicodedata.category(chr(code)), unicodedata.name(chr(code), "")
    if code in SPACES:
        return SPACE
    if category.startswith("M") or code in (0x200C, 0x200D):
        return MARK
    if category.startswith("L"):
        return ALONE if name.startswith(UNSPACED) else LETTER
    if category.startswith("N") or category == "Pc":
        return LETTER
    reserved = category == "Cn" and 0x20000 <= code < 0x3FFFE
    return ALONE if reserved else SEPARATOR


@pytest.mark.slow
def test_table_is_that_of_unicode_14():
    """For every code point; a newer Python can know characters that Unicode 14 does not assign."""
    kinds = FLAT & KIND
    expected = np.array([expected_kind(code) for code in range(0x110000)])
    different = np.flatnonzero(kinds != expected)
    if unicodedata.unidata_version == "14.0.0":
        assert different.tolist() == []
    else:
        assert set(kinds[different].tolist()) <= {SEPARATOR}
    assert np.bincount(kinds, minlength=5).tolist() == KIND_COUNTS


def stable_characters():
    codes = np.flatnonzero(FLAT & UNSTABLE == 0).tolist()
    return [chr(code) for code in codes if not 0xD800 <= code < 0xE000]


@pytest.mark.slow
def test_stable_characters_are_in_normal_form_side_by_side():
    """All of them in one text, in two orders. All characters up to U+02FF are stable."""
    stable = stable_characters()
    for order in (stable, stable[::-1]):
        assert unicodedata.is_normalized("NFC", "".join(order))
    assert {chr(code) for code in range(0x300)} <= set(stable)


def tricky(code):
    """Return whether composition can involve a character: decomposable, a mark, or Hangul."""
    is_mark = unicodedata.category(chr(code)).startswith("M")
    return is_mark or unicodedata.decomposition(chr(code)) != "" or 0x1100 <= code < 0x1200


TRICKY = [chr(code) for code in range(0x30000) if tricky(code)]
PARTS = sorted({part for char in TRICKY for part in unicodedata.normalize("NFD", char)})
STABLE_PARTS = [char for char in PARTS if not FLAT[ord(char)] & UNSTABLE]


@given(st.text(st.sampled_from(STABLE_PARTS), max_size=100))
def test_texts_of_stable_characters_are_in_normal_form(text):
    assert unicodedata.normalize("NFC", text) == text


def test_few_characters_are_unstable():
    """The flag exists so that most texts need no normalisation."""
    assert Fraction(int(np.count_nonzero(FLAT & UNSTABLE)), 0x110000) < Fraction(1, 300)
