"""Damage bytes and JSON values; the same random generator makes the same damage."""

import gzip
import io
import json
import math
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import lmdb
import pyarrow as pa

from lookalike.index.tables import TABLES

NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 256, 32767, 65535, 65536, 200_000, 2**30, 2**31 - 1, 2**31, 2**32 - 1,
           2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
FLOATS = (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 1e-40)
WORDS = (
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"-0", b"1e-400", b"99999999999999999999", b"-9223372036854775809",
    b"null", b"true", b'""', b"[]", b"{}", b"[[", b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\0",
    b"\x1b[2J", b"<!--", b"</p>", b"<table>", b"&#x110000;", b"\\ud800", b"\\u0000", b"::", b"%s", b"../", b"=1+1",
)  # fmt: skip
NOT_UTF8 = (
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\x80",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
)
LARGEST = 200_000  # bytes of a damaged file: this looks for crashes, not for slow large inputs

Change = Callable[[bytes, Random], bytes]


def damaged(content: bytes, draw: Random, others: tuple[bytes, ...] = ()) -> bytes:
    """Return the content with one to eight changes; a splice takes bytes from one of the others."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        if others and draw.random() < 0.1:
            content = _splice(content, draw.choice(others), draw)
        else:
            content = draw.choice(CHANGES)(content, draw)
    return content[:LARGEST]


def damaged_inside(name: str, content: bytes, draw: Random) -> bytes:
    """Like `damaged`, but within compression or a zip archive, if the name shows one."""
    if name.endswith(".gz"):
        return gzip.compress(damaged(gzip.decompress(content), draw), 1, mtime=0)
    if name.endswith(".zst"):
        plain = pa.input_stream(pa.py_buffer(content), compression="zstd").read()
        return bytes(pa.compress(damaged(plain, draw), codec="zstd", asbytes=True))
    if name.endswith((".npz", ".xlsx")):
        return _damaged_zip(content, draw)
    return _damaged_entry(content, draw) if name.endswith(".mdb") else damaged(content, draw)


def _damaged_zip(content: bytes, draw: Random) -> bytes:
    """Damage one member of a zip archive, and write the archive again with correct checksums."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        chosen = draw.choice(old.namelist())
        for name in old.namelist():
            member = old.read(name)
            new.writestr(zipfile.ZipInfo(name), damaged(member, draw) if name == chosen else member)
    return made.getvalue()


def _damaged_entry(content: bytes, draw: Random) -> bytes:
    """Damage one value in a table of an index, or its key; the file itself stays in order."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "data.mdb"
        place.write_bytes(content)
        with lmdb.open(folder, max_dbs=16, map_size=1 << 24) as env:
            names = [name.encode() for name in TABLES]
            table = env.open_db(draw.choice((None, *names)), create=False)  # None: the settings and counts
            with env.begin(write=True, db=table) as txn:
                entries = [(key, value) for key, value in txn.cursor() if key not in names]
                for key, value in draw.choices(entries, k=draw.choice((1, 1, 5))) if entries else ():
                    txn.delete(key)
                    changed = damaged(key, draw)[:500] if draw.random() < 0.2 else key
                    txn.put(changed or b"\0", damaged(value, draw))
        return place.read_bytes()


def _place(content: bytes, draw: Random, width: int = 1) -> int:
    """Draw a position, often a multiple of the width, as fields of binary formats have."""
    at = draw.randrange(max(1, len(content) - width + 1))
    return at // width * width if draw.random() < 0.7 else at


def _put(content: bytes, at: int, new: bytes, instead_of: int) -> bytes:
    return content[:at] + new + content[at + instead_of :]


def _flip(content: bytes, draw: Random) -> bytes:
    at = _place(content, draw)
    return _put(content, at, bytes([content[at] ^ 1 << draw.randrange(8)]), 1) if content else content


def _number(content: bytes, draw: Random) -> bytes:
    """Overwrite a number of 1 to 8 bytes, in either order, as lengths, counts and offsets are."""
    width = draw.choice((1, 2, 4, 4, 8, 8))
    value = draw.choice((*NUMBERS, len(content), draw.getrandbits(64)))
    value = -value if draw.random() < 0.2 else value
    new = (value % (1 << 8 * width)).to_bytes(width, draw.choice(("little", "little", "big")))
    return _put(content, _place(content, draw, width), new, width)


def _float(content: bytes, draw: Random) -> bytes:
    form = draw.choice(("<f", "<d"))
    value = draw.choice(FLOATS)
    new = struct.pack(form, value if form == "<d" or abs(value) != 1e308 else math.inf)
    return _put(content, _place(content, draw, len(new)), new, len(new))


def _word(content: bytes, draw: Random) -> bytes:
    return _put(content, _place(content, draw), draw.choice(WORDS + NOT_UTF8), draw.choice((0, 0, 1, 4)))


def _cut(content: bytes, draw: Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _remove(content: bytes, draw: Random) -> bytes:
    return _put(content, _place(content, draw), b"", draw.choice((1, 2, 8, 64, 512)))


def _repeat(content: bytes, draw: Random) -> bytes:
    at, size = _place(content, draw), draw.choice((1, 4, 16, 200, 2000))
    return _put(content, at, content[at : at + size] * draw.choice((1, 2, 30, 300)), 0)[:LARGEST]


def _move(content: bytes, draw: Random) -> bytes:
    at, size = _place(content, draw), draw.choice((4, 8, 64, 512))
    return _put(content, _place(content, draw), content[at : at + size], size)


def _splice(content: bytes, other: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + other[draw.randrange(len(other) + 1) :]


CHANGES: tuple[Change, ...] = (
    _flip,
    _flip,
    _number,
    _number,
    _number,
    _float,
    _word,
    _word,
    _cut,
    _remove,
    _repeat,
    _move,
)


# --- JSON ---

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.5, 1e308, 5e-324, math.nan,
    math.inf, "", "0", "a", "\0", "\ud800", "\U0010ffff", "a" * 3000, "../../x", "<p>" * 300, [], [[]], [[[[]]]], {},
    {"a": 1}, [1, "a"], [None], [0.5] * 300, ["a"] * 300,
)  # fmt: skip


def damaged_json(value: Any, draw: Random) -> bytes:
    """Return a JSON value as bytes, with one to three of its parts replaced, repeated or removed."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        value = _damaged_part(value, draw)
    if draw.random() < 0.02:
        depth = draw.choice((50, 500, 5000))
        return b"[" * depth + b"]" * depth
    return json.dumps(value, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")


def _damaged_part(value: Any, draw: Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        others = {key: one for key, one in value.items() if key != name}
        happens = draw.random()
        if happens < 0.1:
            return others
        renamed = draw.choice(("", "k", "top", "items", "ids", name + " ", "x" * 300)) if happens < 0.2 else name
        return {**others, renamed: _damaged_part(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.7:
        at = draw.randrange(len(value))
        instead = draw.choice(([], [value[at]] * draw.choice((2, 100, 1100)), [_damaged_part(value[at], draw)]))
        return [*value[:at], *instead, *value[at + 1 :]]
    return draw.choice(VALUES)
