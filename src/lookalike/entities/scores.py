"""Score pairs of records: the points of each field, how they came about, and their weighted sum.

A field has 100 points if its values are the same, less a penalty that grows with the square of
their distance (`points`): the number of letters inserted and deleted. Edits in a long text are
scaled down, as if it had LONG letters. A short form, an abbreviation, an initial or another word
order counts as SOFT edits. A given name and a surname that have changed places are compared
crosswise, and this counts as SOFT edits for each. Texts that say the same in other words are compared by the words and
shingles they share; rare ones, such as a model number, count more. A missing value counts half.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.entities.comparing import SOFT, Forms
from lookalike.entities.fields import Column
from lookalike.entities.kinds import names_apart
from lookalike.entities.rarities import Rarities
from lookalike.entities.whole import TextVectors
from lookalike.measures import edit

FULL_POINTS = 100.0  # for two values that are the same
NEUTRAL = 50.0  # points for a field that is missing in one of the records
PENALTY = 4.0  # points per squared edit
UNLIKE = 5.0  # edits, beyond SOFT, for texts that share no word or shingle
FARTHEST = (FULL_POINTS / PENALTY) ** 0.5  # edits from which on a field has no points
SWAPPED = PENALTY * SOFT**2  # points that a name loses if it is in the field of the other name
SWAPPED_BELOW, SWAPPED_FROM = 75.0, 60.0  # the points of both names, as they are and crosswise
PAIRS_PER_TASK = 1 << 16


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
    comparisons: Sequence["FieldComparison"], weights: np.ndarray, left: np.ndarray, right: np.ndarray, run: Run,
    storage: Storage = IN_MEMORY,
) -> ScoredPairs:  # fmt: skip
    """Score pairs of records by the weighted sum of the points of all fields."""
    every = points_of_pairs(comparisons, left, right, run, storage)

    def work(part: slice) -> np.ndarray:
        points = np.where(np.isnan(every[part]), NEUTRAL, every[part])
        return np.asarray(sum(of_field * weight for of_field, weight in zip(points.T, weights, strict=True)))

    return ScoredPairs(left, right, every, storage.filled("scores", len(left), np.float64, work, run))


def points_of_pairs(
    comparisons: Sequence["FieldComparison"], left: np.ndarray, right: np.ndarray, run: Run,
    storage: Storage = IN_MEMORY,
) -> np.ndarray:  # fmt: skip
    """Return the points of each field (column) of pairs of records (rows), nan where missing."""
    out = storage.empty("points", len(left) * len(comparisons), np.float32).reshape(len(left), len(comparisons))
    swaps = [field.swapped for field in comparisons if field.swapped is not None]

    def work(part: slice) -> None:
        for at, field in enumerate(comparisons):
            out[part, at] = field.points(left[part], right[part])
        for swap in swaps:
            swap.improve(out[part], left[part], right[part])

    with run.stage("score", len(left)) as tick:
        for part, _ in zip(parts := slices(len(left), PAIRS_PER_TASK), run.map(work, parts), strict=True):
            tick(part.stop - part.start)
    return out


def comparisons_of(
    columns: Sequence[Column], run: Run, rarities: Mapping[str, Rarities] | None = None, storage: Storage = IN_MEMORY
) -> "list[FieldComparison]":
    """Prepare all fields to be compared; `rarities` of words, by field, replace those in the columns."""
    coded = run.map(lambda column: column.values.dictionary_encode(), columns)
    known = rarities or {}
    made = [
        FieldComparison(column, one, run, known.get(column.name), storage)
        for column, one in zip(columns, coded, strict=True)
    ]
    if apart := names_apart([(column.name, column.kind) for column in columns]):
        made[apart[0]].swapped = SwappedNames.of(columns, *apart, run)
    return made


class FieldComparison:
    """A field of all records, ready to be compared."""

    def __init__(
        self, column: Column, coded: pa.DictionaryArray, run: Run, rarities: Rarities | None = None,
        storage: Storage = IN_MEMORY,
    ) -> None:  # fmt: skip
        self.name = column.name
        self.swapped: SwappedNames | None = None  # if this is a given name, and there is a surname
        self.codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)  # one for each distinct value
        written = written_once(column, self.codes, len(coded.dictionary))
        self.forms = Forms(column.kind, coded.dictionary, written, run)
        self.vectors: TextVectors | None = None
        if column.kind == "text" and len(written):
            self.vectors = TextVectors.of(written, run, rarities, storage, f"compared {column.name}")

    @property
    def texts(self) -> np.ndarray:
        """Return the distinct values, as they are compared."""
        return self.forms.exact.texts

    def points(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the points of pairs of records, nan where missing; each pair of values is compared once."""
        one, other = self.codes[left], self.codes[right]
        present = (one >= 0) & (other >= 0)
        out = np.where(present, np.float32(FULL_POINTS), np.float32(np.nan))
        differ = present & (one != other)
        size = int(self.codes.max(initial=0)) + 1
        pairs, where = np.unique(one[differ] * size + other[differ], return_inverse=True)
        a, b = np.divmod(pairs, size)
        apart = np.full(len(a), FARTHEST)
        if self.vectors is not None:
            unlike = UNLIKE * (1 - self.vectors.cosines(a, b))
            apart = np.minimum(apart, SOFT + unlike + self.forms.between_remarks(a, b))
        apart = np.minimum(apart, self.forms.distances(a, b, apart)[0])
        out[differ] = np.maximum(0.0, FULL_POINTS - PENALTY * apart**2).astype(np.float32)[where]
        return out


