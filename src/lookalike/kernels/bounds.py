"""Compute how much two sets must share to be similar, and how large they must be, in integers.

A condition on two sets is a kind and two numbers p and q:

    JACCARD      |A & B| / |A | B| >= p/q
    CONTAINMENT  |A & B| / min(|A|, |B|) >= p/q: the smaller of the two is contained in the other
    COSINE       |A & B| / sqrt(|A| |B|) >= p/q
    OVERLAP      |A & B| >= p
    GRAMS        |A & B| >= max(|A|, |B|) - p, and sizes that differ by at most q: strings with at
                 most q edits, each of which changes at most p/q of their grams

Ratios have p and q of at most 2**30, and so have sizes; larger products are computed in 128 bits.
"""

import numpy as np

from lookalike.kernels.hashing import kernel

JACCARD, CONTAINMENT, COSINE, OVERLAP, GRAMS = range(5)


@kernel
def product(x, y):
    """Return the 128 bits of a product of two unsigned numbers: (high, low)."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b, c, d = x >> half, x & low, y >> half, y & low
    middle = (b * d >> half) + (a * d & low) + (b * c & low)
    return a * c + (a * d >> half) + (b * c >> half) + (middle >> half), (middle << half) | (b * d & low)


@kernel
def below(w, x, y, z):
    """Return whether w x < y z, exactly."""
    high, low = product(np.uint64(w), np.uint64(x))
    other_high, other_low = product(np.uint64(y), np.uint64(z))
    return high < other_high or (high == other_high and low < other_low)


@kernel
def need(kind, a, b, p, q):
    """Return how many elements sets of sizes a and b must share to be similar; at least one."""
    if kind == JACCARD:  # s / (a + b - s) >= p / q
        return max((p * (a + b) + p + q - 1) // (p + q), 1)
    if kind == CONTAINMENT:
        return (p * min(a, b) + q - 1) // q
    if kind == OVERLAP:
        return p
    if kind == GRAMS:
        return max(max(a, b) - p, 1)
    s = max(np.int64(p / q * np.sqrt(float(a) * float(b))) - 1, 1)  # COSINE: the least s with (s q)**2 >= p**2 a b
    while below(s * q, s * q, p * p, a * b):
        s += 1
    return s


@kernel
def least(kind, n, p, q):
    """Return the least size of a set that can be similar to one of n elements."""
    if kind == JACCARD:
        return (p * n + q - 1) // q
    if kind == CONTAINMENT:
        return 1
    if kind == OVERLAP:
        return p
    if kind == GRAMS:
        return max(n - q, 1)
    m = max(np.int64(p / q * (p / q) * n) - 1, 1)  # COSINE: the least m with m q**2 >= p**2 n
    while below(m, q * q, p * p, n):
        m += 1
    return m


@kernel
def prefix_lengths(kind, n, p, q):
    """Return how many elements of a set of n to look up, and how many to index: (probe, index).

    Of two similar sets the larger is looked up and the smaller is indexed. If a set of n must share
    at least s of its elements, one of the first n - s + 1 is shared, whatever the order. For the
    larger set, s is the number for its smallest partner; for the smaller, for one of equal size.
    """
    probe = n - need(kind, n, least(kind, n, p, q), p, q) + 1
    index = n - need(kind, n, n, p, q) + 1
    return min(max(probe, 0), n), min(max(index, 0), n)
