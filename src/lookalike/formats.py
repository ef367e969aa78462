"""How each kind of input is cut into Arrow tables of bounded size.

A reader takes a part, the names of the columns wanted (None for all) and the number of bytes a table should have, and
yields blocks. Lines of JSON have a file of their own, `json_lines`.
"""

import csv
import glob
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import DataError, UsageError
from lookalike.news import decode_page

SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "text",
}  # fmt: skip
PAGE_SUFFIXES = {".html": "files", ".htm": "files", ".xhtml": "files"}
VECTOR_SUFFIXES = {".npy": "npy", ".npz": "npz", ".fvecs": "fvecs", ".bvecs": "bvecs", ".ivecs": "ivecs"}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"{": "jsonl"}
CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
CODEC_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BOM = b"\xef\xbb\xbf"
FOREIGN = {  # how files begin that are no text
    b"PK\x03\x04": "is a workbook or another archive; save its table as CSV in UTF-8",
    b"BZh": "is compressed by bzip2, which is not read; bzcat can write it to lookalike, which reads - then",
    b"\xfd7zXZ": "is compressed by xz, which is not read; xzcat can write it to lookalike, which reads - then",
    b"\xff\xfe": "is in UTF-16; save it in UTF-8",
    b"\xfe\xff": "is in UTF-16; save it in UTF-8",
    b"%PDF": "is a PDF; pdftotext makes a text of it",
}
SEPARATORS = ",;\t|"
HEAD = 1 << 16  # bytes that hold the first line of CSV, or enough of it
NOTES = ("_SUCCESS", "_metadata", "_common_metadata")  # that other programs leave beside their tables,
ARROW_NOTES = ("dataset_info.json", "state.json", "dataset_dict.json")  # or beside tables of Arrow,
PAPERS = ("README", "LICENSE")  # and what people put there
ROWS = 1 << 14  # of Parquet, read at a time at most


class Block(NamedTuple):
    """Some rows of a part: those of the table, and the faulty ones between them by their number in the block."""

    table: pa.Table
    faults: Mapping[int, str] = MappingProxyType({})
    lines: Sequence[bytes] = ()  # of JSON: the rows of the table as they stand in the file


@dataclass(frozen=True)
class Part:
    """One input: its name for messages, its format, and its files, bytes or table."""

    name: str
    format: str
    paths: tuple[Path, ...] = ()
    content: Any = None  # bytes of standard input, or an Arrow table
    base: Path | None = None  # ids of documents that are files are relative to it
    names: tuple[str, ...] = ()  # of the columns of CSV that has no header line
    separator: str = ""  # of its cells, if not the usual one
    html: bool = False  # its files are web pages, in whatever encoding
    passed_over: int = 0  # files of its folder that are not named like pages

    def open(self) -> pa.NativeFile:
        """A stream of the part's bytes, decompressed."""
        if self.content is None:
            return open_path(self.paths[0])
        codec = next((c for magic, c in CODEC_MAGIC.items() if self.content.startswith(magic)), None)
        return pa.input_stream(pa.py_buffer(self.content), compression=codec)

    def raw(self) -> Any:
        """The path, or the bytes as a file."""
        return self.paths[0] if self.paths else pa.BufferReader(self.content)

    def byte_size(self) -> int:
        """About how many bytes the part has, decompressed; text is taken to shrink to a quarter."""
        if isinstance(self.content, bytes):
            return len(self.content) * (4 if self.content.startswith(tuple(CODEC_MAGIC)) else 1)
        return sum(path.stat().st_size * (4 if path.suffix.lower() in CODECS else 1) for path in self.paths)

    def row_count(self) -> int | None:
        """How many rows the part has, where that can be told without reading it."""
        if self.format == "files":
            return len(self.paths) if self.content is None else 1
        if self.format == "table":
            return len(self.content)
        if self.format == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(self.raw()).num_rows)
        return None


def open_path(path: Path) -> pa.NativeFile:
    """A stream of a file's bytes, decompressed."""
    return pa.input_stream(path, compression=CODECS.get(path.suffix.lower()))


def format_of(path: Path, suffixes: Mapping[str, str] = SUFFIXES) -> str | None:
    """The format a file's name tells, if any: `a.jsonl.zst` is JSON lines."""
    endings = [s.lower() for s in path.suffixes]
    if endings and endings[-1] in CODECS:
        endings.pop()
    return suffixes.get(endings[-1]) if endings else None


