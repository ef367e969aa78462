"""Collect new entries of a table in sorted runs, in files, until they are merged into the table."""

from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.core.workdir import allocate, mapped
from lookalike.kernels.blocks import HALF, SLICES, into_slices

TASKS = 16  # that sort a run
IN_MEMORY = 1 << 26  # bytes; larger runs go to files


class SortedRun(NamedTuple):
    """Entries by slice, and sorted within each."""

    entries: np.ndarray
    starts: np.ndarray


class Runs:
    """The entries of items that were added one batch after another."""

    def __init__(self) -> None:
        self.runs: list[SortedRun] = []
        self.size = 0  # entries

    def add(self, parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], run: Run) -> None:
        """Add a run of parts, each the hashes of items, their numbers, and which of them to add."""
        grouped = list(run.map(lambda part: SortedRun(*into_slices(*part)), parts))
        sizes = sum((np.diff(one.starts) for one in grouped), np.zeros(SLICES, np.int64))
        starts = np.append(0, np.cumsum(sizes))
        entries = room_for(int(starts[-1]))

        def put(parts: slice) -> None:
            for part in range(parts.start, parts.stop):
                own = entries[starts[part] : starts[part + 1]]
                np.concatenate([one.entries[one.starts[part] : one.starts[part + 1]] for one in grouped], out=own)
                own.sort()

        run.each(put, slices(SLICES, SLICES // TASKS))
        self.runs.append(SortedRun(entries, starts))
        self.size += len(entries)

    def slice(self, part: int) -> list[np.ndarray]:
        """Return the entries of a slice, in one sorted array for each run."""
        return [one.entries[one.starts[part] : one.starts[part + 1]] for one in self.runs]

    def merged(self, part: int) -> np.ndarray:
        """Return all distinct entries of a slice, sorted."""
        return np.unique(np.concatenate([np.zeros(0, np.uint64), *self.slice(part)]))

    def find(self, part: int, key: int) -> list[int]:
        """Return the numbers of the entries with a key in a slice."""
        found: list[int] = []
        for entries in self.slice(part):
            first, last = np.searchsorted(entries, np.array([key << HALF, (key << HALF) + 0xFFFFFFFF], np.uint64))
            while first < len(entries) and first <= last and int(entries[first]) >> HALF == key:
                found.append(int(entries[first]) & 0xFFFFFFFF)
                first += 1
        return found


def room_for(entries: int) -> np.ndarray:
    """Return an array for so many entries, in a file if it is large."""
    if 8 * entries < IN_MEMORY:
        return np.empty(entries, np.uint64)
    with TemporaryFile(prefix="lookalike-") as file:
        allocate(file, 8 * entries)
        return mapped(file, np.uint64, mode="r+")
