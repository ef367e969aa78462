"""CSV and TSV to Arrow tables, block by block; which columns there are, and which rows are none."""

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from lookalike.errors import ENCODING_HINT, DataError
from lookalike.parts import BOM, Block, Part

SEPARATORS = ",;\t|"
HEAD = 1 << 16  # bytes that hold the first line of CSV, or enough of it


def read_csv(part: Part, columns: list[str] | None, size: int) -> Iterator[Block]:
    """CSV or TSV, in blocks that grow when a row does not fit."""
    done, space = 0, max(size, 1 << 16)
    while True:
        try:
            for block in _csv_blocks(part, columns, space, done):
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


def _csv_blocks(part: Part, columns: list[str] | None, space: int, done: int) -> Iterator[Block]:
    """The rows from number `done` on; those with too few or too many fields are faulty."""
    from pyarrow import csv as pa_csv

    faults: dict[int, str] = {}  # by number in the file

    def leave_out(row: Any) -> str:
        first = 1 if part.names else 2  # after the header, if there is one
        faults[row.number - first] = f"{row.actual_columns} fields, not {row.expected_columns}"
        return "skip"

    convert = pa_csv.ConvertOptions(
        column_types=csv_schema(part),
        include_columns=columns,
        strings_can_be_null=False,
        check_utf8=False,  # of the text and the id it is checked later, row by row
    )
    parse = pa_csv.ParseOptions(delimiter=_delimiter(part), newlines_in_values=True, invalid_row_handler=leave_out)
    with part.open() as stream:
        read = pa_csv.ReadOptions(use_threads=False, block_size=space, column_names=part.names or None)
        with _unheard():
            reader = pa_csv.open_csv(stream, read, parse, convert)
        tables = _csv_tables(reader)
        start = 0
        for table in chain(tables, [reader.schema.empty_table()]):
            stop = start + len(table)
            for fault in sorted(faults):
                stop += fault <= stop
            here = {number - start: faults.pop(number) for number in sorted(faults) if number < stop}
            past = max(0, done - start)
            past_good = past - sum(at < past for at in here)
            yield Block(table.slice(past_good), {at - past: why for at, why in here.items() if at >= past})
            start = stop


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


def csv_rows(part: Part, count: int) -> list[list[str]]:
    """The cells of the first `count` lines that are not blank; bytes that are no UTF-8 are lone surrogates."""
    with part.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="") as lines:
        return list(islice((row for row in csv.reader(lines, delimiter=_delimiter(part)) if row), count))


def frame_index(part: Part, schema: pa.Schema) -> str | None:
    """The first column of CSV, if it has no name: so programs write the index of a data frame."""
    first = schema.names[0] if schema.names and part.format in ("csv", "tsv") else None
    return first if first in ("", "Unnamed: 0") else None  # the second is what pandas makes of it


def _delimiter(part: Part) -> str:
    """What stands between cells: in CSV a comma, unless the first line has more of another sign, as Excel may write."""
    if part.separator or part.format == "tsv":
        return part.separator or "\t"
    with part.open() as stream:
        head = stream.read(HEAD).removeprefix(BOM).lstrip(b"\r\n")
    line = re.sub(rb'"[^"]*"', b"", head).partition(b"\n")[0].decode(errors="replace")
    return max(SEPARATORS, key=line.count)  # the first of those that are as frequent
