"""Tables to files: Parquet, Arrow, JSON lines, CSV by suffix, or JSON lines on standard output.

A file appears whole or not at all: it is written beside its place under another name, and moved there when it is
complete. Rows are regrouped to a fixed number a block, so that the bytes do not depend on how the rows came.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from lookalike.errors import DataError, UsageError

SUFFIXES = (".parquet", ".arrow", ".jsonl", ".csv")
GROUP = 1 << 14  # rows a Parquet row group or Arrow batch


def check_output(path: str) -> None:
    """Raise now for an output that could not be written in the end."""
    if path == "-":
        return
    suffix, folder = Path(path).suffix, Path(path).absolute().parent
    if suffix not in SUFFIXES:
        raise UsageError(f"output must end in {', '.join(SUFFIXES)}, or be - for standard output; got {path!r}.")
    if not folder.is_dir():
        raise DataError(f"{path}: cannot be written, there is no folder {folder}.")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise DataError(f"{path}: cannot be written, permission denied.")


def write_tables(tables: Iterable[pa.Table], path: str, settings: dict[str, str]) -> None:
    """Write tables of one schema as one file; Parquet and Arrow files carry the settings in their metadata."""
    check_output(path)
    with replacing(path) as file:
        writer = Path(path).suffix if path != "-" else ".jsonl"
        _WRITERS[writer](regroup(tables), file, settings)


def write_lines(lines: Iterable[bytes], path: str) -> None:
    """Write lines of JSON as they are."""
    check_output(path)
    with replacing(path) as file:
        for line in lines:
            file.write(line + b"\n")


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when all went well, and leaves nothing when not."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(path)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def regroup(tables: Iterable[pa.Table], rows: int = GROUP) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` rows, the last one shorter; at least one table, if there is any."""
    waiting: list[pa.Table] = []
    count = -1
    for table in tables:
        waiting.append(table)
        count = max(count, 0) + len(table)
        if count >= rows:
            whole = pa.concat_tables(waiting, promote_options="default")
            while count >= rows:
                yield whole.slice(0, rows).combine_chunks()
                whole, count = whole.slice(rows), count - rows
            waiting = [whole]
    if waiting and count != 0:
        yield pa.concat_tables(waiting, promote_options="default").combine_chunks()
    elif waiting:
        yield waiting[0]


def _write_parquet(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    import pyarrow.parquet as pq

    first = next(tables)
    schema = first.schema.with_metadata(_metadata(settings))
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in _chain(first, tables):
            writer.write_table(table.cast(schema), row_group_size=GROUP)


def _write_arrow(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    first = next(tables)
    schema = first.schema.with_metadata(_metadata(settings))
    with pa.ipc.new_file(file, schema) as writer:
        for table in _chain(first, tables):
            writer.write_table(table.cast(schema))


def _write_csv(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    from pyarrow import csv

    first = next(tables)
    with csv.CSVWriter(file, first.schema) as writer:
        for table in _chain(first, tables):
            writer.write_table(table)


def _write_jsonl(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    for table in tables:
        rows = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
        file.write("".join(row + "\n" for row in rows).encode())


_WRITERS = {".parquet": _write_parquet, ".arrow": _write_arrow, ".csv": _write_csv, ".jsonl": _write_jsonl}


def _metadata(settings: dict[str, str]) -> dict[str, str]:
    return {f"lookalike.{name}": value for name, value in settings.items()}


def _chain(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest
