"""Check that the tables of an index agree with its items."""

from collections import Counter

from lookalike.core.errors import DataError
from lookalike.core.run import Tick
from lookalike.index.codings import Coding
from lookalike.index.records import bucket_keys, intact, pack_id
from lookalike.index.tables import Reader

SUM = 1 << 64


@intact("an item")
def check(reader: Reader, coding: Coding | None, texts: bool, tick: Tick) -> int:
    """Recompute every entry from the items, and compare counts and sums of hashes with the tables.

    Return the number of items.
    """
    made: Counter[str] = Counter()
    sums: Counter[str] = Counter()

    def expect(table: str, key: bytes, value: bytes = b"") -> None:
        made[table] += 1
        sums[table] = (sums[table] + hash((key, value))) % SUM

    items = 0
    for item in reader.items():
        assert coding is not None  # since there are items
        items += 1
        number = item.number.to_bytes(4, "big")
        encoded = coding.again(item.payload)
        if encoded.contents.astype(">u8").tobytes() != item.content:
            raise DataError(f"item {item.id!r} of the index is damaged; build it again.")
        expect("ids", pack_id(item.id), number)
        expect("contents", item.content + number)
        if next(reader.twins(item.content, 1), None) == item.number:
            for key in bucket_keys(encoded.keys, item.number):
                expect("buckets", key)
        if texts and reader.text(item.number) is None:
            raise DataError(f"the text of item {item.id!r} is missing from the index; build it again.")
        tick(1)
    for table in ("ids", "contents", "buckets"):
        there, total = 0, 0
        for pair in reader.pairs(table):
            there, total = there + 1, (total + hash(pair)) % SUM
        if (there, total) != (made[table], sums[table]):
            raise DataError(f"the table of {table} does not match the items of the index; build it again.")
    if items != len(reader):
        raise DataError(f"the index should hold {len(reader):,} items but holds {items:,}; build it again.")
    return items
