"""Format numbers for sentences."""

import math


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun.

    >>> counted(1, "pair"), counted(1000, "minhash", "es")
    ('1 pair', '1,000 minhashes')
    """
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def about(number: float) -> str:
    """Return an estimate with two significant digits, or "no".

    >>> about(123456), about(7.2), about(0.3)
    ('about 120,000', 'about 7', 'no')
    """
    if number < 1:
        return "no"
    digits = max(0, int(math.log10(number)) - 1)
    return f"about {round(number / 10**digits) * 10**digits:,}"
