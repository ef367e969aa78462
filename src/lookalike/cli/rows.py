"""Write the rows of the inputs again: only those that are kept, or all of them with columns that mark them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.cli.folders import Output, filling, outputs_of
from lookalike.cli.options import OutputOptions
from lookalike.cli.outputs import copies_lines, needs_strings, writing_batches
from lookalike.cli.progress import TerminalRun
from lookalike.core.errors import DataError
from lookalike.core.run import Tick
from lookalike.io.documents import Source
from lookalike.io.json_text import json_rows
from lookalike.io.jsonl import object_in
from lookalike.io.write import check_columns, writing_pieces

Marks = Callable[[slice], pa.Table]  # returns the columns to add to the rows in a slice
Encoded = Callable[[], Iterator[Any]]  # returns the pieces of a file


class RowBatch(NamedTuple):
    """Some rows, as a table or as lines of JSON, and their places among all rows."""

    rows: Any
    places: slice


def check_outputs_of(source: Source, out: str, inputs: list[str], marks: Iterable[str] = ()) -> list[Output]:
    """Return the outputs of all rows, after checking each as `check_written` does.

    `marks` are the names of columns to be added.
    """
    names = list(marks)
    source.check_names()
    outputs = outputs_of(source, out, inputs)
    for one in outputs:
        _check_columns(one.source, one.path, names)
    return outputs


def check_written(source: Source, out: str) -> None:
    """Raise an error, before the search, for columns that cannot be written to the output."""
    source.check_names()
    _check_columns(source, out, [])


def _check_columns(source: Source, out: str, marks: list[str]) -> None:
    for name in marks:
        if name in source.written_names():
            raise already_there(name)
    if not copies_lines(source, out):
        check_columns(source.written_schema(needs_strings(out)), out)


def already_there(name: str) -> DataError:
    """Return the error for rows that have a column which is to be added."""
    hint = "rename it, or leave it out by listing the other columns with --columns"
    return DataError(f"the input has a column {name!r} already, which would be written twice; {hint}.")


def write_rows(
    outputs: list[Output],
    output: OutputOptions,
    about: dict[str, str],
    run: TerminalRun,
    tick: Tick,
    keep: np.ndarray | None = None,
    marks: Marks | None = None,
    shared: Encoded | None = None,
) -> None:
    """Write the rows that `keep` marks, or all if it is None, with the columns of `marks` added to them.

    If processes have `shared` the work of encoding them, only their pieces are joined.
    """
    if shared is not None:
        with writing_pieces(shared, output.out, run):
            return
    start = 0

    def changed(source: Source, lines: bool, strings: bool) -> Iterator[tuple[Any, np.ndarray]]:
        nonlocal start
        batches: Iterable[Any] = source.lines(run) if lines else source.tables(strings, run)
        for batch, mask in run.map(partial(changed_rows, keep, marks), placed(batches, start)):
            yield batch, mask
            start += len(mask)
            tick(len(mask))

    with filling(output.out, outputs) as place_of:
        for one in outputs:
            lines, strings = copies_lines(one.source, one.path), needs_strings(one.path)
            written = replace(output, out=place_of(one))
            with writing_batches(changed(one.source, lines, strings), written, about, lines, run):
                pass


def with_keep(batches: Iterable[Any], keep: np.ndarray, tick: Tick) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each batch with its part of the mask `keep`."""
    for batch in placed(batches):
        yield batch.rows, keep[batch.places]
        tick(len(batch.rows))


def placed(batches: Iterable[Any], start: int = 0) -> Iterator[RowBatch]:
    """Yield the batches with their places, the first of which is `start`."""
    for rows in batches:
        yield RowBatch(rows, slice(start, start + len(rows)))
        start += len(rows)


def changed_rows(keep: np.ndarray | None, marks: Marks | None, batch: RowBatch) -> tuple[Any, np.ndarray]:
    """Return a batch with its marks, and which of its rows to write."""
    rows = batch.rows if marks is None else with_marks(batch.rows, marks(batch.places))
    return rows, np.ones(len(rows), np.bool_) if keep is None else keep[batch.places]


def with_marks(rows: Any, marks: pa.Table) -> Any:
    """Return rows, as a table or as lines of JSON, with more columns.

    >>> lines = pa.array([b'{"text" : "a" } \\n'], pa.large_binary())
    >>> with_marks(lines, pa.table({"size": [2]})).to_pylist()
    [b'{"text" : "a", "size": 2}\\n']
    """
    if isinstance(rows, pa.Table):
        for name, column in zip(marks.column_names, marks.columns, strict=True):
            rows = rows.append_column(name, column)
        return rows
    _check_lines(rows, marks.column_names)
    opened = pc.replace_substring_regex(rows, r"\s*\}\s*\z", "")
    added = json_rows(marks).cast(pa.large_binary())
    joint = pa.scalar(b", ", pa.large_binary())
    return pc.binary_join_element_wise(opened, pc.binary_replace_slice(added, 0, 1, b""), joint)


def _check_lines(lines: pa.LargeBinaryArray, names: list[str]) -> None:
    """Raise an error if a line has one of the columns that are to be added."""
    for name in names:
        for line in lines.filter(pc.match_substring(lines, f'"{name}"')).to_pylist():
            if name in (object_in(line)[0] or {}):
                raise already_there(name)
