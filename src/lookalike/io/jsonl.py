"""Reads JSON lines, or one JSON array of objects, into Arrow tables, one block of rows at a time.

Arrow parses a whole block at once. If it rejects a block, Python parses it line by line, because
its messages are better; remaining faults are found by bisection.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import too_long
from lookalike.io.lines import line_blocks, line_pieces, range_blocks, with_line_feeds
from lookalike.io.part import BOM, Block, Part, Task
from lookalike.kernels.lines import BLANK, OTHER, line_ends, line_kinds

LOOK = 1000  # lines that decide the columns of the file
HEAD = 4096  # bytes that show whether a file is an array
SPACE = re.compile(r"[ \t\r\n]*")
WORDS = {
    str: "a string", int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip
ARRAYS = " (a file can be one whole array; jq -c '.[]' splits others)"
SIZE = 4 << 20  # bytes read at a time to find the columns
OTHERS = 16 << 20  # bytes that the other columns of a line can have


def json_schema(part: Part) -> pa.Schema:
    """Return the columns of the first LOOK lines, each with the type of its first non-null value.

    Integers are unsigned unless one is negative; lists have the type of their first element.
    """
    kinds: dict[str, pa.DataType] = {}
    for line in islice((line for read in json_blocks(part, SIZE) for line in lines_of(read())), LOOK):
        row, _ = object_in(line)
        for name, value in (row or {}).items():
            kind = _type_of(value)
            if kinds.get(name) in (None, pa.null(), pa.list_(pa.null())) or _is_signed(kind, kinds[name]):
                kinds[name] = kind
    return pa.schema(list(kinds.items()))


def _type_of(value: Any) -> pa.DataType:
    if isinstance(value, list):
        return pa.list_(_type_of(next((one for one in value if one is not None), None)))
    if type(value) is int:
        return pa.int64() if value < 0 else pa.uint64()
    kinds = {str: pa.string(), float: pa.float64(), bool: pa.bool_(), dict: pa.struct([])}
    return kinds.get(type(value), pa.null())


def _is_signed(kind: pa.DataType, before: pa.DataType) -> bool:
    return bool(kind == pa.int64() and before == pa.uint64())


def simple_types(schema: pa.Schema, lists: bool = False) -> pa.Schema:
    """Return the columns as integers or strings; with `lists`, lists become lists of those."""

    def simple(kind: pa.DataType) -> pa.DataType:
        if lists and pa.types.is_list(kind):
            return pa.list_(simple(kind.value_type))
        return pa.int64() if pa.types.is_integer(kind) else pa.string()

    return pa.schema([(field.name, simple(field.type)) for field in schema])


def json_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield tasks that read the columns of the schema; a line that does not fit them is faulty."""
    return (partial(_read_block, block, schema, longest_line(part)) for block in json_blocks(part, size))


def json_spots(part: Part, schema: pa.Schema, size: int, count: int) -> Iterator[Task]:
    """Yield tasks that read lines from all over a part; none for an array, which is read whole."""
    if begins_array(part):
        return
    for block in range_blocks(part, size, longest_line(part), count):
        yield partial(_read_block, block, schema, longest_line(part))


def json_pieces(part: Part, size: int) -> Iterator[Part]:
    """Yield JSON lines in pieces of `size` bytes; an array is not cut."""
    return iter([part]) if begins_array(part) else line_pieces(part, size)


def begins_array(part: Part) -> bool:
    """Return whether a file seems to be one JSON array."""
    with part.open() as stream:
        return bool(stream.read(HEAD).removeprefix(BOM).lstrip().startswith(b"["))


def _read_block(read: Callable[[], bytes], schema: pa.Schema, longest: int) -> list[Block]:
    block = read()
    content = np.frombuffer(block, np.uint8)
    ends = line_ends(content)
    kinds = line_kinds(content, ends)
    lines = with_line_feeds(block, ends)
    if (kinds == BLANK).any():
        lines = lines.filter(pa.array(kinds != BLANK))
    if not len(lines):
        return []  # as for a block within a long line
    odd = (kinds == OTHER).any() or np.diff(ends, prepend=0).max(initial=0) > longest
    table = None if odd else _parsed(pa.py_buffer(block), len(lines), schema)
    if table is not None:
        return [Block(table, lines=lines)]
    table, faults = _parse([line.removesuffix(b"\n") for line in lines.to_pylist()], schema, longest)
    good = np.delete(np.arange(len(lines)), sorted(faults))
    return [Block(table, faults, lines.take(pa.array(good)))]


