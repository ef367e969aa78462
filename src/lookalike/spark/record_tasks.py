"""Define the tasks of a cluster on records: Arrow batches in and out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.entities.candidates import record_sets
from lookalike.entities.fields import Column, Field, canonical, normalise
from lookalike.items.sets import Sets
from lookalike.spark.making import Making, flat
from lookalike.spark.parcels import Batches


@dataclass(frozen=True)
class OfRecords(Making):
    """Sets of the normalised values of records, given as lists; see `record_sets`."""

    fields: tuple[Field, ...]
    common: frozenset[tuple[int, str]]  # frequent values, by the number of the field

    def sets(self, column: pa.Array) -> Sets:
        _, values = flat(column)
        columns = []
        for at, field in enumerate(self.fields):
            if field.kind != "category":
                one = values.take(pa.array(np.arange(at, len(values), len(self.fields)))).cast(pa.large_string())
                common = pa.array([value for number, value in self.common if number == at], pa.large_string())
                telling = pc.if_else(pc.is_in(one, common), None, one)
                columns.append(Column(field.name, field.kind, telling, telling))
        return record_sets(columns, slice(0, len(column)))


def written_out(batches: Batches, fields: Sequence[Field], day_first: Sequence[bool | None]) -> Batches:
    """Turn (id, values of fields) into (id, content): a list of normalised, expanded values."""
    for batch in batches:
        ids, *columns = batch.columns
        values = []
        for column, field, first in zip(columns, fields, day_first, strict=True):
            values.append(canonical(normalise(column, field.kind, day_first=first).values, field.kind))
        every = pa.concat_arrays(values)
        order = np.arange(len(every)).reshape(len(fields), -1).T.ravel()
        bounds = pa.array(len(fields) * np.arange(len(ids) + 1, dtype=np.int32))
        lists = pa.ListArray.from_arrays(bounds, every.take(pa.array(order)).cast(pa.string()))
        yield pa.record_batch([ids, lists], names=["id", "content"])
