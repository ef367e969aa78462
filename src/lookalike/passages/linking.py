"""Link each window of units to its copies, and follow them to the longest runs that are equal.

Only windows whose anchor occurs twice can have a copy. Their keys are sorted, in memory or in parts of
mapped files, so that the work is linear however often a passage occurs. What is found of a window goes
first to the region where its number lies, and then to its place there: files are written from one end
to the other, since a page that is changed again and again is written to disk again and again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run, slices
from lookalike.core.storage import Storage
from lookalike.items.segments import Segments
from lookalike.kernels.passages import (
    follow,
    link_copies,
    members_of_keys,
    members_that_count,
    send,
    settle,
    window_keys,
)
from lookalike.kernels.sorting import sorted_part
from lookalike.passages.reading import HASH, WHOLE, Corpus
from lookalike.theory.sorting import keys_in_parts, low_bits

PART = 1 << 22  # about how many keys are sorted at a time
BYTES = 64  # of memory per key while they are sorted
REGION = 22  # a region has 2**22 windows

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class ChosenWindows:
    """Windows that can have copies, numbered in reading order, with a blank after each run of them."""

    keys: np.ndarray
    numbers: np.ndarray  # of the first window of each run
    places: np.ndarray  # its first unit, counted over all documents
    split: int  # the first number of the second collection; ONE if there is just one
    begin: int  # the first number that is not of earlier data

    def units(self, numbers: np.ndarray) -> np.ndarray:
        """Return the first units of windows."""
        run = np.searchsorted(self.numbers, numbers, "right") - 1
        found: np.ndarray = self.places[run] + numbers - self.numbers[run]
        return found


@dataclass(frozen=True, eq=False)
class WindowLinks:
    """For each window: the first one like it, the number of copies, and whether it is one too many."""

    first: np.ndarray
    copies: np.ndarray  # 0 for a window that occurs once
    extra: np.ndarray


@dataclass(frozen=True, eq=False)
class RepeatedRuns:
    """Runs of units that repeat earlier ones, by their first units, counted over all documents."""

    left: np.ndarray  # of the earlier one
    right: np.ndarray
    lengths: np.ndarray  # in units
    copies: np.ndarray  # the fewest copies of a window in it

    def __len__(self) -> int:
        return len(self.left)

    def take(self, rows: np.ndarray) -> "RepeatedRuns":
        """Return some of the runs."""
        return RepeatedRuns(self.left[rows], self.right[rows], self.lengths[rows], self.copies[rows])


def groups_of_keys(
    name: str,
    keys: np.ndarray,
    work: Callable[[np.ndarray, np.ndarray], Result],
    storage: Storage,
    run: Run,
) -> Iterator[Result]:
    """Yield what `work` returns for the groups of equal keys, part by part, as `members_of_keys` finds them.

    In memory, each part looks through all keys for its own. In files, which begin with `name`, keys are put
    into parts first.
    """
    size = PART if storage.memory is None else max(1, min(PART, storage.memory // (BYTES * run.threads)))
    high = max(0, (len(keys) // size).bit_length())
    mask = low_bits(len(keys))

    def search(part: int) -> Result:
        return work(*members_of_keys(sorted_part(keys, high, part, mask), keys, mask))

    def search_part(part: int) -> Result:
        inside = slice(*bounds[part : part + 2].tolist())
        own = low_bits(inside.stop - inside.start)
        indptr, items = members_of_keys(sorted_part(placed[inside], high, part, own), placed[inside], own)
        return work(indptr, numbers[inside][items])

    if storage.memory is None or high == 0:
        yield from run.map(search, range(1 << high))
    else:
        placed, numbers, bounds = keys_in_parts(
            keys, high, lambda column, *kind: storage.empty(f"{name}.{column}", *kind), run
        )
        yield from run.map(search_part, range(1 << high))


def windows_of(corpus: Corpus, seed: int, run: Run) -> ChosenWindows:
    """Hash the windows whose anchor occurs at two places; of two collections, in both."""
    wanted = np.zeros(len(corpus.anchors), np.bool_)
    split, begin = corpus.split_of(corpus.entry_starts), int(corpus.entry_starts[corpus.earlier])
    with run.stage("anchors"):
        for items in groups_of_keys(
            "parts", corpus.anchors, lambda *groups: members_that_count(*groups, split, begin), corpus.storage, run
        ):
            wanted[items] = True

    def work(at: int) -> list[np.ndarray]:
        return _keys_in_piece(corpus, at, seed, wanted)

    kinds = {"keys": HASH, "numbers": WHOLE, "places": WHOLE, "sizes": WHOLE}
    grown = corpus.storage.growing(f"windows{seed}", dict(kinds))
    with run.stage("windows", len(corpus.texts)) as tick:
        tick(grown.done)
        for done, columns in enumerate(run.map(work, range(grown.done, len(corpus.texts))), start=grown.done + 1):
            grown.append(done, columns)
            tick(1)
        keys, numbers, places, sizes = grown.finish(run)
    of_keys, of_runs = sizes.reshape(-1, 2).T
    starts = np.concatenate(([0], np.cumsum(of_keys)))
    sides = corpus.sides
    split = int(starts[corpus.piece_from(sides.offset)]) if sides.two else sides.split
    begin = int(starts[corpus.piece_from(corpus.earlier)])
    return ChosenWindows(keys, numbers + np.repeat(starts[:-1], of_runs), places, split, begin)


def _keys_in_piece(corpus: Corpus, at: int, seed: int, wanted: np.ndarray) -> list[np.ndarray]:
    """Return the keys of wanted windows in one piece of the corpus, their runs, and how many there are of both."""
    start, stop = corpus.piece_starts[at : at + 2]
    bounds = corpus.entry_starts[start : stop + 1]
    first, last = bounds[[0, -1]]
    before = np.concatenate(([0], np.cumsum(wanted[first:last])))[bounds - first]
    has_wanted = before[1:] > before[:-1]
    if not has_wanted.any():
        return [np.zeros(0, np.uint64), *np.zeros((2, 0), np.int64), np.zeros(2, np.int64)]
    rows = np.flatnonzero(has_wanted)
    indptr, units = corpus.cutter.hashes(corpus.texts[at].take(pa.array(rows)), seed)
    inside = np.repeat(has_wanted, np.diff(bounds))
    entries = np.concatenate(([0], np.cumsum(corpus.entries[start + rows], dtype=np.int64)))
    some = (entries, corpus.firsts[first:last][inside], wanted[first:last][inside])
    keys, numbers, places = window_keys(indptr, units, corpus.cutter.length, seed, *some)
    document = np.searchsorted(indptr, places, "right") - 1
    places += corpus.unit_starts[start + rows[document]] - indptr[document]
    return [keys, numbers, places, np.array([len(keys), len(numbers)])]


def link(corpus: Corpus, windows: ChosenWindows, keep: int, run: Run) -> WindowLinks:
    """Link the windows to their copies; `keep` copies are not too many."""
    size, storage = len(windows.keys), corpus.storage
    kinds = {"place": np.uint32, "first": np.int64, "copies": np.int32, "extra": np.bool_}
    columns = [storage.empty(name, size, kind) for name, kind in kinds.items()]
    regions = slices(size, 1 << REGION)
    filled = np.zeros(len(regions), np.int64)

    def work(indptr: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, ...]:
        of_runs = windows.numbers, windows.places, corpus.cutter.length
        found: tuple[np.ndarray, ...] = link_copies(indptr, items, windows.split, windows.begin, *of_runs, keep)
        return found

    def settle_region(at: int) -> None:
        settle(filled[at], *(column[regions[at]] for column in columns))

    with run.stage("link"):
        for found in groups_of_keys("parts", windows.keys, work, storage, run):
            send(*found, REGION, filled, *columns)
        run.each(settle_region, range(len(regions)))
    return WindowLinks(*columns[1:])


def runs_of(corpus: Corpus, windows: ChosenWindows, links: WindowLinks, run: Run) -> tuple[RepeatedRuns, RepeatedRuns]:
    """Return the runs to list, and those within the first of two collections, to verify only.

    Lines, sentences and paragraphs are not joined to runs, since the space between them can differ.
    """
    sides = corpus.sides
    if isinstance(corpus.cutter, Segments):
        again = np.flatnonzero((links.copies > 0) & (links.first != np.arange(len(links.first))))
        ones = np.ones(len(again), np.int64)
        each = RepeatedRuns(windows.units(links.first[again]), windows.units(again), ones, links.copies[again])
        return each, each.take(again[:0])
    bounds = [0, windows.split, len(windows.keys)] if sides.two else [0, 0, len(windows.keys)]
    found = []
    with run.stage("follow"):
        for start, stop in pairwise(bounds):
            left, right, sizes, copies = follow(links.first, links.copies, start, stop)
            lengths = sizes + corpus.cutter.length - 1
            found.append(RepeatedRuns(windows.units(left), windows.units(right), lengths, copies))
    return found[1], found[0]
