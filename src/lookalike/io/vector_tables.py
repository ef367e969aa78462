"""Reads tables into vectors or bit codes: a column of lists, a column of codes, or rows of numbers.

The column is given by name or found by type. CSV has no types and sometimes no header line: there,
every column but the id holds numbers. In JSON lines the first values found decide the types.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.codes import StringCodes, integer_codes, matrix_codes
from lookalike.io.formats import FORMATS
from lookalike.io.part import Block, Part
from lookalike.io.tables import empty_cells, find_faults, is_list, is_text, plain, plain_schema, plain_type
from lookalike.io.vector_columns import choose_columns, to_number, with_names


class VectorBatch(NamedTuple):
    """Rows of a part: the good ones, and the faults of the others by number in the batch."""

    values: Any  # a matrix of floats, or the words of codes
    width: int  # components or bits per row; 0 while it is not known
    ids: pa.Array | None  # None: the row numbers are the ids
    faults: dict[int, str]
    squares: np.ndarray | None = None  # the squared lengths of the rows, if they are known

    def numbers(self) -> np.ndarray:
        """Return the number in the batch of each good row."""
        return np.delete(np.arange(self.values.shape[0] + len(self.faults)), list(self.faults))


class TableReader:
    """A reader of one table's rows as vectors, or as bit codes."""

    def __init__(self, part: Part, vector: str | None, identity: str | None, bits: bool, size: int):
        self.part = replace(with_names(part), partition=())  # a number in a folder's name is not a component
        self.bits = bits
        self.size = size
        self.untyped = part.format in ("csv", "tsv")
        schema = plain_schema(FORMATS[part.format].schema(self.part))
        if not schema.names and part.format in ("jsonl", "csv", "tsv"):  # an empty file has the columns asked for
            schema = pa.schema([(vector or "vector", pa.list_(pa.float64()))])
            identity = "-"
        self.columns = choose_columns(self.part, schema, vector, identity, bits)
        self.schema = pa.schema([self._field(schema.field(name)) for name in self.columns.every])
        self.strings = StringCodes(self.columns.names[0], self.untyped)
        self.width = self._known_width()

    def _field(self, field: pa.Field) -> pa.Field:
        """Return a column with the type to read it as; JSON ids become integers or strings."""
        if self.part.format != "jsonl":
            return field
        if is_list(field.type):
            return field.with_type(pa.list_(pa.float64()))
        if field.name == self.columns.identity:
            return field.with_type(pa.int64() if pa.types.is_integer(field.type) else pa.string())
        return field.with_type(pa.float64()) if self.columns.kind == "numbers" else field

    def _known_width(self) -> int:
        """Return the number of components if the schema fixes it, else 0: the first row decides."""
        if self.columns.kind == "numbers":
            return len(self.columns.names)
        kind = self.schema.field(self.columns.names[0]).type
        return int(kind.list_size) if pa.types.is_fixed_size_list(kind) else 0

    def batches(self, run: Run, check: Callable[[VectorBatch], VectorBatch]) -> Iterator[VectorBatch]:
        """Yield the rows in batches and checked, in threads once the first rows have shown how."""
        tasks = FORMATS[self.part.format].tasks(self.part, self.schema, self.size)
        found = chain.from_iterable(run.map(lambda task: list(task()), tasks))
        blocks = chain(found, [Block(self.schema.empty_table())])  # its width can be known even without rows

        def work(block: Block) -> VectorBatch:
            return check(self._batch(block))

        for block in blocks:
            yield work(block)
            if self._settled:
                break
        yield from run.map(work, blocks)

    @property
    def _settled(self) -> bool:
        """Whether all that the first good row decides is known."""
        return bool(self.strings.rule if self.columns.kind == "strings" else self.width)

    def _batch(self, block: Block) -> VectorBatch:
        """Return the rows of a block."""
        read = {"list": self._lists, "numbers": self._numbers, "integers": self._codes, "strings": self._codes}
        table, numbers, faults = plain(block.table), block.numbers(), dict(block.faults)
        table, numbers = left(table, numbers, self._cell_faults(table), faults)
        values, wrong = read[self.columns.kind](table)
        table, _ = left(table, numbers, wrong, faults)
        identity = self.columns.identity
        return VectorBatch(values, self.width, None if identity is None else table[identity].combine_chunks(), faults)

    def _cell_faults(self, table: pa.Table) -> dict[int, str]:
        """Return the rows with a null cell, or in CSV an empty one."""
        faults: dict[int, str] = {}
        for name in self.columns.every:
            if is_text(table[name].type):
                found = find_faults(table, name) if name == self.columns.identity else {}
                if self.untyped:
                    found |= empty_cells(table[name], name)
                faults = found | faults
            if table[name].null_count:
                faults = {int(at): f"{name} is null" for at in np.flatnonzero(table[name].is_null())} | faults
        return faults

    def _lists(self, table: pa.Table) -> tuple[np.ndarray, dict[int, str]]:
        name = self.columns.names[0]
        kind = table.schema.field(name).type.value_type
        lists = table[name].cast(pa.large_list(plain_type(kind))).combine_chunks()
        sizes, values = pc.list_value_length(lists).to_numpy(), lists.flatten()
        faults = {int(at): f"{name} has no components" for at in np.flatnonzero(sizes == 0)}
        if values.null_count:
            parents = np.asarray(pc.list_parent_indices(lists))
            faults |= {int(row): f"{name} holds null" for row in parents[np.asarray(values.is_null())]}
        if not self.width:
            self.width = int(next((size for at, size in enumerate(sizes) if at not in faults), 0))
        for at in np.flatnonzero(sizes != self.width).tolist():
            faults.setdefault(at, f"{counted(sizes[at], 'component')}, where the first row has {self.width}")
        if faults:
            values = lists.take(pa.array(np.delete(np.arange(len(lists)), list(faults)), pa.int64())).flatten()
        return self._finished(floats(values).reshape(len(lists) - len(faults), self.width), faults)

    def _numbers(self, table: pa.Table) -> tuple[np.ndarray, dict[int, str]]:
        columns = [table[name] for name in self.columns.names]
        if not self.untyped:
            return self._finished(np.column_stack([floats(column.combine_chunks()) for column in columns]), {})
        faults: dict[int, str] = {}
        parsed = [parse_numbers(name, table[name], faults) for name in self.columns.names]
        good = np.delete(np.arange(len(table)), list(faults))
        return self._finished(np.column_stack(parsed)[good], faults)

    def _finished(self, matrix: np.ndarray, faults: dict[int, str]) -> tuple[np.ndarray, dict[int, str]]:
        """Return vectors as they are, and bits packed into words."""
        if not self.bits or not self.width:
            return matrix, faults
        numbers = np.delete(np.arange(len(matrix) + len(faults)), list(faults))
        words, _, wrong = matrix_codes(matrix)
        return words, faults | {int(numbers[at]): why for at, why in wrong.items()}

    def _codes(self, table: pa.Table) -> tuple[np.ndarray, dict[int, str]]:
        column = table[self.columns.names[0]].combine_chunks()
        if self.columns.kind == "integers":
            words, self.width, faults = integer_codes(column)
        else:
            cells = column.cast(pa.large_binary()).to_pylist()
            words, self.width, faults = self.strings.read([cell.decode("utf-8", "replace") for cell in cells])
        return words, faults


