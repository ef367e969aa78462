"""Check shingles of texts: the readable and the hashed form agree, and Unicode is handled."""

import unicodedata
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike import Shingles
from lookalike.core.errors import DataError, UsageError
from lookalike.items.shingles import split_words
from lookalike.items.stop_words import words_of
from lookalike.measures import bag_jaccard, jaccard
from tests import reference as ref
from tests.kernel_samples import GOLDEN_TEXT

SPACES = [*b"\t\n\v\f\r ", 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]

# Few characters, so that shingles repeat and texts share them.
texts = st.text(
    st.sampled_from("abAB \n.\u00e9\u0301e\u0130\u4e00\u3000\u0e01\u0e31\u1100\u1161\U0001f600"), max_size=25
)
common = {
    "k": st.integers(1, 4),
    "space": st.sampled_from(["collapse", "keep", "remove"]),
    "lowercase": st.booleans(),
    "form": st.sampled_from(["nfc", "nfkc", "none"]),
}
spots = st.builds(
    Shingles,
    unit=st.just("stop"),
    stop_words=st.sampled_from([None, "de,en", frozenset({"a", "b"})]),
    distance=st.integers(1, 3),
    skip_stops=st.booleans(),
    antecedents=st.sampled_from([None, frozenset({"b", "\u4e00"})]),
    **common,
)
settings = st.one_of(st.builds(Shingles, unit=st.sampled_from(["char", "word"]), **common), spots)


def hashed(shingles, *given):
    """Return the hashed sets of texts as Python sets."""
    sets = shingles.sets(given)
    return [set(sets[row].tolist()) for row in range(len(sets))]


def similarity(shingles, a, b):
    """Return the Jaccard similarity of two texts by hashes, which must equal that by strings."""
    found = float(ref.jaccard(*hashed(shingles, a, b)))
    assert found == jaccard(shingles.of(a), shingles.of(b))
    return found


# --- readable and hashed shingles ---


@pytest.mark.slow
@given(settings, texts)
def test_shingles_in_order(shingles, text):
    """One hash per shingle, the same for equal shingles; without repeats they are the set."""
    found = shingles.in_order(text)
    _, hashes = shingles.hashes(shingles.prepare(pa.array([text], pa.large_string())))
    assert len(found) == len(hashes)
    assert len(set(zip(found, hashes.tolist(), strict=True))) == len(set(found))
    assert set(found) == set(shingles.of(text))


@pytest.mark.slow
@given(settings, st.lists(texts, max_size=6))
def test_hashed_sets_are_the_readable_sets(shingles, given):
    """There are as many hashes as shingles for every text and pair, so hashing is one to one."""
    sets = hashed(shingles, *given)
    readable = [shingles.of(one) for one in given]
    assert [len(one) for one in sets] == [len(one) for one in readable]
    for i, j in combinations(range(len(given)), 2):
        assert ref.jaccard(sets[i], sets[j]) == ref.jaccard(readable[i], readable[j])


@pytest.mark.slow
@given(settings, texts, texts)
def test_hashed_bags_are_the_readable_bags(shingles, a, b):
    bags = Shingles(**{**vars(shingles), "bag": True})
    readable = bags.of(a), bags.of(b)
    one, two = hashed(bags, a, b)
    assert (len(one), len(two)) == (readable[0].total(), readable[1].total())
    assert len(one & two) == (readable[0] & readable[1]).total()
    assert float(ref.jaccard(one, two)) == bag_jaccard(*readable)


@pytest.mark.slow
@given(settings, st.lists(texts, max_size=5))
def test_sets_of_lists_arrays_slices_and_chunks_are_the_same(shingles, given):
    expected = shingles.sets(given).to_arrow()
    array = pa.array(["before", *given, "after"])
    chunked = pa.chunked_array([array.slice(1, 1), array.slice(2, max(0, len(given) - 1))])
    assert shingles.sets(array.slice(1, len(given))).to_arrow() == expected
    assert shingles.sets(array.cast(pa.large_string()).slice(1, len(given))).to_arrow() == expected
    if given:
        assert shingles.sets(chunked).to_arrow() == expected


