"""Similar sets and texts, by bands, exact joins or grams."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lookalike.core.errors import UsageError
from lookalike.core.run import Run
from lookalike.core.storage import Room
from lookalike.io.documents import Source
from lookalike.items.sets import Sets
from lookalike.items.shingles import Shingles
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.kernels.hashing import EMPTY
from lookalike.measures import MEASURES
from lookalike.results import Explanation
from lookalike.search.audit import Audit, audit
from lookalike.search.base import Found, IsFound, Search
from lookalike.search.cluster import components, keep_stars
from lookalike.search.collection import TextSets, take_in_sets, take_in_texts
from lookalike.search.identical import Groups
from lookalike.search.inputs import check_measure, order_of
from lookalike.search.joins import STAGES, exact_pairs, exact_parts, in_order
from lookalike.search.plan import EDITS, fit, make_plan
from lookalike.search.qgrams import edit_pairs
from lookalike.search.verify import both_ways, verify_bands
from lookalike.theory.banding import Buckets, find_buckets

GRAMS = Shingles(k=2, bag=True, space="keep", form="none")  # of texts that are compared by edit distance


class SetSearch(Search):
    """Sets, or texts that are made sets of."""

    def __init__(
        self,
        sides: list[Sets] | list[Source],
        settings: dict[str, Any],
        run: Run,
        listing: bool,  # pairs are wanted, not groups
        room: Room,
    ):
        self.run, self.room = run, room
        self.shingles = None
        sets = [side for side in sides if isinstance(side, Sets)]
        self.sources = [side for side in sides if isinstance(side, Source)]
        measure = settings["measure"]
        shingles: Shingles = settings["shingles"]
        if measure in EDITS:
            shingles = replace(GRAMS, lowercase=shingles.lowercase, form=shingles.form)
        elif measure == "bag_jaccard" and not sets:
            shingles = replace(shingles, bag=True)
        check_measure(measure, sets, settings["audit"])
        if settings["threshold"] is None and measure in (*EDITS, "overlap"):
            what = "the least number of shared elements" if measure == "overlap" else "the most edits"
            raise UsageError(f"measure {measure!r} needs a threshold: {what}.")
        self.order = None if settings.get("order") is None else order_of(settings["order"], sets)
        if self.order is not None and settings["method"] == "lsh":
            raise UsageError("order is for method 'exact'; got 'lsh'.")
        plan = make_plan(
            threshold=0.8 if settings["threshold"] is None else settings["threshold"],
            measure=measure,
            recall=settings["recall"],
            method=settings["method"],
            seed=settings["seed"],
            what="sets" if sets else "texts" if measure in EDITS else str(shingles),
            sketch=settings["sketch"],
            filter=settings.get("filter") or (None if self.order is None else "suffix"),
        )
        planner = partial(fit, plan, listing=listing)
        if sets:
            self.collection = take_in_sets(sets, planner, run)
        else:
            self.shingles = shingles
            self.collection = take_in_texts(self.sources, shingles, planner, run, room)
        self.plan, self.ids, self.split = self.collection.plan, self.collection.ids, self.collection.split
        self.contents, self.lengths = self.collection.contents, self.collection.lengths
        self.ratio = self.plan.threshold.as_integer_ratio()
        self.live = self._live()

    def _live(self) -> np.ndarray:
        if self.plan.measure in EDITS:  # an empty text is a few edits away from a short one
            return np.arange(len(self))
        some = np.flatnonzero(self.collection.counts)
        if self.plan.measure == "overlap":  # a set of too few elements does not even share them with its like
            return some[self.collection.sets(some, self.run).sizes >= self.plan.threshold]
        return some

    def pairs(self, groups: Groups, limit: int) -> Found:
        plan = self.plan
        if plan.bands is None:
            rows = groups.heads
            split = self.split_among(rows)
            if plan.measure in EDITS:
                maker = self.collection.maker
                assert isinstance(maker, TextSets)
                limits = (int(plan.threshold), EDITS[plan.measure], split, limit)
                found = edit_pairs(maker.look(rows), *limits, self.run)
                left, right, values, self.candidates = found
                return rows[left], rows[right], values, np.zeros(len(rows), np.int64)
            sets, kind, p, q, split = self._exact(rows)
            found = exact_pairs(sets, kind, p, q, split, limit, self.run, *self._ways())
            left, right, shared, self.candidates = found
            sizes = sets.sizes
            own = MEASURES[plan.measure].of_overlaps(sizes, sizes, sizes)
            if plan.directed:
                left, right, shared = both_ways(left, right, shared, sizes, *self.ratio, split)
        else:
            buckets, rows, sets = self._buckets(groups)
            found = verify_bands(buckets, sets, *self.ratio, self.split_among(rows), limit, self.run, self.room)
            left, right, shared, self.candidates = found
            sizes, own = sets.sizes, np.ones(len(groups.heads))
        values = MEASURES[plan.measure].of_overlaps(shared, sizes[left], sizes[right])
        return rows[left], rows[right], values, own

    def labels(self, groups: Groups) -> np.ndarray:
        label = np.arange(len(self))
        if self.plan.measure in EDITS:
            left, right, _, _ = self.listed(groups)
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
            root, self.crowded = components(buckets, sets, *self.ratio, self.run, self.room)
            label[members] = members[root]
        return label

    def stars(self, groups: Groups, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.plan.bands is None:
            return super().stars(groups, order)
        centre, values = np.arange(len(self)), np.ones(len(self))
        buckets, members, sets = self._buckets(groups)
        rank = np.empty(len(self), np.int64)
        rank[order] = np.arange(len(order))
        visit = np.argsort(rank[members])
        centres, shared, self.crowded = keep_stars(buckets, sets, visit, *self.ratio, self.run, self.room)
        centre[members] = members[centres]
        values[members] = MEASURES["jaccard"].of_overlaps(shared, sets.sizes, sets.sizes[centres])
        return centre, values

    def audit(self, size: int, found: IsFound) -> Audit:
        return audit(self.collection, size, found, self.run)

    def explain(self, left: int, right: int) -> Explanation:
        found = super().explain(left, right)
        if self.plan.bands is None:
            return found
        keys = enumerate(self.collection.keys)
        return replace(found, bands=[band for band, key in keys if key[left] == key[right] != EMPTY])

    def look(self, rows: np.ndarray) -> list[Any]:
        return self.collection.maker.look(rows)

    def elements(self, item: Any) -> Iterable[Any]:
        return self.collection.maker.elements(item)

    def counts(self) -> dict[str, int]:
        return {
            "items": len(self),
            "empty": len(self) - int(np.count_nonzero(self.collection.counts)),
            "skipped": sum(source.skipped for source in self.sources),
            "shingles": int(self.collection.counts.sum()),
        }

    def _exact(self, rows: np.ndarray) -> tuple[Sets, int, int, int, int]:
        """What an exact join takes: the sets of some rows, the measure, and where the second collection begins."""
        sets = self.collection.sets(rows, self.run)
        if self.order is not None:
            sets = in_order(sets, self.order)
        return sets, *self.plan.join, self.split_among(rows)

    def _ways(self) -> tuple[int, bool]:
        """How it is to be done: the last filter, and whether the elements are in order."""
        return STAGES.index(self.plan.filter), self.order is not None

    def _buckets(self, groups: Groups) -> tuple[Buckets, np.ndarray, Sets]:
        """Buckets of items that may be similar, those items, and their sets."""
        buckets = find_buckets(self.collection.keys, groups.heads, self.run, self.room)
        members = groups.heads[buckets.items]
        return buckets, members, self.collection.sets(members, self.run, "candidates")
