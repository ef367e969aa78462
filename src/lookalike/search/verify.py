"""Verify candidates: compute the true measure of the actual sets, in exact arithmetic."""

from collections.abc import Sequence

import numpy as np

from lookalike.core.run import ONE_THREAD, Run
from lookalike.core.statistics import wilson
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sets import Sets
from lookalike.items.sides import Sides
from lookalike.kernels.sets import overlaps
from lookalike.theory.banding import BucketRun, Buckets, too_many

SAMPLE = 2000  # candidates that show whether there will be too many pairs
PAIRS = 1 << 14  # of a task, at least
Found = tuple[np.ndarray, np.ndarray, np.ndarray, int]  # left, right, elements shared, pairs compared


def verify_bands(
    buckets: Buckets, sets: Sets, p: int, q: int, sides: Sides, limit: int, run: Run, storage: Storage
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return pairs in common buckets with Jaccard similarity of at least p/q, and what they share.

    Sets with weights are compared by them, and share a weight.

    The result is (left, right, shared, candidates). More than `limit` pairs are an error, found
    early: if a band has more candidates than that, a sample of them shows how many are similar.
    """
    bands = range(len(buckets.bands))
    keys = buckets.make_keys()
    whole = not sides.two and sides.groups is None
    for band in (band for band in bands if whole and buckets.count(band) > limit):
        left, right = buckets.sample(band, SAMPLE, np.random.default_rng(0))
        similar = int(np.count_nonzero(overlaps(*sets.arrays, left, right, p, q) >= 0))
        if wilson(similar, SAMPLE)[0] * buckets.count(band) > limit:
            raise too_many(similar * buckets.count(band) // SAMPLE, limit, "about")

    def verify(part: BucketRun) -> Found:
        found, candidates, total = [], 0, 0
        for left, right in buckets.pairs(part, keys, sides):
            if sides.groups is not None:
                across = sides.across(left, right)
                left, right = left[across], right[across]
            candidates += len(left)
            shared = overlaps(*sets.arrays, left, right, p, q)
            good = shared >= 0
            found.append((left[good], right[good], shared[good]))
            total += len(found[-1][0])
            if total > limit:
                raise too_many(total, limit)
        return *_join(found), candidates

    def joined(band: int, _: Run) -> Arrays:
        found = list(run.map(verify, buckets.parts(band, PAIRS)))
        return *_join([one[:3] for one in found]), np.array([sum(one[3] for one in found)])

    found, total = [], 0
    with run.stage("verify", len(bands)) as tick:
        for one in storage.made_each([f"pairs{band}" for band in bands], joined, ONE_THREAD):
            found.append(one)
            total += len(one[0])
            if total > limit:
                raise too_many(total, limit)
            tick(1)
    return *_join([one[:3] for one in found]), sum(int(one[3][0]) for one in found)


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
