"""Check similar users and items against brute force, in every way, and groups."""

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.baskets import ItemGroups, Ratings, find_similar, group_items
from lookalike.baskets.similar import least_of_max
from lookalike.core.errors import DataError, LookalikeError, UsageError
from tests.basket_samples import RATINGS, bags

# --- ways to make sets ---


def brute_force(found: dict[Any, Counter[Any]], threshold: Fraction, union: str) -> dict[frozenset[Any], Fraction]:
    """Return all pairs that are similar enough, in fractions."""
    out = {}
    for (a, one), (b, two) in itertools.combinations(found.items(), 2):
        both = (one & two).total()
        whole = (one | two).total() if union == "max" else (one + two).total()
        if both and Fraction(both, whole) >= threshold:
            out[frozenset((a, b))] = Fraction(both, whole)
    return out


triples = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("tuvwxyz"), st.sampled_from([0.5, 1, 1.5, 2, 3.5, 4, 5])),
    min_size=1,
    max_size=40,
)


@pytest.mark.slow
@given(
    rows=triples,
    by=st.sampled_from(["user", "item"]),
    way=st.sampled_from(["all", "high", "liked-hated", "stars", "stars by sums"]),
    threshold=st.sampled_from(["0.1", "0.2", "0.3", "1/3", "0.4", "0.5"]),
    liked=st.sampled_from([1, 2, 3.5, 4, None]),
)
@settings(max_examples=200)
def test_pairs_are_those_of_brute_force(rows, by, way, threshold, liked):
    way, union = ("stars", "sum") if way.endswith("sums") else (way, "max")
    liked = liked if way in ("high", "liked-hated") else None
    ratings = Ratings.of(rows)
    found = find_similar(ratings, by=by, ratings=way, liked=liked, union=union, threshold=threshold, recall=1.0)
    expected = brute_force(bags(rows, by, way, ratings.liked_from(liked)), Fraction(threshold), union)
    assert {frozenset((a, b)): value for a, b, value in found} == {
        pair: float(value) for pair, value in expected.items()
    }
    assert (found.values >= float(Fraction(threshold))).all()


@pytest.mark.slow
@given(rows=triples, way=st.sampled_from(["all", "high", "liked-hated", "stars"]))
@settings(max_examples=50)
def test_the_dual_view(rows, way):
    """Users by their items are the same as items by their users with the columns swapped."""
    swapped = [(item, user, rating) for user, item, rating in rows]
    options = {"ratings": way, "threshold": 0.3, "recall": 1.0}
    one = {frozenset(pair[:2]): pair[2] for pair in find_similar(rows, by="user", **options)}
    assert one == {frozenset(pair[:2]): pair[2] for pair in find_similar(swapped, by="item", **options)}


def test_ways_by_hand():
    """ann liked Vertigo and Fargo; bob both and Heat; cy and dee the two others."""
    assert RATINGS.liked_from() == 3.4
    expected = {
        "all": {("ann", "bob"): 2 / 4, ("ann", "cy"): 2 / 4, ("cy", "dee"): 2 / 3},
        "high": {("ann", "bob"): 2 / 3, ("cy", "dee"): 1.0},
        "liked-hated": {("ann", "bob"): 2 / 4, ("cy", "dee"): 2 / 3},
        "stars": {("ann", "bob"): 8 / 16, ("cy", "dee"): 8 / 12},
    }
    for way, pairs in expected.items():
        found = find_similar(RATINGS, ratings=way, threshold=0.3, recall=1.0)
        assert {tuple(sorted(pair[:2])): pair[2] for pair in found} == pairs


def test_stars_of_halves_count_exactly():
    """3.5 stars are 7 halves, 2.5 are 5; 10, 20 and 30 are 1, 2 and 3."""
    rows = [("a", "x", 3.5), ("b", "x", 2.5), ("c", "x", 1.0)]
    found = {pair[:2]: pair[2] for pair in find_similar(rows, ratings="stars", threshold=0.01, recall=1.0)}
    assert found == {("a", "b"): 5 / 7, ("a", "c"): 2 / 7, ("b", "c"): 2 / 5}
    tens = Ratings.of([("a", "x", 10), ("a", "y", 20), ("b", "x", 30), ("c", "x", 0.25)])
    assert tens.stars().tolist() == [40, 80, 120, 1]
    assert Ratings.of([("a", "x", 10), ("a", "y", 20), ("b", "x", 30)]).stars().tolist() == [1, 2, 3]


@pytest.mark.parametrize("shared", range(1, 13))
def test_both_unions_at_the_boundary(shared):
    """Two bags of 12: a pair exactly at the threshold is found, one below it is not."""
    rows = [("a", f"s{i}", 1.0) for i in range(shared)] + [("b", f"s{i}", 1.0) for i in range(shared)]
    rows += [(user, f"{user}{i}", 1.0) for user in "ab" for i in range(12 - shared)]
    for union, value in (("max", Fraction(shared, 24 - shared)), ("sum", Fraction(shared, 24))):
        for method in ("exact", "auto"):
            options = {"ratings": "stars", "union": union, "method": method}
            found = find_similar(rows, threshold=value, **options)
            assert found.values.tolist() == [float(value)]
            if value < (1 if union == "max" else Fraction(1, 2)):
                beyond = value + Fraction(1, 10**6)
                assert len(find_similar(rows, threshold=beyond, **options)) == 0
    assert least_of_max(Fraction(shared, 24)) == Fraction(shared, 24 - shared)


