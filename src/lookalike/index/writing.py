"""Write the tables of an index within a transaction."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from lookalike.core.errors import StoreError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.index.entries import Entries, first_of_each, hashes_of, items_in
from lookalike.index.kept import STRIDE
from lookalike.index.postings import ENTRY, REMOVED
from lookalike.index.records import LARGEST_COUNTED, Id, Item, pack_id
from lookalike.index.runs import Runs
from lookalike.index.tables import (
    ATTACHED,
    BATCH,
    COUNT,
    NEXT,
    NEXT_ID,
    POSTINGS,
    SALT,
    SETTINGS,
    TEXT,
    Reader,
    buckets_of,
)
from lookalike.kernels.blocks import SLICES
from lookalike.kernels.hashing import EMPTY

MOST_NUMBERS = 1 << 32
SHARE_OF_RUNS = 16  # new entries are folded at once if the table is at most this many times as large
STEP = 128  # a change tidies one part in this many of a table
LEAST_STEP = 1 << 16  # or of a small table as many bytes


class Writer(Reader):
    """A writer of one change to the index."""

    changes = 0  # how many items were added or removed

    def put_settings(self, settings: dict[str, Any]) -> None:
        """Save the settings of the index."""
        self.txn.put(SETTINGS, json.dumps(settings).encode())

    def put_salt(self, salt: int) -> None:
        """Save the secret number that hashes of ids depend on."""
        self.txn.put(SALT, salt.to_bytes(8, "big"))

    def put_text_bytes(self, size: int) -> None:
        """Save how many bytes the texts had when they were given."""
        self.txn.put(TEXT, size.to_bytes(8, "big"))

    def put_batch(self, digest: bytes, place: int, record: bytes) -> None:
        """Save a record of a batch."""
        self.txn.put(BATCH + digest + place.to_bytes(8, "big"), record)

    def attach(self, key: bytes, entry: bytes | None) -> None:
        """Save an entry of an application, or remove it."""
        if entry is None:
            self.txn.delete(ATTACHED + key)
        else:
            self.txn.put(ATTACHED + key, entry)

    def add(self, parts: Sequence[Entries], run: Run) -> None:
        """Add items whose ids are new; `settle` then puts their entries into the tables."""
        size = items_in(parts)
        first = self._numbers_from(size)
        self.add_numbered(parts, np.arange(first, first + size, dtype=np.uint64), run)
        self.count(parts)

    def add_numbered(self, parts: Sequence[Entries], numbers: np.ndarray, run: Run) -> None:
        """Add items that have their numbers and are counted."""
        self.keep(parts, numbers.tolist())
        self.sort(parts, numbers, run)

    def keep(self, parts: Sequence[Entries], numbers: Iterable[int]) -> None:
        """Add the records of items."""
        self.kept.extend(zip(numbers, chain.from_iterable(part.records for part in parts), strict=False))

    def count(self, parts: Sequence[Entries]) -> None:
        """Count items, which get the next numbers."""
        size = items_in(parts)
        self._count(self._numbers_from(size) + size, size, sum(int(part.texts.sum()) for part in parts))
        self.number_from(max((part.following for part in parts), default=0))

    def sort(self, parts: Sequence[Entries], numbers: np.ndarray, run: Run) -> None:
        """Put the entries of items into sorted runs."""
        sizes = [len(part.ids) for part in parts]
        bounds = np.cumsum([0, *sizes])
        own = [numbers[start:stop] for start, stop in pairwise(bounds.tolist())]
        heads = self._heads(parts)
        every = [np.ones(size, np.bool_) for size in sizes]
        columns = {"ids": [part.names for part in parts], "contents": [part.twins for part in parts]}
        for table, hashes in columns.items():
            shaped = [one.reshape(-1, 1) for one in hashes]
            self._runs(table).add(list(zip(shaped, own, every, strict=True)), run)
        chosen = [heads[start:stop] for start, stop in pairwise(bounds.tolist())]
        self._runs("buckets").add(list(zip([part.keys for part in parts], own, chosen, strict=True)), run)

    def use(self, runs: dict[str, Runs]) -> None:
        """Put entries into these runs, which have those of other items already."""
        for name, some in runs.items():
            self.postings(name).runs = some

    def _runs(self, table: str) -> Runs:
        postings = self.postings(table)
        if postings.runs is None:
            postings.runs = Runs()
        return postings.runs

    def _heads(self, parts: Sequence[Entries]) -> np.ndarray:
        """Return which of the items are the first with their content."""
        contents = np.concatenate([part.contents for part in parts])
        order, firsts = first_of_each(contents)
        found = np.zeros(len(contents), np.bool_)
        found[order[firsts]] = True
        if len(self):
            hashes = np.concatenate([part.twins for part in parts])
            rows = np.flatnonzero(found)
            for at, number in zip(*self.postings("contents").meetings(hashes[rows]), strict=True):
                if self.item(int(number)).content == contents[rows[at]].astype(">u8").tobytes():
                    found[rows[at]] = False
        return found

    def settle(self, run: Run = ONE_THREAD, share: int = STEP) -> bool:
        """Put the entries of added items into the tables, and tidy the tables up to a point.

        Of a large table, one part in `share` is tidied, and none with 0: a change must not write the
        whole index anew, and a large one writes enough itself. Returns whether that was all; if not,
        another change does more.
        """
        done = True
        for name in POSTINGS:
            postings = self.postings(name)
            runs, size = postings.runs, postings.byte_size()
            if runs is not None and runs.size * ENTRY * SHARE_OF_RUNS > size:
                postings.fold(SLICES, run)
                runs = None
            postings.runs = None
            if runs is not None:
                postings.put_runs(runs)
            done &= postings.tidy(part_of(SLICES, size, share), run)
        strides = -(-self.next_number() // STRIDE)
        return self.kept.tidy(len(self), part_of(strides, self.kept.byte_size(), share)) and done

    def add_several(self, entries: Entries) -> None:
        """Add items whose ids are new, and their entries to the recent changes: for some hundreds of items."""
        size = len(entries.ids)
        first = self._numbers_from(size)
        numbers = np.arange(first, first + size)
        heads = self._heads([entries])
        self.kept.extend(zip(numbers.tolist(), entries.records, strict=True))
        self.postings("ids").put_all(entries.names, numbers)
        self.postings("contents").put_all(entries.twins, numbers)
        rows, tables = np.nonzero((entries.keys != EMPTY) & heads.reshape(-1, 1))
        self.postings("buckets").put_all(entries.keys[rows, tables], numbers[rows])
        self._count(first + size, size, int(entries.texts.sum()))
        self.number_from(entries.following)

    def add_one(self, entries: Entries, place: int) -> None:
        """Add one of some items, whose id is new; for one item this is faster than `add_several`."""
        first = self._numbers_from(1)
        content = entries.contents[place].astype(">u8").tobytes()
        is_head = next(self.twins(content), None) is None
        self.kept.put(first, entries.records[place])
        self.postings("ids").put([int(entries.names[place])], first)
        self.postings("contents").put([int(entries.twins[place])], first)
        if is_head:
            self.postings("buckets").put(buckets_of(entries.keys[place]), first)
        self._count(first + 1, 1, int(entries.texts[place : place + 1].sum()))
        name = entries.ids[place]
        if isinstance(name, int) and name < LARGEST_COUNTED:
            self.number_from(name + 1)

    def _numbers_from(self, size: int) -> int:
        """Return the first of the numbers that this many items get."""
        first = self._number(NEXT)
        if first + size > MOST_NUMBERS:
            raise StoreError("an index can number four billion items in all, and all numbers are used; build it again.")
        return first

    def known(self, parts: Sequence[Entries]) -> list[tuple[Id, int]]:
        """Return those ids of new items that items of the index have, with the numbers of these."""
        if not len(self):
            return []
        ids = list(chain.from_iterable(part.ids for part in parts))
        places, numbers = self.postings("ids").meetings(np.concatenate([part.names for part in parts]))
        pairs = sorted(zip(places.tolist(), numbers.tolist(), strict=True))
        return [(ids[at], number) for at, number in pairs if self.item(number).id == ids[at]]

    def remove(self, item: Item, keys: np.ndarray) -> None:
        """Remove an item, given its bucket keys; the next identical one takes its place as head."""
        content = bytes(item.content)
        same = list(self.twins(content))
        name, twin = hashes_of([pack_id(item.id), content], self.salt).tolist()
        self.kept.remove(item.number)
        self.postings("ids").put([name], item.number, REMOVED)
        self.postings("contents").put([twin], item.number, REMOVED)
        if same[0] == item.number:
            self.postings("buckets").put(buckets_of(keys), item.number, REMOVED)
            for heir in same[1:2]:
                self.postings("buckets").put(buckets_of(keys), heir)
        self._count(self._number(NEXT), -1, -(self._number(TEXT) // max(1, len(self))))

    def number_from(self, following: int) -> None:
        """Number further items without ids from this number on, unless it is already passed."""
        self.txn.put(NEXT_ID, max(following, self.next_id()).to_bytes(8, "big"))

    def _count(self, following: int, more: int, text: int) -> None:
        self.changes += 1
        if (before := self.text_bytes()) is not None:
            self.put_text_bytes(before + text)
        self.txn.put(NEXT, following.to_bytes(8, "big"))
        self.txn.put(COUNT, (len(self) + more).to_bytes(8, "big"))


def part_of(whole: int, size: int, share: int) -> int:
    """Return how many of the parts of a table, of this size in bytes, one change tidies."""
    return max(1, whole // share, min(whole, whole * LEAST_STEP // max(size, 1))) if share else 0
