"""Reads folders and lists of files as one document per file."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.core.errors import too_long
from lookalike.io.part import BOM, CODECS, Block, Part, Task, evenly, open_path, read_start
from lookalike.items.pages import decode_page

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.large_string())])
HEAD = 8192  # bytes to inspect to decide whether a file is text
FILES = 256  # the most files to read in one task
PICTURE = "is a picture, not text; `lookalike vectors` compares pictures"
NO_TEXT = {  # why files with these suffixes cannot be read as text
    ".avro": "is Avro, which is not supported; save it as Parquet or JSON lines",
    ".orc": "is ORC, which is not supported; save it as Parquet",
    ".pkl": "is a pickle, which is never loaded; save it as Parquet or JSON lines",
    ".pickle": "is a pickle, which is never loaded; save it as Parquet or JSON lines",
    ".wat": "is metadata of a web archive (WAT), which has no texts; read its WARC or WET file",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".heic", ".ico"), PICTURE),
}


def why_no_text(path: Path) -> str | None:
    """Return why a file cannot be read as text, if its name shows it."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in CODECS:
        suffixes.pop()
    return NO_TEXT.get(suffixes[-1]) if suffixes else None


def file_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that read one document per file; its id is the path, relative to its folder or glob."""
    if part.content is not None:
        yield partial(_read, part, size)
        return
    for paths in _together(part.paths, size):
        yield partial(_read, replace(part, paths=paths), size)


def file_spots(part: Part, schema: pa.Schema, size: int, count: int) -> Iterator[Task]:
    """Yield tasks that read some files each, from all over the list."""
    some = 1 + len(part.paths) // (8 * count)
    for at in evenly(len(part.paths) // some, count) if part.content is None else ():
        yield partial(_read, replace(part, paths=part.paths[at * some : (at + 1) * some]), size)


def file_pieces(part: Part, size: int) -> Iterator[Part]:
    """Yield the part in pieces of whole files, of about `size` bytes."""
    stored = [path.stat().st_size for path in part.paths]
    for piece in part.cut("file", stored, size):
        assert piece.section is not None
        paths = part.paths[piece.section.start : piece.section.stop]
        yield replace(piece, paths=paths)


def _together(paths: tuple[Path, ...], size: int) -> Iterator[tuple[Path, ...]]:
    """Yield the paths in groups of FILES files or about `size` bytes."""
    held, start = 0, 0
    for at, path in enumerate(paths, 1):
        held += path.stat().st_size
        if held >= size or at - start == FILES or at == len(paths):
            yield paths[start:at]
            held, start = 0, at


def _read(part: Part, size: int) -> Iterator[Block]:
    kinds = pa.schema([("id", pa.string()), ("text", pa.large_string() if part.html else pa.large_binary())])
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    held = 0
    for name, content in _contents(part):
        why = why_no_text(Path(name)) or (too_long("it", part.most) if len(content) > part.most else None)
        text: Any = decode_page(content) if part.html and why is None else content.removeprefix(BOM)
        if why is None and ("\0" if part.html else b"\0") in text[:HEAD]:
            why = "holds null bytes, so it is not text"
        if why is not None:
            faults[len(rows) + len(faults)] = why
        else:
            rows.append({"id": name, "text": text})
            held += len(content)
        if held >= size:
            yield Block(pa.Table.from_pylist(rows, kinds), faults)
            rows, faults, held = [], {}, 0
    yield Block(pa.Table.from_pylist(rows, kinds), faults)


def _contents(part: Part) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file of a part, or of standard input."""
    if part.content is not None:
        with part.open() as stream:
            yield "-", read_start(stream, part.most + 1)
    for path in part.paths:
        with open_path(path, part.encoding) as stream:
            yield part.id_of(path), read_start(stream, part.most + 1)


def files_schema(part: Part) -> pa.Schema:
    """Return the columns given to documents that are files."""
    return SCHEMA


def files_rows(part: Part) -> int:
    """Return the number of documents."""
    return len(part.paths) if part.content is None else 1
