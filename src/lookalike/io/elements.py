"""The elements and the ids of sets as they are read, block by block, and the sets that are made of them."""

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.io.formats import UNTYPED
from lookalike.io.part import Part
from lookalike.io.tables import as_text
from lookalike.items.sets import Sets, hash_integers, hash_texts

MOST_COPIES = 1 << 30  # that the counts of bags may add up to


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
        groups = every.indices.to_numpy().astype(np.int64)[np.concatenate(self.codes)]
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
