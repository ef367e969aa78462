"""CSV and TSV to Arrow tables, block by block: which columns there are, and which rows could not be read."""

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from lookalike.core.errors import ENCODING_HINT, DataError
from lookalike.core.wording import counted
from lookalike.io.part import BOM, COLONS, UNIT, Block, Part, selected

SEPARATORS = ",;\t|"
QUOTED = re.compile(r'"(?:[^"]|"")*+"')  # a cell
LOOK = 20  # lines that tell whether a text is CSV
NAME = re.compile(r"[^\W\d]\w*([ .:/-]\w+){0,2}")  # as columns have
LARGEST_CELL = (1 << 31) - 1  # characters
HEAD = 1 << 16  # bytes that hold the first line of CSV, or enough of it


def read_csv(part: Part, schema: pa.Schema, size: int) -> Iterator[Block]:
    """Yield the columns of the schema from CSV or TSV, in blocks that grow when a row does not fit."""
    done, space = 0, max(size, 1 << 16)
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
            if "straddling" not in str(error) or space >= 1 << 30:
                raise
            space *= 8


def _csv_blocks(part: Part, wanted: pa.Schema, space: int, done: int) -> Iterator[Block]:
    """The rows from number `done` on; those with too few or too many fields are faulty."""
    from pyarrow import csv as pa_csv

    faults: dict[int, str] = {}  # by number in the file
    schema, delimiter = csv_schema(part), delimiter_of(part)
    end = _End(part, schema.names)

    def leave_out(row: Any) -> str:
        first = 1 if part.names else 2  # after the header, if there is one
        faults[row.number - first] = f"{row.actual_columns} fields, not {row.expected_columns}"
        end.odd_row(row.number - first, row.text, delimiter)
        return "skip"

    convert = pa_csv.ConvertOptions(
        column_types=schema,
        include_columns=None if wanted.names == schema.names else end.with_last(wanted.names),
        strings_can_be_null=False,
        check_utf8=False,  # of the text and the id it is checked later, row by row
    )
    parse = pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=leave_out)
    with part.open() as stream:
        read = pa_csv.ReadOptions(use_threads=False, block_size=space, column_names=part.names or None)
        with _unheard():
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
    """What the file ends with: a quote that is never closed takes all that follows into its cell, or its row."""

    def __init__(self, part: Part, names: list[str]):
        self.part = part
        self.last = names[-1] if names and names.count(names[-1]) == 1 else None  # the column that must end, too
        self.cell = b""  # of that column, in the last row so far
        self.odd = -1  # number of the last row that has too few or too many fields
        self.open = ""  # what follows a quote in it that is not closed

    def with_last(self, columns: list[str]) -> list[str]:
        """The columns to read, with the last of all."""
        return columns if self.last is None or self.last in columns else [*columns, self.last]

    def odd_row(self, number: int, text: str, delimiter: str) -> None:
        """Take note of a row that has too few or too many fields."""
        self.odd = number
        at = open_quote(text, delimiter)
        self.open = text[at:] if at is not None else ""

    def rows(self, table: pa.Table) -> None:
        """Take note of rows; an error for an odd one before them that has no end."""
        if self.open:
            raise self._error(self.open.encode())
        if len(table) and self.last is not None:
            self.cell = table[self.last].slice(len(table) - 1).cast(pa.large_binary())[0].as_py() or b""

    def check(self, rows: int) -> None:
        """An error if the last of so many rows has no end: a cell of several lines ends with a quote."""
        if b"\n" in self.cell and self.odd < rows - 1 and _ending(self.part)[1] != b'"':
            raise self._error(self.cell)

    def _error(self, rest: bytes) -> DataError:
        lines = rest.rstrip().count(b"\n")
        where = f"{self.part.name}, line {_ending(self.part)[0] - lines + 1}"
        return DataError(
            f"{where}: a quote opens there and is not closed, so all {counted(lines, 'line')} after it are one cell. "
            'Close it; within a cell in quotes a quote is written "".'
        )


