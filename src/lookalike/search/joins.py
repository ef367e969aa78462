"""Join exactly: find every pair at or above the threshold with an index of rare-first prefixes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.core.errors import DataError
from lookalike.core.run import Run, slices
from lookalike.items.sets import Sets
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.joins import SUFFIX, count_elements, length_join, post, prefix_join, prefixes
from lookalike.theory.banding import sort_keys, too_many

STAGES = ("length", "prefix", "position", "suffix")
SLICE = 1 << 16  # counts turned into ranks at a time
Ranks = tuple[np.ndarray, np.uint64]
ALIKE: Ranks = (np.ones(2, np.uint8), np.uint64(63))  # all elements have one rank, and keep their own order
Found = tuple[np.ndarray, np.ndarray, np.ndarray, int]  # left, right, elements shared, pairs compared


class Work(NamedTuple):
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
    found, total = [], 0
    for part in exact_parts(sets, kind, p, q, sides, run, stage, ranked):
        found.append(part)
        total += len(part[0])
        if total > limit:
            raise too_many(total, limit)
    none = np.zeros(0, np.int64)
    left, right, shared = (np.concatenate([none, *(part[i] for part in found)]) for i in range(3))
    return left, right, shared, sum(part[3] for part in found)


def exact_parts(
    sets: Sets, kind: int, p: int, q: int, sides: Sides, run: Run, stage: int = SUFFIX, ranked: bool = False
) -> Iterator[Found]:
    """Yield the same pairs, some rows at a time."""
    rows = by_size(sets)
    measure, split = (kind, p, q), sides.split
    index: tuple[np.ndarray, ...] = ()
    if stage:
        with run.stage("index prefixes"):
            index = index_prefixes(sets, rows, ALIKE if ranked else element_ranks(sets), measure)

    def work(part: slice) -> Found:
        found: Found
        if stage:
            found = prefix_join(part.start, part.stop, rows, *index, sets.indptr, sets.elements, *measure, stage, split)
        else:
            found = length_join(part.start, part.stop, rows, sets.indptr, sets.elements, *measure, split)
        return found

    step = max(256, len(rows) // 256)  # rows per task; each task scans all rows once
    with run.stage("compare", len(rows)) as tick:
        for part in run.map(work, slices(len(rows), step)):
            yield part
            tick(step)


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
    rows = np.argsort(sets.sizes, kind="stable")
    return rows[np.searchsorted(sets.sizes[rows], 1) :]


def index_prefixes(sets: Sets, rows: np.ndarray, ranks: Ranks, measure: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """Return the prefixes that `prefix_join` looks up, and the postings that it finds."""
    starts, tokens, places, kept = prefixes(sets.indptr, sets.elements, rows, *ranks, *measure)
    owners = np.repeat(np.arange(len(rows)), np.diff(starts))
    return starts, tokens, places, *post(*sort_keys(tokens), tokens, owners, places, kept)


def estimate_work(sample: Sets, items: int, ranks: Ranks, measure: tuple[int, int, int]) -> Work:
    """Estimate the work of joining `items` items from a sample, with the ranks of all if known.

    The sample is joined, and its counts are scaled up to the whole collection.
    """
    rows = by_size(sample)
    starts, *index = index_prefixes(sample, rows, ranks, measure)
    *_, begins, ends = index
    times = items / max(1, len(sample))
    *_, compared = prefix_join(
        0, len(rows), rows, starts, *index, sample.indptr, sample.elements, *measure, SUFFIX, ALONE.split
    )
    return Work(len(begins) * times, float((ends - begins).sum()) * times**2, compared * times**2)


def element_ranks(sets: Sets) -> Ranks:
    """Return (ranks, shift): element x has rank ranks[x >> shift], from 0 (in a single set) to 255.

    Elements that share their high bits share a rank, which costs only a little selectivity.
    """
    counts, shift = element_counts(sets)
    ranks = np.empty(len(counts), np.uint8)
    for part in slices(len(counts), SLICE):  # floats for all of them would take several times the memory
        ranks[part] = np.minimum(np.ceil(8 * np.log2(np.maximum(counts[part], 1))), 255)
    return ranks, shift


def element_counts(sets: Sets) -> tuple[np.ndarray, np.uint64]:
    """Return (counts, shift): how many elements, in all sets, have the high bits x >> shift."""
    bits = min(27, max(10, len(sets.elements).bit_length() + 1))
    shift = np.uint64(64 - bits)
    counts = np.zeros(1 << bits, np.int32)
    count_elements(sets.elements, shift, counts)
    return counts, shift
