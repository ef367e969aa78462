"""Whether what an index says of its items is so."""

import numpy as np

from lookalike.errors import DataError
from lookalike.index.codings import Coding
from lookalike.index.store import Reader, bucket_keys, pack_id
from lookalike.run import Tick


def check(reader: Reader, coding: Coding | None, tick: Tick) -> int:
    """Make every entry again from the items, and compare; returns how many items there are."""
    heads: dict[bytes, int] = {}
    names: dict[bytes, bytes] = {}
    contents: set[bytes] = set()
    buckets: set[bytes] = set()
    for item in reader.items():
        assert coding is not None  # since there are items
        number = item.number.to_bytes(4, "big")
        names[pack_id(item.id)] = number
        contents.add(item.content + number)
        encoded = coding.again(item.payload)
        if encoded.contents.astype(">u8").tobytes() != item.content:
            raise DataError(f"item {item.id!r} of the index is damaged; build it again.")
        if heads.setdefault(item.content, item.number) == item.number:
            buckets.update(bucket_keys(encoded.keys, np.array([item.number], np.uint64)))
        tick(1)
    expected = {"ids": names, "contents": dict.fromkeys(contents, b""), "buckets": dict.fromkeys(buckets, b"")}
    for table, entries in expected.items():
        if dict(reader.pairs(table)) != entries:
            raise DataError(f"the table of {table} does not fit the items of the index; build it again.")
    if len(names) != len(reader):
        raise DataError(f"the index says {len(reader):,} items and has {len(names):,}; build it again.")
    return len(names)
