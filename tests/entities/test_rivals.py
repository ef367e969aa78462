"""Check how the log odds of a pair are compared with those of its rivals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.entities.rivals import FAR, MOST_MATCHES, MOST_ODDS, RIVALRY, Rivalry, logistic

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9), st.floats(-12, 12)), min_size=1, max_size=15)


def measured(pairs):
    left, right, odds = (np.array(some) for some in zip(*pairs, strict=True))
    rivalry = Rivalry.of(left, right, odds, 10)
    rows = rivalry.features(np.arange(len(pairs)))
    return [dict(zip(RIVALRY, row, strict=True)) for row in rows.tolist()]


def test_a_pair_is_compared_with_its_rivals():
    """Record 0 has two candidates; the second one has another, better one."""
    first, second, other = measured([(0, 5, 3.0), (0, 6, -1.0), (1, 6, 4.0)])
    assert first["lead in odds for left"] == 4
    assert first["lead in odds for right"] == 3 + MOST_ODDS  # it has no rival
    assert second["lead in odds for left"] == -4
    assert second["lead in odds for right"] == -5
    assert (second["smaller lead in odds"], second["larger lead in odds"]) == (-5, -4)
    assert second["odds of the rival for right above 0"] == 4
    assert second["matches expected of right elsewhere"] == pytest.approx(logistic(np.array(4.0)))
    assert other["matches expected of right elsewhere"] == pytest.approx(logistic(np.array(-1.0)))
    assert other["smaller lead in odds above 0"] == 5


@given(PAIRS)
def test_rivals_against_brute_force(pairs):
    pairs = [*{pair[:2]: pair for pair in pairs}.values()]
    for (left, right, odds), found in zip(pairs, measured(pairs), strict=True):
        leads = []
        for side, record in (("left", left), ("right", right)):
            others = [x for a, b, x in pairs if record in (a, b) and (a, b) != (left, right)]
            leads.append(odds - max([*others, -MOST_ODDS]))
            assert found[f"lead in odds for {side}"] == pytest.approx(leads[-1])
            elsewhere = min(MOST_MATCHES, sum(logistic(np.array(x)) for x in others))
            assert found[f"matches expected of {side} elsewhere"] == pytest.approx(elsewhere, abs=1e-9)
        assert found["smaller lead in odds"] == pytest.approx(min(leads))


def test_very_unlikely_pairs_are_rivals_only():
    odds = np.array([FAR - 0.1, FAR, 2.0])
    assert Rivalry.of(np.array([0, 0, 1]), np.array([2, 3, 3]), odds, 4).near().tolist() == [1, 2]