def open_quote(row: str, delimiter: str) -> int | None:
    """Where a cell of a row begins with a quote that is not closed, if one does.

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
    """How many lines there are before the last sign of a part that is not blank, and that sign."""
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
        with _unheard():
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
        yield pa.Table.from_batches([batch])


@contextmanager
def _unheard() -> Iterator[None]:
    """Arrow cannot tell us of a row that is not UTF-8, and complains to standard error; the error itself we report."""
    heard = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = heard


def _check_odd_row(part: Part, error: str) -> None:
    """An error for a row that has not as many fields as others and is not UTF-8, which Arrow gives up at."""
    odd = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if odd:
        row, wanted, got = map(int, odd.groups())
        where = f"{part.name}, row {row - (not part.names)}"
        raise DataError(f"{where}: {got} fields, not {wanted}, and not valid UTF-8; {ENCODING_HINT}.")


# --- what columns there are ---


def csv_schema(part: Part) -> pa.Schema:
    """Every column is a string, so that an id such as 007 is given back as it was."""
    names = list(part.names) or csv_cells(part)
    odd = next((letter for name in names for letter in name if "\udc80" <= letter <= "\udcff"), None)
    if odd is not None:
        shown = ", ".join(name.encode(errors="surrogateescape").decode(errors="replace") for name in names)
        why = f"a column's name is not valid UTF-8 (its byte {hex(ord(odd) - 0xDC00)}); it has {shown}"
        raise DataError(f"{part.name}: {why}; {ENCODING_HINT}.")
    return pa.schema([(name, pa.string()) for name in names])


def csv_cells(part: Part) -> list[str]:
    """The cells of the first line that is not blank."""
    return next(iter(csv_rows(part, 1)), [])


def csv_rows(part: Part, count: int | None) -> list[list[str]]:
    """The cells of the first `count` lines that are not blank; bytes that are no UTF-8 are lone surrogates."""
    with part.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as lines:
        return cells_of(lines, delimiter_of(part), count)


def cells_of(lines: Iterable[str], delimiter: str, count: int | None = None) -> list[list[str]]:
    """The cells of the first `count` lines that are not blank; a cell may be of any size."""
    limit = csv.field_size_limit(LARGEST_CELL)
    try:
        return list(islice((row for row in csv.reader(lines, delimiter=delimiter) if row), count))
    finally:
        csv.field_size_limit(limit)


def looks_like_csv(part: Part) -> bool:
    """Whether lines of text seem to be a table: names of columns first, and as many cells in the lines below."""
    part = replace(part, format="csv")
    with part.open() as stream:
        head: bytes = stream.read(HEAD)
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]  # without a line that is cut
    lines = io.StringIO(whole.decode("utf-8-sig", "surrogateescape"), newline="")
    names, *others = cells_of(lines, delimiter_of(part), LOOK) or [[]]
    named = all(NAME.fullmatch(name.strip()) for name in names) and len(set(names)) == len(names) > 1
    return named and bool(others) and all(len(cells) == len(names) for cells in others)


def frame_index(part: Part, schema: pa.Schema) -> str | None:
    """The first column of CSV, if it has no name: so programs write the index of a data frame."""
    first = schema.names[0] if schema.names and part.format in ("csv", "tsv") else None
    return first if first in ("", "Unnamed: 0") else None  # the second is what pandas makes of it


def delimiter_of(part: Part) -> str:
    """What stands between cells: in CSV a comma, unless the first line has more of another sign, as Excel may write."""
    if part.separator or part.format == "tsv":
        return UNIT if part.separator == COLONS else part.separator or "\t"
    with part.open() as stream:
        head: bytes = stream.read(HEAD)
    return separator_in(head.removeprefix(BOM).decode(errors="replace"))


def separator_in(text: str) -> str:
    """The sign that stands between the cells of CSV that begins so: the most frequent in its first line.

    >>> separator_in('id;"name, first";born')
    ';'
    """
    line = re.sub(r'"[^"]*"', "", text.lstrip("\r\n")).partition("\n")[0]
    return max(SEPARATORS, key=line.count)  # the first of those that are as frequent
