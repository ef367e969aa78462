"""Keep which items belong to which hashes: sorted entries in blocks, recent changes beside them.

A table of postings holds an entry for each pair of a hash and the number of an item. Of a hash, 40
bits are kept, so whoever looks one up compares the item itself. The first byte says in which slice
an entry is; within a slice it is one 64-bit number.

New entries go to a table of recent changes, and so do removals. When there are many, slice after
slice is folded: its blocks and its recent changes are merged, and written anew after all other
blocks of the table. Pages of blocks are therefore always full, and those of the old blocks are
freed.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.run import Run
from lookalike.index.records import damaged
from lookalike.index.runs import Runs
from lookalike.kernels.blocks import HALF, SLICES, SPARE, find_in_blocks, pack_blocks, unpack_blocks

BLOCK = 996  # bytes: four blocks, with their keys, fill a page of 4096
ADDED, REMOVED = b"", b"-"  # the value of a recent change
LEAST_EQUAL = 200  # entries that a block holds at least if all have the same key
FOLDS = b"folds "  # before the name of a table: how many slices were folded so far
RECENT = "recent "  # before the name of a table: that of its recent changes
MOST_RECENT = 2_000  # recent changes of a small table
SHARE = 64  # of a larger table, one entry in this many can be a recent change
KEY = 13  # bytes of the key of a block
ENTRY = 5  # bytes of an entry in a block, approximately
TOGETHER = 4_000  # hashes that are looked up one by one, but with one call of the kernel
MANY = 1 << 32  # more items than an index can number
LOW = np.uint64(0xFFFFFFFF)


class SliceParts(NamedTuple):
    """All that a slice consists of before it is folded."""

    blocks: np.ndarray  # one after another
    bounds: np.ndarray
    changes: np.ndarray  # recent entries
    gone: np.ndarray  # which of them were removed
    new: list[np.ndarray]


class Postings:
    """The entries of one table in a transaction."""

    def __init__(self, txn: Any, tables: dict[str, Any], name: str) -> None:
        self.txn, self.name = txn, name
        self.blocks, self.recent = tables[name], tables[RECENT + name]
        self.runs: Runs | None = None  # entries that are not yet in the table
        self.folds = int.from_bytes(txn.get(self._counter, b"\0")[:8], "big")

    @property
    def _counter(self) -> bytes:
        return FOLDS + self.name.encode()

    # --- reading ---

    def find(self, hashes: Sequence[int], most: int = MANY) -> list[list[int]]:
        """Return for each hash the numbers of its items, ascending; a long list may end after `most`."""
        changes = self._changes(hashes) if self.recent_size else {}
        found = self._in_blocks(hashes, most + max(map(len, changes.values()), default=0))
        if self.runs is not None:
            for at, one in enumerate(hashes):
                found[at] += self.runs.find(one >> 56, one >> 24 & 0xFFFFFFFF)
        for at, some in changes.items():
            found[at] = sorted({*found[at], *some} - {number for number, value in some.items() if value == REMOVED})
        return found

    def _changes(self, hashes: Sequence[int]) -> dict[int, dict[int, bytes]]:
        """Return the recent changes of those hashes that have any: numbers with what was done."""
        cursor = self.txn.cursor(db=self.recent)
        found: dict[int, dict[int, bytes]] = {}
        for at, one in enumerate(hashes):
            prefix = (one >> 24).to_bytes(5, "big")
            if cursor.set_range(prefix) and cursor.key()[:5] == prefix:
                found[at] = {int.from_bytes(key[5:], "big"): bytes(value) for key, value in under(cursor, prefix)}
        return found

    def _in_blocks(self, hashes: Sequence[int], most: int) -> list[list[int]]:
        """Find entries in the blocks that can hold them, all with one call of the kernel."""
        cursor = self.txn.cursor(db=self.blocks)
        found: list[list[int]] = [[] for _ in hashes]
        owners: list[int] = []
        blocks: list[Any] = []
        enough = most // LEAST_EQUAL + 2
        for at, one in enumerate(hashes):
            wanted = self._least(one)
            there = cursor.set_range(wanted.to_bytes(KEY, "big"))
            for _ in range(enough if there else 0):
                place, block = cursor.item()
                if len(place) != KEY:
                    raise damaged(f"the table of {self.name}", "a key")
                last = int.from_bytes(place, "big")
                if last >> 2 * HALF != wanted >> 2 * HALF:  # a block of another slice
                    break
                owners.append(at)
                blocks.append(block)
                if last >> HALF != wanted >> HALF or not cursor.next():
                    break  # else the next block can hold some, too
        if not blocks:
            return found
        keys = np.array([hashes[at] >> 24 & 0xFFFFFFFF for at in owners], np.uint64)
        numbers, ends = find_in_blocks(*joined(blocks), keys)
        if ends[-1] < 0:
            raise damaged(f"the table of {self.name}", "a block")
        if len(numbers):
            every, start = numbers.tolist(), 0
            for at, end in zip(owners, ends.tolist(), strict=True):
                found[at] += every[start:end]
                start = end
        return found

    def meetings(self, hashes: np.ndarray, most: int = MANY) -> tuple[np.ndarray, np.ndarray]:
        """Return (places, numbers): each item of each of many hashes, with the place of the hash.

        Of a hash that many items have, the first `most` are enough.
        """
        order = np.argsort(hashes, kind="stable")
        bounds = np.searchsorted(hashes[order] >> np.uint64(56), np.arange(SLICES + 1, dtype=np.uint64))
        sizes = np.diff(bounds)
        whole = self.txn.stat(db=self.blocks)["entries"] // SLICES  # then to unpack all of a slice is faster
        columns: tuple[list[np.ndarray], ...] = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        single = order[np.repeat(sizes <= whole, sizes)]
        tasks = [(-1, single[start : start + TOGETHER]) for start in range(0, len(single), TOGETHER)]
        tasks += [(part, order[bounds[part] : bounds[part + 1]]) for part in np.flatnonzero(sizes > whole).tolist()]
        for part, some in tasks:
            places, numbers = (self._one_by_one(hashes[some], most) if part < 0
                               else self._in_slice(part, hashes[some], most))  # fmt: skip
            columns[0].append(some[places])
            columns[1].append(numbers)
        return np.concatenate(columns[0]), np.concatenate(columns[1])

    def _one_by_one(self, hashes: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
        found = self.find(hashes.tolist(), most)
        counts = [len(numbers) for numbers in found]
        return np.repeat(np.arange(len(found)), counts), np.array([one for some in found for one in some], np.int64)

    def _in_slice(self, part: int, hashes: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
        entries = merged(self._parts(part))
        keys, wanted = entries >> np.uint64(HALF), hashes >> np.uint64(24) & LOW
        first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
        counts = np.minimum(last - first, most)
        ends = np.cumsum(counts)
        at = np.arange(ends[-1]) + np.repeat(first - ends + counts, counts)
        return np.repeat(np.arange(len(hashes)), counts), (entries[at] & LOW).astype(np.int64)

    def slices(self) -> Iterator[np.ndarray]:
        """Yield the entries of each slice, in order."""
        for part in range(SLICES):
            yield merged(self._parts(part))

    def byte_size(self) -> int:
        """Return how many bytes the table takes on disk."""
        return pages_of(self.txn, self.blocks) + pages_of(self.txn, self.recent)

    @cached_property
    def recent_size(self) -> int:
        """How many recent changes there are."""
        return int(self.txn.stat(db=self.recent)["entries"])

    def _least(self, one: int) -> int:
        """Return the least key of a block that can hold entries of a hash: generation, slice, last entry."""
        return (self.folds + SLICES - 1 - (one >> 56) >> 8 << 40 | one >> 24) << HALF

    def _prefix(self, part: int) -> bytes:
        return self._least(part << 56).to_bytes(KEY, "big")[:5]

    def _parts(self, part: int) -> SliceParts:
        blocks = [block for _, block in under(self.txn.cursor(db=self.blocks), self._prefix(part))]
        content, bounds = joined(blocks)
        changes = list(under(self.txn.cursor(db=self.recent), bytes([part])))
        entries = np.frombuffer(b"".join(entry[1:] for entry, _ in changes), ">u8").astype(np.uint64)
        gone = np.array([value == REMOVED for _, value in changes], np.bool_)
        return SliceParts(content, bounds, entries, gone, [] if self.runs is None else self.runs.slice(part))

    # --- writing ---

    def put(self, hashes: Iterable[int], number: int, value: bytes = ADDED) -> None:
        """Add the entries of an item, or remove them."""
        tail = number.to_bytes(4, "big")
        self._change([((one >> 24).to_bytes(5, "big") + tail, value) for one in hashes])

    def put_all(self, hashes: np.ndarray, numbers: np.ndarray) -> None:
        """Add an entry for each of some hashes, with the number of its item."""
        order = np.argsort(hashes)
        keys = np.empty((len(order), 9), np.uint8)
        keys[:, :5] = hashes[order].astype(">u8").view(np.uint8).reshape(-1, 8)[:, :5]
        keys[:, 5:] = numbers[order].astype(">u4").view(np.uint8).reshape(-1, 4)
        content = keys.tobytes()
        self._change([(content[at : at + 9], ADDED) for at in range(0, len(content), 9)])

    def put_runs(self, runs: Runs) -> None:
        """Add entries to the recent changes."""
        for part in range(SLICES):
            for entries in runs.slice(part):
                content, prefix = entries.astype(">u8").tobytes(), bytes([part])
                self._change([(prefix + content[at : at + 8], ADDED) for at in range(0, len(content), 8)])

    def _change(self, changes: list[tuple[bytes, bytes]]) -> None:
        self.txn.cursor(db=self.recent).putmulti(changes)
        self.__dict__.pop("recent_size", None)

    def tidy(self, most: int, run: Run) -> bool:
        """Fold as many slices as there are recent changes too many, up to `most`; return whether that was all."""
        allowed = max(MOST_RECENT, pages_of(self.txn, self.blocks) // ENTRY // SHARE)
        excess = self.recent_size - allowed
        if excess <= 0:
            return True
        wanted = -(-excess * SLICES // self.recent_size)
        self.fold(min(wanted, most), run)
        return wanted <= most

    def fold(self, parts: int, run: Run) -> None:
        """Fold some slices, those that were not folded for the longest time first."""
        tasks = (self._parts(part % SLICES) for part in range(self.folds, self.folds + parts))
        for made in run.map(lambda task: packed(merged(task)), tasks):
            part = self.folds % SLICES
            remove_under(self.txn.cursor(db=self.blocks), self._prefix(part))
            remove_under(self.txn.cursor(db=self.recent), bytes([part]))
            self.folds += 1
            self._append(part, made)
        self.txn.put(self._counter, self.folds.to_bytes(8, "big"))
        self.__dict__.pop("recent_size", None)

    def load(self, slices: Iterable[np.ndarray], run: Run) -> None:
        """Fill the table, which is empty, with the entries of all slices."""
        for part, made in enumerate(run.map(packed, slices)):
            self._append(part, made)

    def _append(self, part: int, blocks: list[tuple[bytes, Any]]) -> None:
        prefix = self._prefix(part)
        self.txn.cursor(db=self.blocks).putmulti(((prefix + last, block) for last, block in blocks), append=True)


def joined(blocks: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks as the kernels read them: one after another, and their bounds."""
    bounds = np.fromiter(accumulate(map(len, blocks), initial=0), np.int64, len(blocks) + 1)
    return np.frombuffer(b"".join([*blocks, bytes(SPARE)]), np.uint8), bounds


