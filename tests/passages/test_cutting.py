"""Check that what is cut out of texts is exactly what occurred before, against a plain twin."""

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import LookalikeError
from lookalike.items.shingles import split_words
from tests.passages import twin
from tests.passages.test_finding import corpora

LINES = st.sampled_from(["a", "b", " a ", "a  b", "a b", "c.", ""])
BREAKS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts_of_lines(draw):
    """Draw texts with mixed line breaks; the last line can lack its break."""
    lines = st.lists(st.tuples(LINES, BREAKS), max_size=8).map(lambda some: "".join(map("".join, some)))
    return draw(st.lists(st.tuples(lines, LINES).map("".join), max_size=5))


@settings(max_examples=500)
@given(corpora, st.integers(1, 8), st.integers(1, 3))
def test_spans_are_cut_like_the_plain_twin(documents, length, copies):
    given = [" ".join(f"w{char}," for char in document) for document in documents]
    cuts = la.dedup_units(given, unit=f"span:{length}", copies=copies, least=0)
    expected = twin.cut_units(documents, length, copies)
    left = [split_words(text) for text in cuts.texts().to_pylist()]
    assert left == [
        [f"w{char}" for char, cut in zip(d, c, strict=True) if not cut]
        for d, c in zip(documents, expected, strict=True)
    ]
    assert sum(row[3] for row in cuts) == sum(map(sum, expected))


@settings(max_examples=500)
@given(texts_of_lines(), st.integers(1, 3))
def test_lines_are_cut_like_the_plain_twin(texts, copies):
    seen, expected = {}, []
    for text in texts:
        kept = ""
        for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text):
            form = " ".join(line.split())
            seen[form] = seen.get(form, 0) + 1
            kept += line if not form or seen[form] <= copies else ""
        expected.append(kept)
    assert la.dedup_units(texts, unit="line", copies=copies, least=0).texts().to_pylist() == expected


def left(unit, *texts, **options):
    return la.dedup_units(list(texts), unit=unit, **options).texts().to_pylist()


def test_sentences():
    assert left("sentence", "One here. Two (there)! three", "Two\n(there)! Four. One here.") == [
        "One here. Two (there)! three",
        "Four. ",
    ]
    assert left("sentence", "\u3042\u3002\u3044\u3002", "\u3044\u3002\u3046") == ["\u3042\u3002\u3044\u3002", "\u3046"]
    assert left("sentence", "Title\n\nIt is.", "Title It is.") == ["Title\n\nIt is.", "Title It is."]
    assert (
        left("sentence", "\u0645\u0627\u061f \u0646\u0639\u0645.", "\u0645\u0627\u061f \u0644\u0627.")[1]
        == "\u0644\u0627."
    )


def test_marks_that_end_one_sentence_together_are_not_sentences():
    """They would be cut wherever they are."""
    assert left("sentence", "\u3042\uff1f\uff01\u3044\uff1f\uff01\u300d", "\u3046\u3002\u3002\u3048\uff01\uff01") == [
        "\u3042\uff1f\uff01\u3044\uff1f\uff01\u300d",
        "\u3046\u3002\u3002\u3048\uff01\uff01",
    ]
    assert left("sentence", "\u3042\uff1f\uff01\u3044\u3002", "\u3044\u3002\u3042\uff1f\uff01") == [
        "\u3042\uff1f\uff01\u3044\u3002"
    ]


def test_paragraphs():
    assert left("paragraph", "a\nb\n\nc d\n\n\n e", "c\nd\r\n\r\nf\n\na b") == ["a\nb\n\nc d\n\n\n e", "f\n\n"]


def test_words_never_grow_together():
    assert left("span:2", "\u4e00\u4e8c", "abc\u4e00\u4e8cdef") == ["\u4e00\u4e8c", "abc def"]
    assert left("span:2", "a b", "(a b) c", "x a b.") == ["a b", "() c", "x ."]


def test_a_copy_that_overlaps_one_that_stays_is_not_counted():
    assert left("span:2", "ha ha ha") == ["ha ha ha"]
    assert left("span:2", "ha ha ha ha ha") == ["ha ha "]


def test_documents_with_little_left_are_dropped():
    texts = ["a b c d", "a b c d x", "z"]
    cuts = la.dedup_units(pa.table({"id": ["p", "q", "r"], "text": texts}), unit="span:3", least=2)
    assert (cuts.kept.to_pylist(), cuts.texts().to_pylist()) == (["p", "r"], ["a b c d", "z"])
    row = cuts.to_arrow().to_pylist()[0]
    assert (row["document"], row["first_document"], row["text"], row["length"]) == ("q", "p", "a b c d", 4)
    assert [at["text"] for at in cuts.explain(0)] == ["a b c", "a b c d"]
    assert repr(cuts) == "<1 cut in 3 documents, 2 kept>"


@pytest.mark.parametrize("unit", ["span:0", "span:", "word", "lines", 5])
def test_units_must_be_known(unit):
    with pytest.raises(LookalikeError, match="must"):
        la.dedup_units(["a"], unit=unit)
