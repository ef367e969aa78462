"""How each kind of input is cut into Arrow tables of bounded size.

A reader takes a part, the names of the columns wanted (None for all) and the number of bytes a table should have, and
yields blocks. Lines of JSON have a file of their own, `json_lines`.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import ENCODING_HINT, DataError
from lookalike.news import decode_page
from lookalike.parts import BOM, Part, open_path

SEPARATORS = ",;\t|"
HEAD = 1 << 16  # bytes that hold the first line of CSV, or enough of it
ROWS = 1 << 14  # of Parquet, read at a time at most


class Block(NamedTuple):
    """Some rows of a part: those of the table, and the faulty ones between them by their number in the block."""

    table: pa.Table
    faults: Mapping[int, str] = MappingProxyType({})
    lines: Sequence[bytes] = ()  # of JSON: the rows of the table as they stand in the file


# --- tables ---


def read_table(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """An Arrow table in memory, a slice at a time."""
    yield from _cut(part.content if columns is None else part.content.select(columns), size)


def read_parquet(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """Row group by row group, in batches that do not cross them; with the columns that its folders tell."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw()) as file:
        meta = file.metadata
        have, asked = file.schema_arrow.names, columns
        if columns is not None:  # at least one, which tells how many rows there are
            columns = [name for name in columns if name in have] or have[:1]
        wanted = [i for i in range(meta.num_columns) if columns is None or meta.schema.column(i).path in columns]
        for group in range(meta.num_row_groups):
            group_meta = meta.row_group(group)
            stored = sum(group_meta.column(i).total_uncompressed_size for i in wanted)
            # What repeats is stored once, so this can be far too many rows: hence a limit, and a second cut.
            rows = min(ROWS, rows_for(size, stored, group_meta.num_rows))
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
                table = with_partition(pa.Table.from_batches([batch]), part, have)
                yield from _cut(table if asked is None else table.select(asked), size)


def with_partition(table: pa.Table, part: Part, have: list[str]) -> pa.Table:
    """The table with the columns that the folders of its file tell, but for those that the file has itself."""
    for name, value in part.partition:
        if name not in have:
            table = table.append_column(name, pa.repeat(pa.scalar(value, _partition_type(value)), len(table)))
    return table


def _partition_type(value: int | str | None) -> pa.DataType:
    return pa.null() if value is None else pa.int64() if isinstance(value, int) else pa.string()


