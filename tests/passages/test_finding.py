"""Check that passages are exactly the repeated ones, against a plain twin and in hard cases."""

from collections import Counter
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.errors import LookalikeError
from lookalike.items.shingles import Shingles
from lookalike.kernels.hashing import EMPTY
from lookalike.passages import finding, linking
from tests import reference
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
    monkeypatch.setattr("lookalike.search.sketching.PIECE", piece)
    monkeypatch.setattr("lookalike.passages.linking.PART", piece)
    monkeypatch.setattr("lookalike.passages.places.COMPARED", piece)
    assert la.find_passages(documents, length=9, unit="char", threads=threads).to_arrow().equals(expected)


# --- hard input ---


def test_windows_longer_than_the_texts():
    found = la.find_passages(["a b c", "a b c"], length=4)
    assert (len(found), found.stats["short"], found.to_arrow().num_rows) == (0, 2, 0)
    assert list(la.find_passages([], length=4)) == list(la.find_passages([""], length=1)) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"length": 0}, "length must be"),
        ({"length": 2.5}, "length must be"),
        ({"unit": "line"}, "unit must be"),
        ({"gap": -1}, "gap must be"),
        ({"case": "lower"}, "case must be"),
        ({"punctuation": "x"}, "punctuation must be"),
        ({"memory": "2GB"}, "read from files"),
    ],
)
def test_parameters_must_follow_their_rules(options, why):
    with pytest.raises(LookalikeError, match=why):
        la.find_passages(["a"], **options)


@pytest.mark.parametrize("items", [[{1, 2}], 5, b"abc"])
def test_items_must_be_texts(items):
    with pytest.raises(LookalikeError):
        la.find_passages(items)


def test_a_passage_that_occurs_very_often():
    """Each place is one row; the work is linear."""
    item = " ".join(f"q{i}" for i in range(60))
    found = la.find_passages([f"before{i} {item} after{i}" for i in range(20_000)], length=50)
    assert len(found) == 19_999
    assert set(found.copies.tolist()) == {20_000}
    assert set(found.length.tolist()) == {60}
    assert {row[5] for row in found[:100]} == {0}


@pytest.mark.parametrize("unit", ["char", "word"])
def test_a_document_of_one_character_or_word(unit):
    text = "a" * 200_000 if unit == "char" else "a " * 100_000 + "a"
    found = la.find_passages([text], unit=unit, length=50)
    units = 200_000 if unit == "char" else 100_001
    assert [row[3:6] for row in found] == [(units - 1, units - 49, 0)]
    assert found[0][1:3] == (1 if unit == "char" else 2, len(text))


def test_identical_documents():
    text = " ".join(f"w{i}" for i in range(80))
    found = la.find_passages([text] * 4, length=50)
    assert [(row[0], row[3], row[4], row[5]) for row in found] == [(i, 80, 4, 0) for i in (1, 2, 3)]


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (
            "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u05d8\u05d5\u05d1",
            "\u05db\u05df, \u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, \u05d8\u05d5\u05d1!",
            "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd, \u05d8\u05d5\u05d1",
        ),
        ("\u6211\u7231\u5317\u4eac", "\u4ed6\u8bf4\uff1a\u6211\u7231\u5317\u4eac\u3002", "\u6211\u7231\u5317\u4eac"),
        ("to be\nor not", "To be\r\nor\rNOT", "To be\r\nor\rNOT"),
        ("caf\u00e9 au lait", "un cafe\u0301 au lait", "cafe\u0301 au lait"),
        ("\u0130stanbul is big", "see \u0130stanbul is big", "\u0130stanbul is big"),
    ],
)
def test_scripts_line_breaks_and_normal_forms(one, other, shown):
    found = la.find_passages([one, other], length=3)
    assert [row[8] for row in found] == [shown]
    assert other[found[0][1] : found[0][2]] == shown


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("\u064b\u3000a\u05b0", "\u3000\u064b\u05b0\u3000a\u05b0", "\u064b\u05b0\u3000a\u05b0"),
        ("a \n\u0301\u05b0b", "ax\u05b0\u0301b", "\u05b0\u0301b"),
        ("ax\u05b0\u0301b", "a \n\u0301\u05b0b", "\u0301\u05b0b"),
    ],
)
def test_marks_after_white_space_that_normal_form_reorders(one, other, shown):
    """They are characters of their own: the passage does not begin with the white space."""
    assert [row[8] for row in found_in([one, other], 3)] == [shown]


@given(st.lists(st.text(" \n\u3000ab.\u05b0\u064b\u0301\u00e9\u1161", max_size=25), max_size=4), st.integers(1, 5))
def test_passages_where_normal_form_changes_characters_are_those_of_the_plain_twin(texts, length):
    prepared = Shingles(lowercase=True).prepare(pa.array(texts, pa.large_string())).to_pylist()
    documents = [tuple(reference.characters(one, "collapse")) for one in prepared]
    expected = [(row[0], row[2] - row[1], *row[3:5]) for row in twin.passages(documents, length)]
    rows = [(row[0], row[3], row[4], row[5]) for row in found_in(texts, length)]
    assert Counter(rows) == Counter(expected)


