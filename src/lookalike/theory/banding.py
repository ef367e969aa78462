"""Find candidate pairs by sorting keys: items that share a bucket in at least one band."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lookalike.core.errors import TooManyPairs, parameter
from lookalike.core.run import ONE_THREAD, Run, slices
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.buckets import members, new_pairs
from lookalike.kernels.sketch import fold_bands
from lookalike.kernels.sorting import sorted_part
from lookalike.theory.sorting import low_bits

CHUNK = 1 << 18  # candidate pairs yielded at a time
MOST_AT_ONCE = 32  # keys are sorted in parts unless the memory is this many times their size
ROWS = 1 << 13  # items whose keys a thread puts together at a time
FEW = 1 << 18  # keys that one thread sorts at once
MOST_CANDIDATES = 200_000_000  # candidate pairs listed without verification


class BucketRun(NamedTuple):
    """A part of the items of a band's buckets, each to be paired with those before it in its bucket."""

    band: int
    start: int
    stop: int


@dataclass(frozen=True)
class Buckets:
    """The buckets of two or more items, band by band, and the keys they were made from.

    Items that are alone in every band are left out, the others renumbered from 0; `items` has their
    old numbers.
    """

    bands: list[tuple[np.ndarray, np.ndarray]]  # (indptr, items) each
    mask: np.uint64
    items: np.ndarray
    make_keys: Callable[[], np.ndarray]  # returns the keys of the items: items x bands

    def count(self, band: int) -> int:
        """Return how many pairs share a bucket of the band."""
        sizes = np.diff(self.bands[band][0])
        return int((sizes * (sizes - 1) // 2).sum())

    def parts(self, band: int, pairs: int = CHUNK) -> list[BucketRun]:
        """Cut the buckets of a band into parts that have about as many pairs each."""
        indptr, _ = self.bands[band]
        if len(indptr) < 2:
            return []
        before = np.arange(indptr[-1]) - np.repeat(indptr[:-1], np.diff(indptr))  # items before each in its bucket
        cuts = 1 + np.flatnonzero(np.diff(np.cumsum(before) // pairs))
        return [BucketRun(band, start, stop) for start, stop in pairwise([0, *cuts.tolist(), int(indptr[-1])])]

    def pairs(self, part: BucketRun, keys: np.ndarray, sides: Sides = ALONE) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield chunks of the pairs of a part that share no bucket of an earlier band."""
        band, start, stop = part
        indptr, items = self.bands[band]
        state = np.array([self.bucket(band, start), start, 0])
        while state[1] < stop:
            left, right = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
            n = new_pairs(indptr, items, keys, band, self.mask, sides.split, state, stop, left, right)
            yield left[:n], right[:n]

    def bucket(self, band: int, place: int) -> int:
        """Return the bucket of the item at a place."""
        return int(np.searchsorted(self.bands[band][0], place, side="right")) - 1

    def sample(self, band: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs drawn uniformly from those that share a bucket of the band."""
        indptr, items = self.bands[band]
        sizes = np.diff(indptr)
        weights = sizes * (sizes - 1.0)
        bucket = rng.choice(len(sizes), size, p=weights / weights.sum())
        one = rng.integers(0, sizes[bucket])
        other = (one + rng.integers(1, sizes[bucket])) % sizes[bucket]
        return items[indptr[bucket] + one], items[indptr[bucket] + other]


def find_buckets(keys: Sequence[np.ndarray], heads: np.ndarray, run: Run, storage: Storage) -> Buckets:
    """Sort the keys of the items `heads` in each band; equal keys other than EMPTY are a bucket."""

    def work(band: int, run: Run) -> Arrays:
        return in_buckets(keys[band][heads], storage.memory, run)

    bands = range(len(keys))
    found = []
    with run.stage("buckets", len(keys)) as tick:
        for bucket in storage.made_each([f"buckets{band}" for band in bands], work, run):
            found.append(bucket)
            tick(1)
        crowded = np.zeros(len(heads), np.bool_)

        def mark(bucket: Arrays) -> None:
            crowded[bucket[1]] = True

        run.each(mark, found)
        numbers = np.flatnonzero(crowded)
        anew = np.cumsum(crowded) - 1

        def renumber(band: int, run: Run) -> Arrays:
            return (anew[found[band][1]],)

        members_of = storage.made_each([f"members{band}" for band in bands], renumber, run)
        renumbered = [(indptr, items) for (indptr, _), (items,) in zip(found, members_of, strict=True)]

    def make_keys() -> np.ndarray:
        rows = heads[numbers]
        made = np.empty((len(rows), len(keys)), np.uint64)

        def fill(part: slice) -> None:
            np.stack([band[rows[part]] for band in keys], axis=1, out=made[part])

        run.each(fill, slices(len(rows), ROWS))
        return made

    def stored_keys() -> np.ndarray:
        (made,) = storage.made("keys", lambda: (make_keys(),))
        return made

    return Buckets(renumbered, low_bits(len(heads)), numbers, stored_keys)


def in_buckets(keys: np.ndarray, memory: int | None = None, run: Run = ONE_THREAD) -> tuple[np.ndarray, np.ndarray]:
    """Return the buckets of keys as `members` does, sorting in parts if memory is limited.

    With several threads they share the parts, and each gets its share of the memory.
    """
    parts = 1 if memory is None else 1 << max(0, (MOST_AT_ONCE * 8 * len(keys) // memory).bit_length())
    if len(keys) > FEW:
        parts = max(parts, 1 << (run.threads - 1).bit_length())
    mask, high = low_bits(len(keys)), parts.bit_length() - 1
    found = list(run.map(lambda part: members(sorted_part(keys, high, part, mask), mask), range(parts)))
    if len(found) == 1:
        only: tuple[np.ndarray, np.ndarray] = found[0]
        return only
    starts = np.cumsum([0, *(len(items) for _, items in found)])
    indptr = [indptr[1:] + start for (indptr, _), start in zip(found, starts, strict=False)]
    return np.concatenate([[0], *indptr]), np.concatenate([items for _, items in found])


def pairs_in_bands(signatures: np.ndarray, bands: int, rows: int, run: Run) -> np.ndarray:
    """Return the pairs a < b that agree in a whole band, as ascending numbers a * items + b."""
    keys = np.ascontiguousarray(fold_bands(signatures, bands, rows).T)
    buckets = find_buckets(list(keys), np.arange(len(signatures)), run, Storage())
    total = sum(buckets.count(band) for band in range(bands))
    if total > MOST_CANDIDATES:
        raise TooManyPairs(f"about {total:,} candidates, more than {MOST_CANDIDATES:,}: use more rows, or fewer bands.")
    found = [np.empty(0, np.int64)]
    own = buckets.make_keys()
    for part in (part for band in range(bands) for part in buckets.parts(band)):
        for left, right in buckets.pairs(part, own):
            same = (own[left] == own[right]).any(axis=1)  # keys were sorted by their high bits only
            found.append(buckets.items[left[same]] * len(signatures) + buckets.items[right[same]])
    return np.sort(np.concatenate(found))


def all_pairs(indptr: np.ndarray, items: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all `total` pairs of items that share a bucket, once per bucket."""
    left, right = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    no_keys = np.empty((0, 0), np.uint64)
    state = np.zeros(3, np.int64)
    n = new_pairs(indptr, items, no_keys, 0, np.uint64(0), ALONE.split, state, len(items), left, right)
    return left[:n], right[:n]


def too_many(pairs: int, limit: int, about: str = "at least") -> TooManyPairs:
    """Return the error for a result that would be too long to list."""
    return TooManyPairs(
        f"{about} {pairs:,} similar pairs, more than {parameter('max_pairs')} = {limit:,}: choose a stricter "
        f"threshold or raise {parameter('max_pairs')}."
    )