def read_arrow(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """An IPC file, memory-mapped, or an IPC stream."""
    with _open_arrow(part) as (_, batches):
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from _cut(table if columns is None else table.select(columns), size)


def read_csv(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """CSV or TSV, in blocks that grow when a row does not fit."""
    done, space = 0, max(size, 1 << 16)
    while True:
        try:
            for block in _csv_blocks(part, columns, space, done):
                done += len(block.table) + len(block.faults)
                yield block
            return
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            _check_odd_row(part, str(error))
            if "straddling" not in str(error) or space >= 1 << 30:
                raise
            space *= 8


def _csv_blocks(part: Part, columns: list[str] | None, space: int, done: int) -> Iterator[Block]:
    """The rows from number `done` on; those with too few or too many fields are faulty."""
    from pyarrow import csv as pa_csv

    faults: dict[int, str] = {}  # by number in the file

    def leave_out(row: Any) -> str:
        first = 1 if part.names else 2  # after the header, if there is one
        faults[row.number - first] = f"{row.actual_columns} fields, not {row.expected_columns}"
        return "skip"

    convert = pa_csv.ConvertOptions(
        column_types=csv_schema(part),
        include_columns=columns,
        strings_can_be_null=False,
        check_utf8=False,  # of the text and the id it is checked later, row by row
    )
    parse = pa_csv.ParseOptions(delimiter=_delimiter(part), newlines_in_values=True, invalid_row_handler=leave_out)
    with part.open() as stream:
        read = pa_csv.ReadOptions(use_threads=False, block_size=space, column_names=part.names or None)
        with _unheard():
            reader = pa_csv.open_csv(stream, read, parse, convert)
        tables = _csv_tables(reader)
        start = 0
        for table in chain(tables, [reader.schema.empty_table()]):
            stop = start + len(table)
            for fault in sorted(faults):
                stop += fault <= stop
            here = {number - start: faults.pop(number) for number in sorted(faults) if number < stop}
            past = max(0, done - start)
            past_good = past - sum(at < past for at in here)
            yield Block(table.slice(past_good), {at - past: why for at, why in here.items() if at >= past})
            start = stop


def _csv_tables(reader: Any) -> Iterator[pa.Table]:
    while True:
        with _unheard():
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        yield pa.Table.from_batches([batch])


@contextmanager
def _unheard() -> Iterator[None]:
    """Arrow cannot tell us of a row that is not UTF-8, and complains to standard error; the error itself we report."""
    heard = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = heard


def _check_odd_row(part: Part, error: str) -> None:
    """An error for a row that has not as many fields as others and is not UTF-8, which Arrow gives up at."""
    odd = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if odd:
        row, wanted, got = map(int, odd.groups())
        where = f"{part.name}, row {row - (not part.names)}"
        raise DataError(f"{where}: {got} fields, not {wanted}, and not valid UTF-8; {ENCODING_HINT}.")


def rows_for(size: int, stored: int, rows: int) -> int:
    """How many rows make about `size` bytes."""
    return max(1, min(rows, size * rows // max(1, stored)))


def _cut(table: pa.Table, size: int) -> Iterator[Block]:
    rows = rows_for(size, table.nbytes, len(table))
    return (Block(table.slice(start, rows)) for start in range(0, len(table), rows))


# --- lines and files ---


def blocks(part: Part, size: int) -> Iterator[bytes]:
    """The part's bytes in blocks of about `size` that end with a line."""
    with part.open() as stream:
        rest = stream.read(max(size, len(BOM) + 1)).removeprefix(BOM)
        while rest:
            more = stream.read(size)
            end = rest.rfind(b"\n") + 1 if more else len(rest)
            if end:
                yield rest[:end]
            rest = rest[end:] + more


def read_lines(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """A document a line."""
    for block in blocks(part, size):
        block = block.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        offsets = np.concatenate(([0], ends + 1))  # each text still with its line feed, which is cut off below
        whole = pa.Array.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(block + b"\n")]
        )
        yield Block(pa.table({"text": pc.binary_slice(whole, 0, -1)}))


def read_files(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """A document a file; its id is the path, relative to the folder or glob it was found by."""
    schema = pa.schema([("id", pa.string()), ("text", pa.large_string() if part.html else pa.large_binary())])
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    held = 0
    for name, content in _contents(part):
        text: Any = decode_page(content) if part.html else content.removeprefix(BOM)
        if ("\0" if part.html else b"\0") in text[:8192]:
            faults[len(rows) + len(faults)] = "holds null bytes, so it is no text"
        else:
            rows.append({"id": name, "text": text})
            held += len(content)
        if held >= size:
            yield Block(pa.Table.from_pylist(rows, schema), faults)
            rows, faults, held = [], {}, 0
    yield Block(pa.Table.from_pylist(rows, schema), faults)


def _contents(part: Part) -> Iterator[tuple[str, bytes]]:
    """The files of a part, or standard input, by name."""
    if part.content is not None:
        with part.open() as stream:
            yield "-", stream.read()
    for path in part.paths:
        with open_path(path, part.encoding) as stream:
            yield (path.relative_to(part.base) if part.base else path).as_posix(), stream.read()


# --- what columns there are ---


def schema_of(part: Part) -> pa.Schema:
    """The columns of a part, other than of lines of JSON."""
    if part.format in ("text", "files"):
        return pa.schema([("id", pa.int64() if part.format == "text" else pa.string()), ("text", pa.large_string())])
    if part.format == "table":
        return part.content.schema
    if part.format == "parquet":
        import pyarrow.parquet as pq

        schema = pq.read_schema(part.raw())
        return with_partition(schema.empty_table(), part, schema.names).schema
    if part.format == "arrow":
        with _open_arrow(part) as (schema, _):
            return schema
    return csv_schema(part)


def csv_schema(part: Part) -> pa.Schema:
    """Every column is a string, so that an id such as 007 is given back as it was."""
    names = list(part.names) or csv_cells(part)
    odd = next((letter for name in names for letter in name if "\udc80" <= letter <= "\udcff"), None)
    if odd is not None:
        shown = ", ".join(name.encode(errors="surrogateescape").decode(errors="replace") for name in names)
        why = f"a column's name is not valid UTF-8 (its byte {hex(ord(odd) - 0xDC00)}); it has {shown}"
        raise DataError(f"{part.name}: {why}; {ENCODING_HINT}.")
    return pa.schema([(name, pa.string()) for name in names])


def csv_cells(part: Part) -> list[str]:
    """The cells of the first line that is not blank."""
    return next(iter(csv_rows(part, 1)), [])


def csv_rows(part: Part, count: int) -> list[list[str]]:
    """The cells of the first `count` lines that are not blank; bytes that are no UTF-8 are lone surrogates."""
    with part.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as lines:
        return list(islice((row for row in csv.reader(lines, delimiter=_delimiter(part)) if row), count))


def frame_index(part: Part, schema: pa.Schema) -> str | None:
    """The first column of CSV, if it has no name: so programs write the index of a data frame."""
    first = schema.names[0] if schema.names and part.format in ("csv", "tsv") else None
    return first if first in ("", "Unnamed: 0") else None  # the second is what pandas makes of it


def _delimiter(part: Part) -> str:
    """What stands between cells: in CSV a comma, unless the first line has more of another sign, as Excel may write."""
    if part.separator or part.format == "tsv":
        return part.separator or "\t"
    with part.open() as stream:
        head = stream.read(HEAD).removeprefix(BOM).lstrip(b"\r\n")
    line = re.sub(rb'"[^"]*"', b"", head).partition(b"\n")[0].decode(errors="replace")
    return max(SEPARATORS, key=line.count)  # the first of those that are as frequent


@contextmanager
def _open_arrow(part: Part) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    with pa.memory_map(str(part.paths[0])) if part.paths else part.raw() as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if is_file:
            file = pa.ipc.open_file(source)
            yield file.schema, (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            stream = pa.ipc.open_stream(source)
            yield stream.schema, stream


READERS = {
    "table": read_table,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "csv": read_csv,
    "tsv": read_csv,
    "text": read_lines,
    "files": read_files,
}
FORMATS = ("parquet", "arrow", "jsonl", "csv", "tsv", "text", "files")
