"""Collects the elements and ids of sets, block by block, and assembles the sets."""

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.io.formats import UNTYPED
from lookalike.io.part import Part
from lookalike.io.tables import as_text
from lookalike.items.sets import Sets, hash_integers, hash_texts

MOST_COPIES = 1 << 30  # the largest total of the counts of bags


def strings_or_integers(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array of integers or strings."""
    return column.combine_chunks() if pa.types.is_integer(column.type) else as_text(column)


def as_integers(values: pa.Array) -> np.ndarray | None:
    """Return integers, unsigned only if needed; None if a value is not written as one (say, 01)."""
    for kind in (pa.int64(), pa.uint64()):
        try:
            numbers = values.cast(kind)
        except pa.ArrowInvalid:
            continue
        if numbers.cast(values.type).equals(values):
            return np.asarray(numbers)
    return None


class Elements:
    """The elements of all sets in order: integers while all can be that, else hashes of strings."""

    def __init__(self) -> None:
        self.chunks: list[np.ndarray] = []
        self.kinds: dict[str, str] = {}  # "integers", "strings": the first input that certainly has them
        self.negative = self.wide = False  # whether some integer is less than 0, or at least 2**63
        self.copies = 0

    def add(self, part: Part, values: pa.Array, copies: np.ndarray | None) -> None:
        """Add elements, each as often as `copies` says."""
        if not len(values):
            return
        numbers = self._integers(part, values)
        chunk = hash_texts(values) if numbers is None else numbers
        if copies is not None:
            self.copies += int(copies.sum())
            if self.copies > MOST_COPIES:
                raise DataError(f"{part.name}: the counts must add up to at most {MOST_COPIES:,}; they add up to more.")
            chunk = np.repeat(chunk, copies)
        self.chunks.append(chunk)

    def hashes(self) -> np.ndarray:
        """Return one hash per element."""
        every = np.concatenate([np.zeros(0, np.uint64), *(chunk.view(np.uint64) for chunk in self.chunks)])
        return every if "strings" in self.kinds else hash_integers(every if self.wide else every.view(np.int64))

    def _integers(self, part: Part, values: pa.Array) -> np.ndarray | None:
        """Return the values as integers, or None if they or earlier ones cannot be integers."""
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
        """Return whether one 64-bit type, signed or unsigned, holds these and all earlier ones."""
        self.wide |= numbers.dtype == np.uint64
        self.negative |= bool((numbers < 0).any())
        return not (self.wide and self.negative)

    def _settle(self, kind: str, part: Part) -> None:
        """Fix the kind of all elements; rehash earlier integers if they turn out to be strings."""
        if kind == "strings" and kind not in self.kinds:
            self.chunks = [hash_texts(pa.array(chunk).cast(pa.large_string())) for chunk in self.chunks]
        self.kinds.setdefault(kind, part.name)
        if len(self.kinds) > 1:
            has = " and ".join(f"{name} has {kind}" for kind, name in self.kinds.items())
            raise DataError(f"the elements of sets must be all strings or all integers; {has}.")


# --- sets ---


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


def assemble(count: int, rows: np.ndarray, hashes: np.ndarray, bag: bool) -> Sets:
    """Return `count` sets of hashes; `rows` gives the set of each hash."""
    if (np.diff(rows) < 0).any():
        hashes = hashes[np.argsort(rows, kind="stable")]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=count))))
    return Sets.sorted(indptr, hashes, bag)