@pytest.mark.slow
@given(spots, texts)
def test_spots_are_their_plain_twin(shingles, text):
    """Lists of words in lower case also find those words in upper case and capitalised."""
    given = shingles.prepare(pa.array([text], pa.large_string()))[0].as_py()
    listed = {None: words_of("en"), "de,en": words_of("de,en")}.get(shingles.stop_words, shingles.stop_words)
    stops = {form for word in listed for form in (word, word.capitalize(), word.upper())}
    first = stops if shingles.antecedents is None else {"b", "B", "\u4e00"}
    expected = ref.spots(ref.words(given), first, stops if shingles.skip_stops else (), shingles.k, shingles.distance)
    assert shingles.in_order(text) == [" ".join(spot) for spot in expected]


def test_rows_of_prepared_texts_can_be_picked():
    given = pa.array(["a b c a b", "", "the cat", "a b c"], pa.large_string())
    for spec in ("char:2", "word:2", "stop:2"):
        shingles = Shingles.parse(spec)
        indptr, every = shingles.hashes(given)
        picked, hashes = shingles.hashes(given, np.array([0, 3]))
        assert np.diff(picked).tolist() == np.diff(indptr)[[0, 3]].tolist()
        assert hashes.tolist() == [*every[: indptr[1]], *every[indptr[3] :]]


# --- white space, case, sizes ---


@pytest.mark.parametrize("code", SPACES)
def test_white_space_of_every_kind(code):
    space = chr(code)
    messy = f"{space}{space}ab{space}\t{space}c{space}"
    assert Shingles(k=4).of(messy) == {"ab c"}
    assert Shingles(k=4, space="remove").of(messy) == {"abc"}
    assert Shingles(k=99, space="keep", form="none").of(messy) == {messy}
    assert hashed(Shingles(k=4), messy) == hashed(Shingles(k=4), "ab c")
    assert hashed(Shingles(k=4, space="remove"), messy) == hashed(Shingles(k=4), "abc")
    assert Shingles(k=1, unit="word").of(messy) == {"ab", "c"}


@pytest.mark.parametrize("space", ["collapse", "remove"])
def test_white_space_alone_is_an_empty_text(space):
    shingles = Shingles(k=2, space=space)
    assert shingles.of(" \t\u3000") == set()
    assert shingles.sets([" \t\u3000", ""]).sizes.tolist() == [0, 0]


def test_ascii_separators_are_not_white_space():
    """U+001C to U+001F are white space to str.split but not to Unicode."""
    assert Shingles(k=3).of("a\x1cb") == {"a\x1cb"}
    assert hashed(Shingles(k=3), "a\x1cb") != hashed(Shingles(k=3), "a b")


def test_lowercase():
    lower, exact = Shingles(k=3, lowercase=True), Shingles(k=3)
    assert lower.of("\u00c9T\u00c9 \u03a3") == {"\u00e9t\u00e9", "t\u00e9 ", "\u00e9 \u03c3"}
    assert hashed(lower, "\u00c9T\u00c9") == hashed(exact, "\u00e9t\u00e9")
    assert hashed(exact, "\u00c9T\u00c9") != hashed(exact, "\u00e9t\u00e9")


def test_stop_words_are_found_in_any_case_and_keep_theirs():
    shingles = Shingles(k=2, unit="stop")
    assert shingles.of("THE cat The cat the cat") == {"THE cat", "The cat", "the cat"}
    assert Shingles(k=2, unit="stop", lowercase=True).of("THE cat The cat") == {"the cat"}
    assert shingles.sets(["THE cat The cat the cat"]).sizes.tolist() == [3]


@pytest.mark.parametrize("unit", ["char", "word"])
def test_a_text_shorter_than_k_is_one_shingle(unit):
    shingles = Shingles(k=50, unit=unit)
    assert shingles.of("to be or not") == {"to be or not"}
    assert shingles.sets(["to be or not", "to be or", "to be or not"]).sizes.tolist() == [1, 1, 1]
    assert similarity(shingles, "to be or not", "to be or not") == 1
    assert similarity(shingles, "to be or not", "to be or") == 0


