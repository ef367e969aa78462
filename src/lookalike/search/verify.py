"""Verify candidates: compute the true measure of the actual sets, in exact arithmetic."""

from collections.abc import Sequence

import numpy as np

from lookalike.core.run import Run
from lookalike.core.statistics import wilson
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sets import Sets
from lookalike.items.sides import Sides
from lookalike.kernels.sets import overlaps
from lookalike.theory.banding import Buckets, too_many

SAMPLE = 2000  # candidates that show whether there will be too many pairs


def verify_bands(
    buckets: Buckets, sets: Sets, p: int, q: int, sides: Sides, limit: int, run: Run, storage: Storage
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return pairs in common buckets with Jaccard similarity of at least p/q, and what they share.

    The result is (left, right, shared, candidates). More than `limit` pairs are an error, found
    early: if a band has more candidates than that, a sample of them shows how many are similar.
    """
    bands = range(len(buckets.bands))
    keys = buckets.make_keys()
    for band in (band for band in bands if not sides.two and buckets.count(band) > limit):
        left, right = buckets.sample(band, SAMPLE, np.random.default_rng(0))
        similar = int(np.count_nonzero(overlaps(sets.indptr, sets.elements, left, right, p, q) >= 0))
        if wilson(similar, SAMPLE)[0] * buckets.count(band) > limit:
            raise too_many(similar * buckets.count(band) // SAMPLE, limit, "about")

    def work(band: int) -> Arrays:
        return storage.made(f"pairs{band}", lambda: verify(band))

    def verify(band: int) -> Arrays:
        found, candidates, total = [], 0, 0
        for left, right in buckets.pairs(band, keys, sides):
            candidates += len(left)
            shared = overlaps(sets.indptr, sets.elements, left, right, p, q)
            good = shared >= 0
            found.append((left[good], right[good], shared[good]))
            total += len(found[-1][0])
            if total > limit:
                raise too_many(total, limit)
        return *_join(found), np.array([candidates])

    parts, total = [], 0
    with run.stage("verify", len(bands)) as tick:
        for part in run.map(work, bands):
            parts.append(part)
            total += len(part[0])
            if total > limit:
                raise too_many(total, limit)
            tick(1)
    return *_join([part[:3] for part in parts]), sum(int(part[3][0]) for part in parts)


def _join(parts: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    none = np.zeros(0, np.int64)
    left, right, shared = (np.concatenate([none, *(part[i] for part in parts)]) for i in range(3))
    return left, right, shared


def both_ways(
    left: np.ndarray, right: np.ndarray, shared: np.ndarray, sizes: np.ndarray, p: int, q: int, sides: Sides
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs as (contained, containing), in each direction with a share of at least p/q.

    With two collections, only the direction from the first to the second counts.
    """
    there, back = (q * shared >= p * sizes[side] for side in (left, right))
    if sides.two:
        return left[there], right[there], shared[there]
    one, other = np.concatenate((left[there], right[back])), np.concatenate((right[there], left[back]))
    return one, other, np.concatenate((shared[there], shared[back]))
