"""Reads text in blocks of whole lines, and as one document per line."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.part import BOM, Block, Part

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])


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


def read_lines(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    """Yield one document per line; the caller numbers them, and finds those that are too long."""
    for block in blocks(part, size, part.most):
        block = block.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        offsets = np.concatenate(([0], ends + 1))  # each text keeps its line feed, which is cut off below
        whole = pa.Array.from_buffers(
            pa.large_binary(), len(ends), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(block + b"\n")]
        )
        yield Block(pa.table({"text": pc.binary_slice(whole, 0, -1)}))


def lines_schema(part: Part) -> pa.Schema:
    """Return the columns given to lines of text."""
    return SCHEMA
