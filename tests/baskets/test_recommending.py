"""Check recommendations against a plain twin."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lookalike.baskets import Ratings, Recommender, recommend, recommend_all
from lookalike.baskets.recommending import later
from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from tests.basket_samples import FILMS, RATINGS, bags

# --- recommendations ---


def twin(rows, user, neighbours, half_life, way, liked):
    """Return what `recommend` computes, in plain Python: {item: score}, and {user: similarity}."""
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


@pytest.mark.slow
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
    # Which of equally similar users is asked can depend on the last digit.
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
    assert aliens.why == []  # they liked nothing that she liked
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
    """Of 6,000 ratings only the first is liked; its weight would underflow."""
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
        assert str(error.value) == f"the user must be one of the {users} users in the data; got {user!r}.{hint}"


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


# --- large and unusual data ---


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
