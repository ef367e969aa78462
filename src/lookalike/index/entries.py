"""Prepare the entries of the tables: items as bytes, in the order of the keys.

LMDB has one writer, so all that can be done before it writes is done here, in many threads.
"""

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.run import Run, slices
from lookalike.index.codings import Content, Encoded
from lookalike.index.records import HEAD, Id, pack_id, with_numbers
from lookalike.kernels.hashing import EMPTY

FIRST_BYTES = 256
SORTED_AT_ONCE = 1 << 16  # entries of buckets, approximately


class Entries(NamedTuple):
    """Items that are ready to be written, once they have numbers."""

    ids: list[Id]
    keys: np.ndarray  # those of `Encoded`
    contents: np.ndarray
    packed: list[bytes]  # the ids
    records: Sequence[Content]
    texts: list[bytes]  # compressed; empty if they are not kept

    def payload(self, place: int) -> Content:
        """Return the payload of one of the items."""
        return self.records[place][HEAD + len(self.packed[place]) :]

    @property
    def byte_size(self) -> int:
        """About how much memory the items take."""
        return self.keys.nbytes + sum(map(len, self.records)) + sum(map(len, self.texts))


class Waiting:
    """Items that are to be written together."""

    def __init__(self) -> None:
        self.parts: list[Entries] = []
        self.items = 0
        self.byte_size = 0  # approximate

    def append(self, part: Entries) -> None:
        """Add some more items."""
        self.parts.append(part)
        self.items += len(part.ids)
        self.byte_size += part.byte_size


def entries_of(ids: list[Id], encoded: Encoded, texts: list[str]) -> Entries:
    """Return the entries of some items."""
    packed = list(map(pack_id, ids))
    compressed = [zlib.compress(text.encode()) for text in texts]
    return Entries(ids, encoded.keys, encoded.contents, packed, pack(encoded, packed), compressed)


def pack(encoded: Encoded, packed: list[bytes]) -> Sequence[Content]:
    """Return the record of each item: its content hash, the length of its id, its id and payload."""
    lengths = np.fromiter(map(len, packed), ">u2", len(packed))
    parts = (of_even_width(encoded.contents.astype(">u8")), of_even_width(lengths), pa.array(packed, pa.large_binary()))
    joined = pc.binary_join_element_wise(*parts, encoded.payloads, pa.scalar(b"", pa.large_binary()))
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


def in_buckets(parts: Sequence[Entries], numbers: np.ndarray, chosen: np.ndarray, run: Run) -> Iterator[bytes]:
    """Yield the entries of the chosen items in their buckets, in order, in blocks."""

    def work(place: int) -> "EntryGroup":
        own = slice(starts[place], starts[place + 1])
        return by_first_byte(parts[place].keys, numbers[own], chosen[own])

    starts = np.cumsum([0, *(len(part.ids) for part in parts)])
    groups = list(run.map(work, range(len(parts))))
    total = sum(len(group.keys) for group in groups)
    step = -(-FIRST_BYTES // (1 + total // SORTED_AT_ONCE))
    yield from run.map(lambda part: in_order(groups, part), slices(FIRST_BYTES, step))


class EntryGroup(NamedTuple):
    """The entries of some items in buckets, by the first byte of their keys."""

    keys: np.ndarray
    numbers: np.ndarray
    starts: np.ndarray  # where the keys of each first byte begin, and the end


def by_first_byte(keys: np.ndarray, numbers: np.ndarray, chosen: np.ndarray) -> EntryGroup:
    """Sort the keys of the chosen items, other than EMPTY, by their first bytes."""
    there = (keys != EMPTY) & chosen[:, None]
    found, own = keys[there], np.broadcast_to(numbers[:, None], keys.shape)[there]
    first = (found >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(first, kind="stable")
    counts = np.bincount(first, minlength=FIRST_BYTES)
    return EntryGroup(found[order], own[order], np.append(0, np.cumsum(counts)))


def in_order(groups: list[EntryGroup], part: slice) -> bytes:
    """Return the entries with these first bytes, in order."""
    inside = [slice(group.starts[part.start], group.starts[part.stop]) for group in groups]
    keys = np.concatenate([group.keys[at] for group, at in zip(groups, inside, strict=True)])
    numbers = np.concatenate([group.numbers[at] for group, at in zip(groups, inside, strict=True)])
    order = np.argsort(keys, kind="stable")  # entries with equal keys stay in the order of their numbers
    return with_numbers(keys[order][:, None], numbers[order])
