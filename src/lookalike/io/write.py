"""Writes tables to Parquet, Arrow, JSON lines, CSV or TSV by suffix, or to standard output as JSON.

A file appears whole or not at all: it is written under a temporary name in the same folder, and
moved into place when it is complete. Rows are regrouped by fixed rules, so that the bytes do not
depend on the batches in which the rows arrived.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from gzip import GzipFile
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError
from lookalike.core.files import replacing_file
from lookalike.core.run import slices

SUFFIXES = (".parquet", ".arrow", ".jsonl", ".ndjson", ".csv", ".tsv")
TEXTS = {".jsonl": ".jsonl", ".ndjson": ".jsonl", ".csv": ".csv", ".tsv": ".tsv"}  # these can be compressed
LEVEL = 4  # of gzip: twice as fast as the usual 6, for files up to 5% larger
LINES = 256  # rows turned into lines of JSON at a time
GROUP, GROUP_BYTES = 1 << 14, 1 << 26  # rows and approximate bytes of a Parquet row group or Arrow batch
BYTES_HINT = "a column holds bytes that are not valid UTF-8; a .parquet or .arrow file can hold them."
FORMULA, WRITTEN_NUMBER = r"\A[=+\-@\t\r]", r"\A[-+]?[0-9.,]+([eE][-+]?[0-9]+)?\z"
STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def check_output(path: str) -> None:
    """Raise an error, before any work is done, if an output cannot be written."""
    if path == "-":
        return
    if kind_of(path) is None:
        ends = f"{', '.join(SUFFIXES)}, or a text format and .gz (.csv.gz), or be - for standard output"
        hint = " A file of JSON lines ends in .jsonl." if path.endswith((".json", ".json.gz")) else ""
        raise UsageError(f"the output file must end in {ends}; got {path!r}.{hint}")
    check_place(path)


def check_place(path: str) -> None:
    """Raise an error, before any work is done, if a file cannot be written at this path."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder {folder}.")
    if Path(path).is_dir():
        raise DataError(f"{path}: cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path}: cannot be written: permission denied.")


def kind_of(path: str) -> str | None:
    """Return the format of an output as its usual suffix; None if the name does not show it.

    >>> kind_of("pairs.ndjson.gz"), kind_of("-"), kind_of("pairs.parquet"), kind_of("pairs.xlsx")
    ('.jsonl', '.jsonl', '.parquet', None)
    """
    if path == "-":
        return ".jsonl"
    suffix = Path(path.removesuffix(".gz")).suffix
    return TEXTS.get(suffix) if suffix in TEXTS or path.endswith(".gz") else suffix if suffix in SUFFIXES else None


def is_separated(path: str) -> bool:
    """Return whether an output is CSV or TSV, which spreadsheets open."""
    return kind_of(path) in (".csv", ".tsv")


def write_tables(tables: Iterable[pa.Table], path: str, settings: dict[str, str], excel_safe: bool = False) -> None:
    """Write tables of one schema to one file; Parquet and Arrow store the settings as metadata.

    With `excel_safe`, CSV and TSV hold no text that a spreadsheet would take for a formula.
    """
    with writing(tables, path, settings, excel_safe):
        pass


def check_columns(schema: pa.Schema, path: str) -> None:
    """Raise an error, before any work is done, if the format cannot hold a type of these columns."""
    with _explained(path):
        _WRITERS[kind_of(path) or ""](iter([schema.empty_table()]), BytesIO(), {})


@contextmanager
def writing(
    tables: Iterable[pa.Table], path: str, settings: dict[str, str], excel_safe: bool = False
) -> Iterator[None]:
    """Like `write_tables`, but move the file into place only if the `with` block succeeds."""
    check_output(path)
    if excel_safe and is_separated(path):
        tables = map(_without_formulas, tables)
    with replacing(path) as place, _compressed(path, place) as file:
        with _explained(path):
            _WRITERS[kind_of(path) or ""](regroup(tables), file, settings)
        yield


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the errors of writers into a DataError that names the output."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be written: {BYTES_HINT}") from error
    except MemoryError:
        raise
    except OverflowError as error:
        raise DataError(f"{path}: cannot be written: a date or time is out of range: {error}.") from error
    except (pa.ArrowException, UnicodeError) as error:  # a column that this format cannot hold
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be written: {BYTES_HINT if 'UTF8' in reason else reason}") from error


def write_lines(lines: Iterable[bytes], path: str) -> None:
    """Write lines of JSON as they are."""
    with writing_lines(lines, path):
        pass


