"""Read the tables of an index within a transaction.

items     number -> content hash, id and payload
ids       hash of an id -> number
contents  hash of a content -> numbers: identical items; the first is their head
buckets   bucket -> numbers: only heads, so a million copies of a page are one entry
recent .. changes of each of these three that are not yet in its blocks (see `postings`)
removed   numbers of removed items that still take space among the items

Hashes are shortened, so a number found under one is compared with the item itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from lookalike.index.base import Coding
from lookalike.index.entries import hash_of
from lookalike.index.kept import ODD, Kept
from lookalike.index.postings import RECENT, Postings, pages_of
from lookalike.index.records import LARGEST_ID, Id, Item, damaged, pack_id, unpack
from lookalike.kernels.hashing import EMPTY
from lookalike.measures.table import OLD_NAMES

FORMAT = 3
POSTINGS = ("ids", "contents", "buckets")
TABLES = ("removed", "items", ODD, *POSTINGS, *(RECENT + name for name in POSTINGS))  # older formats lack the first
SETTINGS, SALT, NEXT, COUNT, NEXT_ID, TEXT = b"settings", b"salt", b"next", b"count", b"next id", b"text bytes"
BATCH = b"batch "  # before the digest of a batch and the place of a record
ATTACHED = b"attached "  # before the key of an entry that an application keeps with the items

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
        (numbers,) = self.postings("ids").find([hash_of(packed, self.salt)])
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
        """Return the heads in these buckets, ascending, and whether some were left out.

        Of each bucket the first `most` are looked at; of all buckets together, the `most` heads that
        are in most of them are returned: the more buckets two items share, the more similar they are.
        """
        check()
        buckets = self.postings("buckets").find(buckets_of(keys), most)
        return chosen(buckets, most)

    def twins(self, content: bytes) -> Iterator[int]:
        """Yield the numbers of the items with this content, the head first."""
        (numbers,) = self.postings("contents").find([hash_of(content, self.salt)])
        return (number for number in numbers if self.item(number).content == content)

    def twins_of(self, head: Item) -> Iterator[Item]:
        """Yield the items with the content of a head, the head first."""
        (numbers,) = self.postings("contents").find([hash_of(head.content, self.salt)])
        for number in numbers:
            item = head if number == head.number else self.item(number)
            if item.content == head.content:
                yield item

    def shown(self, coding: Coding, item: Item) -> Any:
        """Return an item as a user would give it, or None if the index does not hold it."""
        return coding.shown(item.payload)

    def next_number(self) -> int:
        """Return the number of the next item."""
        return self._number(NEXT)

    def next_id(self) -> int:
        """Return a number that is no item's id, nor is any greater one."""
        return self._number(NEXT_ID)

    def text_bytes(self) -> int | None:
        """Return how many bytes the texts had when they were given; None if it was not counted.

        A removed text counts as much as an average one.
        """
        return None if self.txn.get(TEXT) is None else self._number(TEXT)

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
        others = {name: pages_of(self.txn, self.tables[name]) for name in TABLES if name not in ("items", ODD)}
        return {"items": self.kept.byte_size(), **others}

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


def buckets_of(keys: np.ndarray) -> list[int]:
    """Return the buckets of one item."""
    buckets: list[int] = keys[keys != EMPTY].tolist()
    return buckets


def chosen(buckets: list[list[int]], most: int) -> tuple[list[int], bool]:
    """Return the numbers in buckets, at most `most`, ascending, and whether a bucket reaches that."""
    found = {number for numbers in buckets for number in numbers}
    if len(found) < most:
        return sorted(found), False
    shared = Counter(number for numbers in buckets for number in numbers[:most])
    best = sorted(shared, key=lambda number: (-shared[number], number))[:most]
    return sorted(best), len(shared) > most or max(map(len, buckets)) >= most
