"""Check how texts, phone numbers, dates and numbers are read."""
# ruff: noqa: RUF001  scripts other than Latin are part of what is tested

import datetime
import math
import sys
import unicodedata
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.entities.fields import as_days, as_numbers, normalise
from lookalike.entities.values import fold
from tests.entities.shared import column, read

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
    """Its code is dropped from long numbers without a plus; 1 only for North America or none."""
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
    """Most values with a number over 12 decide; each of them is unambiguous."""
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
    form = form.replace("%Y", f"{day.year:04d}")  # strftime can write it with fewer digits
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
    found[:] = 0  # the array belongs to the caller