def json_blocks(part: Part, size: int) -> Iterator[Callable[[], bytes]]:
    """Yield functions that return blocks of lines; the elements of an array become lines."""
    elements = _array(part)
    if elements is None:
        yield from line_blocks(part, size, longest_line(part))
    else:
        yield from (partial(bytes, block) for block in _element_blocks(elements, size))


def _element_blocks(elements: list[bytes], size: int) -> Iterator[bytes]:
    """Yield blocks of the elements of an array, each as a line."""
    waiting: list[bytes] = []
    held = 0
    for element in elements:
        waiting.append(element)
        held += len(element)
        if held >= size:
            yield b"\n".join(waiting)
            waiting, held = [], 0
    yield b"\n".join(waiting)


def _array(part: Part) -> list[bytes] | None:
    """Return the elements of a file that is one JSON array, each as a line; None for other files."""
    if part.section is not None or not begins_array(part):
        return None
    text = part.read().removeprefix(BOM).decode("utf-8", "surrogateescape")
    decoder, at = json.JSONDecoder(), _next(text, _next(text, 0) + 1)
    elements: list[bytes] = []
    try:
        while not text.startswith("]", at):
            _, end = decoder.raw_decode(text, at)
            elements.append(text[at:end].encode("utf-8", "surrogateescape").replace(b"\n", b" "))
            at = _next(text, end)
            if text.startswith(",", at) and not text.startswith("]", _next(text, at + 1)):
                at = _next(text, at + 1)
            elif not text.startswith("]", at):
                return None
    except (ValueError, RecursionError):
        return None
    return None if _next(text, at + 1) < len(text) else elements


def _next(text: str, at: int) -> int:
    """Return the place of the next character that is not white space."""
    found = SPACE.match(text, at)
    return found.end() if found else at


def only(line: bytes, names: Collection[str]) -> bytes:
    """Return an object with some of its columns, each exactly as in the line.

    >>> only(b'{"a": 1.50, "b": [2], "c": "x"}', {"a", "c"})
    b'{"a": 1.50, "c": "x"}'
    """
    text = line.decode("utf-8", "surrogateescape")
    decoder, at, kept = json.JSONDecoder(strict=False), _next(text, 0) + 1, []
    while not text.startswith("}", at := _next(text, at)):
        name, after = decoder.raw_decode(text, at)
        _, end = decoder.raw_decode(text, _next(text, _next(text, after) + 1))
        if name in names:
            kept.append(text[at:end])
        at = _next(text, end)
        at += text.startswith(",", at)
    return f"{{{', '.join(kept)}}}".encode("utf-8", "surrogateescape")


def has_column(part: Part, name: str) -> bool:
    """Return whether a part is JSON lines and any of its lines seems to have this column."""
    written = json.dumps(name, ensure_ascii=False).encode()
    return part.format == "jsonl" and any(written in read() for read in json_blocks(part, SIZE))


def lines_of(block: bytes) -> list[bytes]:
    """Return the lines of a block that are not blank."""
    return [line for line in block.split(b"\n") if line.strip()]


def _parse(lines: list[bytes], schema: pa.Schema, longest: int) -> tuple[pa.Table, dict[int, str]]:
    """Return a table of the good lines and the faults; other columns are ignored."""
    faults = {at: why for at, line in enumerate(lines) if (why := coarse_fault(line, longest))}
    table = read_all([line for at, line in enumerate(lines) if at not in faults], schema, "ignore")
    if table is not None:
        return table, faults
    faults |= {at: why for at, line in enumerate(lines) if at not in faults and (why := fault_in(line, schema))}
    left = [at for at in range(len(lines)) if at not in faults]
    faults |= {left[at]: why for at, why in _faults_by_halves([lines[at] for at in left], schema).items()}
    table = read_all([line for at, line in enumerate(lines) if at not in faults], schema, "ignore")
    assert table is not None
    return table, faults


