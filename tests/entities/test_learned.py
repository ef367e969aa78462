"""Check the weights for tables in which few records have a match, or products have siblings."""

import numpy as np
import pytest

from lookalike.entities import learned, resolve, two_companies
from lookalike.entities.learned import (
    FEATURES_OF,
    FEW,
    ONE,
    SEVERAL,
    SIBLINGS,
    between,
    share_matched,
    weights_of,
    weights_table,
)
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
    """Where most records have a match, these weights do not count."""
    made = two_companies(500, seed=2)
    assert few(resolve(made.left, made.right, fields=FIELDS)) == 0
    left, right, _ = thinned(made, 0.1)
    assert few(resolve(left, right, fields=FIELDS)) > 0.5


@pytest.mark.slow
def test_few_matches_are_counted_by_one_field(monkeypatch):
    """The weights for many matches state more than twice as many as are true."""
    left, right, truth = thinned(two_companies(2000, seed=5), 0.05)
    known = {*zip(*(column.to_pylist() for column in truth.columns), strict=True)}
    ratios = []
    for bounds in (learned.BOUNDS_FEW[ONE], (-1, -0.5)):
        monkeypatch.setitem(learned.BOUNDS_FEW, ONE, bounds)
        found = resolve(left, right, fields=["address:street=text"])
        ratios.append(found.probability.sum() / sum((one, other) in known for one, other, _ in found))
    print(ratios, few(found))
    assert ratios[0] < 0.7 * ratios[1]


def shops(both, digits):
    """Return two shops that sell models of 150 series, `both` of them in both; names differ in digits or words."""
    rng = np.random.default_rng(3)
    words = [
        "".join(rng.choice(list("bdfgklmnprstvz")) + rng.choice(list("aeiou")) for _ in range(3)) for _ in range(400)
    ]
    catalogue = []
    for _ in range(150):
        brand, line, text = rng.choice(words[:20]), rng.choice(words), " ".join(rng.choice(words, 6))
        code, first = "".join(rng.choice(list("abcdefgh"), 2)), int(rng.integers(10, 90))
        for model in range(4):
            name = (
                f"{brand} {line} {code}{first}{model}0"
                if digits
                else f"{brand} {line} {' '.join(rng.choice(words, 2))}"
            )
            catalogue.append({"name": name, "text": text, "price": str(20 + 5 * model + int(rng.integers(3)))})
    order = rng.permutation(len(catalogue))
    sold = order[:250], np.append(order[:both], order[250 : 500 - both])
    sides = [[catalogue[one] for one in some] for some in sold]
    return *sides, {(place, place) for place in range(both)}


SHOP_FIELDS = ["name=text", "text=text", "price=number"]


def test_models_of_one_series_are_not_taken_for_each_other():
    """Most models of the second shop have siblings in the first, and few have themselves there."""
    left, right, truth = shops(50, digits=True)
    found = resolve(left, right, fields=SHOP_FIELDS)
    true = sum((one, other) in truth for one, other, _ in found)
    assert found.model().basis.siblings == 1
    assert true >= 40
    assert found.probability.sum() == pytest.approx(true, rel=0.3)
    others = resolve(*shops(50, digits=False)[:2], fields=SHOP_FIELDS)
    assert others.model().basis.siblings == 0


def test_the_share_of_matched_records():
    """Of each record the best pair counts, in the table where more records have a match."""
    left, right = np.array([0, 1, 2, 2]), np.array([5, 5, 4, 5])
    probability = np.log([1, 3, 1e9, 1 / 3])  # 0.5, 0.75, 1 and 0.25, as odds
    assert share_matched(left, right, probability, 6, Sides.of([4, 2])) == pytest.approx((0.75 + 1) / 2)
    assert share_matched(left, right, probability, 24, Sides.of([4, 20])) == pytest.approx((0.5 + 0.75 + 1) / 4)
    assert share_matched(left[:0], right[:0], probability[:0], 6, Sides.of([4, 2])) == 0
    assert between(0.0, 0.3, 0.6) == 0


def test_columns_of_weights():
    for round, features in FEATURES_OF.items():
        for column in (ONE, SEVERAL, SIBLINGS, *FEW.values()):
            assert len(weights_of(column, round)) == 1 + len(features)
    assert weights_table(1).column_names == ["round", "feature", "weight", "weight_few_matches"]
    rows = weights_table(2).to_pylist()
    for name, column in (("weight", SEVERAL), ("weight_few_matches", FEW[SEVERAL]), ("weight_siblings", SIBLINGS)):
        assert [row[name] for row in rows if row["round"] == 1] == weights_of(column, 1).tolist()


def test_siblings_have_a_weight_in_one_column_only():
    place = 1 + FEATURES_OF[1].index("other numbers of one form")
    assert weights_of(SIBLINGS, 1)[place] < -0.5
    assert {weights_of(column, 1)[place] for column in (ONE, SEVERAL, *FEW.values())} == {0.0}
