"""The fields of records: which columns are compared, of what kind they are, and one way of writing each value.

The one rule: two values that mean the same come out as the same text, and a value that means nothing is null.
Values are read once for each distinct one, so a column costs what its distinct values cost.
"""

import math
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.entities.nicknames import fold, formal_name, full_address, plain_name, simple
from lookalike.errors import DataError, UsageError, choice, positive
from lookalike.read import plain_type

KINDS = ("text", "name", "address", "phone", "date", "number", "category")
WORDED = ("text", "name", "address", "category")  # of these every value can be understood

# Values that say that there is none, as `fold` writes them ("n/a" is "n a"), beside those without any letter or digit
# ("-", "?", "..."). "na" counts in all kinds but names, where it is one.
MISSING = """
na, n a, nan, nil, none, null, unknown, undefined, missing, blank, tbd, tba, no data, no value, none given,
not available, not applicable, not known, not provided, not specified
"""
PLACEHOLDERS = frozenset(["", *(words.strip() for words in MISSING.split(","))])
NO_NAMES = PLACEHOLDERS - {"na"}


@dataclass(frozen=True)
class Field:
    """A column of table A, the column of table B that it is compared with, and how; kind "" means: guess it."""

    name: str  # what results call it
    left: str
    right: str
    kind: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (self.name and self.left and self.right):
            raise UsageError(f"a field must name a column of each table; got {self.left!r} and {self.right!r}.")
        if self.kind != "":
            choice(f"the kind of field {self.name!r}", self.kind, KINDS)
        positive(f"the weight of field {self.name!r}", self.weight)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The field that LEFT[:RIGHT][=KIND][*WEIGHT] says; column names may hold spaces, but none of `:`, `=`, `*`.

        >>> Field.parse("address:street=address*2")
        Field(name='address', left='address', right='street', kind='address', weight=2.0)
        """
        matched = re.fullmatch(r"([^:=*]+)(?::([^:=*]+))?(?:=([^:=*]*))?(?:\*([^:=*]*))?", text)
        left, right, kind, weight = (part and part.strip() for part in matched.groups()) if matched else ("",) * 4
        if not left or right == "":
            raise UsageError(f"a field must be LEFT[:RIGHT][=KIND][*WEIGHT]; got {text!r}.")
        if kind is not None:
            choice(f"the kind of field {left!r}", kind, KINDS)
        try:
            number = 1.0 if weight is None else float(weight)
        except ValueError:
            raise UsageError(f"the weight of field {left!r} must be a positive number; got {weight!r}.") from None
        return cls(left, left, right or left, kind or "", number)


@dataclass(frozen=True)
class Normalised:
    """Values in their one way of writing, null where there is none; how many were missing or not understood."""

    values: pa.LargeStringArray
    missing: int
    unparsable: int


def normalise(
    values: pa.Array | pa.ChunkedArray, kind: str, *, day_first: bool | None = None, country: str = ""
) -> Normalised:
    """The values of a column in the one way of writing that its kind has; doing it twice changes nothing.

    `day_first` says how 3/4/2020 is meant where the column itself does not show it. `country`, such as GB, is where
    phone numbers without a country code are from; outside the US it also means that dates have the day first.

    >>> found = normalise(pa.array(["Dr. Müller, Jürgen", "n/a", None]), "name")
    >>> found.values.to_pylist(), found.missing, found.unparsable
    (['jurgen muller', None, None], 2, 0)
    """
    choice("kind", kind, KINDS)
    code = COUNTRIES[choice("country", country.upper(), COUNTRIES)] if country else ""
    encoded = _texts(values, kind).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    if kind == "date":
        first = country.upper() not in MONTH_FIRST if country and day_first is None else day_first
        found = _dates(distinct, first)
    elif kind == "number":
        found = _numbers(distinct)
    elif kind == "phone":
        found = [_phone(value, code) for value in distinct]
    else:
        none, write = (NO_NAMES, plain_name) if kind == "name" else (PLACEHOLDERS, fold)
        found = [None if (text := write(value)) in none else text for value in distinct]
    lost = [n for n, text in enumerate(found) if text is None]
    unread = [n for n in lost if kind not in WORDED and fold(distinct[n]) not in PLACEHOLDERS]
    rows = np.bincount(encoded.indices.drop_null().to_numpy(), minlength=len(distinct))
    missing = encoded.null_count + int(rows[lost].sum() - rows[unread].sum())
    return Normalised(pa.array(found, pa.large_string()).take(encoded.indices), missing, int(rows[unread].sum()))


def canonical(values: pa.LargeStringArray, kind: str) -> pa.LargeStringArray:
    """Normalised names with every short form made formal, addresses with words in full; other kinds as they are.

    >>> canonical(pa.array(["bill obrien", None], pa.large_string()), "name").to_pylist()
    ['william obrien', None]
    >>> canonical(pa.array(["12 st james st apt 3", "p o box 7"], pa.large_string()), "address").to_pylist()
    ['12 saint james street apartment 3', 'post office box 7']
    """
    if choice("kind", kind, KINDS) not in ("name", "address"):
        return values
    encoded = values.dictionary_encode()
    write = formal_name if kind == "name" else full_address
    found = [write(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(found, pa.large_string()).take(encoded.indices)


def as_days(values: pa.LargeStringArray) -> np.ndarray:
    """Normalised dates as days since 1970-01-01, nan where there is none."""
    return _floats(values.cast(pa.date32()).cast(pa.int32()))


def as_numbers(values: pa.LargeStringArray) -> np.ndarray:
    """Normalised numbers as floats, nan where there is none."""
    return _floats(values)


def _floats(values: pa.Array) -> np.ndarray:
    return np.array(values.cast(pa.float64()).fill_null(math.nan).to_numpy(zero_copy_only=False))


def _texts(values: pa.Array | pa.ChunkedArray, kind: str) -> pa.LargeStringArray:
    """A column of any plain type as texts; times of day are cut off for dates."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    try:
        values = values.cast(plain_type(values.type))
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
        if pa.types.is_timestamp(values.type) and kind == "date":
            values = values.cast(pa.date32())
        texts = values.cast(pa.large_string())
        return pc.replace_substring_regex(texts, TIME_AFTER_DATE, r"\1") if kind == "date" else texts
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        why = "invalid UTF-8" if "UTF8" in str(error) else str(values.type)
        raise DataError(f"a field must hold texts, numbers or dates; got {why}.") from error


