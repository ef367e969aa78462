"""Entity resolution: which records belong to the same person, product or paper, and how sure that is.

Lives here: `pipeline` (the stages in order), `fields` and `values` (what columns hold, normalised), `candidates`
(which pairs are scored), `scores`, `probabilities` from `validation` or a `mixture`, `resolution` (the result) and
`describe` (what a page shows of it); `companies` makes up records with a known truth.
May import: `find`, `report`, `search` and what is below them. To add a kind of field, see `fields.FIELD_KINDS`.
"""

from lookalike.entities import describe  # noqa: F401  which registers how pages show a Resolution
from lookalike.entities.companies import two_companies
from lookalike.entities.fields import Field
from lookalike.entities.pipeline import resolve
from lookalike.entities.scores import points
from lookalike.entities.validation import match_fraction

__all__ = ["Field", "match_fraction", "points", "resolve", "two_companies"]
