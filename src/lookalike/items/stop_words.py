"""Stop words (function words) of some languages, for shingles that begin at a stop word."""

from functools import cache
from pathlib import Path

from lookalike.core.errors import UsageError, parameter
from lookalike.core.words import read_words


@cache
def languages() -> dict[str, frozenset[str]]:
    """Return the stop words of each language by its code; most runs need none of them."""
    lists = sorted((Path(__file__).parent / "words").glob("*.txt"))
    return {path.stem: frozenset().union(*read_words(path).values()) for path in lists}


def parse_codes(given: str) -> str:
    """Return language codes such as "en,de" in alphabetical order, each once: "de,en"."""
    codes = {code.strip().lower() for code in given.split(",")}
    if not codes <= languages().keys():
        known = f"{parameter('stop_words')} must be language codes ({', '.join(languages())})"
        words = "list" if parameter("stop_words") == "stop_words" else "file"
        raise UsageError(f"{known} or a {words} of words; got {given!r}.")
    return ",".join(sorted(codes))


def words_of(codes: str) -> frozenset[str]:
    """Return the stop words of one language or of several."""
    return frozenset().union(*(languages()[code] for code in parse_codes(codes).split(",")))