# --- what kind a column is of ---

HINTS = {  # words of a column's name, in the order in which they count
    "phone": "phone telephone tel mobile cell cellphone fax phonenumber",
    "text": "id ids code zip zipcode postcode postal ssn isbn issn number no nr num key email url ip web title",
    "number": "price year amount cost age quantity qty weight height length width salary total count rating score",
    "date": "date dob birthday birthdate born created updated modified expires expiry timestamp day",
    "address": "address addr street road",
    "category": "sex gender state country category type status class colour color genre language currency",
    "name": "surname forename firstname lastname fullname givenname fname lname author",
}
HINTED = {word: kind for kind in reversed(HINTS) for word in HINTS[kind].split()}
PEOPLE = "name first last middle given family full maiden person people customer patient employee contact"
OF_PEOPLE = frozenset(PEOPLE.split())
WORDS_OF_COLUMN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LIKE_A_NAME = r"^[\pL\pM]+( [\pL\pM]+){0,4}$"
SAMPLE = 1000


def guess_kind(name: str, values: pa.Array | pa.ChunkedArray) -> str:
    """The kind of a column, from its type, its name and up to 1,000 of its values; "text" where nothing tells.

    A name's hint counts only if most of the values can be read so.

    >>> guess_kind("Home phone", pa.array(["212-555-0100"])), guess_kind("name", pa.array(["Sony PSLX350H turntable"]))
    ('phone', 'text')
    """
    plain = plain_type(values.type)
    if pa.types.is_date(plain) or pa.types.is_timestamp(plain):
        return "date"
    if pa.types.is_boolean(plain):
        return "category"
    sample = values.take(np.linspace(0, len(values) - 1, min(len(values), SAMPLE)).astype(np.int64))
    named = _kind_named([word.lower() for word in WORDS_OF_COLUMN.findall(name)])
    if named and _share_read(sample, named, of_none=1.0) >= 0.7:
        return named
    if pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain):
        return "number"
    texts = normalise(sample, "text").values.drop_null()
    codes = pc.any(pc.match_substring_regex(texts, r"^0\d")).as_py()  # a number is not written so
    for kind in ("date",) if codes else ("number", "date"):
        if _share_read(sample, kind, of_none=0.0) >= 0.95:
            return kind
    return "category" if len(texts) >= 40 and len(texts.unique()) <= len(texts) / 20 else "text"


