"""Entity resolution: which records are of the same person, product or paper, and how sure that is."""

from lookalike.entities.companies import two_companies
from lookalike.entities.fields import Field
from lookalike.entities.resolving import resolve
from lookalike.entities.scores import match_fraction, points

__all__ = ["Field", "match_fraction", "points", "resolve", "two_companies"]
