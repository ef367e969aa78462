"""Keep the records of items under their numbers, in full pages.

A removed item stays at first, and its number goes to a table of its own: to take it away would
write a page for it, and leave half-empty pages in the end. When there are many removed items, one
stride of items after another is swept: its records, without the removed ones, are written anew.
A sweep of all strides is a round, and a key is a round and a number. Even rounds and odd rounds have
a table each, so that both the new items and those that are swept come after all others in theirs:
in the middle of a table, they would leave half-empty pages.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from lookalike.index.postings import pages_of

SWEPT = b"swept"  # the name of what the rounds have done: their number, and the first number not yet swept
ODD = "items of odd rounds"  # the name of a table; in older ones of format 3, "items" has all rounds
LEAST_REMOVED, SHARE_OF_REMOVED = 200, 32  # removed items that may stay, and of more items one in this many
STRIDE, STRIDE_BYTES = 1000, 1_000_000  # items, or fewer if they are large
END = b"\xff" * 9  # above all keys


class Kept:
    """The records of the items of an index in a transaction."""

    def __init__(self, txn: Any, tables: dict[str, Any]) -> None:
        self.txn, self.trees, self.removed = txn, (tables["items"], tables[ODD]), tables["removed"]
        self.round, self.swept = divmod(int.from_bytes(txn.get(SWEPT, b"\0")[:12], "big"), 1 << 32)

    def get(self, number: int) -> Any:
        """Return the record of an item, or None."""
        return self.txn.get(self._key(number), db=self._tree(number < self.swept))

    def since(self, first: int = 0) -> Iterator[tuple[int, Any]]:
        """Yield the numbers and records of all items from a number on, ascending."""
        gone = self._removed_since(first)
        following = next(gone, None)
        swept = self._under(self._tree(True), self._key(first), END) if first < self.swept else ()
        others = self._under(self._tree(False), self._key(max(first, self.swept)), self._end())
        for key, record in chain(swept, others):
            number = int.from_bytes(key[4:], "big")
            if number == following:
                following = next(gone, None)
            else:
                yield number, record

    def _under(self, tree: Any, start: bytes, stop: bytes) -> Iterator[tuple[bytes, Any]]:
        """Yield the keys of a table from `start` up to `stop`, with their records."""
        cursor = self.txn.cursor(db=tree)
        if cursor.set_range(start):
            for key, record in cursor:
                found = bytes(key)
                if found >= stop:
                    return
                yield found, record

    def _removed_since(self, first: int) -> Iterator[int]:
        """Yield the numbers of removed items that are still there, ascending."""
        cursor = self.txn.cursor(db=self.removed)
        if cursor.set_range(first.to_bytes(4, "big")):
            for key in cursor.iternext(keys=True, values=False):
                yield int.from_bytes(key, "big")

    def put(self, number: int, record: Any) -> None:
        """Add an item."""
        self.txn.put(self._key(number), record, db=self._tree(False))

    def extend(self, items: Iterable[tuple[int, Any]]) -> None:
        """Add items, whose numbers ascend and are above those of all others."""
        unswept = self.round << 32  # as all new items are
        entries = (((unswept | number).to_bytes(8, "big"), record) for number, record in items)
        last = not self.swept or self.trees[0] != self.trees[1]
        self.txn.cursor(db=self._tree(False)).putmulti(entries, append=last)

    def cut(self, first: int) -> None:
        """Take away all items from a number on."""
        cursor = self.txn.cursor(db=self._tree(False))
        there = cursor.set_range(self._key(first))
        while there:
            there = cursor.delete()

    def remove(self, number: int) -> None:
        """Remove an item."""
        self.txn.put(number.to_bytes(4, "big"), b"", db=self.removed)

    def tidy(self, items: int, most: int) -> bool:
        """Take removed items away until they are few beside so many items; return whether they are.

        At most `most` strides are swept.
        """
        allowed = max(LEAST_REMOVED, items // SHARE_OF_REMOVED)
        for _ in range(most):
            if self.txn.stat(db=self.removed)["entries"] <= allowed:
                return True
            self._sweep()
        return bool(self.txn.stat(db=self.removed)["entries"] <= allowed)

    def _sweep(self) -> None:
        """Write the next stride anew, without its removed items."""
        stride: list[tuple[bytes, bytes]] = []
        size = 0
        for key, record in self._under(self._tree(False), self._key(self.swept), self._end()):
            if len(stride) == STRIDE or size > STRIDE_BYTES:
                following = int.from_bytes(key[4:], "big")
                break
            stride.append((key, bytes(record)))
            size += len(record)
        else:
            following = 0
        gone = taken(self.txn.cursor(db=self.removed), stride[0][0][4:], stride[-1][0][4:]) if stride else set()
        for key, _ in stride:
            self.txn.delete(key, db=self._tree(False))
        renewed = (self.round + 1).to_bytes(4, "big")
        kept = ((renewed + key[4:], record) for key, record in stride if key[4:] not in gone)
        self.txn.cursor(db=self._tree(True)).putmulti(kept, append=True)
        self.round, self.swept = self.round + (following == 0), following
        self.txn.put(SWEPT, (self.round << 32 | self.swept).to_bytes(12, "big"))

    def byte_size(self) -> int:
        """Return how many bytes the records take on disk."""
        return sum(pages_of(self.txn, tree) for tree in self.trees)

    def _tree(self, swept: bool) -> Any:
        """Return the table of the items that this round has swept, or has yet to sweep."""
        return self.trees[self.round + swept & 1]

    def _end(self) -> bytes:
        """Return a key above those of all items that this round has yet to sweep."""
        return (self.round + 1 << 32).to_bytes(8, "big")

    def _key(self, number: int) -> bytes:
        return (self.round + (number < self.swept) << 32 | number).to_bytes(8, "big")


def taken(cursor: Any, first: bytes, last: bytes) -> set[bytes]:
    """Take the keys from `first` to `last` out of a table, and return them."""
    keys = set()
    there = cursor.set_range(first)
    while there and bytes(cursor.key()) <= last:
        keys.add(bytes(cursor.key()))
        there = cursor.delete()
    return keys
