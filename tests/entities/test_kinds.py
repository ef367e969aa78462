"""Check how the kinds of columns are guessed, of one table and of two."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.entities.fields import FIELD_KINDS
from lookalike.entities.kinds import guess_common_kind, guess_kind, names_apart
from tests.entities.test_fields import plain, texts


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("phone", ["212-555-0100"], "phone"),
        ("Home Tel", ["020 7946 0000"], "phone"),
        ("phoneNumber", [2125550100], "phone"),
        ("phone", ["iPhone 4", "Galaxy"], "text"),
        ("dob", ["1/2/1980"], "date"),
        ("date_of_birth", ["19800102"], "date"),
        ("date_of_birth", [19800102], "date"),
        ("DOB", [], "date"),
        ("created", ["2020-01-02T10:11:12"], "date"),
        ("created_by", ["Ann", "Bob"], "text"),
        ("x", [datetime.date(2020, 1, 2)], "date"),
        ("x", [datetime.datetime(2020, 1, 2)], "date"),
        ("x", ["Jan 2, 2020", "3 May 2021"], "date"),
        ("x", [True, False], "category"),
        ("x", [1.5, 2], "number"),
        ("x", ["$5", "12.5"], "number"),
        ("x", ["00123", "00124"], "text"),
        ("price", ["$1,234.50", "n/a"], "number"),
        ("year", [1999], "category"),
        ("year", ["1999"], "category"),
        ("zip code", [10001], "text"),
        ("soc_sec_id", [5304218], "text"),
        ("street_number", ["12"], "text"),
        ("street", ["Main St"], "address"),
        ("address_1", ["12 Main St"], "address"),
        ("email address", ["a@b.com"], "email"),
        ("contact", ["a@b.com", "n/a"], "email"),
        ("mail", ["post", "parcel"], "text"),
        ("starring", ["Gayne Whitman"], "name"),
        ("actor name", ["Khaled, Rawhiyya"], "name"),
        ("first name", ["Ann"], "name"),
        ("givenName", ["Ann"], "name"),
        ("surname", ["O'Brien", "Müller"], "name"),
        ("author", ["Smith, John"], "name"),
        ("name", ["Ann Smith", "Bob Jones"], "name"),
        ("name", ["Sony PSLX350H turntable", "Bose 27028 speaker"], "text"),
        ("product name", ["Turntable"], "text"),
        ("authors", ["Ann Smith, Bob Jones, Carl Brown"], "text"),
        ("title", ["On joins"], "text"),
        ("gender", ["f", "m"], "category"),
        ("x", ["red", "green"] * 30, "category"),
        ("x", ["red", "green"], "text"),
        ("x", [], "text"),
        ("", [None, None], "text"),
        ("description", ["A long text about something"], "text"),
    ],
)
def test_guess_kind(name, values, expected):
    values = pa.array(values) if values else pa.array([], pa.string())
    assert guess_kind(name, values) == expected
    assert guess_kind(name, pa.chunked_array([values])) == expected


@given(name=plain, values=st.lists(st.one_of(st.none(), texts), max_size=8))
def test_every_column_has_a_kind(name, values):
    assert guess_kind(name, pa.array(values, pa.string())) in FIELD_KINDS


# --- two columns ---


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (("name", ["Ann Lee"]), ("customer", ["Lee, Ann"]), "name"),
        (("customer", ["Lee, Ann"]), ("name", ["Ann Lee"]), "name"),
        (("name", ["Ann Lee"]), ("product", ["Sony PSLX350H turntable"]), "text"),
        (("soc_sec_id", [5304218]), ("k", [5304218]), "text"),  # the hint of one name is more than a guess
        (("price", ["$5"]), ("x", [5.0]), "number"),
        (("born", ["1980-01-02"]), ("x", ["2 Jan 1980"]), "date"),
        (("mail", ["a@b.org"]), ("x", ["a@b.org"]), "email"),
        (("venue", ["VLDB", "SIGMOD"] * 30), ("venue", ["Very Large Data Bases", "Management of Data"] * 30), "text"),
        (("venue", ["VLDB", "SIGMOD"] * 30), ("venue", ["vldb", "ICDE"] * 30), "category"),
        (("gender", ["f", "m"]), ("sex", ["F", "M"]), "category"),
        (("gender", [None]), ("sex", ["F"]), "category"),
        (("x", []), ("y", []), "text"),
    ],
)
def test_guess_common_kind(left, right, expected):
    """The kind must fit both columns; categories that are called differently are texts."""
    columns = [
        pa.chunked_array([pa.array(values)] if values else [], None if values else pa.string())
        for _, values in (left, right)
    ]
    assert guess_common_kind([left[0], right[0]], columns) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["given_name", "surname"], (0, 1)),
        (["Last name", "born", "firstName"], (2, 0)),
        (["name", "surname"], None),
        (["first name", "second first name", "surname"], None),
        (["first or last name", "x"], None),
    ],
)
def test_names_apart(names, expected):
    """A given name and a surname, if there is exactly one of each, and both are names."""
    assert names_apart([(name, "name") for name in names]) == expected
    assert names_apart([(name, "text") for name in names]) is None
