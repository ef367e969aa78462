"""Check that texts are escaped as Python's own JSON writer escapes them."""

import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.kernels.escapes import escape, escaped_starts

SPECIAL = [*map(chr, range(0x23)), "\\", "\x7f", "\u2028", "\U0001f600"]
CHARACTERS = st.characters(codec="utf-8") | st.sampled_from(SPECIAL)


@given(st.lists(st.text(CHARACTERS, max_size=30), max_size=8))
@example([])
@example(["".join(map(chr, range(256)))])
def test_escape(texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    starts = np.cumsum([3, *map(len, encoded)])  # bytes before the first text are not part of it
    data = np.frombuffer(b'"\n"' + b"".join(encoded), np.uint8)
    expected = [json.dumps(text, ensure_ascii=False).encode() for text in texts]
    found = escaped_starts(data, starts)
    assert found.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert escape(data, starts, found[-1]).tobytes() == b"".join(expected)
