"""Candidates by bands: items that share a bucket in at least one band, found by sorting keys."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lookalike.errors import TooManyPairs
from lookalike.kernels.buckets import ONE, members, new_pairs
from lookalike.kernels.sets import sorted_hashes
from lookalike.kernels.sketch import fold_bands
from lookalike.run import Run

CHUNK = 1 << 18  # candidate pairs handed on at a time
MOST_CANDIDATES = 200_000_000  # that are listed without being verified


@dataclass(frozen=True)
class Buckets:
    """The buckets of two items or more, band by band, and the keys they were made from.

    Items are numbered anew from 0, without those that are alone in every band; `items` tells what they were.
    """

    bands: list[tuple[np.ndarray, np.ndarray]]  # (indptr, items) each
    keys: np.ndarray
    mask: np.uint64
    items: np.ndarray

    def count(self, band: int) -> int:
        """How many pairs share a bucket of the band."""
        sizes = np.diff(self.bands[band][0])
        return int((sizes * (sizes - 1) // 2).sum())

    def pairs(self, band: int, split: int = ONE) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The pairs that share a bucket of this band and of no earlier one, in chunks."""
        indptr, items = self.bands[band]
        state = np.zeros(3, np.int64)
        while state[0] < len(indptr) - 1:
            left, right = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
            n = new_pairs(indptr, items, self.keys, band, self.mask, split, state, left, right)
            yield left[:n], right[:n]

    def sample(self, band: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Pairs drawn evenly from those that share a bucket of the band."""
        indptr, items = self.bands[band]
        sizes = np.diff(indptr)
        weights = sizes * (sizes - 1.0)
        bucket = rng.choice(len(sizes), size, p=weights / weights.sum())
        one = rng.integers(0, sizes[bucket])
        other = (one + rng.integers(1, sizes[bucket])) % sizes[bucket]
        return items[indptr[bucket] + one], items[indptr[bucket] + other]


def find_buckets(keys: np.ndarray, run: Run) -> Buckets:
    """Sort the keys of each band; equal keys are a bucket, but for EMPTY. `keys` is items x bands."""
    items, bands = keys.shape

    def work(band: int) -> tuple[np.ndarray, np.ndarray]:
        found: tuple[np.ndarray, np.ndarray] = members(*sort_keys(np.ascontiguousarray(keys[:, band])))
        return found

    found = []
    with run.stage("buckets", bands) as tick:
        for bucket in run.map(work, range(bands)):
            found.append(bucket)
            tick(1)
    crowded = np.zeros(items, np.bool_)
    for _, inside in found:
        crowded[inside] = True
    numbers = np.flatnonzero(crowded)
    anew = np.cumsum(crowded) - 1
    return Buckets([(indptr, anew[inside]) for indptr, inside in found], keys[numbers], low_bits(items), numbers)


def sort_keys(keys: np.ndarray) -> tuple[np.ndarray, np.uint64]:
    """Sort keys together with their positions: (ordered, mask).

    Each number holds the high bits of a key over the key's position, which takes the bits of the mask. Keys
    lose their low bits to it: with a million items 44 bits remain, and a false match is found out later.
    """
    mask = low_bits(len(keys))
    return sorted_hashes((keys & ~mask) | np.arange(len(keys), dtype=np.uint64)), mask


def low_bits(items: int) -> np.uint64:
    """A mask of as many low bits as the numbers of so many items take."""
    return np.uint64((1 << max(1, (items - 1).bit_length())) - 1)


def pairs_in_bands(signatures: np.ndarray, bands: int, rows: int, run: Run) -> np.ndarray:
    """The pairs a < b that agree in all rows of a band or more, as ascending numbers a * items + b."""
    buckets = find_buckets(fold_bands(signatures, bands, rows), run)
    total = sum(buckets.count(band) for band in range(bands))
    if total > MOST_CANDIDATES:
        raise TooManyPairs(
            f"about {total:,} candidates, more than {MOST_CANDIDATES:,}: take more rows, or fewer bands."
        )
    found = [np.empty(0, np.int64)]
    for band in range(bands):
        for left, right in buckets.pairs(band):
            same = (buckets.keys[left] == buckets.keys[right]).any(axis=1)  # keys were sorted by their high bits alone
            found.append(buckets.items[left[same]] * len(signatures) + buckets.items[right[same]])
    return np.sort(np.concatenate(found))


def all_pairs(indptr: np.ndarray, items: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """All `total` pairs of items that share a bucket, whatever their keys."""
    left, right = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    no_keys = np.empty((0, 0), np.uint64)
    n = new_pairs(indptr, items, no_keys, 0, np.uint64(0), ONE, np.zeros(3, np.int64), left, right)
    return left[:n], right[:n]


def too_many(pairs: int, limit: int, about: str = "at least") -> TooManyPairs:
    """The error for an answer that would be too long to list."""
    return TooManyPairs(
        f"{about} {pairs:,} similar pairs, more than max_pairs = {limit:,}: `clusters` and `dedup` need no list "
        "of pairs; or raise the threshold, or --max-pairs."
    )