def merged(parts: SliceParts) -> np.ndarray:
    """Return the entries of a slice, sorted."""
    entries, intact = unpack_blocks(parts.blocks, parts.bounds)
    if not intact:
        raise damaged("a table", "a block")
    if not len(parts.changes) and not parts.new:
        return np.asarray(entries)
    whole: np.ndarray = np.concatenate([entries, parts.changes[~parts.gone], *parts.new])
    whole.sort(kind="stable")  # which merges what is sorted already
    whole = whole[np.append(True, whole[1:] != whole[:-1])[: len(whole)]]
    if parts.gone.any():
        whole = whole[~np.isin(whole, parts.changes[parts.gone], assume_unique=True)]
    return whole


def packed(entries: np.ndarray) -> list[tuple[bytes, Any]]:
    """Return sorted entries as blocks, each with its last entry."""
    content, bounds, lasts = pack_blocks(entries, BLOCK)
    keys = entries[lasts].astype(">u8").tobytes()
    every = memoryview(content)
    spans = enumerate(pairwise(bounds.tolist()))
    return [(keys[8 * at : 8 * at + 8], every[start:stop]) for at, (start, stop) in spans]


def under(cursor: Any, prefix: bytes) -> Iterator[tuple[bytes, Any]]:
    """Yield the keys that begin with a prefix, with their values."""
    if cursor.set_range(prefix):
        for key, value in cursor:
            found = bytes(key)
            if not found.startswith(prefix):
                return
            yield found, value


def remove_under(cursor: Any, prefix: bytes) -> None:
    """Remove the keys that begin with a prefix."""
    there = cursor.set_range(prefix)
    while there and bytes(cursor.key()).startswith(prefix):
        there = cursor.delete()


def pages_of(txn: Any, table: Any) -> int:
    """Return how many bytes a table takes on disk."""
    facts = txn.stat(db=table)
    return int(facts["psize"] * sum(facts[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages")))
