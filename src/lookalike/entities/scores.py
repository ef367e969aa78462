"""Score pairs of records: the points of each field, how they came about, and their weighted sum.

A field has 100 points if its values are the same, less a penalty that grows with the square of
their distance (`points`): the number of letters inserted and deleted. Edits in a long text are
scaled down, as if it had LONG letters. A short form, an abbreviation, an initial or another word
order counts as SOFT edits. Texts that say the same in other words are compared by the words and
shingles they share; rare ones, such as a model number, count more. A missing value counts half.
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

FULL_POINTS = 100.0  # for two values that are the same
NEUTRAL = 50.0  # points for a field that is missing in one of the records
PENALTY = 4.0  # points per squared edit
LONG = 20  # letters; edits in longer texts are scaled down
SOFT = 1.0  # edits that a known variant counts as
UNLIKE = 5.0  # edits, beyond SOFT, for texts that share no word or shingle
PAIRS_PER_TASK = 1 << 16
HOW_COMPARED = (
    "same", "same but for short forms", "same but for the order of words", "same but for initials", "edited"
)  # fmt: skip
SAME, SHORT_FORM, ORDER, INITIAL, EDITED = range(len(HOW_COMPARED))


def points(a: str, b: str, *, alike: Mapping[tuple[str, str], float] | None = None, penalty: float = 4.0) -> float:
    """Return the points of texts a and b: 100 less `penalty` times the squared edit distance.

    The distance counts insertions and deletions, so a replacement counts 2. Points are at least 0.
    `alike` gives the distance of known variants, such as a name and its short form.

    >>> points("Smith", "Smith"), points("Smith", "Smyth"), points("Smith", "Jones")
    (100.0, 84.0, 0.0)
    >>> points("Bill", "William"), points("Bill", "William", alike={("Bill", "William"): 1})
    (0.0, 96.0)
    """
    if not penalty >= 0:
        raise UsageError(f"penalty must be a number of at least 0; got {penalty!r}.")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise DataError(f"a and b must be texts; got {a!r} and {b!r}.")
    known = alike or {}
    distance = 0.0 if a == b else known.get((a, b), known.get((b, a), float(edit(a, b))))
    if not distance >= 0:
        raise UsageError(f"alike must hold numbers of at least 0; got {distance!r} for {a!r} and {b!r}.")
    return max(0.0, FULL_POINTS - penalty * distance**2)


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of records with points and scores; positions in the second table follow the first."""

    left: np.ndarray
    right: np.ndarray
    points: np.ndarray  # pairs x fields, nan where missing
    score: np.ndarray


def score_pairs(
    columns: Sequence[Column], weights: np.ndarray, left: np.ndarray, right: np.ndarray, run: Run
) -> ScoredPairs:
    """Score pairs of records by the weighted sum of the points of all fields."""
    every = points_of_pairs(columns, left, right, run)
    return ScoredPairs(left, right, every, np.where(np.isnan(every), NEUTRAL, every) @ weights)


def points_of_pairs(columns: Sequence[Column], left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """Return the points of each field (column) of pairs of records (rows), nan where missing."""
    out = np.empty((len(left), len(columns)), np.float32)
    with run.stage("score", len(columns)) as tick:
        for at, column in enumerate(columns):
            out[:, at] = field_points(column, left, right, run)
            tick(1)
    return out


def field_points(column: Column, left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """Return the points of one field, nan where missing; each pair of values is compared once."""
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
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)  # any record with each value
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
    """Return the distances of values (as they are, and written out), and which of HOW_COMPARED."""
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
    """Count letters inserted and deleted; if `scaled`, scale long texts down to LONG letters."""
    edits: np.ndarray = process.cpdist(one, other, scorer=Indel.distance, dtype=np.int64).astype(float)
    if scaled:
        longest = np.array([max(len(a), len(b)) for a, b in zip(one, other, strict=True)], float)
        edits = edits * (LONG / np.maximum(LONG, longest))
    return edits


def _relative(one: list[str], other: list[str]) -> np.ndarray:
    """Return the relative distances of numbers: a difference of 10% counts as two edits."""
    a, b = (as_numbers(pa.array(side, pa.large_string())) for side in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 20 * np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isnan(apart), 0.0, apart)


def _unchanged(one: str, other: str) -> tuple[str, str]:
    return one, other


def _in_order(one: str, other: str) -> tuple[str, str]:
    return " ".join(sorted(one.split())), " ".join(sorted(other.split()))


def _initials(one: str, other: str) -> tuple[str, str]:
    """Return both names with words cut to their first letter where the other name has just that.

    >>> _initials("j r smith", "john robert smith")
    ('j r smith', 'j r smith')
    """

    def cut(words: list[str], others: list[str]) -> str:
        return " ".join(word[0] if word[0] in others and word not in others else word for word in words)

    a, b = one.split(), other.split()
    return cut(a, b), cut(b, a)


def _has_initial(text: str) -> bool:
    return any(len(token) == 1 and token.isalpha() for token in text.split())


VARIANTS = {  # by kind: how two written-out values are rewritten and compared again, at the cost of SOFT
    "name": ((SHORT_FORM, _unchanged), (ORDER, _in_order), (INITIAL, _initials)),
    "address": ((SHORT_FORM, _unchanged),),
    "text": ((ORDER, _in_order),),
}