@pytest.mark.parametrize("unit", ["char", "word", "stop"])
def test_an_empty_text_has_no_shingles(unit):
    shingles = Shingles(k=1, unit=unit)
    assert shingles.of("") == set()
    assert shingles.sets(["", "", "a"]).sizes.tolist() == [0, 0, 1]
    assert len(shingles.sets([])) == 0


def test_stop_words_without_enough_words_after_them_make_no_shingle():
    assert Shingles(k=3, unit="stop").of("the cat") == set()
    assert Shingles(k=3, unit="stop").sets(["the cat", "the"]).sizes.tolist() == [0, 0]


@pytest.mark.parametrize("spec", ["word:5", "word:4", "char:9"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C#"),
        ("2 + 2", "2 * 2"),
        ("x < 5", "x > 5"),
        ("Great! \N{THUMBS UP SIGN}", "Great! \N{THUMBS DOWN SIGN}"),
        ("\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"),
        ("...", "???"),
    ],
)
def test_short_texts_that_differ_are_not_identical(spec, one, other):
    shingles = Shingles.parse(spec)
    assert shingles.of(one) == {one}
    assert not shingles.of(one) & shingles.of(other)
    first, second, copy = shingles.sets([one, other, f" {one}\n"])
    assert first.tolist() == copy.tolist() != second.tolist()


def test_punctuation_can_be_kept_as_words():
    one, other = "What is 12 + 30 - 7?", "What is 12 - 30 + 7?"
    dropped, kept = Shingles.parse("word:3"), Shingles.parse("word:3", punctuation="keep")
    assert dropped.of(one) == dropped.of(other)
    assert kept.in_order(one) == ["What is 12", "is 12 +", "12 + 30", "+ 30 -", "30 - 7", "- 7 ?"]
    assert kept.of(one) != kept.of(other)
    assert kept.sets([one, other, one]).sizes.tolist() == [6, 6, 6]
    assert str(kept) == "word:3 punctuation=keep"
    assert Shingles.from_str(str(kept)) == kept


@pytest.mark.parametrize("spec", ["char:9", "stop:3"])
def test_punctuation_is_for_words(spec):
    with pytest.raises(
        UsageError, match=rf"^punctuation='keep' is for shingles of words, such as word:5; got {spec}.$"
    ):
        Shingles.parse(spec, punctuation="keep")


@pytest.mark.parametrize("name", ["stop_words", "antecedents"])
@pytest.mark.parametrize("words", [[], [""], ["-", " "]])
def test_a_list_must_have_a_word(name, words):
    with pytest.raises(UsageError, match=f"{name} must have at least one word; got "):
        Shingles(k=1, unit="stop", **{name: words})


def test_stop_words_of_the_default_language_are_for_stop_shingles_too():
    with pytest.raises(UsageError, match=r"^stop_words is for stop-word shingles, such as stop:3; got char:9\.$"):
        Shingles(k=9, stop_words="en")
    assert Shingles(k=3, unit="stop", stop_words="en") == Shingles(k=3, unit="stop")


def test_stop_words_of_several_words_agree_in_both_forms():
    shingles = Shingles(k=2, unit="stop", stop_words=frozenset(["don't"]))
    assert shingles.sets(["I don't know"]).sizes.tolist() == [len(shingles.of("I don't know"))]


@pytest.mark.parametrize("text", ["a\ua7cbb", "a\ua7dcb"])
def test_stop_words_after_letters_that_the_table_does_not_know(text):
    """Capitals of later Unicode versions are separators here, even if Arrow can lowercase them."""
    shingles = Shingles(k=1, unit="stop", stop_words=frozenset("b"))
    assert shingles.of(text) == {"b"}
    assert shingles.sets(["x b b b", text]).sizes.tolist() == [1, 1]
    assert shingles.sets(["b x x x", text]).sizes.tolist() == [1, 1]


# --- spots ---

