"""Check that the tables of an index agree with its items."""

from itertools import islice

import numpy as np

from lookalike.core.errors import DataError
from lookalike.core.run import ONE_THREAD, Tick
from lookalike.index.base import Coding
from lookalike.index.entries import hashes_of
from lookalike.index.records import intact, pack_id
from lookalike.index.runs import Runs
from lookalike.index.tables import POSTINGS, Reader
from lookalike.kernels.blocks import SLICES

STEP = 1000  # items that are checked at a time


@intact("an item")
def check(reader: Reader, coding: Coding | None, texts: bool, tick: Tick) -> int:
    """Recompute every entry from the items, and compare them with the tables; return how many items there are."""
    made = {name: Runs() for name in POSTINGS}
    items, count = reader.items(), 0
    while some := list(islice(items, STEP)):
        assert coding is not None  # since there are items
        encoded = coding.again([item.payload for item in some])
        contents = [content.tobytes() for content in encoded.contents.astype(">u8")]
        for item, content in zip(some, contents, strict=True):
            if content != item.content:
                raise DataError(f"item {item.id!r} of the index is damaged; build it again.")
            if texts and reader.shown(coding, item) is None:
                raise DataError(f"the text of item {item.id!r} is missing from the index; build it again.")
        numbers = np.array([item.number for item in some], np.uint64)
        heads = np.array([next(reader.twins(item.content), None) == item.number for item in some])
        names = hashes_of([pack_id(item.id) for item in some], reader.salt).reshape(-1, 1)
        every = np.ones(len(some), np.bool_)
        made["ids"].add([(names, numbers, every)], ONE_THREAD)
        made["contents"].add([(hashes_of(contents, reader.salt).reshape(-1, 1), numbers, every)], ONE_THREAD)
        made["buckets"].add([(encoded.keys, numbers, heads)], ONE_THREAD)
        count += len(some)
        tick(len(some))
    for name, runs in made.items():
        for part, there in zip(range(SLICES), reader.slices(name), strict=True):
            if not np.array_equal(runs.merged(part), there):
                raise DataError(f"the table of {name} does not match the items of the index; build it again.")
    if count != len(reader):
        raise DataError(f"the index should hold {len(reader):,} items but holds {count:,}; build it again.")
    return count
