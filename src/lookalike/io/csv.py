"""Reads CSV and TSV into Arrow tables, block by block, and lists the rows it could not read."""

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from lookalike.core.errors import BadFile, DataError, encoding_hint, too_long
from lookalike.core.wording import counted
from lookalike.io.part import BOM, COLONS, UNIT, Block, Part, Task, ready, selected

SEPARATORS = ",;\t|"
QUOTED = re.compile(r'"(?:[^"]|"")*+"')  # a cell
LOOK = 20  # lines to inspect to decide whether a text is CSV
NAME = re.compile(r"[^\W\d]\w*([ .:/-]\w+){0,2}")  # a plausible column name
LARGEST_CELL = (1 << 31) - 1  # characters
OTHERS = 16 << 20  # bytes that the other cells of a row can have
HEADER = 1 << 24  # the most characters of the line with the column names
HEAD = 1 << 16  # bytes to read for the first line of CSV, or enough of it


def csv_tasks(part: Part, schema: pa.Schema, size: int) -> Iterator[Task]:
    """Yield the columns of the schema; only reading on shows where a row ends, so blocks are ready."""
    return (ready(block) for block in _growing_blocks(part, schema, size))


def _growing_blocks(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    """Yield the columns of the schema, in blocks that grow when a row does not fit."""
    done, space = 0, max(size, 1 << 16)
    longest = max(space, 2 * part.most + OTHERS)  # a quote is written as two
    while True:
        try:
            for block in _csv_blocks(part, schema, space, done):
                done += len(block.table) + len(block.faults)
                yield block
            return
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            _check_odd_row(part, str(error))
            if "straddling" not in str(error):
                raise
            if space >= longest:
                raise BadFile(f"{part.name}: {too_long(f'a row, number {done} or later,', space)}.") from error
            space = min(8 * space, longest)


def _csv_blocks(part: Part, wanted: pa.Schema, space: int, done: int) -> Iterator[Block]:
    """Yield the rows from number `done` on; those with too few or too many fields are faulty."""
    from pyarrow import csv as pa_csv

    faults: dict[int, str] = {}  # by number in the file
    schema, delimiter = csv_schema(part), delimiter_of(part)
    end = _End(part, schema.names)

    def leave_out(row: Any) -> str:
        first = 1 if part.names else 2  # after the header, if there is one
        faults[row.number - first] = f"{counted(row.actual_columns, 'field')}, not {row.expected_columns}"
        end.odd_row(row.number - first, row.text, delimiter)
        return "skip"

    convert = pa_csv.ConvertOptions(
        column_types=schema,
        include_columns=None if wanted.names == schema.names else end.with_last(wanted.names),
        strings_can_be_null=False,
        check_utf8=False,  # checked later, row by row, in the columns that are used
    )
    parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=leave_out)
    with part.open() as stream:
        read = pa_csv.ReadOptions(use_threads=False, block_size=space, column_names=part.names or None)
        with _silenced():
            reader = pa_csv.open_csv(stream, read, parse, convert)
        tables = _csv_tables(reader)
        start = 0
        for table in chain(tables, [reader.schema.empty_table()]):
            end.rows(table)
            table = selected(table, wanted)
            stop = start + len(table)
            for fault in sorted(faults):
                stop += fault <= stop
            here = {number - start: faults.pop(number) for number in sorted(faults) if number < stop}
            past = max(0, done - start)
            past_good = past - sum(at < past for at in here)
            yield Block(table.slice(past_good), {at - past: why for at, why in here.items() if at >= past})
            start = stop
        end.check(start)


class _End:
    """A check of how a file ends: a quote that is never closed swallows the rest of it."""

    def __init__(self, part: Part, names: list[str]):
        self.part = part
        self.last = names[-1] if names and names.count(names[-1]) == 1 else None  # the last column
        self.cell = b""  # the last column's cell in the last row so far
        self.odd = -1  # number of the last row with too few or too many fields
        self.open = ""  # the rest of that row after a quote that is not closed

    def with_last(self, columns: list[str]) -> list[str]:
        """Return the columns to read, including the last one of the file."""
        return columns if self.last is None or self.last in columns else [*columns, self.last]

    def odd_row(self, number: int, text: str, delimiter: str) -> None:
        """Record a row with too few or too many fields."""
        self.odd = number
        at = open_quote(text, delimiter)
        self.open = text[at:] if at is not None else ""

    def rows(self, table: pa.Table) -> None:
        """Record good rows; raise an error if a row before them has an unclosed quote."""
        if self.open:
            raise self._error(self.open.encode())
        if len(table) and self.last is not None:
            self.cell = table[self.last].slice(len(table) - 1).cast(pa.large_binary())[0].as_py() or b""

    def check(self, rows: int) -> None:
        """Raise an error if the last row, of several lines, does not end with a quote."""
        if b"\n" in self.cell and self.odd < rows - 1 and _ending(self.part)[1] != b'"':
            raise self._error(self.cell)

    def _error(self, rest: bytes) -> BadFile:
        lines = rest.rstrip().count(b"\n")
        where = f"{self.part.name}, line {_ending(self.part)[0] - lines + 1}"
        return BadFile(
            f"{where}: a quote opens here and is never closed, so its cell includes the {counted(lines, 'line')} "
            'after it. Close it; inside a quoted cell, write a quote as "".'
        )


