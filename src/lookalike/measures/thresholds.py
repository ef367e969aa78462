"""Turn thresholds into exact fractions."""

from fractions import Fraction

from lookalike.core.errors import fraction

LARGEST = 1 << 30  # no set has more elements than this


def exact_fraction(threshold: float | str | Fraction, name: str = "threshold") -> tuple[int, int]:
    """Return integers (p, q) with which similarities can be compared exactly: a/b >= p/q.

    A threshold is the decimal that the user typed: 0.8 is 4/5, not the nearest binary number. p/q
    is the threshold itself or, if its denominator is above 2**30, the next larger fraction with one
    that is not. No similarity lies between the two, since sets have at most 2**30 elements. In
    floating point, `(1 - 0.9) * 10` is not 1. If the threshold is invalid, the error calls it `name`.

    >>> exact_fraction(0.8), exact_fraction("2/3")
    ((4, 5), (2, 3))
    """
    try:
        wanted = Fraction(str(threshold))
    except (ValueError, ZeroDivisionError):
        fraction(name, threshold)  # raises an error that says what is wrong
        raise
    if not 0 < wanted <= 1:
        within = min(max(wanted, Fraction(-1)), Fraction(1000))  # a huge fraction would overflow a float
        fraction(name, float(within), given=threshold)
    near = wanted.limit_denominator(LARGEST)
    if near < wanted:  # then the next fraction of the Farey sequence is at or above `wanted`
        p, q = near.numerator, near.denominator
        inverse = pow(p, -1, q) if q > 1 else 0  # the neighbour r/s has r q - p s = 1
        s = -inverse % q if q > 1 else 1
        s += (LARGEST - s) // q * q
        near = Fraction(p * s + 1, q * s)
    return near.numerator, near.denominator
