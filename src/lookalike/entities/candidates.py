"""Find candidate pairs: records that share a value, are similar as a whole, or nearest in a field.

*Mining of Massive Datasets* compares records that have the same value in some field. Typing errors
in every field hide a pair from that, so records are also joined by their shingles. Each record is
also paired with those nearest to it in each field of words and by all fields together, however far
away.

In large tables only records that were not found together with another one in two ways are searched
for their neighbours, and by all fields together. Between two large tables this is done in place of
the join: a record has few matches in another table, and its nearest neighbours are among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import even_slices
from lookalike.core.errors import TooManyPairs, parameter
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.core.storage import IN_MEMORY, Storage
from lookalike.core.wording import counted
from lookalike.entities.fields import TRIGRAMS, Column
from lookalike.entities.neighbours import nearest_as_whole, nearest_by
from lookalike.find import find_matches, find_pairs
from lookalike.items.sets import Sets, hash_texts, slices_of_texts
from lookalike.items.sides import Sides
from lookalike.kernels.buckets import members
from lookalike.kernels.hashing import EMPTY, GOLDEN, mix
from lookalike.search.plan import make_plan
from lookalike.search.tables import distinct, merge
from lookalike.theory.sorting import sort_keys

MOST_PER_RECORD = 30  # average pairs per record that share a value; beyond that, the value alone says too little
MOST_PAIRS = 200_000_000
RECALL = 0.95  # for records that are similar overall
FREQUENT_ONE_IN = 1000  # a value is frequent if more than one in this many records has it
PAIRS_PER_TASK = 1 << 17
PAIRS_PER_RANGE = 1 << 20
DRAWN = 64  # numbers per range, by which lists are cut
RECORDS_PER_TASK = 1 << 14
LARGE = 100_000  # with more records, fewer searches are made
MOST_STAGES = 64  # bits of `found_by`; later stages share the last one


@dataclass(frozen=True)
class Stage:
    """One way to find candidates: how many it found, how many are new, and what it left out."""

    name: str
    pairs: int
    new: int
    left_out: str = ""
    field: str = ""  # the field whose values it compares; "" for all

    def __str__(self) -> str:
        note = f"; {self.left_out}" if self.left_out else ""
        new = f", {self.new:,} of them new" if self.pairs != 1 else ", which is new" if self.new else ", not new"
        return f"{self.name}: {counted(self.pairs, 'pair')}{new if self.pairs else ''}{note}"


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs to score, as ascending numbers left * records + right, and the stages behind them."""

    records: int
    sides: Sides
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    stages: tuple[Stage, ...] = ()
    found_by: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))  # bit i of a pair: by stage i

    def plus(
        self, name: str, parts: list[np.ndarray], left_out: str = "", field: str = "", *, run: Run = ONE_THREAD,
        storage: Storage = IN_MEMORY,
    ) -> "CandidatePairs":  # fmt: skip
        """Return these pairs with those of one more stage; raise an error if they are too many.

        Ranges of numbers are merged one by one, so that little memory is needed besides the result.
        """
        fresh = list(run.map(np.sort, parts))
        cuts = even_cuts([self.numbers, *fresh], PAIRS_PER_RANGE)
        known, *new = ([0, *np.searchsorted(some, cuts).tolist(), len(some)] for some in (self.numbers, *fresh))
        bit = np.uint64(1 << min(len(self.stages), MOST_STAGES - 1))

        def join(at: int) -> tuple[np.ndarray, np.ndarray, int]:
            """Return the numbers of a range, what found them, and how many of them this stage found."""
            before = slice(known[at], known[at + 1])
            some = distinct([one[ends[at] : ends[at + 1]] for one, ends in zip(fresh, new, strict=True)])
            numbers = merge(self.numbers[before], [some])
            found_by = np.zeros(len(numbers), np.uint64)
            found_by[np.searchsorted(numbers, self.numbers[before])] = self.found_by[before]
            found_by[np.searchsorted(numbers, some)] |= bit
            return numbers, found_by, len(some)

        at, pairs, most = 0, 0, len(self.numbers) + sum(map(len, fresh))
        columns = [
            storage.empty(f"{what} {len(self.stages)}", most, kind)
            for what, kind in (("pairs", np.int64), ("found by", np.uint64))
        ]
        for *joined, some in run.map(join, range(len(cuts) + 1)):
            for column, part in zip(columns, joined, strict=True):
                column[at : at + len(part)] = part
            at, pairs = at + len(joined[0]), pairs + some
        if at > MOST_PAIRS:
            raise TooManyPairs(
                f"{at:,} candidate pairs, more than {MOST_PAIRS:,}: leave out fields in which many records "
                f"have the same value, raise {parameter('threshold')}, or lower {parameter('nearest')}."
            )
        stage = Stage(name, pairs, at - len(self.numbers), left_out, field)
        numbers, found_by = (column[:at] for column in columns)
        return replace(self, numbers=numbers, stages=(*self.stages, stage), found_by=found_by)

    def unsettled(self) -> np.ndarray:
        """Return for each record whether it was not found together with another one in two ways."""
        found = np.ones(self.records, np.bool_)
        for part in slices(len(self.numbers), PAIRS_PER_RANGE):
            bits = self.found_by[part]
            twice = self.numbers[part][bits & (bits - np.uint64(1)) > 0]  # more than one bit
            for side in np.divmod(twice, max(1, self.records)):
                found[side] = False
        return found

    def lines(self) -> list[str]:
        """Describe in words how many candidates there are and which stages found them."""
        left = self.possible - len(self.numbers)
        share = f", {self.reduction:.4%} ruled out" if left else ", none ruled out" if self.possible else ""
        first = f"candidates: {counted(len(self.numbers), 'pair')} of {self.possible:,}{share}"
        return [first, *(f"  {stage}" for stage in self.stages)]

    @property
    def possible(self) -> int:
        """Return the number of all pairs of records."""
        one = self.records
        return one * (one - 1) // 2 if self.sides.first is None else self.sides.first * (one - self.sides.first)

    @property
    def reduction(self) -> float:
        """Return the share of all pairs that need not be scored."""
        return 1 - len(self.numbers) / max(1, self.possible)


