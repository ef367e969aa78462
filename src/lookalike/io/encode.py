"""Encodes groups of rows in the formats of outputs, in threads: Parquet, Arrow, JSON lines, CSV, TSV.

An encoder takes groups of rows, each a list of tables to put together, encodes each alone, and yields
the pieces of the file in order. Groups do not depend on the threads, so nor do the pieces.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run
from lookalike.io.json_text import as_json, content_of, json_lines
from lookalike.io.row_groups import EncodedGroup, encode_group, join_groups
from lookalike.io.tables import is_string

LEVEL = 4  # of gzip: twice as fast as the usual 6, for files up to 5% larger
ZSTD_LEVEL = 3  # the usual one of the zstd command
GZIP = 31  # what zlib calls a window of 32 KB with the header of gzip, which has no name and time
FORMULA, WRITTEN_NUMBER = r"\A[=+\-@\t\r]", r"\A[-+]?[0-9.,]+([eE][-+]?[0-9]+)?\z"

Group = list[pa.Table]
Piece = list[Any]  # of a file: bytes and buffers of Arrow, to write one after the other
Compress = Callable[[Any], bytes]
TextOf = Callable[[pa.Table, bool], pa.Buffer]  # the text of a table, and whether it is the first


class Encoder(NamedTuple):
    """How groups become a file: each is encoded alone, in any thread or process, and then all are joined in order."""

    one: Callable[[int, Group], Any]  # encodes a group, given its number
    join: Callable[[Iterator[Any]], Iterator[Piece]]  # makes the file of encoded groups
    save: Callable[[Any], Piece]  # turns an encoded group into buffers, always as many, to keep it in a file
    load: Callable[[Piece], Any]  # turns them back


def encode(
    kind: str, groups: Iterator[Group], settings: dict[str, str], codec: str | None, run: Run
) -> Iterator[Piece]:
    """Yield the pieces of a file of this kind; Parquet and Arrow store the settings as metadata.

    Text is compressed with `codec`, which is "gzip", "zstd" or None.
    """
    schema = pa.schema([])
    if kind not in TEXTS:
        first = next(groups, [pa.table({})])
        schema = pa.concat_tables([table[:0] for table in first], promote_options="default").schema
        groups = chain([first], groups)
    encoder = encoder_of(kind, schema, settings, codec)
    return encoder.join(run.map(lambda task: encoder.one(*task), enumerate(groups)))


def encoder_of(kind: str, schema: pa.Schema, settings: dict[str, str], codec: str | None) -> Encoder:
    """Return the encoder of a kind of file for groups with these columns."""
    if kind in TEXTS:
        return _text_encoder(TEXTS[kind], None if codec is None else COMPRESS[codec])
    ours = {f"lookalike.{name}".encode(): value.encode() for name, value in settings.items()}
    schema = schema.with_metadata({**(schema.metadata or {}), **ours})
    return (_parquet_encoder if kind == ".parquet" else _arrow_encoder)(schema)


def merged(group: Group) -> pa.Table:
    """Copy the rows, because the memory layout of slices can show in the bytes of an Arrow file."""
    table = pa.concat_tables(group, promote_options="default")
    columns = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


# --- Parquet and Arrow ---


def _parquet_encoder(schema: pa.Schema) -> Encoder:
    def one(number: int, group: Group) -> EncodedGroup:
        return encode_group(merged(group).cast(schema))

    return Encoder(one, join_groups, EncodedGroup.save, EncodedGroup.load)


def _arrow_encoder(schema: pa.Schema) -> Encoder:
    def one(number: int, group: Group) -> pa.Table:
        return merged(group).cast(schema)

    def join(tables: Iterator[pa.Table]) -> Iterator[Piece]:
        sink = _Sink()
        with pa.ipc.new_file(sink, schema) as writer:
            for table in tables:
                writer.write_table(table)
                yield sink.taken()
        yield sink.taken()

    def save(table: pa.Table) -> Piece:
        kept = pa.BufferOutputStream()
        with pa.ipc.new_stream(kept, schema) as writer:
            writer.write_table(table)
        return [kept.getvalue()]

    return Encoder(one, join, save, lambda piece: pa.ipc.open_stream(piece[0]).read_all())


class _Sink(io.RawIOBase):
    """A file that hands on what is written to it; Arrow passes its buffers without copying them."""

    def __init__(self) -> None:
        self.size = 0
        self.pieces: Piece = []

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, piece: Any) -> int:
        self.pieces.append(piece)
        self.size += len(piece)
        return len(piece)

    def taken(self) -> Piece:
        """Return what was written since the last call."""
        pieces, self.pieces = self.pieces, []
        return pieces


# --- JSON lines, CSV and TSV ---


def _text_encoder(text_of: TextOf, compress: Compress | None) -> Encoder:
    """Return the encoder of text; compressed, each group is a member or a frame of its own."""

    def one(number: int, group: Group) -> Piece:
        text = text_of(merged(group), number == 0)
        return [text if compress is None else compress(text)]

    def join(pieces: Iterator[Piece]) -> Iterator[Piece]:
        return pieces if compress is None else chain([next(pieces, [compress(b"")])], pieces)

    return Encoder(one, join, lambda piece: piece, lambda piece: piece)


def _gzip(text: Any) -> bytes:
    return zlib.compress(text, LEVEL, GZIP)


def _zstd(text: Any) -> bytes:
    compressed: bytes = pa.Codec("zstd", compression_level=ZSTD_LEVEL).compress(text, asbytes=True)
    return compressed


COMPRESS: dict[str, Compress] = {"gzip": _gzip, "zstd": _zstd}


def _json(table: pa.Table, first: bool) -> pa.Buffer:
    return json_lines(table)


def _lines(table: pa.Table, first: bool) -> pa.Buffer:
    return content_of(table.column(0).chunk(0))


def _separated(table: pa.Table, first: bool, separator: str) -> pa.Buffer:
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(_flat(table), sink, csv.WriteOptions(include_header=first, delimiter=separator))
    return sink.getvalue()


def _flat(table: pa.Table) -> pa.Table:
    """Return the table with nested values as JSON, because a cell of CSV cannot hold them."""
    for at, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [None if value is None else as_json(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(cells, pa.string()))
    return table


def without_formulas(table: pa.Table) -> pa.Table:
    """Return the table with an apostrophe before names and texts that begin like a formula."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
        if is_string(table.schema.field(at).type):
            table = table.set_column(at, field.name, _as_text(table.column(at)))
    return table.rename_columns(_as_text(pa.array(table.column_names, pa.string())).to_pylist())


def _as_text(cells: Any) -> Any:
    formula = pc.and_(
        pc.match_substring_regex(cells, FORMULA), pc.invert(pc.match_substring_regex(cells, WRITTEN_NUMBER))
    )
    quote, nothing = (pa.scalar(text, cells.type) for text in ("'", ""))
    return pc.if_else(formula, pc.binary_join_element_wise(quote, cells, nothing), cells)


LINES = "lines"  # raw lines, with line feeds: the only column of the groups
TEXTS: dict[str, TextOf] = {
    ".jsonl": _json,
    ".csv": partial(_separated, separator=","),
    ".tsv": partial(_separated, separator="\t"),
    LINES: _lines,
}
