"""Make the sets of any items of a collection again: from texts in memory, texts that are read again, or given sets."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.io.documents import Source
from lookalike.items.sets import Sets, hash_values
from lookalike.items.shingles import Shingles, as_array
from lookalike.search.grouping import Grouping
from lookalike.search.weighing import Weighing

SLICE = 1 << 14  # sets per task
TASKS = 256  # enough for all threads; each costs time on the thread that hands them out
AGAIN = 1 << 12  # texts per task when they are read again


class Maker(ABC):
    """A maker of the sets of any items, one task at a time."""

    @abstractmethod
    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[Any]:
        """Yield tasks that make the sets of ascending rows, in order; `run` reads them, if needed."""

    @abstractmethod
    def make(self, task: Any) -> Sets:
        """Make the sets of one task's rows."""

    @abstractmethod
    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the items at ascending positions: texts, or collections of elements."""

    @abstractmethod
    def elements(self, item: Any) -> Iterable[Any]:
        """Return the elements of an item that `look` returned."""

    @abstractmethod
    def hashed(self, item: Any) -> tuple[Sequence[Any], np.ndarray]:
        """Return the same elements with their hashes; in a bag, with repeats."""

    def rows(self, task: Any) -> np.ndarray:
        """Return the rows of a task."""
        rows: np.ndarray = task
        return rows


class TextRows(NamedTuple):
    """Some texts of a collection: their rows, a batch with them, and their places in it."""

    rows: np.ndarray
    batch: pa.ChunkedArray
    places: np.ndarray

    def texts(self) -> pa.LargeStringArray:
        """Return the texts."""
        return self.batch.take(pa.array(self.places)).combine_chunks()


class Chunk(NamedTuple):
    """Some texts and, if all sets are needed, the sets of those with a new content."""

    texts: pa.LargeStringArray
    sets: Sets | None
    new: np.ndarray


class TextSets(Maker):
    """A maker of the shingle sets of texts in memory, some chunks of texts per task.

    Sets that were made before are handed out once, so that they do not fill memory.
    """

    def __init__(self, chunks: list[Chunk], shingles: Shingles, weighing: Weighing, grouping: Grouping | None = None):
        self.chunks = [chunk.texts for chunk in chunks]
        self.shingles, self.weighing, self.grouping = shingles, weighing, grouping
        self.starts = np.concatenate(([0], np.cumsum([len(texts) for texts in self.chunks], dtype=np.int64)))
        self.ready = {at: chunk for at, chunk in enumerate(chunks) if chunk.sets is not None}

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[np.ndarray]:
        """Yield ascending rows, split where some chunks end."""
        return self._split(rows, 1 + len(self.chunks) // TASKS)

    def make(self, rows: np.ndarray) -> Sets:
        """Make the sets of one task's rows."""
        return Sets.concatenate(map(self._make_within, self._split(rows, 1)))

    def _split(self, rows: np.ndarray, step: int) -> Iterator[np.ndarray]:
        """Yield ascending rows, split after every `step` chunks."""
        return (part for part in np.split(rows, np.searchsorted(rows, self.starts[step::step])) if len(part))

    def _make_within(self, rows: np.ndarray) -> Sets:
        """Make the sets of rows that are in one chunk."""
        at, inside = self._place(rows)
        ready = self.ready.pop(at, None)
        if ready is not None and ready.sets is not None and ready.new[inside].all():
            return ready.sets.take(np.cumsum(ready.new)[inside] - 1)
        indptr, elements = self.weighing.kept(self.shingles.hashes(self.chunks[at], inside))
        if self.grouping is not None:
            self.grouping.scramble(rows, indptr, elements)
        return Sets.sorted(indptr, elements, self.shingles.bag)

    def _place(self, rows: np.ndarray) -> tuple[int, np.ndarray]:
        """Return the chunk that holds some rows, and their positions in it."""
        at = int(np.searchsorted(self.starts, rows[0], side="right")) - 1
        return at, rows - self.starts[at]

    def look(self, rows: np.ndarray) -> list[str]:
        """Return the texts at ascending positions, as strings."""
        parts = (self._place(part) for part in self._split(rows, 1))
        return [text for at, inside in parts for text in self.chunks[at].take(pa.array(inside)).to_pylist()]

    def elements(self, item: str) -> "set[str] | Counter[str]":
        """Return the shingles of a prepared text."""
        return self.shingles.of_prepared(item)

    def hashed(self, item: str) -> tuple[list[str], np.ndarray]:
        return _hashed_shingles(self.shingles, item)


