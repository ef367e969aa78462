"""Pack rows into parcels, so that a shuffle moves a few large values, not millions of small rows.

Like `tasks`, this module does not use Spark.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 1 << 17  # rows dealt at a time

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Parcels:
    """A schema of rows and a number of places to which they are dealt by a hash."""

    schema: pa.Schema
    places: int

    def deal(self, tables: Iterator[pa.Table], by: str) -> Batches:
        """Deal rows to (place, parcel), by the hashes in a column."""
        for table in gathered(tables, ROWS):
            place = np.asarray(table[by].combine_chunks()).view(np.uint64) >> np.uint64(32)
            place = (place * np.uint64(self.places)) >> np.uint64(32)
            order = np.argsort(place, kind="stable")
            rows = table.take(pa.array(order)).cast(self.schema).combine_chunks()
            starts = np.flatnonzero(np.diff(place[order], prepend=~place[order[:1]]))
            bounds = [*starts.tolist(), len(rows)]
            parcels = [pack(rows.slice(start, stop - start)) for start, stop in pairwise(bounds)]
            numbers = pa.array(place[order[starts]].astype(np.int32))
            yield pa.record_batch([numbers, pa.array(parcels, pa.binary())], names=["place", "parcel"])

    def arrived(self, batches: Batches) -> Iterator[pa.Table]:
        """Yield the rows of each place, given (place, parcel) sorted by place."""
        last: int | None = None
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            for place, parcel in zip(batch["place"].to_pylist(), batch["parcel"], strict=True):
                if place != last and waiting:
                    yield pa.Table.from_batches(waiting).combine_chunks()
                    waiting = []
                last = place
                waiting.append(self.unpack(parcel))
        if waiting:
            yield pa.Table.from_batches(waiting).combine_chunks()

    def opened(self, batches: Batches) -> Batches:
        """Yield the rows of each parcel, of any place."""
        return (self.unpack(parcel) for batch in batches for parcel in batch["parcel"])

    def unpack(self, parcel: pa.BinaryScalar) -> pa.RecordBatch:
        """Return the rows of a parcel."""
        return pa.ipc.read_record_batch(parcel.as_buffer(), self.schema)


def pack(rows: pa.Table) -> bytes:
    """Return rows as one value, without their schema."""
    batch = rows.to_batches()[0] if len(rows) else pa.RecordBatch.from_pylist([], rows.schema)
    packed: bytes = batch.serialize().to_pybytes()
    return packed


def gathered(tables: Iterator[pa.Table | pa.RecordBatch], least: int) -> Iterator[pa.Table]:
    """Combine tables into larger ones with at least `least` rows, except perhaps the last."""
    some: list[pa.Table] = []
    rows = 0
    for table in tables:
        if len(table):
            some.append(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
            rows += len(table)
        if rows >= least:
            yield pa.concat_tables(some)
            some, rows = [], 0
    if some:
        yield pa.concat_tables(some)


def in_order(items: pa.Array) -> pa.Array:
    """Return the positions that sort items as Spark does: structs by one field after another."""
    if not pa.types.is_struct(items.type):
        return pc.sort_indices(items)
    names = [field.name for field in items.type]
    table = pa.table(items.flatten(), names=names)
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