def _kind_named(words: list[str]) -> str:
    kinds = {HINTED[word] for word in words if word in HINTED}
    if "name" in words and not kinds:
        return "name" if OF_PEOPLE.issuperset(words) else "text"
    return next((kind for kind in HINTS if kind in kinds), "")


def _share_read(sample: pa.Array, kind: str, of_none: float) -> float:
    """Which share of the values that are there can be read as of this kind."""
    found = normalise(sample, kind)
    present = len(sample) - found.missing
    read = present - found.unparsable
    if kind == "name":
        read = pc.sum(pc.match_substring_regex(found.values, LIKE_A_NAME)).as_py() or 0
    return read / present if present else of_none


# --- phones ---

COUNTRY_TABLE = """
US 1 CA 1 RU 7 KZ 7 EG 20 ZA 27 GR 30 NL 31 BE 32 FR 33 ES 34 HU 36 IT 39 RO 40 CH 41 AT 43 GB 44 DK 45 SE 46 NO 47
PL 48 DE 49 PE 51 MX 52 CU 53 AR 54 BR 55 CL 56 CO 57 VE 58 MY 60 AU 61 ID 62 PH 63 NZ 64 SG 65 TH 66 JP 81 KR 82 VN 84
CN 86 TR 90 IN 91 PK 92 AF 93 LK 94 MM 95 IR 98 MA 212 DZ 213 TN 216 NG 234 KE 254 PT 351 LU 352 IE 353 IS 354 MT 356
CY 357 FI 358 BG 359 LT 370 LV 371 EE 372 UA 380 RS 381 HR 385 SI 386 CZ 420 SK 421 HK 852 TW 886 BD 880 IL 972 AE 971
SA 966
"""
COUNTRIES = dict(zip(COUNTRY_TABLE.split()[::2], COUNTRY_TABLE.split()[1::2], strict=True))
CODES_OF_TWO = frozenset(code for code in COUNTRIES.values() if len(code) == 2)  # all there are; 1 and 7 are of one
KEYS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "22233344455566677778889999", "-().+/_,; ")
TEN_DIGITS = re.compile(r"\(?([2-9][0-9]{2})\)?[-. ]?([0-9]{3})[-. ]?([0-9]{4})")  # the usual case, soon done
ANY_LETTER = re.compile("[a-z#]")
LABEL = re.compile(r"^(?:telephone|tel|phone|ph|mobile|mob|cell|fax)\b[.: ]*|\([a-z ]*\)$")
EXTENSION = re.compile(r"(?<=[\d) .,;])(?:extension|extn|ext|x|#)[ .:=#]*\d{1,7}$")
PHONE = re.compile(r"[(+ ]*\d[-\d ().+/_,;]*|\+?[-\d ().]*\d[-\d ().]*[a-z][-a-z\d .]*")
LONGEST_PHONE = 60  # characters
NORTH_AMERICAN = re.compile(r"1[2-9]\d\d[2-9]\d{6}")


