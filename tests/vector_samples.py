"""Draw vectors and codes, and find near ones by brute force."""

import math

import numpy as np

import lookalike as la
from lookalike.core.run import Run
from lookalike.measures import MEASURES
from lookalike.measures.table import TABLED

SINGLE = Run(1)
THRESHOLDS = {"angle": 25.0, "cosine_similarity": 0.9, "euclidean": 1.2, "inner_product": 4.0, "hamming": 3}
WAYS = [*((measure, "brute") for measure in THRESHOLDS), *((measure, "lsh") for measure in TABLED)]
EXACT = [{"method": "exact"}, {"method": "brute"}, {"recall": 1.0}, {"method": "auto", "recall": 1.0}]


def drawn(seed, items, dimensions=6):
    """Draw rows, some equal, near, parallel or opposite, many with zeros; none is zero."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(2, items // 5), dimensions))
    centres[:, 1:][rng.random((len(centres), dimensions - 1)) < 0.3] = 0
    rows = centres[rng.integers(0, len(centres), items)]
    rows *= rng.choice([1.0, 1.0, 1.0, 2.0, -1.0], (items, 1))
    moved = rng.random(items) < 0.6
    rows[moved] += rng.normal(size=rows[moved].shape) * rng.choice([0.01, 0.1, 0.3], (int(moved.sum()), 1))
    return rows


def drawn_bits(seed, items, length=40):
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 2, (max(2, items // 6), length))
    return centres[rng.integers(0, len(centres), items)] ^ (rng.random((items, length)) < 0.04)


def sample_of(measure, seed, items):
    return drawn_bits(seed, items) if measure == "hamming" else drawn(seed, items)


def oracle(measure, rows, threshold, split=None):
    """Return {(i, j): value} of near pairs; with a split, those across it, j counted from it."""
    n = len(rows)
    left, right = np.triu_indices(n, 1)
    values = MEASURES[measure].rows(rows, left, right)
    near = MEASURES[measure].within(values, threshold)
    if split is not None:
        near &= (left < split) & (right >= split)
    pairs = zip(left[near].tolist(), (right[near] - (split or 0)).tolist(), strict=True)
    return dict(zip(pairs, values[near].tolist(), strict=True))


def found(pairs):
    """Return {(i, j): value} by position, and check that each pair is there once."""
    keys = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, pairs.values.tolist(), strict=True))


def in_order(pairs):
    return list(found(pairs)) == sorted(found(pairs))


def standard_error(rates, trials):
    """Return the standard error of the mean of rates, each of its own seed; at least binomial."""
    rate = min(max(float(np.mean(rates)), 1 / trials), 1 - 1 / trials)
    return max(np.std(rates, ddof=1) / math.sqrt(len(rates)), math.sqrt(rate * (1 - rate) / trials))


def planted(measure, threshold, pairs, dimensions, seed):
    """Return rows such that i and pairs + i are at the threshold, or closer only by rounding."""
    rng = np.random.default_rng(seed)
    if measure == "hamming":
        one = rng.integers(0, 2, (pairs, dimensions))
        flips = np.argsort(rng.random((pairs, dimensions)), axis=1) < threshold
        return np.concatenate((one, one ^ flips))
    one, way = rng.normal(size=(pairs, dimensions)), rng.normal(size=(pairs, dimensions))
    near = 1 - 1e-9
    if measure == "euclidean":
        way *= threshold * near / np.sqrt((way * way).sum(axis=1, keepdims=True))
        return np.concatenate((one, one + way))
    one /= np.sqrt((one * one).sum(axis=1, keepdims=True))
    way -= (way * one).sum(axis=1, keepdims=True) * one
    way /= np.sqrt((way * way).sum(axis=1, keepdims=True))
    angle = math.radians(threshold * near)
    return np.concatenate((one, one * math.cos(angle) + way * math.sin(angle)))


def rates_of(measure, threshold, recall, dimensions, match=False, **options):
    """Return the share of pairs at the threshold that each seed finds, its error, and the plan."""
    rates, pairs, seeds = [], 200, 25
    for seed in range(seeds):
        rows = planted(measure, threshold, pairs, dimensions, seed)
        common = {
            "measure": measure,
            "threshold": threshold,
            "method": "lsh",
            "recall": recall,
            "seed": seed,
            **options,
        }
        if match:
            result = la.find_matches(rows[:pairs], rows[pairs:], **common)
            rates.append(np.count_nonzero(result.left == result.right) / pairs)
        else:
            result = la.find_pairs(rows, **common)
            rates.append(np.count_nonzero(result.right - result.left == pairs) / pairs)
    return rates, standard_error(rates, seeds * pairs), result.plan
