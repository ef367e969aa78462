"""Check fields of records: how they are given, how values are read, and how kinds are guessed."""

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.entities.fields import FIELD_KINDS, Field, canonical, normalise
from tests.entities.shared import column, read

plain = st.text(max_size=20)
pieces = ["1", "02", "2020", "31", "(", ")", "-", ".", ",", " ", "+", "/", "00", "44", "x", "ext", "$", "%", "'", "e5"]
pieces += ["Mr", "Dr.", "Ph.D.", "ph", "d", "Jr", "St", "n/a", "na", "none", "&", "O'", "é", "İ", "ß", "٣", "가", "が"]
pieces += ["(1959)", "(tv)", "(I)", ", The", "a.b", "@", "gmail.com", "<", ">", "mailto:", "@x.org"]
pieces += ["jan", "march ", "th", "T10:11:12Z", "12:30 pm", "Mon, ", "1,234", "1.234", "123", "'99", "of ", "\u0301"]
made = st.lists(st.sampled_from(pieces), max_size=7).map("".join)
texts = st.one_of(plain, made)


# --- fields ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name", Field("name", "name", "name")),
        ("address:street", Field("address", "address", "street")),
        ("address:street=address*2", Field("address", "address", "street", "address", 2.0)),
        ("first name : given name = name * 0.5", Field("first name", "first name", "given name", "name", 0.5)),
        ("phone=phone", Field("phone", "phone", "phone", "phone")),
        ("price*3", Field("price", "price", "price", "", 3.0)),
        ("Größe:大小", Field("Größe", "Größe", "大小")),
    ],
)
def test_parse(text, expected):
    assert Field.parse(text) == expected


WRONG_FORM = "a field must be LEFT[:RIGHT][=KIND][*WEIGHT]; got {!r}."
KIND_LIST = "text, name, address, phone, email, date, number, category"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, WRONG_FORM.format(text))
            for text in ("", " ", ":street", "a:", "a: =text", "a:b:c", "a*2=text", "=text")
        ),
        ("a=nam", f"the kind of field 'a' must be one of {KIND_LIST}; got 'nam'. Did you mean 'name'?"),
        ("a=", f"the kind of field 'a' must be one of {KIND_LIST}; got ''."),
        ("a*x", "the weight of field 'a' must be a positive number; got 'x'."),
        ("a*", "the weight of field 'a' must be a positive number; got ''."),
        ("a*0", "the weight of field 'a' must be a positive number; got 0.0."),
        ("a*-1", "the weight of field 'a' must be a positive number; got -1.0."),
        ("a*nan", "the weight of field 'a' must be a positive number; got nan."),
        ("a*inf", "the weight of field 'a' must be a positive number; got inf."),
    ],
)
def test_parse_what_is_no_field(text, message):
    with pytest.raises(UsageError) as error:
        Field.parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"left": ""}, "a field must name a column of each table; got '' and 'b'."),
        ({"kind": "dates"}, f"the kind of field 'a' must be one of {KIND_LIST}; got 'dates'. Did you mean 'date'?"),
        ({"weight": "2"}, "the weight of field 'a' must be a positive number; got '2'."),
    ],
)
def test_fields_that_cannot_be(options, message):
    with pytest.raises(UsageError) as error:
        Field(**{"name": "a", "left": "a", "right": "b"} | options)
    assert str(error.value) == message


# --- all kinds ---


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELD_KINDS)
@given(values=st.lists(st.one_of(st.none(), texts), max_size=6), day_first=st.sampled_from([None, True, False]))
def test_twice_is_once(kind, values, day_first):
    """Any text is accepted, all rows are counted, and normalising again changes nothing."""
    found = normalise(pa.array(values, pa.string()), kind, day_first=day_first)
    again = normalise(found.values, kind, day_first=day_first)
    assert again.values.equals(found.values)
    assert found.values.type == pa.large_string()
    assert again.missing == found.values.null_count == found.missing + found.unparsable
    assert again.unparsable == 0
    for value in found.values.drop_null():
        assert read(value.as_py(), kind) == value.as_py()


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELD_KINDS)
@given(values=st.lists(texts, max_size=6))
def test_canonical_twice_is_once(kind, values):
    found = canonical(normalise(pa.array(values, pa.string()), kind).values, kind)
    assert canonical(found, kind).equals(found)
    assert len(found) == len(values)


