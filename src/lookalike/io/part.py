"""One input and the rows that are read from it: what finds inputs makes parts, and what reads them makes blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
CODEC_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COLONS, UNIT = "::", "\x1f"  # a separator of two signs, as MovieLens has it, and what is read in its place
UTF8 = "utf-8"
BOM = b"\xef\xbb\xbf"


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
    encoding: str = UTF8  # of text; tables with types have none
    partition: tuple[tuple[str, int | str | None], ...] = ()  # columns of one value, from the names of its folders

    def open(self) -> pa.NativeFile:
        """Open a stream of the part's bytes, decompressed, in UTF-8 whatever encoding it has.

        A separator of two signs, which readers of CSV do not know, is one sign there.
        """
        if self.content is None:
            stream = open_path(self.paths[0], self.encoding)
        else:
            codec = next((c for magic, c in CODEC_MAGIC.items() if self.content.startswith(magic)), None)
            stream = _as_utf8(pa.input_stream(pa.py_buffer(self.content), compression=codec), self.encoding)
        return stream if self.separator != COLONS else pa.TransformInputStream(stream, _OneSign())

    def raw(self) -> Any:
        """The path, or the bytes as a file."""
        return self.paths[0] if self.paths else pa.BufferReader(self.content)

    def byte_size(self) -> int:
        """About how many bytes the part has, decompressed; text is taken to shrink to a quarter."""
        if isinstance(self.content, pa.Table):
            return int(self.content.nbytes)
        if isinstance(self.content, bytes):
            return len(self.content) * (4 if self.content.startswith(tuple(CODEC_MAGIC)) else 1)
        return sum(path.stat().st_size * (4 if path.suffix.lower() in CODECS else 1) for path in self.paths)

    def id_of(self, path: Path) -> str:
        """The id of an item that is one of its files."""
        return (path.relative_to(self.base) if self.base else path).as_posix()

    def place(self, row: int) -> str:
        """Where a row is, for messages: its file, or the number that people count it by."""
        whole_files = self.format in ("files", "pictures") and self.paths
        return str(self.paths[row]) if whole_files else f"{self.name}, row {row + 1}"


class Block(NamedTuple):
    """Some rows of a part: those of the table, and the faulty ones between them by their number in the block."""

    table: pa.Table
    faults: Mapping[int, str] = MappingProxyType({})
    lines: Sequence[bytes] = ()  # of JSON: the rows of the table as they stand in the file

    def numbers(self) -> np.ndarray:
        """The number in the block of each row of its table."""
        return np.delete(np.arange(len(self.table) + len(self.faults)), sorted(self.faults))


def selected(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a table that a schema names; if it names all, two of them may share a name."""
    return table if table.column_names == schema.names else table.select(schema.names)


def open_path(path: Path, encoding: str = UTF8) -> pa.NativeFile:
    """Open a stream of a file's bytes, decompressed, in UTF-8 whatever encoding it has."""
    return _as_utf8(pa.input_stream(path, compression=CODECS.get(path.suffix.lower())), encoding)


def _as_utf8(stream: pa.NativeFile, encoding: str) -> pa.NativeFile:
    return stream if encoding == UTF8 else pa.transcoding_input_stream(stream, encoding, UTF8)


class _OneSign:
    """Puts one sign in place of two colons, in blocks of bytes that may cut them apart."""

    def __init__(self) -> None:
        self.rest = b""

    def __call__(self, block: pa.Buffer) -> bytes:
        whole: bytes = (self.rest + block.to_pybytes()).replace(COLONS.encode(), UNIT.encode())
        self.rest = whole[len(whole.rstrip(b":")) :]
        return whole[: len(whole) - len(self.rest)]
