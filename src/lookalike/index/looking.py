"""Look up one item: find the items that share a bucket with it, and measure them."""

from typing import NamedTuple

import numpy as np

from lookalike.index.codings import Coding, Encoded
from lookalike.index.records import Id, intact
from lookalike.index.tables import Reader

MOST = 10_000  # items of one bucket that are compared

Found = list[tuple[Id, float]]  # ids with similarities or distances, most similar first


class Looked(NamedTuple):
    """The result of one lookup."""

    found: Found
    candidates: int = 0  # distinct items that were measured
    crowded: bool = False  # whether a bucket was too full to be compared completely


@intact("an item")
def look_up(reader: Reader, coding: Coding, encoded: Encoded, place: int, threshold: float, k: int | None) -> Looked:
    """Return the items most similar to the one at `place`, at most `k`, each of them measured."""
    numbers, crowded = reader.in_buckets(encoded.keys[place], MOST)
    if not numbers:
        return Looked([], 0, crowded)
    heads = [reader.item(number) for number in numbers]
    values = coding.measure(encoded.payloads[place], [head.payload for head in heads])
    near = np.flatnonzero(coding.near(values, threshold))
    order = near[np.argsort(-values[near] if coding.plan.kind == "similarity" else values[near], kind="stable")]
    found: Found = []
    for at in order[:k].tolist():
        twins = reader.twins(heads[at].content, None if k is None else k - len(found))
        found.extend((reader.item(number).id, float(values[at])) for number in twins)
        if k is not None and len(found) >= k:
            break
    return Looked(found, len(heads), crowded)
