"""Baskets: users and what they bought or rated. Similar users, similar items, groups of items, recommendations.

Lives here: `ratings` (what was rated, as sets), `similar`, `recommending`, and `names` (of items, for people to read).
May import: `find`, `search` and what is below them. Files of ratings are read by `io.ratings`.
"""

from lookalike.baskets.ratings import Ratings
from lookalike.baskets.recommending import Recommender, recommend, recommend_all
from lookalike.baskets.similar import ItemGroups, find_similar, group_items

__all__ = ["ItemGroups", "Ratings", "Recommender", "find_similar", "group_items", "recommend", "recommend_all"]
