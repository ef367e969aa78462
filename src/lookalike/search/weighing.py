"""Learn from a collection which elements are common, and what each one weighs.

An element that many items have says little about which of them are alike: the words of a form
letter are in every letter. Common elements can be dropped, or weigh less than rare ones: by idf, an
element weighs log(1 + N / n) if n of N items have it. How many have it is counted exactly, in two
passes: see `kernels.frequencies`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, parameter
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.core.storage import Arrays, Storage
from lookalike.core.wording import counted, percent
from lookalike.items.sets import Sets
from lookalike.items.shingles import Rows, Shingles
from lookalike.kernels.frequencies import add_part, drop_counted, idf, idf_weights, reaching
from lookalike.kernels.joins import index_elements
from lookalike.kernels.sets import sort_rows
from lookalike.search.joins import Counters

HIGH = 5  # elements are counted in 2**HIGH parts, which threads share
FRESH = 1 << 21  # elements that are collected before they are counted
SLICE = 1 << 18  # elements per task
ENTRY = 64  # bytes of memory per counted element, at most, while they are counted and when they are looked up
FEW = 10  # items: if fewer make an element common, groups of copies are soon as large


class Wanted(NamedTuple):
    """What to learn: which elements are in more than this share of items, and what each weighs."""

    share: Fraction | None = None
    idf: bool = False


NOTHING = Wanted()


@dataclass(frozen=True, eq=False)
class Weighing:
    """What the items of a collection say about their elements; by default nothing.

    `elements`, ascending, are in `counts` items each. Others are in one item, if weights are wanted;
    else in too few to be common.
    """

    wanted: Wanted = NOTHING
    items: int = 0  # that have elements
    elements: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def limit(self) -> int:
        """In how many items an element can be without being common."""
        return self.items if self.wanted.share is None else int(self.wanted.share * self.items)

    @property
    def common(self) -> int:
        """How many elements are common."""
        return int(np.count_nonzero(self.counts > self.limit))

    @property
    def heaviest(self) -> float:
        """The weight of an element that only one item has."""
        return float(idf(self.items, 1))

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.uint64, np.ndarray, np.ndarray]:
        """The table in which kernels look up counts."""
        shift = np.uint64(64 - max(1, (2 * len(self.elements)).bit_length()))
        return index_elements(self.elements, shift), shift, self.elements, self.counts

    def kept(self, rows: Rows) -> Rows:
        """Return rows of hashes without common ones; a row of common ones alone keeps them all."""
        if self.wanted.share is None:
            return rows
        kept: Rows = drop_counted(*rows, *self._table, self.limit)
        return kept

    def sets(self, shingles: Shingles, prepared: pa.LargeStringArray, rows: np.ndarray | None = None) -> Sets:
        """Return the sets of prepared texts, or of some of them, without common shingles."""
        return Sets.sorted(*self.kept(shingles.hashes(prepared, rows)), shingles.bag)

    def weights(self, elements: np.ndarray) -> np.ndarray | None:
        """Return the weights of elements; None if they have none."""
        if not self.wanted.idf:
            return None
        out = np.empty(len(elements), np.float64)
        idf_weights(elements, *self._table, self.items, out)
        return out

    def weighed(self, sets: Sets, out: np.ndarray | None = None, run: Run = ONE_THREAD) -> Sets:
        """Return sets with the weights of their elements, if these have any; `out` is room for them."""
        if not self.wanted.idf:
            return sets
        weights = np.empty(len(sets.elements), np.float64) if out is None else out
        run.each(
            lambda part: idf_weights(sets.elements[part], *self._table, self.items, weights[part]),
            slices(len(weights), SLICE),
        )
        return replace(sets, weights=weights)

    def lines(self, item: str, kind: str) -> list[str]:
        """Return what was dropped, as lines of text; `kind` is the word for elements."""
        if self.wanted.share is None:
            return []
        of = f"{percent(self.wanted.share)} of the {counted(self.items, item)} with {kind}s"
        lines = [f"dropped: {counted(self.common, kind)} in more than {of}"]
        if self.items and self.limit < FEW:
            lines.append(
                f"note: that is more than {self.limit:,}: copies in larger groups have no {kind} left in common; "
                f"raise {parameter('drop_common')}"
            )
        return lines


PLAIN = Weighing()


def learn(
    wanted: Wanted,
    tasks: Callable[[], Iterable[Any]],
    hashes: Callable[[Any], Rows],
    expected: float,
    run: Run,
    storage: Storage,
) -> Weighing:
    """Count in how many items each element is, as far as that is wanted.

    `tasks` is called twice, `hashes` returns the rows of one task, with repeats, and `expected` is
    about how many elements there are in all.
    """
    if wanted == NOTHING:
        return PLAIN

    def count() -> Arrays:
        counters = Counters(expected)

        def add(task: Any) -> int:
            indptr, elements = sort_rows(*hashes(task), False)
            counters.add(elements)
            return int(np.count_nonzero(np.diff(indptr)))

        def reach(task: Any) -> np.ndarray:
            _, elements = sort_rows(*hashes(task), False)
            found: np.ndarray = reaching(elements, counters.counts, counters.shift, least)
            return found

        with run.stage("count"):
            items = sum(run.map(add, tasks()))
            least = Weighing(wanted, items).limit + 1
            least = min(least, 2) if wanted.idf else least
            elements, counts = count_each(run.map(reach, tasks()), run, storage.memory)
            many = counts >= least
            return elements[many], counts[many], np.array([items])

    elements, counts, items = storage.made("frequencies", count)
    return Weighing(wanted, int(items[0]), elements, counts)


def count_each(parts: Iterable[np.ndarray], run: Run, memory: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct elements of all parts, ascending, and how often each occurs."""
    known = [(np.empty(0, np.uint64), np.empty(0, np.int64)) for _ in range(1 << HIGH)]
    waiting: list[np.ndarray] = []

    def add() -> None:
        fresh = np.concatenate([np.empty(0, np.uint64), *waiting])
        waiting.clear()
        known[:] = run.map(lambda part: add_part(fresh, HIGH, part, *known[part]), range(1 << HIGH))

    for part in parts:
        waiting.append(part)
        held = sum(len(elements) for elements, _ in known)
        if sum(map(len, waiting)) > max(FRESH, held // 2):
            add()
        if memory is not None and ENTRY * held > memory:
            raise DataError(
                f"{parameter('memory')} must hold the counts of shared shingles; {held:,} of them need "
                f"{ENTRY * held / 1e9:.1f} GB. Raise it, or leave out {parameter('weights')}."
            )
    add()
    elements, counts = (np.concatenate(column) for column in zip(*known, strict=True))
    return elements, counts
