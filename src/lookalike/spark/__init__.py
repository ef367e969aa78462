"""The same jobs on Spark, past one machine: data frames in, data frames out.

    pairs = la.spark.find_pairs(df, threshold=0.8)
    clean = la.spark.dedup(df, threshold=0.8).kept
    groups = la.spark.clusters(df, threshold=0.8)

Tasks run the kernels that one machine runs, and the plan is made in the same way; with the same plan the pairs are the
same. A data frame has no order: items are in order of their ids, which must be unique. Needs the extra `spark`:
pip install 'lookalike[spark]', and Java 17 or later.

Lives here: `jobs` (the public functions), `tasks` (what runs on executors), `frames`, `buckets` and `graphs` (stages on
data frames), `records`. May import: `entities`, `search` and what is below them. No mathematics of its own: a stage
calls the function that one machine calls.
"""

from lookalike.core.errors import UsageError

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise UsageError("Spark is reached by PySpark, which is missing: pip install 'lookalike[spark]'.") from error

from lookalike.spark.jobs import SparkDedup as Dedup
from lookalike.spark.jobs import clusters, dedup, find_pairs, plan
from lookalike.spark.records import resolve_candidates

__all__ = ["Dedup", "clusters", "dedup", "find_pairs", "plan", "resolve_candidates"]