@contextmanager
def writing_lines(lines: Iterable[bytes], path: str) -> Iterator[None]:
    """Like `write_lines`, but move the file into place only if the `with` block succeeds."""
    check_output(path)
    with replacing(path) as place, _compressed(path, place) as file:
        for line in lines:
            file.write(line + b"\n")
        yield


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` if the `with` block succeeds, else is removed."""
    if path == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"standard output: cannot be written: {error.strerror or error}") from error
        return
    try:
        with replacing_file(path) as file:
            yield file
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _compressed(path: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open the file for compression if its name ends in .gz; the bytes omit the name and time."""
    if not path.endswith(".gz"):
        yield file
        return
    with GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as small:
        yield small  # type: ignore[misc]


def regroup(tables: Iterable[pa.Table], rows: int = GROUP, size: int = GROUP_BYTES) -> Iterator[pa.Table]:
    """Yield the rows in tables of `rows` rows or `size` bytes of text; an empty one if no rows."""
    waiting: list[pa.Table] = []
    count = filled = given = 0
    for table in tables:
        if waiting and not _joins(waiting[-1], table):
            if count:
                yield _copy(waiting)
            waiting, count, filled, given = [], 0, 0, given + (count > 0)
        weights = _text_bytes(table)
        waiting.append(table[:0])
        start = 0
        while start < len(table):
            total = filled + np.cumsum(weights[start : start + rows - count])
            stop = min(start + len(total), start + int(np.searchsorted(total, size)) + 1)
            waiting.append(table.slice(start, stop - start))
            count, filled, start = count + stop - start, int(total[stop - start - 1]), stop
            if count == rows or filled >= size:
                yield _copy(waiting)
                waiting, count, filled, given = [], 0, 0, given + 1
    if count or (waiting and not given):
        yield _copy(waiting)


def _joins(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables can become one; in text formats, columns can have several types."""
    if one.schema.equals(other.schema):
        return True
    try:
        pa.unify_schemas([one.schema, other.schema])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def _text_bytes(table: pa.Table) -> np.ndarray:
    """Return the number of bytes in the strings of each row."""
    total = np.zeros(len(table), np.int64)
    for column in table.columns:
        if any(test(column.type) for test in STRINGS):
            total += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    return total


def _copy(tables: list[pa.Table]) -> pa.Table:
    """Copy the rows, because the memory layout of slices can show in the bytes of an Arrow file."""
    table = pa.concat_tables(tables, promote_options="default")
    columns = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _write_parquet(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    import pyarrow.parquet as pq

    first = next(tables, pa.table({}))
    schema = _with_settings(first.schema, settings)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in _chain(first, tables):
            writer.write_table(table.cast(schema), row_group_size=GROUP)


def _write_arrow(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    first = next(tables, pa.table({}))
    schema = _with_settings(first.schema, settings)
    with pa.ipc.new_file(file, schema) as writer:
        for table in _chain(first, tables):
            writer.write_table(table.cast(schema))


def _write_csv(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str], separator: str = ",") -> None:
    from pyarrow import csv

    for at, table in enumerate(map(_flat, tables)):
        csv.write_csv(table, file, csv.WriteOptions(include_header=at == 0, delimiter=separator))


def _flat(table: pa.Table) -> pa.Table:
    """Return the table with nested values as JSON, because a cell of CSV cannot hold them."""
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [None if value is None else _json(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(cells, pa.string()))
    return table


def _without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before names and texts that begin like a formula."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
        if any(test(table.schema.field(at).type) for test in STRINGS):
            table = table.set_column(at, field.name, _as_text(table.column(at)))
    return table.rename_columns(_as_text(pa.array(table.column_names, pa.string())).to_pylist())


def _as_text(cells: Any) -> Any:
    formula = pc.and_(
        pc.match_substring_regex(cells, FORMULA), pc.invert(pc.match_substring_regex(cells, WRITTEN_NUMBER))
    )
    quote, nothing = (pa.scalar(text, cells.type) for text in ("'", ""))
    return pc.if_else(formula, pc.binary_join_element_wise(quote, cells, nothing), cells)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_as_string)


def _write_jsonl(tables: Iterator[pa.Table], file: IO[bytes], settings: dict[str, str]) -> None:
    for table in map(_finite, tables):
        for part in slices(len(table), LINES):  # Python objects take several times the memory
            for row in table[part].to_pylist():
                file.write(_json(row).encode() + b"\n")


_WRITERS: dict[str, Callable[[Iterator[pa.Table], IO[bytes], dict[str, str]], None]] = {
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".tsv": partial(_write_csv, separator="\t"),
}


def _with_settings(schema: pa.Schema, settings: dict[str, str]) -> pa.Schema:
    ours = {f"lookalike.{name}".encode(): value.encode() for name, value in settings.items()}
    return schema.with_metadata({**(schema.metadata or {}), **ours})


def _finite(table: pa.Table) -> pa.Table:
    """Return the table with null in place of nan and infinity, which JSON does not have."""
    for at, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            table = table.set_column(at, field, pc.if_else(pc.is_finite(table.column(at)), table.column(at), None))
    return table


def _as_string(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _chain(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest
