"""Group similar items without listing their pairs: components, and stars for deduplication.

Both compare no more items of a bucket than they must: a million copies cost a million comparisons,
not half a trillion. Only verified similarities join items.
"""

import numpy as np

from lookalike.core.run import Run, slices
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sets import Sets
from lookalike.kernels.buckets import (
    buckets_of,
    join_pairs,
    keep_apart,
    look_at_kept,
    mark_apart,
    roots,
    similar_in_buckets,
    stars,
)
from lookalike.theory.banding import BucketRun, Buckets

STEP, TASK = 4096, 128  # items compared with those kept before them at a time, and of these, per task
PAIRS = 1 << 12  # of a task, at least


def patience(items: int) -> int:
    """Return how many unlike items an item is compared with: 128, more in a small collection."""
    return max(128, 20_000_000 // max(1, items))


def reach(items: int) -> int:
    """Return how many items an item is compared with in one bucket."""
    return patience(items) // 4


def components(
    buckets: Buckets, sets: Sets, p: int, q: int, run: Run, storage: Storage, total: int | None = None
) -> tuple[np.ndarray, int]:
    """Return the first member of each item's component, and how many items were crowded.

    If these are only some of the items of a search, `total` says how many there are.
    """
    items = len(sets) if total is None else total

    def join() -> Arrays:
        parent = np.arange(len(sets))
        unlike, cut = np.zeros(len(sets), np.int64), np.zeros(len(sets), np.bool_)
        far = reach(items)

        def connect(part: BucketRun) -> tuple[np.ndarray, np.ndarray]:
            band, start, stop = part
            limits = (far, patience(items), unlike, cut)
            pairs: tuple[np.ndarray, np.ndarray] = similar_in_buckets(
                start, stop, buckets.bucket(band, start), *buckets.bands[band], *limits,
                *sets.arrays, p, q, parent,
            )  # fmt: skip
            return pairs

        with run.stage("join", len(buckets.bands)) as tick:
            for band, (indptr, inside) in enumerate(buckets.bands):  # an item is in one bucket of a band
                for left, right in list(run.map(connect, buckets.parts(band, PAIRS))):
                    join_pairs(left, right, parent)
                if np.diff(indptr).max(initial=0) > far:
                    mark_apart(indptr, inside, far, parent, cut)
                tick(1)
        return roots(parent), np.array([np.count_nonzero(cut)])

    root, crowded = storage.made("components", join)
    return root, int(crowded[0])


def keep_stars(
    buckets: Buckets,
    sets: Sets,
    order: np.ndarray,
    p: int,
    q: int,
    run: Run,
    storage: Storage,
    later: np.ndarray | None = None,
    total: int | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Keep items, in `order`, that are not similar to one kept before: (centre, shared, crowded).

    A removed item's centre is the kept item it is similar to, and `shared` counts their common
    elements; a kept item is its own centre. `crowded` counts items that were not fully compared.
    Items `later` are only compared with those kept in `order`. `total`: see `components`.
    """
    count = len(sets) if total is None else total

    def keep() -> Arrays:
        sizes = np.concatenate([np.diff(indptr) for indptr, _ in buckets.bands])
        places = int(sizes.sum())
        items = storage.empty("stars.items", places, np.int64)
        np.concatenate([items for _, items in buckets.bands], out=items)
        of_item = storage.empty("stars.buckets", places, np.int64)
        at = buckets_of(np.concatenate(([0], np.cumsum(sizes))), items, len(sets), of_item)
        rooms = np.concatenate(([0], np.cumsum(np.minimum(sizes, reach(count)))))
        kept = storage.empty("stars.kept", int(rooms[-1]), np.int64)
        held = np.zeros(len(sizes), np.int64)
        fresh, unlike = np.zeros(len(sets), np.bool_), np.zeros(len(sets), np.int64)
        centre = np.arange(len(sets))
        shared = sets.totals.copy()
        limits = (fresh, unlike, patience(count))
        state = (at, of_item, rooms, kept, held, *limits, *sets.arrays, p, q, centre, shared)
        crowded = 0
        with run.stage("keep", len(order)) as tick:
            for batch in slices(len(order), STEP):
                items = order[batch]
                for _ in run.map(
                    lambda part: look_at_kept(part, *state), np.split(items, range(TASK, len(items), TASK))
                ):
                    pass
                crowded += stars(items, *state)
                tick(len(items))
            if later is not None:
                run.each(lambda part: look_at_kept(part, *state), np.split(later, range(TASK, len(later), TASK)))
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
    """Do the same with listed pairs: fill in each removed item's centre, and its value with it.

    In a directed pair, only the left item can be removed for the right one.
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
