"""How good a result is, given the truth: precision, recall and F1, by threshold, and stated against actual numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.drawing import draw_calibration, draw_quality, new_axes
from lookalike.core.statistics import wilson
from lookalike.core.wording import counted

PROBABILITY, DISTANCE = "probability", "distance"
EDGES = (*(tenth / 10 for tenth in range(10)), 0.95, 0.99, 1.0)  # of the groups of stated probabilities
ASSUMED = "the 95% intervals (Wilson) treat pairs as independent of each other, and the truth as complete"
WIDER = "the pairs of one cluster depend on each other, so the 95% intervals (Wilson) are too narrow for large clusters"


@dataclass(frozen=True)
class Agreement:
    """How many pairs are in the result, in the truth, and in both."""

    found: int
    truth: int
    both: int

    @property
    def precision(self) -> float:
        """The share of the found pairs that are true; nan if there are none."""
        return self.both / self.found if self.found else np.nan

    @property
    def recall(self) -> float:
        """The share of the true pairs that were found; nan if there are none."""
        return self.both / self.truth if self.truth else np.nan

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; nan without any pair."""
        return 2 * self.both / (self.found + self.truth) if self.found + self.truth else np.nan

    @property
    def precision_interval(self) -> tuple[float, float]:
        """The 95% interval of the precision."""
        return wilson(self.both, self.found)

    @property
    def recall_interval(self) -> tuple[float, float]:
        """The 95% interval of the recall."""
        return wilson(self.both, self.truth)

    @property
    def f1_interval(self) -> tuple[float, float]:
        """The 95% interval of F1, which is 2p / (1 + p) for the share p of all pairs, found or true, that are both."""
        low, high = wilson(self.both, self.found + self.truth - self.both)
        return 2 * low / (1 + low), 2 * high / (1 + high)


@dataclass(frozen=True)
class BCubed:
    """B-cubed scores of clusters, as means over all items in the result or in the truth.

    The precision of an item is the share of its cluster that belongs with it; its recall is the share of those that
    belong with it that are in its cluster; it counts itself in both (Bagga and Baldwin 1998).
    """

    items: int
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of the two means."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)


