"""Entity resolution: find records of the same person, product or paper, with probabilities.

Lives here: `pipeline` (runs the stages), `reading` (tables and ids), `fields`, `values`, `texts`
and `usual` (normalise columns), `kinds` (guesses them), `proposing` (chooses the fields),
`candidates` (chooses the pairs to score), `comparing` and `scores` with `rarities` of words and values,
`agreeing` (levels of agreement),
`probabilities` from `validation`, a `mixture`, or `evidence` and `rivals` with weights that were
`learned`, `labels` (correct them), `models`
and `model_json` (keep what was learned), `resolution` (the result), `labelling`
(chooses pairs to label), `grouping` (its clusters), `golden` and
`stacking` (one record per cluster), `describe` (its page) and `companies` (invented records).
May import: `find`, `report`, `search` and the packages below. New kind of field: `fields.FIELD_KINDS`.
"""

from lookalike.entities import describe  # noqa: F401  registers how pages show a Resolution
from lookalike.entities.companies import two_companies
from lookalike.entities.fields import Field
from lookalike.entities.golden import Golden
from lookalike.entities.grouping import RecordClusters
from lookalike.entities.labelling import pairs_to_label
from lookalike.entities.models import ResolveModel
from lookalike.entities.pipeline import resolve
from lookalike.entities.resolution import Resolution
from lookalike.entities.scores import points
from lookalike.entities.validation import match_fraction

__all__ = [
    "Field",
    "Golden",
    "RecordClusters",
    "Resolution",
    "ResolveModel",
    "match_fraction",
    "pairs_to_label",
    "points",
    "resolve",
    "two_companies",
]