def _phone(value: str, code: str) -> str | None:
    """The digits of the national number: no extension, country code or trunk zero; letters are keys; 5 to 15 digits.

    The country code is dropped after + or 00, and without them from a number of over ten digits that begins with the
    given country's code, or is of the North American form where none or that one is given.
    """
    if usual := TEN_DIGITS.fullmatch(value):
        return "".join(usual.groups())
    text = simple(value)
    if ANY_LETTER.search(text):
        text = EXTENSION.sub("", LABEL.sub("", text)).strip(" ,;")
    if len(text) > LONGEST_PHONE or not PHONE.fullmatch(text):
        return None
    digits = text.translate(KEYS)
    plus = text.lstrip("( ").startswith("+")
    if plus or digits.startswith("00"):
        digits = digits[0 if plus else 2 :]
        digits = digits[1 if digits[:1] in ("1", "7") else 2 if digits[:2] in CODES_OF_TWO else 3 :]
    before = ""
    while digits != before:
        before, digits = digits, digits.lstrip("0")
        if NORTH_AMERICAN.fullmatch(digits) if code in ("", "1") else len(digits) > 10 and digits.startswith(code):
            digits = digits[len(code) or 1 :]
    return digits if 5 <= len(digits) <= 15 else None


# --- dates ---

YEAR_OF_MONTHS = "january february march april may june july august september october november december"
MONTHS = {form: n for n, name in enumerate(YEAR_OF_MONTHS.split(), 1) for form in (name, name[:3])} | {"sept": 9}
MONTH_FIRST = ("US", "PH")
PIVOT = 30  # two-digit years up to it are of this century, later ones of the last
TIME = re.compile(
    r"(?:(?<=\d)t|,)? ?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)? ?(?:[ap]\.?m\.?)? ?(?:z|utc|gmt)?(?:[+-]\d\d:?\d\d)?"
)
TIME_AFTER_DATE = (
    r"^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$"  # leaves few distinct values
)
WEEKDAY = re.compile(r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?[., ]+")
YEAR, DAY, SIGN = r"(?P<y>\d{4}|'?\d\d)", r"(?P<d>\d{1,2})(?:st|nd|rd|th)?", "[-/., ]"
FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<y>\d{{4}}){SIGN}+(?P<m>\d{{1,2}}){SIGN}+(?P<d>\d{{1,2}})",
        r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)(?:\d{6})?",
        rf"(?P<a>\d{{1,2}})(?P<sign>{SIGN}+)(?P<b>\d{{1,2}}){SIGN}+{YEAR}",
        rf"{DAY}{SIGN}*(?:of )?(?P<m>[a-z]+){SIGN}*{YEAR}",
        rf"(?P<m>[a-z]+){SIGN}*{DAY}{SIGN}+{YEAR}",
        rf"(?P<y>\d{{4}}){SIGN}*(?P<m>[a-z]+){SIGN}*{DAY}",
    )
)


def _dates(values: list[str], day_first: bool | None) -> list[str | None]:
    """Dates as YYYY-MM-DD. In 3/4/2020 the day is first if the column's values with a number over 12 mostly say so.

    If none does, `day_first` decides; without it the month is first, but after dots (3.4.2020) the day.
    """
    found = [_date_parts(value) for value in values]
    pairs = [(int(parts["a"]), int(parts["b"])) for parts in found if "a" in parts]
    votes = sum((12 < a <= 31 and b <= 12) - (12 < b <= 31 and a <= 12) for a, b in pairs)
    order = votes > 0 if votes else day_first
    return [_date(parts, order) for parts in found]


def _date_parts(value: str) -> dict[str, str]:
    """Year, month and day, or a and b where it is open which of them is the day; nothing if it is no date."""
    text = WEEKDAY.sub("", simple(value))
    if ":" in text:
        text = TIME.sub(" ", text, count=1)
    return next((matched.groupdict() for form in FORMS if (matched := form.fullmatch(text.strip(" .,")))), {})


