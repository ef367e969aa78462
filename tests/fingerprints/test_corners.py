"""Check the votes of corners against slow versions that compare all pairs of corners."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.fingerprints import CornerTables
from lookalike.fingerprints.corners import FARTHEST, NEAREST, NEIGHBOURS, PARTS, SHIFTED, TURNED, WIDTH
from tests import reference as ref
from tests.print_samples import drawn, impression, in_degrees, swapped

seeds = st.integers(0, 2**32).map(random.Random)


def drawn_prints(rng, count):
    """Draw prints that share minutiae, so that they have corners in common."""
    first = drawn(rng)
    prints = [first]
    for _ in range(count - 1):
        prints.append(drawn(rng) if rng.random() < 0.4 else impression(rng, first))
    return prints


# --- votes ---


@pytest.mark.slow
@given(seeds, st.sampled_from([0.0, 0.006, 0.1]))
def test_votes(rng, least):
    """Everything from corners to votes agrees with versions that compare all pairs of corners."""
    prints = drawn_prints(rng, rng.randrange(1, 4))
    asking = impression(rng, prints[0]) if rng.random() < 0.8 else drawn(rng)
    enrolled, query = in_degrees(prints), in_degrees([asking])
    tables = CornerTables(enrolled, tables=2)
    votes, places = tables.vote(query, least)
    prints, asking = [one.tolist() for one in np.split(enrolled.points, enrolled.starts[1:-1])], query.points.tolist()
    mine = ref.corners(asking, NEIGHBOURS, NEAREST, FARTHEST)
    asked = [(number, _codes(one, tables)) for number, one in mine]
    asked += [(number, _codes(swapped(one), tables)) for number, one in mine]
    for at, one in enumerate(prints):
        corners = ref.corners(one, NEIGHBOURS, NEAREST, FARTHEST)
        needed = max(1, math.ceil(least * 2 * math.sqrt(len(corners) * len(mine))))
        held = [(number, _codes(features, tables)) for number, features in corners]
        (found,) = ref.meetings(held, asked, [0] * len(one), 1)
        said = [ref.laid_by(one[there], asking[here], ref.centre_of(asking)) for there, here in found]
        best, turn, where = ref.agreed(said, TURNED, SHIFTED) if said else (0, 0, 0)
        assert votes[at] == (best if best >= needed else 0)
        if votes[at]:
            assert ref.wrapped(places[at, 0] - turn) == pytest.approx(0, abs=1e-9)
            assert complex(places[at, 1], places[at, 2]) == pytest.approx(where, rel=1e-9, abs=1e-6)


def _codes(features, tables):
    return [ref.corner_code(features, offsets, WIDTH, PARTS) for offsets in tables.offsets]
