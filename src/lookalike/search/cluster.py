"""Groups of similar items, without listing their pairs: components, and stars for deduplication.

Both look into buckets and compare no more items there than they must, so a bucket of a million copies costs a
million comparisons and not half a billion of them. Only verified similarities join items.
"""

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sets import Sets
from lookalike.kernels.buckets import buckets_of, join_buckets, keep_apart, roots, stars
from lookalike.theory.banding import Buckets

STEP = 4096


def patience(items: int) -> int:
    """How many unlike items an item is compared with in all: 128, and more in a small collection."""
    return max(128, 20_000_000 // max(1, items))


def reach(items: int) -> int:
    """How many items an item is compared with in one bucket."""
    return patience(items) // 4


def components(buckets: Buckets, sets: Sets, p: int, q: int, run: Run, storage: Storage) -> tuple[np.ndarray, int]:
    """The least member of each item's component, and how many items were not compared with all they could be."""

    def join() -> Arrays:
        parent = np.arange(len(sets))
        cut = np.zeros(len(sets), np.bool_)
        limits = (reach(len(sets)), patience(len(sets)), np.zeros(len(sets), np.int64), cut)
        with run.stage("join", sum(len(indptr) - 1 for indptr, _ in buckets.bands)) as tick:
            for indptr, items in buckets.bands:
                for part in slices(len(indptr) - 1, STEP):
                    within = indptr[part.start : part.stop + 1]
                    join_buckets(within, items, *limits, sets.indptr, sets.elements, p, q, parent)
                    tick(part.stop - part.start)
        return roots(parent), np.array([np.count_nonzero(cut)])

    root, crowded = storage.made("components", join)
    return root, int(crowded[0])


def keep_stars(
    buckets: Buckets, sets: Sets, order: np.ndarray, p: int, q: int, run: Run, storage: Storage
) -> tuple[np.ndarray, np.ndarray, int]:
    """Visit items in `order` and keep those not similar to one kept before: (centre, shared, crowded).

    A dropped item's centre is the kept item it was found similar to, `shared` how many elements they share;
    a kept item is its own centre. `crowded` counts items that were not compared with all they could be.
    """

    def keep() -> Arrays:
        sizes = np.concatenate([np.diff(indptr) for indptr, _ in buckets.bands])
        total = int(sizes.sum())
        items = storage.empty("stars.items", total, np.int64)
        np.concatenate([items for _, items in buckets.bands], out=items)
        of_item = storage.empty("stars.buckets", total, np.int64)
        at = buckets_of(np.concatenate(([0], np.cumsum(sizes))), items, len(sets), of_item)
        rooms = np.concatenate(([0], np.cumsum(np.minimum(sizes, reach(len(sets))))))
        kept = storage.empty("stars.kept", int(rooms[-1]), np.int64)
        held = np.zeros(len(sizes), np.int64)
        seen = np.full(len(sets), -1)
        state = (at, of_item, rooms, kept, held, seen, patience(len(sets)))
        centre = np.arange(len(sets))
        shared = sets.sizes.copy()
        crowded = 0
        with run.stage("keep", len(order)) as tick:
            for part in slices(len(order), STEP):
                crowded += stars(order[part], *state, sets.indptr, sets.elements, p, q, centre, shared)
                tick(part.stop - part.start)
        return centre, shared, np.array([crowded])

    centre, shared, crowded = storage.made("stars", keep)
    return centre, shared, int(crowded[0])


def choose_apart(
    order: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    measured: np.ndarray,
    centre: np.ndarray,
    values: np.ndarray,
    directed: bool,
) -> None:
    """The same for pairs that are listed: fill in the centre of each dropped item and its value with that one.

    Of directed pairs the left item may be dropped for the right one, and not the other way.
    """
    sides = [(left, right)] if directed else [(left, right), (right, left)]
    one = np.concatenate([side[0] for side in sides])
    other = np.concatenate([side[1] for side in sides])
    places = np.argsort(one, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(one, minlength=len(centre)))))
    edge = np.full(len(centre), -1)
    keep_apart(order, indptr, other[places], centre, edge)
    dropped = np.flatnonzero(edge >= 0)
    values[dropped] = measured[places[edge[dropped]] % max(1, len(left))]
