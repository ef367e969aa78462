"""Format numbers and names for sentences."""

import math
import re
from fractions import Fraction

# Controls of terminals, of lines and of the direction of text; and bytes that are no characters.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun.

    >>> counted(1, "pair"), counted(1000, "minhash", "es")
    ('1 pair', '1,000 minhashes')
    """
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def verified(number: int) -> str:
    """Return what to add to a number of results that were verified.

    >>> verified(2), verified(1), verified(0)
    (', all verified', ', verified', '')
    """
    return ", all verified" if number > 1 else ", verified" if number else ""


def percent(share: Fraction) -> str:
    """Return a share as a percentage.

    >>> percent(Fraction(1, 100)), percent(Fraction(1, 3))
    ('1%', '33.3333%')
    """
    return f"{float(100 * share):g}%"


def about(number: float, noun: str) -> str:
    """Return an estimate with two significant digits and its noun.

    >>> about(123456, "pair"), about(1.2, "pair"), about(0.3, "pair")
    ('about 120,000 pairs', 'about 1 pair', 'fewer than 1 pair')
    """
    if number < 1:
        return f"fewer than 1 {noun}"
    digits = max(0, int(math.log10(number)) - 1)
    return f"about {counted(round(number / 10**digits) * 10**digits, noun)}"


def visible(text: str) -> str:
    r"""Return a text whose control characters are escaped, so that a terminal shows them.

    >>> print(visible("a\x1b[2J\nb.txt"))
    a\x1b[2J\nb.txt
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
