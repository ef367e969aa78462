"""Convert items and their ids to bytes that sort in the same order."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from lookalike.core.errors import DataError, LookalikeError, StoreError

LONGEST_ID = 480  # bytes
LARGEST_ID = (1 << 63) - 1
LARGEST_COUNTED = 1 << 62  # integer ids from here on do not move the numbers of items without ids
HEAD = 18  # bytes of a record before the id: the content hash, and the length of the id

Id = int | str


class Item(NamedTuple):
    """One item as it is stored."""

    number: int
    content: bytes
    id: Id
    payload: memoryview | bytes


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Raise a StoreError in place of the errors that decoding a damaged entry raises."""
    try:
        yield
    except LookalikeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, zlib.error) as error:
        raise damaged(what, error) from error


def damaged(what: str, reason: object) -> StoreError:
    """Return the error for a damaged entry."""
    said = " ".join(str(reason).split()) or type(reason).__name__
    return StoreError(f"{what} of the index is damaged ({said}); use a backup, or build it again.")


def is_id(identity: Id) -> bool:
    """Return whether this can be the id of an item."""
    if isinstance(identity, str):
        return len(identity.encode()) < LONGEST_ID
    return -LARGEST_ID - 1 <= identity <= LARGEST_ID


def pack_id(identity: Id) -> bytes:
    """Return an id as bytes; integers and strings are never the same."""
    if not is_id(identity):
        rule = f"at most {LONGEST_ID - 1} bytes, or be an integer of at most 64 bits"
        raise DataError(f"ids must have {rule}; got {str(identity)[:40]!r}...")
    if isinstance(identity, str):
        return b"s" + identity.encode()
    return b"i" + (identity + (1 << 63)).to_bytes(8, "big")


def unpack_id(packed: bytes) -> Id:
    """Return the id that was packed."""
    return packed[1:].decode() if packed[:1] == b"s" else int.from_bytes(packed[1:], "big") - (1 << 63)


def unpack(number: int, record: Any) -> Item:
    """Return the item of a record."""
    try:
        end = HEAD + int.from_bytes(record[16:18], "big")
        if end == HEAD or len(record) < end:
            raise ValueError("a record is too short")
        return Item(number, bytes(record[:16]), unpack_id(bytes(record[HEAD:end])), record[end:])
    except (TypeError, ValueError) as error:  # None for no record, or an id that is not UTF-8
        raise damaged("an item", error) from error
