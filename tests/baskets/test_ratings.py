"""Check ratings: what counts as liked, and how groups change them."""

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.baskets import Ratings, find_similar, group_items
from lookalike.core.errors import UsageError
from tests.basket_samples import FILMS, RATINGS, rows_of

# --- ways to make sets ---


@pytest.mark.parametrize(
    ("scale", "liked"), [((1, 5), 3.4), ((0.5, 5), 3.2), ((0, 10), 6.0), ((-10, 10), 2.0), ((0, 1), 0.6), ((3, 3), 3.0)]
)
def test_what_is_liked(scale, liked):
    ratings = Ratings.of([("a", "x", scale[0]), ("a", "y", scale[1])])
    assert ratings.liked_from() == liked
    assert ratings.likes().tolist() == [scale[0] == scale[1], True]


def test_sets_of_two_files_can_be_matched():
    """An element depends only on its id, not on the file."""
    other = Ratings.of([("eve", "Heat", 5), ("eve", "Fargo", 5), ("eve", "Vertigo", 4), ("fay", "Jaws", 1)])
    found = la.find_matches(RATINGS.sets(), other.sets(), threshold=0.9)
    assert list(found) == [("bob", "eve", 1.0)]


# --- groups ---


def test_by_groups():
    rows = [*FILMS, ("ann", "Aliens", 3, 40)]
    ratings = Ratings.of(rows)
    groups = group_items(ratings, threshold=0.6)
    assert list(groups) == [["Vertigo", "Fargo"], ["Alien", "Aliens"]]
    assert repr(groups) == "<2 groups with 4 of 5 items>"
    table = groups.to_arrow().to_pylist()
    assert table[3] == {"group": "Alien", "id": "Aliens", "similarity": 1.0, "size": 2}
    grouped = ratings.by_groups(groups)
    assert set(rows_of(grouped)) == {
        ("ann", "Vertigo", 5, 20), ("ann", "Alien", 3, 40), ("bob", "Vertigo", 5, 12), ("bob", "Heat", 5, 13),
        ("cy", "Alien", 5, 6), ("cy", "Vertigo", 2, 7), ("dee", "Alien", 4, 2),
    }  # fmt: skip
    assert list(find_similar(grouped, threshold=0.9)) == [("ann", "cy", 1.0)]
    with pytest.raises(UsageError, match=r"^groups must be made from these ratings"):
        grouped.by_groups(groups)
    plain = Ratings.of([row[:2] for row in rows])
    assert len(plain.by_groups(group_items(plain, threshold=0.6))) == 7


# --- large and unusual data ---


def test_many_users_and_items_do_not_overflow():
    """65,537 users times 65,536 items do not fit in 32 bits."""
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


def test_liked_that_would_have_no_effect():
    with pytest.raises(UsageError, match=r"^liked is for ratings 'high' or 'liked-hated'; got ratings='all'\.$"):
        find_similar(RATINGS, threshold=0.5, liked=4)
    unrated = Ratings.of([("a", "x"), ("b", "x")])
    with pytest.raises(
        UsageError, match=r"^liked needs a column of ratings, which the input does not have; leave out liked\.$"
    ):
        la.baskets.Recommender(unrated, liked=4)
