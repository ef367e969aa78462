"""Provides what all sources share: inputs, formats, good and bad rows, and counts of skipped rows.

A source of one kind of item derives from `ItemSource`, chooses its columns, and makes its items
from the good rows. A bad row (a null, invalid UTF-8, a broken line, too few fields) raises an error
that names the file and row, or with on_error="skip" is left out and counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import BadFile, DataError, UsageError, all_left_out, choice, one_column
from lookalike.core.run import ONE_THREAD, Run, Tick
from lookalike.io.formats import FORMATS, NAMED
from lookalike.io.inputs import find_parts
from lookalike.io.objects import as_table, is_table
from lookalike.io.part import Block, Part
from lookalike.io.tables import bad_row, plain, plain_schema, reading

BATCH_BYTES = 4 << 20
BARE = ("jsonl", "csv", "tsv")  # formats whose files show no columns if they are empty
FindFaults = Callable[[pa.Table], dict[int, str]]  # returns the bad rows of a table, each with its fault


class Good(NamedTuple):
    """The good rows of a block."""

    part: Part
    table: pa.Table
    numbers: np.ndarray  # the number of each row in its part
    before: int  # how many rows the parts before it have
    lines: pa.LargeBinaryArray | None  # JSON only: the rows as they are in the file, with line feeds
    made: Any  # what was made of the table


class Checked(NamedTuple):
    """The good rows of a block, whose place in the part is not known yet."""

    table: pa.Table
    numbers: np.ndarray  # the number of each row in the block
    faults: dict[int, str]
    rows: int  # of the block, the faulty ones included
    lines: pa.LargeBinaryArray | None
    made: Any


class Progress:
    """Progress through one part: passes on how many bytes were read, up to its size."""

    def __init__(self, tick: Tick, part: Part):
        self.tick, self.left = tick, part.byte_size()

    def __call__(self, amount: int) -> None:
        """Record that this many more bytes were read."""
        done = min(self.left, amount)
        self.left -= done
        self.tick(done)

    def finish(self) -> None:
        """Record that all bytes were read."""
        self(self.left)


class ItemSource:
    """A source of items: files, folders, globs, `-` (standard input) or Arrow tables."""

    formats: ClassVar[Sequence[str]] = NAMED  # that the user can name
    skipping: ClassVar[str | None] = None  # what has the parameter on_error in Python: see `skip_hint`

    def __init__(
        self, inputs: Any, format: str | None, on_error: str, on_bad_file: str, encoding: str, batch_bytes: int
    ):
        self.on_error = choice("on_error", on_error, ("fail", "skip"))
        self.on_bad_file = choice("on_bad_file", on_bad_file, ("fail", "skip"))
        self.bad_files: list[str] = []  # the names of those that are skipped
        if format is not None:
            choice("format", format, self.formats)
        self.inputs, self.format, self.encoding, self.batch_bytes = inputs, format, encoding, batch_bytes
        given = [inputs] if isinstance(inputs, str | Path) or is_table(inputs) else inputs
        if not isinstance(given, Iterable) or isinstance(given, bytes):
            raise UsageError(f"inputs must be paths or tables; got {type(inputs).__name__}.")
        self.rows_before = 0  # of a piece of a larger source: how many rows that one has before it
        self.is_whole = True  # otherwise these are some parts of a larger source
        self._schemas: dict[int, pa.Schema] = {}
        self.parts = self._find([as_table(one) for one in given])
        if not self.parts:
            raise UsageError("nothing to read: no input was given.")
        if self.on_bad_file == "skip":
            self._leave_out_files()
        self._begin()

    def __repr__(self) -> str:
        names = [part.name for part in self.parts]
        return f"<{type(self).__name__} of {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}>"

    def _find(self, given: list[Any]) -> list[Part]:
        """Return the parts that the inputs name."""
        return find_parts(given, self.format, encoding=self.encoding)

    def byte_size(self) -> int:
        """Estimate the decompressed size of the inputs in bytes."""
        return sum(part.byte_size() for part in self.parts)

    # --- files ---

    def _leave_out_files(self) -> None:
        """Read all files to the end, and leave out those that are damaged."""
        sound, first = [], ""
        for part in self.parts:
            alone = [replace(part, name=str(path), paths=(path,)) for path in part.paths] or [part]
            good = []
            for one in alone:
                try:
                    self._read_through(one)
                    good.append(one)
                except BadFile as error:
                    self.bad_files.append(one.name)
                    first = first or str(error)
            if good:
                sound.append(replace(part, paths=tuple(path for one in good for path in one.paths)))
        self.parts = sound
        if not sound:
            raise DataError(f"no input can be read. {first}")

    def _read_through(self, part: Part) -> None:
        """Read a part to the end, with all its columns, to see whether that is possible."""
        form = FORMATS[part.format]
        with reading(part):
            if part.format in ("jsonl", "text"):  # whatever can be decompressed has good or bad rows
                with part.open() as stream:
                    while stream.read(BATCH_BYTES):
                        pass
            else:
                for _ in form.read(part, form.schema(part), self.batch_bytes):
                    pass

    # --- rows ---

    def _begin(self) -> None:
        """Reset the counts."""
        self.rows_read = self.skipped = 0  # so far in all parts; the first includes the second
        self._first_fault = ""

    def _end(self) -> None:
        """Raise an error if all rows of all inputs were skipped."""
        if self.is_whole and self.skipped and self.skipped == self.rows_read:
            raise all_left_out(self.parts[0].name, self.skipped, self._first_fault)

    def _good_rows(
        self,
        part: Part,
        schema: pa.Schema,
        find_faults: FindFaults,
        prepare: Callable[[pa.Table], pa.Table] = plain,
        make: Callable[[pa.Table], Any] = lambda table: None,
        run: Run = ONE_THREAD,
    ) -> Iterator[Good]:
        """Yield the good rows of a part, converted by `prepare`, with what `make` returns for them.

        Reading, checking and making run in the threads of `run`.
        """

        def check(block: Block) -> Checked:
            table, numbers = prepare(block.table), block.numbers()
            wrong = find_faults(table)
            faults = {**block.faults, **{int(numbers[at]): why for at, why in wrong.items()}}
            rows, lines = len(table) + len(block.faults), block.lines
            if wrong:
                good = np.delete(np.arange(len(table)), list(wrong))
                table, numbers = table.take(good), numbers[good]
                lines = None if lines is None else lines.take(pa.array(good))
            return Checked(table, numbers, faults, rows, lines, make(table))

        before, start = self.rows_before + self.rows_read, 0
        tasks = FORMATS[part.format].tasks(part, schema, self.batch_bytes)
        blocks = chain.from_iterable(run.map(lambda task: list(task()), tasks))
        for some in run.map(check, blocks):
            self._leave_out(part, start, some.faults, some.rows)
            yield Good(part, some.table, start + some.numbers, before, some.lines, some.made)
            start += some.rows
        part.check_unchanged()

    def _leave_out(self, part: Part, start: int, faults: dict[int, str], rows: int) -> None:
        """Count rows of a part from `start` on; raise an error for a fault unless skipping."""
        if faults and self.on_error == "fail":
            raise self._bad_row(part, start + min(faults), faults[min(faults)])
        if faults and not self.skipped:
            self._first_fault = faults[min(faults)]
        self.skipped += len(faults)
        self.rows_read += rows

    def _bad_row(self, part: Part, row: int, why: str) -> DataError:
        """Return the error for a bad row."""
        return bad_row(part, part.place(row), why, self.skipping)

    # --- columns ---

    def _columns_of(self, part: Part, asked: Sequence[str] = ()) -> pa.Schema:
        """Return the columns of a part with plain types; for an empty file, those in `asked`."""
        part = part.section.whole if part.section else part
        if id(part) not in self._schemas:
            with reading(part):
                schema = FORMATS[part.format].schema(part)
                names = schema.names  # which may not be UTF-8
            if not names and part.format in BARE:
                schema = pa.schema([(name, pa.string()) for name in asked])
            self._schemas[id(part)] = plain_schema(schema)
        return self._schemas[id(part)]


def id_column(part: Part, schema: pa.Schema, name: str, purpose: str = " for the id") -> str:
    """Return the name of an id column; raise an error if it does not exist or cannot hold ids."""
    one_column(schema.names, name, f"{part.name}:", purpose)
    kind = schema.field(name).type
    if pa.types.is_nested(kind):
        what = purpose if purpose != " for the id" else ""
        raise DataError(f"{part.name}: column {name!r}{what} holds {kind}, which cannot be an id.")
    return name
