"""Join exactly: find every pair at or above the threshold with an index of rare-first prefixes."""

from collections.abc import Iterator
from itertools import pairwise
from threading import Lock, local
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import even_slices, join_arrays
from lookalike.core.errors import DataError
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.items.sets import Sets
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.joins import (
    SUFFIX,
    by_range,
    count_kept,
    count_lookups,
    count_numbers,
    length_join,
    post,
    prefix_join,
    prefixes,
    rank_counts,
)
from lookalike.theory.banding import too_many
from lookalike.theory.sorting import sort_keys

STAGES = ("length", "prefix", "position", "suffix")
SLICE = 1 << 18  # elements, counts or tokens per task
LOOKUPS = 1 << 20  # postings that a task looks up, unless that makes more than
MOST_TASKS = 1 << 12
RANGE = 20  # threads count elements in ranges of 2**20 counts, which the processor's cache holds
Ranks = tuple[np.ndarray, np.uint64]
RANKS = np.ceil(8 * np.log2(np.maximum(np.arange(1 << 12), 1))).astype(np.uint8)  # of small counts
ALIKE: Ranks = (np.ones(2, np.uint8), np.uint64(63))  # all elements have one rank, and keep their own order
Found = tuple[np.ndarray, np.ndarray, np.ndarray, int]  # left, right, elements shared, pairs compared


class JoinWork(NamedTuple):
    """The cost of a join: elements to look up, postings to scan, and pairs to compare."""

    tokens: float
    walks: float
    compared: float


def exact_pairs(
    sets: Sets, kind: int, p: int, q: int, sides: Sides, limit: int, run: Run, stage: int = SUFFIX, ranked: bool = False
) -> Found:
    """Return all similar pairs of rows; `kernels.bounds` has the kinds of similarity, and p and q.

    Two similar sets share an element of their prefixes, however the elements are ordered; with rare
    elements first, few share one by chance. `ranked` elements, made by `in_order`, are in order.
    `stage` is the last filter to use. With two collections, only pairs across them count. More than
    `limit` pairs are an error.
    """
    found: tuple[list[np.ndarray], ...] = ([], [], [])
    total, compared = 0, 0
    for *part, seen in exact_parts(sets, kind, p, q, sides, run, stage, ranked):
        for column, values in zip(found, part, strict=True):
            column.append(values)
        compared += seen
        total += len(part[0])
        if total > limit:
            raise too_many(total, limit)
    left, right, shared = (join_arrays(column, run) for column in found)
    return left, right, shared, compared


