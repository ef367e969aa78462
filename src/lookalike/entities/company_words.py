"""Word lists for the two companies: names, streets and towns, the frequent ones first."""

from pathlib import Path

from lookalike.core.words import read_words

_LISTS = read_words(Path(__file__).parent / "words" / "companies.txt")


def _pairs(name: str) -> dict[str, str]:
    """Return words with their short forms."""
    return dict(entry.split("=") for entry in _LISTS[name])


GIVEN, STREETS, TOWNS = (_LISTS[name] for name in ("given", "streets", "towns"))
NICKNAMES, STREET_KINDS = _pairs("nicknames"), _pairs("street_kinds")
RARE = [beginning + ending for ending in _LISTS["endings"] for beginning in _LISTS["beginnings"]]
SURNAMES = [*_LISTS["surnames"], *(name for name in RARE if name not in _LISTS["surnames"])]
