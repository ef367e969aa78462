"""Baskets compared in every way against brute force, grouped, recommended from; and the command."""

import itertools
import json
from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.baskets import ItemGroups, Ratings, Recommender, find_similar, group_items, recommend, recommend_all
from lookalike.baskets.recommending import later
from lookalike.baskets.similar import least_of_max
from lookalike.core.errors import DataError, LookalikeError, UsageError
from lookalike.core.run import Run
from tests.basket_samples import FILMS, RATINGS, TABLE, rows_of, write
from tests.commands import Commands, complaint, left_in

# --- ways of making sets ---


def bags(rows: list[tuple[Any, ...]], by: str, way: str, liked: float) -> dict[Any, Counter[Any]]:
    """What is in the basket of each user, or item, as the textbook says; of the same rated twice the last."""
    found: dict[Any, Counter[Any]] = {}
    last = {(row[0], row[1]): row for row in rows}
    unit = Fraction(1, 2)
    for user, item, rating in last.values():
        owner, element = (user, item) if by == "user" else (item, user)
        basket = found.setdefault(owner, Counter())
        if way == "all" or (way == "high" and rating >= liked):
            basket[element] = 1
        elif way == "liked-hated":
            basket[element, rating >= liked] = 1
        elif way == "stars":
            basket[element] = int(Fraction(rating) / unit)
    return found


def brute_force(found: dict[Any, Counter[Any]], threshold: Fraction, union: str) -> dict[frozenset[Any], Fraction]:
    """All pairs that are similar enough, by fractions."""
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
    ratings = Ratings.of(rows)
    found = find_similar(ratings, by=by, ratings=way, liked=liked, union=union, threshold=threshold, recall=1.0)
    expected = brute_force(bags(rows, by, way, ratings.liked_from(liked)), Fraction(threshold), union)
    assert {frozenset((a, b)): value for a, b, value in found} == {
        pair: float(value) for pair, value in expected.items()
    }
    assert (found.values >= float(Fraction(threshold))).all()


@given(rows=triples, way=st.sampled_from(["all", "high", "liked-hated", "stars"]))
@settings(max_examples=50)
def test_the_dual_view(rows, way):
    """Users by their items are items by their users, with the columns swapped."""
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
    """Two bags of 12 that share so many: what is right at the threshold is there, what is beyond is not."""
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
        ({"union": "sum"}, "union 'sum' is for ratings 'stars'; got 'all'."),
        (
            {"union": "sum", "ratings": "stars", "threshold": 0.6},
            "threshold must be in (0, 0.5] for union 'sum', by which equal bags have 1/2; got 0.6.",
        ),
        ({"threshold": 20}, "threshold must be in (0, 1]; got 20. Did you mean 0.2?"),
        ({"threshold": "x", "ratings": "stars", "union": "sum"}, "threshold must be a number in (0, 1]; got 'x'."),
        ({"ratings": "high", "liked": "4"}, "liked must be a number, the least rating of what is liked; got '4'."),
        ({"ratings": "high", "liked": np.nan}, "liked must be a number, the least rating of what is liked; got nan."),
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
    assert str(error.value) == f"ratings must be 'all' where there is no column of ratings; got {way!r}."


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 3], "ratings must be above 0 to be counted as stars; got 0. Take 'all', 'high', 'liked-hated'."),
        ([-1, 3], "ratings must be above 0 to be counted as stars; got -1. Take 'all', 'high', 'liked-hated'."),
        ([0.001, 3], "ratings must be on a scale of at most 1,000 even steps to be counted as stars."),
        ([1 / 3, 1], "ratings must be on a scale of at most 1,000 even steps to be counted as stars."),
    ],
)
def test_ratings_that_are_no_stars(values, message):
    rows = [("a", f"x{at}", value) for at, value in enumerate(values)]
    with pytest.raises(DataError) as error:
        find_similar(rows, ratings="stars")
    assert str(error.value) == message
    assert len(find_similar(rows, ratings="liked-hated")) == 0


