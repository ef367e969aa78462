"""Check what is measured of pairs of two tables, and the probabilities made of it."""

import numpy as np
import pyarrow as pa
import pytest

from lookalike.core.run import Run
from lookalike.entities import resolve, two_companies
from lookalike.entities.evidence import (
    FEATURES,
    Race,
    chances_of,
    gather_evidence,
    mean_points,
    mixture_of_fields,
    odds_by_fields,
    surprise,
)
from lookalike.entities.fields import Column
from lookalike.entities.learned import FEATURES_OF, ONE, SEVERAL, WEIGHTS, odds_of, weights_of, weights_table
from lookalike.entities.rivals import MOST_ODDS, RIVALRY, logistic
from lookalike.entities.scores import ScoredPairs, comparisons_of
from lookalike.items.sides import Sides
from tests.entities.shared import FIELDS


def column(*texts):
    values = pa.array(texts, pa.large_string())
    return Column("name", "text", values, values)


def measured(left, right, pairs, points=None):
    """Return a dictionary of each pair's features; pairs are of positions in the two tables."""
    one, other = np.array(pairs, np.int64).T
    other = other + len(left)
    points = np.full((len(pairs), 1), 50.0) if points is None else points
    columns, run = [column(*left, *right)], Run(1)
    pairs = ScoredPairs(one, other, points, points.sum(axis=1))
    sides = Sides.of([len(left), len(right)])
    evidence = gather_evidence(columns, comparisons_of(columns, run), pairs, sides, 1, run)
    return [dict(zip(FEATURES, row, strict=True)) for row in evidence.features(slice(None)).tolist()]


LEFT = ["summer cup 1998", "summer cup 1999", "winter games", "spring fair"]
RIGHT = ["the summer cup 1999", "winter games"]
PAIRS = [(0, 0), (1, 0), (2, 1), (3, 1)]


FILMS = ["title=text", "name=name"]


def test_a_pair_is_compared_with_its_rivals():
    wrong, right, same, other = measured(LEFT, RIGHT, PAIRS)
    assert same["near"] == pytest.approx(1)
    assert same["same words"] == 1
    assert right["near"] > wrong["near"]
    assert right["lead for right"] == pytest.approx(right["near"] - wrong["near"])
    assert wrong["lead for right"] == pytest.approx(wrong["near"] - right["near"])
    assert same["lead for right"] == pytest.approx(1 - other["near"])
    assert right["smaller lead"] == pytest.approx(right["near"] - wrong["near"])
    assert right["larger lead"] == pytest.approx(right["near"])  # 1999 has no other candidate
    assert [one["records nearest to left"] > 0 for one in (wrong, right, same, other)] == [False, True, True, False]


def test_words_and_numbers_are_compared():
    wrong, right, same, other = measured(LEFT, RIGHT, PAIRS)
    assert (wrong["both have other numbers"], right["both have other numbers"]) == (1, 0)
    assert (right["same numbers"], same["same numbers"]) == (1, 0)
    assert right["common share of left words"] == pytest.approx(1)
    assert 0 < right["common share of right words"] < 1  # "the" is only there
    assert other["common words"] == 0


def test_the_order_of_the_tables_does_not_matter():
    """Only the random pairs by which agreement is judged are others."""
    forward = measured(LEFT, RIGHT, PAIRS)
    backward = measured(RIGHT, LEFT, [(b, a) for a, b in PAIRS])
    for one, other in zip(forward, backward, strict=True):
        assert other == pytest.approx(one, abs=0.01)
        assert {k: v for k, v in other.items() if "agreement" not in k} == pytest.approx(
            {k: v for k, v in one.items() if "agreement" not in k}
        )


