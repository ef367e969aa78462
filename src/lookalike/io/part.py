"""Defines the part, one input to read, and the block, some rows read from it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b, file_digest
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import BadFile
from lookalike.io.remote import RemotePath

CODECS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
CODEC_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COLONS, UNIT = "::", "\x1f"  # the two-character separator of MovieLens, and the character that replaces it
OF = "::"  # between a database and its table
UTF8 = "utf-8"
WHOLE_FILES = ("files", "pictures")  # formats in which a file is an item
BOM = b"\xef\xbb\xbf"
DOCUMENT_BYTES = 64 * 10**6  # the usual limit of a document
WHOLE = 256 << 20  # bytes up to which anything is decompressed as a whole
RATIO = 500  # the most that anything larger can be compressed


class Section(NamedTuple):
    """A piece of a part: a range of its bytes, row groups or batches."""

    whole: "Part"
    start: int
    stop: int

    def within(self, step: int = 1) -> range:
        """Return the range, in steps."""
        return range(self.start, self.stop, step)


@dataclass(frozen=True)
class Part:
    """One input: its name for messages, its format, and its files, bytes or table."""

    name: str
    format: str
    paths: tuple[Path, ...] = ()
    content: Any = None  # bytes of standard input, an Arrow table, or a data set
    base: Path | None = None  # the folder that ids of whole-file documents are relative to
    names: tuple[str, ...] = ()  # column names for CSV without a header line
    separator: str = ""  # between cells, if not the usual one
    html: bool = False  # its files are web pages, in any encoding
    passed_over: int = 0  # files in its folder that are not named like web pages
    encoding: str = UTF8  # of text formats; the others ignore it
    most: int = DOCUMENT_BYTES  # bytes of a document; longer lines and files are faulty
    partition: tuple[tuple[str, int | str | None], ...] = ()  # constant columns, from the names of its folders
    table: str = ""  # the name of the table to read, of a database
    section: Section | None = None  # what to read of its only file, if not all

    def cut(self, what: str, sizes: Iterable[int], size: int) -> Iterator["Part"]:
        """Yield the part in pieces of about `size`, given the sizes of what it can be cut between, and their name."""
        ends = [0, *accumulate(sizes)]
        start = 0
        for at in range(1, len(ends)):
            if ends[at] - ends[start] >= size or at == len(ends) - 1:
                yield self.piece(what, start, at)
                start = at

    def piece(self, what: str, start: int, stop: int) -> "Part":
        """Return a piece of the part, whose name says where it begins."""
        name = f"{self.name} from {what} {start:,}" if start else self.name
        return replace(self, name=name, section=Section(self, start, stop))

    def open(self) -> pa.NativeFile:
        """Open a stream of the part's bytes, decompressed and converted to UTF-8.

        A `::` separator becomes one character, because CSV readers accept only one.
        """
        if self.content is None:
            stream = open_path(self.paths[0], self.encoding)
        else:
            codec = next((c for magic, c in CODEC_MAGIC.items() if self.content.startswith(magic)), None)
            stream = _as_utf8(pa.input_stream(pa.py_buffer(self.content), compression=codec), self.encoding)
        return stream if self.separator != COLONS else pa.TransformInputStream(stream, _ColonReplacer())

    def is_plain(self) -> bool:
        """Return whether its bytes are those of its file, neither compressed nor to be converted."""
        plain = self.content is None and self.encoding == UTF8 and self.separator != COLONS
        return plain and self.paths[0].suffix.lower() not in CODECS

    def read(self) -> bytearray:
        """Return all bytes, decompressed and converted; refuse those that seem meant to fill memory."""
        stored, content = self.stored_size(), bytearray()
        with self.open() as stream:
            while block := stream.read(WHOLE // 16):
                content += block
                check_ratio(self, "its content", len(content), stored)
        return content

    def raw(self) -> Any:
        """Return the path, or the bytes as a file; also for a remote path, which only opens as a file."""
        if self.paths:
            return self.paths[0].open("rb") if isinstance(self.paths[0], RemotePath) else self.paths[0]
        return pa.BufferReader(self.content)

    def local(self) -> Path:
        """Return the path, or that of a local copy, for formats that cannot be read otherwise."""
        return local(self.paths[0])

    def check_unchanged(self) -> None:
        """Raise an error if remote files are not those that were read; others are not checked."""
        for path in self.paths:
            if isinstance(path, RemotePath):
                path.check_unchanged()

    def stored_size(self) -> int:
        """Return the size in bytes as it is stored."""
        if isinstance(self.content, pa.Table):
            return int(self.content.nbytes)
        if self.format == "stream":
            return 0  # nobody knows
        return sum(path.stat().st_size for path in self.paths) if self.content is None else len(self.content)

    def byte_size(self) -> int:
        """Estimate the decompressed size in bytes, assuming compression to a quarter."""
        if isinstance(self.content, bytes):
            return len(self.content) * (4 if self.content.startswith(tuple(CODEC_MAGIC)) else 1)
        if self.content is not None:
            return self.stored_size()
        return sum(path.stat().st_size * (4 if path.suffix.lower() in CODECS else 1) for path in self.paths)

    def digest(self) -> bytes:
        """Return a digest of the bytes, and of the ids and columns that come from file names."""
        made = blake2b(
            repr((self.format, self.names, self.separator, self.partition, self.table)).encode(), digest_size=32
        )
        for path in self.paths:
            if isinstance(path, RemotePath):  # its digest is the store's
                made.update(f"{path} {path.version()}".encode())
                continue
            with path.open("rb") as file:
                made.update(file_digest(file, blake2b).digest())
            if self.format in WHOLE_FILES:
                made.update(blake2b(self.id_of(path).encode()).digest())
        if isinstance(self.content, bytes):
            made.update(self.content)
        return made.digest()

    def id_of(self, path: Path) -> str:
        """Return the id of an item that is one of its files."""
        return (path.relative_to(self.base) if self.base else path).as_posix()

    def place(self, row: int) -> str:
        """Say where a row is, for messages: its file, or the part and the row number from 0."""
        return str(self.paths[row]) if self.format in WHOLE_FILES and self.paths else f"{self.name}, row {row}"


class Block(NamedTuple):
    """Some rows of a part: a table of the good ones, and the faulty ones by number in the block."""

    table: pa.Table
    faults: Mapping[int, str] = MappingProxyType({})
    lines: pa.LargeBinaryArray | None = None  # JSON only: the rows of the table as in the file, with line feeds

    def numbers(self) -> np.ndarray:
        """Return the number in the block of each row of its table."""
        return np.delete(np.arange(len(self.table) + len(self.faults)), sorted(self.faults))


Task = Callable[[], Iterable[Block]]  # reads some rows of a part, in any thread


def ready(block: Block) -> Task:
    """Return a task whose block has been read already."""
    return lambda: (block,)


def evenly(total: int, count: int) -> list[int]:
    """Return `count` numbers from all over range(total), or all of them if there are fewer.

    >>> evenly(100, 4), evenly(3, 8)
    ([12, 37, 62, 87], [0, 1, 2])
    """
    count = min(total, count)
    return [(2 * at + 1) * total // (2 * count) for at in range(count)]


def selected(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns that a schema names; if it names all, two columns can share a name."""
    return table if table.column_names == schema.names else table.select(schema.names)


