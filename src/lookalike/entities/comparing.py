"""Points for each field of many pairs of records at once, and how they came about.

A field has 100 points if it is the same, less a penalty that grows with the square of its distance (`scores.points`).
The distance is the number of letters inserted and deleted, made smaller where that says less: a long text is measured
as one of LONG letters; a short form of a name, an abbreviation, an initial or another order of the words count as
SOFT edits. Texts that say the same in other words are told by the words and shingles they have in common, of which rare
ones, such as the number of a model, count more. A missing value has no points: it is neutral.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import process
from rapidfuzz.distance import Indel

from lookalike.core.run import Run, slices
from lookalike.entities.blocks import Column, weighted
from lookalike.entities.fields import as_numbers
from lookalike.entities.scores import FULL

PENALTY = 4.0  # points for the square of one edit
LONG = 20  # letters of a text whose edits are counted in full
SOFT = 1.0  # edits that a known variant counts for
UNLIKE = 5.0  # edits, beyond SOFT, that texts without a word or shingle in common count for
CHUNK = 1 << 16  # pairs of values that are compared by one task
SAME, SHORT, ORDER, INITIAL, EDITED = range(5)
WAYS = {  # how two values were compared
    SAME: "same",
    SHORT: "same but for short forms",
    ORDER: "same but for the order of words",
    INITIAL: "same but for initials",
    EDITED: "edited",
}


def compare(column: Column, left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """The points of a field for pairs of records; nan where one has no value. Each pair of values is compared once."""
    coded = pc.dictionary_encode(column.values)
    codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    one, other = codes[left], codes[right]
    present = (one >= 0) & (other >= 0)
    out = np.where(present, np.float32(FULL), np.float32(np.nan))
    differ = present & (one != other)
    size = max(1, len(coded.dictionary))
    pairs, where = np.unique(one[differ] * size + other[differ], return_inverse=True)
    a, b = np.divmod(pairs, size)
    values = coded.dictionary
    rows = np.zeros(size, np.int64)
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)  # a record that has each value
    written = column.canonical.take(pa.array(rows[: len(coded.dictionary)]))
    vectors = unit_vectors(written) if column.kind == "text" and len(pairs) else None

    def work(part: slice) -> np.ndarray:
        places = [pa.array(side[part]) for side in (a, b)]
        texts = [values.take(some).to_pylist() for some in places]
        forms = [written.take(some).to_pylist() for some in places]
        apart = distances(column.kind, *texts, *forms)[0]
        if vectors is not None:
            common = np.asarray(vectors[a[part]].multiply(vectors[b[part]]).sum(axis=1)).ravel()
            apart = np.minimum(apart, SOFT + UNLIKE * (1 - common))
        return _points(apart)

    made = [np.empty(0, np.float32), *run.map(work, slices(len(pairs), CHUNK))]
    out[differ] = np.concatenate(made)[where]
    return out


def unit_vectors(values: pa.LargeStringArray) -> Any:
    """Texts as vectors of length 1 of their words and shingles, rare ones the longer."""
    from scipy.sparse import diags_array  # slow to import

    vectors = weighted(values)
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return diags_array(1 / np.maximum(lengths, 1e-300), format="csr") @ vectors


def _points(distance: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, FULL - PENALTY * distance**2).astype(np.float32)


def distances(
    kind: str, one: list[str], other: list[str], written: list[str], others: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """How far apart values are, given as they are and written out, and by which of WAYS."""
    same = np.array([a == b for a, b in zip(one, other, strict=True)], bool)
    way = np.where(same, SAME, EDITED)
    if kind == "category":
        return np.where(same, 0.0, np.inf), way
    if kind == "number":
        return np.where(same, 0.0, _relative(one, other)), way
    apart = np.where(same, 0.0, _edits(one, other, kind in ("text", "name", "address")))
    tries: list[tuple[int, Sequence[str], Sequence[str], float]] = []
    if kind in ("name", "address"):
        tries.append((SHORT, written, others, SOFT))
    if kind in ("name", "text"):
        tries.append((ORDER, [_sorted(text) for text in written], [_sorted(text) for text in others], SOFT))
    for number, left, right, cost in tries:
        there = ~same
        softened = np.full(len(one), np.inf)
        softened[there] = cost + _edits(_where(left, there), _where(right, there), True)
        way = np.where(softened < apart, number, way)
        apart = np.minimum(apart, softened)
    if kind == "name":
        initial = [_has_initial(a) or _has_initial(b) for a, b in zip(one, other, strict=True)]
        rows = np.flatnonzero(~same & np.array(initial, bool))
        reduced = [_initials(written[i], others[i]) for i in rows.tolist()]
        softened = SOFT + _edits([a for a, _ in reduced], [b for _, b in reduced], True)
        better = softened < apart[rows]
        apart[rows[better]], way[rows[better]] = softened[better], INITIAL
    return apart, way


def _where(texts: Sequence[str], there: np.ndarray) -> list[str]:
    return [texts[i] for i in np.flatnonzero(there).tolist()]


def _edits(one: Sequence[str], other: Sequence[str], scaled: bool) -> np.ndarray:
    """Letters inserted and deleted; of long texts as many as there would be in one of LONG letters."""
    edits: np.ndarray = process.cpdist(list(one), list(other), scorer=Indel.distance, dtype=np.int64).astype(float)
    if not scaled:
        return edits
    longest = np.array([max(len(a), len(b)) for a, b in zip(one, other, strict=True)], float)
    scaled_edits: np.ndarray = edits * (LONG / np.maximum(LONG, longest))
    return scaled_edits


def _relative(one: list[str], other: list[str]) -> np.ndarray:
    """Numbers that differ by a tenth count as two edits."""
    a, b = (as_numbers(pa.array(side, pa.large_string())) for side in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 20 * np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isnan(apart), 0.0, apart)


def _sorted(text: str) -> str:
    return " ".join(sorted(text.split()))


def _has_initial(text: str) -> bool:
    return any(len(token) == 1 and token.isalpha() for token in text.split())


def _initials(one: str, other: str) -> tuple[str, str]:
    """Both names, with a word of the one cut down to its first letter where the other has just that.

    >>> _initials("j r smith", "john robert smith")
    ('j r smith', 'j r smith')
    """
    a, b = one.split(), other.split()
    return " ".join(_cut(token, set(b)) for token in a), " ".join(_cut(token, set(a)) for token in b)


def _cut(token: str, others: set[str]) -> str:
    return token[0] if token[0] in others and token not in others else token
