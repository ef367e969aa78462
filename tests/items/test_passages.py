"""Check shared passages of two texts: their exact places, a plain twin, and Unicode."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Shingles
from lookalike.core.errors import DataError
from lookalike.items.passages import Passage, runs, shared_passages, windows
from lookalike.items.shingles import split_words
from lookalike.items.units import units_of
from tests import reference as ref
from tests.unit_samples import PIECES, SIMPLE, WHITE, mixed, twin_units

common = {
    "k": st.integers(1, 4),
    "space": st.sampled_from(["collapse", "keep", "remove"]),
    "lowercase": st.booleans(),
    "form": st.sampled_from(["nfc", "nfkc", "none"]),
    "bits": st.sampled_from([64, 32]),
}
plain = st.one_of(
    st.builds(Shingles, unit=st.just("char"), **common),
    st.builds(Shingles, unit=st.just("word"), punctuation=st.sampled_from(["drop", "keep"]), **common),
)
spots = st.builds(
    Shingles,
    unit=st.just("stop"),
    stop_words=st.sampled_from([None, frozenset({"a", "b", "\u0e01"})]),
    distance=st.integers(1, 3),
    skip_stops=st.booleans(),
    antecedents=st.sampled_from([None, frozenset({"b", "\u4e00"})]),
    **common,
)
settings = st.one_of(plain, spots)


def shared(left, right, spec, **options):
    """Return the texts of the shared passages on both sides."""
    found = shared_passages(left, right, Shingles.parse(spec, **options))
    return [(left[at.left : at.left_end], right[at.right : at.right_end]) for at in found]


# --- examples ---


def test_characters():
    left, right = "The old lighthouse keeper.", "An old lighthouse  keeper!"
    assert shared_passages(left, right, Shingles(k=9)) == [Passage(3, 25, 2, 25)]
    assert shared(left, right, "char:9") == [(" old lighthouse keeper", " old lighthouse  keeper")]
    assert shared(left, right, "char:9", space="keep") == [(" old lighthouse ", " old lighthouse ")]
    assert shared(left, right, "char:9", space="remove") == [("old lighthouse keeper", "old lighthouse  keeper")]


def test_words():
    left, right = "So: to be, or not to be!", "to be or\nnot; To BE or not"
    assert shared_passages(left, right, Shingles.parse("word:3")) == [Passage(4, 17, 0, 12)]
    lower = shared_passages(left, right, Shingles.parse("word:3", lowercase=True))
    assert lower == [Passage(4, 23, 0, 19), Passage(11, 17, 20, 26)]
    assert shared(left, right, "word:3", lowercase=True)[1] == ("or not", "or not")


def test_spots():
    left = "News: the keeper of the old lamp said nothing. Weather: a mild day."
    right = "Menu. The keeper of the old lamp said much. Sport: a mild day!"
    assert shared(left, right, "stop:3") == [("of the old lamp", "of the old lamp"), ("a mild day", "a mild day")]
    found = shared(left, right, "stop:3", lowercase=True)
    assert found == [("the keeper of the old lamp", "The keeper of the old lamp"), ("a mild day", "a mild day")]


def test_consecutive_spots_include_the_words_between_them():
    options = {"antecedents": {"the"}, "stop_words": {"the"}}
    left, right = "the cat sat here, the dog ran", "the cat sat quite still, the dog ran"
    assert shared(left, right, "stop:3", **options) == [(left, right)]


def test_chains_include_the_words_they_skip():
    options = {"distance": 2, "stop_words": {"the"}}
    assert shared("x the old lamp", "the new lamp x", "stop:2", **options) == [("the old lamp", "the new lamp")]


def test_overlaps_on_the_right_are_cut():
    """Two runs share the word "three" on the right: the second begins after it, on both sides."""
    left, right = "two three four. one two three", "one two three four"
    found = shared(left, right, "word:2")
    assert found == [("one two three", "one two three"), ("four", "four")]
    assert shared_passages("bcd abc", "abcd", Shingles(k=3)) == [Passage(4, 7, 0, 3), Passage(2, 3, 3, 4)]


def test_spots_that_overlap_on_the_right_are_cut():
    options = {"stop_words": {"a", "b"}}
    left, right = "b x y . a b x", "a b x y"
    assert shared(left, right, "stop:3", **options) == [("a b x", "a b x"), ("y", "y")]
    assert shared("b x y . a b x y", right, "stop:3", **options) == [(right, right)]


def test_passages_may_overlap_on_the_left():
    found = shared_passages("one two three", "one two three, one two three", Shingles.parse("word:3"))
    assert found == [Passage(0, 13, 0, 13), Passage(0, 13, 15, 28)]


def test_the_longest_run_wins_and_then_the_next_place():
    assert shared_passages("ab. abc. abd", "abc", Shingles(k=2)) == [Passage(4, 7, 0, 3)]
    assert shared_passages("ab1ab2ab3", "ab1!ab?", Shingles(k=2)) == [Passage(0, 3, 0, 3), Passage(3, 5, 4, 6)]


def test_runs():
    assert list(runs([], [1])) == list(runs([1], [])) == list(runs([1], [2])) == []
    assert list(runs([1, 2, 9, 1, 2], [7, 1, 2, 7, 1, 2])) == [(0, 1, 2), (3, 4, 2)]
    assert list(runs([5] * 40, [5] * 3)) == [(0, 0, 3)]


@pytest.mark.parametrize("unit", ["char", "word"])
def test_a_text_shorter_than_k_is_one_shingle(unit):
    shingles = Shingles(k=50, unit=unit)
    assert shared_passages(" to be", "to  be ", shingles) == [Passage(1, 6, 0, 6)]
    assert shared_passages("to be or", "to be", shingles) == []


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["char:1", "word:1", "stop:1"])
def test_empty_and_disjoint_texts_share_nothing(spec):
    shingles = Shingles.parse(spec)
    for left, right in [("", ""), ("", "a the"), ("a the", ""), (" \n", "\u3000"), ("...", " !?"), ("the", "a")]:
        assert shared_passages(left, right, shingles) == []


@pytest.mark.slow
def test_only_the_first_characters_are_compared():
    text = "one two three four"
    assert shared_passages(text, text, Shingles.parse("word:2"), most=13) == [Passage(0, 13, 0, 13)]
    assert shared_passages(text, text, Shingles(k=2), most=0) == []
    long = "ab" * 100_001
    assert shared_passages(long, long, Shingles()) == [Passage(0, 200_000, 0, 200_000)]


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["char:9", "word:5", "stop:3"])
def test_one_word_over_and_over(spec):
    """The work is linear, whichever text is longer."""
    many, few = "the " * 100_000, "the " * 10
    assert shared_passages(many, many, Shingles.parse(spec), 400_000) == [Passage(0, 399_999, 0, 399_999)]
    assert shared_passages(many, few, Shingles.parse(spec), 400_000) == [Passage(0, 39, 0, 39)]
    found = shared_passages(few, many, Shingles.parse(spec), 400_000)
    assert (found[0], found[-1].right_end) == (Passage(0, 39, 0, 39), 399_999)


@pytest.mark.parametrize("form", ["nfc", "none"])
def test_texts_must_be_valid_unicode(form):
    with pytest.raises(DataError, match="texts must be strings of valid Unicode"):
        shared_passages("a", "\ud800", Shingles(form=form))


# --- Unicode ---


@pytest.mark.parametrize(
    ("left", "right", "options"),
    [
        ("caf\u00e9", "cafe\u0301", {}),
        ("\ud55c\uad6d", "\u1112\u1161\u11ab\u1100\u116e\u11a8", {}),
        ("a\u0323\u0307", "a\u0307\u0323", {}),
        ("\u0958", "\u0915\u093c", {}),
        ("fine", "\ufb01ne", {"form": "nfkc"}),
        ("\u30ac", "\uff76\uff9e", {"form": "nfkc"}),
        ("\u03a3\u039f\u03a6\u039f\u03a3", "\u03c3\u03bf\u03c6\u03bf\u03c3", {"lowercase": True}),
        ("\u01f0", "J\u030c", {"lowercase": True}),
        ("x\u3000\u2003y", "x y", {}),
    ],
)
def test_encodings_of_the_same_text(left, right, options):
    left, right = f"\u4e00({left})", f"?({right})"
    whole = Passage(1, len(left), 1, len(right))
    assert shared_passages(left, right, Shingles(k=2, **options)) == [whole]
    inner = Passage(2, len(left) - 1, 2, len(right) - 1)
    assert shared_passages(left, right, Shingles.parse("word:1", **options)) == [inner]


def test_a_decomposed_character_is_shown_whole_and_once():
    """The ligature fi is two characters in normal form KC, and a passage can end between them."""
    shingles = Shingles(k=2, form="nfkc")
    assert shared_passages("af", "a\ufb01", shingles) == [Passage(0, 2, 0, 2)]
    assert shared_passages("af ix", "a\ufb01x", shingles) == [Passage(0, 2, 0, 2), Passage(4, 5, 2, 3)]
    words = Shingles.parse("word:1", form="nfkc")  # one half is the words 1 and 2, and here 2a
    assert shared_passages("1 x 2a", "\u00bda", words) == [Passage(0, 1, 0, 1), Passage(4, 6, 1, 2)]


@given(settings, mixed)
def test_windows_are_the_shingles(shingles, text):
    clean = shingles.prepare(pa.array([text], pa.large_string()))[0].as_py()
    found = units_of(pa.array([clean], pa.large_string()), replace(shingles, lowercase=False, form="none"), True)
    units = [clean[start:end] for start, end in zip(found.starts, found.stops, strict=True)]
    if shingles.unit == "char" and shingles.space == "collapse":
        units = [" " if unit[0] in WHITE else unit for unit in units]
    seen = windows(text, shingles)
    in_order = shingles.in_order(text)
    bounds = list(zip(seen.first, seen.last, strict=True))
    if shingles.unit != "stop" and in_order == [
        ref.characters(clean, "collapse")
    ]:  # perhaps too short for a shingle of k units
        assert bounds == [(0, len(seen.starts) - 1)]
    elif shingles.unit == "stop":
        ends_of = [(words[0], words[-1]) for words in (shingle.split(" ") for shingle in in_order)]
        assert [(units[first], units[last]) for first, last in bounds] == ends_of
    else:
        glue = " " if shingles.unit == "word" else ""
        assert [glue.join(units[first : last + 1]) for first, last in bounds] == in_order
    assert len(seen.hashes) == len(bounds)
    assert set(seen.hashes) == set(shingles.sets([text])[0].tolist())


# --- a plain twin ---


def twin_windows(pieces, shingles):
    """Return the shingles of a text: (units, the places of these and of the units between)."""
    units = twin_units(pieces, shingles)
    chosen = [list(range(i, i + shingles.k)) for i in range(len(units) - shingles.k + 1)]
    if shingles.unit == "stop":
        stops, first = shingles._skipped, shingles._antecedents
        chosen = []
        for at, (word, _, _) in enumerate(units):
            chain = [i for i in range(at + 1, len(units)) if units[i][0] not in stops]
            chain = chain[shingles.distance - 1 :: shingles.distance][: shingles.k - 1]
            if word in first and len(chain) == shingles.k - 1:
                chosen.append([at, *chain])
    if not chosen and shingles.unit != "stop":  # all characters are one shingle
        plain = Shingles(form=shingles.form, lowercase=shingles.lowercase)
        units = units if shingles.unit == "char" else twin_units(pieces, plain)
        chosen = [list(range(len(units)))] * bool(units)
    return [(tuple(units[i][0] for i in one), [units[i][1:] for i in range(one[0], one[-1] + 1)]) for one in chosen]


def covered(own, other):
    """Return the characters of units in shared windows, and these with all characters between."""
    theirs = {window for window, _ in other}
    units, all_ = set(), set()
    before = None
    for window, places in own:
        start, end = places[0][0], places[-1][1]
        if window in theirs:
            units |= {i for place in places for i in range(*place)}
            all_ |= set(range(start if before is None else min(before, start), end))
        before = end if window in theirs else None
    return units, all_


@st.composite
def pairs(draw):
    """Draw two texts in pieces, the second made of stretches of the first and other pieces."""
    left = draw(st.lists(st.sampled_from(PIECES), max_size=20))
    right = []
    for start, size, other in draw(st.lists(st.tuples(*[st.integers(0, 20)] * 2, st.sampled_from(PIECES)), max_size=4)):
        right += [*left[start : start + size], other]
    return left, right


@pytest.mark.slow
@given(settings, pairs())
def test_passages_cover_what_is_shared(shingles, pieces):
    """On the right they cover every shared unit, and beyond these only what lies between them."""
    left, right = ("".join(one) for one in pieces)
    one, two = (twin_windows(part, shingles) for part in pieces)
    found = shared_passages(left, right, shingles)
    bounds = [(at.right, at.right_end) for at in found]
    assert all(start < end for start, end in bounds)
    assert sum(bounds, ()) == tuple(sorted(sum(bounds, ())))
    shown = {i for start, end in bounds for i in range(start, end)}
    units, all_ = covered(two, one)
    assert units <= shown <= all_
    assert units == all_ or shingles.unit != "char" or shingles.space == "remove"
    assert all(at.left < at.left_end for at in found)
    shown = {i for at in found for i in range(at.left, at.left_end)}
    assert shown <= covered(one, two)[1]


few = st.lists(st.sampled_from(SIMPLE), max_size=30).map("".join)


@given(plain, few, few)
def test_the_two_sides_of_a_passage_are_the_same(shingles, left, right):
    """Except for normal form, case and white space."""
    whole = replace(shingles, k=1 << 20)
    for at in shared_passages(left, right, shingles):
        sides = left[at.left : at.left_end], right[at.right : at.right_end]
        assert whole.of(sides[0]) == whole.of(sides[1])
        assert whole.of(sides[0]) or sides[0].isspace()


@pytest.mark.slow
@given(settings, mixed)
def test_identical_texts_are_one_passage(shingles, text):
    found = shared_passages(text, text, shingles)
    seen = windows(text, shingles)
    if not seen.hashes:
        assert found == []
        return
    start, end = seen.starts[seen.first[0]], seen.ends[seen.last[-1]]
    assert found == [Passage(start, end, start, end)]
    if shingles.unit == "char":
        assert shingles.of(text[start:end]) == shingles.of(text)
        assert shingles.space == "keep" or not (text[:start] + text[end:]).strip()


def test_sentences_in_another_order():
    """Every sentence is found."""
    rng = np.random.default_rng(5)
    sentences = [" ".join(f"w{n}" for n in rng.integers(0, 999, 12)) for _ in range(50)]
    left, right = ". ".join(sentences), ". ".join(sentences[i] for i in rng.permutation(50))
    found = shared(left, right, "word:5")
    assert all(split_words(one) == split_words(two) for one, two in found)
    assert sum(len(split_words(one)) for one, _ in found) == 600
