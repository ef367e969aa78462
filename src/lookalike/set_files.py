"""Files to sets: a set a line of text, a set a list of a table, or a set from all rows of a table that name it.

A `SetSource` reads its inputs block by block and keeps eight bytes an element. Elements are strings or integers, all
of one kind: in Parquet, Arrow and JSON the type says which; text and CSV have no types, so there they are integers
if every one of them, in all inputs, is written as one. Bad rows are an error with file and row, or are left out and
counted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import Sets, hash_integers, hash_texts
from lookalike.errors import DataError, UsageError, choice
from lookalike.formats import FORMATS, READERS, Block, Part, blocks, find_parts, format_of, schema_of
from lookalike.json_lines import LOOK, first_columns, read_json
from lookalike.read import (
    BATCH_BYTES,
    SKIP_HINT,
    as_text,
    find_faults,
    is_text,
    plain,
    plain_schema,
    plain_type,
    reading,
)
from lookalike.run import Run

COUNT_NAMES = ("count", "n", "weight", "quantity", "times")
UNTYPED = ("text", "csv", "tsv")  # formats that write integers and strings alike
MOST_COPIES = 1 << 30  # that the counts of bags may add up to


@dataclass(frozen=True)
class Columns:
    """Which columns name the set (None: the row's number), the element or list of elements, and the count."""

    set: str | None
    element: str
    count: str | None = None
    listed: bool = False  # a row is a whole set

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
        self.parts = [part for one in given for part in parts_of(one, format)]
        self._check_parts()
        self.skipped = 0  # bad rows left out
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
                    for groups in self._groups(part, schema, columns):
                        ids.add(groups.ids, groups.sizes, columns.listed)
                        elements.add(part, groups.values, groups.copies)
                        done = min(left, int(groups.values.nbytes))
                        tick(done)
                        left -= done
                tick(left)
            names, rows = ids.gather()
            return names, assemble(len(names), rows, elements.hashes(), self.bag)

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
                raise DataError(f"{part.name}, row {first + min(faults) + 1}: {faults[min(faults)]}; {SKIP_HINT}.")
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
            count = schema.names.count(name)
            if count != 1:
                have = ", ".join(schema.names)
                raise DataError(f"{part.name}: {count or 'no'} column{'s' * (count > 1)} {name!r}; it has {have}.")
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


def parts_of(given: Any, format: str | None) -> list[Part]:
    """What an input names; other than for documents, a text file is one of lines also in a folder or a glob."""
    parts: list[Part] = []
    for part in find_parts([given], format):
        if part.format == "files":
            parts.extend(Part(str(path), format_of(path) or "text", (path,)) for path in part.paths)
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
    """The only column of lists, or else the first two columns and one with the name of a count."""
    lists = [column.name for column in schema if is_list(column.type)]
    if len(lists) == 1:
        return Columns("id" if "id" in schema.names and lists != ["id"] else None, lists[0])
    if len(schema.names) < 2:
        have = ", ".join(schema.names) or "none"
        raise DataError(f"{part.name}: sets need two columns, set and element, or one of lists; it has {have}.")
    count = next((name for name in COUNT_NAMES if name in schema.names[2:]), None)
    return Columns(schema.names[0], schema.names[1], count)


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


# --- lists in lines of JSON ---


def json_columns(part: Part, size: int) -> pa.Schema:
    """`first_columns`, but lists as such: of integers if the first element found is one, else of strings."""
    first: dict[str, Any] = {}
    lines = (line for block in blocks(part, size) for line in block.split(b"\n") if line.strip())
    for line in islice(lines, LOOK):
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for name, value in row.items() if isinstance(row, dict) else ():
            before = first.get(name)
            if before is None or (isinstance(before, list) and _first(before) is None):
                first[name] = value
    kinds = {name: _list_type(value) for name, value in first.items() if isinstance(value, list)}
    return pa.schema([(column.name, kinds.get(column.name, column.type)) for column in first_columns(part, size)])


def _list_type(values: list[Any]) -> pa.DataType:
    return pa.list_(pa.int64() if type(_first(values)) is int else pa.string())


def _first(values: list[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def with_lists(block: Block, column: pa.Field) -> Block:
    """The block with one more column, read from its lines; a line with no such list is faulty."""
    lists, faults = json_lists(list(block.lines), column)
    rows = good_numbers(block)
    good = np.delete(np.arange(len(rows)), list(faults))
    columns = {name: block.table[name].take(good) for name in block.table.schema.names}
    return Block(
        pa.table({**columns, column.name: lists}),
        {**block.faults, **{int(rows[at]): why for at, why in faults.items()}},
    )


def json_lists(lines: list[bytes], column: pa.Field) -> tuple[pa.ChunkedArray, dict[int, str]]:
    """The lists of the good lines, and what is wrong with the others.

    Arrow takes all lines at once. Only if it does not like them they are looked at one by one by Python, and what
    Arrow does not like of the others is found by halves.
    """
    try:
        return _read_lists(lines, column), {}
    except pa.ArrowInvalid:
        faults = {at: why for at, line in enumerate(lines) if (why := _list_fault(line, column))}
    good = [at for at in range(len(lines)) if at not in faults]
    lists, others = _by_halves([lines[at] for at in good], column)
    return lists, faults | {good[at]: why for at, why in others.items()}


def _read_lists(lines: list[bytes], column: pa.Field) -> pa.ChunkedArray:
    from pyarrow import json as pa_json

    if not lines:
        return pa.chunked_array([], column.type)
    content = b"\n".join(lines)
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=pa.schema([column]), unexpected_field_behavior="ignore")
    return pa_json.read_json(pa.BufferReader(content), options, parse)[column.name]


def _list_fault(line: bytes, column: pa.Field) -> str | None:
    try:
        value = json.loads(line.decode("utf-8", "replace")).get(column.name)
    except (ValueError, RecursionError):  # Arrow will say
        return None
    if value is not None and not isinstance(value, list):
        return f"{column.name} is {type(value).__name__}, not list"
    wanted = int if pa.types.is_integer(column.type.value_type) else str
    other = next((one for one in value or () if one is not None and type(one) is not wanted), None)
    return None if other is None else f"{column.name} holds {type(other).__name__}, not {wanted.__name__}"


def _by_halves(lines: list[bytes], column: pa.Field) -> tuple[pa.ChunkedArray, dict[int, str]]:
    try:
        return _read_lists(lines, column), {}
    except pa.ArrowInvalid as error:
        if len(lines) == 1:
            return pa.chunked_array([], column.type), {0: str(error).removesuffix(" in row 0")}
    half = len(lines) // 2
    left, faults = _by_halves(lines[:half], column)
    right, others = _by_halves(lines[half:], column)
    faults |= {half + at: why for at, why in others.items()}
    return pa.chunked_array(left.chunks + right.chunks, column.type), faults


# --- good rows and bad ---


def good_numbers(block: Block) -> np.ndarray:
    """The number in the block of each row of its table."""
    return np.delete(np.arange(len(block.table) + len(block.faults)), sorted(block.faults))


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


# --- elements to hashes ---


def strings_or_integers(column: pa.ChunkedArray) -> pa.Array:
    """One array of what the column holds."""
    return column.combine_chunks() if pa.types.is_integer(column.type) else as_text(column)


def as_integers(values: pa.Array) -> np.ndarray | None:
    """The integers, unsigned only if they must be; None if a value is not just what its integer is written as."""
    for kind in (pa.int64(), pa.uint64()):
        try:
            numbers = values.cast(kind)
        except pa.ArrowInvalid:
            continue
        if numbers.cast(values.type).equals(values):
            return np.asarray(numbers)
    return None


class Elements:
    """The elements of all sets, one after another: as integers while they may be that, else as hashes of strings."""

    def __init__(self) -> None:
        self.chunks: list[np.ndarray] = []
        self.kinds: dict[str, str] = {}  # integers, strings: the first input that has them for certain
        self.negative = self.wide = False  # whether some integer is less than 0, or at least 2**63
        self.copies = 0

    def add(self, part: Part, values: pa.Array, copies: np.ndarray | None) -> None:
        """Some more, each as often as `copies` says."""
        if not len(values):
            return
        numbers = self._integers(part, values)
        chunk = hash_texts(values) if numbers is None else numbers
        if copies is not None:
            self.copies += int(copies.sum())
            if self.copies > MOST_COPIES:
                raise DataError(f"{part.name}: the counts must add up to at most {MOST_COPIES:,}; they are more.")
            chunk = np.repeat(chunk, copies)
        self.chunks.append(chunk)

    def hashes(self) -> np.ndarray:
        """One hash an element."""
        every = np.concatenate([np.zeros(0, np.uint64), *(chunk.view(np.uint64) for chunk in self.chunks)])
        return every if "strings" in self.kinds else hash_integers(every if self.wide else every.view(np.int64))

    def _integers(self, part: Part, values: pa.Array) -> np.ndarray | None:
        """The values as integers, if they and all before can be that."""
        untyped = part.format in UNTYPED
        is_integer = pa.types.is_integer(values.type)
        numbers = None
        if is_integer or (untyped and "strings" not in self.kinds):
            numbers = as_integers(values)
        if numbers is not None and not self._fits(numbers):
            if is_integer or "integers" in self.kinds:
                raise DataError(f"{part.name}: integer elements must fit in 64 bits, all signed or all unsigned.")
            numbers = None
        if numbers is None:
            self._settle("strings", part)
        elif not untyped:
            self._settle("integers", part)
        return numbers

    def _fits(self, numbers: np.ndarray) -> bool:
        """Whether 64 bits, with a sign or without, hold these and all before."""
        self.wide |= numbers.dtype == np.uint64
        self.negative |= bool((numbers < 0).any())
        return not (self.wide and self.negative)

    def _settle(self, kind: str, part: Part) -> None:
        """All elements are of this kind; integers so far that turn out to be strings are written out again."""
        if kind == "strings" and kind not in self.kinds:
            self.chunks = [hash_texts(pa.array(chunk).cast(pa.large_string())) for chunk in self.chunks]
        self.kinds.setdefault(kind, part.name)
        if len(self.kinds) > 1:
            has = " and ".join(f"{name} has {kind}" for kind, name in self.kinds.items())
            raise DataError(f"the elements of sets must be all strings or all integers; {has}.")


# --- sets ---


class Ids:
    """The ids of all groups, each held once a block."""

    def __init__(self) -> None:
        self.found: list[pa.Array] = []  # distinct ids of each block
        self.codes: list[np.ndarray] = []  # of each group: the place of its id among all found
        self.sizes: list[np.ndarray] = []
        self.whole: list[bool] = []
        self.count = 0

    def add(self, ids: pa.Array, sizes: np.ndarray, whole: bool) -> None:
        """The groups of a block; `whole` ones are a set each."""
        if not len(ids):
            return
        encoded = ids.dictionary_encode()
        self.found.append(encoded.dictionary)
        self.codes.append(self.count + encoded.indices.to_numpy().astype(np.int64))
        self.sizes.append(sizes)
        self.whole.append(whole)
        self.count += len(encoded.dictionary)

    def gather(self) -> tuple[pa.Array, np.ndarray]:
        """The distinct ids in order of first appearance, and for each element the place of its set among them."""
        if not self.found:
            return pa.array([], pa.int64()), np.zeros(0, np.int64)
        kind = common_type([ids.type for ids in self.found])
        every = pa.chunked_array([ids.cast(kind) for ids in self.found]).combine_chunks().dictionary_encode()
        groups = every.indices.to_numpy()[np.concatenate(self.codes)]
        self._check_unique(every.dictionary, groups)
        return every.dictionary, np.repeat(groups, np.concatenate(self.sizes))

    def _check_unique(self, ids: pa.Array, groups: np.ndarray) -> None:
        """A whole set may not have the id of another."""
        whole = np.repeat(self.whole, [len(codes) for codes in self.codes])
        twice = np.flatnonzero(whole & (np.bincount(groups)[groups] > 1))
        if len(twice):
            got = ids[int(groups[twice[0]])].as_py()
            raise DataError(f"ids must be unique where a line or list is a set; {got!r} occurs more than once.")


def common_type(kinds: list[pa.DataType]) -> pa.DataType:
    """One type for ids of several; what differs in more than the size of integers is written out as strings."""
    if len(set(kinds)) == 1:
        return kinds[0]
    return pa.int64() if all(pa.types.is_integer(k) and k != pa.uint64() for k in kinds) else pa.string()


def assemble(count: int, rows: np.ndarray, hashes: np.ndarray, bag: bool) -> Sets:
    """`count` sets of hashes; `rows` tells the set of each hash."""
    if (np.diff(rows) < 0).any():
        hashes = hashes[np.argsort(rows, kind="stable")]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=count))))
    return Sets.sorted(indptr, hashes, bag)
