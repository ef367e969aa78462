"""Results: pairs, clusters, and which items to keep. Frozen, made of arrays, converted to tables on demand.

Lives here: one file per result, `explanations` (why a row is there), `evaluation` (how good a result is, given the
truth) and `files` (what result files say about how they were made). Pages that show a result are made in `report`,
which is loaded when one is asked for.
May import: `core`, `kernels`, `items`. To add a result: derive it from `base.Result`, and register how a page shows it
in `report.describe`.
"""

from lookalike.results.base import Holder, Measured, Result
from lookalike.results.clusters import Clusters
from lookalike.results.dedup import Dedup
from lookalike.results.explanations import Explanation
from lookalike.results.pairs import Pairs

__all__ = ["Clusters", "Dedup", "Explanation", "Holder", "Measured", "Pairs", "Result"]
