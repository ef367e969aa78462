"""Prepare items to be written: their records, and the hashes that they are found under.

LMDB has one writer, so all that can be done before it writes is done here, in many threads.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Tick
from lookalike.index.base import Content, Encoded
from lookalike.index.records import LARGEST_COUNTED, Id, pack_id
from lookalike.kernels.blocks import hash_names


class Entries(NamedTuple):
    """Items that are ready to be written, once they have numbers."""

    ids: list[Id]
    keys: np.ndarray  # those of `Encoded`
    contents: np.ndarray
    names: np.ndarray  # a hash of each id
    twins: np.ndarray  # a hash of each content
    records: Sequence[Content]
    following: int  # a number above all ids that are numbers
    texts: np.ndarray  # the bytes of each text; without entries for other items

    @property
    def byte_size(self) -> int:
        """About how much memory the items take."""
        return self.keys.nbytes + sum(map(len, self.records))


BATCH_BYTES = 300_000_000  # items are written once they take this much memory
NO_TEXTS = np.zeros(0, np.int64)
NO_ENTRIES = Entries([], *(np.zeros((0, 2), np.uint64),) * 2, *(np.zeros(0, np.uint64),) * 2, [], 0, NO_TEXTS)


START = np.zeros(1, np.int64)


def gathered(entries: Iterable[Entries], most: int, tick: Tick, seconds: float = math.inf) -> Iterator[list[Entries]]:
    """Yield entries to write together: of about `most` items, of those of some seconds, or of BATCH_BYTES."""
    parts: list[Entries] = []
    items, size, end = 0, 0, time.monotonic() + seconds
    for some in entries:
        parts.append(some)
        items, size = items + len(some.ids), size + some.byte_size
        if items >= most or size > BATCH_BYTES or time.monotonic() > end:
            yield parts
            parts, items, size, end = [], 0, 0, time.monotonic() + seconds
        tick(len(some.ids))
    if items:
        yield parts


def items_in(parts: Iterable[Entries]) -> int:
    """Return how many items there are."""
    return sum(len(part.ids) for part in parts)


def entries_of(ids: list[Id], encoded: Encoded, payloads: pa.LargeBinaryArray, salt: int) -> Entries:
    """Return the entries of some items."""
    packed = list(map(pack_id, ids))
    contents = encoded.contents.astype(">u8", copy=False)
    records = pack(contents, packed, payloads)
    following = max((name + 1 for name in ids if isinstance(name, int) and name < LARGEST_COUNTED), default=0)
    twins = hash_rows_of(contents.view(np.uint8).reshape(-1), contents.shape[1] * 8, len(ids), salt)
    texts = NO_TEXTS if encoded.texts is None else pc.binary_length(encoded.texts).to_numpy()
    return Entries(ids, encoded.keys, encoded.contents, hashes_of(packed, salt), twins, records, following, texts)


def hashes_of(names: Sequence[bytes], salt: int) -> np.ndarray:
    """Return a hash of each of some names, which depends on the secret salt."""
    ends = np.fromiter(accumulate(map(len, names), initial=0), np.int64, len(names) + 1)
    content = np.frombuffer(b"".join(names) or b"\0", np.uint8)
    hashes: np.ndarray = hash_names(content, ends[:-1], ends[1:], np.uint64(salt))
    return hashes


def hash_of(name: bytes, salt: int) -> int:
    """Return the same for one name."""
    content = np.frombuffer(name, np.uint8)
    return int(hash_names(content, START, np.array([len(name)]), np.uint64(salt))[0])


def hash_rows_of(content: np.ndarray, width: int, rows: int, salt: int) -> np.ndarray:
    """Return the same for names of one width."""
    ends = np.arange(rows + 1) * width
    content = np.frombuffer(content.tobytes() or b"\0", np.uint8)
    hashes: np.ndarray = hash_names(content, ends[:-1], ends[1:], np.uint64(salt))
    return hashes


def salt_of(seed: int) -> int:
    """Return the number that hashes depend on; whoever does not know the seed cannot guess it."""
    (salt,) = hashes_of([b"salt"], seed).tolist()
    return int(salt)


def pack(contents: np.ndarray, packed: list[bytes], payloads: pa.LargeBinaryArray) -> Sequence[Content]:
    """Return the record of each item: its content hash, the length of its id, its id and payload."""
    lengths = np.fromiter(map(len, packed), ">u2", len(packed))
    parts = (of_even_width(contents), of_even_width(lengths), pa.array(packed, pa.large_binary()))
    joined = pc.binary_join_element_wise(*parts, payloads, pa.scalar(b"", pa.large_binary()))
    _, bounds, content = joined.buffers()
    every = memoryview(content or b"")
    return [every[start:stop] for start, stop in pairwise(np.frombuffer(bounds, np.int64)[: len(packed) + 1].tolist())]


def of_even_width(rows: np.ndarray) -> pa.LargeBinaryArray:
    """Return the bytes of each row."""
    width = rows[:1].nbytes
    return pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)]).cast(pa.large_binary())


def first_of_each(contents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of contents in their order, and for each whether it is the first of its kind."""
    order = np.lexsort(contents.T[::-1])
    ordered = contents[order]
    return order, np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(order)]