REPORT = "The keeper of the old lamp said that it is a very slow boat to the island and back again"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (
            {"antecedents": {"the", "a"}},
            ["The keeper of", "the old lamp", "a very slow", "the island and"],
        ),
        (
            {"antecedents": {"the", "a"}, "skip_stops": True},
            ["The keeper old", "the old lamp", "a slow boat", "the island back"],
        ),
        (
            {"antecedents": {"the", "a"}, "distance": 2},
            ["The of old", "the lamp that", "a slow to", "the and again"],
        ),
        (
            {"antecedents": {"the", "a"}, "distance": 2, "skip_stops": True},
            ["The old said", "the lamp slow", "a boat back"],
        ),
        ({"stop_words": {"said", "to"}}, ["said that it", "to the island"]),
        ({"stop_words": {"said", "to", "that", "the"}, "skip_stops": True, "antecedents": ["SAID"]}, ["said it is"]),
        ({"k": 1, "stop_words": {"that"}, "distance": 9, "skip_stops": True}, ["that"]),
        ({"k": 1 << 31, "distance": 1 << 31}, []),
    ],
)
def test_spots(options, found):
    shingles = Shingles(**{"unit": "stop", "k": 3} | options)
    assert shingles.in_order(REPORT) == found
    assert shingles.sets([REPORT]).sizes.tolist() == [len(found)]


def test_stop_shingles_are_chains_of_adjacent_words():
    assert Shingles(unit="stop", k=3, distance=1, skip_stops=False) == Shingles.parse("stop:3")
    assert Shingles.parse("stop:2", distance=2).of("the old lamp") == {"the lamp"}


# --- Unicode ---


@pytest.mark.parametrize(
    ("composed", "decomposed"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("\ud55c\uad6d", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),  # Hangul
        ("\u0929\u092e", "\u0928\u093c\u092e"),  # Devanagari: NNNA is NA with a nukta
        ("a\u0323\u0307", "a\u0307\u0323"),  # marks in two orders
        ("\u1ebf", "e\u0302\u0301"),
    ],
)
@pytest.mark.parametrize("unit", ["char", "word"])
def test_normal_form_c(composed, decomposed, unit):
    composed, decomposed = f"x {composed}y", f"x {decomposed}y"
    nfc, none = Shingles(k=2, unit=unit), Shingles(k=2, unit=unit, form="none")
    assert nfc.of(composed) == nfc.of(decomposed)
    assert hashed(nfc, composed) == hashed(nfc, decomposed)
    assert none.of(composed) != none.of(decomposed)
    assert hashed(none, composed) != hashed(none, decomposed)


@pytest.mark.parametrize(("capital", "small"), [("H\u0331", "\u1e96"), ("J\u030c", "\u01f0")])
def test_normal_form_c_of_lower_case(capital, small):
    """Only their small letters have composed forms, so normalisation must follow lowercasing."""
    shingles = Shingles(k=2, lowercase=True)
    assert shingles.of(f"{capital}x") == shingles.of(f"{small}x") == {f"{small}x"}


def test_devanagari_that_nfc_decomposes():
    """U+0958 is excluded from composition: its normal form is the pair."""
    assert hashed(Shingles(k=2), "\u0958") == hashed(Shingles(k=2), "\u0915\u093c")
    assert hashed(Shingles(k=2, form="none"), "\u0958") != hashed(Shingles(k=2, form="none"), "\u0915\u093c")


@pytest.mark.parametrize(("fancy", "plain"), [("\ufb01ne", "fine"), ("\uff21b", "Ab"), ("x\u00b2", "x2")])
def test_normal_form_kc(fancy, plain):
    assert hashed(Shingles(k=2, form="nfkc"), fancy) == hashed(Shingles(k=2), plain)
    assert hashed(Shingles(k=2, form="nfc"), fancy) != hashed(Shingles(k=2), plain)


