"""Scores: the points of each field of a pair of records, how they came about, and their weighted sum.

A field has 100 points if it is the same, less a penalty that grows with the square of its distance (`points`). The
distance is the number of letters inserted and deleted, made smaller where that says less: a long text is measured as
one of LONG letters; a short form of a name, an abbreviation, an initial or another order of the words count as SOFT
edits. Texts that say the same in other words are compared by the words and shingles they have in common, of which rare
ones, such as the number of a model, count more. A missing value has no points, and counts half in the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import process
from rapidfuzz.distance import Indel

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run, slices
from lookalike.entities.fields import Column, as_numbers, unit_vectors
from lookalike.measures import edit

FULL_POINTS = 100.0  # for a field that is the same
NEUTRAL = 50.0  # points for a field that one of the records does not have
PENALTY = 4.0  # points for the square of one edit
LONG = 20  # letters of a text whose edits are counted in full
SOFT = 1.0  # edits that a known variant counts for
UNLIKE = 5.0  # edits, beyond SOFT, that texts without a word or shingle in common count for
PAIRS_PER_TASK = 1 << 16
HOW_COMPARED = (
    "same", "same but for short forms", "same but for the order of words", "same but for initials", "edited"
)  # fmt: skip
SAME, SHORT_FORM, ORDER, INITIAL, EDITED = range(len(HOW_COMPARED))


def points(a: str, b: str, *, alike: Mapping[tuple[str, str], float] | None = None, penalty: float = 4.0) -> float:
    """Score one field of two records: 100 less `penalty` times the square of the edit distance, 0 at least.

    `alike` gives the distance of values known to belong together, such as a name and its short form.

    >>> points("Smith", "Smith"), points("Smith", "Smyth"), points("Smith", "Jones")
    (100.0, 84.0, 0.0)
    >>> points("Bill", "William"), points("Bill", "William", alike={("Bill", "William"): 1})
    (0.0, 96.0)
    """
    if not penalty >= 0:
        raise UsageError(f"penalty must be a number from 0 on; got {penalty!r}.")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise DataError(f"fields must be texts; got {a!r} and {b!r}.")
    known = alike or {}
    distance = 0.0 if a == b else known.get((a, b), known.get((b, a), float(edit(a, b))))
    if not distance >= 0:
        raise UsageError(f"alike must hold numbers from 0 on; got {distance!r} for {a!r} and {b!r}.")
    return max(0.0, FULL_POINTS - penalty * distance**2)


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of records with their points and scores; records of the second table come after those of the first."""

    left: np.ndarray
    right: np.ndarray
    points: np.ndarray  # pairs x fields, nan where missing
    score: np.ndarray


def score_pairs(
    columns: Sequence[Column], weights: np.ndarray, left: np.ndarray, right: np.ndarray, run: Run
) -> ScoredPairs:
    """Score pairs of records: the sum of the points of all fields times their weights."""
    every = points_of_pairs(columns, left, right, run)
    return ScoredPairs(left, right, every, np.where(np.isnan(every), NEUTRAL, every) @ weights)


