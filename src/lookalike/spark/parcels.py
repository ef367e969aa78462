"""Pack rows into parcels, so that a shuffle moves a few large values, not millions of small rows.

Like `tasks`, this module does not use Spark.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 1 << 17  # rows dealt at a time
SENT = ["place", "parcel"]
CODEC = pa.Codec("zstd", 1)

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Parcels:
    """A schema of rows, and a number of places to which they are dealt by a hash."""

    schema: pa.Schema
    places: int = 1
    compressed: bool = False  # pays off for texts, not for hashes

    def deal(self, tables: Iterator[pa.Table], by: str) -> Batches:
        """Deal rows to (place, parcel), by the hashes in a column."""
        for table in gathered(tables, ROWS):
            place = np.asarray(table[by].combine_chunks()).view(np.uint64) >> np.uint64(32)
            yield self.dealt(table, ((place * np.uint64(self.places)) >> np.uint64(32)).view(np.int64))

    def dealt(self, table: pa.Table, place: np.ndarray) -> pa.RecordBatch:
        """Return (place, parcel): the rows of each place, in their order."""
        short = place.astype(np.uint16)  # which NumPy sorts by radix
        order = np.argsort(short if np.array_equal(short, place) else place, kind="stable")
        rows = table.select(self.schema.names).take(pa.array(order)).cast(self.schema).combine_chunks()
        starts = np.flatnonzero(np.diff(place[order], prepend=~place[order[:1]]))
        bounds = [*starts.tolist(), len(rows)]
        parcels = [self.pack(rows.slice(start, stop - start)) for start, stop in pairwise(bounds)]
        return pa.record_batch([pa.array(place[order[starts]]), pa.array(parcels, pa.binary())], names=SENT)

    def arrived(self, batches: Batches) -> Iterator[tuple[int, pa.Table]]:
        """Yield each place with its rows, given (place, parcel) sorted by place."""
        for place, [parcels] in places_of(batches, "parcel"):
            yield place, pa.Table.from_batches(map(self.unpack, parcels)).combine_chunks()

    def opened(self, batches: Batches) -> Batches:
        """Yield the rows of each parcel, of any place."""
        return (self.unpack(parcel) for batch in batches for parcel in batch["parcel"])

    def pack(self, rows: pa.Table) -> bytes:
        """Return rows as one value, without their schema."""
        batch = rows.to_batches()[0] if len(rows) else pa.RecordBatch.from_pylist([], rows.schema)
        whole = batch.serialize()
        if not self.compressed:
            plain: bytes = whole.to_pybytes()
            return plain
        small: bytes = whole.size.to_bytes(8, "little") + CODEC.compress(whole, asbytes=True)
        return small

    def unpack(self, parcel: pa.BinaryScalar) -> pa.RecordBatch:
        """Return the rows of a parcel."""
        whole = parcel.as_buffer()
        if self.compressed:
            whole = CODEC.decompress(whole.slice(8), int.from_bytes(whole.slice(0, 8), "little"))
        return pa.ipc.read_record_batch(whole, self.schema)


def places_of(batches: Batches, *names: str) -> Iterator[tuple[int, list[list[pa.BinaryScalar]]]]:
    """Yield each place with its parcels in these columns, given rows sorted by place; nulls are left out."""
    last: int | None = None
    waiting: list[list[pa.BinaryScalar]] = [[] for _ in names]
    for batch in batches:
        columns = [batch[name] for name in names]
        for at, place in enumerate(batch["place"].to_pylist()):
            if last is not None and place != last:
                yield last, waiting
                waiting = [[] for _ in names]
            last = place
            for parcels, column in zip(waiting, columns, strict=True):
                if column[at].is_valid:
                    parcels.append(column[at])
    if last is not None:
        yield last, waiting


def gathered(tables: Iterator[pa.Table | pa.RecordBatch], least: int, sized: bool = False) -> Iterator[pa.Table]:
    """Combine tables into larger ones with at least `least` rows, or bytes, except perhaps the last."""
    some: list[pa.Table] = []
    held = 0
    for table in tables:
        if len(table):
            some.append(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
            held += table.nbytes if sized else len(table)
        if held >= least:
            yield pa.concat_tables(some)
            some, held = [], 0
    if some:
        yield pa.concat_tables(some)


def in_order(items: pa.Array, descending: Sequence[bool] = ()) -> pa.Array:
    """Return the positions that sort items; structs by one field after another, some descending.

    Fields that are null or not a number come last.
    """
    if not pa.types.is_struct(items.type):
        return pc.sort_indices(items)
    names = [field.name for field in items.type]
    falling = [*descending, *[False] * (len(names) - len(descending))]
    keys = [(name, "descending" if down else "ascending") for name, down in zip(names, falling, strict=True)]
    return pc.sort_indices(pa.table(items.flatten(), names=names), sort_keys=keys)


def in_order_of_ids(table: pa.Table) -> pa.Table:
    """Return rows in order of their column `id`."""
    order = np.asarray(pc.sort_indices(table["id"]))
    return table if (np.diff(order.astype(np.int64)) == 1).all() else table.take(pa.array(order))