@given(st.lists(texts, max_size=4), st.sampled_from(["nfc", "nfkc"]))
def test_prepare_is_unicode_normalisation(given, form):
    """Texts without unstable characters are left alone: they are in normal form already."""
    prepared = Shingles(form=form).prepare(pa.array(given, pa.large_string()))
    assert prepared.to_pylist() == [unicodedata.normalize(form.upper(), one) for one in given]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("it's snake_case, 3.5x", ["it", "s", "snake_case", "3", "5x"]),
        ("\u5317\u4eac ab\u5317c", ["\u5317", "\u4eac", "ab", "\u5317", "c"]),
        ("\u0e01\u0e34\u0e19", ["\u0e01\u0e34", "\u0e19"]),  # a Thai vowel sign stays with its letter
        ("\u3042\u30a2\u30a4", ["\u3042", "\u30a2\u30a4"]),  # hiragana are words by themselves, katakana form words
        ("\u0928\u092e\u0938\u094d\u0924\u0947", ["\u0928\u092e\u0938\u094d\u0924\u0947"]),
        ("\u0301a\u0301\u0302b \u0301", ["a\u0301\u0302b"]),  # a mark without a letter is ignored
        ("a\u200db\u00adc", ["a\u200db", "c"]),
        ("\U0001f600x\U00020000\U00020001", ["x", "\U00020000", "\U00020001"]),
        ("", []),
    ],
)
def test_words(text, words):
    assert split_words(text) == ref.words(text) == words
    shingles = Shingles(k=1, unit="word", form="none")
    assert hashed(shingles, text) == [set().union(*hashed(shingles, *words))]


# --- 32 bits ---


def test_32_bits_leave_32_zeros():
    _, hashes = Shingles(k=2, bits=32).hashes(pa.array(["some text of no importance"], pa.large_string()))
    assert not np.any(hashes & np.uint64(0xFFFFFFFF))
    _, whole = Shingles(k=2).hashes(pa.array(["some text of no importance"], pa.large_string()))
    assert hashes.tolist() == [int(x) & 0xFFFFFFFF_00000000 for x in whole]


@pytest.mark.slow
def test_32_bits_collide_as_often_as_they_should():
    """n shingles have about n**2 / 2**33 colliding pairs; with 64 bits they have none."""
    n = 400_000
    rng = np.random.default_rng(1)
    letters = rng.integers(ord("a"), ord("z") + 1, (n // 100, 108), dtype=np.uint8)  # 100 shingles per text
    texts = [row.tobytes().decode() for row in letters]
    distinct = len(set().union(*(Shingles(k=9).of(text) for text in texts[:40])))
    assert distinct == 4000
    sizes = {}
    for bits in (32, 64):
        _, hashes = Shingles(k=9, bits=bits).hashes(pa.array(texts, pa.large_string()))
        assert len(hashes) == n
        sizes[bits] = len(np.unique(hashes))
    assert sizes[64] == n
    expected = n**2 / 2**33
    assert abs(n - sizes[32] - expected) < 4 * expected**0.5


# --- settings ---


def test_parse():
    assert Shingles.parse("word:7") == Shingles(k=7, unit="word")
    assert [Shingles.parse(unit).k for unit in ("char", "word", "stop")] == [9, 5, 3]
    assert Shingles.parse("char:3", bag=True, lowercase=True) == Shingles(k=3, bag=True, lowercase=True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wrod:5", "shingles must look like char:9, word:5 or stop:3; got 'wrod:5'. Did you mean 'word:5'?"),
        ("5", "shingles must look like char:9, word:5 or stop:3; got '5'."),
        ("word:x", "shingles must look like char:9, word:5 or stop:3; got 'word:x'."),
        ("word:-1", "shingles must look like char:9, word:5 or stop:3; got 'word:-1'. Did you mean 'word:1'?"),
        ("word:0", "shingles must look like char:9, word:5 or stop:3; got 'word:0'."),
    ],
)
def test_parse_errors(spec, message):
    with pytest.raises(UsageError) as error:
        Shingles.parse(spec)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1; got 0."),
        ({"k": 2.5}, "k must be an integer of at least 1; got 2.5."),
        ({"unit": "words"}, "unit must be one of char, word, stop; got 'words'. Did you mean 'word'?"),
        ({"space": "drop"}, "space must be one of collapse, keep, remove; got 'drop'."),
        ({"form": "nfd"}, "form must be one of nfc, nfkc, none; got 'nfd'. Did you mean 'nfc'?"),
        ({"bits": 16}, "bits must be 64 or 32; got 16."),
        ({"unit": "stop", "distance": 0}, "distance must be an integer of at least 1; got 0."),
        (
            {"unit": "stop", "stop_words": "en,xx"},
            "stop_words must be language codes (de, en, es, fr, it, nl, pt, sv) or a list of words; got 'en,xx'.",
        ),
        ({"unit": "stop", "stop_words": [5]}, "stop_words must be a collection of words; got [5]."),
        ({"unit": "stop", "antecedents": "the"}, "antecedents must be a collection of words; got 'the'."),
        ({"stop_words": "de"}, "stop_words is for stop-word shingles, such as stop:3; got char:9."),
        (
            {"unit": "word", "distance": 2},
            "distance is for stop-word shingles, such as stop:3; got word:9.",
        ),
        ({"skip_stops": True}, "skip_stops is for stop-word shingles, such as stop:3; got char:9."),
    ],
)
def test_errors_of_settings(options, message):
    with pytest.raises(UsageError) as error:
        Shingles(**options)
    assert str(error.value) == message


