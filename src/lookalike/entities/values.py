"""Write texts, phone numbers, dates and numbers in a standard form; None if a value has none."""

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from decimal import Decimal

# --- words ---

APOSTROPHES = frozenset("'`\u00b4\u02b9\u02bb\u02bc\u2018\u2019\u201b\u2032\u05f3\u0640")  # and the Arabic tatweel
PLAIN_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
PLAIN_LETTERS |= {"&": " and ", "\u2122": " ", "\u2120": " "}  # trade marks would turn into letters
ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff]"
)


class _Characters(dict[int, str]):
    """A map from each character to its replacement, computed when it is first needed."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        self.rule = rule

    def __missing__(self, code: int) -> str:
        self[code] = text = self.rule(chr(code))
        return text


def _folded(character: str) -> str:
    if character in APOSTROPHES or ACCENTS.match(character):
        return ""
    if character in PLAIN_LETTERS:
        return PLAIN_LETTERS[character]
    simpler = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    if simpler != character:
        return "".join(map(_folded, simpler))
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    category = unicodedata.category(character)
    return character if category[0] in "LMN" else "" if category == "Cf" else " "


def _plain(character: str) -> str:
    """Return the ASCII form of a digit of any script, a dash or a space."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    category = unicodedata.category(character)
    special = {"Pd": "-", "Zs": " ", "Cf": ""}
    return "-" if character == "\u2212" else "'" if character in APOSTROPHES else special.get(category, character)


FOLDED, PLAIN = _Characters(_folded), _Characters(_plain)


def fold(value: str) -> str:
    """Return the words of a text without case, accents, punctuation and compatibility forms (NFKC).

    Marks that are not accents, as in Hindi, Thai or Japanese, stay. Apostrophes vanish; & is "and".

    >>> fold("  O'Brien & SÖHNE, Straße №5 "), fold("Łódź-ΑΘΉΝΑ")
    ('obrien and sohne strasse no5', 'lodz αθηνα')
    """
    return " ".join(unicodedata.normalize("NFC", value.translate(FOLDED)).split())


def simple(value: str) -> str:
    """Return a value in lower case, in ASCII where possible, with single spaces."""
    if not value.isascii():
        value = unicodedata.normalize("NFKC", value).translate(PLAIN)
    return " ".join(value.lower().split())


# --- phones ---

COUNTRY_TABLE = """
US 1 CA 1 RU 7 KZ 7 EG 20 ZA 27 GR 30 NL 31 BE 32 FR 33 ES 34 HU 36 IT 39 RO 40 CH 41 AT 43 GB 44 DK 45 SE 46 NO 47
PL 48 DE 49 PE 51 MX 52 CU 53 AR 54 BR 55 CL 56 CO 57 VE 58 MY 60 AU 61 ID 62 PH 63 NZ 64 SG 65 TH 66 JP 81 KR 82 VN 84
CN 86 TR 90 IN 91 PK 92 AF 93 LK 94 MM 95 IR 98 MA 212 DZ 213 TN 216 NG 234 KE 254 PT 351 LU 352 IE 353 IS 354 MT 356
CY 357 FI 358 BG 359 LT 370 LV 371 EE 372 UA 380 RS 381 HR 385 SI 386 CZ 420 SK 421 HK 852 TW 886 BD 880 IL 972 AE 971
SA 966
"""
COUNTRIES = dict(zip(COUNTRY_TABLE.split()[::2], COUNTRY_TABLE.split()[1::2], strict=True))
CODES_OF_TWO = frozenset(code for code in COUNTRIES.values() if len(code) == 2)  # all there are; 1 and 7 have one digit
KEYS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "22233344455566677778889999", "-().+/_,; ")
TEN_DIGITS = re.compile(r"\(?([2-9][0-9]{2})\)?[-. ]?([0-9]{3})[-. ]?([0-9]{4})")  # a fast path for the usual case
ANY_LETTER = re.compile("[a-z#]")
LABEL = re.compile(r"^(?:telephone|tel|phone|ph|mobile|mob|cell|fax)\b[.: ]*|\([a-z ]*\)$")
EXTENSION = re.compile(r"(?<=[\d) .,;])(?:extension|extn|ext|x|#)[ .:=#]*\d{1,7}$")
PHONE = re.compile(r"[(+ ]*\d[-\d ().+/_,;]*|\+?[-\d ().]*\d[-\d ().]*[a-z][-a-z\d .]*")
LONGEST_PHONE = 60  # characters
NORTH_AMERICAN = re.compile(r"1[2-9]\d\d[2-9]\d{6}")


