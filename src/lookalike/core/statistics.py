"""Confidence intervals of proportions."""

from math import sqrt

Sensitivity = tuple[float, float, float, float]  # (d1, d2, p1, p2): see `families.base`


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's confidence interval for a proportion, 95% by default; (0, 1) without trials.

    >>> low, high = wilson(99, 100)
    >>> round(low, 3), round(high, 3)
    (0.946, 0.998)
    """
    if not trials:
        return 0.0, 1.0
    p, square = successes / trials, z * z / trials
    centre = (p + square / 2) / (1 + square)
    half = z / (1 + square) * sqrt((p * (1 - p) + square / 4) / trials)
    return max(0.0, centre - half), min(1.0, centre + half)
