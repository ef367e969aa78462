"""The pipeline: take in, collapse identical items, find candidates, verify them.

`find_pairs` lists similar pairs, `find_matches` those between two collections; `find_clusters` and `dedup` group
items without listing pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.audit import Audit
from lookalike.audit import audit as measure_recall
from lookalike.candidates.banding import Buckets, find_buckets
from lookalike.candidates.exact import STAGES, exact_pairs, exact_parts, in_order
from lookalike.candidates.identical import Groups, group_identical
from lookalike.candidates.strings import edit_pairs
from lookalike.cluster import choose_apart, components, keep_stars
from lookalike.collection import TextSets, take_in_sets, take_in_texts
from lookalike.data import Sets
from lookalike.errors import LARGEST_SEED, DataError, TooManyPairs, UsageError, choice, whole
from lookalike.items import check_measure, order_of, take_sides
from lookalike.kernels.buckets import ONE, join_pairs, roots
from lookalike.pairwise import of_shared
from lookalike.plan import EDITS, NAMES, fit, make_plan
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.run import Run
from lookalike.shingles import Shingles
from lookalike.verify import both_ways, verify_bands

MAX_PAIRS = 100_000_000
MAX_LISTED = 100_000_000  # pairs that an exact method may list only to group their items


GRAMS = Shingles(k=2, bag=True, space="keep", form="none")  # of texts that are compared by edit distance

DEFAULTS = {
    "threshold": 0.8,
    "measure": "jaccard",
    "recall": 0.99,
    "method": "auto",
    "shingles": "char:9",
    "seed": 1,
    "audit": 0,
}


class Options(TypedDict, total=False):
    """What all four functions take: what similar means, what may be missed, and how to run."""

    threshold: float | str | Fraction  # the least similarity, or the greatest distance, of a pair: 0.8 by default
    measure: str  # "jaccard", "bag", "containment", "cosine" or "overlap" of sets; "edit" or "levenshtein" of texts
    recall: float  # of a pair right at the threshold, 0.99 by default; 1.0 means exact
    method: str  # "auto", "lsh" or "exact"
    filter: str  # of an exact join, the last to be used: "length", "prefix", "position" or "suffix", the default
    order: Sequence[Any]  # of the elements of sets, for an exact join; rarest first by default
    shingles: Shingles | str  # how texts become sets, "char:9" by default
    seed: int
    audit: int  # items to sample for measuring the recall; 0, the default, for none
    threads: int  # all cores by default
    run: Run  # in place of threads: how work is run and progress shown


def find_pairs(items: Any, *, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]) -> Pairs:
    """All pairs of similar items, each one verified, up to the stated recall.

    `items`: texts, sets, `Sets`, an Arrow table or anything that gives one (pandas, polars), a path, a `Source`.

    >>> texts = ["the cat sat on the mat", "the cat sat on the hat", "something else"]
    >>> [(left, right) for left, right, _ in find_pairs(texts, threshold=0.5, shingles="char:4")]
    [(0, 1)]
    """
    return Job([items], options, max_pairs=max_pairs).pairs()


def find_matches(left: Any, right: Any, *, max_pairs: int = MAX_PAIRS, **options: Unpack[Options]) -> Pairs:
    """All similar pairs of an item of `left` and an item of `right`, as `find_pairs` does for one collection."""
    return Job([left, right], options, max_pairs=max_pairs).pairs()


def find_clusters(items: Any, **options: Unpack[Options]) -> Clusters:
    """Groups of items connected by similar pairs; the pairs are not listed, so a group may be of any size.

    By edit distance they are, and more than a hundred million are an error.
    """
    return Job([items], options, listing=False).clusters()


def dedup(items: Any, *, keep: Any = "first", **options: Unpack[Options]) -> Dedup:
    """What to keep: one of similar items. Each dropped item is verified similar to one that is kept.

    No two kept items are similar, but for pairs missed within the stated recall. By containment an item is dropped for
    a kept one that contains it, so that larger ones should come first: keep="longest".
    `keep` says which of similar items is kept: the "first", the "longest", or the one with the greatest of the
    values given, one for each item.
    """
    return Job([items], options, keep=keep, listing=False).stars()


class Job:
    """One run of the pipeline on one collection, or on two to be matched."""

    def __init__(
        self,
        sides: list[Any],
        options: Options,
        max_pairs: int = MAX_PAIRS,
        keep: Any = "first",
        listing: bool = True,  # pairs are wanted, not groups
    ):
        for name in options:
            choice("option", name, Options.__annotations__)
        self.max_pairs = whole("max_pairs", max_pairs)
        self.keep = choice("keep", keep, ("first", "longest")) if isinstance(keep, str) else keep
        settings: dict[str, Any] = {**DEFAULTS, **options}
        self.run: Run = settings.get("run") or Run(settings.get("threads"))
        self.audit_size = whole("audit", settings["audit"], least=0)
        shingles = settings["shingles"]
        shingles = shingles if isinstance(shingles, Shingles) else Shingles.parse(shingles)
        sets, self.sources = take_sides(sides)
        measure = NAMES.get(settings["measure"], settings["measure"])
        if measure in EDITS:
            shingles = replace(GRAMS, lowercase=shingles.lowercase, form=shingles.form)
        elif measure == "bag_jaccard" and not sets:
            shingles = replace(shingles, bag=True)
        check_measure(measure, sets, self.audit_size)
        if measure in (*EDITS, "overlap") and "threshold" not in options:
            what = "the least number of shared elements" if measure == "overlap" else "the most edits"
            raise UsageError(f"measure {measure!r} needs a threshold: {what}.")
        self.order = None if settings.get("order") is None else order_of(settings["order"], sets)
        if self.order is not None and settings["method"] == "lsh":
            raise UsageError("order is for method 'exact'; got 'lsh'.")
        plan = make_plan(
            threshold=settings["threshold"],
            measure=measure,
            recall=settings["recall"],
            method=settings["method"],
            seed=whole("seed", settings["seed"], least=0, most=LARGEST_SEED),
            what="sets" if sets else "texts" if measure in EDITS else str(shingles),
            filter=settings.get("filter") or (None if self.order is None else "suffix"),
        )
        planner = partial(fit, plan, listing=listing)
        if sets:
            self.collection = take_in_sets(sets, planner, self.run)
        else:
            self.collection = take_in_texts(self.sources, shingles, planner, self.run)
        self.plan = self.collection.plan
        self.ratio = self.plan.threshold.as_integer_ratio()
        self.split = self.collection.split
        self.live = self._live()
        self.candidates = self.crowded = 0

    def _live(self) -> np.ndarray:
        """The items that may be similar to another, if only to one identical."""
        if self.plan.measure in EDITS:  # an empty text is a few edits away from a short one
            return np.arange(len(self.collection))
        some = np.flatnonzero(self.collection.counts)
        if self.plan.measure == "overlap":  # a set of too few elements does not even share them with its like
            return some[self.collection.sets(some, self.run).sizes >= self.plan.threshold]
        return some

    def pairs(self) -> Pairs:
        """List the similar pairs."""
        groups = group_identical(self.collection.contents, self.live, self.split)
        left, right, values, own = self._head_pairs(groups, self.max_pairs)
        with self.run.stage("order"):
            limits = (self.split, self.max_pairs, self.plan.directed)
            left, right, values = groups.spread(left, right, values, own, *limits)
        n = len(self.collection)
        numbers = left * n + right  # ascending, since the pairs are in order
        ids = self.collection.ids
        return Pairs(
            left,
            right - max(self.split, 0),
            values,
            ids[0],
            right_ids=ids[1] if len(ids) > 1 else None,
            kind=self.plan.kind,
            plan=self.plan,
            audit=self._audit(lambda a, b: _contains(numbers, a * n + b)),
            stats=self._stats(groups, pairs=len(left)),
            explainer=self.collection.maker.explain,
        )

    def clusters(self) -> Clusters:
        """Group by connected components of the similar pairs."""
        groups = group_identical(self.collection.contents, self.live)
        label = np.arange(len(self.collection))
        if self.plan.measure in EDITS:
            left, right, _, _ = self._listed(groups)
            join_pairs(left, right, label)
            label = roots(label)
        elif self.plan.bands is None:
            rows = groups.heads
            for left, right, _, compared in exact_parts(*self._exact(rows), self.run, *self._ways()):
                self.candidates += compared
                join_pairs(rows[left], rows[right], label)
            label = roots(label)
        else:
            buckets, members, sets = self._buckets(groups)
            root, self.crowded = components(buckets, sets, *self.ratio, self.run)
            label[members] = members[root]
        label[self.live] = label[groups.first[self.live]]
        audit = self._audit(lambda a, b: label[a] == label[b])
        return Clusters(label, self.collection.ids[0], plan=self.plan, audit=audit, stats=self._stats(groups))

    def stars(self) -> Dedup:
        """Keep items that are similar to none kept before, the best ones first."""
        order = self._order()
        groups = group_identical(self.collection.contents, order)
        centre = np.arange(len(self.collection))
        values = np.ones(len(centre)) if self.plan.kind == "similarity" else np.zeros(len(centre), np.int64)
        if self.plan.bands is None:
            left, right, measured, own = self._listed(groups)
            values = values.astype(own.dtype)
            values[groups.heads] = own
            choose_apart(order[groups.first[order] == order], left, right, measured, centre, values, self.plan.directed)
        else:
            buckets, members, sets = self._buckets(groups)
            rank = np.empty(len(self.collection), np.int64)
            rank[order] = np.arange(len(order))
            visit = np.argsort(rank[members])
            centres, shared, self.crowded = keep_stars(buckets, sets, visit, *self.ratio, self.run)
            centre[members] = members[centres]
            values[members] = of_shared("jaccard", shared, sets.sizes, sets.sizes[centres])
        head = groups.first[self.live]
        centre[self.live], values[self.live] = centre[head], values[head]
        kept = centre == np.arange(len(centre))
        audit = self._audit(lambda a, b: ~(kept[a] & kept[b]))
        stats = self._stats(groups, kept=int(kept.sum()), dropped=int((~kept).sum()))
        ids = self.collection.ids[0]
        return Dedup(centre, values, ids, kind=self.plan.kind, plan=self.plan, audit=audit, stats=stats)

    def _listed(self, groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`_head_pairs`, for groups to be made of them."""
        try:
            return self._head_pairs(groups, MAX_LISTED)
        except TooManyPairs:
            raise TooManyPairs(
                f"more than {MAX_LISTED:,} similar pairs, all of which an exact method has to list; "
                "with method 'lsh' and a recall under 1 they need not be listed."
            ) from None

    def _head_pairs(self, groups: Groups, limit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The similar pairs of items that stand for a group: (left, right, values), and the heads' own values."""
        plan = self.plan
        if plan.bands is None:
            rows = groups.heads
            split = self._split_among(rows)
            if plan.measure in EDITS:
                maker = self.collection.maker
                assert isinstance(maker, TextSets)
                limits = (int(plan.threshold), EDITS[plan.measure], split, limit)
                found = edit_pairs(maker.texts(rows), *limits, self.run)
                left, right, values, self.candidates = found
                return rows[left], rows[right], values, np.zeros(len(rows), np.int64)
            sets, kind, p, q, split = self._exact(rows)
            found = exact_pairs(sets, kind, p, q, split, limit, self.run, *self._ways())
            left, right, shared, self.candidates = found
            sizes = sets.sizes
            own = of_shared(plan.measure, sizes, sizes, sizes)
            if plan.directed:
                left, right, shared = both_ways(left, right, shared, sizes, *self.ratio, split)
        else:
            buckets, rows, sets = self._buckets(groups)
            found = verify_bands(buckets, sets, *self.ratio, self._split_among(rows), limit, self.run)
            left, right, shared, self.candidates = found
            sizes, own = sets.sizes, np.ones(len(groups.heads))
        values = of_shared(plan.measure, shared, sizes[left], sizes[right])
        return rows[left], rows[right], values, own

    def _exact(self, rows: np.ndarray) -> tuple[Sets, int, int, int, int]:
        """What an exact join takes: the sets of some rows, the measure, and where the second collection begins."""
        sets = self.collection.sets(rows, self.run)
        if self.order is not None:
            sets = in_order(sets, self.order)
        return sets, *self.plan.join, self._split_among(rows)

    def _ways(self) -> tuple[int, bool]:
        """How it is to be done: the last filter, and whether the elements are in order."""
        return STAGES.index(self.plan.filter), self.order is not None

    def _split_among(self, rows: np.ndarray) -> int:
        """How many of the ascending rows are of the first of two collections; ONE if there is just one."""
        return ONE if self.split == ONE else int(np.searchsorted(rows, self.split))

    def _buckets(self, groups: Groups) -> tuple[Buckets, np.ndarray, Sets]:
        """Buckets of items that may be similar, those items, and their sets."""
        buckets = find_buckets(self.collection.keys[groups.heads], self.run)
        members = groups.heads[buckets.items]
        return buckets, members, self.collection.sets(members, self.run)

    def _order(self) -> np.ndarray:
        """The items that are not empty, the ones to be kept first."""
        if isinstance(self.keep, str) and self.keep == "first":
            return self.live
        try:
            if isinstance(self.keep, pa.Array | pa.ChunkedArray):
                values = self.keep
            else:
                values = pa.array(self.collection.lengths if isinstance(self.keep, str) else self.keep)
            places = pc.sort_indices(values, sort_keys=[("", "descending")])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            raise DataError(f"keep must be values of one kind that can be ordered: {error}") from error
        n = len(self.collection)
        if len(values) != n:
            raise DataError(f"keep must have a value for each of the {n:,} items; it has {len(values):,}.")
        order = places.to_numpy().astype(np.int64)
        live: np.ndarray = order[self.collection.counts[order] > 0]
        return live

    def _audit(self, found: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Audit | None:
        return measure_recall(self.collection, self.audit_size, found, self.run) if self.audit_size else None

    def _stats(self, groups: Groups, **more: int) -> dict[str, Any]:
        return {
            "items": len(self.collection),
            "empty": len(self.collection) - int(np.count_nonzero(self.collection.counts)),
            "skipped": sum(source.skipped for source in self.sources),
            "identical": groups.identical,
            "shingles": int(self.collection.counts.sum()),
            "candidates": self.candidates,
            "crowded": self.crowded,
            **more,
            "seconds": dict(self.run.seconds),
        }


def _contains(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether each value is in the ascending array."""
    at = np.searchsorted(ordered, values)
    inside: np.ndarray = at < len(ordered)
    inside[inside] = ordered[at[inside]] == values[inside]
    return inside