def test_planted_runs_of_just_too_few_and_enough_words():
    rng = np.random.default_rng(1)
    words = [f"w{n}" for n in rng.permutation(100_000)]
    for size, expected in ((49, 0), (50, 1), (51, 1)):
        documents = [" ".join(words[start : start + 400]) for start in range(0, 40_000, 400)]
        documents[70] = f"{documents[70]} {' '.join(words[850 : 850 + size])} {words[50_000]}"
        found = la.find_passages(documents, length=50)
        assert [(row[0], row[3], row[5]) for row in found] == [(70, size, 2)] * expected


def test_documents_that_grow():
    """Each repeats the one before it; what it repeats of others lies within that."""
    documents = [" ".join(f"w{i}" for i in range(size)) for size in range(60, 90)]
    found = la.find_passages(documents, length=50)
    assert sorted((row[0], row[3], row[5]) for row in found) == [(at, 59 + at, at - 1) for at in range(1, 30)]


def test_gaps_are_joined():
    words = [f"w{i}" for i in range(40)]
    edited = [*words[:15], "new", *words[16:28], *words[29:]]
    both = [" ".join(words), "x " + " ".join(edited)]
    assert sorted(row[3] for row in la.find_passages(both, length=5)) == [11, 12, 15]
    [row] = la.find_passages(both, length=5, gap=1)
    assert row[3] == 39
    assert row[8] == " ".join(edited)
    assert row[6:8] == (0, len(both[0]))


def test_passages_in_another_order_are_not_joined():
    one, other = (" ".join(f"{letter}{i}" for i in range(6)) for letter in "ab")
    found = la.find_passages([f"{one} {other}", f"{other} {one}"], length=4, gap=12)
    assert sorted((row[3], row[5], row[6], row[8]) for row in found) == [(6, 0, 0, one), (6, 0, 18, other)]


def test_passages_of_the_same_words_are_not_joined():
    """The first copy has them once."""
    found = la.find_passages(["a b c d e f", "a b c d e f x b c d e"], length=4, gap=12)
    assert sorted((row[3], row[8]) for row in found) == [(4, "b c d e"), (6, "a b c d e f")]


def test_a_false_match_of_hashes_is_noticed(monkeypatch):
    """The windows are then hashed again by another function."""
    seeds = []
    right = linking.window_keys

    def weak(indptr, units, length, seed, *rest):
        seeds.append(seed)
        keys, *others = right(indptr, units, length, seed, *rest)
        return (np.where(keys == EMPTY, keys, keys % np.uint64(3)) if seed == 0 else keys, *others)

    documents = ["abcdabceabcd", "bcdabc", "xabcy"]
    expected = found_in(documents, 3).to_arrow()
    monkeypatch.setattr(linking, "window_keys", weak)
    assert found_in(documents, 3).to_arrow().equals(expected)
    assert set(seeds) == {0, 1}


# --- files ---


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{n}" for n in rng.integers(0, 3, 300)) for _ in range(40)]
    pq.write_table(pa.table({"id": [f"d{n}" for n in range(40)], "text": texts}), tmp_path / "corpus.parquet")
    return tmp_path / "corpus.parquet"


def test_results_are_the_same_with_files(corpus, tmp_path):
    expected = la.find_passages(corpus, length=8).to_arrow()
    assert expected.num_rows
    assert la.find_passages(corpus, length=8, memory="100MB").to_arrow().equals(expected)
    source = la.Source(corpus, batch_bytes=1000)
    assert la.find_passages(source, length=8, memory="100MB", workdir=tmp_path / "work").to_arrow().equals(expected)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("size", [1, 100, 3000])
def test_results_are_the_same_in_many_parts(corpus, size, right, monkeypatch):
    def found(**options):
        return la.find_passages(corpus, corpus if right else None, length=8, **options).to_arrow()

    expected = found()
    monkeypatch.setattr(linking, "PART", size)
    monkeypatch.setattr(linking, "REGION", size.bit_length())
    assert found().equals(expected)
    assert found(memory="100MB").equals(expected)


@pytest.mark.parametrize("stage", ["windows_of", "link", "runs_of", "all_equal"])
def test_an_interrupted_run_resumes(corpus, tmp_path, stage, monkeypatch):
    expected = la.find_passages(corpus, length=8).to_arrow()
    with monkeypatch.context() as broken:
        broken.setattr(finding, stage, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            la.find_passages(corpus, length=8, workdir=tmp_path / "work")
    read = Mock(side_effect=AssertionError("it reads the texts again"))
    monkeypatch.setattr(la.Source, "batches", read)
    assert la.find_passages(corpus, length=8, workdir=tmp_path / "work").to_arrow().equals(expected)


def test_a_workdir_of_another_run_is_an_error(corpus, tmp_path):
    la.find_passages(corpus, length=8, workdir=tmp_path / "work")
    with pytest.raises(LookalikeError, match="holds a different run: length was 8 and is now 9"):
        la.find_passages(corpus, length=9, workdir=tmp_path / "work")


def test_a_report_shows_both_sides(tmp_path):
    found = la.find_passages(pa.table({"id": ["p", "q"], "text": ["a b c d", "x A b C d"]}), length=3)
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "1 passage of 3 words or more in 2 documents" in page
    assert "A b C d" in page
    assert [row["text"] for row in found.explain(0)] == ["a b c d", "A b C d"]
