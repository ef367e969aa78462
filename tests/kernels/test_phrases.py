"""Texts as numbers of phrases."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookalike.kernels import phrases as kernels
from tests import reference as ref

PHRASE = st.binary(min_size=1, max_size=16)
PIECES = st.sampled_from([b"a", b"ab", b"abc", b" the", b"\xff", b"x" * 20])
TEXTS = st.lists(st.lists(PIECES, max_size=8).map(b"".join), max_size=8)
SOME = st.lists(st.one_of(PHRASE, st.sampled_from([b"a", b"abc", b" the", b"x" * 16])), unique=True)


def arrays(rows):
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return np.frombuffer(b"".join(rows) or b"\0", np.uint8), ends


@given(texts=TEXTS, phrases=SOME)
def test_texts_come_back(texts, phrases):
    """The longest phrase is taken at each place; a byte without one is written as it is."""
    (data, ends), (content, bounds) = arrays(texts), arrays(phrases)
    table, used = kernels.table_of(content, bounds), np.zeros(len(phrases), np.int64)
    made, starts = kernels.encode_phrases(data, ends[:-1], ends[1:], content, bounds, table, used)
    encoded = [made[starts[at] : starts[at + 1]].tobytes() for at in range(len(texts))]
    expected = [ref.phrases_of(text, phrases) for text in texts]
    assert encoded == [ref.phrase_codes(numbers) for numbers in expected]
    assert used.tolist() == [sum(numbers.count(at) for numbers in expected) for at in range(len(phrases))]
    back, places = kernels.decode_phrases(made, starts[:-1], starts[1:], content, bounds)
    assert [back[places[at] : places[at + 1]].tobytes() for at in range(len(texts))] == texts


def test_many_phrases_take_two_bytes():
    phrases = [number.to_bytes(3, "big") for number in range(kernels.MOST)]
    (content, bounds), (data, ends) = arrays(phrases), arrays([phrases[190] + phrases[191] + phrases[-1]])
    table, used = kernels.table_of(content, bounds), np.zeros(len(phrases), np.int64)
    made, starts = kernels.encode_phrases(data, ends[:-1], ends[1:], content, bounds, table, used)
    assert made.tolist() == [190, 191, 0, 254, 255]
    back, _ = kernels.decode_phrases(made, starts[:-1], starts[1:], content, bounds)
    assert back.tobytes() == data.tobytes()


@given(st.binary(max_size=30))
def test_bytes_that_are_no_codes(content):
    """They are read without a step beyond their end, or give no text at all."""
    phrases, bounds = arrays([b"a", b"bc"])
    data = np.frombuffer(content or b"\0", np.uint8)
    made, _ = kernels.decode_phrases(data, np.array([0]), np.array([len(content)]), phrases, bounds)
    assert len(made) <= 2 * len(content)
