"""Compare all pairs of rows on a device, block by block, with rows that may not all fit on it.

Blocks of rows are compared in batches. A batch with more candidates than the device has room for is
cut in half and compared again, so no candidate is lost. Of more rows than fit, parts are compared
with each other; while two are compared, the next is loaded.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.devices.base import Device, Loaded, Rows, Side
from lookalike.search.heads import Heads, make_heads, taken
from lookalike.search.spaces import BitSpace, Space, VectorSpace

BATCH = 1 << 16  # pairs of blocks compared at a time
PIECE = 1 << 16  # candidates that a thread verifies at a time
ROW = 64  # bytes of a row on a device besides its head and values
PARTS = 3  # parts of rows on the device at a time: two that are compared, and the next
KEPT = 4  # collections of rows that stay on the device

Given = TypeVar("Given")
Made = TypeVar("Made")


class Compared(NamedTuple):
    """Candidates, as numbers of pairs, and the share of all pairs that was compared to find them."""

    share: float
    numbers: np.ndarray


class Joiner:
    """Finds the candidates among rows of a space on a device."""

    def __init__(self, device: Device, space: Space, run: Run):
        self.device, self.space, self.run = device, space, run
        self.heads: dict[int, Heads] = {}  # by the number of rows on the right
        self._held: dict[tuple[Any, ...], Loaded] = {}  # by rows and frame, the last used last

    def near(self, left: np.ndarray, right: np.ndarray, bounds: np.ndarray, same: bool) -> Iterator[Compared]:
        """Yield the candidates of rows on the left and rows on the right, ascending rows both.

        `bounds` has the bound of each row on the left. If both are the `same` rows, each pair is
        found once.
        """
        if not len(left) or not len(right):
            return
        heads = self._heads_for(left, right, bounds)
        step = self.fitting(heads)
        parts, others = slices(len(left), step), slices(len(right), step)
        pairs = [(a, b) for a in parts for b in others if not same or b.start >= a.start]
        if len(pairs) == 1:
            sides = iter([self._sides(heads, left, right, bounds, same, keep=True)])
        else:
            self._held.clear()
            sides = ahead(
                lambda two: self._sides(heads, left[two[0]], right[two[1]], bounds[two[0]], same and two[0] == two[1]),
                pairs,
            )
        for (a, b), (ours, theirs) in zip(pairs, sides, strict=True):
            share = (a.stop - a.start) * (b.stop - b.start) / (len(left) * len(right))
            one, other = left[a], right[b]
            for part, found in self._batches(heads, ours, theirs, same and a == b):
                rows, columns = one[found[:, 0]], other[found[:, 1]]
                low, high = np.minimum(rows, columns), np.maximum(rows, columns)
                yield Compared(part * share * (1 + (same and a != b)), low * len(self.space) + high)

    def _heads_for(self, left: np.ndarray, right: np.ndarray, bounds: np.ndarray) -> Heads:
        """Return the heads chosen when as many rows were compared first: any are valid."""
        if len(right) not in self.heads:
            heads = make_heads(self.space, left, right, bounds)
            share = f", which {heads.passing:.2g} of the pairs of a sample pass" if heads.passing else ""
            self.run.say(f"      heads of {heads.kept:,} of {heads.frame.dimensions:,} components{share}")
            self.heads[len(right)] = heads
        return self.heads[len(right)]

    def fitting(self, heads: Heads) -> int:
        """Return how many rows of a side fit on the device at a time, a multiple of its blocks."""
        values = self._values()
        size = heads.frame.width + ROW + (0 if heads.frame.basis is None else values.itemsize * values.shape[1])
        every = self.device.memory // (2 * size)
        total = len(self.space)
        fitting = every if every >= total else self.device.memory // (PARTS * size)
        return max(1, fitting // self.device.block) * self.device.block

    def _values(self) -> np.ndarray:
        if isinstance(self.space, BitSpace):
            return self.space.words
        assert isinstance(self.space, VectorSpace)
        return self.space.values

    def _sides(
        self, heads: Heads, left: np.ndarray, right: np.ndarray, bounds: np.ndarray, same: bool, keep: bool = False
    ) -> tuple[Side, Side]:
        """Load rows of both sides, or find them loaded; the same rows are loaded once."""
        load = self._kept if keep else self._load
        one = load(heads, left)
        other = one if same else load(heads, right)
        return self._side(heads, one, left, bounds), self._side(heads, other, right)

    def _side(self, heads: Heads, loaded: Loaded, rows: np.ndarray, bounds: np.ndarray | None = None) -> Side:
        least = taken(self.space, rows, bounds)
        limits = None if heads.frame.basis is None else least
        return self.device.side(loaded, heads.allowances(loaded.squares, least), limits)

    def _kept(self, heads: Heads, rows: np.ndarray) -> Loaded:
        """Return rows that may be loaded already: the nearest of many rows are searched in the same ones."""
        key = (id(heads.frame), len(rows), rows.tobytes() if len(rows) < len(self.space) else b"")
        loaded = self._held.pop(key, None) or self._load(heads, rows)
        self._held[key] = loaded
        if len(self._held) > KEPT:
            del self._held[next(iter(self._held))]
        return loaded

    def _load(self, heads: Heads, rows: np.ndarray) -> Loaded:
        values = self._values()

        def fill(out: np.ndarray, part: slice) -> None:
            some = rows[part]
            if some[-1] - some[0] == len(some) - 1:
                out[:] = values[some[0] : some[-1] + 1]
            else:
                np.take(values, some, axis=0, out=out, mode="clip")

        scales = self.space.scales[rows] if isinstance(self.space, VectorSpace) else None
        return self.device.load(Rows(len(rows), values.shape[1], values.dtype, fill, scales), heads.frame, self.run)

    def _batches(self, heads: Heads, left: Side, right: Side, same: bool) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the candidates of batches of pairs of blocks, each with its share of all pairs."""
        one, other = (self.device.blocks(side.loaded.number) for side in (left, right))
        total = one * (one + 1) // 2 if same else one * other
        size = BATCH
        for tasks in batches(one, other, same):
            at = 0
            while at < len(tasks):
                some = tasks[at : at + size]
                found = self.device.candidates(left, right, heads.frame, some, same)
                if found is None:
                    size = max(1, len(some) // 2)
                    continue
                at, size = at + len(some), min(BATCH, 2 * size)
                yield len(some) / total, found

    def close(self) -> None:
        """Free what the device holds."""
        self._held.clear()
        self.device.close()


def batches(one: int, other: int, same: bool) -> Iterator[np.ndarray]:
    """Yield all pairs of blocks (n x 2), about BATCH at a time; of one collection, each pair once."""
    waiting, number = [], 0
    for row in range(one):
        columns = np.arange(row if same else 0, other, dtype=np.int32)
        waiting.append(np.stack((np.full_like(columns, row), columns), axis=1))
        number += len(columns)
        if number >= BATCH or row == one - 1:
            yield np.concatenate(waiting)
            waiting, number = [], 0


def ahead(function: Callable[[Given], Made], tasks: list[Given]) -> Iterator[Made]:
    """Yield the results in order; while the caller uses one, a thread makes the next."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(function, tasks[0])
        for task in tasks[1:]:
            done = waiting.result()
            waiting = pool.submit(function, task)
            yield done
        yield waiting.result()


def pieces(numbers: np.ndarray) -> list[np.ndarray]:
    """Cut candidates into tasks for threads."""
    return [numbers[part] for part in slices(len(numbers), PIECE)]
