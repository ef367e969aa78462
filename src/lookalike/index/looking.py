"""Look up one item: find the items that share a bucket with it, and measure them."""

from collections.abc import Container, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from lookalike.index.codings import Coding, Content, Encoded
from lookalike.index.records import Id, intact
from lookalike.index.tables import Check, Reader, go_on

MOST = 10_000  # items of one bucket that are compared
BLOCK = 16_000_000  # bytes of items that are measured at a time, so that a query takes little memory

Found = list[tuple[Id, float]]  # ids with similarities or distances, most similar first


class Looked(NamedTuple):
    """The result of one lookup."""

    found: Found
    candidates: int = 0  # distinct items that were measured
    crowded: bool = False  # whether a bucket was too full to be compared completely


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
    parts = [np.zeros(0)]
    for payloads in _blocks(reader, numbers):
        check()
        parts.append(coding.measure(encoded, place, payloads))
    values = np.concatenate(parts)
    near = np.flatnonzero(coding.near(values, threshold))
    order = near[np.argsort(-values[near] if coding.plan.kind == "similarity" else values[near], kind="stable")]
    found: Found = []
    for at in order.tolist():
        twins = (number for number in reader.twins(reader.item(numbers[at]).content) if number not in without)
        wanted = islice(twins, None if k is None else k - len(found))
        found.extend((reader.item(number).id, float(values[at])) for number in wanted)
        if k is not None and len(found) >= k:
            break
    return Looked(found, len(numbers), crowded)


def _blocks(reader: Reader, numbers: list[int]) -> Iterator[list[Content]]:
    """Yield the payloads of items in blocks of at most BLOCK bytes, or of one item."""
    block: list[Content] = []
    size = 0
    for number in numbers:
        payload = reader.item(number).payload
        if block and size + len(payload) > BLOCK:
            yield block
            block, size = [], 0
        block.append(payload)
        size += len(payload)
    if block:
        yield block
