"""lookalike finds similar items in collections too large to compare pair by pair.

One rule explains the whole package: a family hashes items so that similar ones collide with a known probability.
Everything else turns things into items, collects collisions, checks them, and shows them.
"""

from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
_imported = perf_counter()  # commands take their time from here if the system does not say when they started

# In the order of the pipeline. Names load on first use, so that `lookalike --help` need not wait for kernels.
_HOMES = {
    "Source": "lookalike.io.documents",
    "Shingles": "lookalike.items.shingles",
    "Sets": "lookalike.items.sets",
    "Vectors": "lookalike.items.vectors",
    "Bits": "lookalike.items.bits",
    "measures": "lookalike",
    "families": "lookalike",
    "exact": "lookalike.theory",
    "And": "lookalike.theory.amplify",
    "Or": "lookalike.theory.amplify",
    "choose_bands": "lookalike.theory.amplify",
    "find_pairs": "lookalike.find",
    "find_matches": "lookalike.find",
    "find_clusters": "lookalike.find",
    "dedup": "lookalike.find",
    "find_passages": "lookalike.passages",
    "dedup_units": "lookalike.passages",
    "decontaminate": "lookalike.leaks",
    "evaluate": "lookalike.report.evaluating",
    "Pairs": "lookalike.results",
    "Clusters": "lookalike.results",
    "Dedup": "lookalike.results",
    "Passages": "lookalike.passages",
    "Cuts": "lookalike.passages",
    "Leaks": "lookalike.leaks",
    "Evaluation": "lookalike.results.evaluation",
    "Explanation": "lookalike.results",
    "Index": "lookalike.index",
    "entities": "lookalike",
    "Resolution": "lookalike.entities",
    "baskets": "lookalike",
    "news": "lookalike",
    "fingerprints": "lookalike",
    "linking": "lookalike",
    "LookalikeError": "lookalike.core.errors",
}
__all__ = list(_HOMES)
_MODULES = ("measures", "families", "exact", "entities", "baskets", "news", "fingerprints", "linking")
_MORE = ("spark",)  # modules that need an extra

if TYPE_CHECKING:
    from lookalike import baskets, entities, families, fingerprints, linking, measures, news, spark
    from lookalike.core.errors import LookalikeError
    from lookalike.entities import Resolution
    from lookalike.find import dedup, find_clusters, find_matches, find_pairs
    from lookalike.index import Index
    from lookalike.io.documents import Source
    from lookalike.items.bits import Bits
    from lookalike.items.sets import Sets
    from lookalike.items.shingles import Shingles
    from lookalike.items.vectors import Vectors
    from lookalike.leaks import Leaks, decontaminate
    from lookalike.passages import Cuts, Passages, dedup_units, find_passages
    from lookalike.report.evaluating import evaluate
    from lookalike.results import Clusters, Dedup, Explanation, Pairs
    from lookalike.results.evaluation import Evaluation
    from lookalike.theory import exact
    from lookalike.theory.amplify import And, Or, choose_bands


def __getattr__(name: str) -> Any:
    if name in _MORE:
        return import_module(f"lookalike.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    if name in _MODULES:
        return import_module(f"{_HOMES[name]}.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_MORE, "__version__"]
