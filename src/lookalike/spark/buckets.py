"""Which items to compare: those that share a bucket, in lists that are as long as one task can do.

Nothing here knows Spark, as in `tasks`.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lookalike.errors import TooManyPairs
from lookalike.run import slices
from lookalike.spark.tasks import BAND_BITS, Batches, lists_of

MOST = 1000  # items of a bucket that are all compared with each other
BLOCK = 500  # items of a block that a larger bucket is cut into, where all pairs are wanted
FEW = 32  # the same where a part of them will do
MOST_IN_BUCKET = 1_000_000  # where all pairs are wanted


class Crowd:
    """A bucket of more than MOST items, cut into blocks as they come, so that no task has to hold it.

    Each block is compared within, and with those before it: with all, or with the first and the last of them.
    """

    def __init__(self, key: int, every: bool):
        self.key, self.every = key, every
        self.size = BLOCK if every else FEW
        self.before: list[pa.Array] = []
        self.waiting: pa.Array | None = None

    def add(self, items: pa.Array) -> Iterator["Unit"]:
        """Some more of its items."""
        every = items if self.waiting is None else pa.concat_arrays([self.waiting, items])
        whole = len(every) - len(every) % self.size
        for part in slices(whole, self.size):
            yield from self._compare(every[part])
        self.waiting = every[whole:]

    def close(self) -> Iterator["Unit"]:
        """The rest of it."""
        if self.waiting is not None and len(self.waiting):
            yield from self._compare(self.waiting)

    def _compare(self, block: pa.Array) -> Iterator["Unit"]:
        if self.every and len(self.before) * self.size >= MOST_IN_BUCKET:
            raise TooManyPairs(
                f"more than {MOST_IN_BUCKET:,} items are alike in one band: clusters and dedup need no list of pairs; "
                "or raise the threshold."
            )
        yield self.key, block, None
        for other in self.before:
            yield self.key, other, block
        self.before = [*self.before, block] if self.every else [*self.before[:1], block]


Unit = tuple[int, pa.Array, pa.Array | None]  # a key, items, and those to compare each with; none: those after it


def units(batches: Batches, every: bool) -> Batches:
    """(key, item), sorted, to (band, lefts, rights): pairs to compare, as lists of items that share a bucket.

    Each of `lefts` is to be compared with all of `rights`, or, where that is null, with those after it in `lefts`.
    Without `every` pair being wanted, items of large buckets are compared with a part of the others.
    """
    held: tuple[np.ndarray, pa.Array] | None = None  # the last bucket, which may go on
    crowd: Crowd | None = None  # the same, if it is large
    for batch in batches:
        keys, items = np.asarray(batch["key"]), batch["item"]
        if crowd is not None:
            same = int(np.searchsorted(keys, crowd.key, side="right"))
            yield from unit_batches(crowd.add(items[:same]))
            if same == len(keys):
                continue
            yield from unit_batches(crowd.close())
            crowd, keys, items = None, keys[same:], items[same:]
        elif held is not None:
            keys, items = np.concatenate((held[0], keys)), pa.concat_arrays([held[1], items])
        if not len(keys):
            continue
        starts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
        sizes = np.diff(starts, append=len(keys))
        yield small_units(keys, items, starts[:-1], sizes[:-1])
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            if size > MOST:
                crowd = Crowd(int(keys[start]), every)
                yield from unit_batches(crowd.add(items[start : start + size]))
                if start + size < len(keys):
                    yield from unit_batches(crowd.close())
                    crowd = None
        held = None if crowd is not None else (keys[starts[-1] :], items[int(starts[-1]) :])
    if crowd is not None:
        yield from unit_batches(crowd.close())
    elif held is not None:
        yield small_units(*held, np.zeros(1, np.int64), np.array([len(held[0])]))


def small_units(keys: np.ndarray, items: pa.Array, starts: np.ndarray, sizes: np.ndarray) -> pa.RecordBatch:
    """A unit for each bucket of two items or more, and of MOST at most."""
    good = (sizes > 1) & (sizes <= MOST)
    inside = np.zeros(len(keys) + 1, np.int64)
    np.add.at(inside, starts[good], 1)
    np.add.at(inside, (starts + sizes)[good], -1)
    lefts = lists_of(items.filter(pa.array(np.cumsum(inside)[:-1] > 0)), sizes[good])
    return unit_batch(keys[starts[good]], lefts, pa.nulls(len(lefts), lefts.type))


def unit_batches(found: Iterator[Unit]) -> Batches:
    """Units of large buckets as batches of one row each."""
    for key, left, right in found:
        lefts = lists_of(left, np.array([len(left)]))
        rights = pa.nulls(1, lefts.type) if right is None else lists_of(right, np.array([len(right)]))
        yield unit_batch(np.array([key]), lefts, rights)


def unit_batch(keys: np.ndarray, lefts: pa.Array, rights: pa.Array) -> pa.RecordBatch:
    bands = (keys & ((1 << BAND_BITS) - 1)).astype(np.int32)
    return pa.record_batch([pa.array(bands), lefts, rights], names=["band", "lefts", "rights"])
