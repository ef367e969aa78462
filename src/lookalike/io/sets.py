"""Reads sets: one per line of text, one per list of a table, or one per distinct id of a table.

A `SetSource` reads its inputs block by block and keeps eight bytes per element. Elements are all
strings or all integers. In Parquet, Arrow and JSON the type decides. Text and CSV have no types:
there, elements are integers if every one of them, in all inputs, is written as an integer.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, argument, one_column, parameter
from lookalike.core.run import ONE_THREAD, Run, Tick
from lookalike.io.csv import frame_index
from lookalike.io.elements import MOST_COPIES, ElementChunk, Kinds, SetBlock, join_blocks, strings_or_integers
from lookalike.io.formats import NAMED, UNTYPED, format_of
from lookalike.io.inputs import find_parts
from lookalike.io.jsonl import simple_types
from lookalike.io.part import UTF8, Part
from lookalike.io.source import BATCH_BYTES, Good, ItemSource, Progress
from lookalike.io.tables import as_text, empty_cells, find_faults, is_list, is_text, plain, plain_type, reading
from lookalike.items.sets import Sets, text_bounds
from lookalike.kernels.elements import split_texts

COUNT_NAMES = ("count", "n", "weight", "quantity", "times")


@dataclass(frozen=True)
class SetColumns:
    """The columns of the set (None: the row number), of the element or list, and of the count."""

    set: str | None
    element: str
    count: str | None = None
    listed: bool = False  # each row is a whole set

    def __str__(self) -> str:
        sets = "one set per row" if self.set is None else f"set {self.set!r}"
        return f"{sets}, {'elements' if self.listed else 'element'} {self.element!r}" + (
            f", count {self.count!r}" if self.count is not None else ""
        )

    @property
    def names(self) -> list[str]:
        """The names of the columns in use."""
        return [name for name in (self.set, self.element, self.count) if name is not None]


LINES = SetColumns(None, "text", listed=True)
GAPS = np.isin(np.arange(256), [*range(9, 14), *range(28, 33), ord(","), ord(";")])  # ASCII white space, and two more


class ElementGroups(NamedTuple):
    """Elements in consecutive groups: whole sets, or rows of one element each."""

    ids: pa.Array
    sizes: np.ndarray  # elements of each group, repeats included
    values: pa.Array  # strings or integers
    copies: np.ndarray | None = None  # how often each value occurs, if not once


GoodBlock = tuple[Part, Progress, SetColumns, Good]  # some rows, and where they come from


class SetSource(ItemSource):
    """A source of sets: files, folders, globs, `-` (standard input) or Arrow tables.

    In text each line is a set; white space, commas and semicolons, or else `separator`, separate
    its elements; its id is the line number from 1, or with several inputs "name:line". In a table
    all rows of one id are a set: `rows` names the columns, "set,element" or "set,element,count", by
    default the first two and a count if there is one. A column of lists has one set per row; its id
    is in column `id`, or the row number from 0. Only with `bag` do repeats and counts matter.
    """

    formats = tuple(name for name in NAMED if name != "files")

    def __init__(
        self,
        inputs: Any,  # one or several
        *,
        rows: str | None = None,
        separator: str | None = None,
        bag: bool = False,
        format: str | None = None,
        on_error: str = "fail",
        on_bad_file: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        self.rows = None if rows is None else named_columns(rows)
        if separator is not None and (not separator or "\n" in separator):
            raise UsageError(f"separator must be one or more characters within a line; got {separator!r}.")
        self.separator, self.bag = separator, bag
        self.columns: SetColumns | None = None  # of the last table read
        super().__init__(inputs, format, on_error, on_bad_file, encoding, batch_bytes)
        text = next((part.name for part in self.parts if part.format == "text"), None)
        if self.rows is not None and text is not None:
            raise UsageError(
                f"{parameter('rows')} names columns of tables, but {text} is read as text; "
                f"set {argument('format')} for a table."
            )
        if self.separator is not None and text is None:
            raise UsageError(
                f"{parameter('separator')} is for text with one set per line; "
                f"use {argument('format', 'text')} to read a table that way."
            )

    def _find(self, given: list[Any]) -> list[Part]:
        """Return the parts; unlike for documents, every text file is read line by line."""
        parts: list[Part] = []
        for part in (part for one in given for part in find_parts([one], self.format, encoding=self.encoding)):
            whole = part.format == "files"
            kinds = [(path, format_of(path) or "text") for path in part.paths] if whole else []
            parts.extend(replace(part, name=str(path), format=kind, paths=(path,)) for path, kind in kinds)
            parts.extend([] if whole else [part])
        return parts

    def read(self, run: Run) -> tuple[pa.Array, Sets]:
        """Read the ids and the sets, in order of first appearance."""
        self._begin()
        blocks: list[SetBlock] = []
        kinds, copies = Kinds(), 0
        with run.stage("read", self.byte_size()) as tick:
            for part, progress, size, block in run.map(self._block, self._good_blocks(tick, run)):
                kinds.add(part, block.chunk, part.format not in UNTYPED)
                copies += 0 if block.chunk.copies is None else int(block.chunk.copies.sum())
                if copies > MOST_COPIES:
                    most = f"{MOST_COPIES:,}; they add up to more"
                    raise DataError(f"{part.name}: the counts must add up to at most {most}.")
                if len(block.ids):
                    blocks.append(block)
                progress(size)
            self._end()
            return join_blocks(blocks, kinds, self.bag, run)

    def _good_blocks(self, tick: Tick, run: Run) -> Iterator[GoodBlock]:
        """Yield the good rows of all parts, which `_block` turns into sets."""
        for part in self.parts:
            progress = Progress(tick, part)
            with reading(part):
                columns = self._columns(part)
                self.columns = columns if columns is not LINES else None
                for good in self._good(part, columns, run):
                    yield part, progress, columns, good
            progress.finish()

    def _block(self, task: GoodBlock) -> tuple[Part, Progress, int, SetBlock]:
        """Return the sets of some rows; this runs in threads."""
        part, progress, columns, good = task
        with reading(part):
            groups = self._groups(part, columns, good)
            chunk = ElementChunk.of(part, groups.values, groups.copies)
            return part, progress, int(groups.values.nbytes), SetBlock(groups.ids, groups.sizes, columns.listed, chunk)

    def named(self, ids: pa.Array) -> list[Counter[Any]]:
        """Read some sets again; return their elements as written, and how often each occurs."""
        wanted = {name: Counter[Any]() for name in ids.cast(pa.string()).to_pylist()}
        names = pa.array(wanted, pa.string())
        self._begin()
        for part in self.parts:
            columns = self._columns(part)
            for groups in (self._groups(part, columns, good) for good in self._good(part, columns)):
                own = groups.ids.cast(pa.string())
                values = groups.sizes if groups.copies is None else groups.sizes > 0  # per group
                owners = np.repeat(np.arange(len(own)), values)
                times = np.ones(len(owners), np.int64) if groups.copies is None else groups.copies
                for at in np.flatnonzero(np.asarray(pc.is_in(own, names))[owners]).tolist():
                    wanted[own[int(owners[at])].as_py()][groups.values[at].as_py()] += int(times[at])
        found = [wanted[name] for name in ids.cast(pa.string()).to_pylist()]
        return found if self.bag else [Counter(dict.fromkeys(one, 1)) for one in found]

    def _good(self, part: Part, columns: SetColumns, run: Run = ONE_THREAD) -> Iterator[Good]:
        """Yield the good rows of a part."""
        wanted = pa.schema([self._wanted(part, name, columns) for name in columns.names])
        return self._good_rows(part, wanted, partial(bad_rows, part, columns), plain_lists, run=run)

    def _groups(self, part: Part, columns: SetColumns, good: Good) -> ElementGroups:
        """Return some good rows of a part as groups of elements."""
        table, numbers = good.table, good.numbers
        if part.format == "text":
            return self._lines(part, as_text(table["text"]), numbers + 1)
        ids = pa.array(good.before + numbers) if columns.set is None else table[columns.set].combine_chunks()
        values = table[columns.element]
        if columns.listed:
            sizes = pc.list_value_length(values).to_numpy()
            return ElementGroups(ids, sizes, strings_or_integers(pc.list_flatten(values)))
        if columns.count is None:
            return ElementGroups(ids, np.ones(len(ids), np.int64), strings_or_integers(values))
        most = MOST_COPIES + 1 if self.bag else 1
        counts = np.minimum(whole_counts(table[columns.count]), most).astype(np.int64)
        there = strings_or_integers(values.filter(pa.array(counts > 0)))
        return ElementGroups(ids, counts, there, counts[counts > 0] if self.bag else None)

    def _lines(self, part: Part, texts: pa.LargeStringArray, numbers: np.ndarray) -> ElementGroups:
        """Return one set per line, without the lines that have no elements."""
        sizes, values = split_lines(texts, self.separator)
        ids = pa.array(numbers[sizes > 0])
        if len(self.parts) > 1:
            ids = pc.binary_join_element_wise(part.name, ids.cast(pa.string()), ":")
        return ElementGroups(ids, sizes[sizes > 0], values)

    def _schema(self, part: Part) -> pa.Schema:
        """Return the columns of a part."""
        schema = self._columns_of(part, (self.rows or SetColumns("set", "element")).names)
        return simple_types(schema, lists=True) if part.format == "jsonl" else schema

    def _wanted(self, part: Part, name: str, columns: SetColumns) -> pa.Field:
        """Return a column with the type that JSON lines must fit."""
        return pa.field(name, pa.int64()) if name == columns.count else self._schema(part).field(name)

    def _columns(self, part: Part) -> SetColumns:
        """Return the columns of the set, the element and the count, after checking their types."""
        if part.format == "text":
            return LINES
        schema = self._schema(part)
        columns = self.rows or likely_columns(part, schema)
        for name in columns.names:
            one_column(schema.names, name, f"{part.name}:", "")
        kinds = {name: schema.field(name).type for name in columns.names}
        kind = kinds[columns.element]
        columns = replace(columns, listed=is_list(kind) and columns.count is None)
        rules = {columns.element: (is_element(kind.value_type if columns.listed else kind), "not strings or integers")}
        if columns.set is not None:
            rules[columns.set] = (not pa.types.is_nested(kinds[columns.set]), "which cannot be an id")
        if columns.count is not None:
            rules[columns.count] = (is_count(kinds[columns.count]), "not counts")
        for name, (fits, why) in rules.items():
            if not fits:
                raise DataError(
                    f"{part.name}: column {name!r} holds {kinds[name]}, {why}; "
                    f"name other columns with {argument('rows')}."
                )
        return columns


# --- which files, which columns ---


def named_columns(rows: str) -> SetColumns:
    """Return the columns that "set,element" or "set,element,count" names.

    >>> named_columns("basket, item").names
    ['basket', 'item']
    """
    names = [name.strip() for name in rows.split(",")]
    if len(names) not in (2, 3) or len(set(names)) < len(names) or "" in names:
        raise UsageError(f"rows must be 'set,element' or 'set,element,count', each a different column; got {rows!r}.")
    return SetColumns(names[0], names[1], names[2] if len(names) == 3 else None)


def likely_columns(part: Part, schema: pa.Schema) -> SetColumns:
    """Choose the only column of lists, or else the first two after a frame's index, and a count."""
    lists = [column.name for column in schema if is_list(column.type)]
    if len(lists) == 1:
        return SetColumns("id" if "id" in schema.names and lists != ["id"] else None, lists[0])
    names = schema.names if frame_index(part, schema) is None else schema.names[1:]
    if len(names) < 2:
        have = ", ".join(names) or "none"
        raise DataError(f"{part.name}: sets need two columns, set and element, or one column of lists; it has {have}.")
    count = next((name for name in COUNT_NAMES if name in names[2:]), None)
    return SetColumns(names[0], names[1], count)