class SourceSets(Maker):
    """A maker of the shingle sets of texts that are not in memory but read again, in order.

    `sizes` are the numbers of texts of the sources.
    """

    def __init__(
        self,
        sources: list[Source],
        sizes: list[int],
        shingles: Shingles,
        weighing: Weighing,
        grouping: Grouping | None = None,
    ):
        self.sources, self.sizes = sources, sizes
        self.shingles, self.weighing, self.grouping = shingles, weighing, grouping

    def of(self, source: Source, size: int) -> "SourceSets":
        """Return a maker of the same sets of the texts of another source, of which there are `size`."""
        return SourceSets([source], [size], self.shingles, self.weighing, self.grouping)

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[TextRows]:
        before = 0
        for source, size in zip(self.sources, self.sizes, strict=True):
            here = rows[np.searchsorted(rows, before) : np.searchsorted(rows, before + size)]
            yield from self._tasks_in(source, before, here, run)
            before += size

    def _tasks_in(self, source: Source, first: int, rows: np.ndarray, run: Run) -> Iterator[TextRows]:
        """Yield tasks for rows of one source, whose first text is the row `first`."""
        for table in source.batches(run) if len(rows) else ():
            here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + len(table))]
            for part in slices(len(here), AGAIN):
                yield TextRows(here[part], table["text"], here[part] - first)
            first += len(table)
            if first > rows[-1]:
                return

    def make(self, task: TextRows) -> Sets:
        indptr, elements = self.weighing.kept(self.shingles.hashes(self.shingles.prepare(task.texts())))
        if self.grouping is not None:
            self.grouping.scramble(task.rows, indptr, elements)
        return Sets.sorted(indptr, elements, self.shingles.bag)

    def rows(self, task: TextRows) -> np.ndarray:
        return task.rows

    def look(self, rows: np.ndarray) -> list[str]:
        return [text for task in self.tasks(rows) for text in task.texts().to_pylist()]

    def elements(self, item: str) -> "set[str] | Counter[str]":
        return self.shingles.of(item)

    def hashed(self, item: str) -> tuple[list[str], np.ndarray]:
        return _hashed_shingles(self.shingles, item)


class ReadySets(Maker):
    """A maker for items that were given as sets."""

    def __init__(self, sets: Sets, parts: list[Sets]):
        self.sets = sets  # of all collections
        self.parts = parts  # the one or two collections
        self.starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]

    def tasks(self, rows: np.ndarray, run: Run = ONE_THREAD) -> Iterator[np.ndarray]:
        """Yield slices of the rows."""
        return (rows[part] for part in slices(len(rows), SLICE))

    def make(self, rows: np.ndarray) -> Sets:
        """Return the sets of one task's rows."""
        return self.sets.take(rows)

    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the elements as they were given, or their hashes if only those are known."""
        cuts = np.searchsorted(rows, self.starts)
        return [
            item
            for part, rows_of, start in zip(self.parts, np.split(rows, cuts[1:]), self.starts, strict=True)
            for item in (part.named or part.hashes)(rows_of - start)
        ]

    def elements(self, item: Iterable[Any]) -> Iterable[Any]:
        return item

    def hashed(self, item: Iterable[Any]) -> tuple[list[Any], np.ndarray]:
        elements = list(item)
        if self.parts[0].named is None:  # they are hashes
            return elements, np.array(elements, np.uint64)
        return elements, hash_values(elements)


def _hashed_shingles(shingles: Shingles, text: str) -> tuple[list[str], np.ndarray]:
    """Return the shingles of a text, in order, with their hashes."""
    _, hashes = shingles.hashes(shingles.prepare(as_array([text])))
    return shingles.in_order(text), hashes
