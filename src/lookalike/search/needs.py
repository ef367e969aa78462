"""Estimate, before the work, what a search of texts needs: time, memory and files."""

from dataclasses import dataclass

from lookalike.core.storage import Storage
from lookalike.search.fitting import PROGRAM, SHARE
from lookalike.search.plan import Plan
from lookalike.search.weighing import ENTRY

COLUMNS = 57  # bytes per item, apart from the keys of bands: counts, lengths, contents, and an id of 24
HASH = 8  # bytes of a key, of an element or of a number


@dataclass(frozen=True)
class Needs:
    """What a search is expected to need, and its plan."""

    plan: Plan
    items: int
    seconds: float  # in all, from the start of the program; 0 if unknown
    memory: float  # bytes
    disk: float  # bytes of the files that the run keeps meanwhile


def needs_of(plan: Plan, items: int, size: float, elements: float, learned: int, storage: Storage) -> Needs:
    """Estimate what a search needs, given the bytes and the elements of all texts.

    Sets are made of the items that share a bucket with another, about SHARE of them. The counts of
    `learned` elements are in memory.
    """
    bands = plan.bands.bands if plan.bands else 0
    columns = items * (COLUMNS + HASH * bands)
    candidates = SHARE * (HASH if plan.weights is None else 2 * HASH) * elements
    buckets = 2 * SHARE * HASH * bands * items  # the items of all buckets, and their places
    if storage.held:
        memory = plan.memory or PROGRAM + ENTRY * learned + size + columns + buckets + candidates
        return Needs(plan, items, plan.seconds, memory, 0.0)
    limit = float(storage.memory or 0)
    return Needs(
        plan,
        items,
        plan.seconds,
        max(limit, PROGRAM + ENTRY * learned + COLUMNS * items),
        columns + buckets + candidates,
    )
