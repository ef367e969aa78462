"""Fields of records: what is written, how their values are read, and what kind a column is of."""

# ruff: noqa: RUF001 (letters and digits that look like others are what is tested)

import datetime
import math
import random
import sys
import unicodedata
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.errors import DataError, UsageError
from lookalike.entities import nicknames
from lookalike.entities.fields import FIELD_KINDS, Field, as_days, as_numbers, canonical, guess_kind, normalise
from lookalike.entities.nicknames import FORMAL_NAMES, SHORT_FORMS, STREET_WORDS, fold, formal, formals

plain = st.text(max_size=20)
pieces = ["1", "02", "2020", "31", "(", ")", "-", ".", ",", " ", "+", "/", "00", "44", "x", "ext", "$", "%", "'", "e5"]
pieces += ["Mr", "Dr.", "Ph.D.", "ph", "d", "Jr", "St", "n/a", "na", "none", "&", "O'", "é", "İ", "ß", "٣", "가", "が"]
pieces += ["jan", "march ", "th", "T10:11:12Z", "12:30 pm", "Mon, ", "1,234", "1.234", "123", "'99", "of ", "\u0301"]
made = st.lists(st.sampled_from(pieces), max_size=7).map("".join)
texts = st.one_of(plain, made)


def read(value, kind, **options):
    """What one value is read as, alone in its column."""
    return normalise(pa.array([value], pa.string()), kind, **options).values.to_pylist()[0]


def column(values, kind, **options):
    return normalise(pa.array(values, pa.string()), kind, **options).values.to_pylist()


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
KIND_LIST = "text, name, address, phone, date, number, category"


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


@pytest.mark.parametrize("kind", FIELD_KINDS)
@given(values=st.lists(st.one_of(st.none(), texts), max_size=6), day_first=st.sampled_from([None, True, False]))
def test_twice_is_once(kind, values, day_first):
    """Any text can be given, all rows are counted, and what comes out stays as it is, alone or with the others."""
    found = normalise(pa.array(values, pa.string()), kind, day_first=day_first)
    again = normalise(found.values, kind, day_first=day_first)
    assert again.values.equals(found.values)
    assert found.values.type == pa.large_string()
    assert again.missing == found.values.null_count == found.missing + found.unparsable
    assert again.unparsable == 0
    for value in found.values.drop_null():
        assert read(value.as_py(), kind) == value.as_py()


@pytest.mark.parametrize("kind", FIELD_KINDS)
@given(values=st.lists(texts, max_size=6))
def test_canonical_twice_is_once(kind, values):
    found = canonical(normalise(pa.array(values, pa.string()), kind).values, kind)
    assert canonical(found, kind).equals(found)
    assert len(found) == len(values)


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
    assert [read("Na", kind) for kind in FIELD_KINDS] == [None, "na", None, None, None, None, None]
    assert read("Dr. Unknown", "name") is None


@pytest.mark.parametrize("kind", ["phone", "date", "number"])
def test_values_that_are_not_understood(kind):
    """They are counted by rows, apart from those that are missing."""
    found = normalise(pa.array(["what", "12/34/56 xyz", "what", None, "n/a"]), kind)
    assert (found.missing, found.unparsable, found.values.null_count) == (2, 3, 5)


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_types_of_columns(kind):
    """Chunks, dictionaries, views and bytes are the same texts; a column may be empty or all null."""
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


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_many_rows(kind):
    draw = random.Random(1)
    values = [f"{draw.randrange(1, 29)}/{draw.randrange(1, 13)}/{draw.randrange(1900, 2020)}" for _ in range(200_000)]
    found = normalise(pa.array(values), kind)
    assert len(found.values) == 200_000
    alone = column(values[:50], kind)
    assert found.values[:50].to_pylist() == alone


