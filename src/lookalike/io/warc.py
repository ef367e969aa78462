"""Reads web archives: WARC files of pages, and WET files of their texts, one document per record.

A damaged record is a bad row, and reading goes on with the next one. A file that ends within a
record is a damaged file: what is missing cannot be counted.
"""

import io
import re
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, Any, NamedTuple

import pyarrow as pa

from lookalike.core.errors import BadFile, bad_file_hint, too_long
from lookalike.io.part import CODEC_MAGIC, Block, Part, Task, selected
from lookalike.items.pages import decode_page

BLOCK = 1 << 18  # bytes to read or decompress at a time
HEAD = 1 << 20  # the most bytes of the headers of a record or response
MARK = b"WARC/1."
PAGES = ("response", "resource")  # types of records, as opposed to conversion
LINE, BLANK = b"\r\n", b"\r\n\r\n"
STATUS = re.compile(rb"HTTP/[\d.]+ +(\d{3})")
HTML = re.compile(r"\b(?:html|xhtml\+xml)\b", re.I)
CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.I)


class Damage(Exception):
    """A record cannot be read; the message says why."""


class WarcRecord(NamedTuple):
    """A record of the archive: its number from 0, its headers, and the beginning of its content."""

    number: int
    headers: dict[str, str]
    content: bytes
    fault: str = ""


