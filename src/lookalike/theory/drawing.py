"""Choose how many elements to draw from a set, so that they show which other sets contain it.

If at least a share t of a set A lies in a set B, then of m elements drawn from A at random, at least
n lie in B with a probability of at least

    P(n or more of m) = sum over j = n..m of C(m, j) t**j (1 - t)**(m - j),

whatever the sizes of A and B. The elements are drawn without repeats, so the true law is hypergeometric;
if n <= t (m - 1), its probability is at least that of this binomial law (Uhlmann 1966). A set of at
most m elements is drawn as a whole.
"""

from fractions import Fraction
from math import comb, fsum
from typing import NamedTuple

SIZES = (32, 64, 128, 256, 512)  # elements drawn from a set
CLEAR = 20  # drawn elements to find again, at least: hardly any set has this many of them by chance


class Draws(NamedTuple):
    """How many elements to draw, how many of them to find in a set that contains them, and the recall."""

    size: int
    need: int
    recall: float  # the least probability of finding a pair right at the threshold


def draws_for(threshold: Fraction, recall: float, most: int = SIZES[-1]) -> Draws | None:
    """Return the smallest number of draws that reaches the recall and tells sets apart; None if none does.

    >>> draws_for(Fraction(4, 5), 0.99)
    Draws(size=32, need=20, recall=0.9939...)
    """
    for size in SIZES:
        draws = most_needed(threshold, recall, size)
        if size <= most and draws is not None and draws.need >= CLEAR:
            return draws
    return None


def most_needed(threshold: Fraction, recall: float, size: int) -> Draws | None:
    """Return the most of `size` drawn elements that can be required at this recall; None if none can."""
    for need in range(int(threshold * (size - 1)), 0, -1):
        chance = chance_of(threshold, size, need)
        if chance >= recall:
            return Draws(size, need, chance)
    return None


def chance_of(threshold: Fraction, size: int, need: int) -> float:
    """Return the probability that a set with a share `threshold` of another has `need` of `size` elements drawn."""
    t = float(threshold)
    return min(1.0, fsum(comb(size, n) * t**n * (1 - t) ** (size - n) for n in range(need, size + 1)))
