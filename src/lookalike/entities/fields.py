"""The fields of records: which columns are compared, of what kind they are, and one way of writing each value.

The one rule: two values that mean the same come out as the same text, and a value that means nothing is null.
Values are read once for each distinct one, so a column costs what its distinct values cost.
"""

import math
import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, choice, positive
from lookalike.entities.nicknames import fold, formal_name, full_address, plain_name
from lookalike.entities.values import COUNTRIES, MONTH_FIRST, TIME_AFTER_DATE, dates, numbers, phone
from lookalike.io.tables import plain_type

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
        found = dates(distinct, first)
    elif kind == "number":
        found = numbers(distinct)
    elif kind == "phone":
        found = [phone(value, code) for value in distinct]
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
