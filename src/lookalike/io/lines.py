"""Reads text in blocks of whole lines, and as one document per line."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.part import BOM, Block, Part, Section, Task, evenly, read_start
from lookalike.kernels.lines import line_ends

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])
BEYOND = 1 << 16  # bytes to read at a time to find the end of a line


def blocks(part: Part, size: int, longest: int) -> Iterator[bytes]:
    """Yield the part's bytes in blocks of about `size`, each ending at the end of a line.

    A line that does not end within `longest` bytes is cut off there or later, but stays longer.
    """
    with part.open() as stream:
        rest = stream.read(max(size, len(BOM) + 1)).removeprefix(BOM)
        while rest:
            more = stream.read(max(size, min(len(rest), longest)))
            end = rest.rfind(b"\n") + 1 if more else len(rest)
            if end:
                yield rest[:end]
            elif len(rest) > longest:
                rest, more = rest[: longest + 1], _from_line_end(more, stream, size)
            rest = rest[end:] + more


def _from_line_end(start: bytes, stream: pa.NativeFile, size: int) -> bytes:
    """Return what was read, and maybe more, without all that is before the next end of a line."""
    while start and b"\n" not in start:
        start = stream.read(size)
    return start[max(0, start.find(b"\n")) :]


def line_blocks(part: Part, size: int, longest: int) -> Iterator[Callable[[], bytes]]:
    """Yield functions that return such blocks; those of a plain file can be read in any order."""
    if not part.is_plain():
        yield from (partial(bytes, block) for block in blocks(part, size, longest))
        return
    section = Section(part, 0, part.stored_size()) if part.section is None else part.section
    for start in section.within(size):
        yield partial(lines_between, part.paths[0], start, min(start + size, section.stop), longest)


def lines_between(path: Path, start: int, stop: int, longest: int) -> bytes:
    """Return the lines of a file that begin in range(start, stop); too long ones are cut off."""
    with path.open("rb", buffering=0) as file:
        file.seek(max(0, start - 1))
        content = read_start(file, stop - max(0, start - 1))
        if start:
            first = content.find(b"\n", 0, stop - start) + 1  # where the first of them begins
            if not first:
                return b""
            content = content[first:]
        parts, held = [content], len(content) - content.rfind(b"\n") - 1  # the bytes of a line that goes on
        while not parts[-1].endswith(b"\n") and held <= longest and (more := file.read(BEYOND)):
            parts.append(more[: more.find(b"\n") + 1] or more)
            held += len(parts[-1])
    return b"".join(parts).removeprefix(BOM if start == 0 else b"")


def line_pieces(part: Part, size: int) -> Iterator[Part]:
    """Yield a plain file in pieces of `size` bytes, each with the lines that begin there; others are not cut."""
    if not part.is_plain():
        yield part
        return
    stored = part.stored_size()
    for start in range(0, stored, size):
        yield part.piece("byte", start, min(start + size, stored))


def range_blocks(part: Part, size: int, longest: int, count: int) -> Iterator[Callable[[], bytes]]:
    """Yield functions that return blocks of lines from all over a plain file, and none for others."""
    for at in evenly(part.stored_size() // size, count) if part.is_plain() else ():
        yield partial(lines_between, part.paths[0], at * size, (at + 1) * size, longest)


def line_spots(part: Part, schema: pa.Schema, size: int, count: int) -> Iterator[Task]:
    """Yield tasks that read lines from all over a part."""
    return (partial(_documents, block) for block in range_blocks(part, size, part.most, count))


def line_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that read one document per line; the caller numbers them, and finds too long ones."""
    return (partial(_documents, block) for block in line_blocks(part, size, part.most))


def _documents(read: Callable[[], bytes]) -> list[Block]:
    block = read().replace(b"\r\n", b"\n")
    if not block:
        return []  # it is within a long line
    whole = with_line_feeds(block, line_ends(np.frombuffer(block, np.uint8)))
    return [Block(pa.table({"text": pc.binary_slice(whole, 0, -1)}))]


def with_line_feeds(block: bytes, ends: np.ndarray) -> pa.LargeBinaryArray:
    """Return the lines of a block, each with its line feed; the last gets one if it has none."""
    offsets = np.concatenate(([0], ends))
    if block and not block.endswith(b"\n"):
        block += b"\n"
        offsets[-1] += 1
    return pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )


def lines_schema(part: Part) -> pa.Schema:
    """Return the columns given to lines of text."""
    return SCHEMA
