"""Groups of similar items, without listing their pairs: components, and stars for deduplication.

Both look into buckets and compare no more items there than they must, so a bucket of a million copies costs a
million comparisons and not half a billion of them. Only verified similarities join items.
"""

import numpy as np

from lookalike.candidates.banding import Buckets
from lookalike.data import Sets
from lookalike.kernels.buckets import buckets_of, join_buckets, roots, stars
from lookalike.run import Run, slices

REACH = 32  # unlike items that an item is compared with in one bucket
STEP = 4096


def components(buckets: Buckets, sets: Sets, p: int, q: int, run: Run) -> tuple[np.ndarray, int]:
    """The least member of each item's component, and how often a crowded bucket was not searched to the end."""
    parent = np.arange(len(sets))
    crowded = 0
    with run.stage("join", sum(len(indptr) for indptr, _ in buckets.bands)) as tick:
        for indptr, items in buckets.bands:
            for part in slices(len(indptr) - 1, STEP):
                within = indptr[part.start : part.stop + 1]
                crowded += join_buckets(within, items, REACH, sets.indptr, sets.elements, p, q, parent)
                tick(part.stop - part.start)
    return roots(parent), crowded


def keep_stars(
    buckets: Buckets, sets: Sets, order: np.ndarray, p: int, q: int, run: Run
) -> tuple[np.ndarray, np.ndarray, int]:
    """Visit items in `order` and keep those not similar to one kept before: (centre, shared, crowded).

    A dropped item's centre is the kept item it was found similar to, `shared` how many elements they share;
    a kept item is its own centre. `crowded` counts kept items for which a bucket had no room.
    """
    sizes = np.concatenate([np.diff(indptr) for indptr, _ in buckets.bands])
    items = np.concatenate([items for _, items in buckets.bands])
    of_item = buckets_of(np.concatenate(([0], np.cumsum(sizes))), items, len(sets))
    rooms = np.concatenate(([0], np.cumsum(np.minimum(sizes, REACH))))
    kept = np.empty(rooms[-1], np.int64)
    held = np.zeros(len(sizes), np.int64)
    seen = np.full(len(sets), -1)
    centre = np.arange(len(sets))
    shared = sets.sizes.copy()
    crowded = 0
    with run.stage("keep", len(order)) as tick:
        for part in slices(len(order), STEP):
            visit = order[part]
            crowded += stars(
                visit, *of_item, rooms, kept, held, seen, sets.indptr, sets.elements, p, q, centre, shared
            )
            tick(len(visit))
    return centre, shared, crowded