@pytest.mark.parametrize(
    ("scale", "liked"), [((1, 5), 3.4), ((0.5, 5), 3.2), ((0, 10), 6.0), ((-10, 10), 2.0), ((0, 1), 0.6), ((3, 3), 3.0)]
)
def test_what_is_liked(scale, liked):
    ratings = Ratings.of([("a", "x", scale[0]), ("a", "y", scale[1])])
    assert ratings.liked_from() == liked
    assert ratings.likes().tolist() == [scale[0] == scale[1], True]


def test_explain_names_what_is_shared():
    found = find_similar(RATINGS, ratings="liked-hated", threshold=0.3, recall=1.0)
    pair = next(at for at, (left, right, _) in enumerate(found) if {left, right} == {"cy", "dee"})
    why = found.explain(pair)
    assert (why.both, sorted(why.left_only + why.right_only)) == (["Alien liked", "Aliens liked"], ["Vertigo hated"])
    assert why.similarity == found.values[pair]
    found = find_similar(RATINGS, by="item", ratings="stars", threshold=0.5, recall=1.0)
    assert [(left, right) for left, right, _ in found] == [("Vertigo", "Fargo"), ("Fargo", "Heat"), ("Alien", "Aliens")]
    assert found.explain(2).both == ["cy"] * 5 + ["dee"] * 4


def test_sets_of_two_files_can_be_matched():
    """An element is its id, wherever it was read."""
    other = Ratings.of([("eve", "Heat", 5), ("eve", "Fargo", 5), ("eve", "Vertigo", 4), ("fay", "Jaws", 1)])
    found = la.find_matches(RATINGS.sets(), other.sets(), threshold=0.9)
    assert list(found) == [("bob", "eve", 1.0)]


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


@given(rows=triples, threshold=st.sampled_from([0.3, 0.5]), way=st.sampled_from(["all", "high", "stars"]))
@settings(max_examples=100)
def test_groups(rows, threshold, way):
    """Each item is similar to the centre of its group, which is no less popular; no two centres are similar."""
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


def test_by_groups():
    rows = [*FILMS, ("ann", "Aliens", 3, 40)]
    ratings = Ratings.of(rows)
    groups = group_items(ratings, threshold=0.6)
    assert list(groups) == [["Vertigo", "Fargo"], ["Alien", "Aliens"]]
    assert repr(groups) == "<2 groups of 4 among 5 items>"
    table = groups.to_arrow().to_pylist()
    assert table[3] == {"group": "Alien", "id": "Aliens", "similarity": 1.0, "size": 2}
    grouped = ratings.by_groups(groups)
    assert set(rows_of(grouped)) == {
        ("ann", "Vertigo", 5, 20), ("ann", "Alien", 3, 40), ("bob", "Vertigo", 5, 12), ("bob", "Heat", 5, 13),
        ("cy", "Alien", 5, 6), ("cy", "Vertigo", 2, 7), ("dee", "Alien", 4, 2),
    }  # fmt: skip
    assert list(find_similar(grouped, threshold=0.9)) == [("ann", "cy", 1.0)]
    with pytest.raises(UsageError, match=r"^groups must be those of the items of these ratings"):
        grouped.by_groups(groups)
    plain = Ratings.of([row[:2] for row in rows])
    assert len(plain.by_groups(group_items(plain, threshold=0.6))) == 7


def test_groups_do_not_chain():
    """b is similar to a and to c, which are not similar to each other; the most popular is the centre."""
    rows = (
        [(user, "a") for user in range(6)]
        + [(user, "b") for user in range(3, 9)]
        + [(user, "c") for user in range(6, 12)]
    )
    assert list(group_items([*rows, (0, "x")], threshold=0.3)) == [["a", "b"]]
    assert list(group_items([*rows, (20, "b")], threshold=0.3)) == [["b", "a", "c"]]
    assert isinstance(group_items(rows), ItemGroups)


# --- recommendations ---


