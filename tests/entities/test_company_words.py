"""Check the words that the records of the two companies are made of."""

import re

from lookalike.entities.company_words import GIVEN, NICKNAMES, STREETS, SURNAMES, TOWNS


def test_words():
    for words, least in ((GIVEN, 150), (SURNAMES, 1000), (STREETS, 150), (TOWNS, 80)):
        assert len(words) == len(set(words)) >= least
        assert all(re.fullmatch("[A-Z][a-z]+", word) for word in words)
    assert set(NICKNAMES) <= set(GIVEN)
    assert len(NICKNAMES) >= 30
