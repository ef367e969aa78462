"""The pipeline, stage by stage: read, plan and sketch; collapse identical items; candidates, verified; order; audit.

`find_pairs` lists similar pairs, `find_matches` those between two collections; `find_clusters` and `dedup` group
items without listing pairs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np

from lookalike.items.bits import Bits
from lookalike.items.vectors import Vectors
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.search import sets, vectors
from lookalike.search.audit import Audit
from lookalike.search.base import Search
from lookalike.search.identical import Groups
from lookalike.search.inputs import take_sides
from lookalike.search.nearest import first_k
from lookalike.search.settings import MAX_PAIRS, Options, Settings
from lookalike.search.storage import starting, storage_for


def find_pairs(items: Any, *, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]) -> Pairs:
    """All pairs of similar items, each one verified, up to the stated recall.

    `items`: texts, sets, `Sets`, an Arrow table or anything that gives one (pandas, polars), a path, a `Source`; a
    NumPy or SciPy matrix with a vector a row, `Vectors`, or `Bits`.

    >>> texts = ["the cat sat on the mat", "the cat sat on the hat", "something else"]
    >>> [(left, right) for left, right, _ in find_pairs(texts, threshold=0.5, shingles="char:4")]
    [(0, 1)]
    """
    return _pairs([items], Settings.of("pairs", options, max_pairs=max_pairs))


def find_matches(
    left: Any, right: Any, *, k: int | None = None, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]
) -> Pairs:
    """All similar pairs of an item of `left` and an item of `right`, as `find_pairs` does for one collection.

    With `k` the k most similar ones of each item of `left`, most similar first. Vectors and bits then need no
    threshold: how far to look is told from a sample, and an audit counts how many of the true k nearest were found.
    """
    return _pairs([left, right], Settings.of("pairs", options, max_pairs=max_pairs, k=k))


def find_clusters(items: Any, **options: Unpack[Options]) -> Clusters:
    """Groups of items connected by similar pairs; the pairs are not listed, so a group may be of any size.

    By edit distance they are, and more than a hundred million are an error.
    """
    settings = Settings.of("clusters", options)
    with _started([items], settings) as search:
        groups = search.identical()
        label, candidates, crowded = search.labels(groups)
        label[search.live] = label[groups.first[search.live]]
        audit = _audit(search, settings, lambda a, b: label[a] == label[b])
        stats = _stats(search, groups, candidates, crowded)
        return Clusters(label, search.ids[0], plan=search.plan, audit=audit, stats=stats, holder=search)


def dedup(items: Any, *, keep: Any = "first", **options: Unpack[Options]) -> Dedup:
    """What to keep: one of similar items. Each dropped item is verified similar to one that is kept.

    No two kept items are similar, but for pairs missed within the stated recall. By containment an item is dropped for
    a kept one that contains it, so that larger ones should come first: keep="longest".
    `keep` says which of similar items is kept: the "first", the "longest", or the one with the greatest of the
    values given, one for each item.
    """
    settings = Settings.of("dedup", options, keep=keep)
    with _started([items], settings) as search:
        order = search.order(settings)
        groups = search.identical(order)
        centre, values, candidates, crowded = search.stars(groups, order)
        heads = groups.first[search.live]
        centre[search.live], values[search.live] = centre[heads], values[heads]
        kept = centre == np.arange(len(centre))
        audit = _audit(search, settings, lambda a, b: ~(kept[a] & kept[b]))
        counts = {"kept": int(kept.sum()), "dropped": int((~kept).sum())}
        stats = _stats(search, groups, candidates, crowded, **counts)
        plan = search.plan
        return Dedup(centre, values, search.ids[0], kind=plan.kind, plan=plan, audit=audit, stats=stats, holder=search)


def _pairs(collections: list[Any], settings: Settings) -> Pairs:
    """The similar pairs of one collection, or between two."""
    with _started(collections, settings) as search:
        groups = search.identical()
        found = search.pairs(groups, settings.max_pairs)
        plan, run = search.plan, settings.run
        with run.stage("order"):
            spread = groups.spread(*found[:4], search.sides, settings.max_pairs, plan.directed)
        left, right, values = spread
        audit = search.audit_pairs(settings.audit, left, right, values) if settings.audit else None
        wanted: dict[str, Any] = {}
        if settings.k is not None:
            with run.stage("order"):
                best = first_k(left, right, values, settings.k, plan.row.is_similarity)
                left, right, values = left[best], right[best], values[best]
            wanted = {"nearest": settings.k, "bounded": not settings.nearest}
        stats = _stats(search, groups, found.candidates, pairs=len(left)) | wanted
        return Pairs(
            left,
            right - search.sides.offset,
            values,
            search.ids[0],
            right_ids=search.ids[1] if search.sides.two else None,
            kind=plan.kind,
            plan=plan,
            audit=audit,
            stats=stats,
            holder=search,
        )


@contextmanager
def _started(collections: list[Any], settings: Settings) -> Iterator[Search]:
    """Read the collections, plan for them, and sketch their items; large arrays are in memory or in files."""
    items = take_sides(collections, settings.measure, settings.run)
    if isinstance(items[0], Vectors | Bits):
        yield vectors.start(items, settings)
    else:
        with storage_for(items, settings) as storage:
            with starting(storage):
                search = sets.start(items, settings, storage)
            yield search


def _audit(search: Search, settings: Settings, found: Any) -> Audit | None:
    return search.audit(settings.audit, found) if settings.audit else None


def _stats(search: Search, groups: Groups, candidates: int, crowded: int = 0, **more: int) -> dict[str, Any]:
    """What was read, compared and found, and what it took."""
    return {
        **search.counts(),
        "identical": groups.identical,
        "candidates": candidates,
        "crowded": crowded,
        **more,
        "seconds": dict(search.run.seconds),
    }