def find_parts(
    inputs: list[Any], format: str | None, suffixes: Mapping[str, str] = SUFFIXES, html: bool = False
) -> list[Part]:
    """What the inputs name. One text file is a document a line; several, a folder or a glob a document a file.

    Of web pages a single one is a document too, and those of a folder are the files that are named like pages.
    """
    parts: list[Part] = []
    loose: list[Path] = []  # files named one by one that are not tables
    for given in inputs:
        if isinstance(given, pa.Table):
            parts.append(Part("the table", "table", content=given))
        elif not str(given):
            raise UsageError("an input must name a file or folder; got ''.")
        elif str(given) == "-":
            parts.append(_standard_input(format, html))
        elif Path(given).is_dir() or (glob.has_magic(str(given)) and not Path(given).exists()):
            parts.extend(_expand(Path(given), format, suffixes, html))
        elif not Path(given).exists():
            raise DataError(f"{given}: no such file or folder.")
        else:
            kind = format or format_of(Path(given), suffixes)
            if kind is None and format_of(Path(given), VECTOR_SUFFIXES):
                raise DataError(f"{given}: holds vectors, not texts or sets; `lookalike vectors` reads it.")
            if not html and kind in (None, "text", "csv", "tsv", "jsonl"):
                check_text(Path(given))
            if kind in (None, "text", "files"):
                loose.append(Path(given))
            else:
                parts.append(Part(str(given), kind, (Path(given),)))
    page = html and len(loose) == 1 and format_of(loose[0], suffixes) is None
    if format == "text" or (len(loose) == 1 and format != "files" and not page):
        parts.extend(Part(str(path), "text", (path,)) for path in loose)
    elif loose:
        parts.append(Part("the files", "files", tuple(loose), html=html))
    return parts


def check_text(path: Path) -> None:
    """An error for a file that is no text, which says what it is and what to do."""
    with path.open("rb") as file:
        start = file.read(8)
    for magic, what in FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"{path}: {what}.")


def _expand(given: Path, format: str | None, suffixes: Mapping[str, str], html: bool) -> list[Part]:
    """The files of a folder or glob: tables if all of them are, else a document each."""
    if given.is_dir():
        base, found = given, sorted(given.rglob("*"))
    else:
        whole = str(given)
        fixed = whole[: min(whole.index(mark) for mark in "*?[" if mark in whole)]
        base = Path(fixed) if fixed.endswith("/") else Path(fixed).parent
        found = sorted(Path(path) for path in glob.glob(whole, recursive=True))
    files = [p for p in found if p.is_file() and not any(s.startswith(".") for s in p.relative_to(base).parts)]
    files = without_notes(files)
    if not files:
        raise DataError(f"{given}: no files there.")
    there = len(files)
    if html and format is None and given.is_dir():
        files = [path for path in files if format_of(path, PAGE_SUFFIXES)] or files
    kinds = {format or format_of(path, suffixes) or "files" for path in files}
    if not kinds & {"files", "text"} or format == "text":
        return [Part(str(path), format or format_of(path, suffixes) or "", (path,)) for path in files]
    return [Part(str(given), "files", tuple(files), base=base, html=html, passed_over=there - len(files))]


def without_notes(files: list[Path]) -> list[Path]:
    """The files without those that are about the others, if these are tables."""
    files = [path for path in files if path.name not in NOTES]
    if any(format_of(path) == "arrow" for path in files):
        files = [path for path in files if path.name not in ARROW_NOTES]
    rest = [path for path in files if path.name.partition(".")[0].upper() not in PAPERS]
    return rest if rest and all(format_of(path) not in (None, "text") for path in rest) else files


def _standard_input(format: str | None, html: bool) -> Part:
    content = sys.stdin.buffer.read()
    try:
        with Part("-", "", content=content).open() as stream:
            head = stream.read(64).removeprefix(BOM).lstrip()
    except (OSError, EOFError) as error:
        raise DataError(f"standard input: cannot be decompressed: {error}") from error
    kind = next((name for magic, name in MAGIC.items() if head.startswith(magic)), "files" if html else "text")
    return Part("standard input", format or kind, content=content, html=html)


# --- tables ---


def read_table(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """An Arrow table in memory, a slice at a time."""
    yield from _cut(part.content if columns is None else part.content.select(columns), size)


def read_parquet(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """Row group by row group, in batches that do not cross them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.raw()) as file:
        meta = file.metadata
        wanted = [i for i in range(meta.num_columns) if columns is None or meta.schema.column(i).path in columns]
        for group in range(meta.num_row_groups):
            group_meta = meta.row_group(group)
            stored = sum(group_meta.column(i).total_uncompressed_size for i in wanted)
            # What repeats is stored once, so this can be far too many rows: hence a limit, and a second cut.
            rows = min(ROWS, rows_for(size, stored, group_meta.num_rows))
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
                yield from _cut(pa.Table.from_batches([batch]), size)


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
        reader = pa_csv.open_csv(stream, read, parse, convert)
        tables = (pa.Table.from_batches([batch]) for batch in reader)
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
        with open_path(path) as stream:
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

        return pq.read_schema(part.raw())
    if part.format == "arrow":
        with _open_arrow(part) as (schema, _):
            return schema
    return csv_schema(part)


def csv_schema(part: Part) -> pa.Schema:
    """Every column is a string, so that an id such as 007 is given back as it was."""
    names = list(part.names) or csv_cells(part)
    return pa.schema([(name, pa.string()) for name in names])


def csv_cells(part: Part) -> list[str]:
    """The cells of the first line that is not blank."""
    with part.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as lines:
        return next((row for row in csv.reader(lines, delimiter=_delimiter(part)) if row), [])


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
