"""Entity resolution: how alike two records are, and what share of the pairs with a score are true matches."""

import math
from collections.abc import Mapping
from numbers import Real

from lookalike.core.errors import DataError, UsageError
from lookalike.measures import edit

FULL = 100.0  # points for a field that is the same

Alike = Mapping[tuple[str, str], float]


def points(a: str, b: str, *, alike: Alike | None = None, penalty: float = 4.0) -> float:
    """The points for one field of two records: 100 less `penalty` times the square of the edit distance, 0 at least.

    `alike` gives the distance of values known to go together, such as a name and its short form.

    >>> points("Smith", "Smith"), points("Smith", "Smyth"), points("Smith", "Jones")
    (100.0, 84.0, 0.0)
    >>> points("Bill", "William"), points("Bill", "William", alike={("Bill", "William"): 1})
    (0.0, 96.0)
    """
    if not penalty >= 0:
        raise UsageError(f"penalty must be a number from 0 on; got {penalty!r}.")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise DataError(f"fields must be texts; got {a!r} and {b!r}.")
    known = alike or {}
    distance = 0.0 if a == b else known.get((a, b), known.get((b, a), float(edit(a, b))))
    if not distance >= 0:
        raise UsageError(f"alike must hold numbers from 0 on; got {distance!r} for {a!r} and {b!r}.")
    return max(0.0, FULL - penalty * distance**2)


def match_fraction(observed: float, *, perfect: float, random: float) -> float:
    """The share of true matches among pairs whose mean of some value is `observed`.

    The value, such as a delay in days, is one that was not used to find the pairs. `perfect` is its mean for pairs that
    are surely matches and `random` for pairs that are surely not. A share f of matches gives the mean
    f * perfect + (1 - f) * random, so f = (random - observed) / (random - perfect); beyond the two it is 1 or 0.

    >>> match_fraction(10, perfect=10, random=45), match_fraction(24, perfect=10, random=45)
    (1.0, 0.6)
    """
    if not all(isinstance(mean, Real) and math.isfinite(mean) for mean in (observed, perfect, random)):
        raise UsageError(f"means must be finite numbers; got {observed!r}, {perfect!r} and {random!r}.")
    if perfect == random:
        raise UsageError(f"perfect and random must differ, or the value tells nothing; got {perfect!r} for both.")
    return min(1.0, max(0.0, (random - observed) / (random - perfect)))