def test_equal_bags_have_one_or_a_half():
    rows = [(user, item, stars) for user in "ab" for item, stars in (("x", 3), ("y", 5))]
    for union, value in (("max", 1.0), ("sum", 0.5)):
        assert list(find_similar(rows, ratings="stars", union=union, threshold=0.5)) == [("a", "b", value)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "film"}, "by must be one of user, item; got 'film'."),
        ({"ratings": "some"}, "ratings must be one of all, high, liked-hated, stars; got 'some'."),
        ({"union": "min", "ratings": "stars"}, "union must be one of max, sum; got 'min'."),
        ({"union": "sum"}, "union='sum' needs ratings='stars'; got ratings='all'."),
        (
            {"union": "sum", "ratings": "stars", "threshold": 0.6},
            "threshold must be in (0, 0.5] for union='sum', where equal bags have similarity 1/2; got 0.6.",
        ),
        ({"threshold": 20}, "threshold must be in (0, 1]; got 20. Did you mean 0.2?"),
        ({"threshold": "x", "ratings": "stars", "union": "sum"}, "threshold must be a number in (0, 1]; got 'x'."),
        ({"ratings": "high", "liked": "4"}, "liked must be a number, the lowest rating that means liked; got '4'."),
        ({"ratings": "high", "liked": np.nan}, "liked must be a number, the lowest rating that means liked; got nan."),
    ],
)  # fmt: skip
def test_wrong_options(options, message):
    with pytest.raises(UsageError) as error:
        find_similar(RATINGS, **options)
    assert str(error.value) == message


@pytest.mark.parametrize("way", ["high", "liked-hated", "stars"])
def test_ways_that_need_ratings(way):
    with pytest.raises(UsageError) as error:
        find_similar([("a", "x")], ratings=way)
    assert str(error.value) == f"ratings must be 'all' if there is no column of ratings; got {way!r}."


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 3], "the ratings must be above 0 to be counted as stars; got 0. Use 'all', 'high', 'liked-hated'."),
        ([-1, 3], "the ratings must be above 0 to be counted as stars; got -1. Use 'all', 'high', 'liked-hated'."),
        ([0.001, 3], "the ratings must be on a scale of at most 1,000 even steps to be counted as stars."),
        ([1 / 3, 1], "the ratings must be on a scale of at most 1,000 even steps to be counted as stars."),
    ],
)
def test_ratings_that_are_not_stars(values, message):
    rows = [("a", f"x{at}", value) for at, value in enumerate(values)]
    with pytest.raises(DataError) as error:
        find_similar(rows, ratings="stars")
    assert str(error.value) == message
    assert len(find_similar(rows, ratings="liked-hated")) == 0


def test_explain_names_what_is_shared():
    found = find_similar(RATINGS, ratings="liked-hated", threshold=0.3, recall=1.0)
    pair = next(at for at, (left, right, _) in enumerate(found) if {left, right} == {"cy", "dee"})
    why = found.explain(pair)
    assert (why.both, sorted(why.left_only + why.right_only)) == (["Alien liked", "Aliens liked"], ["Vertigo hated"])
    assert why.similarity == found.values[pair]
    found = find_similar(RATINGS, by="item", ratings="stars", threshold=0.5, recall=1.0)
    assert [(left, right) for left, right, _ in found] == [("Vertigo", "Fargo"), ("Fargo", "Heat"), ("Alien", "Aliens")]
    assert found.explain(2).both == ["cy"] * 5 + ["dee"] * 4


def test_options_are_passed_on():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, (300, 60), (6000, 2)).tolist()
    exact = find_similar(rows, threshold=0.3, method="exact")
    found = find_similar(rows, threshold=0.3, method="lsh", recall=0.95, audit=100, seed=3, threads=2)
    assert (found.plan.method, found.plan.seed, found.audit.sampled) == ("lsh", 3, 100)
    assert found.plan.recall >= 0.95
    every = set(exact)
    assert set(found) <= every
    assert len(found) > 0.9 * len(every) > 100
    with pytest.raises(LookalikeError, match="more than max_pairs"):
        find_similar(rows, threshold=0.3, max_pairs=10)


# --- groups ---


@pytest.mark.slow
@given(rows=triples, threshold=st.sampled_from([0.3, 0.5]), way=st.sampled_from(["all", "high", "stars"]))
@settings(max_examples=100)
def test_groups(rows, threshold, way):
    """Each item is similar to its centre, which is at least as popular; no two centres are."""
    ratings = Ratings.of(rows)
    groups = group_items(ratings, threshold=threshold, ratings=way, recall=1.0)
    baskets = bags(rows, "item", way, ratings.liked_from())
    ids, popularity = ratings.item_ids.to_pylist(), ratings.popularity
    similar = brute_force(baskets, Fraction(str(threshold)), "max")
    for item, centre in enumerate(groups.centre.tolist()):
        assert groups.centre[centre] == centre
        assert popularity[centre] >= popularity[item]
        if item != centre:
            assert groups.values[item] == float(similar[frozenset((ids[item], ids[centre]))])
    centres = [ids[centre] for centre in set(groups.centre.tolist())]
    assert not any(frozenset(pair) in similar for pair in itertools.combinations(centres, 2))
    assert sum(map(len, groups)) == groups.to_arrow().num_rows


def test_groups_do_not_chain():
    """b is similar to a and to c, which are not similar; the most popular is a centre."""
    rows = (
        [(user, "a") for user in range(6)]
        + [(user, "b") for user in range(3, 9)]
        + [(user, "c") for user in range(6, 12)]
    )
    assert list(group_items([*rows, (0, "x")], threshold=0.3)) == [["a", "b"]]
    assert list(group_items([*rows, (20, "b")], threshold=0.3)) == [["b", "a", "c"]]
    assert isinstance(group_items(rows), ItemGroups)
