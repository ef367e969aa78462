"""Compare all pairs of rows on a device, block by block, with rows that may not all fit on it.

Blocks of rows are compared in batches. A batch with more candidates than the device has room for is
cut in half and compared again, so no candidate is lost. If the values of all rows do not fit, the
device holds heads only, which are far smaller; what it finds is then verified without its help. If
the heads do not fit either, parts are compared with each other: in an order in which one of two
stays, and while two are compared, the next is loaded.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.devices.base import Device, Loaded, Rows, Side
from lookalike.search.heads import CANDIDATE, Heads, make_heads, taken
from lookalike.search.ordering import Boxes, boxes_of, close, ordered
from lookalike.search.spaces import BitSpace, Space, VectorSpace

BATCH = 1 << 16  # pairs of blocks compared at a time
PIECE = 1 << 16  # candidates that a thread verifies at a time
CONVERTED = 1 << 22  # candidates that are made numbers of pairs at a time
ROW = 64  # bytes of a row on a device besides its head and values
ORDERED = 64  # more bytes while heads are put into another order, besides their copies
PARTS = 3  # parts of rows on the device at a time: two that are compared, and the next
CHECKED = 5e5  # picoseconds of one core, to verify a candidate

Given = TypeVar("Given")
Made = TypeVar("Made")
Kept = Callable[[int, np.ndarray], np.ndarray]  # of a block and others, those of the others to compare with it


class Compared(NamedTuple):
    """Candidates, as numbers of pairs, and the share of all pairs that was compared to find them."""

    share: float
    numbers: np.ndarray


class Fit(NamedTuple):
    """How rows fit on a device: with their values or only their heads, all at a time or so many of each side."""

    heads: Heads
    keep: bool
    step: int | None = None


class Held(NamedTuple):
    """Rows that are on the device, the bytes that they take there, and the order of their heads, if not their own."""

    loaded: Loaded
    size: int
    order: np.ndarray | None
    slack: np.ndarray


Blocked = tuple[Side, Boxes | None]  # rows to compare, with what shows which of their blocks need not be


class Joiner:
    """Finds the candidates among rows of a space on a device."""

    def __init__(self, device: Device, space: Space, run: Run):
        self.device, self.space, self.run = device, space, run
        self.heads: dict[tuple[int, bool], Heads] = {}  # by the number of rows on the right, and whether values fit
        self._held: dict[tuple[Any, ...], Held] = {}  # by rows and heads, the last used last
        self._said: set[str] = set()
        self.blocks = self.skipped = 0  # pairs of blocks, and those that hold no near pair

    def near(self, left: np.ndarray, right: np.ndarray, bounds: np.ndarray, same: bool) -> Iterator[Compared]:
        """Yield the candidates of rows on the left and rows on the right, ascending rows both.

        `bounds` has the bound of each row on the left. If both are the `same` rows, each pair is
        found once.
        """
        if not len(left) or not len(right):
            return
        fit = self.fitting(left, right, bounds, same)
        parts, others = (slices(len(rows), fit.step or len(rows)) for rows in (left, right))
        pairs = in_turn(len(parts), len(others), same)

        def sides(at: int) -> tuple[Blocked, Blocked]:
            """Load a pair of parts, while the one before it is compared."""
            (a, b), needed = pairs[at], pairs[max(0, at - 1) : at + 1]
            if fit.step:
                keys = {self._key(fit, some) for i, j in needed for some in (left[parts[i]], right[others[j]])}
                self._held = {key: held for key, held in self._held.items() if key in keys}
            one, other = left[parts[a]], right[others[b]]
            theirs = self._get(fit, other)  # first, so that it stays longer: the next call can need it again
            ours = self._get(fit, one)
            return self._side(fit.heads, ours, one, bounds[parts[a]]), self._side(fit.heads, theirs, other)

        every = ahead(sides, range(len(pairs)))
        for a, b in pairs:
            one, other = left[parts[a]], right[others[b]]
            share = len(one) * len(other) / (len(left) * len(right)) * (1 + (same and a != b))
            ours, theirs = next(every)
            for part, found in self._batches(fit.heads, ours, theirs, same and a == b):
                some = slices(max(1, len(found)), CONVERTED)
                for where in some:
                    rows, columns = one[found[where, 0]], other[found[where, 1]]
                    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
                    yield Compared(part * share / len(some), low * len(self.space) + high)
            del ours, theirs  # so that the device can free them before the next are loaded

    def fitting(self, left: np.ndarray, right: np.ndarray, bounds: np.ndarray, same: bool) -> Fit:
        """Return the heads of rows, and how many rows fit on the device: with their values, if all of these fit."""
        number = self._whole(len(left)) + (0 if same else self._whole(len(right)))
        heads = self._heads_for(left, right, bounds, True)
        if number * self._size(heads, True) <= self.device.memory or heads.frame.basis is None:
            keep = True
        else:
            heads, keep = self._heads_for(left, right, bounds, False), False
        size, step = self._size(heads, keep), None
        if number * size > self.device.memory:
            step = max(1, self.device.memory // (PARTS * size * self.device.block)) * self.device.block
        fit = Fit(heads, keep, step)
        self._describe(fit)
        return fit

    def _describe(self, fit: Fit) -> None:
        """Say which heads are compared, and what does not fit on the device, unless it was said before."""
        heads = fit.heads
        share = f", which {heads.passing:.2g} of the pairs of a sample pass" if heads.passing else ""
        held = "" if fit.keep else "; the rows do not fit on the device, which holds their heads"
        held += "" if fit.step is None else f", {fit.step:,} at a time"
        line = f"      heads of {heads.kept:,} of {heads.frame.dimensions:,} components{share}{held}"
        if line not in self._said:
            self._said.add(line)
            self.run.say(line)

    def _heads_for(self, left: np.ndarray, right: np.ndarray, bounds: np.ndarray, keep: bool) -> Heads:
        """Return the heads chosen when as many rows were compared first: any are valid."""
        key = len(right), keep
        if key not in self.heads:
            candidate = CANDIDATE if keep else CHECKED / self.run.threads
            device = self.device
            self.heads[key] = make_heads(self.space, left, right, bounds, candidate, device.block, device.ordering)
        return self.heads[key]

    def _whole(self, rows: int) -> int:
        """Return how many rows whole blocks have room for."""
        return self.device.blocks(rows) * self.device.block

    def _size(self, heads: Heads, keep: bool) -> int:
        """Return the bytes that a row takes on the device."""
        values = self._values()
        held = values.itemsize * values.shape[1] if keep and heads.frame.basis is not None else 0
        arranged = heads.frame.width + ORDERED if heads.frame.axes is not None else 0
        return heads.frame.width + ROW + held + arranged

    def _values(self) -> np.ndarray:
        if isinstance(self.space, BitSpace):
            return self.space.words
        assert isinstance(self.space, VectorSpace)
        return self.space.values

    def _side(self, heads: Heads, held: Held, rows: np.ndarray, bounds: np.ndarray | None = None) -> Blocked:
        loaded, order = held.loaded, held.order
        least = taken(self.space, rows, bounds)
        limits = None if loaded.values is None else least
        allowances = heads.allowed(held.slack, least)
        if order is None or loaded.places is None:
            return self.device.side(loaded, allowances, limits), None
        given = loaded.places[order], loaded.squares[0][order], -2 * least[order]
        boxes = boxes_of(*given, self.device.block, heads.frame.dimensions)
        return self.device.side(loaded, allowances[order], limits), boxes

    def _key(self, fit: Fit, rows: np.ndarray) -> tuple[Any, ...]:
        """Return what identifies rows, which ascend, with these heads."""
        ends = int(rows[0]), int(rows[-1])
        gaps = ends[1] - ends[0] >= len(rows)
        content = hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).digest() if gaps else b""
        return id(fit.heads.frame), fit.keep, *ends, content

    def _get(self, fit: Fit, rows: np.ndarray) -> Held:
        """Return rows that may be on the device already: the nearest of many rows are searched in the same ones.

        To load more, those used longest ago are removed if need be.
        """
        key = self._key(fit, rows)
        held = self._held.pop(key, None)
        if held is None:
            size = self._whole(len(rows)) * self._size(fit.heads, fit.keep)
            while not fit.step and sum(one.size for one in self._held.values()) > max(0, self.device.memory - size):
                del self._held[next(iter(self._held))]
            loaded, order = self._load(fit, rows), None
            if loaded.places is not None:
                order = ordered(loaded.places, self.device.block, fit.heads.cut)
                loaded = self.device.arranged(loaded, order)
            held = Held(loaded, size, order, fit.heads.slack(loaded.squares))
        self._held[key] = held
        return held

    def _load(self, fit: Fit, rows: np.ndarray) -> Loaded:
        values = self._values()

        def fill(out: np.ndarray, part: slice) -> None:
            some = rows[part]
            if some[-1] - some[0] == len(some) - 1:
                out[:] = values[some[0] : some[-1] + 1]
            else:
                np.take(values, some, axis=0, out=out, mode="clip")

        scales = self.space.scales[rows] if isinstance(self.space, VectorSpace) else None
        tensor = self.space.vectors.tensor if isinstance(self.space, VectorSpace) else None
        positions = rows if len(rows) < len(values) else None
        given = Rows(len(rows), values.shape[1], values.dtype, fill, scales, fit.keep, tensor, positions)
        return self.device.load(given, fit.heads.frame, self.run)

    def _batches(self, heads: Heads, ours: Blocked, theirs: Blocked, same: bool) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the candidates of batches of pairs of blocks, each with its share of all pairs."""
        (left, own), (right, others) = ours, theirs
        one, other = (self.device.blocks(side.loaded.number) for side in (left, right))
        total = one * (one + 1) // 2 if same else one * other
        size, done = BATCH, 0

        def kept(row: int, columns: np.ndarray) -> np.ndarray:
            some = columns if own is None or others is None else close(own, row, others, columns)
            self.blocks, self.skipped = self.blocks + len(columns), self.skipped + len(columns) - len(some)
            return some

        for tasks in batches(one, other, same, kept):
            at, done = 0, done + len(tasks)
            while at < len(tasks):
                some = tasks[at : at + size]
                found = self.device.candidates(left, right, heads.frame, some, same)
                if found is None:
                    size = max(1, len(some) // 2)
                    continue
                at, size = at + len(some), min(BATCH, 2 * size)
                yield len(some) / total, found
        if done < total:
            yield 1 - done / total, np.empty((0, 2), np.int64)

    @property
    def share_skipped(self) -> float:
        """The share of all pairs of blocks that were not compared, since they hold no near pair."""
        return self.skipped / max(1, self.blocks)

    def close(self) -> None:
        """Free what the device holds."""
        self._held.clear()
        self.device.close()


def batches(one: int, other: int, same: bool, kept: Kept = lambda row, columns: columns) -> Iterator[np.ndarray]:
    """Yield the pairs of blocks (n x 2) that are kept, about BATCH at a time; of one collection, each pair once."""
    waiting, number = [], 0
    for row in range(one):
        columns = kept(row, np.arange(row if same else 0, other, dtype=np.int32))
        waiting.append(np.stack((np.full_like(columns, row), columns), axis=1))
        number += len(columns)
        if number >= BATCH or row == one - 1:
            yield np.concatenate(waiting)
            waiting, number = [], 0


def in_turn(one: int, other: int, same: bool) -> list[tuple[int, int]]:
    """Return all pairs of parts, so that each shares a part with the next; of one collection, each pair once."""
    pairs = []
    for row in range(one):
        columns = range(row if same else 0, other)
        pairs += [(row, column) for column in (reversed(columns) if row % 2 else columns)]
    return pairs


def ahead(function: Callable[[Given], Made], tasks: Sequence[Given]) -> Iterator[Made]:
    """Yield the results in order; while the caller uses one, a thread makes the next.

    A result that the caller has let go of is held by nobody when the next one but one is made.
    """
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(function, tasks[0])
        for task in tasks[1:]:
            done = [waiting.result()]
            waiting = pool.submit(function, task)
            yield done.pop()
        yield waiting.result()


def pieces(numbers: np.ndarray) -> list[np.ndarray]:
    """Cut candidates into tasks for threads."""
    return [numbers[part] for part in slices(len(numbers), PIECE)]
