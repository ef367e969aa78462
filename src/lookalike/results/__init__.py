"""What comes out: pairs, clusters, and what to keep. Frozen, made of arrays, Arrow tables on demand.

Lives here: one file for each result, and `files` (what result files say about how they were made). Pages that show a
result are made in `report`, which is loaded when one is asked for.
May import: `core`, `kernels`, `items`. To add a result: derive it from `base.Reportable`, and tell `report.describe`
how a page shows it.
"""

from lookalike.results.base import Explanation, Holder, Measured, Reportable
from lookalike.results.clusters import Clusters
from lookalike.results.dedup import Dedup
from lookalike.results.pairs import Pairs

__all__ = ["Clusters", "Dedup", "Explanation", "Holder", "Measured", "Pairs", "Reportable"]
