"""Find candidates among vectors and codes: tables of buckets, compared block by block.

A table sorts items into buckets by a key: of a band of functions, of some parts of a code, or one
key for all, which is brute force. Only one table at a time is in memory; threads sort its parts and
then compare its blocks. A pair that several tables find is kept once.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, product
from typing import NamedTuple, TypeVar

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.families import BitSampling
from lookalike.families.base import as_keys
from lookalike.families.draws import samples
from lookalike.items.sides import Sides
from lookalike.kernels.buckets import members
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.sorting import sorted_part
from lookalike.kernels.tables import masked_keys
from lookalike.search.blocks import REACH, SIDE, Blocks, make_blocks, make_probed_blocks
from lookalike.search.multiprobe import probe_keys
from lookalike.search.on_device import Joiner, pieces
from lookalike.search.spaces import Functions, Space
from lookalike.theory.banding import too_many
from lookalike.theory.sorting import low_bits

SLICE = 1 << 12  # items hashed per task, or pairs checked
CODES = 1 << 16  # codes hashed per task
FUNCTIONS = 32  # computed at a time: enough to keep a core busy, few enough for memory
PART, MOST_PARTS = 1 << 16, 32  # keys sorted per task; each task looks through all keys for its own
FRESH = 1 << 18  # at least this many new pairs are merged into the known ones at a time
RANGES = 64  # of numbers, into which threads merge side by side

Result = TypeVar("Result")


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
            part = family.part(some.start * rows, some.stop * rows)
            every = np.empty((some.stop - some.start, len(chosen) + probers * probes), np.uint64)
            run.each(partial(fill_keys, every, space, part, rows, chosen, probes, probers), slices(len(chosen), SLICE))
            yield from every

    return Tables(bands, keys(), probes, probers)


def fill_keys(
    every: np.ndarray,
    space: Space,
    family: Functions,
    rows: int,
    chosen: np.ndarray,
    probes: int,
    probers: int,
    items: slice,
) -> None:
    """Fill in the keys, bands x keys, of a slice of the chosen items, and of their probes."""
    some, bands = space.take(chosen[items]), len(every)
    if not probes or items.start >= probers:
        every[:, items] = fold_bands(as_keys(family.signatures(some)), bands, rows).T
        return
    assert not isinstance(family, BitSampling)
    alternatives = family.with_alternatives(some)
    every[:, items] = fold_bands(as_keys(alternatives[0]), bands, rows).T
    values, seconds, certainty = (one[: probers - items.start] for one in alternatives)
    more = probe_keys((values, seconds, certainty), bands, rows, probes)
    start = len(chosen) + items.start * probes
    every[:, start : start + len(more) * probes] = more.transpose(1, 0, 2).reshape(bands, -1)


def part_tables(
    words: np.ndarray,
    length: int,
    parts: int,
    distance: int,
    seed: int,
    rows: np.ndarray | None = None,
    run: Run | None = None,
) -> Tables:
    """Return tables of codes in which any codes at most `distance` bits apart share a bucket.

    The bits are dealt out to `parts` parts. Codes that differ in d bits agree in all but at most d
    parts, so in one table, of parts - d of them, they agree completely: the pigeonhole principle.
    Bits are dealt at random, because neighbouring bits are often alike. The codes are those at
    `rows`, by default all; keys are made in the threads of the run, by default in one.
    """
    chosen, threads = np.arange(len(words)) if rows is None else rows, run or Run(1)
    dealt = np.array_split(samples(seed, 1, length, length)[0], parts)
    masks = np.zeros((parts, words.shape[1]), np.uint64)
    for part, places in enumerate(dealt):
        np.bitwise_or.at(masks[part], places // 64, np.uint64(1) << (places % 64).astype(np.uint64))

    def keys() -> Iterator[np.ndarray]:
        for some in combinations(range(parts), parts - distance):
            mask = np.bitwise_or.reduce(masks[list(some)], axis=0)
            made = np.empty(len(chosen), np.uint64)

            def work(items: slice, mask: np.ndarray = mask, made: np.ndarray = made) -> None:
                made[items] = masked_keys(words, chosen[items], mask)

            threads.each(work, slices(len(chosen), CODES))
            yield made

    return Tables(math.comb(parts, distance), keys())


class Task(NamedTuple):
    """Blocks that one thread compares, and the order of the items that they refer to."""

    order: np.ndarray
    rectangles: np.ndarray


def tasks_of(blocks: Blocks, area: int) -> tuple[int, list[Task]]:
    """Return how many pairs the blocks have, and the tasks of comparing them."""
    return blocks.pairs, [Task(blocks.order, some) for some in blocks.tasks(area) if len(some)]


def table_tasks(
    keys: np.ndarray, rows: np.ndarray, sides: Sides, tables: Tables, area: int, run: Run
) -> tuple[int, list[Task]]:
    """Return the pairs and tasks of a table's buckets, which threads sort and cut part by part."""
    bits = min(len(keys) // PART, MOST_PARTS - 1).bit_length()
    mask = low_bits(len(keys))

    def work(part: int) -> tuple[int, list[Task]]:
        indptr, places = members(sorted_part(keys, bits, part, mask), mask)
        return tasks_of(blocks_of(indptr, places, rows, sides, tables), area)

    found = list(run.map(work, range(1 << bits)))
    return sum(pairs for pairs, _ in found), [task for _, tasks in found for task in tasks]


def blocks_of(indptr: np.ndarray, places: np.ndarray, rows: np.ndarray, sides: Sides, tables: Tables) -> Blocks:
    """Return the blocks of buckets of keys, of the given rows and of those that probe."""
    if not tables.probes:
        return make_blocks(indptr, rows[places], sides)
    own = places < len(rows)
    items = rows[np.where(own, places, (places - len(rows)) // tables.probes)]
    return make_probed_blocks(indptr, items, own, sides)


def near_numbers(
    space: Space,
    rows: np.ndarray,
    tables: Tables | None,
    sides: Sides,
    run: Run,
    seen: Callable[[int], None],
    finish: Callable[[np.ndarray], Result],
    joiner: Joiner | None = None,
) -> Iterator[Result]:
    """Find pairs that share a bucket and may be near, in parts, some more than once.

    Yields what `finish` makes of the numbers of each part, in the thread that found them. `rows`
    are the items to compare, ascending; without tables, all are in one bucket, which is brute
    force, on a device if there is a joiner. `seen` is called with the number of pairs compared.
    """
    if joiner is not None:
        yield from numbers_on_device(joiner, rows, sides, run, seen, finish)
        return

    def work(task: Task) -> Result:
        found = space.near(*task)
        return finish(found[found % (len(space) + 1) > 0] if tables and tables.probes else found)  # not with itself

    with run.stage("compare", tables.number if tables else 1) as tick:
        every: Iterator[tuple[int, list[Task]]]
        if tables is None:
            ordered = np.concatenate([space.ordered(part) for part in (sides.apart(rows) if sides.two else [rows])])
            every = iter([tasks_of(make_blocks(np.array([0, len(rows)]), ordered, sides), space.area)])
        else:
            every = (table_tasks(keys, rows, sides, tables, space.area, run) for keys in tables.keys)
        for pairs, tasks in every:
            seen(pairs)
            for found in run.map(work, tasks):
                tick(1 / len(tasks))
                yield found


def numbers_on_device(
    joiner: Joiner,
    rows: np.ndarray,
    sides: Sides,
    run: Run,
    seen: Callable[[int], None],
    finish: Callable[[np.ndarray], Result],
) -> Iterator[Result]:
    """Do the same by brute force on a device; threads finish what it has found while it goes on."""
    left, right = sides.apart(rows)
    with run.stage("compare", 1) as tick:

        def found() -> Iterator[np.ndarray]:
            for share, numbers in joiner.near(left, right, joiner.space.bounds[left], not sides.two):
                tick(share)
                yield from pieces(numbers)

        yield from run.map(finish, found())
    pairs = len(left) * len(right) if sides.two else len(left) * (len(left) - 1) // 2
    seen(pairs - round(pairs * joiner.share_skipped))


def near_pairs(
    space: Space,
    rows: np.ndarray,
    tables: Tables | None,
    sides: Sides,
    limit: int,
    run: Run,
    seen: Callable[[int], None],
    joiner: Joiner | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return near pairs of common buckets: (left, right, values). Over `limit` is an error."""
    known = PairNumbers(run)
    for found in near_numbers(space, rows, tables, sides, run, seen, lambda numbers: distinct([numbers]), joiner):
        if known.add(found) and known.merged > limit:
            known.filter(lambda numbers: check(space, numbers)[0])
            if known.merged > limit:
                raise too_many(known.merged, limit)
    known.merge()
    left, right, values = measured_pairs(space, known.ranges, run)
    if len(left) > limit:
        raise too_many(len(left), limit)
    return left, right, values


class PairNumbers:
    """Distinct numbers that grow: threads merge new ones into ranges of them side by side."""

    def __init__(self, run: Run):
        self.run = run
        self.ranges = [np.empty(0, np.int64)]  # distinct and ascending numbers, in order
        self.cuts = np.empty(0, np.int64)  # the least number of each range but the first
        self.merged = 0  # numbers in all ranges
        self.fresh: list[np.ndarray] = []  # ascending parts that are not merged yet
        self.waiting = 0  # numbers in them

    def add(self, some: np.ndarray) -> bool:
        """Add ascending numbers, and return whether they were merged, as happens now and then."""
        if len(some):
            self.fresh.append(some)
            self.waiting += len(some)
        if self.waiting <= max(self.merged // 4, FRESH):
            return False
        self.merge()
        return True

    def merge(self) -> None:
        """Merge the new numbers; the first many decide where the ranges are cut."""
        if len(self.ranges) == 1 and self.waiting > FRESH:
            drawn = np.sort(np.concatenate(self.fresh)[:: max(1, self.waiting // (64 * RANGES))])
            self.cuts = np.unique(drawn[len(drawn) * np.arange(1, RANGES) // RANGES])
            whole = self.ranges[0]
            self.ranges = np.split(whole, np.searchsorted(whole, self.cuts))
        fresh, cuts, ranges = self.fresh, self.cuts, self.ranges
        bounds = [np.concatenate(([0], np.searchsorted(some, cuts), [len(some)])).tolist() for some in fresh]

        def work(at: int) -> np.ndarray:
            return merge(ranges[at], [some[ends[at] : ends[at + 1]] for some, ends in zip(fresh, bounds, strict=True)])

        self._keep(self.run.map(work, range(len(ranges))))
        self.fresh, self.waiting = [], 0

    def filter(self, good: Callable[[np.ndarray], np.ndarray]) -> None:
        """Keep the merged numbers that a function returns."""
        self._keep(self.run.map(good, self.ranges))

    def _keep(self, ranges: Iterable[np.ndarray]) -> None:
        self.ranges = list(ranges)
        self.merged = sum(len(some) for some in self.ranges)


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


def check(space: Space, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that are really within the threshold, as numbers, and their measure."""
    values = space.measured(*np.divmod(numbers, len(space)))
    good = space.within(values)
    return numbers[good], values[good]


def measured_pairs(space: Space, ranges: list[np.ndarray], run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs within the threshold, of ascending numbers in parts: (left, right, values)."""

    def work(some: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        numbers, values = check(space, some)
        return *np.divmod(numbers, len(space)), values

    tasks = [some[part] for some in ranges for part in slices(len(some), SLICE)]
    found = [work(np.empty(0, np.int64)), *run.map(work, tasks)]
    left, right, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return left, right, values


def near_some(space: Space, some: np.ndarray, rows: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return near pairs of one of `some` items and one of `rows`, each once: (left, right, values)."""
    known = PairNumbers(run)
    for _, found in near_blocks(space, some, rows, space.bounds, run):
        known.add(found[found % (len(space) + 1) > 0])  # no item with itself
    known.merge()
    return measured_pairs(space, known.ranges, run)


def near_blocks(
    space: Space, some: np.ndarray, rows: np.ndarray, bounds: np.ndarray, run: Run, joiner: Joiner | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield near pairs of each block of `some` and each of `rows`: (block of some, ascending numbers).

    On a device, all of `some` are one block.
    """
    if joiner is not None:
        for _, numbers in joiner.near(some, rows, bounds[some], same=False):
            yield slice(0, len(some)), np.sort(numbers)
        return
    order = np.concatenate((some, space.ordered(rows)))

    def work(block: tuple[slice, slice]) -> tuple[slice, np.ndarray]:
        one, other = block
        rectangle = np.array([(one.start, one.stop, len(some) + other.start, len(some) + other.stop)])
        return one, np.sort(space.near(order, rectangle, bounds))

    yield from run.map(work, product(slices(len(some), SIDE), slices(len(rows), REACH)))