def open_quote(row: str, delimiter: str) -> int | None:
    """Return where a cell begins with a quote that is not closed, or None.

    >>> open_quote('a,"b, c",5" d,"e', ","), open_quote('"a ""b"" c"', ",")
    (14, None)
    """
    at = 0
    while at < len(row):
        if row[at] == '"':
            quoted = QUOTED.match(row, at)
            if quoted is None:
                return at
            at = quoted.end()
        following = row.find(delimiter, at)
        at = len(row) if following < 0 else following + 1
    return None


def _ending(part: Part) -> tuple[int, bytes]:
    """Return the number of line ends before the last non-blank character, and that character."""
    lines = waiting = 0
    last = b""
    with part.open() as stream:
        while some := stream.read(1 << 20):
            waiting += some.count(b"\n")
            if shown := some.rstrip():
                blank = some[len(shown) :].count(b"\n")
                lines, waiting, last = lines + waiting - blank, blank, shown[-1:]
    return lines, last


def _csv_tables(reader: Any) -> Iterator[pa.Table]:
    while True:
        with _silenced():
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        yield pa.Table.from_batches([batch])


@contextmanager
def _silenced() -> Iterator[None]:
    """Suppress what Arrow prints about a row that is not UTF-8; we report the error ourselves."""
    usual = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _check_odd_row(part: Part, error: str) -> None:
    """Raise an error for a row with a wrong field count and invalid UTF-8, where Arrow gives up."""
    odd = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if odd:
        row, wanted, got = map(int, odd.groups())
        where = f"{part.name}, row {row - 1 - (not part.names)}"
        raise DataError(f"{where}: {counted(got, 'field')}, not {wanted}, and not valid UTF-8; {encoding_hint()}.")


# --- columns ---


def csv_schema(part: Part) -> pa.Schema:
    """Return the columns, all as strings, so that an id such as 007 stays as it was."""
    names = list(part.names) or csv_cells(part)
    odd = next((letter for name in names for letter in name if "\udc80" <= letter <= "\udcff"), None)
    if odd is not None:
        shown = ", ".join(name.encode(errors="surrogateescape").decode(errors="replace") for name in names)
        why = f"a column's name is not valid UTF-8 (byte {hex(ord(odd) - 0xDC00)}); it has {shown}"
        raise DataError(f"{part.name}: {why}; {encoding_hint()}.")
    return pa.schema([(name, pa.string()) for name in names])


def csv_cells(part: Part) -> list[str]:
    """Return the cells of the first line that is not blank."""
    return next(iter(csv_rows(part, 1)), [])


def csv_rows(part: Part, count: int | None) -> list[list[str]]:
    """Return the cells of the first `count` lines that are not blank, undecodable bytes escaped."""
    with part.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as lines:
        return cells_of(iter(partial(lines.readline, HEADER), ""), delimiter_of(part), count)


def cells_of(lines: Iterable[str], delimiter: str, count: int | None = None) -> list[list[str]]:
    """Return the cells of the first `count` lines that are not blank; cells can have any size."""
    limit = csv.field_size_limit(LARGEST_CELL)
    try:
        return list(islice((row for row in csv.reader(lines, delimiter=delimiter) if row), count))
    finally:
        csv.field_size_limit(limit)


def looks_like_csv(part: Part) -> bool:
    """Return whether text looks like CSV: column names, then lines with equally many cells."""
    part = replace(part, format="csv")
    with part.open() as stream:
        head: bytes = stream.read(HEAD)
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]  # without an incomplete last line
    lines = io.StringIO(whole.decode("utf-8-sig", "surrogateescape"), newline="")
    names, *others = cells_of(lines, delimiter_of(part), LOOK) or [[]]
    named = all(NAME.fullmatch(name.strip()) for name in names) and len(set(names)) == len(names) > 1
    return named and bool(others) and all(len(cells) == len(names) for cells in others)


def frame_index(part: Part, schema: pa.Schema) -> str | None:
    """Return the first column of CSV if it has no name, as the index of a data frame has none."""
    first = schema.names[0] if schema.names and part.format in ("csv", "tsv") else None
    return first if first in ("", "Unnamed: 0") else None  # the second is pandas' name for an unnamed column


def delimiter_of(part: Part) -> str:
    """Return the character between cells: the one given, a tab in TSV, or the likeliest in CSV."""
    if part.separator or part.format == "tsv":
        return UNIT if part.separator == COLONS else part.separator or "\t"
    with part.open() as stream:
        head: bytes = stream.read(HEAD)
    return separator_in(head.removeprefix(BOM).decode(errors="replace"))


def separator_in(text: str) -> str:
    """Return the most frequent separator in the first line; Excel does not always use commas.

    >>> separator_in('id;"name, first";born')
    ';'
    """
    line = re.sub(r'"[^"]*"', "", text.lstrip("\r\n")).partition("\n")[0]
    return max(SEPARATORS, key=line.count)  # ties go to the first
