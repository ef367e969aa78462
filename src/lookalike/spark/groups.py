"""Compare the members of groups: each document comes once to the task of its group.

A group is a connected component of items that share buckets, so no similar pair is in two groups,
and what one machine does with a collection can be done with some whole groups at a time. Groups go
to places, none of which takes more than a stated number of bytes: texts and elements. A group that
is larger is cut into blocks, and each place then has two of them.

Like `tasks`, this module does not use Spark.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.run import ONE_THREAD
from lookalike.core.storage import IN_MEMORY
from lookalike.items.sets import Sets
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.hashing import GOLDEN, mix
from lookalike.search.cluster import components, keep_stars
from lookalike.search.verify import verify_bands
from lookalike.spark.making import Making
from lookalike.spark.parcels import Batches, Parcels, gathered, in_order, places_of
from lookalike.spark.tasks import keys_of
from lookalike.theory.banding import Buckets, find_buckets

LIMIT = 256 << 20  # bytes of texts and elements at a place
LEAST = 16 << 20  # bytes of a place, below which it is not worth a place of its own
SHARES = 4  # places to which a task deals its groups, if they are small
TEXTS = 64 << 20  # bytes of texts that are dealt at a time
CHANGED = "the data frame returned different rows when it was read again: write it to a file first, or cache it."
PLACED = ["number", "place", "part"]
BROUGHT = ["place", "members", "texts"]


# --- places ---


def packed(batches: Batches, limit: int) -> Batches:
    """Turn (number, group, weight), sorted by group, into (number, place, part).

    A place is the number of its first group. Groups of more than `limit` bytes get none.
    """
    for table in gathered(batches, 1 << 62):
        group, weight = (np.asarray(table[name].combine_chunks()) for name in ("group", "weight"))
        starts = np.flatnonzero(np.diff(group, prepend=~group[:1]))
        sizes = np.add.reduceat(weight, starts)
        share = min(limit // 2, max(LEAST, int(sizes.sum()) // SHARES))
        places, small = group[starts], np.flatnonzero(sizes <= share)
        before = np.cumsum(sizes[small]) - sizes[small]
        _, first, share_of = np.unique(before // share, return_index=True, return_inverse=True)
        places[small] = places[small][first][share_of]
        members = np.diff(np.append(starts, len(group)))
        cut = np.repeat(sizes > limit, members)
        columns = [table["number"].combine_chunks(), pa.array(np.repeat(places, members), mask=cut)]
        yield pa.record_batch([*columns, pa.array(np.zeros(len(group), np.int32))], names=PLACED)


def cut_up(batches: Batches, descending: tuple[bool, ...], limit: int) -> Batches:
    """Turn (number, group, weight, item), sorted by group, into (number, group, block, blocks).

    Blocks are in order of the items, and two of them have at most `limit` bytes, unless an item has
    more than a quarter of it. What has at most `limit` bytes is one block.
    """
    for table in gathered(batches, 1 << 62):
        table = table.combine_chunks()
        every = np.asarray(table["group"])
        for group in np.unique(every).tolist():
            rows = table.filter(pa.array(every == group)).combine_chunks()
            rows = rows.take(in_order(rows["item"].chunk(0), descending))
            weight = np.asarray(rows["weight"])
            most = limit if weight.sum() <= limit else max(1, limit // 4)
            block = (np.cumsum(weight) - weight) // max(1, most)
            _, block = np.unique(block, return_inverse=True)
            counts = np.full(len(rows), block[-1] + 1)
            columns = [
                rows["number"].combine_chunks(),
                pa.array(np.full(len(rows), group)),
                pa.array(block),
                pa.array(counts),
            ]
            yield pa.record_batch(columns, names=["number", "group", "block", "blocks"])


def crossed(batches: Batches) -> Batches:
    """Turn (number, group, block, blocks) into (number, place, part): a place for any two blocks.

    Each block also has a place of its own.
    """
    for batch in batches:
        number, group, block, blocks = (np.asarray(column) for column in batch.columns)
        other = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        number, group, block = (np.repeat(column, blocks) for column in (number, group, block))
        place = place_of(group, np.minimum(block, other), np.maximum(block, other))
        part = (block > other).astype(np.int32)
        yield pa.record_batch([pa.array(number), pa.array(place), pa.array(part)], names=PLACED)


def place_of(group: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a number, below 0, for the place of two blocks of a group."""
    with np.errstate(over="ignore"):
        hashed = mix.py_func(group.astype(np.uint64) + GOLDEN)
        for block in (one, other):
            hashed = mix.py_func(hashed + block.astype(np.uint64))
    places: np.ndarray = -1 - (hashed >> np.uint64(1)).view(np.int64)
    return places


# --- what travels ---


def member_schema(item: pa.DataType, bands: int) -> pa.Schema:
    """Return the schema of a parcel of members."""
    return pa.schema({"number": pa.int64(), "part": pa.int32(), "item": item, "keys": pa.binary(8 * bands)})


def dealt_members(batches: Batches, members: Parcels) -> Batches:
    """Turn (place, number, part, item, keys) into (place, members, texts): parcels, without texts."""
    for table in gathered(batches, 1 << 16):
        place, parcels = members.dealt(table, np.asarray(table["place"].combine_chunks())).columns
        yield pa.record_batch([place, parcels, pa.nulls(len(place), pa.binary())], names=BROUGHT)


def dealt_texts(batches: Batches, texts: Parcels) -> Batches:
    """Turn (place, number, content) into (place, members, texts): parcels, without members."""
    for table in gathered(batches, TEXTS, sized=True):
        place, parcels = texts.dealt(table, np.asarray(table["place"].combine_chunks())).columns
        yield pa.record_batch([place, pa.nulls(len(place), pa.binary()), parcels], names=BROUGHT)


