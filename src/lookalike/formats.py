"""How each kind of input is cut into Arrow tables of bounded size.

A reader takes a part, a function that picks columns from the schema (None for all of them) and the number
of bytes a table should have, and yields tables.
"""

import glob
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import DataError

SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "text",
}  # fmt: skip
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"{": "jsonl"}
CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
CODEC_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BOM = b"\xef\xbb\xbf"

Pick = Callable[[pa.Schema], Any]


@dataclass(frozen=True)
class Part:
    """One input: its name for messages, its format, and its files, bytes or table."""

    name: str
    format: str
    paths: tuple[Path, ...] = ()
    content: Any = None  # bytes of standard input, or an Arrow table
    base: Path = Path()  # ids of documents that are files are relative to it

    def open(self) -> pa.NativeFile:
        """A stream of the part's bytes, decompressed."""
        if self.content is not None:
            codec = next((c for magic, c in CODEC_MAGIC.items() if self.content.startswith(magic)), None)
            return pa.input_stream(pa.py_buffer(self.content), compression=codec)
        return pa.input_stream(self.paths[0], compression=CODECS.get(self.paths[0].suffix.lower()))

    def row_count(self) -> int | None:
        """How many rows the part has, where that can be told without reading it."""
        if self.format == "files":
            return len(self.paths)
        if self.format == "table":
            return len(self.content)
        if self.format == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(self.paths[0] if self.paths else pa.BufferReader(self.content)).num_rows)
        return None


def format_of(path: Path) -> str | None:
    """The format a file's name tells, if any: `a.jsonl.zst` is JSON lines."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in CODECS:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def find_parts(inputs: list[Any], format: str | None) -> list[Part]:
    """What the inputs name. One text file is a document a line; several, a folder or a glob a document a file."""
    parts: list[Part] = []
    loose: list[Path] = []  # files named one by one that are not tables
    for given in inputs:
        if isinstance(given, pa.Table):
            parts.append(Part("the table", format or "table", content=given))
        elif str(given) == "-":
            parts.append(_standard_input(format))
        elif Path(given).is_dir() or (glob.has_magic(str(given)) and not Path(given).exists()):
            parts.extend(_expand(Path(given), format))
        elif not Path(given).exists():
            raise DataError(f"{given}: no such file or folder.")
        else:
            kind = format or format_of(Path(given))
            if kind in (None, "text", "files"):
                loose.append(Path(given))
            else:
                parts.append(Part(str(given), kind, (Path(given),)))
    if format == "text" or (len(loose) == 1 and format != "files"):
        parts.extend(Part(str(path), "text", (path,)) for path in loose)
    elif loose:
        parts.append(Part("the files", "files", tuple(loose)))
    return parts


def _expand(given: Path, format: str | None) -> list[Part]:
    """The files of a folder or glob: tables if all of them are, else a document each."""
    if given.is_dir():
        base, found = given, sorted(given.rglob("*"))
    else:
        whole = str(given)
        fixed = whole[: min(whole.index(mark) for mark in "*?[" if mark in whole)]
        base = Path(fixed) if fixed.endswith("/") else Path(fixed).parent
        found = sorted(Path(path) for path in glob.glob(whole, recursive=True))
    files = [p for p in found if p.is_file() and not any(s.startswith(".") for s in p.relative_to(base).parts)]
    if not files:
        raise DataError(f"{given}: no files there.")
    kinds = {format or format_of(path) or "files" for path in files}
    if not kinds & {"files", "text"} or format == "text":
        return [Part(str(path), format or format_of(path) or "", (path,)) for path in files]
    return [Part(str(given), "files", tuple(files), base=base)]


def _standard_input(format: str | None) -> Part:
    content = sys.stdin.buffer.read()
    with Part("-", "", content=content).open() as stream:
        head = stream.read(64).removeprefix(BOM).lstrip()
    kind = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "text")
    return Part("standard input", format or kind, content=content)


# --- tables ---


def read_table(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """An Arrow table in memory, a slice at a time."""
    table = part.content if pick is None else part.content.select(pick(part.content.schema))
    rows = rows_for(size, table.nbytes, len(table))
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)


def read_parquet(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """Row group by row group, in batches that do not cross them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.paths[0] if part.paths else pa.BufferReader(part.content)) as file:
        columns = None if pick is None else pick(file.schema_arrow)
        meta = file.metadata
        wanted = [i for i in range(meta.num_columns) if columns is None or meta.schema.column(i).path in columns]
        for group in range(meta.num_row_groups):
            group_meta = meta.row_group(group)
            stored = sum(group_meta.column(i).total_uncompressed_size for i in wanted)
            rows = rows_for(size, stored, group_meta.num_rows)
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
                yield pa.Table.from_batches([batch])


