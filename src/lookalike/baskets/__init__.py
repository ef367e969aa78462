"""Baskets: users and what they bought or rated. Similar users, similar items, groups of items, recommendations."""

from lookalike.baskets.ratings import Ratings
from lookalike.baskets.recommending import Recommender, recommend, recommend_all
from lookalike.baskets.similar import ItemGroups, find_similar, group_items

__all__ = ["ItemGroups", "Ratings", "Recommender", "find_similar", "group_items", "recommend", "recommend_all"]