class PlacedMembers(NamedTuple):
    """The members that came to a place, in order of part and item, and their sets."""

    number: int
    items: pa.Array
    part: np.ndarray
    sets: Sets
    keys: np.ndarray  # members x bands

    @property
    def split(self) -> int:
        """Return how many members are of the first part."""
        return int(np.count_nonzero(self.part == 0))

    def buckets(self) -> tuple[Buckets, np.ndarray, Sets]:
        """Return the buckets of members that share one, those members, and their sets."""
        columns = list(np.ascontiguousarray(self.keys.T))
        buckets = find_buckets(columns, np.arange(len(self.items)), ONE_THREAD, IN_MEMORY)
        whole = len(buckets.items) == len(self.items)
        return buckets, buckets.items, self.sets if whole else self.sets.take(buckets.items)


def arrived(
    batches: Batches, members: Parcels, texts: Parcels, making: Making, descending: tuple[bool, ...]
) -> Iterator[PlacedMembers]:
    """Yield the places, given (place, members, texts) sorted by place."""
    assert making.plan.bands is not None
    for number, [some, contents] in places_of(batches, "members", "texts"):
        rows = pa.Table.from_batches(map(members.unpack, some), members.schema).combine_chunks()
        made, numbers = [], [np.zeros(0, np.int64)]
        for parcel in contents:
            batch = texts.unpack(parcel)
            made.append(making.sets(batch["content"]))
            numbers.append(np.asarray(batch["number"]))
        order = np.asarray(in_order(rows["item"].chunk(0), descending)) if len(rows) else np.zeros(0, np.int64)
        order = order[np.argsort(np.asarray(rows["part"])[order], kind="stable")]
        rows = rows.take(pa.array(order)).combine_chunks()
        there, wanted = np.concatenate(numbers), np.asarray(rows["number"])
        by_number = np.argsort(there)
        found = np.searchsorted(there[by_number], wanted)
        if len(there) != len(wanted) or not np.array_equal(there[by_number][np.minimum(found, len(there) - 1)], wanted):
            raise DataError(CHANGED)
        sets = Sets.concatenate(made).take(by_number[found])
        keys = keys_of(rows["keys"].chunk(0), making.plan.bands.bands)
        yield PlacedMembers(number, rows["item"].chunk(0), np.asarray(rows["part"]), sets, keys)


# --- what is done there ---


@dataclass(frozen=True)
class Compare:
    """A way to compare the members of a place, whose items then come in pairs."""

    making: Making
    descending: tuple[bool, ...]
    members: Parcels
    texts: Parcels
    total: int  # members at all places

    def __call__(self, batches: Batches) -> Batches:
        """Turn (place, members, texts), sorted by place, into what was found: (a, b, similarity)."""
        for place in arrived(batches, self.members, self.texts, self.making, self.descending):
            buckets, rows, sets = place.buckets()
            left, right, shared = self.found(place, buckets, rows, sets)
            sizes = sets.totals
            values = self.making.plan.row.of_overlaps(shared, sizes[left], sizes[right])
            columns = [place.items.take(pa.array(rows[side])) for side in (left, right)]
            yield pa.record_batch([*columns, pa.array(values)], names=["a", "b", "similarity"])

    @property
    def ratio(self) -> tuple[int, int]:
        """Return the threshold as a ratio."""
        return self.making.plan.threshold.as_integer_ratio()

    def found(self, place: PlacedMembers, buckets: Buckets, rows: np.ndarray, sets: Sets) -> tuple[np.ndarray, ...]:
        """Return the pairs of rows of `sets` that were found, and what they share."""
        raise NotImplementedError


@dataclass(frozen=True)
class SimilarPairs(Compare):
    """Find all similar pairs; with `two`, only pairs of items whose side differs."""

    limit: int
    two: bool = False

    def found(self, place: PlacedMembers, buckets: Buckets, rows: np.ndarray, sets: Sets) -> tuple[np.ndarray, ...]:
        sides = ALONE
        if place.part.any():
            sides = Sides(place.split).among(rows)
        elif self.two:
            sides = Sides(int(np.count_nonzero(np.asarray(place.items.field("side")) == 0))).among(rows)
        found = verify_bands(buckets, sets, *self.ratio, sides, self.limit, ONE_THREAD, IN_MEMORY)
        left, right, shared, _ = found
        if self.two and place.part.any():
            side = np.asarray(place.items.field("side"))[rows]
            apart = side[left] != side[right]
            left, right, shared = left[apart], right[apart], shared[apart]
        return left, right, shared


@dataclass(frozen=True)
class Connections(Compare):
    """Find pairs that connect all similar items: (item, first of those it is connected with)."""

    def found(self, place: PlacedMembers, buckets: Buckets, rows: np.ndarray, sets: Sets) -> tuple[np.ndarray, ...]:
        root, _ = components(buckets, sets, *self.ratio, ONE_THREAD, IN_MEMORY, self.total)
        left = np.flatnonzero(root != np.arange(len(root)))
        return left, root[left], np.zeros(len(left), np.int64)


@dataclass(frozen=True)
class Removals(Compare):
    """Find items to drop: (item, kept item, similarity). Those of part 0 decide among themselves.

    Those of part 1 are compared only with the kept ones of part 0.
    """

    def found(self, place: PlacedMembers, buckets: Buckets, rows: np.ndarray, sets: Sets) -> tuple[np.ndarray, ...]:
        order = np.arange(len(rows))
        first = int(np.searchsorted(rows, place.split))
        centre, shared, _ = keep_stars(
            buckets, sets, order[:first], *self.ratio, ONE_THREAD, IN_MEMORY, order[first:], self.total
        )
        left = np.flatnonzero(centre != order)
        return left, centre[left], shared[left]
