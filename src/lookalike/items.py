"""What the user gave: texts or sets, one collection or two, and whether they can be compared by a measure."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.data import Sets, hash_values
from lookalike.errors import UsageError
from lookalike.plan import EDITS
from lookalike.read import Source
from lookalike.shingles import as_array


def check_measure(measure: str, sets: list[Sets], audit: int) -> None:
    """Whether the items can be compared by it."""
    if measure in EDITS and sets:
        raise UsageError(f"measure {measure!r} compares texts; got sets.")
    if measure == "bag_jaccard" and not all(one.bag for one in sets if len(one)):
        raise UsageError("measure 'bag_jaccard' compares bags: Counters, or texts; got sets.")
    if audit and measure not in ("jaccard", "bag_jaccard"):
        raise UsageError(f"audit is for Jaccard similarity; {measure!r} is joined exactly and misses nothing.")


def order_of(given: Sequence[Any], sets: list[Sets]) -> np.ndarray:
    """The hashes of elements in a given order."""
    if not sets or any(one.bag for one in sets):
        raise UsageError("order is for sets of elements, not for texts or bags.")
    order = hash_values(list(given))
    if len(np.unique(order)) < len(order):
        raise UsageError("order must hold each element once.")
    return order


def take_sides(sides: list[Any]) -> tuple[list[Sets], list[Source]]:
    """One collection or two, all of sets or all of texts: (sets, sources), one of them empty."""
    taken = [as_items(side) for side in sides]
    sets = any(isinstance(side, Sets) for side in taken)
    none = Sets.of([]) if sets else Source(pa.table({"text": as_array([])}))
    every = [none if side is None else side for side in taken]
    found = [side for side in every if isinstance(side, Sets)], [side for side in every if isinstance(side, Source)]
    if all(found):
        raise UsageError("two collections must both be texts or both be sets.")
    return found


def as_items(given: Any) -> Source | Sets | None:
    """What the user gave: texts as a source, sets as `Sets`; None for an empty collection, which may be either."""
    if isinstance(given, Source | Sets):
        return given
    if isinstance(given, str | Path | pa.Table):
        return Source(given)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return Source(pa.table({"text": as_array(given)}))
    if hasattr(given, "__arrow_c_stream__"):
        try:
            return Source(pa.table(given))
        except (TypeError, ValueError):  # a column, not a frame
            return Source(pa.table({"text": as_array(pa.chunked_array(given))}))
    if isinstance(given, dict | bytes | set | frozenset) or not hasattr(given, "__iter__"):
        raise UsageError(f"items must be texts, sets, a table or a path; got {type(given).__name__}.")
    items = list(given)
    if not items:
        return None
    if all(isinstance(item, Path) for item in items):
        return Source(items)
    if isinstance(items[0], set | frozenset | list | tuple | Counter | np.ndarray):
        return Sets.of(items)
    return Source(pa.table({"text": as_array(items)}))
