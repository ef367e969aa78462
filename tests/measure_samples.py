"""Draw sets, bags, vectors and strings to measure."""

import math
import random
from collections import Counter

import pytest
from hypothesis import strategies as st

from lookalike.measures import MEASURES
from lookalike.measures.rows import MOVES

INFINITE, NAN = math.inf, math.nan
LARGEST, LEAST = 1.7976931348623157e308, 5e-324  # the largest and the least positive double
MAGNITUDES = (0.0, -0.0, 1.0, 1.5, -1.5, 1e300, -1e300, 3e307, -LARGEST, 1e-300, -1e-300, 3e-310, LEAST, -LEAST, 1 / 3)
OPTIONS = {
    "bag_jaccard": [{}, {"union": "max"}, {"union": "sum"}],
    "minkowski": [{}, *({"r": r} for r in (1, 1.25, 2, 3.0, 10, 1000, INFINITE))],
    "edit": [{}, *({"moves": moves} for moves in MOVES)],
}
CASES = [
    pytest.param(name, options, id="-".join([name, *map(str, options.values())]))
    for name in MEASURES
    for options in OPTIONS.get(name, [{}])
]

LETTERS = "aab\0\u00e9\u4e00\ud800\U0001f600\U0010ffff"
hashables = st.one_of(st.integers(-2, 3), st.sampled_from([-(2**63), 2**63 - 1]))
sets = st.one_of(st.frozensets(hashables, max_size=6), st.frozensets(st.integers(0, 99), max_size=40))
bags = st.one_of(st.text("abc", max_size=9), st.text("ab\U0001f600", max_size=40)).map(Counter)
strings = st.text(LETTERS, max_size=9)


@st.composite
def long_strings(draw):
    """Draw variants of a string of about 64 or 128 symbols, on both sides of a machine word."""
    rng = draw(st.integers(0, 2**32).map(random.Random))
    start = "".join(rng.choices(LETTERS, k=rng.choice((60, 62, 126))))
    out = [start]
    for _ in range(2):
        symbols = list(start)
        for _ in range(rng.randrange(6)):
            at = rng.randrange(len(symbols))
            symbols[at : at + rng.randrange(3)] = rng.choices(LETTERS, k=rng.randrange(3))
        out.append("".join(symbols))
    return out


def domain_of(name):
    return "directions" if name in ("angle", "cosine_similarity") else MEASURES[name].domain
