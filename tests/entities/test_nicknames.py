"""Check titles, short forms and abbreviations in names and addresses, and their word lists."""

import pyarrow as pa
import pytest

from lookalike.entities import nicknames
from lookalike.entities.fields import canonical
from lookalike.entities.nicknames import FORMAL_NAMES, SHORT_FORMS, STREET_WORDS, formal, formals
from lookalike.entities.values import fold
from tests.entities.shared import read


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Smith, John", "john smith"),
        ("SMITH,JOHN", "john smith"),
        ("Mr. John Smith", "john smith"),
        ("Dr. Müller, Jürgen", "jurgen muller"),
        ("Smith, Dr. John", "john smith"),
        ("Smith Jr., John", "john smith"),
        ("Sammy Davis, Jr.", "sammy davis"),
        ("Davis, Sammy, Jr.", "sammy davis"),
        ("Martin Luther King Jr", "martin luther king"),
        ("Jane Doe, Ph.D.", "jane doe"),
        ("Jane Doe Ph.D. M.D.", "jane doe phd m d"),
        ("Prof. Dr. Jane Doe PhD MD", "jane doe"),
        ("Henry Ford II", "henry ford"),
        ("Sir Elton John", "elton john"),
        ("Md Rahman", "md rahman"),
        ("Dr.", "dr"),
        ("Mr. Jr.", "jr"),
        ("Dr, Jr", "jr"),
        ("Mr", "mr"),
        ("O'Brien, Seán", "sean obrien"),
        ("Ann, Bob, Carl", "ann bob carl"),
        ("Smith,", "smith"),
        (", John", "john"),
        ("de la Cruz, María José", "maria jose de la cruz"),
        ("J.R.R. Tolkien", "j r r tolkien"),
        ("Иванов, Пётр", "петр иванов"),
    ],
)
def test_name(value, expected):
    assert read(value, "name") == expected


# --- short forms ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bill clinton", "william clinton"),
        ("cathy", "catherine"),
        ("kathy", "catherine"),
        ("jon", "john"),
        ("steven", "stephen"),
        ("chris", "christopher"),
        ("alex", "alexander"),
        ("liz bob", "elizabeth robert"),
        ("zaphod", "zaphod"),
    ],
)
def test_canonical_names(value, expected):
    assert canonical(pa.array([value, None], pa.large_string()), "name").to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("350 5th ave apt 3", "350 5th avenue apartment 3"),
        ("350 fifth avenue", "350 5th avenue"),
        ("12 n main st", "12 north main street"),
        ("1 sunset blvd ste 4 fl 2", "1 sunset boulevard suite 4 floor 2"),
        ("9 elm dr", "9 elm drive"),
        ("9 dr martin luther king blvd", "9 doctor martin luther king boulevard"),
        ("st johns rd", "saint johns road"),
        ("12 st james st", "12 saint james street"),
        ("100 st nw", "100 street northwest"),
        ("p o box 7", "post office box 7"),
        ("po box 7", "post office box 7"),
        ("shop o box", "shop o box"),
        ("king sq ct ln", "king square court lane"),
    ],
)
def test_canonical_addresses(value, expected):
    assert canonical(pa.array([value, None], pa.large_string()), "address").to_pylist() == [expected, None]


@pytest.mark.parametrize("kind", ["text", "phone", "date", "number", "category"])
def test_other_kinds_have_no_short_forms(kind):
    values = pa.array(["bill st", None], pa.large_string())
    assert canonical(values, kind).equals(values)


def entries(name):
    """Return the lines of a word list, each split at its colon, in the order of the file."""
    lines = (nicknames.WORDS / name).read_text().splitlines()
    return [line.split(":") for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("table", ["nicknames.txt", "addresses.txt"])
def test_tables_hold_nothing_twice(table):
    formal_ones = [name.strip() for name, _ in entries(table)]
    assert len(formal_ones) == len(set(formal_ones))
    for name, short in entries(table):
        words = short.split()
        assert words
        assert len(words) == len(set(words))
        assert not set(words) & set(formal_ones), "replacing twice would change more"
        assert all(fold(word) == word for word in (name.strip(), *words))


def test_the_table_of_names():
    assert len(FORMAL_NAMES) >= 400
    assert all(formal(name) == name for name in SHORT_FORMS)
    assert formals("pat") == ("patrick", "patricia")
    assert (formal("ted"), formal("harry"), formal("sam")) == ("edward", "henry", "samuel")
    assert all(name in SHORT_FORMS for names in FORMAL_NAMES.values() for name in names)


def test_the_table_of_streets():
    words = [short for _, shorts in entries("addresses.txt") for short in shorts.split()]
    assert len(words) == len(set(words)) == len(STREET_WORDS)
