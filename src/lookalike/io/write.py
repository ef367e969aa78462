"""Writes tables to Parquet, Arrow, JSON lines, CSV or TSV by suffix, or to standard output as JSON.

A file appears whole or not at all: it is written under a temporary name in the same folder, and
moved into place when it is complete. Rows are regrouped by fixed rules, so that the bytes do not
depend on the batches in which the rows arrived. Threads filter, encode, compress and write the
groups; the caller's thread only decides where groups end and where their bytes go in the file.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError
from lookalike.core.files import replacing_file
from lookalike.core.run import Run, slices
from lookalike.io.encode import LINES, Group, Piece, encode, without_formulas
from lookalike.io.part import CODECS
from lookalike.io.remote import is_remote
from lookalike.io.tables import is_string
from lookalike.io.uploads import check_upload, uploading

SUFFIXES = (".parquet", ".arrow", ".jsonl", ".ndjson", ".csv", ".tsv")
TEXTS = {".jsonl": ".jsonl", ".ndjson": ".jsonl", ".csv": ".csv", ".tsv": ".tsv"}  # these can be compressed
GROUP = 1 << 14  # the most rows of a group: a Parquet row group, an Arrow batch, or a piece of text
GROUP_BYTES, TEXT_BYTES = 1 << 23, 1 << 21  # a group ends with the row that fills it; pieces of text are smaller
BYTES_HINT = "a column holds bytes that are not valid UTF-8; a .parquet or .arrow file can hold them."
Prepare = Callable[[Any], pa.Table]  # makes the rows to write from a batch


def check_output(path: str) -> None:
    """Raise an error, before any work is done, if an output cannot be written."""
    if path == "-":
        return
    if kind_of(path) is None:
        ends = f"{', '.join(SUFFIXES)}, or a text format and .gz or .zst (.csv.gz), or be - for standard output"
        hint = " A file of JSON lines ends in .jsonl." if ".json" in Path(path).suffixes[-2:] else ""
        raise UsageError(f"the output file must end in {ends}; got {path!r}.{hint}")
    check_place(path)


def check_place(path: str) -> None:
    """Raise an error, before any work is done, if a file cannot be written at this path."""
    if is_remote(path):
        check_upload(path)
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise DataError(f"{path}: cannot be written: there is no folder {folder}.")
    if Path(path).is_dir():
        raise DataError(f"{path}: cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path}: cannot be written: permission denied.")


def kind_of(path: str) -> str | None:
    """Return the format of an output as its usual suffix; None if the name does not show it.

    >>> kind_of("pairs.ndjson.gz"), kind_of("-"), kind_of("pairs.parquet"), kind_of("pairs.xlsx")
    ('.jsonl', '.jsonl', '.parquet', None)
    """
    if path == "-":
        return ".jsonl"
    codec = codec_of(path)
    suffix = Path(path).suffixes[-2:-1] if codec else [Path(path).suffix]
    kind = "".join(suffix)
    return TEXTS.get(kind) if kind in TEXTS or codec else kind if kind in SUFFIXES else None


def codec_of(path: str) -> str | None:
    """Return how an output is compressed as a whole: "gzip", "zstd" or not at all.

    >>> codec_of("a.csv.gz"), codec_of("a.jsonl.zst"), codec_of("a.parquet")
    ('gzip', 'zstd', None)
    """
    return CODECS.get(Path(path).suffix)


def is_separated(path: str) -> bool:
    """Return whether an output is CSV or TSV, which spreadsheets open."""
    return kind_of(path) in (".csv", ".tsv")


def write_tables(
    tables: Iterable[pa.Table], path: str, settings: dict[str, str], excel_safe: bool = False, run: Run | None = None
) -> None:
    """Write tables of one schema to one file; Parquet and Arrow store the settings as metadata.

    With `excel_safe`, CSV and TSV hold no text that a spreadsheet would take for a formula. The
    threads of `run` do the work; by default, the caller's thread does.
    """
    with writing(tables, path, settings, excel_safe, run):
        pass


def check_columns(schema: pa.Schema, path: str) -> None:
    """Raise an error, before any work is done, if the format cannot hold a type of these columns."""
    with _explained(path):
        for _ in encode(kind_of(path) or "", iter([[schema.empty_table()]]), {}, None, Run(1)):
            pass


@contextmanager
def writing(
    tables: Iterable[pa.Table], path: str, settings: dict[str, str], excel_safe: bool = False, run: Run | None = None
) -> Iterator[None]:
    """Like `write_tables`, but move the file into place only if the `with` block succeeds."""
    batches = (table[part] for table in tables for part in slices(len(table), GROUP) or [slice(0)])
    with _writing(batches, _shown(path, excel_safe), path, kind_of(path), settings, run):
        yield


@contextmanager
def writing_kept(
    batches: Iterable[tuple[pa.Table, np.ndarray]],
    path: str,
    settings: dict[str, str],
    excel_safe: bool = False,
    run: Run | None = None,
) -> Iterator[None]:
    """Like `writing`, for tables with masks of the rows to keep."""
    layout = layout_of_kept(path, False, excel_safe)
    with _writing(batches, layout.prepare, path, layout.kind, settings, run):
        yield


@contextmanager
def writing_lines(
    batches: Iterable[tuple[pa.LargeBinaryArray, np.ndarray]], path: str, run: Run | None = None
) -> Iterator[None]:
    """Like `writing_kept`, for lines of JSON, which have line feeds and are written as they are."""
    layout = layout_of_kept(path, True)
    with _writing(batches, layout.prepare, path, layout.kind, {}, run):
        yield


class Layout(NamedTuple):
    """How batches become the rows of a file, and these the groups that are encoded."""

    kind: str
    prepare: Prepare

    @property
    def size(self) -> int:
        """The bytes of strings that fill a group."""
        return GROUP_BYTES if self.kind in (".parquet", ".arrow") else TEXT_BYTES


def layout_of_kept(path: str, lines: bool, excel_safe: bool = False) -> Layout:
    """Return the layout of a file of the rows that masks keep, of tables or of lines of JSON."""
    if lines:
        return Layout(LINES, lambda batch: pa.table({"line": batch[0].filter(pa.array(batch[1]))}))
    shown = _shown(path, excel_safe)
    return Layout(kind_of(path) or "", lambda batch: shown(batch[0].filter(pa.array(batch[1]))))


@contextmanager
def _writing(
    batches: Iterable[Any], prepare: Prepare, path: str, kind: str | None, settings: dict[str, str], run: Run | None
) -> Iterator[None]:
    check_output(path)
    run = run or Run(1)
    size = Layout(kind or "", prepare).size
    groups = regroup(run.map(lambda batch: weighed(prepare(batch)), batches), GROUP, size)
    with writing_pieces(lambda: encode(kind or "", groups, settings, codec_of(path), run), path, run):
        yield


@contextmanager
def writing_pieces(pieces: Callable[[], Iterable[Piece]], path: str, run: Run) -> Iterator[None]:
    """Write a file of these pieces, and move it into place if the `with` block succeeds."""
    with replacing(path) as file:
        with _explained(path):
            if path == "-" or is_remote(path):  # which take bytes in order
                for part in chain.from_iterable(pieces()):
                    _write_all(file, part)
            else:
                for _ in run.map(lambda task: _put(file, *task), _placed(pieces())):
                    pass
        yield


def _shown(path: str, excel_safe: bool) -> Prepare:
    """Return what is done to a table before it is written."""
    return without_formulas if excel_safe and is_separated(path) else lambda table: table


def _placed(pieces: Iterable[Piece]) -> Iterator[tuple[int, Piece]]:
    """Yield the pieces of a file with their places."""
    at = 0
    for piece in pieces:
        yield at, piece
        at += sum(map(len, piece))


def _put(file: IO[bytes], at: int, piece: Piece) -> None:
    """Write a piece at its place; another thread can write another one at the same time."""
    for part in piece:
        rest = memoryview(part)
        while len(rest):
            done = os.pwrite(file.fileno(), rest, at)
            rest, at = rest[done:], at + done


def _write_all(file: IO[bytes], part: Any) -> None:
    """Write bytes to a pipe or store; a pipe can take fewer of them at a time if Python does not buffer them."""
    rest = memoryview(part)
    while len(rest):
        rest = rest[file.write(rest) :]


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn the errors of writers into a DataError that names the output."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be written: {BYTES_HINT}") from error
    except MemoryError:
        raise
    except OverflowError as error:
        raise DataError(f"{path}: cannot be written: a date or time is out of range: {error}.") from error
    except (pa.ArrowException, UnicodeError) as error:  # a column that this format cannot hold
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: cannot be written: {BYTES_HINT if 'UTF8' in reason else reason}") from error


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` if the `with` block succeeds, else is removed."""
    if path == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"standard output: cannot be written: {error.strerror or error}") from error
        return
    if is_remote(path):
        with uploading(path) as file:
            yield file
        return
    try:
        with replacing_file(path) as file:
            yield file
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