def written_once(column: Column, codes: np.ndarray, distinct: int) -> pa.LargeStringArray:
    """Return each distinct value of a column with its short forms written out; records have `codes`."""
    rows = np.zeros(distinct, np.int64)
    rows[codes[codes >= 0]] = np.flatnonzero(codes >= 0)  # any record with each value
    return column.canonical.take(pa.array(rows))


def rarities_of(column: Column) -> Rarities:
    """Count the words of a column of texts as its comparison does: in its distinct values."""
    coded = column.values.dictionary_encode()
    codes = np.asarray(coded.indices.fill_null(-1)).astype(np.int64)
    return Rarities.of(written_once(column, codes, len(coded.dictionary)))


@dataclass(frozen=True)
class SwappedNames:
    """Given names and surnames, to be compared crosswise."""

    given: int  # the number of the field
    surname: int
    records: int
    names: FieldComparison  # the given names of all records, then their surnames

    @classmethod
    def of(cls, columns: Sequence[Column], given: int, surname: int, run: Run) -> "SwappedNames":
        """Prepare two fields to be compared crosswise."""
        one, other = columns[given], columns[surname]
        values = pa.concat_arrays([one.values, other.values])
        both = Column(one.name, one.kind, values, pa.concat_arrays([one.canonical, other.canonical]))
        return cls(given, surname, len(one.values), FieldComparison(both, values.dictionary_encode(), run))

    def improve(self, points: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Change the points (pairs x fields) of names that are more similar crosswise."""
        fields = np.array([self.given, self.surname])
        rows = np.flatnonzero((points[:, fields] < SWAPPED_BELOW).all(axis=1))  # not if one is missing
        one = self.names.points(left[rows], right[rows] + self.records)
        other = self.names.points(left[rows] + self.records, right[rows])
        crosswise = np.maximum(0, np.column_stack([one, other]) - SWAPPED)
        better = (crosswise >= SWAPPED_FROM).all(axis=1)
        better &= crosswise.sum(axis=1) > points[np.ix_(rows, fields)].sum(axis=1)
        points[np.ix_(rows[better], fields)] = crosswise[better]


def field_points(column: Column, left: np.ndarray, right: np.ndarray, run: Run) -> np.ndarray:
    """Return the points of one field, nan where missing."""
    return points_of_pairs(comparisons_of([column], run), left, right, run)[:, 0]