# --- words ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("  Hello,   WORLD! ", "hello world"),
        ("O'Brien", "obrien"),
        ("O\u2019Brien", "obrien"),
        ("Ben & Jerry", "ben and jerry"),
        ("AT&T", "at and t"),
        ("café Ångström", "cafe angstrom"),
        ("cafe\u0301", "cafe"),
        ("Straße", "strasse"),
        ("İstanbul ILGAZ ırmak", "istanbul ilgaz irmak"),
        ("Łódź Øre Æsir þing", "lodz ore aesir thing"),
        ("ﬁne Ｆｕｌｌ ① x²", "fine full 1 x2"),
        ("ΟΔΥΣΣΕΎΣ", "οδυσσευσ"),
        ("οδυσσεύς", "οδυσσευσ"),
        ("Чёрный Йод", "черныи иод"),
        ("北京市，朝阳区", "北京市 朝阳区"),
        ("ガギ ｶﾞｷﾞ", "ガギ ガギ"),
        ("한국어", "한국어"),
        ("مُحَمَّد", "محمد"),
        ("محـــمد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी", "हिन्दी"),
        ("ภาษาไทย", "ภาษาไทย"),
        ("٣ ४", "3 4"),
        ("co\u00adop zero\u200bwidth", "coop zerowidth"),
        ("snake_case-and-dash", "snake case and dash"),
        ("Sony\u2122 TV", "sony tv"),
        ("3.5", "3 5"),
    ],
)
def test_text(value, expected):
    assert read(value, "text") == read(value, "category") == read(value, "address") == expected


def test_every_character_is_folded_once_and_for_all():
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co", "Lo"):
            found = fold(f"a{chr(code)}b")
            assert fold(found) == found
            assert found == unicodedata.normalize("NFKC", found)


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("350 5th Ave., Apt #3", "350 5th ave apt 3"),
        ("P.O. Box 12", "p o box 12"),
        ("12-14 O'Connell St", "12 14 oconnell st"),
        ("Königstraße 1½", "konigstrasse 11 2"),
    ],
)
def test_address(value, expected):
    assert read(value, "address") == expected


# --- phones ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2125550100", "2125550100"),
        ("(212) 555-0100", "2125550100"),
        ("212.555.0100", "2125550100"),
        ("1-212-555-0100", "2125550100"),
        ("+1 (212) 555 0100", "2125550100"),
        ("001 212 555 0100", "2125550100"),
        ("212-555-0100 x123", "2125550100"),
        ("212-555-0100x123", "2125550100"),
        ("212-555-0100 ext. 5", "2125550100"),
        ("212-555-0100, extension 77", "2125550100"),
        ("212-555-0100 #12", "2125550100"),
        ("+1-212-555-0100;ext=9", "2125550100"),
        ("tel:+1-212-555-0100", "2125550100"),
        ("Tel. 212-555-0100", "2125550100"),
        ("212-555-0100 (home)", "2125550100"),
        ("1-800-FLOWERS", "8003569377"),
        ("1-800-flowers", "8003569377"),
        ("+44 20 7946 0000", "2079460000"),
        ("+44 (0)20 7946 0000", "2079460000"),
        ("(+44) 020 7946 0000", "2079460000"),
        ("0044 20 7946 0000", "2079460000"),
        ("020 7946 0000", "2079460000"),
        ("+353 1 234 5678", "12345678"),
        ("+7 495 123-45-67", "4951234567"),
        ("+49 30/123456", "30123456"),
        ("030/123456", "30123456"),
        ("555-0100", "5550100"),
        ("12345", "12345"),
        ("٠٢٠ ٧٩٤٦ ٠٠٠٠", "2079460000"),
        ("212\u2011555\u20110100", "2125550100"),
        ("1234", None),
        ("+44 12", None),
        ("+", None),
        ("0000000000", None),
        ("a@b.com", None),
        ("call me", None),
        ("1234567890123456", None),
        ("1" * 5000, None),
    ],
)
def test_phone(value, expected):
    assert read(value, "phone") == expected


def test_phone_of_a_country():
    """Its code is dropped from long numbers without a plus; the North American 1 is dropped only there or nowhere."""
    assert read("442079460000", "phone") == "442079460000"
    assert read("442079460000", "phone", country="GB") == "2079460000"
    assert read("0151 23456789", "phone", country="de") == "15123456789"
    assert read("+1 212 555 0100", "phone", country="GB") == "2125550100"
    assert read("12125550100", "phone", country="US") == "2125550100"


def test_phones_that_are_numbers():
    expected = ["2125550100", None]
    for kind in (pa.int64(), pa.float64()):
        assert normalise(pa.array([2125550100, None], kind), "phone").values.to_pylist() == expected