def exact_parts(
    sets: Sets, kind: int, p: int, q: int, sides: Sides, run: Run, stage: int = SUFFIX, ranked: bool = False
) -> Iterator[Found]:
    """Yield the same pairs, some rows at a time."""
    rows = by_size(sets)
    measure, split = (kind, p, q), sides.split
    index: tuple[np.ndarray, ...] = ()
    work = np.arange(len(rows))  # without an index, each row is compared with the smaller ones
    if stage:
        with run.stage("index prefixes"):
            index = index_prefixes(sets, rows, ALIKE if ranked else element_ranks(sets, run), measure, run)
            work = count_work(index, run)
    own = local()

    def join(part: slice) -> Found:
        found: Found
        if stage:
            if not hasattr(own, "met"):
                own.met = np.full(len(rows), -1, np.int32)
            bounds = (part.start, part.stop, own.met)
            found = prefix_join(*bounds, rows, *index, sets.indptr, sets.elements, *measure, stage, split)
        else:
            found = length_join(part.start, part.stop, rows, sets.indptr, sets.elements, *measure, split)
        return found

    done = np.concatenate(([0], np.cumsum(work)))
    tasks = even_slices(done, max(LOOKUPS, int(done[-1]) // MOST_TASKS))
    with run.stage("compare", len(rows)) as tick:
        for task, part in zip(tasks, run.map(join, tasks), strict=True):
            yield part
            tick(task.stop - task.start)


def in_order(sets: Sets, order: np.ndarray) -> Sets:
    """Replace each element by a number: the later the element stands in `order`, the higher.

    The numbers are spread over 64 bits, as hashes are.
    """
    places = np.argsort(order)
    at = np.minimum(np.searchsorted(order[places], sets.elements), len(order) - 1)
    if len(sets.elements) and not (len(order) and (order[places[at]] == sets.elements).all()):
        raise DataError("order must hold all elements of the sets.")
    numbers = (places[at].astype(np.uint64) + np.uint64(1)) * np.uint64(2**64 // (len(order) + 2))
    return Sets.sorted(sets.indptr, numbers)


def by_size(sets: Sets) -> np.ndarray:
    """Return the rows that are not empty, small ones first."""
    sizes = sets.sizes
    rows = np.flatnonzero(sizes)
    for shift in range(0, int(sizes.max(initial=0)).bit_length(), 16):  # NumPy sorts 16 bits in linear time
        rows = rows[np.argsort((sizes[rows] >> shift).astype(np.uint16), kind="stable")]
    return rows


def index_prefixes(
    sets: Sets, rows: np.ndarray, ranks: Ranks, measure: tuple[int, int, int], run: Run = ONE_THREAD
) -> tuple[np.ndarray, ...]:
    """Return the prefixes that `prefix_join` looks up, and the postings that it finds."""
    starts, owners, tokens, places, kept = all_prefixes(sets, rows, ranks, measure, run)
    ordered, mask = sort_keys(tokens, run)
    nominal = np.arange(0, len(ordered), SLICE)
    cuts = np.unique(np.searchsorted(ordered, ordered[nominal] & ~mask))  # where the tokens of an element begin
    tasks = [slice(start, stop) for start, stop in pairwise([*cuts.tolist(), len(ordered)])]
    counts = run.map(lambda part: count_kept(ordered[part], mask, kept), tasks)
    firsts = np.cumsum([0, *counts])
    total = int(firsts[-1])
    postings = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.int32)
    bounds = np.empty(len(tokens), np.int64), np.empty(len(tokens), np.int64)

    def fill(at: int) -> None:
        post(ordered[tasks[at]], mask, tokens, owners, places, kept, firsts[at], *postings, *bounds)

    run.each(fill, range(len(tasks)))
    return starts, tokens, places, *postings, *bounds


def all_prefixes(
    sets: Sets, rows: np.ndarray, ranks: Ranks, measure: tuple[int, int, int], run: Run
) -> tuple[np.ndarray, ...]:
    """Return the result of `prefixes` with the row of each token: (indptr, rows, tokens, places, kept)."""
    tasks = even_slices(np.concatenate(([0], np.cumsum(sets.sizes[rows]))), SLICE)
    found = list(run.map(lambda part: prefixes(sets.indptr, sets.elements, rows[part], *ranks, *measure), tasks))
    firsts = np.cumsum([0, *(len(tokens) for _, tokens, _, _ in found)])
    total = int(firsts[-1])
    starts, owners = np.zeros(len(rows) + 1, np.int64), np.empty(total, np.int32)
    tokens, places, kept = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total, np.bool_)

    def copy(at: int) -> None:
        part, here = tasks[at], slice(firsts[at], firsts[at + 1])
        indptr, tokens[here], places[here], kept[here] = found[at]
        found[at] = ()  # frees its memory
        starts[part.start + 1 : part.stop + 1] = indptr[1:] + here.start
        owners[here] = np.repeat(np.arange(part.start, part.stop, dtype=np.int32), np.diff(indptr))

    run.each(copy, range(len(tasks)))
    return starts, owners, tokens, places, kept


def count_work(index: tuple[np.ndarray, ...], run: Run) -> np.ndarray:
    """Return for each row how many postings it looks up, from the result of `index_prefixes`."""
    starts, *_, begins, ends = index
    parts = run.map(
        lambda part: count_lookups(starts[part.start : part.stop + 1], begins, ends), even_slices(starts, SLICE)
    )
    return np.concatenate([np.zeros(0, np.int64), *parts])


def estimate_work(
    sample: Sets, items: int, ranks: Ranks, measure: tuple[int, int, int], places: np.ndarray | None = None
) -> JoinWork:
    """Estimate the work of joining `items` items from a sample, with the ranks of all if known.

    The sample is joined, and its counts are scaled up to the whole collection. Pairs from one of
    the sample's `places` stand only for pairs of neighbours, of which there are as many per item.
    """
    times = items / max(1, len(sample))
    tokens, walks, compared = sample_work(sample, ranks, measure)
    if places is not None:
        parts = [sample_work(sample.take(np.flatnonzero(places == one)), ranks, measure) for one in np.unique(places)]
        _, near_walks, near_compared = (sum(counts) for counts in zip(*parts, strict=True))
        return JoinWork(
            tokens * times,
            (walks - near_walks) * times**2 + near_walks * times,
            (compared - near_compared) * times**2 + near_compared * times,
        )
    return JoinWork(tokens * times, walks * times**2, compared * times**2)


def sample_work(sample: Sets, ranks: Ranks, measure: tuple[int, int, int]) -> JoinWork:
    """Return the work of joining some sets."""
    rows = by_size(sample)
    starts, *index = index_prefixes(sample, rows, ranks, measure)
    *_, begins, ends = index
    met = np.full(len(rows), -1, np.int32)
    *_, compared = prefix_join(
        0, len(rows), met, rows, starts, *index, sample.indptr, sample.elements, *measure, SUFFIX, ALONE.split
    )
    return JoinWork(float(len(begins)), float((ends - begins).sum()), float(compared))


def element_ranks(sets: Sets, run: Run = ONE_THREAD) -> Ranks:
    """Return (ranks, shift): element x has rank ranks[x >> shift], from 0 (in a single set) to 255.

    Elements that share their high bits share a rank, which costs only a little selectivity.
    """
    counts, shift = element_counts(sets, run)
    return ranks_of(counts, run), shift


def ranks_of(counts: np.ndarray, run: Run = ONE_THREAD) -> np.ndarray:
    """Return the rank of each count, which is about 8 log2(count), and at most 255."""
    ranks = np.empty(len(counts), np.uint8)
    run.each(lambda part: rank_counts(counts[part], RANKS, ranks[part]), slices(len(counts), SLICE))
    return ranks


def counters_for(elements: float) -> int:
    """Return how many counters this number of elements gets."""
    return 1 << min(27, max(10, int(elements).bit_length() + 1))


class Counters:
    """Counters for about this number of elements: each adds to the counter of its high bits x >> shift.

    Each thread groups some elements by range, and then adds those of one range after another, while
    no other thread adds to the same range.
    """

    def __init__(self, elements: float) -> None:
        self.counts = np.zeros(counters_for(elements), np.int32)
        self.shift = np.uint64(64 - (len(self.counts).bit_length() - 1))
        self._locks = [Lock() for _ in range(0, len(self.counts), 1 << RANGE)]

    def add(self, elements: np.ndarray, first: int = 0) -> None:
        """Add one to the counter of each element; threads should begin with different ranges."""
        starts, numbers = by_range(elements, self.shift, RANGE, len(self._locks))
        for at in range(len(self._locks)):
            one = (first + at) % len(self._locks)
            with self._locks[one]:
                count_numbers(numbers[starts[one] : starts[one + 1]], self.counts)


def element_counts(sets: Sets, run: Run = ONE_THREAD) -> tuple[np.ndarray, np.uint64]:
    """Return (counts, shift): how many elements, in all sets, have the high bits x >> shift."""
    counters = Counters(len(sets.elements))
    run.each(lambda part: counters.add(sets.elements[part], part.start // SLICE), slices(len(sets.elements), SLICE))
    return counters.counts, counters.shift
