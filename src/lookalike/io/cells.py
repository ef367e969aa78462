"""Converts columns to numbers and times; a cell that holds neither becomes nan."""

import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.tables import is_text

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def as_numbers(column: pa.ChunkedArray, comma: bool = False) -> np.ndarray:
    """Turn each cell into a number or nan; with `comma`, a text such as 3,5 is a number too.

    Floats of 32 bits or less are rounded to the decimals they were written as.
    """
    kind = column.type
    if is_text(kind):
        texts = pc.ascii_trim_whitespace(as_valid_text(column))
        if comma:
            texts = pc.replace_substring_regex(texts, r"^([+-]?\d+),(\d+)$", r"\1.\2")
        good = pc.match_substring_regex(texts, f"^{NUMBER.pattern}$")
        column = pc.if_else(good, texts, "nan").cast(pa.float64())
    elif pa.types.is_boolean(kind) or not (pa.types.is_integer(kind) or is_real(kind)):
        return np.full(len(column), np.nan)
    numbers = np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan), dtype=np.float64)
    return np.round(numbers, 6) if pa.types.is_floating(kind) and kind.bit_width < 64 else numbers


def is_real(kind: pa.DataType) -> bool:
    """Return whether values of this type are floats or decimals."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_valid_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the texts of a column, with U+FFFD in place of bytes that are not UTF-8."""
    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = [None if one is None else one.decode(errors="replace") for one in raw.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def is_date(column: pa.ChunkedArray) -> bool | None:
    """Return whether the first readable time is a date, not a number; None if none is readable."""
    if not is_text(column.type):
        return bool(pa.types.is_temporal(column.type))
    for text in as_valid_text(column).to_pylist():
        if text is not None and NUMBER.fullmatch(text.strip()):
            return False
        if not np.isnan(iso_seconds(text)):
            return True
    return None


def as_seconds(column: pa.ChunkedArray) -> np.ndarray:
    """Return the seconds since 1970 of dates and times, and nan for anything else."""
    if is_text(column.type):
        texts = as_valid_text(column)
        try:
            column = texts.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return np.array([iso_seconds(text) for text in texts.to_pylist()])
    elif not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return np.full(len(column), np.nan)
    micros = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(micros.cast(pa.float64(), safe=False).fill_null(np.nan), dtype=np.float64) / 1e6


def iso_seconds(text: str | None) -> float:
    """Return the seconds since 1970 of a date with or without a time; nan for anything else."""
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
