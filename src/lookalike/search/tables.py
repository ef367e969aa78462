"""Find candidates among vectors and codes: tables of buckets, compared block by block.

A table sorts items into buckets by a key: of a band of functions, of some parts of a code, or one
key for all, which is brute force. Only one table at a time is in memory; a pair that several tables
find is kept once.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.families import BitSampling
from lookalike.families.base import as_keys
from lookalike.families.draws import samples
from lookalike.items.sides import Sides
from lookalike.kernels.buckets import members
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.kernels.sketch import fold_bands
from lookalike.search.multiprobe import probe_keys
from lookalike.search.spaces import Functions, Space
from lookalike.theory.banding import too_many
from lookalike.theory.sorting import sort_keys

SLICE = 1 << 12  # items hashed per task
FUNCTIONS = 32  # computed at a time: enough to keep a core busy, few enough for memory
SIDE = 2048  # items per block
REACH = 8192  # the most items that a block is compared with in one task
AREA = 1 << 24  # pairs per task
FRESH = 1 << 18  # at least this many new pairs are merged into the known ones at a time


class Blocks(NamedTuple):
    """Items in order of their buckets, and blocks of pairs that share one: see `kernels.near`."""

    order: np.ndarray
    rectangles: np.ndarray

    @property
    def pairs(self) -> int:
        """The number of pairs in the blocks."""
        a, b = (self.rectangles[:, at + 1] - self.rectangles[:, at] for at in (0, 2))
        same = self.rectangles[:, 0] == self.rectangles[:, 2]
        return int(np.where(same, a * (b - 1) // 2, a * b).sum())

    def tasks(self) -> list[np.ndarray]:
        """Group the blocks into tasks of about AREA pairs."""
        a, b = (self.rectangles[:, at + 1] - self.rectangles[:, at] for at in (0, 2))
        return np.split(self.rectangles, 1 + np.flatnonzero(np.diff(np.cumsum(a * b) // AREA)))


def make_blocks(indptr: np.ndarray, items: np.ndarray, sides: Sides) -> Blocks:
    """Return blocks of the buckets items[indptr[b]:indptr[b + 1]], in which items ascend.

    With two collections, only pairs across them are in the blocks.
    """
    starts, stops = indptr[:-1], indptr[1:]
    if not sides.two:
        blocks = np.stack((starts, stops, starts, stops), axis=1)
    else:
        firsts = np.cumsum(np.concatenate(([0], items < sides.split)))  # of the first collection before each position
        middles = starts + firsts[stops] - firsts[starts]
        blocks = np.stack((starts, middles, middles, stops), axis=1)
    return Blocks(items, cut(blocks))


def cut(blocks: np.ndarray) -> np.ndarray:
    """Split blocks that are too large, and remove empty ones."""
    blocks = blocks[(blocks[:, 1] > blocks[:, 0]) & (blocks[:, 3] > blocks[:, 2])]
    small = (blocks[:, 1] - blocks[:, 0] <= SIDE) & (blocks[:, 3] - blocks[:, 2] <= REACH)
    large = [block for one in blocks[~small].tolist() for block in _cut(*one)]
    return np.concatenate((np.array(large, np.int64).reshape(-1, 4), blocks[small]))


def _cut(a0: int, a1: int, b0: int, b1: int) -> Iterator[tuple[int, int, int, int]]:
    """Split a large block into smaller ones."""
    for start in range(a0, a1, SIDE):
        stop = min(start + SIDE, a1)
        first = b0
        if a0 == b0:
            yield start, stop, start, stop
            first = stop
        for other in range(first, b1, REACH):
            yield start, stop, other, min(other + REACH, b1)


class Tables(NamedTuple):
    """The number of tables and, for each in turn, the keys of all items compared.

    With probes, `probes` more keys follow for each of the first `probers` items.
    """

    number: int
    keys: Iterator[np.ndarray]
    probes: int = 0
    probers: int = 0


def band_tables(
    space: Space, family: Functions, rows: int, chosen: np.ndarray, run: Run, probes: int = 0, probers: int = 0
) -> Tables:
    """Return one table per band of `rows` functions; a few bands are hashed at a time."""
    bands = family.hashes // rows

    def keys() -> Iterator[np.ndarray]:
        for some in slices(bands, max(1, FUNCTIONS // rows)):
            count = some.stop - some.start
            part = family.part(some.start * rows, some.stop * rows)

            def work(items: slice, part: Functions = part, count: int = count) -> tuple[np.ndarray, np.ndarray]:
                some = space.take(chosen[items])
                if not probes or items.start >= probers:
                    return fold_bands(as_keys(part.signatures(some)), count, rows), np.empty((0, count, 0), np.uint64)
                assert not isinstance(part, BitSampling)
                alternatives = part.with_alternatives(some)
                values, seconds, certainty = (one[: probers - items.start] for one in alternatives)
                more = probe_keys((values, seconds, certainty), count, rows, probes)
                return fold_bands(as_keys(alternatives[0]), count, rows), more

            every = np.empty((count, len(chosen) + probers * probes), np.uint64)
            tasks = slices(len(chosen), SLICE)
            for items, (own, more) in zip(tasks, run.map(work, tasks), strict=True):
                every[:, items] = own.T
                start = len(chosen) + items.start * probes
                every[:, start : start + len(more) * probes] = more.transpose(1, 0, 2).reshape(count, -1)
            yield from every

    return Tables(bands, keys(), probes, probers)


def part_tables(words: np.ndarray, length: int, parts: int, distance: int, seed: int) -> Tables:
    """Return tables of codes in which any codes at most `distance` bits apart share a bucket.

    The bits are dealt out to `parts` parts. Codes that differ in d bits agree in all but at most d
    parts, so in one table, of parts - d of them, they agree completely: the pigeonhole principle.
    Bits are dealt at random, because neighbouring bits are often alike.
    """
    dealt = np.array_split(samples(seed, 1, length, length)[0], parts)
    masks = np.zeros((parts, words.shape[1]), np.uint64)
    for part, places in enumerate(dealt):
        np.bitwise_or.at(masks[part], places // 64, np.uint64(1) << (places % 64).astype(np.uint64))

    def keys() -> Iterator[np.ndarray]:
        for some in combinations(range(parts), parts - distance):
            mask = np.bitwise_or.reduce(masks[list(some)], axis=0)
            made = np.zeros(len(words), np.uint64)
            with np.errstate(over="ignore"):
                for w in range(words.shape[1]):
                    made = mix.py_func((made ^ (words[:, w] & mask[w])) + GOLDEN)
            yield made

    return Tables(math.comb(parts, distance), keys())


def table_blocks(keys: np.ndarray, rows: np.ndarray, sides: Sides, tables: Tables) -> Blocks:
    """Return the blocks of a table's buckets, for the given rows and for those that probe it."""
    indptr, places = members(*sort_keys(keys))
    if not tables.probes:
        return make_blocks(indptr, rows[places], sides)
    own = places < len(rows)
    items = rows[np.where(own, places, (places - len(rows)) // tables.probes)]
    owners = np.cumsum(np.concatenate(([0], own)))
    firsts = np.cumsum(np.concatenate(([0], own & (items < sides.split))))  # of the first collection, if there are two
    starts, stops = indptr[:-1], indptr[1:]
    ends = starts + owners[stops] - owners[starts]  # of the items in their own bucket; probing items follow
    middles = starts + firsts[stops] - firsts[starts]  # ends of the first collection's items
    return Blocks(items, cut(np.concatenate((
        np.stack((starts, middles, middles, ends) if sides.two else (starts, ends, starts, ends), axis=1),
        np.stack((ends, stops, middles, ends), axis=1),
    ))))  # fmt: skip


def near_numbers(
    space: Space, rows: np.ndarray, tables: Tables | None, sides: Sides, run: Run, seen: Callable[[int], None]
) -> Iterator[np.ndarray]:
    """Yield pairs that share a bucket and may be near, as numbers, in parts; some more than once.

    `rows` are the items to compare, ascending; without tables, all are in one bucket, which is
    brute force. `seen` is called with the number of pairs compared.
    """
    with run.stage("compare", tables.number if tables else 1) as tick:
        every: Iterator[Blocks] = iter([make_blocks(np.array([0, len(rows)]), rows, sides)])
        if tables is not None:
            every = (table_blocks(keys, rows, sides, tables) for keys in tables.keys)
        for buckets in every:
            seen(buckets.pairs)
            tasks = buckets.tasks()
            for found in run.map(partial(space.near, buckets.order), tasks):
                tick(1 / len(tasks))
                yield found[found % (len(space) + 1) > 0] if tables and tables.probes else found  # no item with itself


def near_pairs(
    space: Space,
    rows: np.ndarray,
    tables: Tables | None,
    sides: Sides,
    limit: int,
    run: Run,
    seen: Callable[[int], None],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return near pairs of common buckets: (left, right, values). Over `limit` is an error."""
    known = np.empty(0, np.int64)
    fresh: list[np.ndarray] = []
    waiting = 0
    for found in near_numbers(space, rows, tables, sides, run, seen):
        fresh.append(found)
        waiting += len(found)
        if waiting > max(len(known) // 4, FRESH):
            known, fresh, waiting = merge(known, fresh), [], 0
            if len(known) > limit:
                known = check(space, known, run)[0]
                if len(known) > limit:
                    raise too_many(len(known), limit)
    numbers, values = check(space, merge(known, fresh), run)
    if len(numbers) > limit:
        raise too_many(len(numbers), limit)
    left, right = np.divmod(numbers, len(space))
    return left, right, values


def merge(known: np.ndarray, fresh: list[np.ndarray]) -> np.ndarray:
    """Merge new numbers into the known ones, which are distinct and ascending."""
    some = distinct(fresh)
    places = np.searchsorted(known, some)
    new = np.ones(len(some), np.bool_)
    inside = places < len(known)
    new[inside] = known[places[inside]] != some[inside]
    return np.insert(known, places[new], some[new])


def distinct(parts: list[np.ndarray]) -> np.ndarray:
    """Return the distinct numbers of all parts, ascending."""
    every = np.concatenate([np.empty(0, np.int64), *parts])
    every.sort()
    new = np.ones(len(every), np.bool_)
    np.not_equal(every[1:], every[:-1], out=new[1:])
    return every[new]


def check(space: Space, numbers: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that are really within the threshold, and their measure."""

    def work(part: slice) -> tuple[np.ndarray, np.ndarray]:
        some = numbers[part]
        values = space.measured(*np.divmod(some, len(space)))
        good = space.within(values)
        return some[good], values[good]

    parts = [(numbers[:0], space.measured(numbers[:0], numbers[:0]))]
    parts.extend(run.map(work, slices(len(numbers), SLICE)))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def near_some(
    space: Space, some: np.ndarray, rows: np.ndarray, run: Run, far: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return near pairs of one of `some` items and one of `rows`, each once: (left, right, values).

    Pairs are within the threshold or, if given, within the `far` of each of `some`; left < right.
    """
    order = np.concatenate((some, rows))
    bounds = None
    if far is not None:
        thresholds = np.full(len(space), far[0] if len(far) else 0, far.dtype)
        thresholds[some] = far
        bounds = space.bound(thresholds)
    blocks = [
        (first.start, first.stop, len(some) + other.start, len(some) + other.stop)
        for first in slices(len(some), SIDE)
        for other in slices(len(rows), REACH)
    ]
    found = list(run.map(lambda block: space.near(order, np.array([block]), bounds), blocks))
    numbers = distinct(found)
    numbers = numbers[numbers % (len(space) + 1) > 0]  # no item with itself
    if far is None:
        numbers, values = check(space, numbers, run)
        return *np.divmod(numbers, len(space)), values
    left, right = np.divmod(numbers, len(space))
    return left, right, space.measured(left, right)
