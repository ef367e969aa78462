"""Read and write the tables of an index within a transaction.

items     number -> content hash, id and payload
ids       hash of an id -> number
contents  hash of a content -> numbers: identical items; the first is their head
buckets   bucket -> numbers: only heads, so a million copies of a page are one entry
recent .. changes of each of these three that are not yet in its blocks (see `postings`)
removed   numbers of removed items that still take space among the items

Hashes are shortened, so a number found under one is compared with the item itself.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from lookalike.core.errors import StoreError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.index.codings import Coding
from lookalike.index.entries import Entries, first_of_each, hashes_of
from lookalike.index.kept import STRIDE, Kept
from lookalike.index.postings import ENTRY, RECENT, REMOVED, Postings, pages_of
from lookalike.index.records import LARGEST_COUNTED, LARGEST_ID, Id, Item, damaged, pack_id, unpack
from lookalike.index.runs import Runs
from lookalike.kernels.blocks import SLICES
from lookalike.kernels.hashing import EMPTY
from lookalike.measures.table import OLD_NAMES

FORMAT = 3
MOST_NUMBERS = 1 << 32
POSTINGS = ("ids", "contents", "buckets")
TABLES = ("removed", "items", *POSTINGS, *(RECENT + name for name in POSTINGS))  # older formats lack the first
SETTINGS, SALT, NEXT, COUNT, NEXT_ID = b"settings", b"salt", b"next", b"count", b"next id"
BATCH = b"batch "  # before the digest of a batch and the place of a record
ATTACHED = b"attached "  # before the key of an entry that an application keeps with the items
FEW = 64  # items that are added one by one
SHARE_OF_RUNS = 16  # new entries are folded at once if the table is at most this many times as large
STEP = 128  # a change tidies one part in this many of a table
LEAST_STEP = 1 << 16  # or of a small table as many bytes

Check = Callable[[], None]  # raises an error to end the work of its caller


def go_on() -> None:
    """Let the work go on."""


class Reader:
    """A reader of one state of the index."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self.txn, self.tables = txn, tables
        self._postings: dict[str, Postings] = {}

    @cached_property
    def kept(self) -> Kept:
        """The records of the items."""
        return Kept(self.txn, self.tables)

    def postings(self, name: str) -> Postings:
        """Return a table of postings."""
        if name not in self._postings:
            self._postings[name] = Postings(self.txn, self.tables, name)
        return self._postings[name]

    @property
    def salt(self) -> int:
        """The secret number that hashes of ids depend on."""
        return int.from_bytes(self.txn.get(SALT, b"\0")[:8], "big")

    def settings(self) -> dict[str, Any] | None:
        """Return the settings of the index; a damaged count is an error here, before any work."""
        len(self)
        found = self.txn.get(SETTINGS)
        if found is None:
            return None
        settings: dict[str, Any] = json.loads(bytes(found))
        wanted = settings.get("wanted", {})
        if wanted.get("measure") in OLD_NAMES:
            settings["wanted"] = wanted | {"measure": OLD_NAMES[wanted["measure"]]}
        return settings

    def __len__(self) -> int:
        return self._number(COUNT)

    def _number(self, name: bytes) -> int:
        number = int.from_bytes(self.txn.get(name, b"\0"), "big")
        if number > LARGEST_ID:
            raise damaged(f"the {name.decode()}", number)
        return number

    def number_of(self, identity: Id) -> int | None:
        """Return the number of the item with this id, or None."""
        packed = pack_id(identity)
        (one,) = hashes_of([packed], self.salt).tolist()
        (numbers,) = self.postings("ids").find([one])
        return next((number for number in reversed(numbers) if self.item(number).id == identity), None)

    def item(self, number: int) -> Item:
        """Return the item with this number."""
        return unpack(number, self.kept.get(number))

    def items(self, first: int = 0) -> Iterator[Item]:
        """Yield the items with numbers from `first` on."""
        return (unpack(number, record) for number, record in self.kept.since(first))

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all items, ascending."""
        return (number for number, _ in self.kept.since())

    def in_buckets(self, keys: np.ndarray, most: int, check: Check = go_on) -> tuple[list[int], bool]:
        """Return the heads in these buckets, ascending, and whether a bucket reaches `most`."""
        check()
        buckets = self.postings("buckets").find(buckets_of(keys), most)
        crowded = max(map(len, buckets), default=0) >= most
        found = {number for numbers in buckets for number in (numbers[:most] if crowded else numbers)}
        return sorted(found), crowded

    def twins(self, content: bytes) -> Iterator[int]:
        """Yield the numbers of the items with this content, the head first."""
        (one,) = hashes_of([content], self.salt).tolist()
        (numbers,) = self.postings("contents").find([one])
        return (number for number in numbers if self.item(number).content == content)

    def shown(self, coding: Coding, item: Item) -> Any:
        """Return an item as a user would give it, or None if the index does not hold it."""
        return coding.shown(item.payload)

    def next_number(self) -> int:
        """Return the number of the next item."""
        return self._number(NEXT)

    def next_id(self) -> int:
        """Return a number that is no item's id, nor is any greater one."""
        return self._number(NEXT_ID)

    def batch(self, digest: bytes) -> Iterator[bytes]:
        """Yield the records of a batch that was sifted before, in order; none if it is new."""
        prefix, cursor = BATCH + digest, self.txn.cursor()
        if cursor.set_range(prefix):
            for key, record in cursor:
                if not bytes(key).startswith(prefix):
                    return
                yield bytes(record)

    def attached(self, key: bytes) -> bytes | None:
        """Return an entry that an application keeps with the items, or None."""
        found = self.txn.get(ATTACHED + key)
        return None if found is None else bytes(found)

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each part of the index takes on disk."""
        return {name: pages_of(self.txn, self.tables[name]) for name in TABLES}

    def slices(self, name: str) -> Iterator[np.ndarray]:
        """Yield the entries of each slice of a table, in order."""
        return self.postings(name).slices()

    def buckets(self) -> tuple[int, int]:
        """Count the buckets, and the entries in them."""
        buckets = entries = 0
        for some in self.slices("buckets"):
            keys = some >> np.uint64(32)
            buckets += int(np.count_nonzero(keys[1:] != keys[:-1])) + (len(keys) > 0)
            entries += len(keys)
        return buckets, entries


class Writer(Reader):
    """A writer of one change to the index."""

    changes = 0  # how many items were added or removed

    def put_settings(self, settings: dict[str, Any]) -> None:
        """Save the settings of the index."""
        self.txn.put(SETTINGS, json.dumps(settings).encode())

    def put_salt(self, salt: int) -> None:
        """Save the secret number that hashes of ids depend on."""
        self.txn.put(SALT, salt.to_bytes(8, "big"))

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
        if sum(len(part.ids) for part in parts) <= FEW:
            for part in parts:
                for place in range(len(part.ids)):
                    self.add_one(part, place)
            return
        sizes = [len(part.ids) for part in parts]
        first = self._numbers_from(sum(sizes))
        self.add_numbered(parts, np.arange(first, first + sum(sizes), dtype=np.uint64), run)
        self._count(first + sum(sizes), sum(sizes))
        self.number_from(max((part.following for part in parts), default=0))

    def add_numbered(self, parts: Sequence[Entries], numbers: np.ndarray, run: Run) -> None:
        """Add items that have their numbers and are counted."""
        sizes = [len(part.ids) for part in parts]
        bounds = np.cumsum([0, *sizes])
        own = [numbers[start:stop] for start, stop in pairwise(bounds.tolist())]
        heads = self._heads(parts, own, run)
        records = chain.from_iterable(part.records for part in parts)
        self.kept.extend(zip(numbers.tolist(), records, strict=True))
        every = [np.ones(size, np.bool_) for size in sizes]
        columns = {"ids": [part.names for part in parts], "contents": [part.twins for part in parts]}
        for table, hashes in columns.items():
            shaped = [one.reshape(-1, 1) for one in hashes]
            self._runs(table).add(list(zip(shaped, own, every, strict=True)), run)
        chosen = [heads[start:stop] for start, stop in pairwise(bounds.tolist())]
        self._runs("buckets").add(list(zip([part.keys for part in parts], own, chosen, strict=True)), run)

    def _runs(self, table: str) -> Runs:
        postings = self.postings(table)
        if postings.runs is None:
            postings.runs = Runs()
        return postings.runs

    def _heads(self, parts: Sequence[Entries], numbers: Sequence[np.ndarray], run: Run) -> np.ndarray:
        """Return which of the items are the first with their content."""
        contents = np.concatenate([part.contents for part in parts])
        order, firsts = first_of_each(contents)
        found = np.zeros(len(contents), np.bool_)
        found[order[firsts]] = True
        if self.txn.stat(db=self.tables["items"])["entries"]:
            hashes = np.concatenate([part.twins for part in parts])
            rows = np.flatnonzero(found)
            for at, number in zip(*self.postings("contents").meetings(hashes[rows]), strict=True):
                if self.item(int(number)).content == contents[rows[at]].astype(">u8").tobytes():
                    found[rows[at]] = False
        return found

    def settle(self, run: Run = ONE_THREAD, share: int = STEP) -> bool:
        """Put the entries of added items into the tables, and tidy the tables up to a point.

        Of a large table, one part in `share` is tidied: a small change must not write the whole index
        anew. Returns whether that was all; if not, another change does more.
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
        return self.kept.tidy(len(self), part_of(strides, pages_of(self.txn, self.tables["items"]), share)) and done

    def add_one(self, entries: Entries, place: int) -> None:
        """Add one of some items, whose id is new; for one item this is faster than `add`."""
        first = self._numbers_from(1)
        content = entries.contents[place].astype(">u8").tobytes()
        is_head = next(self.twins(content), None) is None
        self.kept.put(first, entries.records[place])
        self.postings("ids").put([int(entries.names[place])], first)
        self.postings("contents").put([int(entries.twins[place])], first)
        if is_head:
            self.postings("buckets").put(buckets_of(entries.keys[place]), first)
        self._count(first + 1, 1)
        name = entries.ids[place]
        if isinstance(name, int) and name < LARGEST_COUNTED:
            self.number_from(name + 1)

    def _numbers_from(self, size: int) -> int:
        """Return the first of the numbers that this many items get."""
        first = self._number(NEXT)
        if first + size > MOST_NUMBERS:
            raise StoreError("an index can number four billion items in all, and all numbers are used; build it again.")
        return first

    def known(self, parts: Sequence[Entries]) -> list[Id]:
        """Return those ids of new items that items of the index have."""
        if not len(self):
            return []
        ids = list(chain.from_iterable(part.ids for part in parts))
        places, numbers = self.postings("ids").meetings(np.concatenate([part.names for part in parts]))
        pairs = zip(places.tolist(), numbers.tolist(), strict=True)
        return [ids[at] for at in sorted(at for at, number in pairs if self.item(number).id == ids[at])]

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
        self._count(self._number(NEXT), -1)

    def number_from(self, following: int) -> None:
        """Number further items without ids from this number on, unless it is already passed."""
        self.txn.put(NEXT_ID, max(following, self.next_id()).to_bytes(8, "big"))

    def _count(self, following: int, more: int) -> None:
        self.changes += 1
        self.txn.put(NEXT, following.to_bytes(8, "big"))
        self.txn.put(COUNT, (len(self) + more).to_bytes(8, "big"))


def buckets_of(keys: np.ndarray) -> list[int]:
    """Return the buckets of one item."""
    buckets: list[int] = keys[keys != EMPTY].tolist()
    return buckets


def part_of(whole: int, size: int, share: int) -> int:
    """Return how many of the parts of a table, of this size in bytes, one change tidies."""
    return max(1, whole // share, min(whole, whole * LEAST_STEP // max(size, 1)))
