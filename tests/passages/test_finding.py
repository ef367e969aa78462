"""Check that passages are exactly the repeated ones, against a plain twin and in hard cases."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from tests.passages import twin

tiny = st.lists(st.text("ab", max_size=30), max_size=6)
small = st.lists(st.text("abcd", max_size=60), max_size=6)


@st.composite
def spliced(draw):
    """Draw documents that are made of stretches of others, and repeats of one stretch."""
    documents = draw(st.lists(st.text("abcde", min_size=1, max_size=30), min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 4))):
        made = ""
        for _ in range(draw(st.integers(1, 4))):
            source = draw(st.sampled_from(documents))
            start, size, times = draw(st.integers(0, 30)), draw(st.integers(0, 30)), draw(st.integers(1, 3))
            made += source[start : start + size] * times + draw(st.text("abcde", max_size=2))
        documents.append(made)
    return documents


corpora = st.one_of(tiny, small, spliced())


def in_order(found):
    """Return passages as the twin does, for documents whose units are single characters."""
    table = found.to_arrow().to_pylist()
    rows = [(r["document"], r["start"], r["stop"], r["copies"], r["first_document"], r["first_start"]) for r in table]
    assert all(row["length"] == row["stop"] - row["start"] == row["first_stop"] - row["first_start"] for row in table)
    return sorted(rows, key=lambda row: row[:3])


def found_in(documents, length, **options):
    return la.find_passages(documents, length=length, unit="char", **options)


@settings(max_examples=1000)
@given(corpora, st.integers(1, 12))
def test_passages_are_those_of_the_plain_twin(documents, length):
    found = found_in(documents, length)
    assert in_order(found) == sorted(twin.passages(documents, length), key=lambda row: row[:3])
    assert all(
        row["text"] == documents[row["document"]][row["start"] : row["stop"]] for row in found.to_arrow().to_pylist()
    )


@settings(max_examples=500)
@given(corpora, corpora, st.integers(1, 12))
def test_passages_of_two_collections_are_those_of_the_plain_twin(left, right, length):
    found = found_in(left, length, right=right)
    expected = twin.passages([*left, *right], length, split=len(left))
    expected = [(document - len(left), *rest) for document, *rest in expected]
    assert in_order(found) == sorted(expected, key=lambda row: row[:3])


@given(corpora, st.integers(1, 12))
def test_every_repeated_window_is_in_a_passage_or_is_the_first(documents, length):
    """None is listed that is not repeated. This is the guarantee, apart from how passages are cut."""
    listed = set()
    for document, start, stop, copies, first, beside in in_order(found_in(documents, length)):
        assert copies >= 2
        assert documents[document][start:stop] == documents[first][beside : beside + stop - start]
        assert (document, start) != (first, beside)
        listed |= {(document, at) for at in range(start, stop - length + 1)}
    groups = twin.repeated(documents, length).values()
    assert listed <= {place for places in groups for place in places}
    assert listed >= {place for places in groups for place in places[1:]}


@given(small, st.integers(1, 8))
def test_words_are_found_like_characters(documents, length):
    words = [" ".join(f"w{char}," for char in document) for document in documents]
    found = la.find_passages(words, length=length)
    rows = [(r["document"], r["length"], r["copies"], r["first_document"]) for r in found.to_arrow().to_pylist()]
    alike = [
        (r["document"], r["length"], r["copies"], r["first_document"])
        for r in found_in(documents, length).to_arrow().to_pylist()
    ]
    assert Counter(rows) == Counter(alike)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("piece", [1, 50, 1 << 20])
def test_results_do_not_depend_on_threads_or_pieces(threads, piece, monkeypatch):
    rng = np.random.default_rng(3)
    documents = ["".join(rng.choice(list("abc"), 200)) for _ in range(60)]
    expected = la.find_passages(documents, length=9, unit="char", threads=1).to_arrow()
    monkeypatch.setattr("lookalike.search.collection.PIECE", piece)
    monkeypatch.setattr("lookalike.passages.linking.PART", piece)
    monkeypatch.setattr("lookalike.passages.places.COMPARED", piece)
    assert la.find_passages(documents, length=9, unit="char", threads=threads).to_arrow().equals(expected)
