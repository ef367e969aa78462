"""Collects the elements and ids of sets, block by block, and assembles the sets."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import even_slices, join_arrays
from lookalike.core.errors import DataError
from lookalike.core.run import ONE_THREAD, Run
from lookalike.io.formats import UNTYPED
from lookalike.io.part import Part
from lookalike.io.tables import as_text
from lookalike.items.sets import Sets, hash_integers, hash_texts, text_bounds
from lookalike.kernels.elements import NO_INTEGERS, UNSIGNED, read_integers
from lookalike.kernels.sets import group_rows

MOST_COPIES = 1 << 30  # the largest total of the counts of bags
SLICE = 1 << 18  # elements per task


def strings_or_integers(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array of integers or strings."""
    return column.combine_chunks() if pa.types.is_integer(column.type) else as_text(column)


def as_integers(values: pa.Array) -> np.ndarray | None:
    """Return integers, unsigned only if needed; None if a value is not written as one (say, 01)."""
    if pa.types.is_large_string(values.type):
        numbers, kind = read_integers(*text_bounds(values))
        return None if kind == NO_INTEGERS else numbers.view(np.uint64 if kind == UNSIGNED else np.int64)
    wide = pa.types.is_uint64(values.type) and (pc.max(values).as_py() or 0) >= 1 << 63
    return np.asarray(values.cast(pa.uint64() if wide else pa.int64()))


class ElementChunk(NamedTuple):
    """The elements of one block: integers, or hashes of strings."""

    values: np.ndarray
    integers: bool
    negative: bool  # whether some integer is less than 0
    copies: np.ndarray | None  # how often each occurs, if not once

    @classmethod
    def of(cls, part: Part, values: pa.Array, copies: np.ndarray | None) -> "ElementChunk":
        """Read elements; those of a format without types are integers if all are written as such."""
        known = pa.types.is_integer(values.type) or part.format in UNTYPED
        numbers = as_integers(values) if known else None
        if numbers is None:
            return cls(hash_texts(values), False, False, copies)
        return cls(numbers, True, bool((numbers < 0).any()), copies)

    def hashes(self, strings: bool, wide: bool) -> np.ndarray:
        """Return one hash per element, given whether all are strings, or unsigned integers."""
        if not strings:
            found = hash_integers(self.values.view(np.uint64 if wide else np.int64))
        else:
            found = hash_texts(pa.array(self.values).cast(pa.large_string())) if self.integers else self.values
        return found if self.copies is None else np.repeat(found, self.copies)


class Kinds:
    """What the elements of all chunks are: integers while all can be that, else strings."""

    def __init__(self) -> None:
        self.named: dict[str, str] = {}  # "integers", "strings": the first input that certainly has them
        self.negative = self.wide = False  # whether some integer is less than 0, or at least 2**63

    def add(self, part: Part, chunk: ElementChunk, typed: bool) -> None:
        """Add a chunk of a part, whose integers are `typed` if they cannot be strings."""
        if not len(chunk.values):
            return
        integers = chunk.integers and (typed or "strings" not in self.named)
        if integers and not self._fits(chunk):
            if typed or "integers" in self.named:
                raise DataError(f"{part.name}: integer elements must fit in 64 bits, all signed or all unsigned.")
            integers = False
        if not integers:
            self._settle("strings", part)
        elif typed:
            self._settle("integers", part)

    def hashes(self, chunk: ElementChunk) -> np.ndarray:
        """Return one hash per element of a chunk; call it when all have been added."""
        return chunk.hashes("strings" in self.named, self.wide)

    def _fits(self, chunk: ElementChunk) -> bool:
        """Return whether one 64-bit type, signed or unsigned, holds these and all earlier ones."""
        self.wide |= chunk.values.dtype == np.uint64
        self.negative |= chunk.negative
        return not (self.wide and self.negative)

    def _settle(self, kind: str, part: Part) -> None:
        """Fix the kind of all elements."""
        self.named.setdefault(kind, part.name)
        if len(self.named) > 1:
            has = " and ".join(f"{name} has {kind}" for kind, name in self.named.items())
            raise DataError(f"the elements of sets must be all strings or all integers; {has}.")


# --- sets ---


class SetBlock(NamedTuple):
    """Consecutive groups of elements, each with an id and a size."""

    ids: pa.Array
    sizes: np.ndarray
    whole: bool  # whether each group is a whole set, and not one row of it
    chunk: ElementChunk


