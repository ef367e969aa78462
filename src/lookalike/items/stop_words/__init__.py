"""Function words of some languages, for shingles that begin at a stop word."""

from collections.abc import Mapping

from lookalike.core.errors import UsageError
from lookalike.items.stop_words import dutch, english, french, german, italian, portuguese, spanish, swedish


def _words(classes: Mapping[str, str]) -> frozenset[str]:
    return frozenset(word for words in classes.values() for word in words.split())


LANGUAGES = {
    "de": _words(german.CLASSES),
    "en": _words(english.CLASSES),
    "es": _words(spanish.CLASSES),
    "fr": _words(french.CLASSES),
    "it": _words(italian.CLASSES),
    "nl": _words(dutch.CLASSES),
    "pt": _words(portuguese.CLASSES),
    "sv": _words(swedish.CLASSES),
}


def parse_codes(given: str) -> str:
    """The language codes of "en,de" in order of the alphabet, each once: "de,en"."""
    codes = {code.strip().lower() for code in given.split(",")}
    if not codes <= LANGUAGES.keys():
        known = f"stop_words must be codes of languages ({', '.join(LANGUAGES)})"
        raise UsageError(f"{known} or words (--stop-words: a file of them); got {given!r}.")
    return ",".join(sorted(codes))


def words_of(codes: str) -> frozenset[str]:
    """The stop words of one language or of several."""
    return frozenset().union(*(LANGUAGES[code] for code in parse_codes(codes).split(",")))
