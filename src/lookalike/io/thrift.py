"""Reads and writes structs of Thrift's compact protocol, in which Parquet states its metadata.

A struct becomes a dict from the number of each field to its type and value, so that a field can be
changed without knowing the others, which are written back as they were. See "Thrift compact
protocol encoding" in the Apache Thrift specification; Parquet uses no maps.
"""

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

TRUE, FALSE, BYTE, SHORT, INTEGER, LONG, DOUBLE, BINARY, LIST, SET = range(1, 11)
STRUCT = 12
LONGEST, MOST, DEEPEST = 100_000_000, 1_000_000, 64  # bytes of a string, values of a list, structs in a struct


class Value(NamedTuple):
    """A value with its type: a bool, int, float or bytes, `Listing` (a list or set), or a struct."""

    kind: int
    value: Any


class Listing(NamedTuple):
    """The values of a list or set, which all have one type."""

    kind: int
    values: list[Any]


Fields = dict[int, Value]


def read_struct(content: Any, at: int, last: int | None = None) -> tuple[Fields, int]:
    """Return the fields of a struct that begins at a place, and where it ends.

    The content can be any object that gives bytes by place and by slice. If `last` is given, the
    fields after that one are not read. Raises a ValueError if the content is damaged.
    """
    reader = _Reader(content, at)
    try:
        return reader.fields(DEEPEST, last), reader.at
    except IndexError:
        raise ValueError("a struct is cut off") from None


def write_struct(fields: Mapping[int, Value]) -> bytes:
    """Return the bytes of a struct."""
    written, before = bytearray(), 0
    for number, (kind, value) in fields.items():
        if 0 < number - before < 16:
            written.append(number - before << 4 | kind)
        else:
            written.append(kind)
            written += _zigzag(number)
        before = number
        if kind not in (TRUE, FALSE):  # whose type is their value
            written += _write(kind, value)
    written.append(0)
    return bytes(written)


class _Reader:
    """Reads one value after the other."""

    def __init__(self, content: Any, at: int):
        self.content, self.at = content, at

    def fields(self, depth: int, last: int | None = None) -> Fields:
        """Return a struct that holds at most `depth` more structs or lists within each other."""
        if not depth:
            raise ValueError("structs are nested too deeply")
        found: Fields = {}
        number = 0
        while number != last and (head := self.byte()):
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            found[number] = Value(kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth - 1))
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in (SHORT, INTEGER, LONG):
            return self.zigzag()
        if kind == BINARY:
            return self.bytes(self.number(LONGEST))
        if kind == STRUCT:
            return self.fields(depth)
        if kind in (LIST, SET):
            return self.items(depth)
        if kind in (TRUE, FALSE):  # in a list, where each has a byte
            return self.byte() == TRUE
        if kind == BYTE:
            return (self.byte() ^ 128) - 128
        if kind == DOUBLE:
            return struct.unpack("<d", self.bytes(8))[0]
        raise ValueError(f"there is no type {kind}")

    def items(self, depth: int) -> Listing:
        if not depth:
            raise ValueError("lists are nested too deeply")
        head = self.byte()
        count = self.number(MOST) if head >> 4 == 15 else head >> 4
        return Listing(head & 15, [self.value(head & 15, depth - 1) for _ in range(count)])

    def zigzag(self) -> int:
        value = self.number((1 << 64) - 1)
        return (value >> 1) ^ -(value & 1)

    def number(self, most: int) -> int:
        """Return a number of seven bits per byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if value > most or shift > 63:
                raise ValueError("a number is too large")
            if byte < 128:
                return value
            shift += 7

    def byte(self) -> int:
        found: int = self.content[self.at]
        self.at += 1
        return found

    def bytes(self, length: int) -> bytes:
        found = bytes(self.content[self.at : self.at + length])
        if len(found) < length:
            raise IndexError
        self.at += length
        return found


def _write(kind: int, value: Any) -> bytes:
    if kind in (SHORT, INTEGER, LONG):
        return _zigzag(value)
    if kind == BINARY:
        return _number(len(value)) + bytes(value)
    if kind == STRUCT:
        return write_struct(value)
    if kind in (LIST, SET):
        count = len(value.values)
        head = bytes([count << 4 | value.kind]) if count < 15 else bytes([15 << 4 | value.kind]) + _number(count)
        return head + b"".join(_write(value.kind, item) for item in value.values)
    if kind in (TRUE, FALSE):
        return bytes([TRUE if value else FALSE])
    if kind == BYTE:
        return bytes([value & 255])
    if kind == DOUBLE:
        return struct.pack("<d", value)
    raise ValueError(f"there is no type {kind}")


def _zigzag(value: int) -> bytes:
    return _number((value << 1) ^ (value >> 63))


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)
