"""Baskets: find similar users, similar items and groups of items from ratings, and recommend items.

Lives here: `ratings` (ratings as sets), `similar`, `recommending`, and `names` (names of items).
May import: `find`, `search` and the packages below. Files of ratings are read by `io.ratings`.
"""

from lookalike.baskets import describe  # noqa: F401  which registers how pages show recommendations
from lookalike.baskets.ratings import Ratings
from lookalike.baskets.recommending import Recommendations, Recommender, recommend, recommend_all
from lookalike.baskets.similar import ItemGroups, find_similar, group_items

__all__ = [
    "ItemGroups",
    "Ratings",
    "Recommendations",
    "Recommender",
    "find_similar",
    "group_items",
    "recommend",
    "recommend_all",
]