@pytest.mark.parametrize("k", [3.0, np.int64(3), np.float32(3)])
def test_k_that_is_a_whole_number_of_another_type(k):
    shingles = Shingles(k=k)
    assert shingles == Shingles(k=3)
    assert str(shingles) == "char:3"
    assert shingles.of("abcd") == {"abc", "bcd"}
    assert shingles.sets(["abcd"]).sizes.tolist() == [2]


@pytest.mark.parametrize("k", ["x", None, True, float("inf"), float("nan")])
def test_k_that_is_not_a_whole_number(k):
    with pytest.raises(UsageError, match=r"^k must be an integer of at least 1; got "):
        Shingles(k=k)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", None], "texts must be strings; text 1 is null."),
        (["a", 5], "texts must be strings of valid Unicode"),
        (["a", "\ud800"], "texts must be strings of valid Unicode"),
        (pa.array([b"a", b"\xff"]), "texts must be strings of valid Unicode"),
    ],
)
def test_invalid_texts(texts, message):
    with pytest.raises(DataError, match=rf"^{message}") as error:
        Shingles().sets(texts)
    assert "\n" not in str(error.value)


def test_settings_as_text():
    assert str(Shingles()) == "char:9"
    shown = str(Shingles(k=5, unit="word", bag=True, lowercase=True, space="keep", form="none", bits=32))
    assert shown == "word:5 bag lowercase space=keep form=none bits=32"
    shown = str(Shingles(k=4, unit="stop", stop_words="fr,en", distance=2, skip_stops=True))
    assert shown == "stop:4 skip_stops stop_words=en,fr distance=2"


def test_lists_of_words_are_shown_by_their_number_and_a_hash():
    one, other = (str(Shingles(k=3, unit="stop", antecedents=words)) for words in (["the", "a"], ["the", "an"]))
    assert one == "stop:3 antecedents=2:11a3ae8f"
    assert other.startswith("stop:3 antecedents=2:")
    assert other != one


# --- the frozen table ---

SHINGLES = {
    "char:9": (36, 916171120671323074),
    "word:2": (9, 16851594029228884899),
    "stop:3": (4, 15100821082857957394),
    "char:100": (1, 18248538796291770512),
}


# --- format 1 ---


@pytest.mark.parametrize("spec", ["char:9", "word:2", "stop:3", "char:100"])
def test_format_1_shingles(spec):
    """Files of format 1 hold these shingle hashes: a change here needs a new format number."""
    _, hashes = Shingles.parse(spec).hashes(pa.array([GOLDEN_TEXT], pa.large_string()))
    assert (len(hashes), int(hashes[0])) == SHINGLES[spec]


# --- shingles read back ---


@given(
    st.sampled_from(["char", "word"]),
    st.integers(1, 30),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["collapse", "keep", "remove"]),
    st.sampled_from(["nfc", "nfkc", "none"]),
    st.sampled_from([32, 64]),
)
def test_shingles_are_read_back(unit, k, bag, lowercase, space, form, bits):
    one = Shingles(k, unit, bag=bag, lowercase=lowercase, space=space, form=form, bits=bits)
    assert Shingles.from_str(str(one)) == one


def test_stop_words_are_read_back():
    for options in ({}, {"stop_words": "de"}, {"stop_words": "de,fr", "distance": 2, "skip_stops": True}):
        one = Shingles.parse("stop:3", **options)
        assert Shingles.from_str(str(one)) == one
    assert Shingles.from_str(str(Shingles.parse("stop:3", stop_words=["a", "the"]))) is None
