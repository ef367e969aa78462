"""Measure recall: compare a sample of items exactly and count which of its pairs were found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.errors import whole
from lookalike.core.run import Run
from lookalike.core.statistics import wilson
from lookalike.core.wording import counted
from lookalike.kernels.joins import index_elements, probe
from lookalike.kernels.weights import probe_weights
from lookalike.search.collection import Collection


@dataclass(frozen=True)
class Audit:
    """The result of an audit: of `true` pairs that involve a sampled item, `found` were found."""

    sampled: int
    true: int
    found: int
    nearest: int = 0  # k, if the pairs are those of each item's k nearest

    @property
    def recall(self) -> float:
        """The measured recall; 1 if there was nothing to find."""
        return self.found / self.true if self.true else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval for the recall, treating the sampled pairs as independent."""
        return wilson(self.found, self.true)

    def line(self) -> str:
        """Return the result as one line."""
        if not self.true:
            sampled = counted(self.sampled, "sampled item")
            return f"audit: none of {sampled} has a similar item, so there is no recall to measure"
        low, high = self.interval
        nearest = f"{self.true:,} of the {self.nearest:,} nearest"
        true = nearest if self.nearest else counted(self.true, "true pair")
        return (
            f"audit: {self.found:,} of {true} of {counted(self.sampled, 'sampled item')} found: "
            f"recall {self.recall:.4f} (95% interval {low:.4f} to {high:.4f})"
        )


def audit(collection: Collection, size: int, found: Callable[[np.ndarray, np.ndarray], np.ndarray], run: Run) -> Audit:
    """Compare a random sample of items exactly with the whole collection, in one pass over it.

    `found` returns which pairs of positions the audited run has found: left before right or, by
    containment, left contained in right; then only items of the first collection are sampled. The
    sample is an index from element to item, so the pass costs one lookup per element.
    """
    live, plan, sides = np.flatnonzero(collection.counts), collection.plan, collection.sides
    drawn = sides.apart(live)[0] if plan.directed else live  # those that others may contain
    rng = np.random.default_rng(plan.seed)
    sample = np.sort(rng.choice(drawn, min(whole("audit", size), len(drawn)), replace=False))
    if not len(sample):
        return Audit(0, 0, 0)
    sets = collection.sets(sample, run)
    order = np.argsort(sets.elements, kind="stable")
    ordered = sets.elements[order]
    owners = np.repeat(np.arange(len(sets)), sets.sizes)[order]
    shift = np.uint64(64 - max(1, (2 * len(ordered)).bit_length()))
    slots = index_elements(ordered, shift)

    def work(task: Any) -> tuple[int, np.ndarray, np.ndarray]:
        part, rows = collection.weighing.weighed(collection.maker.make(task)), collection.maker.rows(task)
        index = slots, shift, ordered, owners
        if sets.weights is None:
            row, owner, _ = probe(part.indptr, part.elements, *index, sets.sizes, *plan.join)
        else:
            ratio = plan.threshold.as_integer_ratio()
            row, owner = probe_weights(part.indptr, part.elements, part.weights, *index, sets.totals, *ratio)
        return len(rows), rows[row], sample[owner]

    n = len(collection)
    pairs = [np.zeros(0, np.int64)]  # each as left * n + right
    with run.stage("audit", len(live)) as tick:
        for done, one, other in run.map(work, collection.maker.tasks(live)):
            tick(done)
            apart = one != other
            one, other = one[apart], other[apart]
            if not plan.directed:
                one, other = np.maximum(one, other), np.minimum(one, other)
            pairs.append(other * n + one)
        left, right = np.divmod(np.unique(np.concatenate(pairs)), n)
    across = sides.across(left, right)
    left, right = left[across], right[across]
    return Audit(len(sample), len(left), int(np.count_nonzero(found(left, right))))
