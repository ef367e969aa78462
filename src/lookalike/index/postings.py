"""Keep which items belong to which hashes: sorted entries in blocks, recent changes beside them.

A table of postings holds an entry for each pair of a hash and the number of an item. Of a hash, 40
bits are kept, so whoever looks one up compares the item itself. The first byte says in which slice
an entry is; within a slice it is one 64-bit number.

New entries go to the table `recent`, and so do removals. When there are many, slice after slice is
folded: its blocks and its recent entries are merged, and written anew after all other blocks of the
table. Pages of blocks are therefore always full, and those of the old blocks are freed.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.run import Run
from lookalike.index.records import damaged
from lookalike.index.runs import Runs
from lookalike.kernels.blocks import HALF, SLICES, find_in_block, pack_blocks, size_of_block, unpack_block

BLOCK = 1000  # bytes: four blocks and their keys fill a page
ADDED, REMOVED = b"", b"-"  # the value of a recent entry
MANY = 64  # hashes in a slice, from which on to unpack all of it is faster
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
        self.folds = int.from_bytes(txn.get(FOLDS + self.letter, b"\0")[:8], "big")

    # --- reading ---

    def find(self, one: int, most: int | None = None) -> list[int]:
        """Return the numbers of the items with a hash, ascending, and of those in blocks at most `most`."""
        part, key = one >> 56, one >> 24 & 0xFFFFFFFF
        found = self._in_blocks(part, key, (1 << HALF) if most is None else most)
        if self.runs is not None:
            found += self.runs.find(part, key)
        prefix = self.letter + (one >> 24).to_bytes(5, "big")
        changes = dict(self._changes(prefix))
        if changes:
            gone = {entry for entry, value in changes.items() if value == REMOVED}
            numbers = {int.from_bytes(entry[-4:], "big") for entry in changes.keys() - gone}
            found = sorted({*found, *numbers} - {int.from_bytes(entry[-4:], "big") for entry in gone})
        return found

    def _in_blocks(self, part: int, key: int, most: int) -> list[int]:
        prefix = self._prefix(part)
        cursor = self.txn.cursor(db=self.blocks)
        if not cursor.set_range(prefix + (key << HALF).to_bytes(8, "big")) and not cursor.last():
            return []
        if bytes(cursor.key()) > prefix + (key << HALF).to_bytes(8, "big"):
            cursor.prev()  # its block can hold entries with this key, too
        found: list[int] = []
        for place, block in cursor:
            first = bytes(place)
            if (
                first[:5] > prefix
                or (int.from_bytes(first[5:9], "big") > key and first[:5] == prefix)
                or len(found) >= most
            ):
                break
            if first[:5] == prefix:
                found += self._found(first, block, key, most - len(found))
        return found

    def _found(self, first: bytes, block: Any, key: int, most: int) -> list[int]:
        data = np.frombuffer(block, np.uint8)
        numbers: list[int] = find_in_block(
            data, np.uint64(int.from_bytes(first[5:], "big")), np.uint64(key), most
        ).tolist()
        if numbers[:1] == [-1]:
            raise damaged(f"the table of {self.name}", "a block")
        return numbers

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
                    if numbers := self.find(int(hashes[at])):
                        yield at, numbers

    def slices(self) -> Iterator[np.ndarray]:
        """Yield the entries of each slice, in order."""
        for part in range(SLICES):
            yield merged(self._parts(part))

    def byte_size(self) -> int:
        """Return how many bytes the blocks take on disk."""
        return pages_of(self.txn, self.blocks)

    def _prefix(self, part: int) -> bytes:
        done, ahead = divmod(self.folds, SLICES)
        return (done + (part < ahead)).to_bytes(GENERATION, "big") + bytes([part])

    def _parts(self, part: int) -> SliceParts:
        blocks = [(key[5:], bytes(value)) for key, value in under(self.txn.cursor(db=self.blocks), self._prefix(part))]
        recent = [(key[2:], value) for key, value in self._changes(self.letter + bytes([part]))]
        return SliceParts(blocks, recent, [] if self.runs is None else self.runs.slice(part))

    def _changes(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return ((key, bytes(value)) for key, value in under(self.txn.cursor(db=self.recent), prefix))

    # --- writing ---

    def put(self, hashes: Iterable[int], number: int, value: bytes = ADDED) -> None:
        """Add the entries of an item, or remove them."""
        tail = number.to_bytes(4, "big")
        entries = ((self.letter + (one >> 24).to_bytes(5, "big") + tail, value) for one in hashes)
        self.txn.cursor(db=self.recent).putmulti(entries)

    def put_runs(self, runs: Runs) -> None:
        """Add entries to the recent ones."""
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
