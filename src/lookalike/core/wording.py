"""Format numbers and names for sentences."""

import math
import re

# Controls of terminals, of lines and of the direction of text; and bytes that are no characters.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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


def visible(text: str) -> str:
    r"""Return a text whose control characters are escaped, so that a terminal shows them.

    >>> print(visible("a\x1b[2J\nb.txt"))
    a\x1b[2J\nb.txt
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
