"""lookalike finds similar items in collections too large to compare pair by pair.

One rule explains the whole package: a family hashes items so that similar ones collide with a known probability.
Everything else turns things into items, collects collisions, checks them, and shows them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# In the order of the pipeline. Names load on first use, so that `lookalike --help` need not wait for kernels.
_HOMES = {
    "Source": "lookalike.read",
    "Shingles": "lookalike.shingles",
    "Sets": "lookalike.data",
    "Bits": "lookalike.data",
    "measures": "lookalike",
    "families": "lookalike",
    "exact": "lookalike",
    "And": "lookalike.amplify",
    "Or": "lookalike.amplify",
    "choose_bands": "lookalike.amplify",
    "find_pairs": "lookalike.find",
    "find_matches": "lookalike.find",
    "find_clusters": "lookalike.find",
    "dedup": "lookalike.find",
    "Index": "lookalike.index",
    "entities": "lookalike",
    "baskets": "lookalike",
    "news": "lookalike",
    "fingerprints": "lookalike",
    "LookalikeError": "lookalike.errors",
}
__all__ = list(_HOMES)
_MORE = ("spark",)  # modules that need an extra

if TYPE_CHECKING:
    from lookalike import baskets, entities, exact, families, fingerprints, measures, news, spark
    from lookalike.amplify import And, Or, choose_bands
    from lookalike.data import Bits, Sets
    from lookalike.errors import LookalikeError
    from lookalike.find import dedup, find_clusters, find_matches, find_pairs
    from lookalike.index import Index
    from lookalike.read import Source
    from lookalike.shingles import Shingles


def __getattr__(name: str) -> Any:
    if name in _MORE:
        return import_module(f"lookalike.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lookalike' has no attribute {name!r}")
    if _HOMES[name] == "lookalike":
        return import_module(f"lookalike.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_MORE, "__version__"]
