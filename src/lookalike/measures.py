"""How similar two things are.

A similarity is in [0, 1] and 1 means the same; a threshold on it keeps what is at least as large.
"""

from collections import Counter
from collections.abc import Set
from fractions import Fraction
from typing import Any

from lookalike.errors import choice, fraction

LARGEST = 1 << 30  # no set has more elements than this


def jaccard(a: Set[Any], b: Set[Any]) -> float:
    """|A & B| / |A | B|: the share of the elements of either set that both have. 0 if both are empty.

    >>> jaccard({1, 2, 3}, {2, 3, 4})
    0.5
    """
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def bag_jaccard(a: "Counter[Any]", b: "Counter[Any]", union: str = "max") -> float:
    """Jaccard similarity of bags: the lesser counts over the greater (`union="max"`) or over both (`"sum"`).

    With "max" equal bags have similarity 1; with "sum", as in the textbook, they have 1/2.

    >>> bag_jaccard(Counter("aaab"), Counter("aabbc"), union="sum")
    0.3333333333333333
    """
    choice("union", union, ("max", "sum"))
    total = ((a | b) if union == "max" else (a + b)).total()
    return (a & b).total() / total if total else 0.0


def exact_fraction(threshold: float | str | Fraction) -> tuple[int, int]:
    """(p, q) such that for all sets similarity >= threshold just when similarity >= p/q, neither over 2**30.

    The threshold is the decimal the user typed: 0.8 is 4/5, not the binary number nearest to it. p/q is the
    least fraction at or above it with a denominator that a similarity can have; comparing with it in
    integers is exact, where `(1 - 0.9) * 10` in floating point is not 1.

    >>> exact_fraction(0.8), exact_fraction("2/3")
    ((4, 5), (2, 3))
    """
    try:
        wanted = Fraction(str(threshold))
    except (ValueError, ZeroDivisionError):
        fraction("threshold", threshold)  # which says what is wrong
        raise
    if not 0 < wanted <= 1:
        within = min(max(wanted, Fraction(-1)), Fraction(1000))  # beyond that a float may not reach
        fraction("threshold", float(within), given=threshold)
    near = wanted.limit_denominator(LARGEST)
    if near < wanted:  # then the next fraction of the Farey sequence is at or above `wanted`
        p, q = near.numerator, near.denominator
        inverse = pow(p, -1, q) if q > 1 else 0  # the neighbour r/s has r q - p s = 1
        s = -inverse % q if q > 1 else 1
        s += (LARGEST - s) // q * q
        near = Fraction(p * s + 1, q * s)
    return near.numerator, near.denominator
