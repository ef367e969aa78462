"""Guess the kind of a column from its type, its name and its values, and normalise it."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run
from lookalike.entities.fields import Column, Field, canonical, normalise
from lookalike.io.tables import plain_type

HINTS = {  # words in a column's name, the strongest hint first
    "phone": "phone telephone tel mobile cell cellphone fax phonenumber",
    "text": "id ids code zip zipcode postcode postal ssn isbn issn number no nr num key url ip web title",
    "email": "email emails mail",
    "number": "price amount cost age quantity qty weight height length width salary total count rating score",
    "date": "date dob birthday birthdate born created updated modified expires expiry timestamp day",
    "address": "address addr street road",
    "category": "sex gender year state country category type status class colour color genre language currency",
    "name": "surname forename firstname lastname fullname givenname fname lname author actor actress "
    "starring director writer editor composer",
}
HINTED = {word: kind for kind in reversed(HINTS) for word in HINTS[kind].split()}
PEOPLE = "name first last middle given family full maiden person people customer patient employee contact"
OF_PEOPLE = frozenset(PEOPLE.split())
GIVEN_NAMES = frozenset(["first", "given", "forename", "firstname", "givenname", "fname"])
SURNAMES = frozenset(["last", "family", "surname", "lastname", "familyname", "lname"])
WORDS_OF_COLUMN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LIKE_A_NAME = r"^[\pL\pM]+( [\pL\pM]+){0,4}$"
KIND_SAMPLE = 1000
SAME_CATEGORIES = 0.5  # the share of categories of one table that must be in the other, too
LEAST_READ = 0.7  # the share of values that must be of the kind that the column's name hints at


def make_column(
    field: Field, sides: Sequence[pa.ChunkedArray], run: Run, styles: Sequence[bool | None] = (None, None)
) -> Column:
    """Normalise a field's column of each table; guess its kind if it is not given.

    The `styles` decide what the columns themselves do not show: see `fields.shown_style`.
    """
    kind = field.kind or guess_common_kind([field.left, field.right], sides)
    done = [
        normalise(side, kind, day_first=style, decimal_comma=style, run=run)
        for side, style in zip(sides, styles, strict=False)
    ]
    values = pa.chunked_array([one.values for one in done], pa.large_string()).combine_chunks()
    return Column(field.name, kind, values, canonical(values, kind, run), sum(one.unparsable for one in done))


def guess_common_kind(names: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> str:
    """Guess the kind of a field from its column in each table: one that fits both, else "text"."""
    kinds = [guess_kind(name, column) for name, column in zip(names, columns, strict=False)]
    hinted = [kind for name in names if (kind := hinted_kind(name))]
    likely = kinds[:1] if len(set(kinds)) == 1 else [*hinted, *(kind for kind in kinds if kind != "text")]
    return next((kind for kind in likely if _fits(kind, columns)), "text")


def _fits(kind: str, columns: Sequence[pa.ChunkedArray]) -> bool:
    """Return whether values of all columns can be read as a kind; categories must be the same."""
    if kind != "category":
        return all(_share_read(_sample(one), kind, of_none=1.0) >= LEAST_READ for one in columns)
    values = [normalise(one, kind).values.drop_null().unique() for one in map(_sample, columns)]
    least = min(map(len, values))
    return pc.sum(pc.is_in(values[0], values[-1])).as_py() >= SAME_CATEGORIES * least if least else True


def guess_kind(name: str, values: pa.Array | pa.ChunkedArray) -> str:
    """Guess the kind of a column from its type, its name and up to 1,000 values; else "text".

    The name counts only if at least 70% of the values can be read as that kind.

    >>> guess_kind("Home phone", pa.array(["212-555-0100"])), guess_kind("name", pa.array(["Sony PSLX350H turntable"]))
    ('phone', 'text')
    """
    plain = plain_type(values.type)
    if pa.types.is_date(plain) or pa.types.is_timestamp(plain):
        return "date"
    if pa.types.is_boolean(plain):
        return "category"
    sample = _sample(values)
    named = hinted_kind(name)
    if named and _share_read(sample, named, of_none=1.0) >= LEAST_READ:
        return named
    if pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain):
        return "number"
    texts = normalise(sample, "text").values.drop_null()
    if _share_read(sample, "email", of_none=0.0) >= 0.95:
        return "email"
    codes = pc.any(pc.match_substring_regex(texts, r"^0\d")).as_py()  # numbers have no leading zero
    for kind in ("date",) if codes else ("number", "date"):
        if _share_read(sample, kind, of_none=0.0) >= 0.95:
            return kind
    return "category" if len(texts) >= 40 and len(texts.unique()) <= len(texts) / 20 else "text"


def names_apart(fields: Sequence[tuple[str, str]]) -> tuple[int, int] | None:
    """Return which field holds given names and which surnames, from their names and kinds; None if unclear.

    >>> names_apart([("born", "date"), ("First name", "name"), ("lastName", "name")])
    (1, 2)
    """
    named = [set(words_of(name)) if kind == "name" else set() for name, kind in fields]
    given, surnames = ([at for at, words in enumerate(named) if words & part] for part in (GIVEN_NAMES, SURNAMES))
    return (given[0], surnames[0]) if len(given) == len(surnames) == 1 and given != surnames else None


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in lower case.

    >>> words_of("homePhone_no")
    ['home', 'phone', 'no']
    """
    return [word.lower() for word in WORDS_OF_COLUMN.findall(name)]


def hinted_kind(name: str) -> str:
    """Return the kind that a column's name hints at, or "".

    >>> hinted_kind("home phone"), hinted_kind("x")
    ('phone', '')
    """
    words = words_of(name)
    kinds = {HINTED[word] for word in words if word in HINTED}
    if "name" in words and not kinds:
        return "name" if OF_PEOPLE.issuperset(words) else "text"
    return next((kind for kind in HINTS if kind in kinds), "")


def _sample(values: pa.Array | pa.ChunkedArray) -> Any:
    return values.take(np.linspace(0, len(values) - 1, min(len(values), KIND_SAMPLE)).astype(np.int64))


def _share_read(sample: pa.Array, kind: str, of_none: float) -> float:
    """Return the share of values, of those not missing, that can be read as this kind."""
    found = normalise(sample, kind)
    present = len(sample) - found.missing
    read = present - found.unparsable
    if kind == "name":
        read = pc.sum(pc.match_substring_regex(found.values, LIKE_A_NAME)).as_py() or 0
    return read / present if present else of_none