def join_blocks(blocks: list[SetBlock], kinds: Kinds, bag: bool, run: Run) -> tuple[pa.Array, Sets]:
    """Return the ids and the sets, in order of first appearance; the list is emptied."""
    if not blocks:
        return pa.array([], pa.int64()), Sets(np.zeros(1, np.int64), np.zeros(0, np.uint64), bag)
    if all(block.whole for block in blocks) and (names := distinct([block.ids for block in blocks])) is not None:

        def make(at: int) -> Sets:
            block, blocks[at] = blocks[at], None  # type: ignore[call-overload]  # frees its memory
            return Sets.sorted(np.concatenate(([0], np.cumsum(block.sizes))), kinds.hashes(block.chunk), bag)

        return names, Sets.concatenate(run.map(make, range(len(blocks))), run)
    ids = Ids()
    for block in blocks:
        ids.add(block.ids, block.sizes, block.whole)
    names, rows = ids.gather()
    hashes = join_arrays(list(run.map(lambda block: kinds.hashes(block.chunk), blocks)), run)
    blocks.clear()
    return names, assemble(len(names), rows, hashes, bag, run)


def distinct(ids: list[pa.Array]) -> pa.Array | None:
    """Return all ids in one array, or None if some are equal."""
    kind = common_type([some.type for some in ids])
    every = pa.chunked_array([some.cast(kind) for some in ids]).combine_chunks()
    if pa.types.is_integer(kind) and ascending(np.asarray(every)):  # as row numbers are
        return every
    return every if pc.count_distinct(every, mode="all").as_py() == len(every) else None


def ascending(numbers: np.ndarray) -> bool:
    """Return whether each number is greater than the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


class Ids:
    """The ids of all groups of elements, each id held once per block."""

    def __init__(self) -> None:
        self.found: list[pa.Array] = []  # distinct ids of each block
        self.codes: list[np.ndarray] = []  # for each group, the position of its id among all found
        self.sizes: list[np.ndarray] = []
        self.whole: list[bool] = []
        self.count = 0

    def add(self, ids: pa.Array, sizes: np.ndarray, whole: bool) -> None:
        """Add the groups of a block; if `whole`, each group is a whole set."""
        if not len(ids):
            return
        encoded = ids.dictionary_encode()
        self.found.append(encoded.dictionary)
        self.codes.append(self.count + encoded.indices.to_numpy().astype(np.int64))
        self.sizes.append(sizes)
        self.whole.append(whole)
        self.count += len(encoded.dictionary)

    def gather(self) -> tuple[pa.Array, np.ndarray]:
        """Return the distinct ids by first appearance, and the position of each element's set."""
        if not self.found:
            return pa.array([], pa.int64()), np.zeros(0, np.int64)
        kind = common_type([ids.type for ids in self.found])
        every = pa.chunked_array([ids.cast(kind) for ids in self.found]).combine_chunks().dictionary_encode()
        groups = every.indices.to_numpy().astype(np.int64)[np.concatenate(self.codes)]
        self._check_unique(every.dictionary, groups)
        return every.dictionary, np.repeat(groups, np.concatenate(self.sizes))

    def _check_unique(self, ids: pa.Array, groups: np.ndarray) -> None:
        """Raise an error if a whole set has the id of another."""
        whole = np.repeat(self.whole, [len(codes) for codes in self.codes])
        twice = np.flatnonzero(whole & (np.bincount(groups)[groups] > 1))
        if len(twice):
            got = ids[int(groups[twice[0]])].as_py()
            raise DataError(f"ids must be unique when each line or list is a set; {got!r} occurs more than once.")


def common_type(kinds: list[pa.DataType]) -> pa.DataType:
    """Return one type for ids of several types: a signed integer if all fit it, else a string."""
    if len(set(kinds)) == 1:
        return kinds[0]
    return pa.int64() if all(pa.types.is_integer(k) and k != pa.uint64() for k in kinds) else pa.string()


def assemble(count: int, rows: np.ndarray, hashes: np.ndarray, bag: bool, run: Run = ONE_THREAD) -> Sets:
    """Return `count` sets of hashes; `rows` gives the set of each hash."""
    indptr, hashes = group_rows(count, rows, hashes)

    def make(part: slice) -> Sets:
        some = indptr[part.start : part.stop + 1]
        return Sets.sorted(some - some[0], hashes[some[0] : some[-1]], bag)

    return Sets.concatenate(run.map(make, even_slices(indptr, SLICE) or [slice(0, count)]), run)