def points_of_pairs(columns: Sequence[Column], left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """Return the points of each field of pairs of records, nan where missing."""
    out = np.empty((len(left), len(columns)), np.float32)
    with run.stage("score", len(columns)) as tick:
        for at, column in enumerate(columns):
            out[:, at] = field_points(column, left, right, run)
            tick(1)
    return out


def field_points(column: Column, left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """Return the points of a field for pairs of records, nan where missing. Each pair of values is compared once."""
    coded = pc.dictionary_encode(column.values)
    codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    one, other = codes[left], codes[right]
    present = (one >= 0) & (other >= 0)
    out = np.where(present, np.float32(FULL_POINTS), np.float32(np.nan))
    differ = present & (one != other)
    size = max(1, len(coded.dictionary))
    pairs, where = np.unique(one[differ] * size + other[differ], return_inverse=True)
    a, b = np.divmod(pairs, size)
    values = coded.dictionary
    rows = np.zeros(len(values), np.int64)
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)  # a record that has each value
    written = column.canonical.take(pa.array(rows))
    vectors = unit_vectors(written) if column.kind == "text" and len(pairs) else None

    def work(part: slice) -> np.ndarray:
        places = [pa.array(side[part]) for side in (a, b)]
        texts = [values.take(some).to_pylist() for some in places]
        forms = [written.take(some).to_pylist() for some in places]
        apart = distances(column.kind, *texts, *forms)[0]
        if vectors is not None:
            common = np.asarray(vectors[a[part]].multiply(vectors[b[part]]).sum(axis=1)).ravel()
            apart = np.minimum(apart, SOFT + UNLIKE * (1 - common))
        return np.maximum(0.0, FULL_POINTS - PENALTY * apart**2).astype(np.float32)

    made = [np.empty(0, np.float32), *run.map(work, slices(len(pairs), PAIRS_PER_TASK))]
    out[differ] = np.concatenate(made)[where]
    return out


def distances(
    kind: str, one: list[str], other: list[str], written: list[str], others: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Measure how far apart values are, given as they are and written out; and say by which of HOW_COMPARED."""
    same = np.array([a == b for a, b in zip(one, other, strict=True)], bool)
    way = np.where(same, SAME, EDITED)
    if kind == "category":
        return np.where(same, 0.0, np.inf), way
    if kind == "number":
        return np.where(same, 0.0, _relative(one, other)), way
    apart = np.where(same, 0.0, _edits(one, other, kind in ("text", "name", "address")))
    for number, rewrite in VARIANTS.get(kind, ()):
        rows = np.flatnonzero(~same)
        if number == INITIAL:
            rows = rows[[_has_initial(one[i]) or _has_initial(other[i]) for i in rows.tolist()]]
        pairs = [rewrite(written[i], others[i]) for i in rows.tolist()]
        softened = SOFT + _edits([a for a, _ in pairs], [b for _, b in pairs], True)
        better = softened < apart[rows]
        apart[rows[better]], way[rows[better]] = softened[better], number
    return apart, way


def _edits(one: list[str], other: list[str], scaled: bool) -> np.ndarray:
    """Count letters inserted and deleted; if `scaled`, those of a long text as if it had LONG letters."""
    edits: np.ndarray = process.cpdist(one, other, scorer=Indel.distance, dtype=np.int64).astype(float)
    if scaled:
        longest = np.array([max(len(a), len(b)) for a, b in zip(one, other, strict=True)], float)
        edits = edits * (LONG / np.maximum(LONG, longest))
    return edits


def _relative(one: list[str], other: list[str]) -> np.ndarray:
    """Compare numbers: a difference of a tenth counts as two edits."""
    a, b = (as_numbers(pa.array(side, pa.large_string())) for side in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 20 * np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isnan(apart), 0.0, apart)


def _unchanged(one: str, other: str) -> tuple[str, str]:
    return one, other


def _in_order(one: str, other: str) -> tuple[str, str]:
    return " ".join(sorted(one.split())), " ".join(sorted(other.split()))


def _initials(one: str, other: str) -> tuple[str, str]:
    """Return both names, each word of one cut down to its first letter where the other has just that.

    >>> _initials("j r smith", "john robert smith")
    ('j r smith', 'j r smith')
    """

    def cut(words: list[str], others: list[str]) -> str:
        return " ".join(word[0] if word[0] in others and word not in others else word for word in words)

    a, b = one.split(), other.split()
    return cut(a, b), cut(b, a)


def _has_initial(text: str) -> bool:
    return any(len(token) == 1 and token.isalpha() for token in text.split())


VARIANTS = {  # by kind: how two values, written out, are rewritten before they are compared again at the cost of SOFT
    "name": ((SHORT_FORM, _unchanged), (ORDER, _in_order), (INITIAL, _initials)),
    "address": ((SHORT_FORM, _unchanged),),
    "text": ((ORDER, _in_order),),
}
