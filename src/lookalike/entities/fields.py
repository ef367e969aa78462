"""Fields of records: which columns are compared, their kinds, and their normalised values.

The one rule: two values that mean the same become the same text, and a value that means nothing
becomes null.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, choice, positive
from lookalike.core.run import Run
from lookalike.entities.usual import (
    emails,
    fold_all,
    formal_names,
    full_addresses,
    in_parts,
    phones,
    plain_names,
    plain_texts,
    without_remarks,
)
from lookalike.entities.values import (
    COUNTRIES,
    MONTH_FIRST,
    TIME_AFTER_DATE,
    dates,
    day_comes_first,
    has_decimal_comma,
    numbers,
)
from lookalike.io.tables import plain_type
from lookalike.items.shingles import Shingles

FIELD_KINDS = ("text", "name", "address", "phone", "email", "date", "number", "category")
TRIGRAMS = Shingles(k=3, form="none", space="keep")
WORDS = Shingles(k=1, unit="word", form="none")
WORDED = ("text", "name", "address", "category")  # kinds that every value can be read as

# Values that mean missing, as `fold` writes them ("n/a" is "n a"). Values without a letter or digit
# ("-", "?", "...") are missing, too. "na" is missing in all kinds but names, where it is a name.
MISSING_WORDS = """
na, n a, nan, nil, none, null, unknown, undefined, missing, blank, tbd, tba, no data, no value, none given,
not available, not applicable, not known, not provided, not specified
"""
PLACEHOLDERS = frozenset(["", *(words.strip() for words in MISSING_WORDS.split(","))])
NO_NAMES = PLACEHOLDERS - {"na"}


@dataclass(frozen=True)
class Field:
    """A column of each table, and how to compare them; kind "" means that it is inferred.

    >>> Field("address", "address", "street", kind="address", weight=2) == Field.parse("address:street=address*2")
    True
    """

    name: str  # in results
    left: str
    right: str
    kind: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (self.name and self.left and self.right):
            raise UsageError(f"a field must name a column of each table; got {self.left!r} and {self.right!r}.")
        if self.kind != "":
            choice(f"the kind of field {self.name!r}", self.kind, FIELD_KINDS)
        positive(f"the weight of field {self.name!r}", self.weight)

    @classmethod
    def parse(cls, text: str) -> Self:
        r"""Parse LEFT[:RIGHT][=KIND][*WEIGHT]; a backslash escapes these signs, and itself, in a name.

        >>> Field.parse("address:street=address*2")
        Field(name='address', left='address', right='street', kind='address', weight=2.0)
        >>> Field.parse(r"dc\:title").left
        'dc:title'
        """
        name = r"((?:[^:=*\\]|\\.)+)"
        matched = re.fullmatch(rf"{name}(?::{name})?(?:=([^:=*]*))?(?:\*([^:=*]*))?", text, re.DOTALL)
        left, right, kind, weight = (part and part.strip() for part in matched.groups()) if matched else ("",) * 4
        left, right = (part and re.sub(r"\\(.)", r"\1", part) for part in (left, right))
        if not left or right == "":
            raise UsageError(f"a field must be LEFT[:RIGHT][=KIND][*WEIGHT]; got {text!r}.")
        if kind is not None:
            choice(f"the kind of field {left!r}", kind, FIELD_KINDS)
        try:
            number = 1.0 if weight is None else float(weight)
        except ValueError:
            raise UsageError(f"the weight of field {left!r} must be a positive number; got {weight!r}.") from None
        return cls(left, left, right or left, kind or "", number)

    def __str__(self) -> str:
        r"""Write the field as `parse` reads it.

        >>> str(Field.parse(r"dc\:title:title=text*2")), str(Field.parse("name"))
        ('dc\\:title:title=text*2', 'name')
        """
        left, right = (re.sub(r"([:=*,\\])", r"\\\1", column) for column in (self.left, self.right))
        kind, weight = f"={self.kind}" * bool(self.kind), f"*{self.weight:g}" * (self.weight != 1)
        return left + f":{right}" * (right != left) + kind + weight


def split_fields(text: str) -> list[str]:
    r"""Return the fields in a list that is separated by commas; those in names have a backslash.

    >>> split_fields(r"name=name, dc\:title, last\, first")
    ['name=name', 'dc\\:title', 'last\\, first']
    """
    return re.split(r"(?<!\\), ", text)


def as_fields(given: Any) -> list[Field]:
    """Return the fields, parsing those given as text."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise UsageError(f"fields must be a list of at least one column to compare; got {given!r}.")
    for one in given:
        if not isinstance(one, Field | str):
            raise UsageError(f"a field must be a Field, or a text such as 'name' or 'address:street'; got {one!r}.")
    return [Field.parse(one) if isinstance(one, str) else one for one in given]


# --- normalised values ---