class Weighed(NamedTuple):
    """A table, and the number of bytes in the strings of each of its rows."""

    table: pa.Table
    weights: np.ndarray


def weighed(table: pa.Table) -> Weighed:
    """Return a table with the weights of its rows."""
    weights = np.zeros(len(table), np.int64)
    for column in table.columns:
        if is_string(column.type):
            weights += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    return Weighed(table, weights)


def regroup(batches: Iterable[Weighed], rows: int, size: int) -> Iterator[Group]:
    """Yield the rows in groups of `rows` rows or `size` bytes of strings; an empty one if no rows."""
    waiting: Group = []
    count = filled = given = 0
    for table, weights in batches:
        if waiting and not _joins(waiting[-1], table):
            if count:
                yield waiting
            waiting, count, filled, given = [], 0, 0, given + (count > 0)
        waiting.append(table[:0])
        start = 0
        while start < len(table):
            total = filled + np.cumsum(weights[start : start + rows - count])
            stop = min(start + len(total), start + int(np.searchsorted(total, size)) + 1)
            waiting.append(table.slice(start, stop - start))
            count, filled, start = count + stop - start, int(total[stop - start - 1]), stop
            if count == rows or filled >= size:
                yield waiting
                waiting, count, filled, given = [], 0, 0, given + 1
    if count or (waiting and not given):
        yield waiting


def group_ends(weights: np.ndarray, size: int, rows: int = GROUP) -> np.ndarray:
    """Return where `regroup` ends the groups of rows with these weights, whose columns all have one type each.

    >>> group_ends(np.array([3, 3, 9, 1, 1, 1]), 8, 2)
    array([2, 3, 5, 6])
    """
    sums, ends = np.concatenate(([0], np.cumsum(weights))), [0]
    while ends[-1] < len(weights):
        start = ends[-1]
        most = sums[start + 1 : start + rows + 1]
        ends.append(start + min(len(most), int(np.searchsorted(most, sums[start] + size)) + 1))
    return np.array(ends[1:], np.int64)


def _joins(one: pa.Table, other: pa.Table) -> bool:
    """Return whether two tables can become one; in text formats, columns can have several types."""
    if one.schema.equals(other.schema):
        return True
    try:
        pa.unify_schemas([one.schema, other.schema])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True
