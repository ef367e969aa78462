"""Entity resolution: which records are of the same person, product or paper, and how sure that is.

Lives here: `resolving` (the steps in order), `fields` and `values` (what columns hold, normalised), `blocks` (which
pairs are looked at), `comparing` and `scores` (points of a pair), `validation` and `mixture` (from scores to
probabilities), `resolution` (the result) and `finding` (what a page shows of it).
May import: `find`, `report`, `search` and what is below them. To add a kind of field, see `fields.KINDS`.
"""

from lookalike.entities import finding  # noqa: F401  which tells pages how to show matches
from lookalike.entities.companies import two_companies
from lookalike.entities.fields import Field
from lookalike.entities.resolving import resolve
from lookalike.entities.scores import match_fraction, points

__all__ = ["Field", "match_fraction", "points", "resolve", "two_companies"]
