"""Candidates by bands: items that share a bucket in at least one band, found by sorting keys."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sides import ALONE, Sides
from lookalike.kernels.buckets import members, new_pairs
from lookalike.kernels.sets import sorted_hashes
from lookalike.kernels.sketch import fold_bands

CHUNK = 1 << 18  # candidate pairs handed on at a time
MOST_AT_ONCE = 32  # times the size of the keys may be used to sort them, by all threads, of what memory there is
MOST_CANDIDATES = 200_000_000  # that are listed without being verified


@dataclass(frozen=True)
class Buckets:
    """The buckets of two items or more, band by band, and the keys they were made from.

    Items are numbered anew from 0, without those that are alone in every band; `items` tells what they were.
    """

    bands: list[tuple[np.ndarray, np.ndarray]]  # (indptr, items) each
    mask: np.uint64
    items: np.ndarray
    make_keys: Callable[[], np.ndarray]  # of the items: items x bands

    def count(self, band: int) -> int:
        """How many pairs share a bucket of the band."""
        sizes = np.diff(self.bands[band][0])
        return int((sizes * (sizes - 1) // 2).sum())

    def pairs(self, band: int, keys: np.ndarray, sides: Sides = ALONE) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The pairs that share a bucket of this band and of no earlier one, by the keys of the items, in chunks."""
        indptr, items = self.bands[band]
        state = np.zeros(3, np.int64)
        while state[0] < len(indptr) - 1:
            left, right = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
            n = new_pairs(indptr, items, keys, band, self.mask, sides.split, state, left, right)
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


def find_buckets(keys: Sequence[np.ndarray], heads: np.ndarray, run: Run, storage: Storage) -> Buckets:
    """Sort the keys of each band; equal keys are a bucket, but for EMPTY. Just the items `heads` are looked at."""

    def work(band: int) -> Arrays:
        return storage.made(f"buckets{band}", lambda: in_buckets(keys[band][heads], storage.memory))

    found = []
    with run.stage("buckets", len(keys)) as tick:
        for bucket in run.map(work, range(len(keys))):
            found.append(bucket)
            tick(1)
    crowded = np.zeros(len(heads), np.bool_)
    for _, inside in found:
        crowded[inside] = True
    numbers = np.flatnonzero(crowded)
    anew = np.cumsum(crowded) - 1

    def renumbered(band: int) -> tuple[np.ndarray, np.ndarray]:
        indptr, inside = found[band]
        (items,) = storage.made(f"members{band}", lambda: (anew[inside],))
        return indptr, items

    def make_keys() -> np.ndarray:
        rows = heads[numbers]
        (made,) = storage.made("keys", lambda: (np.stack([band[rows] for band in keys], axis=1),))
        return made

    return Buckets([renumbered(band) for band in range(len(keys))], low_bits(len(heads)), numbers, make_keys)


def in_buckets(keys: np.ndarray, memory: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The buckets of keys, (indptr, items): see `members`. In parts, if all at once would take too much memory."""
    parts = 1 if memory is None else 1 << max(0, (MOST_AT_ONCE * 8 * len(keys) // memory).bit_length())
    found = [members(*part) for part in sorted_parts(keys, parts)]
    if len(found) == 1:
        only: tuple[np.ndarray, np.ndarray] = found[0]
        return only
    starts = np.cumsum([0, *(len(items) for _, items in found)])
    indptr = [indptr[1:] + start for (indptr, _), start in zip(found, starts, strict=False)]
    return np.concatenate([[0], *indptr]), np.concatenate([items for _, items in found])


def sorted_parts(keys: np.ndarray, parts: int) -> Iterator[tuple[np.ndarray, np.uint64]]:
    """What `sort_keys` gives, in so many parts, a power of two, one after another."""
    if parts == 1:
        yield sort_keys(keys)
        return
    mask, shift = low_bits(len(keys)), np.uint64(64 - (parts.bit_length() - 1))
    for part in range(parts):
        places = np.flatnonzero(keys >> shift == part).astype(np.uint64)
        yield sorted_hashes((keys[places] & ~mask) | places), mask


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
    keys = np.ascontiguousarray(fold_bands(signatures, bands, rows).T)
    buckets = find_buckets(list(keys), np.arange(len(signatures)), run, Storage())
    total = sum(buckets.count(band) for band in range(bands))
    if total > MOST_CANDIDATES:
        raise TooManyPairs(
            f"about {total:,} candidates, more than {MOST_CANDIDATES:,}: take more rows, or fewer bands."
        )
    found = [np.empty(0, np.int64)]
    own = buckets.make_keys()
    for band in range(bands):
        for left, right in buckets.pairs(band, own):
            same = (own[left] == own[right]).any(axis=1)  # keys were sorted by their high bits alone
            found.append(buckets.items[left[same]] * len(signatures) + buckets.items[right[same]])
    return np.sort(np.concatenate(found))


def all_pairs(indptr: np.ndarray, items: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """All `total` pairs of items that share a bucket, whatever their keys."""
    left, right = np.empty(total + 1, np.int64), np.empty(total + 1, np.int64)
    no_keys = np.empty((0, 0), np.uint64)
    n = new_pairs(indptr, items, no_keys, 0, np.uint64(0), ALONE.split, np.zeros(3, np.int64), left, right)
    return left[:n], right[:n]


def too_many(pairs: int, limit: int, about: str = "at least") -> TooManyPairs:
    """The error for an answer that would be too long to list."""
    return TooManyPairs(
        f"{about} {pairs:,} similar pairs, more than max_pairs = {limit:,}: `clusters` and `dedup` need no list "
        "of pairs; or raise the threshold, or --max-pairs."
    )