def twin(rows, user, neighbours, half_life, way, liked):
    """What `recommend` computes, in plain Python: {item: score}, and {user: similarity}."""
    own: dict[Any, list[tuple[Any, ...]]] = {}
    for row in rows:
        own.setdefault(row[0], []).append(row)
    for name, mine in own.items():
        latest = {row[1]: row for row in sorted(mine, key=lambda row: row[3])}
        own[name] = sorted(latest.values(), key=lambda row: row[3])
    every = [row for mine in own.values() for row in mine]
    high, low = max(row[2] for row in every), min(row[2] for row in every)
    least = float(Fraction(low) + Fraction(3, 5) * (Fraction(high) - Fraction(low))) if liked is None else liked
    baskets = bags([row[:3] for row in every], "user", way, least)
    weight = {}
    for row in own[user]:
        after = sum(other[3] > row[3] for other in own[user])
        key = (row[1], row[2] >= least) if way == "liked-hated" else row[1]
        weight[key] = 0.5 ** (after / half_life) if half_life else 1.0
    mine = baskets[user]
    total = sum(weight[key] * count for key, count in mine.items())
    near = {}
    for other, theirs in baskets.items():
        shared = sum(weight[key] * min(count, theirs[key]) for key, count in mine.items())
        if other != user and shared:
            both = shared / total * mine.total()
            near[other] = both / (mine.total() + theirs.total() - both)
    order = list(dict.fromkeys(row[0] for row in rows))
    kept = sorted(near, key=lambda other: (-near[other], order.index(other)))[:neighbours]
    popularity = Counter(row[1] for row in every)
    scores: Counter[Any] = Counter()
    likes = set()
    for other in kept:
        for row in own[other]:
            if row[1] not in {mine[1] for mine in own[user]}:
                scores[row[1]] += near[other] ** 3 * max(row[2], 0) / high
                likes |= {row[1]} if row[2] >= least else set()
    return {item: score / popularity[item] ** 0.3 for item, score in scores.items() if item in likes}, {
        other: near[other] for other in kept
    }


quadruples = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from("stuvwxyz"),
        st.sampled_from([0.5, 1, 2, 3.5, 4, 5]),
        st.integers(0, 5),
    ),
    min_size=2,
    max_size=40,
)


@given(
    rows=quadruples,
    way=st.sampled_from(["all", "high", "liked-hated", "stars"]),
    half_life=st.sampled_from([0, 1, 4.0]),
    neighbours=st.sampled_from([3, 200]),
    liked=st.sampled_from([None, 3.5]),
)
@settings(max_examples=200)
def test_recommendations_are_those_of_the_twin(rows, way, half_life, neighbours, liked):
    user = rows[0][0]
    scores, near = twin(rows, user, neighbours, half_life, way, liked)
    options = {"neighbours": neighbours, "ratings": way, "half_life": half_life, "liked": liked}
    found = recommend(rows, user, k=4, **options)
    # Which of equally similar users is asked may hang on the last digit.
    assume(len(near) < neighbours or len({round(value, 9) for value in near.values()}) == len(near))
    best = sorted(scores.values(), reverse=True)[:4]
    assert [one.score for one in found] == pytest.approx([score / best[0] for score in best])
    for one in found:
        assert one.score * best[0] == pytest.approx(scores[one.item])
        assert all(near[other.user] == pytest.approx(other.similarity) for other in one.who)
    table = recommend_all(rows, [user], k=4, **options)
    assert table["item"].to_pylist() == [one.item for one in found]
    assert table["score"].to_pylist() == [one.score for one in found]


def test_who_and_why():
    found = recommend(RATINGS, "ann", half_life=0)
    assert repr(found) == "<2 items for 'ann', liked by similar users>"
    heat, aliens = found
    assert (heat.item, heat.score) == ("Heat", 1.0)
    assert heat.who == [("bob", 8 / 16, 5.0)]
    assert heat.why == ["Fargo", "Vertigo"]  # the latest first
    assert [other.user for other in aliens.who] == ["cy", "dee"]
    assert aliens.why == []  # they liked nothing that she did
    assert found.neighbours == 3
    rows = found.to_arrow().to_pylist()
    assert rows[0]["who"] == [{"user": "bob", "similarity": 0.5, "rating": 5.0}]


