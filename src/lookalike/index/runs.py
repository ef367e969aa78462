"""Collect new entries of a table in sorted runs, in files, until they are merged into the table."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.core.storage import IN_MEMORY, Arrays, Storage
from lookalike.kernels.blocks import HALF, SLICES, into_slices

TASKS = 16  # that sort a run


class SortedRun(NamedTuple):
    """Entries by slice, and sorted within each."""

    entries: np.ndarray
    starts: np.ndarray


class Runs:
    """The entries of items that were added one batch after another, in memory or in files."""

    def __init__(self, storage: Storage = IN_MEMORY, name: str = "") -> None:
        self.storage, self.name = storage, name
        self.runs: list[SortedRun] = []
        self.size = 0  # entries

    def add(self, parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], run: Run) -> None:
        """Add a run of parts, each the hashes of items, their numbers, and which of them to add."""
        self._take(lambda: sorted_run(parts, run))

    def resume(self, damaged: Callable[[], Exception]) -> None:
        """Add the next run that an earlier process has added; it must be in the storage."""

        def missing() -> Arrays:
            raise damaged()

        self._take(missing)

    def _take(self, make: Callable[[], Arrays]) -> None:
        self.runs.append(SortedRun(*self.storage.made(self.following, make)))
        self.size += len(self.runs[-1].entries)

    @property
    def following(self) -> str:
        """The name of the next run."""
        return f"{self.name}.{len(self.runs)}"

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


def sorted_run(parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], run: Run) -> SortedRun:
    """Return the entries of all parts, each the hashes of items, their numbers, and which of them to add."""
    grouped = list(run.map(lambda part: SortedRun(*into_slices(*part)), parts))
    sizes = sum((np.diff(one.starts) for one in grouped), np.zeros(SLICES, np.int64))
    starts = np.append(0, np.cumsum(sizes))
    entries = np.empty(int(starts[-1]), np.uint64)

    def put(parts: slice) -> None:
        for part in range(parts.start, parts.stop):
            own = entries[starts[part] : starts[part + 1]]
            np.concatenate([one.entries[one.starts[part] : one.starts[part + 1]] for one in grouped], out=own)
            own.sort()

    run.each(put, slices(SLICES, SLICES // TASKS))
    return SortedRun(entries, starts)
