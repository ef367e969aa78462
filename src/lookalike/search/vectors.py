"""Near vectors and codes, by tables of buckets or brute force."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import UsageError, choice, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.items.bits import Bits
from lookalike.items.vectors import NO_DIRECTION, Vectors, zero_rows
from lookalike.kernels.buckets import ONE, join_pairs, roots
from lookalike.results import Explanation
from lookalike.search.audit import Audit
from lookalike.search.base import Found, IsFound, Search
from lookalike.search.collection import unique_ids
from lookalike.search.identical import Groups
from lookalike.search.nearest import last_of, nearest
from lookalike.search.spaces import MEASURES_OF_VECTORS, BitSpace, VectorSpace, space_of
from lookalike.search.tables import Tables, band_tables, check, near_numbers, near_pairs, near_some, part_tables
from lookalike.search.vector_plan import FARTHEST, VectorPlan, fit_vectors, make_vector_plan

NEEDS = {  # of a threshold, by measure
    "cosine": "the greatest angle, in degrees",
    "cosine_similarity": "the least cosine",
    "euclidean": "the greatest distance",
    "hamming": "the most bits that may differ",
}
SAMPLE = 200  # items whose neighbours are looked for to tell how far those are


class VectorSearch(Search):
    """Vectors or codes under a measure; with `k` the nearest of the second collection to each of the first."""

    plan: VectorPlan

    def __init__(self, sides: list[Vectors | Bits], settings: dict[str, Any], run: Run, k: int | None = None):
        self.run = run
        probes = settings.get("probes")
        self.probes = None if probes is None else whole("probes", probes, least=0, most=100)
        measure = choice("measure", settings["measure"], MEASURES_OF_VECTORS)
        threshold = settings["threshold"]
        if threshold is None and k is None:
            raise UsageError(f"measure {measure!r} needs a threshold: {NEEDS[measure]}.")
        sides = [fit_for(side, measure) for side in sides]
        self.ids = [
            pa.array(np.arange(len(side))) if side.ids is None else unique_ids([pa.chunked_array([side.ids])])
            for side in sides
        ]
        self.skipped = sum(side.skipped for side in sides)
        self.split = len(sides[0]) if len(sides) > 1 else ONE
        size = sides[0].length if isinstance(sides[0], Bits) else sides[0].dimensions
        self.what = f"codes of {counted(size, 'bit')}" if measure == "hamming" else f"vectors of {size:,} dimensions"
        plan = make_vector_plan(
            threshold=FARTHEST[measure] if threshold is None else threshold,
            measure=measure,
            recall=settings["recall"],
            method=settings["method"],
            seed=settings["seed"],
            what=self.what,
            length=size,
            nearest=k or 0,
            probes=self.probes,
        )
        with run.stage("take in"):
            self.space = space_of(sides, measure, float(plan.threshold))
            self.contents = self.space.contents()
        self.live = np.arange(len(self.space))
        self.lengths = np.zeros(len(self.space), np.int64)
        with run.stage("plan"):
            self.plan = self._plan_nearest(plan) if threshold is None else self._fit(plan)
        for line in self.plan.lines():
            run.say(line)

    def _fit(self, plan: VectorPlan) -> VectorPlan:
        return fit_vectors(plan, self.space, self.live, self.split, self.probes)

    def _plan_nearest(self, plan: VectorPlan) -> VectorPlan:
        """Look as far as nine of ten items of a sample must; brute force needs no bound."""
        left, right = self.live[: self.split], self.live[self.split :]
        if not len(left) or not len(right) or plan.wanted == 1:
            return replace(plan, method="brute", bounded=False)
        few = np.sort(np.random.default_rng(0).permutation(left)[:SAMPLE])
        far = np.sort(last_of(nearest(self.space, few, right, plan.nearest, self.run)[2], len(few)))
        self.space.look(float(far[len(far) // 10] if self.space.alike else far[-1 - len(far) // 10]))
        plan = self._fit(replace(plan, threshold=Fraction(str(self.space.threshold))))
        return replace(plan, bounded=plan.method != "brute")

    def _tables(self, rows: np.ndarray) -> Tables | None:
        """The plan's tables; None for brute force."""
        plan, space = self.plan, self.space
        if plan.bands is not None:
            family = space.family(plan.bands.hashes, plan.seed, plan.width)
            probers = len(rows) if self.split == ONE else self.split_among(rows)
            some = (plan.probes, probers) if plan.probes else (0, 0)
            return band_tables(space, family, plan.bands.rows, rows, self.run, *some)
        if plan.parts:
            assert isinstance(space, BitSpace)
            return part_tables(space.words[rows], space.dimensions, plan.parts, int(plan.threshold), plan.seed)
        return None

    def _seen(self, pairs: int) -> None:
        self.candidates += pairs

    def pairs(self, groups: Groups, limit: int) -> Found:
        rows = groups.heads
        if not self.plan.bounded:
            return self._nearest(rows)
        left, right, values = near_pairs(self.space, rows, self._tables(rows), self.split, limit, self.run, self._seen)
        return left, right, values, self.space.measured(rows, rows)

    def _nearest(self, rows: np.ndarray) -> Found:
        """The k nearest by brute force."""
        middle = self.split_among(rows)
        with self.run.stage("compare", middle) as tick:
            found = nearest(self.space, rows[:middle], rows[middle:], self.plan.nearest, self.run, tick)
        self.candidates = middle * (len(rows) - middle)
        return *found, self.space.measured(rows, rows)

    def labels(self, groups: Groups) -> np.ndarray:
        label = np.arange(len(self))
        rows = groups.heads
        for numbers in near_numbers(self.space, rows, self._tables(rows), self.split, self.run, self._seen):
            left, right = np.divmod(numbers, len(self))
            apart = label[left] != label[right]
            left, right = np.divmod(check(self.space, np.unique(numbers[apart]), self.run)[0], len(self))
            join_pairs(left, right, label)
            if len(left):
                label = roots(label)
        return label

    def audit(self, size: int, found: IsFound) -> Audit:
        sample = self._sample(self.live, size)
        with self.run.stage("audit"):
            left, right, _ = near_some(self.space, sample, self.live, self.run)
        if self.split != ONE:
            across = (left < self.split) & (right >= self.split)
            left, right = left[across], right[across]
        return Audit(len(sample), len(left), int(np.count_nonzero(found(left, right))))

    def audit_nearest(self, size: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> Audit:
        """How many of the k nearest of a sample of left items are among the pairs found, given by position."""
        k = self.plan.nearest
        others = self.live[self.split :]
        sample = self._sample(self.live[: self.split], size)
        true = min(k, len(others))
        far = np.full(len(self), np.nan)
        with self.run.stage("audit"):
            far[sample] = last_of(nearest(self.space, sample, others, k, self.run)[2], len(sample)) if true else 0
        with np.errstate(invalid="ignore"):
            near = values >= far[left] if self.space.alike else values <= far[left]
        counts = np.bincount(left[near], minlength=len(self))[sample]
        return Audit(len(sample), len(sample) * true, int(np.minimum(counts, true).sum()), nearest=k)

    def _sample(self, rows: np.ndarray, size: int) -> np.ndarray:
        rng = np.random.default_rng(self.plan.seed)
        return np.sort(rng.choice(rows, min(size, len(rows)), replace=False))

    def explain(self, left: int, right: int) -> Explanation:
        """Of codes: which bits are set."""
        if not isinstance(self.space, BitSpace):
            raise UsageError("vectors have no elements that could be shown; look at the rows themselves.")
        bits = self.space.bits.take(np.array([left, right])).matrix()
        return Explanation.of(*(np.flatnonzero(row).tolist() for row in bits))

    def look(self, rows: np.ndarray) -> list[Any]:
        if isinstance(self.space, BitSpace):
            return list(self.space.bits.take(rows).matrix())
        assert isinstance(self.space, VectorSpace)
        values = self.space.vectors.values
        return [values[[row]] for row in rows] if self.space.vectors.sparse else list(np.asarray(values[rows]))

    def counts(self) -> dict[str, int]:
        return {"items": len(self), "empty": 0, "skipped": self.skipped}


def fit_for(side: Vectors | Bits, measure: str) -> Vectors | Bits:
    """The side, if the measure can be taken of it; rows that have no angle are an error or left out."""
    if isinstance(side, Bits) != (measure == "hamming"):
        got = "bits" if isinstance(side, Bits) else "vectors"
        of = "hamming" if got == "bits" else "cosine, cosine_similarity or euclidean"
        raise UsageError(f"measure must be {of} for {got}; got {measure!r}.")
    if isinstance(side, Bits) or measure == "euclidean":
        return side
    return side.without(zero_rows(side.values), NO_DIRECTION)