def test_the_latest_count_most():
    """One user has what ann had lately, the other what she had long ago."""
    rows = [("ann", f"old{i}", 5, i) for i in range(8)] + [("ann", f"new{i}", 5, 10 + i) for i in range(4)]
    rows += [("lately", f"new{i}", 5, 1) for i in range(4)] + [("lately", "fresh", 5, 1)]
    rows += [("long ago", f"old{i}", 5, 1) for i in range(8)] + [("long ago", "stale", 5, 1)]
    assert [one.item for one in recommend(rows, "ann")] == ["fresh", "stale"]
    assert [one.item for one in recommend(rows, "ann", half_life=0)] == ["stale", "fresh"]
    assert [one.item for one in recommend([row[:3] for row in rows], "ann")] == ["stale", "fresh"]


def test_old_ratings_count_however_many_came_after():
    """Of 6,000 ratings only the first is liked; its weight is too small for a number."""
    rows = [("ann", 0, 5, 0), *(("ann", item, 1, item) for item in range(1, 6000))]
    rows += [("bob", item, 5, 1) for item in (0, 7000)] + [("cy", item, 1, 1) for item in range(1, 50)]
    for way in ("high", "all"):
        found = recommend(rows, "ann", ratings=way)
        assert [(one.item, one.why) for one in found] == [(7000, [0])]


def test_later():
    ratings = Ratings.of([("a", "x", 1, 5), ("a", "y", 1, 7), ("a", "z", 1, 5), ("b", "x", 1, 1), ("a", "w", 1, 9)])
    assert later(ratings).tolist() == [2, 2, 1, 0, 0]


def test_what_nobody_liked_is_not_recommended():
    rows = [("a", "x", 5), ("b", "x", 5), ("b", "bad", 1), ("b", "good", 4), ("c", "x", 4), ("c", "bad", 2)]
    assert [one.item for one in recommend(rows, "a")] == ["good"]
    assert {one.item for one in recommend(rows, "a", liked=1)} == {"bad", "good"}
    assert len(recommend([("a", "x"), ("b", "y")], "a")) == 0
    assert recommend([("a", "x"), ("b", "y")], "a").to_arrow().schema.names == ["item", "score", "who", "why"]


def test_ratings_may_be_negative():
    rows = [("a", "x", 9), ("b", "x", 8), ("b", "y", 7), ("b", "z", -5), ("c", "x", -10), ("c", "y", -9)]
    assert Recommender(rows).ratings == "all"
    assert [one.item for one in recommend(rows, "a")] == ["y"]


def test_recommendations_without_ratings():
    found = recommend([row[:2] for row in FILMS], "dee")
    assert [one.item for one in found] == ["Vertigo", "Fargo"]
    assert found.found[0].who[0] == ("cy", 2 / 3, None)


def test_recommend_all():
    table = recommend_all(RATINGS, k=2)
    assert table.schema.names == ["user", "item", "rank", "score"]
    assert set(table["user"].to_pylist()) == {"ann", "bob", "cy", "dee"}
    for user in ("ann", "dee"):
        rows = [row for row in table.to_pylist() if row["user"] == user]
        assert [row["item"] for row in rows] == [one.item for one in recommend(RATINGS, user, k=2)]
        assert [row["rank"] for row in rows] == [1, 2]
    some = recommend_all(RATINGS, ["dee", "ann", "dee"], k=1)
    assert some["user"].to_pylist() == ["dee", "ann", "dee"]


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(5)
    rows = rng.integers(1, (700, 90, 6), (5000, 3)).tolist()
    one, two = (Recommender(rows, run=Run(threads)).recommend_all() for threads in (1, 3))
    assert one.equals(two)


@pytest.mark.parametrize(
    ("rows", "user", "hint"),
    [
        (FILMS, "anne", " Did you mean 'ann'?"),
        (FILMS, "zzz", ""),
        ([(101, 1), (102, 1)], 1011, " Did you mean '101'?"),
    ],
)
def test_unknown_users(rows, user, hint):
    users = len({row[0] for row in rows})
    for call in (lambda: recommend(rows, user), lambda: recommend_all(rows, [user])):
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value) == f"user must be one of the {users} users there are; got {user!r}.{hint}"


