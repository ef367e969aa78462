"""Check that texts are cut into lines, sentences and paragraphs as their rules say."""

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lookalike.items.sets import text_bounds
from lookalike.kernels import segments

texts = st.lists(
    st.text(["a", "b", " ", "\n", "\r", "\u3000", ".", "!", ")", "\u3002", "\u00e9"], max_size=14), max_size=4
)


def found(given, kind):
    """Return the segments of each text: (with white space, without)."""
    array = pa.array(["x. y", *given], pa.large_string()).slice(1)
    indptr, *columns = segments.find_segments(*text_bounds(array), kind)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    contents = [text.encode() for text in given]
    return [
        [(content[a:b].decode(), content[c:d].decode()) for a, b, c, d in rows[indptr[i] : indptr[i + 1]]]
        for i, content in enumerate(contents)
    ]


@given(texts)
def test_lines(given):
    for text, rows in zip(given, found(given, segments.LINE), strict=True):
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
        assert rows == [(line, line.strip()) for line in lines if line.strip()]


@given(texts)
def test_paragraphs(given):
    """One ends before a line after a blank one; blank lines belong to the one before them, or to no one."""
    for text, rows in zip(given, found(given, segments.PARAGRAPH), strict=True):
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
        expected, blank = [""], False
        for line in lines:
            if blank and line.strip():
                expected.append("")
            expected[-1] += line
            blank = not line.strip()
        assert rows == [(part, part.strip()) for part in expected if part.strip()]


@given(texts)
def test_sentences(given):
    """They are the whole text, in order, cut only where the rule says."""
    for text, rows in zip(given, found(given, segments.SENTENCE), strict=True):
        assert (
            "".join(whole for whole, _ in rows) == (text if text.strip() else "")[-len("".join(w for w, _ in rows)) :]
        )
        assert "".join("".join(bare.split()) for _, bare in rows) == "".join(text.split())
        for _, bare in rows:
            inner = re.sub(r"\r\n|\r|\n", "\n", bare)
            assert not re.search(r"[.!\u3002][)]*\s|\u3002[).!\u3002]*[^).!\u3002\s]|\n[^\S\n]*\n", inner)
        for (_, bare), _ in pairwise(rows):
            assert re.search(r"[.!\u3002][)]*$", bare) or "\n" in text or "\r" in text


def test_hashes_of_whole_texts():
    given = ["a  b", "a b", "ab", "", "a\u3000b"]
    array = text_bounds(pa.array(given, pa.large_string()))
    for seed in (0, 1):
        hashes = segments.hash_wholes(*array, seed)
        assert hashes[0] == hashes[1] == hashes[4]
        assert len(set(hashes.tolist())) == 3
    assert not np.array_equal(segments.hash_wholes(*array, 0), segments.hash_wholes(*array, 1))