# --- dates ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2020-01-02", "2020-01-02"),
        ("2020/1/2", "2020-01-02"),
        ("2020.01.02", "2020-01-02"),
        ("20200102", "2020-01-02"),
        ("20200102101112", "2020-01-02"),
        ("2020-01-02T10:11:12", "2020-01-02"),
        ("2020-01-02 10:11:12.345+01:00", "2020-01-02"),
        ("2020-01-02T10:11Z", "2020-01-02"),
        ("1/2/2020 3:04 PM", "2020-01-02"),
        ("1/2/2020", "2020-01-02"),
        ("1-2-2020", "2020-01-02"),
        ("1.2.2020", "2020-02-01"),
        ("1. 2. 2020", "2020-02-01"),
        ("13/2/2020", "2020-02-13"),
        ("2/13/2020", "2020-02-13"),
        ("2 January 2020", "2020-01-02"),
        ("2nd of Jan, 2020", "2020-01-02"),
        ("January 2, 2020", "2020-01-02"),
        ("JAN 2ND 2020", "2020-01-02"),
        ("Sept. 9, 1999", "1999-09-09"),
        ("02-Jan-20", "2020-01-02"),
        ("02JAN2020", "2020-01-02"),
        ("2020-Jan-02", "2020-01-02"),
        ("Thu, 02 Jan 2020 10:11:12 GMT", "2020-01-02"),
        ("Thursday, January 2, 2020", "2020-01-02"),
        ("Wed Jun  9 04:26:40 1993", "1993-06-09"),
        ("5 May '45", "1945-05-05"),
        ("1/2/30", "2030-01-02"),
        ("1/2/31", "1931-01-02"),
        ("29/02/2020", "2020-02-29"),
        ("٢٠٢٠-٠١-٠٢", "2020-01-02"),
        ("29/02/2019", None),
        ("2020-13-01", None),
        ("2020-02-30", None),
        ("31/31/2020", None),
        ("0000-00-00", None),
        ("20201301", None),
        ("1999", None),
        ("May 2020", None),
        ("2 Foo 2020", None),
        ("12:30", None),
        ("soon", None),
    ],
)
def test_date(value, expected):
    assert read(value, "date") == expected


def test_the_column_decides_whether_the_day_is_first():
    """By most of the values that have a number over 12; those mean themselves."""
    assert column(["1/2/2020", "13/2/2020"], "date") == ["2020-02-01", "2020-02-13"]
    assert column(["1.2.2020", "2.13.2020"], "date") == ["2020-01-02", "2020-02-13"]
    assert column(["1/2/2020", "2/13/2020", "14/3/20", "15/3/20"], "date")[:2] == ["2020-02-01", "2020-02-13"]
    assert column(["1/2/2020", "2/13/2020"], "date", day_first=True)[0] == "2020-01-02"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "2020-01-02"),
        ({"day_first": True}, "2020-02-01"),
        ({"country": "US"}, "2020-01-02"),
        ({"country": "gb"}, "2020-02-01"),
        ({"country": "GB", "day_first": False}, "2020-01-02"),
    ],
)
def test_where_the_column_does_not_decide(options, expected):
    assert read("1/2/2020", "date", **options) == expected


@given(
    st.dates(), st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%b %d, %Y", "%Y%m%d", "%A, %d %b %Y %H:%M:%S", "%Y/%m/%d"])
)
def test_dates_as_they_are_written(day, form):
    form = form.replace("%Y", f"{day.year:04d}")  # which strftime may write with fewer digits
    assert read(day.strftime(form), "date") == day.isoformat()


@given(st.dates(), st.sampled_from("-/."), st.booleans())
def test_dates_in_either_order(day, sign, day_first):
    first, second = (day.day, day.month) if day_first else (day.month, day.day)
    assert read(f"{first}{sign}{second}{sign}{day.year:04d}", "date", day_first=day_first) == day.isoformat()


def test_dates_of_arrow():
    when = datetime.datetime(2020, 1, 2, 23, 30)
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC")):
        given_as = pa.array([when.date() if pa.types.is_date(kind) else when, None], kind)
        assert normalise(given_as, "date").values.to_pylist() == ["2020-01-02", None]
    assert normalise(pa.array([20200102]), "date").values.to_pylist() == ["2020-01-02"]
    late = normalise(pa.array([5_000_000], pa.date32()), "date")  # in the year 15659
    assert (late.values.to_pylist(), late.unparsable) == ([None], 1)


