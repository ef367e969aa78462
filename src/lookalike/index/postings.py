"""Keep which items belong to which hashes: sorted entries in blocks, recent changes beside them.

A table of postings holds an entry for each pair of a hash and the number of an item. Of a hash, 40
bits are kept, so whoever looks one up compares the item itself. The first byte says in which slice
an entry is; within a slice it is one 64-bit number.

New entries go to the table `recent`, and so do removals. When there are many, slice after slice is
folded: its blocks and its recent entries are merged, and written anew after all other blocks of the
table. Pages of blocks are therefore always full, and those of the old blocks are freed.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.run import Run
from lookalike.index.records import damaged
from lookalike.index.runs import Runs
from lookalike.kernels.blocks import HALF, SLICES, find_in_blocks, pack_blocks, size_of_block, unpack_block

BLOCK = 1000  # bytes: four blocks and their keys fill a page
ADDED, REMOVED = b"", b"-"  # the value of a recent entry
MANY = 64  # hashes in a slice, from which on to unpack all of it is faster
LEAST_EQUAL = 200  # entries that a block holds at least if all have the same key
GENERATION, FOLDS = 4, b"folds "  # bytes of a key of a block; the name of the count of folds


class SliceParts(NamedTuple):
    """All that a slice consists of before it is folded."""

    blocks: list[tuple[bytes, bytes]]  # the first entry and the content of each
    recent: list[tuple[bytes, bytes]]  # entries, and whether they were removed
    new: list[np.ndarray]


class Postings:
    """The entries of one table in a transaction."""

    def __init__(self, txn: Any, tables: dict[str, Any], name: str) -> None:
        self.txn, self.blocks, self.recent, self.name = txn, tables[name], tables["recent"], name
        self.letter = name[:1].encode()
        self.runs: Runs | None = None  # entries that are not yet in the table
        self.has_recent = txn.stat(db=self.recent)["entries"] > 0
        self.folds = int.from_bytes(txn.get(FOLDS + self.letter, b"\0")[:8], "big")

    # --- reading ---

    def find(self, hashes: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Return for each hash the numbers of its items, ascending; a long list may end after `most`."""
        found = self._in_blocks(hashes, most)
        for at, one in enumerate(hashes):
            if self.runs is not None:
                found[at] += self.runs.find(one >> 56, one >> 24 & 0xFFFFFFFF)
            changes = list(self._changes(self.letter + (one >> 24).to_bytes(5, "big"))) if self.has_recent else []
            if changes:
                gone = {int.from_bytes(entry[-4:], "big") for entry, value in changes if value == REMOVED}
                numbers = {int.from_bytes(entry[-4:], "big") for entry, _ in changes}
                found[at] = sorted({*found[at], *numbers} - gone)
        return found

    def _in_blocks(self, hashes: Sequence[int], most: int | None) -> list[list[int]]:
        """Find entries in the blocks that can hold them, all with one call of the kernel."""
        cursor = self.txn.cursor(db=self.blocks)
        found: list[list[int]] = [[] for _ in hashes]
        owners: list[int] = []
        blocks: list[Any] = []
        firsts: list[int] = []
        enough = None if most is None else most // LEAST_EQUAL + 2
        for at, one in enumerate(hashes):
            for first, block in islice(self._holding(cursor, one), enough):
                owners.append(at)
                firsts.append(first)
                blocks.append(block)
        if not blocks:
            return found
        bounds = np.fromiter(accumulate(map(len, blocks), initial=0), np.int64, len(blocks) + 1)
        keys = np.array([hashes[at] >> 24 & 0xFFFFFFFF for at in owners], np.uint64)
        data = np.frombuffer(b"".join(blocks) or b"\0", np.uint8)
        numbers, ends = find_in_blocks(data, bounds, np.array(firsts, np.uint64), keys)
        if ends[-1] < 0:
            raise damaged(f"the table of {self.name}", "a block")
        if len(numbers):
            every, start = numbers.tolist(), 0
            for at, end in zip(owners, ends.tolist(), strict=True):
                found[at] += every[start:end]
                start = end
        return found

    def _holding(self, cursor: Any, one: int) -> Iterator[tuple[int, Any]]:
        """Yield the blocks that can hold entries of a hash, each with its first entry."""
        prefix, key = self._prefix(one >> 56), one >> 24 & 0xFFFFFFFF
        least = prefix + key.to_bytes(4, "big")
        there = cursor.set_range(least)
        more = there and bytes(cursor.key()).startswith(least)
        if cursor.prev() if there else cursor.last():  # the block before can hold some, too
            place = bytes(cursor.key())
            if place.startswith(prefix):
                yield int.from_bytes(place[5:], "big"), cursor.value()
        more = more and cursor.set_range(least)
        while more and bytes(cursor.key()).startswith(least):
            yield int.from_bytes(cursor.key()[5:], "big"), cursor.value()
            more = cursor.next()

    def among(self, hashes: np.ndarray) -> Iterator[tuple[int, list[int]]]:
        """Yield the place of each of many hashes that has items, with their numbers."""
        order = np.argsort(hashes, kind="stable")
        bounds = np.searchsorted(hashes[order] >> np.uint64(56), np.arange(SLICES + 1, dtype=np.uint64))
        for part, (start, stop) in enumerate(pairwise(bounds.tolist())):
            if stop - start > MANY:
                entries = merged(self._parts(part))
                keys = entries >> np.uint64(HALF)
                wanted = hashes[order[start:stop]] >> np.uint64(24) & np.uint64(0xFFFFFFFF)
                first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
                for at in np.flatnonzero(last > first).tolist():
                    owners = entries[first[at] : last[at]] & np.uint64(0xFFFFFFFF)
                    yield int(order[start + at]), owners.tolist()
            else:
                for at in order[start:stop].tolist():
                    (numbers,) = self.find([int(hashes[at])])
                    if numbers:
                        yield at, numbers

    def slices(self) -> Iterator[np.ndarray]:
        """Yield the entries of each slice, in order."""
        for part in range(SLICES):
            yield merged(self._parts(part))

    def byte_size(self) -> int:
        """Return how many bytes the blocks take on disk."""
        return pages_of(self.txn, self.blocks)

    def _prefix(self, part: int) -> bytes:
        generation = (self.folds + SLICES - 1 - part) // SLICES
        return (generation << 8 | part).to_bytes(GENERATION + 1, "big")

    def _parts(self, part: int) -> SliceParts:
        blocks = [(key[5:], bytes(value)) for key, value in under(self.txn.cursor(db=self.blocks), self._prefix(part))]
        recent = [(key[2:], value) for key, value in self._changes(self.letter + bytes([part]))]
        return SliceParts(blocks, recent, [] if self.runs is None else self.runs.slice(part))

    def _changes(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return ((key, bytes(value)) for key, value in under(self.txn.cursor(db=self.recent), prefix))

    # --- writing ---

    def put(self, hashes: Iterable[int], number: int, value: bytes = ADDED) -> None:
        """Add the entries of an item, or remove them."""
        self.has_recent = True
        tail = number.to_bytes(4, "big")
        entries = ((self.letter + (one >> 24).to_bytes(5, "big") + tail, value) for one in hashes)
        self.txn.cursor(db=self.recent).putmulti(entries)

    def put_runs(self, runs: Runs) -> None:
        """Add entries to the recent ones."""
        self.has_recent = True
        cursor = self.txn.cursor(db=self.recent)
        for part in range(SLICES):
            prefix = self.letter + bytes([part])
            for entries in runs.slice(part):
                content = entries.astype(">u8").tobytes()
                cursor.putmulti((prefix + content[at : at + 8], ADDED) for at in range(0, len(content), 8))

    def fold(self, parts: int, run: Run) -> None:
        """Fold some slices, those that were not folded for the longest time first."""
        tasks = (self._parts(part % SLICES) for part in range(self.folds, self.folds + parts))
        for made in run.map(lambda task: packed(merged(task)), tasks):
            part = self.folds % SLICES
            remove_under(self.txn.cursor(db=self.blocks), self._prefix(part))
            remove_under(self.txn.cursor(db=self.recent), self.letter + bytes([part]))
            self.folds += 1
            self._append(part, made)
        self.txn.put(FOLDS + self.letter, self.folds.to_bytes(8, "big"))

    def load(self, slices: Iterable[np.ndarray], run: Run) -> None:
        """Fill the table, which is empty, with the entries of all slices."""
        for part, made in enumerate(run.map(packed, slices)):
            self._append(part, made)

    def _append(self, part: int, blocks: list[tuple[bytes, Any]]) -> None:
        prefix = self._prefix(part)
        self.txn.cursor(db=self.blocks).putmulti(((prefix + first, block) for first, block in blocks), append=True)


def merged(parts: SliceParts) -> np.ndarray:
    """Return the entries of a slice, sorted."""
    entries = [unpacked(first, block) for first, block in parts.blocks]
    changes = np.frombuffer(b"".join(entry for entry, _ in parts.recent), ">u8").astype(np.uint64)
    gone = np.array([value == REMOVED for _, value in parts.recent], bool)
    whole = np.concatenate([np.zeros(0, np.uint64), *entries, changes[~gone], *parts.new])
    if parts.recent or parts.new:
        whole.sort()
        whole = whole[np.append(True, whole[1:] != whole[:-1])[: len(whole)]]
        if gone.any():
            whole = whole[~np.isin(whole, changes[gone], assume_unique=True)]
    return whole


def unpacked(first: bytes, block: bytes) -> np.ndarray:
    """Return the entries of a block."""
    data = np.frombuffer(block, np.uint8)
    count = size_of_block(data)
    if count < 0:
        raise damaged("a table", "a block")
    entries: np.ndarray = unpack_block(data, count, np.uint64(int.from_bytes(first, "big")))
    return entries


def packed(entries: np.ndarray) -> list[tuple[bytes, Any]]:
    """Return sorted entries as blocks, each with its first entry."""
    content, bounds, firsts = pack_blocks(entries, BLOCK)
    keys = entries[firsts].astype(">u8").tobytes()
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
