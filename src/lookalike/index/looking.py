"""Look up items: find those that share a bucket with them, and measure them."""

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lookalike.index.base import Coding, Encoded, rows_of
from lookalike.index.entries import hashes_of
from lookalike.index.records import Id, Item, intact
from lookalike.index.tables import Check, Reader, go_on
from lookalike.kernels.hashing import EMPTY

MOST = 10_000  # items that are compared with one, and items of one bucket that are looked at
BLOCK = 16_000_000  # bytes of items that are measured at a time, so that a query takes little memory
TOGETHER = 2_000  # items that are looked up together
FULL = 256  # items of a bucket: whoever is in a fuller one is looked up alone

Found = list[tuple[Id, float]]  # ids with similarities or distances, most similar first


class Looked(NamedTuple):
    """The result of one lookup."""

    found: Found
    candidates: int = 0  # distinct items that were measured
    crowded: bool = False  # whether its buckets were too full to compare it with all of their items


@intact("an item")
def look_up(
    reader: Reader,
    coding: Coding,
    encoded: Encoded,
    place: int,
    threshold: float,
    k: int | None,
    without: Container[int] = (),
    check: Check = go_on,
) -> Looked:
    """Return the items most similar to the one at `place`, at most `k`, each of them measured.

    The items with the numbers `without` do not count. `check` is called between steps; it raises an
    error to end the lookup.
    """
    numbers, crowded = reader.in_buckets(encoded.keys[place], MOST, check)
    if not numbers:
        return Looked([], 0, crowded)
    one = encoded.rows if len(encoded.rows) == 1 else rows_of(encoded.rows, np.array([place]))
    near: list[tuple[float, Item]] = []
    for items in _blocks(reader, numbers):
        check()
        zeros, others = np.zeros(len(items), np.int64), np.arange(len(items))
        values = coding.measure(one, [item.payload for item in items], zeros, others)
        near += [(float(values[at]), items[at]) for at in np.flatnonzero(coding.near(values, threshold)).tolist()]
    near.sort(key=lambda one: one[0], reverse=coding.plan.kind == "similarity")
    found: Found = []
    for value, head in near:
        if _put(found, (item.id for item in reader.twins_of(head) if item.number not in without), value, k):
            break
    return Looked(found, len(numbers), crowded)


@intact("an item")
def look_up_all(
    reader: Reader, coding: Coding, encoded: Encoded, threshold: float, k: int | None, check: Check = go_on
) -> list[Looked]:
    """Return what `look_up` returns for each of many items, but join them with the tables of the index.

    Each block of the tables, and each candidate, is then read once for all of them.
    """
    looked: list[Looked] = []
    for start in range(0, len(encoded.keys), TOGETHER):
        rows = np.arange(start, min(start + TOGETHER, len(encoded.keys)))
        looked += _join(reader, coding, encoded, rows, threshold, k, check)
    return looked


def _join(
    reader: Reader, coding: Coding, encoded: Encoded, rows: np.ndarray, threshold: float, k: int | None, check: Check
) -> list[Looked]:
    """Look up the items at some places, which follow one another."""
    check()
    owners, tables = np.nonzero(encoded.keys[rows] != EMPTY)
    places, numbers = reader.postings("buckets").meetings(encoded.keys[rows][owners, tables], FULL)
    full = np.zeros(len(rows), np.bool_)
    full[owners[np.bincount(places, minlength=len(owners)) >= FULL]] = True
    pairs = np.unique(owners[places] << 32 | numbers)
    full |= np.bincount(pairs >> 32, minlength=len(rows)) >= MOST
    pairs = pairs[~full[pairs >> 32]]
    left, numbers = pairs >> 32, pairs & 0xFFFFFFFF
    values = np.zeros(len(pairs))
    near: dict[int, Item] = {}
    order = np.argsort(numbers, kind="stable")
    done = 0
    for items in _blocks(reader, np.unique(numbers).tolist()):
        check()
        stop = int(np.searchsorted(numbers[order], items[-1].number, "right"))
        part = order[done:stop]
        asked, asking = np.unique(left[part], return_inverse=True)
        others = np.searchsorted([item.number for item in items], numbers[part])
        some = rows_of(encoded.rows, rows[asked])
        values[part] = coding.measure(some, [item.payload for item in items], asking, others)
        close = others[coding.near(values[part], threshold)]
        near |= {items[at].number: items[at] for at in np.unique(close).tolist()}
        done = stop
    twins = _twins(reader, near)
    looked: list[Looked] = []
    bounds = np.searchsorted(left, np.arange(len(rows) + 1))
    good = coding.near(values, threshold)
    for row in range(len(rows)):
        if full[row]:
            looked.append(look_up(reader, coding, encoded, int(rows[row]), threshold, k, check=check))
            continue
        start, stop = bounds[row], bounds[row + 1]
        found: Found = []
        for at in _best_first(coding, values, start + np.flatnonzero(good[start:stop])):
            if _put(found, twins[int(numbers[at])], float(values[at]), k):
                break
        looked.append(Looked(found, int(stop - start)))
    return looked


def _twins(reader: Reader, near: dict[int, Item]) -> dict[int, list[Id]]:
    """Return for each of some heads the ids of the items with its content, its own first."""
    heads = list(near.values())
    hashes = hashes_of([item.content for item in heads], reader.salt)
    twins: dict[int, list[Id]] = {item.number: [item.id] for item in heads}
    places, numbers = reader.postings("contents").meetings(hashes)
    for at in np.lexsort((numbers, places)).tolist():
        head, number = heads[places[at]], int(numbers[at])
        if number != head.number and (other := reader.item(number)).content == head.content:
            twins[head.number].append(other.id)
    return twins


def _best_first(coding: Coding, values: np.ndarray, places: np.ndarray) -> list[int]:
    """Return some places of values, that of the most similar first."""
    some = -values[places] if coding.plan.kind == "similarity" else values[places]
    best: list[int] = places[np.argsort(some, kind="stable")].tolist()
    return best


def _put(found: Found, ids: Iterator[Id] | Sequence[Id], value: float, k: int | None) -> bool:
    """Add ids to those found; return whether there are `k` then."""
    for name in ids:
        found.append((name, value))
        if len(found) == k:
            return True
    return False


def _blocks(reader: Reader, numbers: list[int]) -> Iterator[list[Item]]:
    """Yield items in blocks of at most BLOCK bytes, or of one item."""
    block: list[Item] = []
    size = 0
    for number in numbers:
        item = reader.item(number)
        if block and size + len(item.payload) > BLOCK:
            yield block
            block, size = [], 0
        block.append(item)
        size += len(item.payload)
    if block:
        yield block
