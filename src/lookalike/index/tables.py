"""Read and write the tables of an index within a transaction.

items     number -> content hash, id and payload
texts     number -> the compressed text, if texts are kept
ids       id -> number
contents  content hash, number -> nothing: identical items are adjacent; the first is their head
buckets   bucket, number -> nothing: only heads, so a million copies of a page are one entry
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import StoreError
from lookalike.core.run import Run
from lookalike.index.entries import Entries, first_of_each, in_buckets
from lookalike.index.records import (
    LARGEST_ID,
    Id,
    Item,
    bucket_keys,
    damaged,
    intact,
    pack_id,
    unpack,
    unpack_id,
    with_numbers,
)
from lookalike.kernels.hashing import EMPTY
from lookalike.measures.table import OLD_NAMES

MOST_NUMBERS = 1 << 32
LARGEST_COUNTED = 1 << 62  # integer ids from here on do not move the numbers of items without ids
TABLES = ("items", "texts", "ids", "contents", "buckets")
SETTINGS, NEXT, COUNT, NEXT_ID = b"settings", b"next", b"count", b"next id"
CONTENT_ENTRY, BUCKET_ENTRY = "20s0s", "12s0s"  # a key and an empty value
BATCH = b"batch "  # before the digest of a batch and the place of a record
ATTACHED = b"attached "  # before the key of an entry that an application keeps with the items

Check = Callable[[], None]  # raises an error to end the work of its caller


def go_on() -> None:
    """Let the work go on."""


class Reader:
    """A reader of one state of the index."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self.txn, self.tables = txn, tables

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
        found = self.txn.get(pack_id(identity), db=self.tables["ids"])
        return None if found is None else int.from_bytes(found, "big")

    def item(self, number: int) -> Item:
        """Return the item with this number."""
        return unpack(number, self.txn.get(number.to_bytes(4, "big"), db=self.tables["items"]))

    def items(self) -> Iterator[Item]:
        """Yield all items by number."""
        for key, record in self.txn.cursor(db=self.tables["items"]):
            yield unpack(int.from_bytes(key, "big"), record)

    @intact("a text")
    def text(self, number: int) -> str | None:
        """Return the text of an item, or None if it is not kept."""
        found = self.txn.get(number.to_bytes(4, "big"), db=self.tables["texts"])
        return None if found is None else zlib.decompress(found).decode()

    def in_buckets(self, keys: np.ndarray, most: int, check: Check = go_on) -> tuple[list[int], bool]:
        """Return the heads in these buckets, ascending, and whether a bucket reaches `most`."""
        cursor = self.txn.cursor(db=self.tables["buckets"])
        found: set[int] = set()
        crowded = False
        for key in keys[keys != EMPTY].astype(">u8").tolist():
            check()
            some = list(under(cursor, key.to_bytes(8, "big"), most))
            crowded |= len(some) == most
            found.update(some)
        return sorted(found), crowded

    def twins(self, content: bytes, most: int | None = None) -> Iterator[int]:
        """Yield the numbers of the items with this content, the head first."""
        return under(self.txn.cursor(db=self.tables["contents"]), content, most)

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

    def distinct(self, table: str, width: int) -> int:
        """Count the distinct prefixes of `width` bytes among the keys of a table."""
        count, last = 0, b""
        for key in self.txn.cursor(db=self.tables[table]).iternext(keys=True, values=False):
            if key[:width] != last:
                count, last = count + 1, bytes(key[:width])
        return count

    def pairs(self, table: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of a table."""
        return ((bytes(key), bytes(value)) for key, value in self.txn.cursor(db=self.tables[table]))

    def entries(self, table: str) -> int:
        """Return the number of entries of a table."""
        return int(self.txn.stat(db=self.tables[table])["entries"])


class Writer(Reader):
    """A writer of one change to the index."""

    def put_settings(self, settings: dict[str, Any]) -> None:
        """Save the settings of the index."""
        self.txn.put(SETTINGS, json.dumps(settings).encode())

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
        """Add items whose ids are new."""
        ids = list(chain.from_iterable(part.ids for part in parts))
        first = self._numbers_from(len(ids))
        numbers = np.arange(first, first + len(ids), dtype=np.uint64)
        heads = self._put_contents(np.concatenate([part.contents for part in parts]), numbers)
        keys = [key for (key,) in struct.iter_unpack("4s", numbers.astype(">u4").tobytes())]
        for table, values in {"items": "records", "texts": "texts"}.items():
            kept = chain.from_iterable(getattr(part, values) for part in parts)
            self.txn.cursor(db=self.tables[table]).putmulti(zip(keys, kept, strict=False), append=True)
        self._put_ids(list(chain.from_iterable(part.packed for part in parts)), keys)
        self._put_blocks("buckets", BUCKET_ENTRY, in_buckets(parts, numbers, heads, run))
        self._count(first + len(ids), len(ids))
        self.number_from(max((name + 1 for name in ids if isinstance(name, int) and name < LARGEST_COUNTED), default=0))

    def add_one(self, entries: Entries, place: int) -> None:
        """Add one of some items, whose id is new; for one item this is faster than `add`."""
        first = self._numbers_from(1)
        number, content = first.to_bytes(4, "big"), entries.contents[place].astype(">u8").tobytes()
        is_head = next(self.twins(content, 1), None) is None
        buckets = bucket_keys(entries.keys[place], first) if is_head else []
        puts = [("contents", content + number, b""), ("items", number, entries.records[place])]
        puts += [("ids", entries.packed[place], number), *(("buckets", key, b"") for key in buckets)]
        puts += [("texts", number, text) for text in entries.texts[place : place + 1]]
        for table, key, value in puts:
            self.txn.put(key, value, db=self.tables[table])
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

    def _put_contents(self, contents: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Put the contents of items; return which items are the first with theirs."""
        order, heads = first_of_each(contents)
        firsts = order[heads]
        if self.entries("contents"):
            cursor = self.txn.cursor(db=self.tables["contents"])
            wanted = struct.iter_unpack("16s", contents[firsts].astype(">u8").tobytes())
            there = [cursor.set_range(content) and cursor.key()[:16] == content for (content,) in wanted]
            firsts = firsts[~np.array(there)]
        self._put_blocks("contents", CONTENT_ENTRY, [with_numbers(contents[order], numbers[order])])
        found = np.zeros(len(contents), np.bool_)
        found[firsts] = True
        return found

    def _put_ids(self, packed: list[bytes], keys: list[bytes]) -> None:
        """Put the numbers of ids, in the order of the ids."""
        order = pc.sort_indices(pa.array(packed, pa.large_binary())).to_pylist()
        entries = zip(map(packed.__getitem__, order), map(keys.__getitem__, order), strict=True)
        append = packed[order[0]] > self._last("ids")
        self.txn.cursor(db=self.tables["ids"]).putmulti(entries, append=append)

    def _put_blocks(self, table: str, layout: str, blocks: Iterable[bytes]) -> None:
        """Put keys that come in order, appending those that come after all the existing ones."""
        last, width = self._last(table), struct.calcsize(layout)
        for block in blocks:
            cursor = self.txn.cursor(db=self.tables[table])
            cursor.putmulti(struct.iter_unpack(layout, block), append=block[:width] > last)

    def _last(self, table: str) -> bytes:
        """Return the last key of a table; an empty one if there is none."""
        cursor = self.txn.cursor(db=self.tables[table])
        return bytes(cursor.key()) if cursor.last() else b""

    def known(self, packed: Sequence[bytes]) -> list[Id]:
        """Return those of the packed ids that items of the index have."""
        if not self.entries("ids"):
            return []
        return [unpack_id(bytes(key)) for key, _ in self.txn.cursor(db=self.tables["ids"]).getmulti(packed)]

    def remove(self, item: Item, keys: np.ndarray) -> None:
        """Remove an item, given its bucket keys; the next identical one takes its place as head."""
        number, content = item.number.to_bytes(4, "big"), bytes(item.content)
        head = next(self.twins(content, 1))
        if self.number_of(item.id) == item.number:  # no other item has taken its id
            self.txn.delete(pack_id(item.id), db=self.tables["ids"])
        for table, key in {"items": number, "texts": number, "contents": content + number}.items():
            self.txn.delete(key, db=self.tables[table])
        if head == item.number:
            heir = next(self.twins(content, 1), None)
            for key in bucket_keys(keys, item.number):
                self.txn.delete(key, db=self.tables["buckets"])
                if heir is not None:
                    self.txn.put(key[:8] + heir.to_bytes(4, "big"), b"", db=self.tables["buckets"])
        self._count(self._number(NEXT), -1)

    def number_from(self, following: int) -> None:
        """Number further items without ids from this number on, unless it is already passed."""
        self.txn.put(NEXT_ID, max(following, self.next_id()).to_bytes(8, "big"))

    def _count(self, following: int, more: int) -> None:
        self.txn.put(NEXT, following.to_bytes(8, "big"))
        self.txn.put(COUNT, (len(self) + more).to_bytes(8, "big"))


def under(cursor: Any, prefix: bytes, most: int | None = None) -> Iterator[int]:
    """Yield the numbers that follow a prefix in the keys of a table, ascending."""
    size = len(prefix)
    if cursor.set_range(prefix):
        for found, key in enumerate(cursor.iternext(keys=True, values=False)):
            if key[:size] != prefix or found == most:
                return
            yield int.from_bytes(key[size:], "big")