def phone(value: str, code: str) -> str | None:
    """Return the 5 to 15 digits of a national number, without extension or trunk zero.

    Letters stand for their keys. A country code is dropped after + or 00; otherwise only if the
    number has over ten digits and begins with `code`, or if `code` is "", is North American.
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
PIVOT = 30  # two-digit years up to this are 20xx, later ones 19xx
TIME = re.compile(
    r"(?:(?<=\d)t|,)? ?\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)? ?(?:[ap]\.?m\.?)? ?(?:z|utc|gmt)?(?:[+-]\d\d:?\d\d)?"
)
TIME_AFTER_DATE = (
    r"^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$"  # so that few distinct values remain
)
WEEKDAY = re.compile(r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?[., ]+")
YEAR, DAY, DATE_SIGN = r"(?P<y>\d{4}|'?\d\d)", r"(?P<d>\d{1,2})(?:st|nd|rd|th)?", "[-/., ]"
DATE_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"(?P<y>\d{{4}}){DATE_SIGN}+(?P<m>\d{{1,2}}){DATE_SIGN}+(?P<d>\d{{1,2}})",
        r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)(?:\d{6})?",
        rf"(?P<a>\d{{1,2}})(?P<sign>{DATE_SIGN}+)(?P<b>\d{{1,2}}){DATE_SIGN}+{YEAR}",
        rf"{DAY}{DATE_SIGN}*(?:of )?(?P<m>[a-z]+){DATE_SIGN}*{YEAR}",
        rf"(?P<m>[a-z]+){DATE_SIGN}*{DAY}{DATE_SIGN}+{YEAR}",
        rf"(?P<y>\d{{4}}){DATE_SIGN}*(?P<m>[a-z]+){DATE_SIGN}*{DAY}",
    )
)


def dates(values: list[str], day_first: bool | None) -> list[str | None]:
    """Return dates as YYYY-MM-DD. 3/4/2020 is read as most dates with a number over 12 are.

    If there are none, `day_first` decides; without it the month is first, or with dots (3.4.2020)
    the day.
    """
    found = [_date_parts(value) for value in values]
    shown = _day_comes_first(found)
    return [_date(parts, day_first if shown is None else shown) for parts in found]


def day_comes_first(values: list[str]) -> bool | None:
    """Return whether most values with a number over 12 have the day first; None if undecided."""
    return _day_comes_first([_date_parts(value) for value in values])


def _day_comes_first(found: list[dict[str, str]]) -> bool | None:
    pairs = [(int(parts["a"]), int(parts["b"])) for parts in found if "a" in parts]
    votes = sum((12 < a <= 31 and b <= 12) - (12 < b <= 31 and a <= 12) for a, b in pairs)
    return votes > 0 if votes else None


def _date_parts(value: str) -> dict[str, str]:
    """Return year, month and day, or a and b if either can be the day; {} if not a date."""
    text = WEEKDAY.sub("", simple(value))
    if ":" in text:
        text = TIME.sub(" ", text, count=1)
    return next((matched.groupdict() for form in DATE_FORMS if (matched := form.fullmatch(text.strip(" .,")))), {})


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
PLAIN_NUMBER = re.compile(r"[$€£]?(-?)([0-9][0-9.,]*)")  # a fast path for the usual case
ANY_NUMBER = re.compile(r"([-+]?) ?(\d[\d.,]*|[.,]\d+)(e[-+]?\d{1,3})?")
SPACED = re.compile(r"(?<![\d.,'_])\d{1,3}([ '_])\d{3}(?:\1\d{3})*(?![\d '_])")
GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}")  # 1,234,567 and the Indian 12,34,567
GROUPS = re.compile("[.,]")
UNDECIDED = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
LONGEST_NUMBER = 300  # digits; a longer one would not fit a float


def numbers(values: list[str], decimal_comma: bool | None = None) -> list[str | None]:
    """Return numbers without currency, percent sign, thousands separators and superfluous zeros.

    In 1,234 the comma is a decimal comma if more values show one, as 12,5 does, than a point. If
    they show neither, `decimal_comma` decides.
    """
    found = [_number_parts(value) for value in values]
    marks = [_decimal_mark(digits) for _, digits, _ in found]
    shown = _has_decimal_comma(marks)
    usual = "," if (decimal_comma if shown is None else shown) else "."
    return [_number(*parts, mark or usual) for parts, mark in zip(found, marks, strict=True)]


def has_decimal_comma(values: list[str]) -> bool | None:
    """Return whether more values show a decimal comma than a point; None if they show neither."""
    return _has_decimal_comma([_decimal_mark(digits) for _, digits, _ in map(_number_parts, values)])


def _has_decimal_comma(marks: list[str]) -> bool | None:
    commas, points = marks.count(","), marks.count(".")
    return commas > points if commas or points else None


def _number_parts(value: str) -> tuple[str, str, str]:
    """Return sign, digits with their separators, and exponent; no digits if not a number."""
    if usual := PLAIN_NUMBER.fullmatch(value):
        return usual[1], usual[2], ""
    text = MONEY.sub(" ", simple(value)).strip().removesuffix("%").strip()
    minus = text.startswith("(") and text.endswith(")")  # as in accounts
    text = SPACED.sub(lambda grouped: re.sub(r"\D", "", grouped[0]), text.strip("() ") if minus else text)
    matched = ANY_NUMBER.fullmatch(text)
    return (matched[1] or "-" * minus, matched[2], matched[3] or "") if matched else ("", "", "")


def _decimal_mark(digits: str) -> str:
    """Return the decimal mark that a number must have, "" if it does not show one."""
    if digits.isdigit() or UNDECIDED.fullmatch(digits):
        return ""
    mark, other = (",", ".") if digits.rfind(",") > digits.rfind(".") else (".", ",")
    return mark if other in digits or digits.count(mark) == 1 else other


def _number(sign: str, digits: str, exponent: str, mark: str) -> str | None:
    whole, _, fraction = digits.partition(mark)
    if not ((whole + fraction).isdigit() or (GROUPED.fullmatch(whole) and (fraction or "0").isdigit())):
        return None
    if exponent:
        number = Decimal(f"{GROUPS.sub('', whole)}.{fraction}{exponent}")
        if abs(number.adjusted()) > LONGEST_NUMBER:
            return None
        whole, _, fraction = f"{number:f}".partition(".")
    text = GROUPS.sub("", whole).lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    text = f"{text}.{fraction}" if fraction else text
    return ("-" if sign == "-" and text != "0" else "") + text if len(text) <= LONGEST_NUMBER else None
