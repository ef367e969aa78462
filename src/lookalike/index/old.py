"""Read an index of format 1 or 2, which kept every entry of a table under a key of its own.

items     number -> content hash, id and payload
texts     number -> the compressed text, if texts are kept
ids       id -> number
contents  content hash, number -> nothing
buckets   bucket, number -> nothing
"""

import zlib
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from lookalike.core.run import ONE_THREAD
from lookalike.index.base import Coding
from lookalike.index.entries import hashes_of
from lookalike.index.kept import Kept
from lookalike.index.postings import pages_of
from lookalike.index.records import Id, Item, intact, pack_id
from lookalike.index.runs import Runs
from lookalike.index.tables import Check, Reader, buckets_of, chosen, go_on
from lookalike.kernels.blocks import SLICES

OLD_TABLES = ("items", "texts", "ids", "contents", "buckets")
STEP = 100_000  # entries that are read at a time


class OldKept(Kept):
    """The records of the items under their numbers alone; those of removed items are gone."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self.txn, self.records = txn, tables["items"]

    def byte_size(self) -> int:
        return pages_of(self.txn, self.records)

    def get(self, number: int) -> Any:
        return self.txn.get(number.to_bytes(4, "big"), db=self.records)

    def since(self, first: int = 0) -> Iterator[tuple[int, Any]]:
        cursor = self.txn.cursor(db=self.records)
        if cursor.set_range(first.to_bytes(4, "big")):
            for key, record in cursor:
                yield int.from_bytes(key, "big"), record


class OldReader(Reader):
    """A reader of one state of an index of an older format."""

    def number_of(self, identity: Id) -> int | None:
        found = self.txn.get(pack_id(identity), db=self.tables["ids"])
        return None if found is None else int.from_bytes(found, "big")

    @intact("a text")
    def shown(self, coding: Coding, item: Item) -> Any:
        found = self.txn.get(item.number.to_bytes(4, "big"), db=self.tables["texts"])
        return coding.shown(item.payload) if found is None else zlib.decompress(found).decode()

    def in_buckets(self, keys: np.ndarray, most: int, check: Check = go_on) -> tuple[list[int], bool]:
        cursor = self.txn.cursor(db=self.tables["buckets"])
        buckets = []
        for key in buckets_of(keys):
            check()
            buckets.append(list(islice(numbers_under(cursor, key.to_bytes(8, "big")), most)))
        return chosen(buckets, most)

    def twins(self, content: bytes) -> Iterator[int]:
        return numbers_under(self.txn.cursor(db=self.tables["contents"]), content)

    def twins_of(self, head: Item) -> Iterator[Item]:
        return map(self.item, self.twins(head.content))

    def slices(self, name: str) -> Iterator[np.ndarray]:
        runs = Runs()
        rows = iter(self.txn.cursor(db=self.tables[name]))
        while some := [(bytes(key), bytes(value)) for key, value in islice(rows, STEP)]:
            if name == "ids":
                hashes, numbers = hashes_of([key for key, _ in some], self.salt), [value for _, value in some]
            elif name == "contents":
                hashes, numbers = hashes_of([key[:16] for key, _ in some], self.salt), [key[16:] for key, _ in some]
            else:
                hashes = np.frombuffer(b"".join(key[:8] for key, _ in some), ">u8").astype(np.uint64)
                numbers = [key[8:] for key, _ in some]
            owners = np.frombuffer(b"".join(numbers), ">u4").astype(np.uint64)
            runs.add([(hashes.reshape(-1, 1), owners, np.ones(len(some), np.bool_))], ONE_THREAD)
        return map(runs.merged, range(SLICES))

    @cached_property
    def kept(self) -> Kept:
        return OldKept(self.txn, self.tables)

    def sizes(self) -> dict[str, int]:
        return {name: pages_of(self.txn, self.tables[name]) for name in OLD_TABLES}


def numbers_under(cursor: Any, prefix: bytes) -> Iterator[int]:
    """Yield the numbers that follow a prefix in the keys of a table, ascending."""
    size = len(prefix)
    if cursor.set_range(prefix):
        for key in cursor.iternext(keys=True, values=False):
            if key[:size] != prefix:
                return
            yield int.from_bytes(key[size:], "big")