def is_element(kind: pa.DataType) -> bool:
    """Return whether values of this type can be elements."""
    return is_text(kind) or pa.types.is_integer(plain_type(kind))


def is_count(kind: pa.DataType) -> bool:
    """Return whether values of this type can be counts."""
    types = pa.types
    tests = (is_text, types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


# --- good and bad rows ---


def plain_lists(table: pa.Table) -> pa.Table:
    """Return the rows with plain types, and with 64-bit lists of integers or bytes."""
    table = plain(table)
    for at, column in enumerate(table.schema):
        if is_list(column.type):
            kind = plain_type(column.type.value_type)
            lists = table[at].cast(pa.large_list(kind))  # removes dictionaries first
            lists = lists.cast(pa.large_list(pa.large_binary() if is_text(kind) else kind))
            table = table.set_column(at, column.name, lists)
    return table


def bad_rows(part: Part, columns: SetColumns, table: pa.Table) -> dict[int, str]:
    """Return the bad rows of a table, each with its fault."""
    faults: dict[int, str] = {}
    for name in columns.names:
        column = table[name]
        if is_list(column.type):
            found = list_faults(column.combine_chunks(), name)
        else:
            found = find_faults(table, name)
            if part.format in ("csv", "tsv"):  # an empty cell is their null
                found |= empty_cells(column, name)
        faults = found | faults
    if columns.count is not None:
        good = np.delete(np.arange(len(table)), list(faults))
        counts = table[columns.count].take(good)
        for at in np.flatnonzero(np.isnan(whole_counts(counts))):
            got = counts[int(at)].as_py()
            faults[int(good[at])] = f"{columns.count} must be a whole number of at least 0; got {got!r}"
    return faults


def list_faults(lists: pa.Array, name: str) -> dict[int, str]:
    """Return the rows whose list is null, or holds null or invalid UTF-8."""
    if not lists.null_count and not lists.flatten().null_count and not pa.types.is_large_binary(lists.type.value_type):
        return {}
    faults = {int(at): f"{name} is null" for at in np.flatnonzero(lists.is_null())}
    there = np.flatnonzero(lists.is_valid())
    lists = lists.take(pa.array(there))
    values, rows = lists.flatten(), there[np.asarray(pc.list_parent_indices(lists))]
    faults |= {int(row): f"{name} holds null" for row in rows[np.asarray(values.is_null())]}
    if pa.types.is_large_binary(values.type):
        found = find_faults(pa.table({name: values.fill_null(b"")}), name)
        faults |= {int(rows[at]): why for at, why in reversed(found.items())}
    return faults


def whole_counts(column: pa.ChunkedArray) -> np.ndarray:
    """Return the counts as floats, with nan for those that are not whole numbers of at least 0."""
    if is_text(column.type):
        texts = pc.utf8_trim_whitespace(as_text(column))
        digits = pc.match_substring_regex(texts, r"^[0-9]+(\.0*)?$")
        column = pc.if_else(digits, texts, "nan")
    numbers = np.asarray(column.cast(pa.float64(), safe=False))
    return np.where((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < np.inf), numbers, np.nan)


def split_lines(texts: pa.LargeStringArray, separator: str | None) -> tuple[np.ndarray, pa.LargeStringArray]:
    """Return how many elements each line has, and the elements of all lines; none is empty."""
    content, starts, stops = text_bounds(texts)
    if separator is None and len(starts) and content[starts[0] : stops[-1]].max(initial=0) < 128:
        sizes, offsets, data = split_texts(content, starts, stops, GAPS)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return sizes, pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    if separator is None:
        lists = pc.utf8_split_whitespace(pc.replace_substring_regex(texts, "[,;]", " "))
        values = lists.flatten()
    else:
        lists = pc.split_pattern(texts, separator)
        values = pc.utf8_trim_whitespace(lists.flatten())
    there = np.asarray(pc.greater(pc.binary_length(values), 0))
    sizes = np.bincount(np.asarray(pc.list_parent_indices(lists))[there], minlength=len(lists))
    return sizes, values.filter(pa.array(there))