def even_cuts(ascending: Sequence[np.ndarray], step: int) -> np.ndarray:
    """Return where to cut lists of ascending numbers, so that between two cuts there are about `step` in all.

    >>> even_cuts([np.arange(0, 10, 2), np.arange(1, 10, 2)], 5).tolist()
    [5]
    """
    apart = max(1, step // DRAWN)
    drawn = np.sort(np.concatenate([np.zeros(0, np.int64), *(some[::apart] for some in ascending)]))
    return np.unique(drawn[step // apart :: step // apart])


def find_candidates(
    columns: Sequence[Column], sides: Sides, *, threshold: float, nearest: int, seed: int, run: Run,
    storage: Storage = IN_MEMORY,
) -> CandidatePairs:  # fmt: skip
    """Find pairs that share a value, are similar enough, or nearest in a field."""
    found = CandidatePairs(len(columns[0].values), sides)
    with run.stage("same values", len(columns)) as tick:
        keys = list(run.map(value_keys, columns))
        for at, column in enumerate(columns):
            parts, note = same_values(keys, at, sides, run)
            found = found.plus(f"same {column.name}", parts, note, column.name, run=run, storage=storage)
            tick(1)
    run = run.quietly()
    large = found.records > LARGE
    wordy = [column for column in columns if column.wordy and nearest]
    if not (large and sides.two and wordy):
        parts, note = alike(columns, sides, threshold, seed, run)
        found = found.plus(f"similarity >= {threshold:g}", parts, note, run=run, storage=storage)
    if not wordy:
        return found
    for column in wordy if not large or len(columns) == 1 else ():
        near = nearest_by(column, sides, nearest, run, storage=storage).pairs(found.records)
        name = f"{nearest} nearest by {column.name}"
        found = found.plus(name, [near], field=column.name, run=run, storage=storage)
    if len(columns) == 1:
        return found
    searched = found.unsettled() if large else None
    near = nearest_as_whole(columns, sides, nearest, run, searched, storage).pairs(found.records)
    note = "only for records not yet found in two ways" if large else ""
    return found.plus(f"{nearest} nearest as a whole", [near], note, run=run, storage=storage)


def value_keys(column: Column) -> np.ndarray:
    """Return a hash of each value, with abbreviations written out; EMPTY where it is missing."""
    values = column.canonical
    present = np.asarray(values.is_valid())
    keys = np.full(len(values), EMPTY)
    keys[present] = hash_texts(values.drop_null())
    return keys


def same_values(keys: list[np.ndarray], at: int, sides: Sides, run: Run) -> tuple[list[np.ndarray], str]:
    """Return pairs that share a value, or a frequent value and one in another field; and a note."""
    frequent, parts, values, _ = shared_keys(keys[at], sides, run)
    left_out = pairs = 0
    if len(frequent):
        for other in (one for number, one in enumerate(keys) if number != at):
            both = np.full(len(keys[at]), EMPTY)
            rows = frequent[other[frequent] != EMPTY]
            with np.errstate(over="ignore"):
                both[rows] = mix.py_func(mix.py_func(keys[at][rows]) + other[rows] * GOLDEN)
            _, some, still, many = shared_keys(both, sides, run)
            parts.extend(some)
            left_out, pairs = left_out + still, pairs + many
    if not values:
        return parts, ""
    note = f"{counted(values, 'frequent value')} used only together with another field"
    return parts, note + (f", {counted(left_out, 'combination')} with {pairs:,} pairs left out" if left_out else "")


def shared_keys(keys: np.ndarray, sides: Sides, run: Run) -> tuple[np.ndarray, list[np.ndarray], int, int]:
    """Return records with a frequent key, and pairs that share another key.

    Also return the number of frequent keys, and of the pairs that they would make.
    """
    indptr, items = members(*sort_keys(keys, run))
    starts, stops = indptr[:-1], indptr[1:]
    if sides.first is None:
        one = other = stops - starts
        pairs = one * (one - 1) // 2
    else:
        firsts = np.cumsum(np.concatenate(([0], items < sides.first)))
        one = firsts[stops] - firsts[starts]
        other = stops - starts - one
        pairs = one * other
    many = pairs > MOST_PER_RECORD * (stops - starts)
    frequent = np.zeros(len(items) + 1, np.int64)
    np.add.at(frequent, starts[many], 1)
    np.add.at(frequent, stops[many], -1)
    inside = np.cumsum(frequent[:-1]) > 0
    few = np.flatnonzero(~many)

    def work(part: slice) -> np.ndarray:
        rows = few[part]
        return _cross(items, starts[rows], one[rows], other[rows], sides, len(keys))

    numbers = list(run.map(work, even_slices(np.append(0, np.cumsum(pairs[few])), PAIRS_PER_TASK)))
    return items[inside], numbers, int(np.count_nonzero(many)), int(pairs[many].sum())


def _cross(
    items: np.ndarray, starts: np.ndarray, one: np.ndarray, other: np.ndarray, sides: Sides, records: int
) -> np.ndarray:
    """Return all pairs of each bucket as numbers, between the two tables or within one."""
    pairs = one * other  # within one table each comes in both orders; the ascending one is kept
    number = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    start, width = np.repeat(starts, pairs), np.repeat(other, pairs)
    first, second = number // np.maximum(width, 1), number % np.maximum(width, 1)
    left = items[start + first]
    right = items[start + second + (np.repeat(one, pairs) if sides.two else 0)]
    return np.asarray((left * records + right)[left < right])


def alike(
    columns: Sequence[Column], sides: Sides, threshold: float, seed: int, run: Run
) -> tuple[list[np.ndarray], str]:
    """Find pairs of records whose shingles over all fields have at least this Jaccard similarity.

    Frequent values are left out: they would make all records that have them similar.
    """
    make_plan(threshold=threshold, recall=RECALL, method="lsh", advice="Raise the threshold.")  # or raise an error
    records = len(columns[0].values)
    with run.stage("shingles"):
        distinctive = list(run.map(without_frequent, (column for column in columns if column.kind != "category")))
        ends = [0, records] if sides.first is None else [0, sides.first, records]
        tables = [sets_in_parts(distinctive, start, stop, run) for start, stop in pairwise(ends)]
    find = find_matches if sides.two else find_pairs
    most = MOST_PER_RECORD * max(1000, records)
    try:
        pairs = find(*tables, threshold=threshold, recall=RECALL, method="lsh", max_pairs=most, seed=seed, run=run)
    except TooManyPairs:
        return [], f"left out: more than {most:,} pairs are this similar"
    return [pairs.left * records + pairs.right + sides.offset], ""


def without_frequent(column: Column) -> Column:
    """Return the column with null for frequent values."""
    return replace(column, canonical=pc.if_else(pa.array(rare(value_keys(column))), column.canonical, None))


def rare(keys: np.ndarray) -> np.ndarray:
    """Return for each record whether its value is not frequent."""
    _, where, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[where] <= max(MOST_PER_RECORD, len(keys) // FREQUENT_ONE_IN))


def sets_in_parts(columns: Sequence[Column], start: int, stop: int, run: Run) -> Sets:
    """Return the sets of `record_sets` for the records from `start` to `stop`."""
    cut = slices_of_texts([column.canonical[start:stop] for column in columns], stop - start, RECORDS_PER_TASK)
    parts = [slice(start + part.start, start + part.stop) for part in cut]
    return Sets.concatenate(run.map(lambda part: record_sets(columns, part), parts), run)


def record_sets(columns: Sequence[Column], part: slice) -> Sets:
    """Return the shingles of all fields of some records; those of different fields differ."""
    records = part.stop - part.start
    every = [column.canonical.slice(part.start, records) for column in columns]
    made = [TRIGRAMS.hashes(values.fill_null("")) for values in every]
    counts = np.zeros(records, np.int64)
    for indptr, _ in made:
        counts += np.diff(indptr)
    whole = np.concatenate(([0], np.cumsum(counts)))
    elements = np.empty(whole[-1], np.uint64)
    filled = whole[:-1].copy()  # where the next element of each record goes
    for number in reversed(range(len(made))):
        indptr, hashes = made.pop()  # frees it after use
        sizes = np.diff(indptr)
        places = np.arange(len(hashes)) + np.repeat(filled - indptr[:-1], sizes)
        with np.errstate(over="ignore"):
            elements[places] = mix.py_func(hashes + np.uint64(number + 1) * GOLDEN)
        filled += sizes
    return Sets.sorted(whole, elements)
