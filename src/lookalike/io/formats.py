"""Lists the formats: how files of each are recognized, and what reads them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lookalike.io import arrow, csv, databases, excel, files, jsonl, lines, parquet, streams, warc
from lookalike.io.part import CODECS, Block, Part, Task


@dataclass(frozen=True)
class Format:
    """One format. `tasks` takes a part, the columns to read and the approximate size of a block.

    The tasks return the blocks in order, and can run in several threads.
    """

    tasks: Callable[[Part, pa.Schema, int], Iterator[Task]]
    schema: Callable[[Part], pa.Schema]  # all columns of a part
    suffixes: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()  # first bytes of its files
    rows: Callable[[Part], int] | None = None  # counts the rows of a part without reading it
    spots: Callable[[Part, pa.Schema, int, int], Iterator[Task]] | None = None  # some rows each, from all over a part
    pieces: Callable[[Part, int], Iterator[Part]] | None = (
        None  # cuts files of some bytes, so that each can be read alone
    )
    encoded: bool = False  # text, which can be in any encoding
    cost: float = 3.0  # nanoseconds on one core to read and check a byte of text
    columns: bool = True  # whether its files have columns of their own, though an empty one can lack them

    def read(self, part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
        """Yield the blocks of a part."""
        return (block for task in self.tasks(part, schema, size) for block in task())


FORMATS: Mapping[str, Format] = {
    "parquet": Format(
        parquet.parquet_tasks,
        parquet.parquet_schema,
        (".parquet", ".pq"),
        (b"PAR1",),
        rows=parquet.parquet_rows,
        spots=parquet.parquet_spots,
        pieces=parquet.parquet_pieces,
        cost=1.8,
    ),
    "arrow": Format(
        arrow.arrow_tasks,
        arrow.arrow_schema,
        (".arrow", ".feather", ".ipc"),
        (b"ARROW1", b"\xff\xff\xff\xff"),
        pieces=arrow.arrow_pieces,
    ),
    "jsonl": Format(
        jsonl.json_tasks,
        jsonl.json_schema,
        (".jsonl", ".ndjson", ".json"),
        (b"{",),
        encoded=True,
        spots=jsonl.json_spots,
        pieces=jsonl.json_pieces,
    ),
    "csv": Format(csv.csv_tasks, csv.csv_schema, (".csv",), encoded=True),
    "tsv": Format(csv.csv_tasks, csv.csv_schema, (".tsv",), encoded=True),
    "excel": Format(excel.excel_tasks, excel.excel_schema, (".xlsx",)),
    "database": Format(
        databases.database_tasks,
        databases.database_schema,
        (".sqlite", ".sqlite3", ".db", ".duckdb"),
        (databases.SQLITE,),
        rows=databases.database_rows,
    ),
    "warc": Format(warc.warc_tasks, warc.warc_schema, (".warc", ".wet"), (b"WARC/",)),
    "text": Format(
        lines.line_tasks,
        lines.lines_schema,
        (".txt",),
        encoded=True,
        columns=False,
        spots=lines.line_spots,
        pieces=lines.line_pieces,
    ),
    "files": Format(
        files.file_tasks,
        files.files_schema,
        encoded=True,
        columns=False,
        rows=files.files_rows,
        spots=files.file_spots,
        pieces=files.file_pieces,
        cost=4.0,
    ),
    "table": Format(arrow.table_tasks, arrow.table_schema, rows=arrow.table_rows, spots=arrow.table_spots, cost=0.6),
    "stream": Format(streams.stream_tasks, streams.stream_schema, rows=streams.stream_rows, cost=0.6),
}
NAMED = tuple(name for name in FORMATS if name not in ("table", "stream"))  # those that users can name
TABLES = tuple(name for name in NAMED if FORMATS[name].columns)
ENCODED = tuple(name for name in NAMED if FORMATS[name].encoded)
UNTYPED = ("csv", "tsv", "text")  # these do not distinguish numbers from strings
SUFFIXES = {suffix: name for name, one in FORMATS.items() for suffix in one.suffixes}
PAGE_SUFFIXES = {".html": "files", ".htm": "files", ".xhtml": "files"}
VECTOR_SUFFIXES = {".npy": "npy", ".npz": "npz", ".fvecs": "fvecs", ".bvecs": "bvecs", ".ivecs": "ivecs"}


def format_of(path: Path, suffixes: Mapping[str, str] = SUFFIXES) -> str | None:
    """Return the format that a file's name shows, if any: `a.jsonl.zst` is JSON lines."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in CODECS:
        endings.pop()
    return suffixes.get(endings[-1]) if endings else None


def format_of_start(start: bytes) -> str | None:
    """Return the format that the first bytes of a file show, if any."""
    return next((name for name, one in FORMATS.items() if one.magic and start.startswith(one.magic)), None)
