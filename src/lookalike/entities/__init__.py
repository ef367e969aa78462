"""Entity resolution: which records are of the same person, product or paper, and how sure that is."""

from lookalike.entities.scores import match_fraction, points

__all__ = ["match_fraction", "points"]
