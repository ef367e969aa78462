"""Write many values at once in a standard form: usual ones with Arrow, the others one by one.

Arrow works without the interpreter lock, so all threads can take part. The functions for one value,
in `values`, `texts` and `nicknames`, define what comes back: for usual values, Arrow writes the same.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run, slices
from lookalike.entities.nicknames import (
    BEFORE_NAME,
    BEFORE_OR_AFTER,
    FORMAL_NAMES,
    STREET_WORDS,
    formal_name,
    full_address,
    plain_name,
)
from lookalike.entities.texts import email, plain_text
from lookalike.entities.values import TEN_DIGITS, fold, phone

VALUES_PER_TASK = 1 << 14
TITLE = rf"\b(?:{'|'.join(sorted(BEFORE_OR_AFTER))}|ph d)\b"
CAN_BE_TITLE = r"\)[^a-zA-Z0-9(]*$|,[^,a-zA-Z0-9]*[A-Za-z]{1,3}[^a-zA-Z0-9]*$"  # more than need `plain_text`
ENDING_REMARK = r" \([^()]*\)$"
ONE_COMMA, SPECIAL_NAME = "^([^,]*),([^,]*)$", r",[^,]*,|\([IVXivx]+\)"
USUAL_PHONE = f"^(?:{TEN_DIGITS.pattern})$"
NO_PLAIN_WORDS = "[^a-z0-9 ]|^ |  | $"
SPECIAL_ADDRESS = f"p o box|(?:^|[0-9] )(?:{'|'.join(BEFORE_NAME)}) "

Texts: TypeAlias = pa.LargeStringArray
Write = Callable[[Texts], Texts]


def in_parts(write: Write, values: Texts, run: Run) -> Texts:
    """Write the values, null for null, in many tasks; each writes its distinct values once."""

    def work(part: Texts) -> Texts:
        encoded = part.dictionary_encode()
        return write(encoded.dictionary).take(encoded.indices)

    return in_slices(work, values, run)


def in_slices(write: Write, values: Texts, run: Run) -> Texts:
    """Write the values in many tasks."""
    parts = run.map(lambda part: write(values[part]), slices(len(values), VALUES_PER_TASK))
    return pa.chunked_array(list(parts), pa.large_string()).combine_chunks()


def fold_all(values: Texts) -> Texts:
    """Return what `fold` makes of each value."""
    return _completed(values, _fold_ascii(values), pc.string_is_ascii(values), fold)


def plain_texts(values: Texts) -> Texts:
    """Return what `plain_text` makes of each value."""
    special = pc.or_(pc.invert(pc.string_is_ascii(values)), pc.match_substring_regex(values, CAN_BE_TITLE))
    return _completed(values, _fold_ascii(values), pc.invert(special), plain_text)


def without_remarks(values: Texts) -> Texts:
    """Return texts, as `plain_text` writes them, without the remark at the end."""
    return pc.replace_substring_regex(values, ENDING_REMARK, "")


def emails(values: Texts) -> Texts:
    """Return what `email` makes of each value."""
    return _completed(values, values, pc.is_null(values), email)


def plain_names(values: Texts) -> Texts:
    """Return what `plain_name` makes of each value."""
    folded = _fold_ascii(pc.replace_substring_regex(values, ONE_COMMA, r"\2 \1"))
    special = pc.or_(pc.match_substring_regex(values, SPECIAL_NAME), pc.match_substring_regex(folded, TITLE))
    return _completed(values, folded, pc.and_not(pc.string_is_ascii(values), special), plain_name)


def phones(values: Texts, code: str) -> Texts:
    """Return what `phone` makes of each value."""
    digits = pc.replace_substring_regex(values, USUAL_PHONE, r"\1\2\3")
    return _completed(values, digits, pc.match_substring_regex(values, USUAL_PHONE), lambda value: phone(value, code))


def formal_names(values: Texts) -> Texts:
    """Return what `formal_name` makes of each value."""
    words = {short: formal[0] for short, formal in FORMAL_NAMES.items()}
    special = pc.match_substring_regex(values, NO_PLAIN_WORDS)
    return _completed(values, _replaced(values, words), pc.invert(special), formal_name)


def full_addresses(values: Texts) -> Texts:
    """Return what `full_address` makes of each value."""
    special = pc.match_substring_regex(values, f"{NO_PLAIN_WORDS}|{SPECIAL_ADDRESS}")
    return _completed(values, _replaced(values, STREET_WORDS), pc.invert(special), full_address)


def _fold_ascii(values: Texts) -> Texts:
    """Return what `fold` makes of values in ASCII."""
    letters = pc.replace_substring_regex(pc.ascii_lower(values), "['`]+", "")
    words = pc.replace_substring_regex(pc.replace_substring(letters, "&", " and "), "[^a-z0-9]+", " ")
    return pc.ascii_trim_whitespace(words)


def _replaced(values: Texts, table: Mapping[str, str]) -> Texts:
    """Replace the words that are in a table; one space separates words."""
    lists = pc.split_pattern(values, " ")
    words = lists.flatten()
    at = pc.index_in(words, pa.array(table.keys(), pa.large_string()))
    written = pc.coalesce(pa.array(table.values(), pa.large_string()).take(at), words)
    return pc.binary_join(pa.ListArray.from_arrays(lists.offsets, written), pa.scalar(" ", pa.large_string()))


def _completed(values: Texts, written: Texts, usual: pa.BooleanArray, write: Callable[[str], str | None]) -> Texts:
    """Return the values as `written`, but those that are not usual as a function writes them."""
    special = pc.invert(usual)
    others = [write(value) for value in values.filter(special).to_pylist()]
    return pc.replace_with_mask(written, special, pa.array(others, pa.large_string()))
