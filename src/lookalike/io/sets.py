"""Files to sets: a set a line of text, a set a list of a table, or a set from all rows of a table that name it.

A `SetSource` reads its inputs block by block and keeps eight bytes an element. Elements are strings or integers, all
of one kind: in Parquet, Arrow and JSON the type says which; text and CSV have no types, so there they are integers
if every one of them, in all inputs, is written as one. Bad rows are an error with file and row, or are left out and
counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, all_left_out, choice, one_column
from lookalike.core.run import Run
from lookalike.io.csv import frame_index
from lookalike.io.documents import BATCH_BYTES
from lookalike.io.elements import MOST_COPIES, Elements, Ids, assemble, strings_or_integers
from lookalike.io.formats import FORMATS, READERS, schema_of
from lookalike.io.json_lists import good_numbers, json_columns, with_lists
from lookalike.io.jsonl import read_json
from lookalike.io.parts import UTF8, Block, Part, find_parts, format_of
from lookalike.io.tables import as_text, bad_row, find_faults, is_text, plain, plain_schema, plain_type, reading
from lookalike.items.sets import Sets

COUNT_NAMES = ("count", "n", "weight", "quantity", "times")


@dataclass(frozen=True)
class Columns:
    """Which columns name the set (None: the row's number), the element or list of elements, and the count."""

    set: str | None
    element: str
    count: str | None = None
    listed: bool = False  # a row is a whole set

    def __str__(self) -> str:
        sets = "a set a row" if self.set is None else f"set {self.set!r}"
        return f"{sets}, {'elements' if self.listed else 'element'} {self.element!r}" + (
            f", count {self.count!r}" if self.count is not None else ""
        )

    @property
    def names(self) -> list[str]:
        """Those that there are."""
        return [name for name in (self.set, self.element, self.count) if name is not None]


LINES = Columns(None, "text", listed=True)


class Groups(NamedTuple):
    """Elements in groups, one group after another: whole sets, or rows of one element each."""

    ids: pa.Array
    sizes: np.ndarray  # elements of each group, repeats included
    values: pa.Array  # strings or integers
    copies: np.ndarray | None = None  # how often each value is there, if not once


class SetSource:
    """Sets of files, folders, globs, `-` (standard input) or Arrow tables.

    In text a line is a set, its elements parted by white space, commas and semicolons, or by `separator`; its id is
    the line's number from 1, or with several inputs "name:line". In a table all rows of one id are a set: `rows`
    names the columns, "set,element" or "set,element,count", by default the first two and a count if there is one.
    A table with one column of lists has a set a row; its id is the column `id`, or else the row's number from 0.
    Only with `bag` do repeats and counts matter. `on_error` is "fail" or "skip".
    """

    def __init__(
        self,
        inputs: Any,  # one of them or several
        *,
        rows: str | None = None,
        separator: str | None = None,
        bag: bool = False,
        format: str | None = None,
        on_error: str = "fail",
        encoding: str = UTF8,
        batch_bytes: int = BATCH_BYTES,
    ):
        choice("on_error", on_error, ("fail", "skip"))
        if format is not None:
            choice("format", format, [name for name in FORMATS if name != "files"])
        self.rows = None if rows is None else named_columns(rows)
        if separator is not None and (not separator or "\n" in separator):
            raise UsageError(f"separator must be one or more characters within a line; got {separator!r}.")
        self.separator = separator
        self.bag = bag
        self.on_error = on_error
        self.batch_bytes = batch_bytes
        given = [inputs] if isinstance(inputs, str | Path | pa.Table) else list(inputs)
        self.parts = [part for one in given for part in parts_of(one, format, encoding)]
        self._check_parts()
        self.skipped = 0  # bad rows left out
        self.columns: Columns | None = None  # of the last table that was read
        self._rows_read = 0

    def _check_parts(self) -> None:
        """There must be some, and of a kind that the options are for."""
        if not self.parts:
            raise UsageError("nothing to read: the input names no file.")
        text = next((part.name for part in self.parts if part.format == "text"), None)
        if self.rows is not None and text is not None:
            raise UsageError(f"rows names columns of tables, and {text} is read as text; --format says what it is.")
        if self.separator is not None and text is None:
            raise UsageError("separator is for text, a set a line; --format text reads a table as that.")

    def read(self, run: Run) -> tuple[pa.Array, Sets]:
        """The ids and the sets, in order of first appearance."""
        self.skipped = self._rows_read = 0
        ids, elements = Ids(), Elements()
        sizes = [part.content.nbytes if part.format == "table" else part.byte_size() for part in self.parts]
        with run.stage("read", sum(sizes)) as tick:
            for part, left in zip(self.parts, sizes, strict=True):
                with reading(part):
                    schema = self._schema(part)
                    columns = self._columns(part, schema)
                    self.columns = columns if columns is not LINES else None
                    for groups in self._groups(part, schema, columns):
                        ids.add(groups.ids, groups.sizes, columns.listed)
                        elements.add(part, groups.values, groups.copies)
                        done = min(left, int(groups.values.nbytes))
                        tick(done)
                        left -= done
                tick(left)
            if self.skipped and self.skipped == self._rows_read:
                raise all_left_out(self.parts[0].name, self.skipped, self._first_fault)
            names, rows = ids.gather()
            return names, assemble(len(names), rows, elements.hashes(), self.bag)

    def named(self, ids: pa.Array) -> list[Counter[Any]]:
        """The elements of some sets as they are written, and how often; the inputs are read again."""
        wanted = {name: Counter[Any]() for name in ids.cast(pa.string()).to_pylist()}
        names = pa.array(wanted, pa.string())
        self.skipped = self._rows_read = 0
        for part in self.parts:
            schema = self._schema(part)
            for groups in self._groups(part, schema, self._columns(part, schema)):
                own = groups.ids.cast(pa.string())
                values = groups.sizes if groups.copies is None else groups.sizes > 0  # of each group
                owners = np.repeat(np.arange(len(own)), values)
                times = np.ones(len(owners), np.int64) if groups.copies is None else groups.copies
                for at in np.flatnonzero(np.asarray(pc.is_in(own, names))[owners]).tolist():
                    wanted[own[int(owners[at])].as_py()][groups.values[at].as_py()] += int(times[at])
        found = [wanted[name] for name in ids.cast(pa.string()).to_pylist()]
        return found if self.bag else [Counter(dict.fromkeys(one, 1)) for one in found]

    def _groups(self, part: Part, schema: pa.Schema, columns: Columns) -> Iterator[Groups]:
        """The good rows of a part."""
        start = self._rows_read
        for table, numbers in self._good_rows(part, schema, columns):
            if part.format == "text":
                yield self._lines(part, table, numbers + 1)
                continue
            ids = pa.array(start + numbers) if columns.set is None else table[columns.set].combine_chunks()
            values = table[columns.element]
            if columns.listed:
                sizes = pc.list_value_length(values).to_numpy()
                yield Groups(ids, sizes, strings_or_integers(pc.list_flatten(values)))
            elif columns.count is None:
                yield Groups(ids, np.ones(len(ids), np.int64), strings_or_integers(values))
            else:
                most = MOST_COPIES + 1 if self.bag else 1
                counts = np.minimum(whole_counts(table[columns.count]), most).astype(np.int64)
                there = strings_or_integers(values.filter(pa.array(counts > 0)))
                yield Groups(ids, counts, there, counts[counts > 0] if self.bag else None)

    def _lines(self, part: Part, table: pa.Table, numbers: np.ndarray) -> Groups:
        """A set a line, but for the lines without elements."""
        lists, values = split_lines(as_text(table["text"]), self.separator)
        there = np.asarray(pc.greater(pc.binary_length(values), 0))
        sizes = np.bincount(np.asarray(pc.list_parent_indices(lists))[there], minlength=len(lists))
        ids = pa.array(numbers[sizes > 0])
        if len(self.parts) > 1:
            ids = pc.binary_join_element_wise(part.name, ids.cast(pa.string()), ":")
        return Groups(ids, sizes[sizes > 0], values.filter(pa.array(there)))

    def _good_rows(self, part: Part, schema: pa.Schema, columns: Columns) -> Iterator[tuple[pa.Table, np.ndarray]]:
        """Tables without the bad rows, and the number of each row in the part."""
        start = self._rows_read
        for block in self._blocks(part, schema, columns):
            table = plain_lists(plain(block.table))
            rows = good_numbers(block)
            found = bad_rows(part, table, columns)
            faults = {**block.faults, **{int(rows[at]): why for at, why in found.items()}}
            first = self._rows_read - start
            if faults and self.on_error == "fail":
                raise bad_row(part, f"{part.name}, row {first + min(faults) + 1}", faults[min(faults)])
            if faults and not self.skipped:
                self._first_fault = faults[min(faults)]
            self.skipped += len(faults)
            self._rows_read += len(table) + len(block.faults)
            good = np.delete(np.arange(len(table)), list(found))
            yield table.take(good) if found else table, first + rows[good]

    def _blocks(self, part: Part, schema: pa.Schema, columns: Columns) -> Iterator[Block]:
        """The rows of a part with the columns that matter."""
        if part.format != "jsonl":
            yield from READERS[part.format](part, columns.names, self.batch_bytes)
            return
        keys = {name: schema.field(name).type for name in columns.names}
        if columns.count is not None:
            keys[columns.count] = pa.int64()
        if columns.listed:
            del keys[columns.element]
        wanted = pa.schema(list(keys.items()))
        for block in read_json(part, wanted, wanted, self.batch_bytes):
            yield with_lists(block, schema.field(columns.element)) if columns.listed else block

    def _schema(self, part: Part) -> pa.Schema:
        """The columns of a part, with plain types."""
        schema = json_columns(part, self.batch_bytes) if part.format == "jsonl" else schema_of(part)
        if not schema.names and part.format in ("jsonl", "csv", "tsv"):  # an empty file has the columns asked for
            schema = pa.schema([(name, pa.string()) for name in (self.rows or Columns("set", "element")).names])
        return plain_schema(schema)

    def _columns(self, part: Part, schema: pa.Schema) -> Columns:
        """Which columns are the set, the element and the count, each of a type that can be that."""
        if part.format == "text":
            return LINES
        columns = self.rows or likely_columns(part, schema)
        for name in columns.names:
            one_column(schema.names, name, f"{part.name}:", "")
        kinds = {name: schema.field(name).type for name in columns.names}
        kind = kinds[columns.element]
        columns = replace(columns, listed=is_list(kind) and columns.count is None)
        rules = {columns.element: (is_element(kind.value_type if columns.listed else kind), "no strings or integers")}
        if columns.set is not None:
            rules[columns.set] = (not pa.types.is_nested(kinds[columns.set]), "which is no id")
        if columns.count is not None:
            rules[columns.count] = (is_count(kinds[columns.count]), "no counts")
        for name, (fits, why) in rules.items():
            if not fits:
                raise DataError(f"{part.name}: column {name!r} holds {kinds[name]}, {why}; --rows names the columns.")
        return columns


# --- which files, which columns ---


def parts_of(given: Any, format: str | None, encoding: str) -> list[Part]:
    """What an input names; other than for documents, a text file is one of lines also in a folder or a glob."""
    parts: list[Part] = []
    for part in find_parts([given], format, encoding=encoding):
        if part.format == "files":
            parts.extend(
                replace(part, name=str(path), format=format_of(path) or "text", paths=(path,)) for path in part.paths
            )
        else:
            parts.append(part)
    return parts


def named_columns(rows: str) -> Columns:
    """The columns that "set,element" or "set,element,count" names.

    >>> named_columns("basket, item").names
    ['basket', 'item']
    """
    names = [name.strip() for name in rows.split(",")]
    if len(names) not in (2, 3) or len(set(names)) < len(names) or "" in names:
        raise UsageError(f"rows must name columns as 'set,element' or 'set,element,count' does; got {rows!r}.")
    return Columns(names[0], names[1], names[2] if len(names) == 3 else None)


def likely_columns(part: Part, schema: pa.Schema) -> Columns:
    """The only column of lists, or else the first two columns but for a frame's index, and one named like a count."""
    lists = [column.name for column in schema if is_list(column.type)]
    if len(lists) == 1:
        return Columns("id" if "id" in schema.names and lists != ["id"] else None, lists[0])
    names = schema.names if frame_index(part, schema) is None else schema.names[1:]
    if len(names) < 2:
        have = ", ".join(names) or "none"
        raise DataError(f"{part.name}: sets need two columns, set and element, or one of lists; it has {have}.")
    count = next((name for name in COUNT_NAMES if name in names[2:]), None)
    return Columns(names[0], names[1], count)


def is_list(kind: pa.DataType) -> bool:
    """Whether each value of this type is a list; list views are not read, since Arrow may crash of them."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def is_element(kind: pa.DataType) -> bool:
    """Whether values of this type can be elements."""
    return is_text(kind) or pa.types.is_integer(plain_type(kind))


def is_count(kind: pa.DataType) -> bool:
    """Whether values of this type can be counts."""
    types = pa.types
    tests = (is_text, types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


# --- good rows and bad ---


def plain_lists(table: pa.Table) -> pa.Table:
    """The same rows, with lists of integers or bytes, whose offsets have 64 bits."""
    for at, column in enumerate(table.schema):
        if is_list(column.type):
            kind = plain_type(column.type.value_type)
            lists = table[at].cast(pa.large_list(kind))  # first of all without dictionaries
            lists = lists.cast(pa.large_list(pa.large_binary() if is_text(kind) else kind))
            table = table.set_column(at, column.name, lists)
    return table


def bad_rows(part: Part, table: pa.Table, columns: Columns) -> dict[int, str]:
    """The bad rows of a table and what is wrong with each."""
    faults: dict[int, str] = {}
    for name in columns.names:
        column = table[name]
        if is_list(column.type):
            found = list_faults(column.combine_chunks(), name)
        else:
            found = find_faults(table, name, None)
            if part.format in ("csv", "tsv"):  # which have no other null
                empty = np.flatnonzero(np.asarray(pc.equal(pc.binary_length(column), 0)))
                found |= {int(at): f"{name} is empty" for at in empty}
        faults = found | faults
    if columns.count is not None:
        good = np.delete(np.arange(len(table)), list(faults))
        counts = table[columns.count].take(good)
        for at in np.flatnonzero(np.isnan(whole_counts(counts))):
            got = counts[int(at)].as_py()
            faults[int(good[at])] = f"{columns.count} must be a whole number of at least 0; got {got!r}"
    return faults


def list_faults(lists: pa.Array, name: str) -> dict[int, str]:
    """The rows whose list is null, or holds null or invalid UTF-8."""
    faults = {int(at): f"{name} is null" for at in np.flatnonzero(lists.is_null())}
    there = np.flatnonzero(lists.is_valid())
    lists = lists.take(pa.array(there))
    values, rows = lists.flatten(), there[np.asarray(pc.list_parent_indices(lists))]
    faults |= {int(row): f"{name} holds null" for row in rows[np.asarray(values.is_null())]}
    if pa.types.is_large_binary(values.type):
        found = find_faults(pa.table({name: values.fill_null(b"")}), name, None)
        faults |= {int(rows[at]): why for at, why in reversed(found.items())}
    return faults


def whole_counts(column: pa.ChunkedArray) -> np.ndarray:
    """The counts as floats; those that are no whole numbers of at least 0 are not a number."""
    if is_text(column.type):
        texts = pc.utf8_trim_whitespace(as_text(column))
        digits = pc.match_substring_regex(texts, r"^[0-9]+(\.0*)?$")
        column = pc.if_else(digits, texts, "nan")
    numbers = np.asarray(column.cast(pa.float64(), safe=False))
    return np.where((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < np.inf), numbers, np.nan)


def split_lines(texts: pa.LargeStringArray, separator: str | None) -> tuple[pa.ListArray, pa.LargeStringArray]:
    """The elements of each line, and of all lines; some of them are empty."""
    if separator is None:
        lists = pc.utf8_split_whitespace(pc.replace_substring_regex(texts, "[,;]", " "))
        return lists, lists.flatten()
    lists = pc.split_pattern(texts, separator)
    return lists, pc.utf8_trim_whitespace(lists.flatten())
