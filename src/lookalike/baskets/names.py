"""Read the names of items from a file of ids and names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError
from lookalike.core.run import Run
from lookalike.io.csv import csv_rows
from lookalike.io.formats import format_of
from lookalike.io.part import Part
from lookalike.io.records import RecordSource, as_table
from lookalike.io.remote import place_of
from lookalike.io.tables import reading


class Names:
    """Names of items, from a file with the id in the first column and the name in the second.

    A header is optional. Text that is not UTF-8 is read as Latin-1; the separator is detected.
    """

    def __init__(self, path: str | Path, ids: pa.Array):
        self.keys, self.names = read_names(place_of(path))
        known = pc.is_in(ids.cast(pa.string()), self.keys)
        self.missing = len(ids) - int(pc.sum(known).as_py() or 0)
        if len(ids) and self.missing == len(ids):
            raise DataError(f"{path}: none of its ids is the id of an item; the first column must be the id.")

    def of(self, ids: pa.Array | pa.ChunkedArray) -> Any:
        """Return the names of items, or the id where there is no name."""
        texts = ids.cast(pa.string())
        return pc.coalesce(self.names.take(pc.index_in(texts, self.keys)), texts)

    def of_list(self, ids: list[Any]) -> list[str]:
        """Return the names of a list of items, as `of` does."""
        names: list[str] = self.of(pa.array(ids)).to_pylist() if ids else []
        return names


def read_names(path: Path) -> tuple[pa.Array, pa.Array]:
    """Return the ids and names in a file; of repeated ids, the first; a header matches no id."""
    if not path.is_file():
        raise DataError(f"{path}: no such file.")
    if format_of(path) in ("parquet", "arrow", "jsonl"):
        table = RecordSource(path).read(Run())
        if table.num_columns < 2:
            raise DataError(f"{path}: names need two columns, the id and the name; it has {table.num_columns}.")
        ids, names = (table.column(at).cast(pa.string()).combine_chunks() for at in (0, 1))
    else:
        rows = read_cells(path)
        ids, names = (pa.array([row[at].strip() for row in rows], pa.string()) for at in (0, 1))
    first = pa.array(np.unique(np.asarray(ids.dictionary_encode().indices), return_index=True)[1])
    return ids.take(first), names.take(first)


def read_cells(path: Path) -> list[list[str]]:
    """Return the cells of all lines that are not blank."""
    part = as_table(Part(str(path), format_of(path) or "text", (path,)))
    part = replace(part, format="csv") if part.format == "text" else part
    with reading(part):
        rows = csv_rows(part, None)
        if any("\udc80" <= sign <= "\udcff" for row in rows for cell in row[:2] for sign in cell):  # not UTF-8
            rows = csv_rows(replace(part, encoding="latin-1"), None)
    for number, row in enumerate(rows, 1):
        if len(row) < 2:
            raise DataError(f"{path}, line {number}: a name needs two cells, the id and the name; got {row[0]!r}.")
    return rows
