"""Write out short forms in names (bill, william) and addresses (st, street), and drop titles.

The words are in the folder `words`. No formal name is a short form of another, so that replacing
words twice gives the same as replacing them once.
"""

import re
from itertools import pairwise
from pathlib import Path

from lookalike.core.words import read_words
from lookalike.entities.values import fold

WORDS = Path(__file__).parent / "words"

TITLES = """
mr mrs ms miss mx mister dr doctor prof professor sir dame lord lady rev reverend revd hon fr capt lt sgt maj
herr frau mme mlle monsieur madame sr sra srta
"""
NAME_SUFFIXES = "jr sr junior senior ii iii iv 2nd 3rd phd md dds dvm esq esquire jd mba bsc msc obe mbe cbe"
BEFORE, AFTER = frozenset(TITLES.split()), frozenset(NAME_SUFFIXES.split())  # titles before and after a name
BEFORE_OR_AFTER = BEFORE | AFTER
NAMESAKE = re.compile(r"\([IVXivx]+\)")
PHD, PO_BOX = re.compile(r"\bph d\b"), re.compile(r"\bp o(?= box\b)")


def _turned(table: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Turn {formal: short forms} into {short form: formal forms}, in the order of the table."""
    turned: dict[str, tuple[str, ...]] = {}
    for formal_one, short_ones in table.items():
        for short in short_ones:
            turned[short] = (*turned.get(short, ()), formal_one)
    return turned


SHORT_FORMS = read_words(WORDS / "nicknames.txt")
FORMAL_NAMES = _turned(SHORT_FORMS)
BEFORE_NAME = {"st": "saint", "dr": "doctor"}  # as in St James, Dr Martin Luther King
STREET_WORDS = {short: words[0] for short, words in _turned(read_words(WORDS / "addresses.txt")).items()}


def formals(token: str) -> tuple[str, ...]:
    """Return all formal names of a short form, the most common first; any other word as it is.

    >>> formals("sam"), formals("otto")
    (('samuel', 'samantha'), ('otto',))
    """
    return FORMAL_NAMES.get(token, (token,))


def formal(token: str) -> str:
    """Return the most common formal name of a short form; any other word as it is.

    >>> formal("bill"), formal("william"), formal("cathy"), formal("kathy")
    ('william', 'william', 'catherine', 'catherine')
    """
    return formals(token)[0]


def plain_name(value: str) -> str:
    """Return a name with the given name first and without titles; at least one word is kept.

    A Roman number in parentheses, by which catalogues tell namesakes apart, is dropped, too.

    >>> plain_name("Dr. Smith, John (Ph.D.)"), plain_name("Sammy Davis, Jr."), plain_name("Dr.")
    ('john smith', 'sammy davis', 'dr')
    >>> plain_name("Abraham, John (I)")
    'john abraham'
    """
    value = NAMESAKE.sub(" ", value)
    if "," not in value:
        return " ".join(_untitled(_words(value)))
    parts = [words for part in value.split(",") if (words := _words(part))]
    people = [_untitled(words) for words in parts if not BEFORE_OR_AFTER.issuperset(words)]
    if len(people) == 2:
        people.reverse()
    return " ".join(_untitled([word for words in people or parts for word in words]))


def _words(value: str) -> list[str]:
    text = fold(value)
    return (PHD.sub("phd", text) if "ph d" in text else text).split()


def _untitled(words: list[str]) -> list[str]:
    start, stop = 0, len(words)
    while start < stop - 1 and words[start] in BEFORE:
        start += 1
    while start < stop - 1 and words[stop - 1] in AFTER:
        stop -= 1
    return words[start:stop]


def formal_name(value: str) -> str:
    """Return a name with its short forms replaced by formal names."""
    return " ".join(map(formal, value.split()))


def full_address(value: str) -> str:
    """Return an address with its abbreviations written out."""
    words = (PO_BOX.sub("po", value) if "p o box" in value else value).split()
    full = [STREET_WORDS.get(word, word) for word in words]
    for n, (word, after) in enumerate(pairwise(words)):
        if word in BEFORE_NAME and (n == 0 or words[n - 1].isdigit()) and after.isalpha() and after not in STREET_WORDS:
            full[n] = BEFORE_NAME[word]
    return " ".join(full)