def test_users_of_any_type():
    rows = [(101, 1), (101, 2), (102, 1), (102, 3)]
    assert recommend(rows, "101").found == recommend(rows, 101).found != []
    assert recommend(rows, 101).user == 101


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1; got 0."),
        ({"neighbours": 0}, "neighbours must be an integer of at least 1; got 0."),
        ({"half_life": -1}, "half_life must be in [0, infinity); got -1."),
        ({"ratings": "some"}, "ratings must be one of all, high, liked-hated, stars; got 'some'."),
    ],
)
def test_wrong_options_of_recommendations(options, message):
    with pytest.raises(UsageError) as error:
        recommend(RATINGS, "ann", **options)
    assert str(error.value) == message


# --- the command ---


@pytest.fixture
def ratings_csv(inputs):
    return write(TABLE, inputs / "ratings.csv")


@pytest.fixture
def titles(inputs):
    (inputs / "titles.csv").write_text("item,title\nVertigo,Vertigo (1958)\nHeat,Heat [1995]\nAlien,Alien (1979)\n")
    return inputs / "titles.csv"


def json_rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_pairs_of_users(run: Commands, ratings_csv):
    done = run("baskets", ratings_csv, "-t", 0.5)
    assert done.code == 0
    expected = find_similar(RATINGS, threshold=0.5).to_arrow().to_pylist()
    assert sorted(map(str, json_rows(done.out))) == sorted(map(str, expected))
    lines = done.err.splitlines()
    assert lines[0] == "ratings: 11 by 4 users of 5 items"
    assert any(line.startswith("plan: jaccard >= 0.5 of sets") for line in lines)
    assert any(line.startswith("found: 3 pairs, all verified") for line in lines)
    assert run("baskets", ratings_csv, "-t", 0.5, "--quiet").err == ""


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_pairs_of_items_with_names(run: Commands, ratings_csv, titles, out, suffix):
    path = out / f"pairs{suffix}"
    done = run(
        "baskets", ratings_csv, "--by", "item", "--ratings", "high", "--names", titles, "-o", path, "--recall", 1
    )
    assert (done.code, done.out) == (0, "")
    assert "liked: what is rated 3.4 or more; ratings go from 1 to 5" in done.err
    assert "names: 2 items without one, shown by id" in done.err
    if suffix == ".parquet":
        table = pq.read_table(path)
        assert table.schema.names == ["left", "right", "similarity", "left_name", "right_name"]
        assert {
            "left": "Vertigo",
            "right": "Fargo",
            "similarity": 1.0,
            "left_name": "Vertigo (1958)",
            "right_name": "Fargo",
        } in table.to_pylist()
        assert table.schema.metadata[b"lookalike.ratings"] == b"high"
    assert left_in(out) == {path.name}


def test_stars_by_sums(run: Commands, ratings_csv):
    done = run("baskets", ratings_csv, "--ratings", "stars", "--union", "sum", "-t", "1/3", "--audit", 4)
    assert "union: 1/3 by sums is 1/2 by maxima, as in the plan" in done.err
    assert "plan: bag_jaccard >= 0.5 of sets" in done.err
    assert "audit: 2 of 2 true pairs of 4 sampled items found: recall 1.0000" in done.err
    assert {row["similarity"] for row in json_rows(done.out)} == {8 / 24, 8 / 20}


def test_groups_of_the_command(run: Commands, inputs, ratings_csv, titles, out):
    done = run(
        "baskets", ratings_csv, "--groups", 0.6, "--groups-out", out / "groups.csv", "--names", titles,
        "-t", 0.5, "-o", out / "pairs.csv",
    )  # fmt: skip
    assert done.code == 0
    assert "groups: 2 groups of 4 items, each at least 0.6 similar to its centre; 1 item alone" in done.err
    assert (out / "groups.csv").read_text().splitlines()[:3] == [
        '"group","id","name","similarity","size"',
        '"Vertigo","Vertigo","Vertigo (1958)",1,2',
        '"Vertigo","Fargo","Fargo",0.6666666666666666,2',
    ]
    assert '"ann","cy",1' in (out / "pairs.csv").read_text()