def read_start(stream: pa.NativeFile | IO[bytes], size: int) -> bytes:
    """Return the first `size` bytes of a stream, which can give fewer at a time, or all."""
    start = bytearray()
    while block := stream.read(size - len(start)):
        start += block
    return bytes(start)


def check_ratio(part: Part, what: str, size: int, stored: int) -> None:
    """Raise an error if something is so large, and was compressed so much, that it is hardly data."""
    if size > WHOLE and size > RATIO * stored:
        grown = f"{what} expands from {stored:,} to over {size:,} bytes"
        raise BadFile(f"{part.name}: {grown}, which looks like a decompression bomb.")


def open_path(path: Path, encoding: str = UTF8) -> pa.NativeFile:
    """Open a stream of a file's bytes, decompressed and converted to UTF-8."""
    content = path.open("rb") if isinstance(path, RemotePath) else path
    return _as_utf8(pa.input_stream(content, compression=CODECS.get(path.suffix.lower())), encoding)


def local(path: Path) -> Path:
    """Return the path of a file on disk: this one, or that of a copy of a remote file."""
    return path.local() if isinstance(path, RemotePath) else path


def _as_utf8(stream: pa.NativeFile, encoding: str) -> pa.NativeFile:
    return stream if encoding == UTF8 else pa.transcoding_input_stream(stream, encoding, UTF8)


class _ColonReplacer:
    """A stream filter that replaces two colons by one character, even if a block splits them."""

    def __init__(self) -> None:
        self.rest = b""

    def __call__(self, block: pa.Buffer) -> bytes:
        whole: bytes = (self.rest + block.to_pybytes()).replace(COLONS.encode(), UNIT.encode())
        self.rest = whole[len(whole.rstrip(b":")) :]
        return whole[: len(whole) - len(self.rest)]
