"""Search for similar sets and texts with bands, exact joins or grams."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lookalike.core.errors import UsageError, argument, parameter
from lookalike.core.storage import Storage
from lookalike.io.documents import Source
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.items.sides import Sides
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import EMPTY
from lookalike.measures import MEASURES
from lookalike.measures.table import OF_SETS, SHORT
from lookalike.results import Explanation
from lookalike.results.explanations import SharedElements
from lookalike.search.audit import Audit, audit
from lookalike.search.base import Found, IsFound, Labels, Search, Stars
from lookalike.search.cluster import components, keep_stars
from lookalike.search.collection import Collection
from lookalike.search.containing import contained_pairs
from lookalike.search.fitting import fit
from lookalike.search.grouping import grouping_of
from lookalike.search.identical import Groups
from lookalike.search.inputs import check_measure, check_shingles, no_threshold, order_of
from lookalike.search.intake import take_in_sets, take_in_texts
from lookalike.search.joins import STAGES, exact_pairs, exact_parts, in_order
from lookalike.search.makers import TextSets
from lookalike.search.plan import make_plan
from lookalike.search.settings import Settings
from lookalike.search.verify import both_ways, verify_bands
from lookalike.search.weighing import Wanted
from lookalike.search.weighted_joins import weighted_pairs
from lookalike.theory.banding import Buckets, find_buckets

GRAMS = Shingles(k=2, bag=True, space="keep", form="none")  # of texts compared by edit distance


def start(items: list[Sets] | list[Source], settings: Settings, storage: Storage) -> "SetSearch":
    """Read texts or sets, plan for them and sketch them in one pass."""
    if settings.probes is not None:
        raise UsageError("probes are for vectors, not for sets or texts.")
    if settings.device not in ("auto", "cpu"):
        raise UsageError(f"device is for vectors and bits, not for sets or texts; got {settings.device!r}.")
    sets = [side for side in items if isinstance(side, Sets)]
    sources = [side for side in items if isinstance(side, Source)]
    measure = SHORT.get(settings.measure, settings.measure)
    row = MEASURES.get(measure)
    shingles = settings.shingles
    check_shingles(settings, sets)
    if row is not None and row.moves:
        shingles = replace(GRAMS, lowercase=shingles.lowercase, form=shingles.form)
    elif measure == "bag_jaccard" and not sets:
        shingles = replace(shingles, bag=True)
    check_measure(measure, sets, settings)
    if settings.drop_common is not None and any(one.bag for one in sets):
        raise UsageError(f"{parameter('drop_common')} is for texts and sets, not for bags that are given as such.")
    threshold: Any = settings.threshold
    if threshold is None and row is not None:
        if row.asks and measure in OF_SETS:  # for another, the plan lists the measures to choose from
            raise no_threshold(measure)
        threshold = row.default
    order = None if settings.order is None else order_of(settings.order, sets)
    if order is not None and settings.method == "lsh":
        raise UsageError(f"order is for {argument('method', 'exact')}; got {argument('method', 'lsh')}.")
    plan = make_plan(
        threshold=threshold,
        measure=measure,
        recall=settings.recall,
        method=settings.method if storage.held else "lsh",
        seed=settings.seed,
        what="sets" if sets else "texts" if row is not None and row.moves else str(shingles),
        sketch=settings.sketch,
        weights=settings.weights,
        drop_common=settings.drop_common,
        filter=settings.filter or (None if order is None else "suffix"),
        advice="" if storage.held else "Raise the threshold or lower the recall.",
    )
    planner = partial(fit, plan, listing=settings.listing)
    wanted = Wanted(settings.drop_common, settings.weights is not None)
    grouping = grouping_of(items, settings, settings.run)
    if sets:
        return SetSearch(take_in_sets(sets, planner, settings.run, wanted, grouping), settings, storage, order=order)
    collection = take_in_texts(sources, shingles, planner, settings.run, storage, wanted, grouping)
    return SetSearch(collection, settings, storage, sources, shingles)


class SetSearch(Search):
    """A search among sets, or among texts that become sets."""

    def __init__(
        self,
        collection: Collection,
        settings: Settings,
        storage: Storage,
        sources: list[Source] | None = None,
        shingles: Shingles | None = None,
        order: np.ndarray | None = None,  # of elements, as hashes
    ):
        self.collection, self.storage, self.run = collection, storage, settings.run
        self.sources, self.shingles, self.element_order = sources or [], shingles, order
        self.plan, self.ids, self.sides = collection.plan, collection.ids, collection.sides
        self.contents, self.lengths = collection.contents, collection.lengths
        self.ratio = self.plan.threshold.as_integer_ratio()
        self.live = self._live()

    def _live(self) -> np.ndarray:
        if self.plan.row.moves:  # an empty text is a few edits away from a short one
            return np.arange(len(self))
        some = np.flatnonzero(self.collection.counts)
        if self.plan.measure == "overlap":  # a set that is too small shares too little even with an identical one
            return some[self.collection.sets(some, self.run).sizes >= self.plan.threshold]
        return some

    def pairs(self, groups: Groups, limit: int) -> Found:
        if self.plan.row.moves:
            return self._edits(groups.heads, limit)
        if self.plan.posts:
            return self._contained(groups.heads, limit)
        if not self.plan.exact:
            return self._banded(groups, limit)
        return self._joined(groups.heads, limit) if self.plan.weights is None else self._weighted(groups.heads, limit)

    def _contained(self, heads: np.ndarray, limit: int) -> Found:
        """Find the pairs of which the first is contained in the second."""
        left, right, shared, sizes, compared = contained_pairs(self.collection, heads, limit, self.run, self.storage)
        return Found(left, right, self.plan.row.of_overlaps(shared, sizes, sizes), np.ones(len(heads)), compared)

    def _edits(self, rows: np.ndarray, limit: int) -> Found:
        """Find the pairs of texts that are a few edits apart."""
        maker = self.collection.maker
        assert isinstance(maker, TextSets)
        plan, sides = self.plan, self.sides.among(rows)
        texts = maker.look(rows)
        from lookalike.search.qgrams import edit_pairs  # only edit distances need it

        left, right, values, compared = edit_pairs(texts, int(plan.threshold), plan.row.moves, sides, limit, self.run)
        return Found(rows[left], rows[right], values, np.zeros(len(rows), np.int64), compared)

    def _joined(self, rows: np.ndarray, limit: int) -> Found:
        """Find pairs by an exact join."""
        sets, kind, p, q, sides = self._exact(rows)
        left, right, shared, compared = exact_pairs(sets, kind, p, q, sides, limit, self.run, *self._ways())
        sizes, row = sets.sizes, self.plan.row
        own = row.of_overlaps(sizes, sizes, sizes)
        if self.plan.directed:
            left, right, shared = both_ways(left, right, shared, sizes, *self.ratio, sides)
        values = row.of_overlaps(shared, sizes[left], sizes[right])
        return Found(rows[left], rows[right], values, own, compared)

    def _weighted(self, rows: np.ndarray, limit: int) -> Found:
        """Find pairs of sets with weights by an exact join."""
        sets, heaviest = self.collection.sets(rows, self.run), self.collection.weighing.heaviest
        left, right, shared, compared = weighted_pairs(
            sets, *self.ratio, heaviest, self.sides.among(rows), limit, self.run
        )
        values = self.plan.row.of_overlaps(shared, sets.totals[left], sets.totals[right])
        return Found(rows[left], rows[right], values, np.ones(len(rows)), compared)

    def _banded(self, groups: Groups, limit: int) -> Found:
        """Find pairs that share a bucket, and verify them."""
        buckets, rows, sets = self._buckets(groups)
        sides = self.sides.among(rows)
        found = verify_bands(buckets, sets, *self.ratio, sides, limit, self.run, self.storage)
        left, right, shared, compared = found
        values = self.plan.row.of_overlaps(shared, sets.totals[left], sets.totals[right])
        return Found(rows[left], rows[right], values, np.ones(len(groups.heads)), compared)

    def labels(self, groups: Groups) -> Labels:
        label = np.arange(len(self))
        listing = (self.plan.exact and self.plan.weights is not None) or (
            self.plan.bands is not None and self.sides.groups is not None
        )
        if self.plan.row.moves or self.plan.posts or listing:
            found = self.listed(groups)
            join_pairs(found.left, found.right, label)
            return Labels(roots(label), found.candidates)
        if self.plan.bands is None:
            rows, candidates = groups.heads, 0
            for left, right, _, compared in exact_parts(*self._exact(rows), self.run, *self._ways()):
                candidates += compared
                join_pairs(rows[left], rows[right], label)
            return Labels(roots(label), candidates)
        buckets, members, sets = self._buckets(groups)
        root, crowded = components(buckets, sets, *self.ratio, self.run, self.storage)
        label[members] = members[root]
        return Labels(label, crowded=crowded)

    def stars(self, groups: Groups, order: np.ndarray) -> Stars:
        if self.plan.bands is None or self.sides.groups is not None:
            return super().stars(groups, order)
        centre, values = np.arange(len(self)), np.ones(len(self))
        buckets, members, sets = self._buckets(groups)
        rank = np.empty(len(self), np.int64)
        rank[order] = np.arange(len(order))
        visit = np.argsort(rank[members])
        centres, shared, crowded = keep_stars(buckets, sets, visit, *self.ratio, self.run, self.storage)
        centre[members] = members[centres]
        values[members] = self.plan.row.of_overlaps(shared, sets.totals, sets.totals[centres])
        return Stars(centre, values, crowded=crowded)

    def audit(self, size: int, found: IsFound) -> Audit:
        return audit(self.collection, size, found, self.run)

    def explain(self, left: int, right: int) -> Explanation:
        found = super().explain(left, right)
        if self.plan.weights is not None and isinstance(found, SharedElements):
            found = replace(found, weights=self._weights_in(left) | self._weights_in(right))
        if self.plan.bands is None or not isinstance(found, SharedElements):
            return found
        keys = enumerate(self.collection.keys)
        return replace(found, bands=[band for band, key in keys if key[left] == key[right] != EMPTY])

    def look(self, rows: np.ndarray) -> list[Any]:
        return self.collection.maker.look(rows)

    def elements(self, item: Any) -> Iterable[Any]:
        weighing, maker = self.collection.weighing, self.collection.maker
        if weighing.wanted.share is None:
            return maker.elements(item)
        made = maker.elements(item)
        names, hashes = maker.hashed(item)
        kept = set(weighing.kept((np.array([0, len(hashes)]), hashes))[1].tolist())
        rare = {name for name, x in zip(names, hashes.tolist(), strict=True) if x in kept}
        if isinstance(made, Counter):
            return Counter({name: count for name, count in made.items() if name in rare})
        return [name for name in made if name in rare]

    def counts(self) -> dict[str, int]:
        return {
            "items": len(self),
            "empty": len(self) - int(np.count_nonzero(self.collection.counts)),
            "skipped": sum(source.skipped for source in self.sources),
            "shingles": int(self.collection.counts.sum()),
            **({} if self.plan.drop_common is None else {"common": self.collection.weighing.common}),
        }

    def _weights_in(self, row: int) -> dict[Any, float]:
        """Return the weights of the elements of one item."""
        names, hashes = self.collection.maker.hashed(self.look(np.array([row]))[0])
        weights = self.collection.weighing.weights(hashes)
        return {} if weights is None else dict(zip(names, weights.tolist(), strict=True))

    def _exact(self, rows: np.ndarray) -> tuple[Sets, int, int, int, Sides]:
        """Return the input of an exact join: the sets of some rows, the measure, and the sides."""
        sets = self.collection.sets(rows, self.run)
        if self.element_order is not None:
            sets = in_order(sets, self.element_order)
        return sets, *self.plan.join, self.sides.among(rows)

    def _ways(self) -> tuple[int, bool]:
        """Return how to join: the last filter, and whether the elements are in order."""
        return STAGES.index(self.plan.filter), self.element_order is not None

    def _buckets(self, groups: Groups) -> tuple[Buckets, np.ndarray, Sets]:
        """Return the buckets of items that may be similar, those items, and their sets."""
        buckets = find_buckets(self.collection.keys, groups.heads, self.run, self.storage)
        members = groups.heads[buckets.items]
        return buckets, members, self.collection.sets(members, self.run, "candidates")