def test_lessons_tell_words_that_matter():
    """The year differs in runners-up; "magazine" is missing from one table in the best pairs."""
    left = [f"{word} {year}" for word in ("alpha", "beta", "gamma", "delta") for year in (1990, 1991)]
    right = [f"{name} magazine" for name in left]
    pairs = [(a, b) for a in range(8) for b in range(8) if a // 2 == b // 2]
    found = measured(left, right, pairs)
    best = [one for (a, b), one in zip(pairs, found, strict=True) if a == b]
    second = [one for (a, b), one in zip(pairs, found, strict=True) if a != b]
    assert max(one["worst differing word"] for one in second) < min(one["worst differing word"] for one in best)


def test_a_race_of_one_pair():
    race = Race.of(np.array([0]), np.array([1]), np.array([0.4]), 2)
    assert race.lead(np.array([0.4]), np.array([0])) == pytest.approx([0.4])
    assert race.followers.tolist() == [1, 1]


def test_a_copy_is_no_rival():
    """Records of a table that have the same three values or more compete as one."""
    one = [("ann lee", "9 elm street", "ansel"), ("bob ray", "3 oak road", "orm")]
    other = [("anne lee", "9 elm street", "ansel"), ("bob ray", "3 oak rd", "orm")]
    lead = FEATURES.index("smaller lead")
    found, by_two_fields = (two_records(one, [*other, other[0]], fields) for fields in (3, 2))
    assert found[0, 2].tolist() == found[0, 0].tolist()
    assert found[0, 0][lead] > 0.5
    assert by_two_fields[0, 0][lead] == 0


def two_records(left, right, fields):
    """Return the features of all pairs of records by their first fields."""
    columns, run = [column(*(row[at] for row in [*left, *right])) for at in range(fields)], Run(1)
    one, other = (side.ravel() for side in np.mgrid[: len(left), : len(right)])
    points = np.full((len(one), fields), 50.0)
    pairs = ScoredPairs(one, other + len(left), points, points.sum(axis=1))
    sides = Sides.of([len(left), len(right)])
    evidence = gather_evidence(columns, comparisons_of(columns, run), pairs, sides, 1, run)
    return dict(zip(zip(one.tolist(), other.tolist(), strict=True), evidence.features(slice(None)), strict=True))


def test_surprise_counts_bits():
    by_chance = np.array([[0.0]] * 90 + [[100.0]] * 10)
    found = surprise(np.array([[100.0], [0.0], [np.nan]]), chances_of(by_chance))
    assert found == pytest.approx([np.log2(102 / 10.5), 0, 0])


def test_odds_by_fields():
    """With three fields, agreement in all of them speaks for a match; with fewer, nothing is known."""
    rows = np.repeat([[100.0, 100, 100], [100, 0, 0], [0, 100, 0]], [50, 300, 300], axis=0)
    chance = np.repeat([[0.0, 0, 0], [100, 100, 100]], [990, 10], axis=0)
    pairs = ScoredPairs(np.arange(650), np.arange(650, 1300), rows, rows.sum(axis=1))
    odds = odds_by_fields(pairs.points, mixture_of_fields(pairs, chance, 1300))
    assert odds[:50].min() > 2
    assert odds[50:].max() < -2
    few = ScoredPairs(pairs.left, pairs.right, rows[:, :2], rows[:, :2].sum(axis=1))
    assert not odds_by_fields(few.points, mixture_of_fields(few, chance[:, :2], 1300)).any()


def test_mean_points():
    assert mean_points(np.array([[100, 0], [np.nan, 80], [np.nan, np.nan]])).tolist() == [50, 80, 50]


def test_weights_belong_to_the_features():
    assert WEIGHTS.is_file()
    for fields, column in ((1, ONE), (2, SEVERAL), (9, SEVERAL)):
        assert [len(weights_of(column, round)) for round in (1, 2)] == [1 + len(some) for some in FEATURES_OF.values()]
        rows = weights_table(fields).to_pylist()
        assert [row["feature"] for row in rows if row["round"] == 1] == ["constant", *FEATURES]
        assert [row["feature"] for row in rows if row["round"] == 2] == ["constant", *FEATURES, *RIVALRY]
    assert weights_table(2).equals(weights_table(9))
    assert weights_table(1)["weight"].to_pylist() != weights_table(2)["weight"].to_pylist()


def test_odds_are_within_limits():
    found = odds_of(np.array([[0.0], [2e3], [-2e3]]), np.array([0.0, 1.0]))
    assert found.tolist() == [0, MOST_ODDS, -MOST_ODDS]
    assert logistic(found) == pytest.approx([0.5, 1, 0], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3])
def test_probabilities_do_not_depend_on_threads(threads):
    made = two_companies(500, seed=2)
    one, other = (resolve(made.left, made.right, fields=FIELDS, threads=count) for count in (1, threads))
    assert one.every.probability.tolist() == other.every.probability.tolist()


@pytest.mark.slow
def test_members_of_a_family_have_better_rivals():
    companies = two_companies(1000, seed=3)
    found = resolve(companies.left, companies.right, fields=FIELDS)
    names = found.points[:, 0]
    assert np.count_nonzero(names == 0) < 0.05 * len(found)


@pytest.mark.slow
def test_names_are_matched_and_counted():
    """One column: the expected number of true matches is near the true one."""
    made = two_companies(1500, seed=5)
    found = resolve(made.left, made.right, fields=["name:customer=name"])
    truth = {*zip(*(one.to_pylist() for one in made.truth.columns), strict=True)}
    true = sum((left, right) in truth for left, right, _ in found)
    assert found.probability.sum() == pytest.approx(true, rel=0.1)
    assert found.stats["note"] == ""


def test_records_without_a_common_field_are_no_match():
    """A person and a film that is named after her have nothing that can be compared, but a word."""
    titles = [f"{a} of {b}" for a in ("Night", "Song", "House", "River") for b in ("Adele", "Bruno", "Carla", "Dario")]
    people = ["Adele Hugo", "Bruno Ganz", "Carla Bley", "Dario Fo"]
    films = [{"title": title, "name": None} for title in titles]
    every = resolve([*films[:4], *({"title": None, "name": name} for name in people)], films, fields=FILMS).every
    silent = np.isnan(every.points).all(axis=1)
    assert silent.any()
    assert every.probability[silent].max() < 1e-5
    assert every.probability[~silent].max() > 0.9


def test_nothing_to_compare():
    table = pa.table({"id": ["a"], "name": ["ann"]})
    assert len(resolve(table, pa.table({"id": ["b"], "name": ["bob"]}), fields=["name"])) == 0
    assert len(resolve(table, table.slice(1), fields=["name"])) == 0