def _date(parts: dict[str, str], day_first: bool | None) -> str | None:
    if not parts:
        return None
    if "a" in parts:
        a, b = int(parts["a"]), int(parts["b"])
        first = "." in parts["sign"] if day_first is None else day_first
        day, month = (a, b) if (a > 12 or first) and b <= 12 else (b, a)
    else:
        day, name = int(parts["d"]), parts["m"]
        month = int(name) if name.isdigit() else MONTHS.get(name, 0)
    year = int(parts["y"].lstrip("'"))
    if len(parts["y"]) < 4:
        year += 2000 if year <= PIVOT else 1900
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


# --- numbers ---

MONEY = re.compile(
    r"(?:(?<![a-z])(?:us|au|ca|c|a|nz|hk))?[$\u00a2-\u00a5\u0e3f\u20a0-\u20cf]"
    r"|(?<![a-z])(?:usd|eur|gbp|jpy|chf|cad|aud|nzd|cny|rmb|inr|sek|nok|dkk|pln|kr|rs|euros?|dollars?)(?![a-z])\.?"
)
PLAIN_NUMBER = re.compile(r"[$€£]?(-?)([0-9][0-9.,]*)")  # the usual case, soon done
NUMBER = re.compile(r"([-+]?) ?(\d[\d.,]*|[.,]\d+)(e[-+]?\d{1,3})?")
SPACED = re.compile(r"(?<![\d.,'_])\d{1,3}([ '_])\d{3}(?:\1\d{3})*(?![\d '_])")
GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")  # 1,234,567 and the Indian 12,34,567
GROUPS = re.compile("[.,]")
OPEN = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
LONGEST = 300  # digits; what is longer would not fit a float


def _numbers(values: list[str]) -> list[str | None]:
    """Numbers without currency, percent sign, thousands separators and idle zeros.

    1,234 has a decimal comma if that is what the column's other values show by majority: 12,5 does, 1,234.5 does not.
    """
    found = [_number_parts(value) for value in values]
    marks = [_decimal_mark(digits) for _, digits, _ in found]
    usual = "," if marks.count(",") > marks.count(".") else "."
    return [_number(*parts, mark or usual) for parts, mark in zip(found, marks, strict=True)]


def _number_parts(value: str) -> tuple[str, str, str]:
    """Sign, digits with their separators, and exponent; no digits if it is no number."""
    if usual := PLAIN_NUMBER.fullmatch(value):
        return usual[1], usual[2], ""
    text = MONEY.sub(" ", simple(value)).strip().removesuffix("%").strip()
    minus = text.startswith("(") and text.endswith(")")  # as in accounts
    text = SPACED.sub(lambda grouped: re.sub(r"\D", "", grouped[0]), text.strip("() ") if minus else text)
    matched = NUMBER.fullmatch(text)
    return (matched[1] or "-" * minus, matched[2], matched[3] or "") if matched else ("", "", "")


def _decimal_mark(digits: str) -> str:
    """The decimal mark that a number shows to be in use, "" if it shows none."""
    if digits.isdigit() or OPEN.fullmatch(digits):
        return ""
    mark, other = (",", ".") if digits.rfind(",") > digits.rfind(".") else (".", ",")
    return mark if other in digits or digits.count(mark) == 1 else other


def _number(sign: str, digits: str, exponent: str, mark: str) -> str | None:
    whole, _, fraction = digits.partition(mark)
    if not ((whole + fraction).isdigit() or (GROUPED.fullmatch(whole) and (fraction or "0").isdigit())):
        return None
    if exponent:
        number = Decimal(f"{GROUPS.sub('', whole)}.{fraction}{exponent}")
        if abs(number.adjusted()) > LONGEST:
            return None
        whole, _, fraction = f"{number:f}".partition(".")
    text = GROUPS.sub("", whole).lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    text = f"{text}.{fraction}" if fraction else text
    return ("-" if sign == "-" and text != "0" else "") + text if len(text) <= LONGEST else None