def read_arrow(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """An IPC file, memory-mapped, or an IPC stream."""
    source = pa.memory_map(str(part.paths[0])) if part.paths else pa.BufferReader(part.content)
    with source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if is_file:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            batches = pa.ipc.open_stream(source)
        for batch in batches:
            yield from read_table(Part(part.name, "table", content=pa.Table.from_batches([batch])), pick, size)


def read_csv(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """CSV or TSV. Every column stays a string, so that an id such as 007 is given back as it was."""
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if part.format == "tsv" else ",", newlines_in_values=True)
    with part.open() as stream:
        try:
            names = csv.open_csv(stream, csv.ReadOptions(block_size=1 << 20), parse).schema.names
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
    types = dict.fromkeys(names, pa.string())
    columns = names if pick is None else pick(pa.schema(types.items()))
    convert = csv.ConvertOptions(
        column_types=types | dict.fromkeys(columns[:1] if pick else (), pa.binary()),  # checked for UTF-8 later
        include_columns=columns,
        strings_can_be_null=False,
        check_utf8=pick is not None,
    )
    with part.open() as stream:
        reader = csv.open_csv(stream, csv.ReadOptions(block_size=max(size, 1 << 20)), parse, convert)
        for batch in reader:
            yield pa.Table.from_batches([batch])


def rows_for(size: int, stored: int, rows: int) -> int:
    """How many rows make about `size` bytes."""
    return max(1, min(rows, size * rows // max(1, stored)))


# --- lines ---


def blocks(part: Part, size: int) -> Iterator[bytes]:
    """The part's bytes in blocks of about `size` that end with a line."""
    with part.open() as stream:
        rest = stream.read(size).removeprefix(BOM)
        while rest:
            more = stream.read(size)
            end = rest.rfind(b"\n") + 1 if more else len(rest)
            if end:
                yield rest[:end]
            rest = rest[end:] + more


def read_lines(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """A document a line; its id is the number of the line, from 0."""
    first = 0
    for block in blocks(part, size):
        block = block.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        offsets = np.concatenate(([0], ends + 1))  # each text still with its line feed, which is cut off below
        whole = pa.Array.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(block + b"\n")]
        )
        texts = pa.compute.binary_slice(whole, 0, -1)
        yield pa.table({"id": pa.array(np.arange(first, first + len(ends))), "text": texts})
        first += len(ends)


def read_files(part: Part, pick: Pick | None, size: int) -> Iterator[pa.Table]:
    """A document a file; its id is the path, relative to the folder or glob it was found by."""
    ids: list[str] = []
    texts: list[bytes | None] = []
    held = 0
    for path in part.paths:
        content = path.read_bytes().removeprefix(BOM)
        if b"\0" in content[:8192]:
            content = b"\xff"  # no text: the check for UTF-8 will say so with the file's name
        ids.append(path.relative_to(part.base).as_posix())
        texts.append(content)
        held += len(content)
        if held >= size:
            yield pa.table({"id": pa.array(ids), "text": pa.array(texts, pa.large_binary())})
            ids, texts, held = [], [], 0
    if ids:
        yield pa.table({"id": pa.array(ids), "text": pa.array(texts, pa.large_binary())})


def json_blocks(
    part: Part, columns: Callable[[pa.Schema], tuple[str, str | None]], whole: bool, lines: bool, size: int
) -> Iterator[tuple[pa.Table, list[tuple[int, str]]]]:
    """JSON lines as tables, each with the rows of its block that could not be parsed.

    With `lines` a column `line` holds each row as it stands in the file.
    """
    schema = None
    for block in blocks(part, size):
        if schema is None:
            seen = _json_schema(block)
            text, identity = columns(seen)
            names = seen.names if whole else [name for name in (text, identity) if name]
            schema = pa.schema([seen.field(name) for name in names])
        rows = [line for line in block.split(b"\n") if line.strip()] if lines else None
        faults: list[tuple[int, str]] = []
        try:
            table = _parse_json(block, schema, whole)
        except (pa.ArrowInvalid, UnicodeError):
            rows = [line for line in block.split(b"\n") if line.strip()]
            faults = [(at, why) for at, line in enumerate(rows) if (why := _json_fault(line, schema))]
            bad = {at for at, _ in faults}
            if not bad:
                raise
            rows = [line for at, line in enumerate(rows) if at not in bad]
            table = _parse_json(b"\n".join(rows), schema, whole)
        if lines:
            table = table.append_column("line", pa.array(rows, pa.binary()))
        if schema is not None and whole:
            schema = table.schema
        yield table, faults


def _parse_json(block: bytes, schema: pa.Schema, whole: bool) -> pa.Table:
    from pyarrow import json as pa_json

    if not block.strip():
        return schema.empty_table()
    return pa_json.read_json(
        io.BytesIO(block),
        pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer" if whole else "ignore"),
    )


def _json_schema(block: bytes) -> pa.Schema:
    """The columns of the first line that is an object: strings and integers as such, the rest as nulls."""
    for line in block.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            kinds = {str: pa.string(), int: pa.int64()}
            return pa.schema([(name, kinds.get(type(value), pa.string())) for name, value in row.items()])
    return pa.schema([])


def _json_fault(line: bytes, schema: pa.Schema) -> str | None:
    """Why a line is no row of these columns; None if it is."""
    try:
        row = json.loads(line)
    except ValueError as error:  # JSON's and Unicode's errors alike
        return f"not valid JSON ({error})"
    if not isinstance(row, dict):
        return f"not a JSON object but {type(row).__name__}"
    for column in schema:
        value = row.get(column.name)
        wanted = int if pa.types.is_integer(column.type) else str
        if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            return f"{column.name} is {type(value).__name__}, not {wanted.__name__}"
        if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            return f"{column.name} holds half a surrogate pair"
    return None


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
