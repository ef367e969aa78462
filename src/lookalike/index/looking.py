"""How one item is looked up: the buckets it shares with others, and those measured."""

from typing import NamedTuple

import numpy as np

from lookalike.index.codings import Coding, Encoded
from lookalike.index.records import Id
from lookalike.index.tables import Reader

MOST = 10_000  # items of one bucket that are looked at

Found = list[tuple[Id, float]]  # ids, and similarities or distances, the most similar first


class Looked(NamedTuple):
    """What a look into an index gave."""

    found: Found
    candidates: int = 0  # different items that were measured
    crowded: bool = False  # whether a bucket had more than are looked at


def look_up(reader: Reader, coding: Coding, encoded: Encoded, place: int, threshold: float, top: int | None) -> Looked:
    """The items most similar to the one at a place, at most `top` of them, each one measured."""
    numbers, crowded = reader.in_buckets(encoded.keys[place], MOST)
    if not numbers:
        return Looked([], 0, crowded)
    heads = [reader.item(number) for number in numbers]
    values = coding.measure(encoded.payloads[place], [head.payload for head in heads])
    near = np.flatnonzero(coding.near(values, threshold))
    order = near[np.argsort(-values[near] if coding.plan.kind == "similarity" else values[near], kind="stable")]
    found: Found = []
    for at in order[:top].tolist():
        twins = reader.twins(heads[at].content, None if top is None else top - len(found))
        found.extend((reader.item(number).id, float(values[at])) for number in twins)
        if top is not None and len(found) >= top:
            break
    return Looked(found, len(heads), crowded)
