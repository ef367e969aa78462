"""Reads data sets that can only be iterated, such as an IterableDataset of Hugging Face."""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.io.arrow import cut
from lookalike.io.part import Block, Part, Task, ready

NAME = "the data set"
ROWS = 1000  # to take at a time
LOOK = 20 * ROWS  # rows to count if the data set does not know how many it has
USUAL = 1_000_000  # rows to expect if there are more


class Iterated:
    """A data set that is iterated anew for each pass, and must then give the same texts again."""

    def __init__(self, given: Any):
        self.given = given
        self.seen: dict[tuple[str, ...], int] = {}  # a checksum of each pass that was complete, by columns

    def batches(self, names: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield all rows, with all columns or some."""
        given = self.given if names is None else self.given.select_columns(names)
        check = 0
        typed = given.features is not None  # otherwise, a null could have another type than its column
        for rows in (given.with_format("arrow") if typed else given).iter(batch_size=ROWS):
            table = rows if typed else pa.table(rows)
            check = _checksum(table, check)
            yield table
        if check != self.seen.setdefault(tuple(names or ()), check):
            how = "give it a seed if it is shuffled, or save it as Parquet first"
            raise DataError(f"{NAME}: must give the same rows each time it is read; it gave others. Please {how}.")


def _checksum(table: pa.Table, check: int) -> int:
    """Continue a checksum with the number of rows and the strings of a table."""
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else ():
            texts = chunk.cast(pa.large_string())
            _, offsets, content = texts.buffers()
            if len(texts) and content is not None:
                ends = np.frombuffer(offsets, np.int64)[[texts.offset, texts.offset + len(texts)]]
                check = crc32(memoryview(content)[ends[0] : ends[1]], check)
    return crc32(len(table).to_bytes(8, "little"), check)


def is_iterated(given: Any) -> bool:
    """Return whether this is a data set that can only be iterated."""
    return hasattr(given, "with_format") and hasattr(given, "features") and not hasattr(given, "__len__")


def stream_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield the rows of a data set."""
    for table in part.content.batches(schema.names):
        yield from map(ready, _blocks(table, schema, size))


def _blocks(table: pa.Table, schema: pa.Schema, size: int) -> Iterator[Block]:
    have = set(table.column_names)
    columns = [
        table[field.name].cast(field.type) if field.name in have else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return cut(pa.Table.from_arrays(columns, schema=schema), size)


def stream_schema(part: Part) -> pa.Schema:
    """Return the columns that a data set states, or else those of its first rows."""
    features = part.content.given.features
    if features:
        return features.arrow_schema.remove_metadata()
    first = next(part.content.batches(), None)
    return pa.schema([]) if first is None else first.schema.remove_metadata()


def stream_rows(part: Part) -> int:
    """Return the number of rows: the one that is stated, or counted if it is small, else a guess."""
    info = getattr(part.content.given, "info", None)
    split = (getattr(info, "splits", None) or {}).get(str(getattr(part.content.given, "split", "")))
    if split is not None and split.num_examples:
        return int(split.num_examples)
    count = 0
    for table in part.content.batches():
        count += len(table)
        if count >= LOOK:
            return USUAL
    return count