@given(st.lists(st.one_of(st.none(), st.dates()), max_size=9))
def test_days(days):
    found = as_days(normalise(pa.array(days, pa.date32()), "date").values)
    expected = [math.nan if day is None else (day - datetime.date(1970, 1, 1)).days for day in days]
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.array(expected, float))


# --- numbers ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1999", "1999"),
        ("12.50", "12.5"),
        ("$1,234.50", "1234.5"),
        ("1.234,50 €", "1234.5"),
        ("EUR 12", "12"),
        ("12 USD", "12"),
        ("US$5", "5"),
        ("£-3.10", "-3.1"),
        ("-£3.10", "-3.1"),
        ("(3.10)", "-3.1"),
        ("+7", "7"),
        ("\u22127", "-7"),
        ("12%", "12"),
        ("12,5 %", "12.5"),
        ("1 234 567", "1234567"),
        ("1\u00a0234,5", "1234.5"),
        ("1'234.50", "1234.5"),
        ("1_000_000", "1000000"),
        ("1,234,567", "1234567"),
        ("1.234.567", "1234567"),
        ("12,34,567", "1234567"),
        ("1,234", "1234"),
        ("1.234", "1.234"),
        ("0,123", "0.123"),
        ("1234,567", "1234.567"),
        ("12,5", "12.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("0", "0"),
        ("-0.00", "0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("1e+20", "1" + "0" * 20),
        ("١٢٣", "123"),
        ("１２", "12"),
        ("1e999", None),
        ("9" * 301, None),
        ("12 34", None),
        ("1.2.3", None),
        ("1,2,3", None),
        ("1.234,5,6", None),
        ("12 kg", None),
        ("five", None),
        ("inf", None),
        ("5-", None),
    ],
)
def test_number(value, expected):
    assert read(value, "number") == expected


def test_the_column_decides_what_the_comma_is():
    assert column(["1,234", "12,5"], "number") == ["1.234", "12.5"]
    assert column(["1.234", "12,5"], "number") == ["1234", "12.5"]
    assert column(["1,234", "12.5"], "number") == ["1234", "12.5"]
    assert column(["1.234", "1.234.567"], "number") == ["1234", "1234567"]
    assert column(["1,234", "12,5", "12.5", "12.6"], "number") == ["1234", "12.5", "12.5", "12.6"]


@given(st.decimals(-(10**12), 10**12, places=3))
def test_numbers_as_they_are_written(number):
    forms = [f"{number}", f"{number:,}", f"$ {number}", f"{number} EUR", f"{number:,}".replace(",", " ")]
    found = {read(form, "number") for form in forms}
    assert len(found) == 1
    assert Decimal(found.pop()) == number


def test_numbers_of_arrow():
    values = [12.5, 3.0, None]
    for kind in (pa.float32(), pa.float64(), pa.decimal128(9, 3)):
        given_as = pa.array(values).cast(kind)
        assert normalise(given_as, "number").values.to_pylist() == ["12.5", "3", None]
    assert normalise(pa.array([12345.0]), "text").values.to_pylist() == ["12345"]
    found = normalise(pa.array([math.nan, math.inf, 1e300]), "number")
    assert (found.missing, found.unparsable, found.values.null_count) == (1, 2, 3)
    assert normalise(pa.array([True, None]), "category").values.to_pylist() == ["true", None]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**60), 2**60)), max_size=9))
def test_numbers(numbers):
    found = as_numbers(normalise(pa.array(numbers, pa.int64()), "number").values)
    np.testing.assert_array_equal(found, np.array([math.nan if n is None else n for n in numbers], float))
    found[:] = 0  # it is the caller's own


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


def entries(table):
    return [entry.split(":") for entry in table.split(";") if entry.strip()]


@pytest.mark.parametrize("table", [nicknames.MEN + nicknames.WOMEN, nicknames.STREETS])
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
    words = [short for _, shorts in entries(nicknames.STREETS) for short in shorts.split()]
    assert len(words) == len(set(words)) == len(STREET_WORDS)


# --- kinds ---


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
        ("year", [1999], "number"),
        ("year", ["1999"], "number"),
        ("zip code", [10001], "text"),
        ("soc_sec_id", [5304218], "text"),
        ("street_number", ["12"], "text"),
        ("street", ["Main St"], "address"),
        ("address_1", ["12 Main St"], "address"),
        ("email address", ["a@b.com"], "text"),
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