def warc_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that decode some records each."""
    kind = _kind(part)
    waiting: list[WarcRecord] = []
    held = 0
    for record in _wanted(part, kind):
        waiting.append(record)
        held += len(record.content)
        if held >= size:
            yield partial(_block, waiting, schema, kind, part.most)
            waiting, held = [], 0
    yield partial(_block, waiting, schema, kind, part.most)


def warc_schema(part: Part) -> pa.Schema:
    """Return the columns: those of pages have `html`, those of conversions `text`."""
    return _columns(_kind(part))


def _columns(kind: str) -> pa.Schema:
    names = ("id", "url", "date")
    return pa.schema([*((name, pa.string()) for name in names), (kind, pa.large_string())])


def _kind(part: Part) -> str:
    """Return what the first record holds that holds either: `html` or `text`."""
    found = (_holds(record.headers) for record in _records(part, 0))
    return next((kind for kind in found if kind), "text")


def _holds(headers: dict[str, str]) -> str:
    """Return which kind of document a record can hold; nothing for requests and other notes."""
    kind = headers.get("warc-type", "")
    return "html" if kind in PAGES else "text" if kind == "conversion" else ""


def _wanted(part: Part, kind: str) -> Iterator[WarcRecord]:
    return (record for record in _records(part, part.most + HEAD) if record.fault or _holds(record.headers) == kind)


# --- records to rows ---


def _block(records: list[WarcRecord], schema: pa.Schema, kind: str, most: int) -> list[Block]:
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    for record in records:
        try:
            text = _text(record, kind, most)
        except Damage as error:
            faults[len(rows) + len(faults)] = f"record {record.number} {error}"
            continue
        if text is not None:
            identity, url, date = (record.headers.get(f"warc-{name}") for name in ("record-id", "target-uri", "date"))
            rows.append({"id": _bare(identity), "url": _bare(url), "date": date, kind: text})
    stored = _columns(kind)
    table = pa.Table.from_pylist(rows, stored.set(3, stored.field(3).with_type(pa.large_binary())))
    texts = pa.chunked_array([chunk.view(pa.large_string()) for chunk in table[kind].chunks], pa.large_string())
    return [Block(selected(table.set_column(3, kind, texts), schema), faults)]  # which may not be UTF-8


def _bare(name: str | None) -> str | None:
    """Return an identifier without the brackets around it."""
    return name if name is None else name.removeprefix("<").removesuffix(">")


def _text(record: WarcRecord, kind: str, most: int) -> bytes | None:
    """Return the text or page of a record; None for a response that is not a page."""
    if record.fault:
        raise Damage(record.fault)
    content, about = record.content, record.headers.get("content-type", "")
    if record.headers["warc-type"] == "response":
        head, _, content = content.partition(BLANK)
        status, headers = STATUS.match(head), _headers(head)
        about = headers.get("content-type", "")
        if status is None or status[1] != b"200" or not HTML.search(about):
            return None
        content = _decoded(content, headers, most)
    elif kind == "html" and not HTML.search(about):
        return None
    if len(content) > most:
        raise Damage(too_long("", most).strip())
    if kind == "text":
        return content
    named = CHARSET.search(about)
    return decode_page(content, named[1] if named else "").encode(errors="replace")


def _decoded(content: bytes, headers: dict[str, str], most: int) -> bytes:
    """Return the body of a response without the encodings it was sent in; many archives have removed them."""
    if "chunked" in headers.get("transfer-encoding", "").lower():
        content = _joined(content)
    coding = headers.get("content-encoding", "").strip().lower()
    if coding == "br":
        raise Damage("is a page compressed with Brotli, which is not supported")
    if coding not in ("gzip", "x-gzip", "deflate"):
        return content
    form = 31 if content.startswith(b"\x1f\x8b") else zlib.MAX_WBITS if content.startswith(b"\x78") else None
    if form is None:
        return content
    inflate = zlib.decompressobj(form)
    try:
        body = inflate.decompress(content, most + 1)
    except zlib.error as error:
        raise Damage(f"has a page that cannot be decompressed: {error}") from None
    if not inflate.eof and len(body) <= most:
        raise Damage("has a page that cannot be decompressed: it is cut off")
    return body


def _joined(content: bytes) -> bytes:
    """Return the chunks of a body as one; what is not chunked stays as it is."""
    chunks: list[bytes] = []
    at = 0
    while True:
        end = content.find(LINE, at)
        length = re.match(rb"[0-9A-Fa-f]{1,8}\s*(?:;|$)", content[at:end]) if end > at else None
        if length is None:
            return b"".join(chunks) or content
        size = int(length[0].rstrip(b"; \t"), 16)
        if not size:
            return b"".join(chunks)
        chunks.append(content[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def _headers(block: bytes) -> dict[str, str]:
    """Return the headers of a record or response, with names in lower case."""
    headers: dict[str, str] = {}
    for line in block.decode(errors="replace").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), value.strip())
    return headers


# --- bytes to records ---


def _records(part: Part, most: int) -> Iterator[WarcRecord]:
    """Yield all records, with the first `most` bytes of their contents."""
    with part.paths[0].open("rb") if part.paths else io.BytesIO(part.content) as file:
        start = file.read(4)
        codec = next((codec for magic, codec in CODEC_MAGIC.items() if start.startswith(magic)), None)
        file.seek(0)
        if codec == "zstd":
            with part.open() as stream:
                yield from _records_of(part, Stream(stream), most)
        else:
            yield from _records_of(part, GzipStream(file) if codec else PlainStream(file), most)


def _records_of(part: Part, stream: "Stream", most: int) -> Iterator[WarcRecord]:
    number = 0
    while True:
        try:
            if not stream.begin():
                return
            record = _record(stream, number, most)
        except Damage as error:
            why = f"record {number}, which begins at byte {stream.start:,}, {error}"
            if not stream.recover():
                whole = f"{part.name}: cannot be read as a web archive: {why}, and no other follows it"
                raise BadFile(f"{whole}; {bad_file_hint()}.") from None
            record = WarcRecord(number, {}, b"", f"is damaged: it {error}")
        yield record
        number += 1


def _record(stream: "Stream", number: int, most: int) -> WarcRecord:
    if stream.peek(len(MARK)) != MARK:
        raise Damage("does not begin like a record")
    headers = _headers(stream.until(BLANK))
    length = headers.get("content-length", "")
    if not re.fullmatch(r"\d{1,15}", length, re.ASCII):
        raise Damage(f"has the length {length!r}, which is not a number")
    content = stream.read(min(int(length), most))
    stream.skip(int(length) - len(content))
    stream.finish()
    return WarcRecord(number, headers, content)


class Stream:
    """Bytes to read in order; `start` is where the record begins, or its compressed member."""

    def __init__(self, file: IO[bytes]):
        self.file, self.buffer, self.start = file, b"", 0

    def _more(self, same: bool = False) -> bytes:
        """Return some more bytes, or nothing at the end; with `same`, only of the same member."""
        return self.file.read(BLOCK)

    def begin(self) -> bool:
        """Go to the next record; return False if there is none."""
        while not self.buffer:
            self.buffer = self._more()
            if not self.buffer:
                return False
            self.buffer = self.buffer.lstrip(LINE)
        return True

    def peek(self, size: int) -> bytes:
        """Return the next bytes; they remain."""
        while len(self.buffer) < size and (more := self._more()):
            self.buffer += more
        return self.buffer[:size]

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        blocks, held = [self.buffer], len(self.buffer)
        while held < size:
            blocks.append(self._needed())
            held += len(blocks[-1])
        whole = b"".join(blocks)
        self.buffer = whole[size:]
        return whole[:size]

    def skip(self, size: int) -> None:
        """Leave out the next bytes."""
        while size > len(self.buffer):
            size -= len(self.buffer)
            self.buffer = self._needed()
        self.buffer = self.buffer[size:]

    def until(self, end: bytes) -> bytes:
        """Return the next bytes up to these, which are left out."""
        while (at := self.buffer.find(end)) < 0:
            if len(self.buffer) > HEAD:
                raise Damage("has headers without an end")
            self.buffer += self._needed()
        found, self.buffer = self.buffer[:at], self.buffer[at + len(end) :]
        return found

    def finish(self) -> None:
        """Read the line ends after a record, or find that it is longer or shorter than it says."""
        while len(self.buffer) < len(BLANK + MARK) and (more := self._more(same=True)):  # checks its member, too
            self.buffer += more
        whole = self.buffer.startswith(BLANK)
        self.buffer = self.buffer.lstrip(LINE)
        if not whole and self.buffer and not self.buffer.startswith(MARK):
            raise Damage("has a wrong length")

    def recover(self) -> bool:
        """Go to a later record after damage; return False if none is found."""
        return False

    def _needed(self) -> bytes:
        more = self._more()
        if not more:
            raise Damage("is cut off by the end of the file")
        return more


class PlainStream(Stream):
    """The bytes of a file that is not compressed."""

    def begin(self) -> bool:
        """Go to the next record, whose place is known from what has been read since."""
        more = super().begin()
        self.start = self.file.tell() - len(self.buffer)
        return more

    def recover(self) -> bool:
        """Go to the next line that begins like a record."""
        found = _find(self.file, LINE + MARK, self.start + 1)
        self.file.seek(found + len(LINE) if found >= 0 else 0, 0 if found >= 0 else 2)
        self.buffer = b""
        return found >= 0


class GzipStream(Stream):
    """The bytes of a gzip file, in which each record usually is a member of its own."""

    def __init__(self, file: IO[bytes]):
        super().__init__(file)
        self.raw, self.inflate = b"", zlib.decompressobj(31)
        self.inside = False  # a member

    def _more(self, same: bool = False) -> bytes:
        while True:
            if not self.raw:
                self.raw = self.file.read(BLOCK)
            if not self.raw:
                if self.inside:
                    raise Damage("is cut off by the end of the file")
                return b""
            if not self.inside:
                if same:
                    return b""
                self.start, self.inside = self.file.tell() - len(self.raw), True
                self.inflate = zlib.decompressobj(31)
            try:
                more = self.inflate.decompress(self.raw, BLOCK)
            except zlib.error as error:
                raise Damage(f"cannot be decompressed ({error})") from None
            self.raw = self.inflate.unused_data if self.inflate.eof else self.inflate.unconsumed_tail
            self.inside = not self.inflate.eof
            if more:
                return more

    def recover(self) -> bool:
        """Go to the next member that begins like a record."""
        at = self.start
        while (at := _find(self.file, b"\x1f\x8b\x08", at + 1)) >= 0:
            self.file.seek(at)
            try:
                begins = zlib.decompressobj(31).decompress(self.file.read(BLOCK), len(MARK)) == MARK
            except zlib.error:
                continue
            if begins:
                break
        self.file.seek(at if at >= 0 else 0, 0 if at >= 0 else 2)
        self.buffer, self.raw, self.inside = b"", b"", False
        return at >= 0


def _find(file: IO[bytes], mark: bytes, at: int) -> int:
    """Return the place of the next such bytes in a file, or -1."""
    file.seek(at)
    block = b""
    while more := file.read(BLOCK):
        found = (block + more).find(mark)
        if found >= 0:
            return at + found
        rest = (block + more)[-(len(mark) - 1) :]
        at += len(block) + len(more) - len(rest)
        block = rest
    return -1
