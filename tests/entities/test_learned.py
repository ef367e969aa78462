"""Check the weights for tables in which few records have a match."""

import numpy as np
import pytest

from lookalike.entities import resolve, two_companies
from lookalike.entities.learned import FEATURES_OF, FEW, part_of_few, share_matched, weights_of, weights_table
from lookalike.items.sides import Sides
from tests.entities.shared import FIELDS, thinned


def few(found):
    """Return how much the weights for few matches counted."""
    return found.model().basis.few


@pytest.mark.slow
@pytest.mark.parametrize(("part", "fields"), [(0.3, FIELDS), (0.1, FIELDS), (0.1, FIELDS[:2])])
def test_few_matches_are_counted(part, fields):
    """With one record of each of 70% or 90% of the matches gone, the rest is stated, in either order."""
    left, right, truth = thinned(two_companies(2000, seed=5), part)
    found = resolve(left, right, fields=fields)
    known = {*zip(*(column.to_pylist() for column in truth.columns), strict=True)}
    true = sum((one, other) in known for one, other, _ in found)
    assert found.probability.sum() == pytest.approx(true, rel=0.25)
    assert true > 0.8 * len(truth)
    turned = [":".join(reversed(name.split(":"))) + f"={kind}" for name, kind in (field.split("=") for field in fields)]
    assert resolve(right, left, fields=turned).probability.sum() == pytest.approx(found.probability.sum(), rel=0.05)


@pytest.mark.slow
def test_hardly_anything_is_stated_without_matches():
    left, right, truth = thinned(two_companies(2000, seed=5), 0)
    assert len(truth) == 0
    assert resolve(left, right, fields=FIELDS).probability.sum() < 0.1 * len(left)


@pytest.mark.slow
def test_many_matches_are_as_before():
    """Where most records have a match, or one field is compared, these weights do not count."""
    made = two_companies(500, seed=2)
    assert few(resolve(made.left, made.right, fields=FIELDS)) == 0
    left, right, _ = thinned(made, 0.1)
    assert few(resolve(left, right, fields=FIELDS)) > 0.5
    assert few(resolve(left, right, fields=["name:customer=text"])) == 0


def test_the_share_of_matched_records():
    """Of each record the best pair counts, in the table where more records have a match."""
    left, right = np.array([0, 1, 2, 2]), np.array([5, 5, 4, 5])
    probability = np.array([0.5, 0.75, 1.0, 0.25])
    assert share_matched(left, right, probability, 6, Sides.of([4, 2])) == pytest.approx((0.75 + 1) / 2)
    assert share_matched(left, right, probability, 24, Sides.of([4, 20])) == pytest.approx((0.5 + 0.75 + 1) / 4)
    assert share_matched(left[:0], right[:0], probability[:0], 6, Sides.of([4, 2])) == 0
    assert part_of_few(0.0) == 1


def test_weights_for_few_matches():
    for round, features in FEATURES_OF.items():
        assert len(weights_of(FEW, round)) == 1 + len(features)
    assert weights_table(1).column_names == ["round", "feature", "weight"]
    rows = weights_table(2).to_pylist()
    assert [row["weight_few_matches"] for row in rows if row["round"] == 1] == weights_of(FEW, 1).tolist()