def test_groups_are_written_if_all_goes_well(run: Commands, ratings_csv, out):
    options = (
        "--groups",
        0.6,
        "--groups-out",
        out / "groups.csv",
        "-t",
        0.1,
        "--max-pairs",
        1,
        "-o",
        out / "pairs.csv",
    )
    done = run("baskets", ratings_csv, *options)
    assert done.code == 1
    assert left_in(out) == set()


def test_recommendations_of_the_command(run: Commands, ratings_csv, titles, out):
    done = run("baskets", ratings_csv, "--recommend", "ann", "--names", titles, "--half-life", 0)
    first = json_rows(done.out)[0]
    assert (first["item"], first["name"], first["score"]) == ("Heat", "Heat [1995]", 1.0)
    assert first["who"] == [{"user": "bob", "similarity": 0.5, "rating": 5.0}]
    assert first["why"] == ["Fargo", "Vertigo (1958)"]
    for words in (
        "recommended to ann",
        "Heat [1995]",
        "bob (0.50): 5",
        "found: 2 items that some of 3 similar users liked",
    ):
        assert words in done.err
    done = run("baskets", ratings_csv, "--recommend", "ann", "--top", 1, "-o", out / "a.csv", "--half-life", 0, "-q")
    assert done.err == ""
    assert (out / "a.csv").read_text().splitlines() == [
        '"item","score","who","why"',
        '"Heat",1,"bob (0.50 similar, gave 5)","Fargo; Vertigo"',
    ]
    for name in ("a.parquet", "a.arrow", "a.jsonl"):
        assert run("baskets", ratings_csv, "--recommend", "ann", "-o", out / name).code == 0


def test_nothing_to_recommend(run: Commands, inputs, out):
    path = inputs / "a.csv"
    path.write_text("user,item\na,x\nb,y\n")
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        done = run("baskets", path, "--recommend", "a", "-o", out / name)
        assert done.code == 0
        assert "found: 0 items that some of 0 similar users liked" in done.err
    assert run("baskets", path, "--recommend-all").out == ""


def test_recommend_all_of_the_command(run: Commands, ratings_csv, titles):
    done = run("baskets", ratings_csv, "--recommend-all", "--top", 1, "--names", titles)
    rows = json_rows(done.out)
    assert [row["user"] for row in rows] == ["ann", "bob", "cy", "dee"]
    assert list(rows[0]) == ["user", "item", "name", "rank", "score"]
    assert "found: 4 items for 4 users" in done.err


def test_the_data_of_movielens(run: Commands, inputs):
    """No names, no suffix, tabs; titles in Latin-1 between bars."""
    start = datetime(1998, 1, 1)
    rows = [
        (user, item, 1 + (user * item) % 5, int((start + timedelta(days=user + item)).timestamp()))
        for user in range(1, 9)
        for item in range(1, 6)
        if (user + item) % 3
    ]
    (inputs / "u.data").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    (inputs / "u.item").write_bytes(
        "".join(f"{item}|Café {item}|01-Jan-1995||0\n" for item in range(1, 6)).encode("latin-1")
    )
    done = run("baskets", inputs / "u.data", "--format", "tsv", "--recommend", "3", "--names", inputs / "u.item")
    assert done.code == 0
    assert all(row["name"] == f"Café {row['item']}" for row in json_rows(done.out))
    assert len(json_rows(done.out)) > 0


