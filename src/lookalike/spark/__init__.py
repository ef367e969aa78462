"""The same jobs on Spark, for more data than one machine can handle: data frames in and out.

    pairs = la.spark.find_pairs(df, threshold=0.8)
    matches = la.spark.find_matches(new, archive, threshold=0.8)
    clean = la.spark.dedup(df, threshold=0.8).kept
    groups = la.spark.find_clusters(df, threshold=0.8)

Tasks run the same kernels as one machine, and with the same plan they find the same pairs. A data
frame has no order, so items are ordered by their ids, which must be unique. Needs the extra `spark`
(pip install 'lookalike[spark]') and Java 17 or later.

Lives here: `jobs`, `matches` and `records` (the public functions), `items` (their columns and plan),
`driver` (small jobs), `frames`, `members`, `pairs` and `graphs` (stages on data frames), `tasks`,
`buckets`, `groups`, `parcels`, `making` and `record_tasks` (run on executors).
May import: `entities`, `search` and what is below them. Stages call the same functions as one
machine does; no mathematics belongs here.
"""

from lookalike.core.errors import UsageError

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise UsageError("Spark needs the package PySpark, which is missing: pip install 'lookalike[spark]'.") from error

from lookalike.spark.jobs import SparkDedup as Dedup
from lookalike.spark.jobs import dedup, find_clusters, find_pairs, plan
from lookalike.spark.matches import find_matches
from lookalike.spark.records import resolve_candidates

__all__ = ["Dedup", "dedup", "find_clusters", "find_matches", "find_pairs", "plan", "resolve_candidates"]