def left(
    table: pa.Table, numbers: np.ndarray, wrong: dict[int, str], faults: dict[int, str]
) -> tuple[pa.Table, np.ndarray]:
    """Return the good rows and their numbers; add the others to `faults`."""
    if not wrong:
        return table, numbers
    faults.update({int(numbers[at]): why for at, why in wrong.items()})
    good = np.delete(np.arange(len(table)), list(wrong))
    return table.take(pa.array(good, pa.int64())), numbers[good]


def floats(values: pa.Array) -> np.ndarray:
    """Return numbers without nulls as float32 if that can hold their type, else as float64."""
    small = {pa.float16(), pa.float32(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.bool_()}
    return np.asarray(values.cast(pa.float32() if values.type in small else pa.float64(), safe=False))


def parse_numbers(name: str, column: pa.ChunkedArray, faults: dict[int, str]) -> np.ndarray:
    """Return cells of CSV as numbers; Python parses them one by one only if Arrow rejects some."""
    try:
        return np.asarray(column.cast(pa.float64()))
    except pa.ArrowInvalid:
        cells = column.cast(pa.large_binary()).to_pylist()
    numbers = [to_number(cell) for cell in cells]
    for at, number in enumerate(numbers):
        if number is None:
            faults.setdefault(at, f"{name} is {cells[at].decode('utf-8', 'replace')!r}, not a number")
    return np.array([np.nan if number is None else number for number in numbers])
