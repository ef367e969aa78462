"""Cut texts into units, characters or words, each with the hash of its normal form and its place.

A unit is what `Shingles` takes k of, in the same normal form. Its place refers to the text as it
was given, before white space, case and normal form were changed.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.items.sets import text_bounds
from lookalike.items.shingles import Rows, Shingles
from lookalike.kernels import units
from lookalike.kernels.characters import INDEX, PAGES, UNSTABLE

SURROGATES = slice(0xD800, 0xE000)  # no characters


class Units(NamedTuple):
    """The units of some texts, in order: those of text t are at indptr[t]:indptr[t + 1].

    `starts` and `stops` are places in the text, in bytes or in characters (code points), end excluded.
    """

    indptr: np.ndarray
    hashes: np.ndarray
    starts: np.ndarray
    stops: np.ndarray


def unit_hashes(texts: pa.LargeStringArray, shingles: Shingles) -> Rows:
    """Return the hashes of the units of each text, in order: (indptr, hashes)."""
    made: Rows = units.hash_units(*text_bounds(shingles.prepare(texts)), *shingles.codes)
    return made


def units_of(texts: pa.LargeStringArray, shingles: Shingles, characters: bool = False) -> Units:
    """Return the units of each text with their places, in bytes of the text or in `characters`.

    >>> texts = pa.array(["To  be,", "cafe\u0301!"], pa.large_string())
    >>> found = units_of(texts, Shingles.parse("word:1"), characters=True)
    >>> found.indptr.tolist(), found.starts.tolist(), found.stops.tolist()
    ([0, 2, 3], [0, 4, 0], [2, 6, 5])
    """
    indptr, starts, stops = unit_places(texts, shingles)
    if characters:
        for places in (starts, stops):
            units.count_characters(*text_bounds(texts), indptr, places)
    return Units(indptr, unit_hashes(texts, shingles)[1], starts, stops)


def unit_places(texts: pa.LargeStringArray, shingles: Shingles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the units of each text are, in bytes of the text as given: (indptr, starts, stops)."""
    prepared = shingles.prepare(texts)
    indptr, starts, stops = units.find_units(*text_bounds(prepared), *shingles.codes)
    as_given = pc.or_(pc.string_is_ascii(texts), pc.equal(prepared, texts)).to_numpy(zero_copy_only=False)
    if not as_given.all():
        rows = np.flatnonzero(~as_given)
        _trace(texts.take(pa.array(rows)), rows, shingles, indptr, starts, stops)
    return indptr, starts, stops


def _trace(
    texts: pa.LargeStringArray,
    rows: np.ndarray,
    shingles: Shingles,
    indptr: np.ndarray,
    starts: np.ndarray,
    stops: np.ndarray,
) -> None:
    """Trace the units of changed texts back to the texts as given: those at `rows`, with `texts` alone.

    Lowercasing replaces single characters without context (a capital sigma never becomes a final
    one), so the prepared pieces of a text add up to the prepared text. They can differ from it only
    in the order of marks that are newer than the table of characters (Unicode 14).
    """
    data, begins, ends = text_bounds(texts)
    bounds, cuts, plain = units.cut_texts(data, begins, ends, behaviours(shingles.form))
    offsets = np.append(cuts, ends[-1])
    pieces = pa.LargeStringArray.from_buffers(len(cuts), pa.py_buffer(offsets), texts.buffers()[2])
    clean, clean_starts, clean_stops = text_bounds(shingles.prepare(pieces))
    traced = (clean, clean_starts, clean_stops)
    units.trace(data, offsets[:-1], offsets[1:], plain, *traced, bounds, rows, indptr, starts, stops)


@lru_cache
def behaviours(form: str) -> np.ndarray:
    """Return, for each code point, whether a normal form leaves it alone, joins it to others, or changes it.

    A character joins the one before it if its decomposition begins with an unstable character.
    """
    unstable = (PAGES[INDEX].reshape(-1) & UNSTABLE) > 0
    behaviour = np.zeros(len(unstable), np.uint8)
    if form == "none":
        return behaviour
    codes = np.flatnonzero(unstable) if form == "nfc" else np.arange(128, len(unstable))
    codes = codes[(codes < SURROGATES.start) | (codes >= SURROGATES.stop)]
    given = pa.array(map(chr, codes.tolist()), pa.large_string())
    parts = pc.utf8_slice_codeunits(pc.utf8_normalize(given, "NFKD" if form == "nfkc" else "NFD"), 0, 1)
    first = np.array([ord(part) for part in parts.to_pylist()])
    same = pc.equal(pc.utf8_normalize(given, form.upper()), given).to_numpy(zero_copy_only=False)
    behaviour[codes] = np.where(
        unstable[first], units.JOINS, np.where(same & ~unstable[codes], units.PLAIN, units.ALTERED)
    )
    return behaviour