@dataclass(frozen=True, eq=False)
class Evaluation(Agreement):
    """A result compared with the truth: its precision, recall and F1, with 95% intervals.

    For clusters, a pair is two items of one cluster, and `bcubed` has the B-cubed scores.

    >>> import lookalike as la
    >>> pairs = la.find_pairs([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {2, 3, 4, 8, 9}], threshold=0.5)
    >>> found = la.evaluate(pairs, [(0, 1)])
    >>> found, found.precision, found.recall
    (<precision 0.5000, recall 1.0000, F1 0.6667>, 0.5, 1.0)
    """

    by: str = ""  # what the pairs are ranked by, such as "similarity"; "" if they are not
    values: np.ndarray | None = None  # of all pairs of the result
    hits: np.ndarray | None = None  # whether each is true
    probability: np.ndarray | None = None  # of each, as the result states it
    threshold: float | None = None  # pairs beyond it are counted in the curve and the calibration only
    bcubed: BCubed | None = None
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<precision {self.precision:.4f}, recall {self.recall:.4f}, F1 {self.f1:.4f}>"

    @property
    def expected(self) -> float | None:
        """How many of the found pairs are true by their stated probabilities; None if the result states none."""
        if self.probability is None:
            return None
        return float(self.probability[self._within].sum())

    @property
    def _within(self) -> Any:
        """Which pairs the threshold keeps."""
        if self.threshold is None or self.values is None:
            return slice(None)
        return within(self.values, self.by, self.threshold)

    @cached_property
    def _thresholds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All different values, best first; how many pairs are at least as good, and how many of those are true."""
        values, hits = (np.zeros(0), np.zeros(0, bool)) if self.values is None else (self.values, self.hits)
        assert hits is not None
        order = np.argsort(values if self.by == DISTANCE else -values)
        ranked = values[order]
        last = np.flatnonzero(np.append(np.diff(ranked) != 0, np.ones(min(1, len(ranked)), bool)))
        return ranked[last], last + 1, np.cumsum(hits[order])[last]

    @property
    def _best(self) -> int:
        """The position of the threshold with the best F1."""
        _, found, both = self._thresholds
        return int(np.argmax(both / (found + self.truth)))

    def curve(self, rows: int = 1000) -> pa.Table:
        """Return precision, recall and F1 at each threshold, the strictest first.

        Pairs of equal value are kept or dropped together. If there are more than `rows` different values, thresholds
        are spread evenly over the pairs, and include the one with the best F1. The table is empty if the pairs of the
        result have no values.
        """
        thresholds, found, both = self._thresholds
        if len(found) > rows:
            even = np.searchsorted(found, np.linspace(1, found[-1], rows - 1))
            chosen = np.unique(np.append(even, self._best))
            thresholds, found, both = thresholds[chosen], found[chosen], both[chosen]
        each = [Agreement(pairs, self.truth, true) for pairs, true in zip(found.tolist(), both.tolist(), strict=True)]
        columns = {"threshold": thresholds, "pairs": found, "true": both}
        columns |= {"precision": np.array([one.precision for one in each])}
        columns |= ends("precision", [one.precision_interval for one in each])
        columns |= {"recall": np.array([one.recall for one in each])}
        columns |= ends("recall", [one.recall_interval for one in each])
        columns |= {"f1": np.array([one.f1 for one in each])}
        columns |= ends("f1", [one.f1_interval for one in each])
        return pa.table(columns)

    def calibration(self) -> pa.Table:
        """Return, for groups of stated probabilities, the mean stated and the actual share of true pairs.

        `low` and `high` are the ends of the 95% interval of the actual share. A group holds the probabilities above
        `from` and up to `to`. The table is empty if the result states no probabilities.
        """
        stated = np.zeros(0) if self.probability is None else self.probability
        hits = np.zeros(0, bool) if self.probability is None or self.hits is None else self.hits
        group = np.clip(np.searchsorted(EDGES, stated) - 1, 0, None)  # 0 belongs to the first group
        pairs = np.bincount(group, minlength=len(EDGES) - 1)
        true = np.bincount(group, hits, minlength=len(pairs)).astype(np.int64)
        mean = np.bincount(group, stated, minlength=len(pairs)) / np.maximum(pairs, 1)
        there = np.flatnonzero(pairs)
        counts = list(zip(true[there].tolist(), pairs[there].tolist(), strict=True))
        edges = np.array(EDGES)
        columns = {"from": edges[there], "to": edges[there + 1], "pairs": pairs[there], "true": true[there]}
        columns |= {"stated": mean[there], "actual": true[there] / pairs[there]}
        columns |= ends("", [wilson(*count) for count in counts])
        return pa.table(columns)

    def plot(self, axes: Any = None) -> Any:
        """Draw precision, recall and F1 by threshold, with matplotlib, on the axes given or on new ones."""
        axes = new_axes(axes)
        draw_quality(axes, self.curve(), self.by)
        return axes

    def plot_calibration(self, axes: Any = None) -> Any:
        """Draw the actual share of true pairs by the stated probability, with matplotlib."""
        axes = new_axes(axes)
        draw_calibration(axes, self.calibration())
        return axes

    def lines(self) -> list[str]:
        """Describe in words how good the result is."""
        kept = "" if self.threshold is None else f" with {self.by} {self._sign} {self.threshold:.4g}"
        inside = "" if self.bcubed is None else " within clusters"
        said = [
            f"result: {counted(self.found, 'pair')}{inside}{kept}; truth: {counted(self.truth, 'pair')}; "
            f"in both: {self.both:,}",
            f"precision: {scored(self.precision, self.precision_interval)}",
            f"recall: {scored(self.recall, self.recall_interval)}",
            f"F1: {scored(self.f1, self.f1_interval)}",
        ]
        if self.bcubed is not None:
            one = self.bcubed
            said.append(
                f"B-cubed, over {counted(one.items, 'item')}: "
                f"precision {one.precision:.4f}, recall {one.recall:.4f}, F1 {one.f1:.4f}"
            )
        if self.expected is not None:
            said.append(f"stated: {self.expected:,.1f} of the pairs are true, by their probabilities; {self._actual()}")
        if self.values is not None and len(self.values) and self.truth:
            threshold, found, both = (float(column[self._best]) for column in self._thresholds)
            best = Agreement(int(found), self.truth, int(both))
            said.append(
                f"best F1: {best.f1:.4f} at {self.by} {self._sign} {threshold:.4g} "
                f"(precision {best.precision:.4f}, recall {best.recall:.4f})"
            )
        intervals = ASSUMED if self.bcubed is None else WIDER
        return [*said, *(f"note: {note}" for note in (*self.notes, intervals))]

    @property
    def _sign(self) -> str:
        return "<=" if self.by == DISTANCE else ">="

    def _actual(self) -> str:
        """Say how many pairs are true, compared with the stated number."""
        assert self.expected is not None
        off = self.both - self.expected
        if abs(off) < 0.05 or not self.both:
            return f"actual: {self.both:,}"
        return f"actual: {self.both:,} ({abs(off) / self.both:.1%} {'more' if off > 0 else 'fewer'} than stated)"


def within(values: np.ndarray, by: str, threshold: float) -> np.ndarray:
    """Return which values are at least as good as a threshold: small distances, or large values of anything else."""
    good: np.ndarray = values <= threshold if by == DISTANCE else values >= threshold
    return good


def ends(name: str, intervals: list[tuple[float, float]]) -> dict[str, np.ndarray]:
    """Return the columns with the ends of intervals."""
    low, high = np.array(intervals, float).reshape(-1, 2).T
    return {f"{name}_low".lstrip("_"): low, f"{name}_high".lstrip("_"): high}


def scored(value: float, interval: tuple[float, float]) -> str:
    """Return a score with its interval.

    >>> scored(0.5, (0.1, 0.9)), scored(float("nan"), (0, 1))
    ('0.5000 (95% interval 0.1000 to 0.9000)', 'none, since there are no pairs')
    """
    if np.isnan(value):
        return "none, since there are no pairs"
    return f"{value:.4f} (95% interval {interval[0]:.4f} to {interval[1]:.4f})"


def pairs_evaluated(
    hits: np.ndarray, truth: int, by: str, values: np.ndarray | None, probability: np.ndarray | None,
    threshold: float | None, notes: Sequence[str],
) -> Evaluation:  # fmt: skip
    """Evaluate distinct pairs, given which are true and how many true pairs there are in all."""
    kept = hits if threshold is None or values is None else hits[within(values, by, threshold)]
    return Evaluation(
        len(kept), truth, int(np.count_nonzero(kept)), by, values, hits, probability, threshold, notes=notes
    )


def clusters_evaluated(result: np.ndarray, truth: np.ndarray, notes: Sequence[str] = ()) -> Evaluation:
    """Evaluate clusters, given each item's cluster in the result and in the truth, numbered from 0.

    The number of items in both one cluster of the result and one of the truth gives all scores.
    """
    width = int(truth.max(initial=0)) + 1
    cells, shared = np.unique(result * width + truth, return_counts=True)
    found, true = np.bincount(result), np.bincount(truth)
    pairs, of_result, of_truth = (int((sizes * (sizes - 1) // 2).sum()) for sizes in (shared, found, true))
    items, squares = len(result), shared.astype(float) ** 2
    precision, recall = (
        float((squares / sizes[at]).sum() / items) if items else np.nan
        for sizes, at in ((found, cells // width), (true, cells % width))
    )
    return Evaluation(of_result, of_truth, pairs, bcubed=BCubed(items, precision, recall), notes=notes)
