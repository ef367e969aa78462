"""Check the lists of stop words."""

import unicodedata

import pytest

from lookalike import Shingles
from lookalike.items.shingles import split_words
from lookalike.items.stop_words import languages


@pytest.mark.parametrize("language", languages())
def test_stop_words_are_single_words_in_lower_case(language):
    words = languages()[language]
    assert len(words) >= 200
    assert all(split_words(word) == [word] == [word.lower()] for word in words)
    assert all(unicodedata.is_normalized("NFC", word) for word in words)


@pytest.mark.parametrize(
    ("language", "sentence", "stops"),
    [
        ("de", "Die F\u00e4hre f\u00e4hrt ab Montag wieder zu den Inseln", "Die ab wieder zu den"),
        ("en", "They don't think the ferry will sail to it", "They don t the will to it"),
        ("es", "El barco no sale hasta que la niebla se va", "El no hasta que la se va"),
        ("fr", "L'\u00eele n'est pas loin de la c\u00f4te", "L n est pas loin de la"),
        ("it", "L'isola non \u00e8 lontana dalla costa", "L non \u00e8 dalla"),
        ("nl", "De boot vaart niet naar het eiland", "De niet naar het"),
        ("pt", "O barco n\u00e3o vai \u00e0 ilha", "O n\u00e3o vai \u00e0"),
        ("sv", "B\u00e5ten g\u00e5r inte till \u00f6n", "g\u00e5r inte till"),
    ],
)
def test_stop_words_of_languages(language, sentence, stops):
    assert Shingles(unit="stop", k=1, stop_words=language).in_order(sentence) == stops.split()


def test_stop_words_of_several_languages():
    both = Shingles(unit="stop", k=1, stop_words="en, DE,en")
    assert both == Shingles(unit="stop", k=1, stop_words="de,en")
    assert both.of("the der Hut") == {"the", "der"}
    assert Shingles(unit="stop", stop_words="en") == Shingles(unit="stop")
    assert Shingles(unit="stop", stop_words=["A", "b"]) == Shingles(unit="stop", stop_words=iter({"a", "B"}))
