"""Write the items of an index to a Parquet file that other programs can read, and read them back.

A row is an item: its id, and a column `text`, `vector` or `bits` with the item, or `hashes` with
those that its set consists of. The settings are in the metadata of the file, so that an index made
from it gives the same answers.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.core.errors import DataError, LookalikeError, UsageError, whole
from lookalike.core.run import Run
from lookalike.index.base import Coding
from lookalike.index.batches import BATCH
from lookalike.index.records import Id, intact
from lookalike.index.settings import DAMAGE, check_settings
from lookalike.index.tables import FORMAT, Reader
from lookalike.io.write import check_place, write_tables

TEXT = "text bytes"  # among the settings that the file keeps: how many bytes the texts had
NAME = "index"  # of the settings among those that the file keeps
SETTINGS = b"lookalike.index"
INTEGER = "id is an integer"  # a column, if some ids are strings and others integers


def write_items(reader: Reader, coding: Coding | None, path: str, run: Run) -> None:
    """Write the items of an index, which appear in the file all or not at all."""
    if not path.endswith(".parquet"):
        raise UsageError(f"an index is exported to a Parquet file, whose name ends in .parquet; got {path!r}.")
    check_place(path)
    settings = json.dumps({**(reader.settings() or {}), TEXT: reader.text_bytes()})
    kinds = {type(item.id) for item in reader.items()}
    write_tables(_tables(reader, coding, kinds), path, {NAME: settings}, run=run)


@intact("an item")
def _tables(reader: Reader, coding: Coding | None, kinds: set[type]) -> Iterator[pa.Table]:
    kind = pa.int64() if kinds == {int} else pa.string()
    items = reader.items()
    if coding is None:
        yield pa.table({"id": pa.array([], kind)})
        return
    first = True
    while (some := list(islice(items, BATCH))) or first:
        first = False
        ids = [item.id for item in some]
        columns = {"id": pa.array(ids if kinds == {int} else list(map(str, ids)), kind)}
        if len(kinds) > 1:
            columns[INTEGER] = pa.array([isinstance(name, int) for name in ids])
        name, column = coding.column([item.payload for item in some])
        yield pa.table({**columns, name: column})


def settings_in(path: Path) -> tuple[dict[str, Any], int | None]:
    """Return the settings of the index whose items a file holds, and how many bytes its texts had."""
    try:
        facts = pq.read_metadata(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file.") from None
    except (OSError, pa.ArrowException) as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path}: cannot be read as a Parquet file: {said}.") from error
    metadata = facts.metadata or {}
    if SETTINGS not in metadata:
        raise DataError(f"{path}: was not exported from an index; build an index of its rows instead.")
    try:
        settings: dict[str, Any] = json.loads(metadata[SETTINGS])
        given = settings.pop(TEXT, None)
        text = None if given is None else whole(TEXT, given, least=0)
        check_settings(settings)
        if settings["coding"] is None and facts.num_rows:
            raise ValueError("items that nothing says how to encode")
    except DAMAGE as error:
        raise DataError(f"{path}: the settings of the index are damaged; export it again.") from error
    if settings["format"] != FORMAT:
        raise DataError(f"{path}: was exported from an index of format {settings['format']}; this one reads {FORMAT}.")
    return settings, text


def rows_in(path: Path) -> Iterator[tuple[list[Id], pa.Array]]:
    """Yield the ids and items of a file, some at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            ids = batch["id"].to_pylist()
            if INTEGER in batch.schema.names:
                integers = batch[INTEGER].to_pylist()
                ids = [int(name) if is_int else name for name, is_int in zip(ids, integers, strict=True)]
            yield ids, batch.column(batch.num_columns - 1)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise an error with the path in place of those that another file's columns cause."""
    try:
        yield
    except LookalikeError:
        raise
    except (OSError, LookupError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{path}: cannot be read as an exported index: {said}.") from error