@pytest.mark.slow
@pytest.mark.parametrize("country", ["US", "GB", "DE", "it"])
@given(value=made)
def test_twice_is_once_in_any_country(country, value):
    for kind in ("phone", "date"):
        found = read(value, kind, country=country)
        assert found is None or read(found, kind, country=country) == found


MISSING = [
    "",
    " ",
    "-",
    "--",
    "?",
    "???",
    "...",
    "n/a",
    "N/A",
    "#N/A",
    "n.a.",
    "NaN",
    "null",
    "None",
    "Unknown",
    "nil",
    "TBD",
]


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_missing_values(kind):
    found = normalise(pa.array([*MISSING, "not available", None]), kind)
    assert (found.missing, found.unparsable, found.values.null_count) == (len(MISSING) + 2, 0, len(MISSING) + 2)


def test_na_is_a_name():
    assert [read("Na", kind) for kind in FIELD_KINDS] == [None, "na"] + [None] * 6
    assert read("Dr. Unknown", "name") is None


@pytest.mark.parametrize("kind", ["phone", "email", "date", "number"])
def test_values_that_are_not_understood(kind):
    """They are counted by rows, separately from missing values."""
    found = normalise(pa.array(["what", "12/34/56 xyz", "what", None, "n/a"]), kind)
    assert (found.missing, found.unparsable, found.values.null_count) == (2, 3, 5)


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_types_of_columns(kind):
    """Chunks, dictionaries, views and bytes give the same texts; columns can be empty or null."""
    values = ["2020-01-02", "5551234", None, "n/a", "5551234"]
    expected = normalise(pa.array(values), kind)
    chunks = pa.chunked_array([values[:2], values[2:]])
    for given_as in (
        pa.array(values, pa.large_string()),
        chunks,
        chunks.dictionary_encode(),
        pa.array(values).dictionary_encode(),
        pa.array(values).cast(pa.string_view()),
        pa.array(values).cast(pa.binary()),
        pa.array(["x", *values])[1:],
    ):
        found = normalise(given_as, kind)
        assert found.values.equals(expected.values)
        assert (found.missing, found.unparsable) == (expected.missing, expected.unparsable)
    for empty in (pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        assert normalise(empty, kind).values.equals(pa.array([], pa.large_string()))
    assert normalise(pa.nulls(3), kind).missing == 3


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (pa.array([[1]]), "list<item: int64>"),
        (pa.array([{"a": 1}]), "struct<a: int64>"),
        (pa.array([b"\xff"]), "invalid UTF-8"),
    ],
)
def test_columns_that_hold_no_values(values, why):
    with pytest.raises(DataError) as error:
        normalise(values, "text")
    assert str(error.value) == f"a field must hold texts, numbers or dates; got {why}."


def test_options_that_cannot_be():
    with pytest.raises(UsageError) as error:
        normalise(pa.array(["a"]), "")
    assert str(error.value) == f"kind must be one of {KIND_LIST}; got ''."
    with pytest.raises(UsageError, match=r"^country must be one of US, CA, .*; got 'UKK'\."):
        normalise(pa.array(["a"]), "phone", country="ukk")


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_many_rows(kind):
    draw = random.Random(1)
    values = [f"{draw.randrange(1, 29)}/{draw.randrange(1, 13)}/{draw.randrange(1900, 2020)}" for _ in range(200_000)]
    found = normalise(pa.array(values), kind)
    assert len(found.values) == 200_000
    alone = column(values[:50], kind)
    assert found.values[:50].to_pylist() == alone
