"""Which pairs of records to look at: those with a value in common, those alike as a whole, and the nearest of each.

The textbook's way is to look at records that have the same value in some field. A typing error in every field hides a
pair from that, so records are also joined by their shingles; and in small tables each record is paired with those
nearest to it in each field of words, however little that is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.find import find_matches, find_pairs
from lookalike.items.sets import Sets, hash_texts
from lookalike.items.shingles import Shingles
from lookalike.items.vectors import Vectors
from lookalike.kernels.buckets import ONE, members
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.search.settings import Options
from lookalike.search.tables import distinct, merge
from lookalike.theory.banding import sort_keys

MOST = 30  # pairs a record may have on average for a value in common; beyond it the value alone tells too little
MOST_PAIRS = 200_000_000
SHARE = 1000  # a value that more than one of so many records have is frequent
GRAMS = Shingles(k=3, form="none", space="keep")
WORDS = Shingles(k=1, unit="word", form="none")
SMALL = 300_000_000  # pairs of records of which the nearest are looked for


@dataclass(frozen=True)
class Column:
    """A field of all records, of the second table after those of the first: normalised, null where missing."""

    name: str
    kind: str
    values: pa.LargeStringArray  # as they are compared
    canonical: pa.LargeStringArray  # with short forms and abbreviations written out

    @property
    def wordy(self) -> bool:
        """Whether it is made of words, so that a part of it may be alike."""
        return self.kind in ("text", "name", "address")


@dataclass(frozen=True)
class Stage:
    """One way to find candidates: how many pairs it gave, how many of them no way before it did, what it left out."""

    name: str
    pairs: int
    new: int
    left_out: str = ""

    def __str__(self) -> str:
        note = f"; {self.left_out}" if self.left_out else ""
        return f"{self.name}: {counted(self.pairs, 'pair')}, {self.new:,} of them new{note}"


@dataclass
class Candidates:
    """Pairs of records to be scored, as ascending numbers left * records + right, and where they come from."""

    records: int
    split: int
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    stages: list[Stage] = field(default_factory=list)

    def add(self, name: str, parts: list[np.ndarray], left_out: str = "") -> None:
        """The pairs of one more stage."""
        some = distinct(parts)
        before = len(self.numbers)
        self.numbers = merge(self.numbers, [some])
        self.stages.append(Stage(name, len(some), len(self.numbers) - before, left_out))
        if len(self.numbers) > MOST_PAIRS:
            raise TooManyPairs(
                f"{len(self.numbers):,} candidate pairs, more than {MOST_PAIRS:,}: give more fields, or ones that tell "
                "records apart better."
            )

    @property
    def possible(self) -> int:
        """How many pairs of records there are."""
        one = self.records
        return one * (one - 1) // 2 if self.split == ONE else self.split * (one - self.split)

    @property
    def reduction(self) -> float:
        """The share of all pairs that need not be looked at."""
        return 1 - len(self.numbers) / max(1, self.possible)


def find_candidates(
    columns: Sequence[Column], split: int, *, threshold: float, nearest: int, seed: int, run: Run
) -> Candidates:
    """All three ways: values in common, records at least `threshold` alike, and so many `nearest` in each field."""
    found = Candidates(len(columns[0].values), split)
    with run.stage("same values", len(columns)) as tick:
        keys = [value_keys(column) for column in columns]
        for at, column in enumerate(columns):
            found.add(f"same {column.name}", *same_values(keys, at, split))
            tick(1)
    run = run.quietly()
    found.add(f"{threshold:g} alike", *alike(columns, split, threshold, seed, run))
    if nearest and found.possible > SMALL:
        found.add("nearest", [], f"left out, for there are more than {SMALL:,} pairs of records")
    elif nearest:
        for column in columns:
            if column.wordy:
                found.add(f"{nearest} nearest by {column.name}", near_values(column, split, nearest, run))
    return found


def value_keys(column: Column) -> np.ndarray:
    """A hash of each value, written out; EMPTY where it is missing."""
    values = column.canonical
    present = np.asarray(values.is_valid())
    keys = np.full(len(values), EMPTY)
    keys[present] = hash_texts(values.drop_null())
    return keys


def same_values(keys: list[np.ndarray], at: int, split: int) -> tuple[list[np.ndarray], str]:
    """Pairs with the same value in a field; where very many have it, the same in some other field too."""
    frequent, parts, values, _ = shared_keys(keys[at], split)
    left_out = pairs = 0
    if len(frequent):
        for other in (one for number, one in enumerate(keys) if number != at):
            both = np.full(len(keys[at]), EMPTY)
            rows = frequent[other[frequent] != EMPTY]
            with np.errstate(over="ignore"):
                both[rows] = mix.py_func(mix.py_func(keys[at][rows]) + other[rows] * GOLDEN)
            _, some, still, many = shared_keys(both, split)
            parts.extend(some)
            left_out, pairs = left_out + still, pairs + many
    if not values:
        return parts, ""
    note = f"{counted(values, 'frequent value')} only together with another field"
    return parts, note + (f", {counted(left_out, 'such combination')} of {pairs:,} pairs left out" if left_out else "")


def shared_keys(keys: np.ndarray, split: int) -> tuple[np.ndarray, list[np.ndarray], int, int]:
    """The records of over-frequent keys, pairs that share another key, and how many keys and pairs the former have."""
    indptr, items = members(*sort_keys(keys))
    starts, stops = indptr[:-1], indptr[1:]
    if split == ONE:
        one = other = stops - starts
        pairs = one * (one - 1) // 2
    else:
        firsts = np.cumsum(np.concatenate(([0], items < split)))
        one = firsts[stops] - firsts[starts]
        other = stops - starts - one
        pairs = one * other
    many = pairs > MOST * (stops - starts)
    frequent = np.zeros(len(items) + 1, np.int64)
    np.add.at(frequent, starts[many], 1)
    np.add.at(frequent, stops[many], -1)
    inside = np.cumsum(frequent[:-1]) > 0
    numbers = _cross(items, starts[~many], one[~many], other[~many], pairs[~many], split, len(keys))
    return items[inside], [numbers], int(np.count_nonzero(many)), int(pairs[many].sum())


def _cross(
    items: np.ndarray,
    starts: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    pairs: np.ndarray,
    split: int,
    records: int,
) -> np.ndarray:
    """All pairs of each bucket, of the two tables or within the one, as numbers."""
    if split == ONE:
        pairs = one * one  # and then those in order
    number = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    start, width = np.repeat(starts, pairs), np.repeat(other, pairs)
    first, second = number // np.maximum(width, 1), number % np.maximum(width, 1)
    left = items[start + first]
    right = items[start + second + (0 if split == ONE else np.repeat(one, pairs))]
    good = left < right
    numbers: np.ndarray = (left * records + right)[good]
    return numbers


def alike(columns: Sequence[Column], split: int, threshold: float, seed: int, run: Run) -> tuple[list[np.ndarray], str]:
    """Pairs of records whose shingles in all fields together have at least this Jaccard similarity.

    Values that very many records have are left out, for they would make all of those alike.
    """
    records = len(columns[0].values)
    telling = [
        replace(column, canonical=pc.if_else(pa.array(rare(value_keys(column))), column.canonical, None))
        for column in columns
        if column.kind != "category"
    ]
    sides = [record_sets(telling, part) for part in parts_of(records, split)]
    options: Options = {"threshold": threshold, "recall": 0.95, "method": "lsh", "seed": seed, "run": run}
    find = find_pairs if split == ONE else find_matches
    most = MOST * max(1000, records)
    try:
        pairs = find(*sides, max_pairs=most, **options)
    except TooManyPairs:
        return [], f"more than {most:,}, which tell too little, left out"
    numbers: np.ndarray = pairs.left * records + pairs.right + max(split, 0)
    return [numbers], ""


def rare(keys: np.ndarray) -> np.ndarray:
    """Whether each record's value is one that not very many have."""
    _, where, counts = np.unique(keys, return_inverse=True, return_counts=True)
    few: np.ndarray = counts[where] <= max(MOST, len(keys) // SHARE)
    return few


def parts_of(records: int, split: int) -> list[slice]:
    """The records of each table."""
    return [slice(0, records)] if split == ONE else [slice(0, split), slice(split, records)]


def record_sets(columns: Sequence[Column], part: slice) -> Sets:
    """The shingles of all fields of some records; those of different fields differ."""
    records = part.stop - part.start
    every = [column.canonical.slice(part.start, records) for column in columns]
    made = [GRAMS.hashes(values.fill_null("")) for values in every]
    counts = np.zeros(records, np.int64)
    for indptr, _ in made:
        counts += np.diff(indptr)
    whole = np.concatenate(([0], np.cumsum(counts)))
    elements = np.empty(whole[-1], np.uint64)
    filled = whole[:-1].copy()  # where the next element of each record goes
    for number in reversed(range(len(made))):
        indptr, hashes = made.pop()  # so that it can be freed
        sizes = np.diff(indptr)
        places = np.arange(len(hashes)) + np.repeat(filled - indptr[:-1], sizes)
        with np.errstate(over="ignore"):
            elements[places] = mix.py_func(hashes + np.uint64(number + 1) * GOLDEN)
        filled += sizes
    return Sets.sorted(whole, elements)


def near_values(column: Column, split: int, nearest: int, run: Run) -> list[np.ndarray]:
    """Each record with those of the other table that are nearest by the words and shingles of a field."""
    vectors = weighted(column.canonical)
    records = vectors.shape[0]
    rows = np.flatnonzero(np.diff(vectors.indptr))
    if split == ONE:
        sides = [(rows, rows)]
    else:
        first, second = rows[rows < split], rows[rows >= split]
        sides = [(first, second), (second, first)]
    return [numbers for left, right in sides for numbers in _nearest(vectors, left, right, nearest, records, run)]


def _nearest(
    vectors: Any, left: np.ndarray, right: np.ndarray, nearest: int, records: int, run: Run
) -> Iterator[np.ndarray]:
    if not len(left) or not len(right):
        return
    more = nearest + (left is right)  # each is nearest to itself
    one, two = Vectors(vectors[left]), Vectors(vectors[right])
    pairs = find_matches(one, two, measure="cosine", k=more, method="brute", run=run)
    a, b = left[pairs.left], right[pairs.right]
    apart = a != b
    yield np.minimum(a, b)[apart] * records + np.maximum(a, b)[apart]


def weighted(values: pa.LargeStringArray) -> Any:
    """Texts as sparse vectors of their words and shingles, each weighted by its rarity."""
    from scipy.sparse import csr_array  # slow to import

    texts = values.fill_null("")
    every = []
    for shingles in (WORDS, GRAMS):
        indptr, hashes = shingles.hashes(texts)
        every.append((np.repeat(np.arange(len(texts)), np.diff(indptr)), hashes))
    rows, hashes = (np.concatenate(arrays) for arrays in zip(*every, strict=True))
    _, columns = np.unique(hashes, return_inverse=True)
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(texts), int(columns.max(initial=0)) + 1))
    matrix.data[:] = 1  # how often does not matter
    frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
    matrix.data = np.log(1 + len(texts) / frequency[matrix.indices])
    return matrix
