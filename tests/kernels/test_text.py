"""Check the hashes of texts against their plain twins and against fixed values of the format."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.sets import text_bounds
from lookalike.kernels import text
from tests import reference as ref
from tests.kernel_samples import GOLDEN_TEXT, SIZES, as_lists, numbers, seeds

SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"
# One to four bytes, separators, marks and joiners, scripts with and without spaces, ends of planes.
CHARACTERS = (
    "abcXYZ019_-.,'\0\x1c\x7f\u0080\u00ad\u00df\u00e9\u0130\u0301\u0308\u0327\u0416\u05d0\u05b0\u0639\u0651\u0915\u093f"
    "\u0e01\u0e31\u0e44\u0eab\u1100\u1161\u11a8\uac00\u1e9e\u200b\u200c\u200d\u203f\u2060\u3042\u30a2\u4e00\u9fff\ue000"
    "\ufb01\ufdfa\ufeff\ufffd\uffff\U00010400\U0001d400\U0001f600\U0001f3fd\U00020000\U0003fffd\U000e0100\U0010ffff"
)
CONTENT = [3940058677981856351, 13038551630422080217]


def drawn_text(rng):
    """Return a random text with a size at some boundary, or a short one."""
    n = rng.choice([*SIZES, *range(12)])
    return "".join(rng.choice(CHARACTERS if rng.random() < 0.8 else SPACES) for _ in range(n))


texts = st.one_of(
    st.lists(st.text(st.sampled_from(CHARACTERS + SPACES), max_size=40), max_size=5),
    seeds.map(lambda rng: [drawn_text(rng) for _ in range(rng.randrange(1, 4))]),
)


def bounds(given):
    """Return the texts in the form that kernels use, in the middle of a larger Arrow array."""
    return text_bounds(pa.array(["\u4e00b\u0301 c", *given, "d"], pa.large_string()).slice(1, len(given)))


# --- hashes of texts ---


@given(texts)
def test_decode(given):
    data, starts, stops = bounds(given)
    for start, stop, expected in zip(starts, stops, given, strict=True):
        found, at = "", start
        while at < stop:
            code, at = text.decode(data, at)
            found += chr(code)
        assert found == expected
        assert at == stop


@given(texts, st.integers(1, 12), st.sampled_from(["collapse", "keep", "remove"]))
def test_hashes_of_characters(given, k, space):
    white = ["collapse", "keep", "remove"].index(space)
    found = text.hash_texts(*bounds(given), text.CHAR, k, white, np.uint64(ref.ALL))
    assert as_lists(*found) == [ref.hash_text(one, "char", k, space) for one in given]


@given(texts, st.integers(1, 6), st.sampled_from([ref.ALL, 0xFFFFFFFF_00000000]))
def test_hashes_of_words(given, k, keep):
    for unit in (text.WORD, text.TOKEN):
        found = text.hash_texts(*bounds(given), unit, k, text.COLLAPSE, np.uint64(keep))
        signs = unit == text.TOKEN
        assert as_lists(*found) == [ref.hash_text(one, "word", k, keep=keep, punctuation=signs) for one in given]


def test_hashes_of_words_wherever_the_middle_of_a_text_is():
    given = ["".join(some) for n in range(8) for some in product("ab ", repeat=n)]
    found = text.hash_texts(*bounds(given), text.WORD, 1, text.COLLAPSE, np.uint64(ref.ALL))
    assert as_lists(*found) == [ref.hash_text(one, "word", 1) for one in given]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("k", [1, 2, 9, 64])
def test_hashes_of_texts_at_the_edges_of_k(size, k):
    given = ["\u00e9" * size, "ab " * size, "".join(chr(0x4E00 + i) for i in range(size))]
    everything = np.uint64(ref.ALL)
    for unit, name in ((text.CHAR, "char"), (text.WORD, "word")):
        found = text.hash_texts(*bounds(given), unit, k, text.COLLAPSE, everything)
        assert as_lists(*found) == [ref.hash_text(one, name, k) for one in given]


@given(st.lists(numbers, max_size=70), st.integers(1, 70))
def test_windows_wrap_at_64_bits(units, k):
    out = np.empty(len(units), np.uint64)
    n = text.windows(np.array(units, np.uint64), len(units), k, np.uint64(ref.ALL), out)
    assert out[:n].tolist() == [ref.hash_window(window) for window in ref.windows(units, k)]


few_words = st.sets(st.sampled_from(["a", "b", "x", "\u4e00", "\u00e9", "bc", "i"]))


@given(texts, few_words, few_words, st.integers(1, 4), st.integers(1, 3))
def test_hashes_of_spots(given, antecedents, skipped, k, distance):
    given = [*given, "A b Xa \u00c9 \u4e00\u4e00 bc", "x", "a b c a x \u4e00 i b a a bc b \u00e9 x i a b b a"]
    lists = [np.array(sorted(map(ref.hash_word, some)), dtype=np.uint64) for some in (antecedents, skipped)]
    found = text.hash_spots(*bounds(given), *lists, k, distance, np.uint64(ref.ALL))
    assert as_lists(*found) == [ref.hash_spots(one, antecedents, skipped, k, distance) for one in given]


@given(st.lists(numbers.filter(bool), unique=True, max_size=300), st.lists(numbers.filter(bool), max_size=9))
def test_values_in_a_table(values, others):
    table = text.hash_table(np.array(values, np.uint64))
    assert [text.is_in(table, np.uint64(x)) for x in [*values, *others]] == [x in values for x in [*values, *others]]


@given(texts)
def test_needs_normal_form(given):
    assert text.needs_normal_form(*bounds(given)).tolist() == [ref.needs_normal_form(one) for one in given]


@given(texts)
def test_hashes_of_contents(given):
    assert text.hash_contents(*bounds(given)).tolist() == [ref.hash_content(one.encode()) for one in given]


def test_hashes_of_contents_distinguish_lengths_and_zeros():
    given = ["\0" * n for n in range(40)] + ["\0" * n + "a" for n in range(40)]
    hashes = text.hash_contents(*bounds(given))
    assert hashes.tolist() == [ref.hash_content(one.encode()) for one in given]
    assert len(np.unique(hashes[:, 0])) == len(np.unique(hashes[:, 1])) == len(given)


# --- format 1 ---


def test_format_1_contents():
    assert text.hash_contents(*bounds([GOLDEN_TEXT])).tolist() == [CONTENT]
