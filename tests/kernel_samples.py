"""Draw rows, sets and numbers for the tests of kernels, including extreme values."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from tests import reference as ref

# Thresholds at which floating-point bounds fail, and some that are not decimals.
RATIOS = [Fraction(t) for t in ("9/10", "4/5", "17/20", "2/3", "1/2", "1/3", "7/10", "19/20", "1/10", "1")]
RATIOS += [Fraction(123456789, 2**30), Fraction(2**30 - 1, 2**30)]
KINDS = ("JACCARD", "CONTAINMENT", "COSINE", "OVERLAP", "GRAMS")
MEASURES = [(kind, *ratio.as_integer_ratio()) for kind in KINDS[:3] for ratio in RATIOS]
MEASURES += [("OVERLAP", p, 1) for p in (1, 2, 5)] + [("GRAMS", 2 * edits, edits) for edits in (0, 1, 2, 4)]

SIZES = (0, 1, 2, 7, 8, 9, 24, 25, 26, 63, 64, 65, 300, 700)
EDGES = (0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, ref.ALL - 1, ref.ALL)
THRESHOLDS = [Fraction(t) for t in ("1/2", "2/3", "4/5", "17/20", "9/10", "1", "1/10", "1/1000000007")]

# The text behind the fixed values of format 1.
GOLDEN_TEXT = "The plane was ready for touch down, caf\u00e9 \u5317\u4eac!"

thresholds = st.sampled_from(THRESHOLDS)
seeds = st.integers(0, 2**32).map(random.Random)
numbers = st.one_of(st.integers(0, ref.ALL), st.sampled_from(EDGES))


def drawn_rows(rng, rows, repeats=False):
    """Draw rows that share elements of a common pool, which includes extreme numbers."""
    pool = [*EDGES, *(rng.getrandbits(64) for _ in range(rng.choice(SIZES)))]
    size = min(len(pool), rng.choice(SIZES))
    pick = rng.choices if repeats else rng.sample
    return [pick(pool, k=rng.randint(0, size)) for _ in range(rows)]


def drawn_sets(rng, rows=8):
    """Draw small sorted sets that are often similar, some just at a threshold, some empty."""
    pool = [*EDGES[1:4], *(rng.getrandbits(64) for _ in range(8))]
    return [sorted(rng.sample(pool, rng.choice([0, 1, 4, 5, 8, 9, 10, 10, 11]))) for _ in range(rows)]


def as_rows(rows, dtype=np.uint64):
    """Return (indptr, values) of lists."""
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return indptr, np.array([x for row in rows for x in row], dtype=dtype)


def as_lists(indptr, values):
    return [values[i:j].tolist() for i, j in pairwise(indptr)]