@dataclass(frozen=True)
class Normalised:
    """Normalised values, null where missing or unparsable, and how many are either."""

    values: pa.LargeStringArray
    missing: int
    unparsable: int


def normalise(
    values: pa.Array | pa.ChunkedArray,
    kind: str,
    *,
    day_first: bool | None = None,
    decimal_comma: bool | None = None,
    country: str = "",
    run: Run | None = None,
) -> Normalised:
    """Write the values of a column in the standard form of its kind; twice is the same as once.

    `day_first` says how to read 3/4/2020 if the column itself does not show it, `decimal_comma` how
    to read 1,234. `country`, such as GB, sets the default of `day_first`, and the country of phone
    numbers that do not name one.

    >>> found = normalise(pa.array(["Dr. Müller, Jürgen", "n/a", None]), "name")
    >>> found.values.to_pylist(), found.missing, found.unparsable
    (['jurgen muller', None, None], 2, 0)
    """
    choice("kind", kind, FIELD_KINDS)
    code = COUNTRIES[choice("country", country.upper(), COUNTRIES)] if country else ""
    run = run or Run(1)
    texts = as_texts(values, kind)
    if kind in ("date", "number"):  # how one value is read depends on the others
        first = country.upper() not in MONTH_FIRST if country and day_first is None else day_first
        encoded = texts.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        read = pa.array(
            dates(distinct, first) if kind == "date" else numbers(distinct, decimal_comma), pa.large_string()
        )
        found = read.take(encoded.indices)
    elif kind == "phone":
        found = in_parts(lambda part: phones(part, code), texts, run)
    elif kind == "email":
        found = in_parts(emails, texts, run)
    else:
        none = NO_NAMES if kind == "name" else PLACEHOLDERS
        write = {"name": plain_names, "text": plain_texts}.get(kind, fold_all)
        found = in_parts(lambda part: _without(none, write(part)), texts, run)
    lost = texts.filter(pc.and_(found.is_null(), texts.is_valid()))
    unread = 0 if kind in WORDED else len(_without(PLACEHOLDERS, in_parts(fold_all, lost, run)).drop_null())
    return Normalised(found, found.null_count - unread, unread)


def shown_style(values: pa.Array | pa.ChunkedArray, kind: str) -> bool | None:
    """Return whether dates have the day first, or numbers a decimal comma; None if the values do not show it.

    >>> shown_style(pa.array(["3/4/2020", "25/4/2020"]), "date"), shown_style(pa.array(["1,234"]), "number")
    (True, None)
    """
    if kind not in ("date", "number"):
        return None
    distinct = as_texts(values, kind).unique().drop_null().to_pylist()
    return day_comes_first(distinct) if kind == "date" else has_decimal_comma(distinct)


def _without(placeholders: frozenset[str], texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts with null for those that mean missing."""
    return pc.if_else(pc.is_in(texts, pa.array(placeholders, pa.large_string())), None, texts)


def canonical(values: pa.LargeStringArray, kind: str, run: Run | None = None) -> pa.LargeStringArray:
    """Write out short forms in normalised names and addresses; drop the remark after a text.

    Other kinds stay as they are.

    >>> canonical(pa.array(["bill obrien", None], pa.large_string()), "name").to_pylist()
    ['william obrien', None]
    >>> canonical(pa.array(["12 st james st apt 3", "p o box 7"], pa.large_string()), "address").to_pylist()
    ['12 saint james street apartment 3', 'post office box 7']
    >>> canonical(pa.array(["bain el atlal (1959)"], pa.large_string()), "text").to_pylist()
    ['bain el atlal']
    """
    write = {"name": formal_names, "address": full_addresses, "text": without_remarks}.get(
        choice("kind", kind, FIELD_KINDS)
    )
    return values if write is None else in_parts(write, values, run or Run(1))


def as_days(values: pa.LargeStringArray) -> np.ndarray:
    """Convert normalised dates to days since 1970-01-01, nan where missing."""
    return as_numbers(values.cast(pa.date32()).cast(pa.int32()))


def as_numbers(values: pa.Array) -> np.ndarray:
    """Convert normalised numbers to floats, nan where missing."""
    return np.array(values.cast(pa.float64()).fill_null(math.nan).to_numpy(zero_copy_only=False))


def as_texts(values: pa.Array | pa.ChunkedArray, kind: str) -> pa.LargeStringArray:
    """Convert a column of any plain type to texts; drop the time of day from dates."""
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


# --- a field of all records ---


@dataclass(frozen=True)
class Column:
    """The values of one field in the first table, then in the second; null where missing."""

    name: str
    kind: str
    values: pa.LargeStringArray  # as they are compared
    canonical: pa.LargeStringArray  # with short forms and abbreviations written out
    unread: int = 0  # values that are null because they cannot be read as this kind

    @property
    def wordy(self) -> bool:
        """Return whether values consist of words, so that parts of two values can be similar."""
        return self.kind in ("text", "name", "address")