def _read(content: pa.Buffer, schema: pa.Schema, others: str = "ignore") -> pa.Table:
    from pyarrow import json as pa_json

    return pa_json.read_json(
        pa.BufferReader(content),
        pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
    )


def _parsed(content: pa.Buffer, lines: int, schema: pa.Schema, others: str = "ignore") -> pa.Table | None:
    """Return a table with one row per line; None if Arrow fails or finds two objects in a line."""
    if not lines:
        return schema.empty_table()
    try:
        table = _read(content, schema, others)
    except pa.ArrowInvalid:
        return None
    return table if len(table) == lines else None


def read_all(lines: list[bytes], schema: pa.Schema, others: str) -> pa.Table | None:
    """Return a table of lines that are not blank; None if Arrow fails or finds two objects in one."""
    return _parsed(pa.py_buffer(b"\n".join(lines)), len(lines), schema, others)


def _faults_by_halves(lines: list[bytes], schema: pa.Schema) -> dict[int, str]:
    """Find the lines that Arrow rejects, and why, by bisection."""
    if read_all(lines, schema, "ignore") is not None:
        return {}
    if len(lines) == 1:
        try:
            return {0: f"not one JSON object but {len(_read(pa.py_buffer(lines[0]), schema))}"}
        except pa.ArrowInvalid as error:
            return {0: str(error).removesuffix(" in row 0")}
    half = len(lines) // 2
    right = _faults_by_halves(lines[half:], schema)
    return _faults_by_halves(lines[:half], schema) | {half + at: why for at, why in right.items()}


def object_in(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object in a line, or None and the reason. Invalid UTF-8 is not checked here."""
    hint = ARRAYS if line.lstrip().startswith(b"[") else ""
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:  # its own text counts lines within this line
        return None, f"not valid JSON at column {error.colno} ({error.msg}){hint}"
    except (ValueError, RecursionError) as error:
        return None, f"not valid JSON ({error}){hint}"
    return (row, "") if isinstance(row, dict) else (None, f"not a JSON object but {_word(row)}{hint}")


def longest_line(part: Part) -> int:
    """Return the most bytes of a line; escaped, as in \\u00e9, a text takes up to three times its bytes."""
    return 3 * part.most + OTHERS


def coarse_fault(line: bytes, longest: int) -> str | None:
    """Return the fault of a non-object, which Arrow must not see (`null` crashes pyarrow 26)."""
    if len(line) > longest:
        return too_long("the line", longest)
    bare = line.strip()
    return None if bare.startswith(b"{") and bare.endswith(b"}") else object_in(line)[1] or "not a JSON object"


def fault_in(line: bytes, schema: pa.Schema) -> str | None:
    """Return why a line does not fit the columns; None if it fits or if Arrow must decide."""
    row, why = object_in(line)
    if row is None:
        return why
    for column in schema:
        value = row.get(column.name)
        if value is not None and (why := _misfit(value, column.type)):
            return f"{column.name} {why}"
    return None


def _misfit(value: Any, kind: pa.DataType) -> str:
    """Return why a value does not fit a column's type; empty if it fits or if Arrow must decide."""
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            return f"is {_word(value)}, not a list"
        inner = _python_types(kind.value_type)
        other = next((one for one in value if one is not None and type(one) not in inner), None)
        return "" if other is None else f"holds {_word(other)}, not {_words(inner)}"
    wanted = _python_types(kind)
    if type(value) not in wanted:
        return f"is {value!r}, not a number" if float in wanted else f"is {_word(value)}, not {WORDS[wanted[0]]}"
    if wanted == (int,):
        least, most = (0, 1 << 64) if kind == pa.uint64() else (-(1 << 63), 1 << 63)
        return "" if least <= value < most else f"is {value!r}, not a 64-bit integer"
    return ""


def _python_types(kind: pa.DataType) -> tuple[type, ...]:
    """Return the Python types that json returns for a column's type."""
    if pa.types.is_integer(kind):
        return (int,)
    if pa.types.is_floating(kind):
        return (float, int)
    return (str,) if pa.types.is_string(kind) else (str, int, float, bool, list, dict)


def _word(value: Any) -> str:
    return WORDS[type(value)]


def _words(types: tuple[type, ...]) -> str:
    return "numbers" if float in types else "integers" if int in types else "strings"