def test_bad_rows_of_the_command(run: Commands, inputs):
    path = inputs / "a.csv"
    path.write_text("user,item,rating\na,x,5\na,x,4\nb,y,?\n,z,1\n")
    assert complaint(run("baskets", path)).startswith(
        f"{path}, row 3: rating must be a number; got '?'; on_error='skip'"
    )
    done = run("baskets", path, "--on-error", "skip")
    assert (
        done.err.splitlines()[0] == "ratings: 1 by 1 user of 1 item (1 repeated, of which the last counts; 2 skipped)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "film"], "by must be one of user, item; got 'film'."),
        (["--ratings", "some"], "ratings must be one of all, high, liked-hated, stars; got 'some'."),
        (["--union", "all"], "union must be one of max, sum; got 'all'."),
        (["--threshold", "2"], "threshold must be in (0, 1]; got '2'."),
        (["--groups", "x"], "groups must be a number in (0, 1]; got 'x'."),
        (["--groups-out", "g.csv"], "--groups-out is for groups: give their threshold with --groups."),
        (["--groups", "0.5", "--groups-out", "-"], "--groups-out must be a file; standard output is for --out."),
        (["--groups", "0.5", "--groups-out", "g.csv", "-o", "g.csv"], "--out and --groups-out must be two files."),
        (["--groups", "0.5", "--by", "item"], "--groups is for users who are similar by groups of items: --by user."),
        (["--recommend", "ann", "--by", "item"], "recommendations come from similar users: --by user."),
        (["--recommend", "ann", "--recommend-all"], "give --recommend USER or --recommend-all, not both."),
        (["--names", "x.csv"], "--names are of items, which pairs of users do not show."),
    ],
)  # fmt: skip
def test_wrong_use_is_told_before_anything_is_read(run: Commands, options, message):
    done = run("baskets", "nowhere.csv", *options)
    assert done.code == 2
    assert complaint(done) == message


def test_errors_of_the_command(run: Commands, ratings_csv, tmp_path):
    done = run("baskets", tmp_path / "no.csv")
    assert (done.code, complaint(done)) == (1, f"{tmp_path / 'no.csv'}: no such file or folder.")
    done = run("baskets", ratings_csv, "--recommend", "anne")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "lookalike: user must be one of the 4 users there are; got 'anne'. Did you mean 'ann'?"
    )
    done = run("baskets", ratings_csv, "--by", "item", "--names", tmp_path / "no.csv")
    assert done.err.splitlines()[-1] == f"lookalike: {tmp_path / 'no.csv'}: no such file of names."


def test_help(run: Commands):
    done = run("baskets", "--help")
    assert done.code == 0
    for words in ("--recommend", "--groups", "--ratings", "lookalike baskets ratings.csv"):
        assert words in done.out


# --- many and odd ---


def test_many_users_and_items_do_not_overflow():
    """65,537 users with 65,536 items: their product does not fit in 32 bits."""
    users = np.arange(65_537)
    ratings = Ratings.of(pa.table({"user": users, "item": np.minimum(users, 65_535) * (users < 65_536)}))
    assert (len(ratings), ratings.stats["repeated"]) == (65_537, 0)
    assert ratings.users.dtype == np.int64
    groups = group_items(ratings, threshold=0.9)
    assert len(ratings.by_groups(groups)) == 65_537


def test_groups_do_not_move_what_is_liked():
    rows = [(f"u{at}", film, stars) for at in range(6) for film, stars in (("A", 4), ("B", 1), ("C", 5))]
    ratings = Ratings.of(rows)
    grouped = ratings.by_groups(group_items(ratings, threshold=0.9))
    assert grouped.scale == ratings.scale == (1, 5)
    assert grouped.liked_from() == ratings.liked_from()


@pytest.mark.parametrize("values", [(0.0, 0.0, 0.0), (-3.0, -2.0, -1.0), (0.123, 4.567, 3.9999)])
def test_recommendations_of_odd_scales(values):
    """All the same, below 0, or too fine to be counted as stars."""
    low, middle, high = values
    rows = [("a", "x", high), ("b", "x", high), ("b", "y", high), ("c", "z", low), ("d", "z", middle)]
    rows += [(f"e{at}", "q", low + (high - low) * at / 1500) for at in range(1500)]
    assert [one.item for one in recommend(rows, "a")] == ["y"]


def test_reasons_are_liked_by_both():
    rows = [("a", "x", 1.0), ("a", "q", 5.0), ("b", "x", 1.0), ("b", "y", 5.0)]
    assert [(one.item, one.why) for one in recommend(rows, "a")] == [("y", [])]


def test_a_user_with_brackets(run, inputs):
    (inputs / "r.csv").write_text("user,item\n[/b],x\nann,x\nann,y\n")
    found = run("baskets", inputs / "r.csv", "--recommend", "[/b]")
    assert found.code == 0, found.err
    assert "recommended to [/b]" in found.err
