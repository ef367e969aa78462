"""Draw pairs of items at a distance, and count collisions of families in independent trials."""

import math
from functools import cache

import numpy as np

from lookalike.families import (
    BitSampling,
    FieldEquality,
    GridSquares,
    Hyperplanes,
    MinHash,
    RandomLines,
    WeightedMinHash,
)
from lookalike.families.base import as_keys
from lookalike.kernels.hashing import EMPTY

TRIALS = 20_000


def agree(a, b):
    """Return on which functions two signatures agree."""
    return (a == b) & (as_keys(a) != EMPTY)


def off(measured, p, trials):
    """Return by how many standard errors a rate is off."""
    error = math.sqrt(max(0.0, p * (1 - p)) / trials)
    return abs(measured - p) / error if error else (0.0 if measured == p else math.inf)


# --- pairs at a distance ---


def at_angle(angle, dimensions):
    """Return two vectors at an angle, with different lengths."""
    u, v = np.linalg.qr(np.random.default_rng(dimensions).normal(size=(dimensions, 2)))[0].T
    return np.array([3 * u, math.cos(math.radians(angle)) * u + math.sin(math.radians(angle)) * v])


def at_distance(distance, dimensions):
    """Return two points at a distance."""
    start, way = np.random.default_rng(dimensions).normal(size=(2, dimensions))
    return np.array([start, start + distance * way / np.linalg.norm(way)])


def random_prints(distance, cells, density):
    """Draw prints with minutiae of this density; the second keeps a share 1 - distance of them."""
    rng = np.random.default_rng(7)
    first = rng.random((TRIALS, cells)) < density
    return first, rng.random((TRIALS, cells)) < np.where(first, 1 - distance, density)


def random_sets(union, shared):
    """Draw sets with `shared` of `union` elements in both, the rest about half in each."""
    elements = np.random.default_rng(union).integers(0, 2**61 - 1, (TRIALS, union))
    half = shared + (union - shared + 1) // 2
    return elements[:, :half], np.hstack((elements[:, :shared], elements[:, half:]))


# --- trials ---
#
# Each function below returns a family, and whether a pair at the distance collides in each of
# 20,000 independent trials.


def by_hyperplanes(angle, dimensions=3, vectors="gaussian"):
    family = Hyperplanes(TRIALS, seed=3, vectors=vectors)
    return family, agree(*family.signatures(at_angle(angle, dimensions)))


def by_lines(distance, dimensions, lines):
    family = RandomLines(4.0, TRIALS, seed=5, lines=lines, dimensions=dimensions)
    return family, agree(*family.signatures(at_distance(distance, dimensions)))


@cache
def bits_of_many_seeds(dimensions, hashes):
    """Return one component per row and seed, where row d has d ones, then zeros."""
    rows = np.tri(dimensions + 1, dimensions, -1, dtype=np.int64)
    families = (BitSampling(dimensions, hashes, seed) for seed in range(TRIALS))
    return np.array([family.signatures(rows)[:, family.seed % hashes] for family in families])


def by_bits(distance):
    found = bits_of_many_seeds(20, 3)
    return BitSampling(20, 3), found[:, 0] == found[:, distance]


def by_repeated_bits(distance):
    family = BitSampling(20, TRIALS, repeat=True)
    return family, agree(*family.signatures(np.arange(20)[None] < [[0], [distance]]))


def by_squares(distance, squares, density):
    family = GridSquares(squares, hashes=8, cells=25, density=density)
    left, right = (family.signatures(side) for side in random_prints(distance, 25, density))
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 8]


def by_fields(distance):
    family = FieldEquality(["name", "street", "town", "phone"])
    rng = np.random.default_rng(1)
    records = rng.integers(0, 1000, (TRIALS, 4))
    others = np.where(np.argsort(rng.random((TRIALS, 4))) < distance, -1, records)
    left, right = (family.signatures(side.tolist()) for side in (records, others))
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 4]


def by_minhash(distance, union):
    """Use one sketch position of each of many pairs, as positions of one sketch are dependent."""
    family = MinHash(64, seed=9)
    sides = random_sets(union, round((1 - distance) * union))
    left, right = (family.sketch(np.arange(TRIALS + 1) * side.shape[1], side.ravel().view(np.uint64)) for side in sides)
    trials = np.arange(TRIALS)
    return family, agree(left, right)[trials, trials % 64]


def by_minhash_of_many_seeds(distance):
    """The same for one pair of sets with 10 elements in all, and many seeds."""
    left, right = (np.unique(side[0]).view(np.uint64) for side in random_sets(10, round((1 - distance) * 10)))
    both, indptr = np.concatenate((left, right)), np.array([0, len(left), len(left) + len(right)])
    found = [agree(*MinHash(16, seed).sketch(indptr, both))[seed % 16] for seed in range(TRIALS)]
    return MinHash(16), np.array(found)


def by_weighted_minhash(distance, union):
    """Use independent functions on one pair, with weights from 1/20 to 20 before they are scaled."""
    rng = np.random.default_rng(union)
    weights = np.exp(rng.uniform(-3, 3, union))
    parts = np.split(np.arange(union), [union // 2, union - union // 4])  # in both, left only, right only
    shares = (1 - distance, distance / 4, 3 * distance / 4)
    both, left, right = (
        {int(x): share * weights[x] / weights[part].sum() for x in part if share}
        for part, share in zip(parts, shares, strict=True)
    )
    family = WeightedMinHash(TRIALS, seed=9)
    return family, agree(*family.signatures([both | left, both | right]))


def by_universal_minhash(distance):
    family = MinHash.universal(hashes=1, seed=2)
    left, right = (family.signatures(side.tolist()) for side in random_sets(10, round((1 - distance) * 10)))
    return family, agree(left, right)[:, 0]
