"""Chooses what to show of a large result: bars, the largest groups, and sample pairs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lookalike.report.finding import FARTHEST, Finding, Values

BARS = 40
NEAR, SPREAD = 120, 80  # pairs shown: nearest to the threshold, and spread over all other values
LARGEST = 10  # groups shown
MEMBERS = 10  # members shown of each group
STEEP = 100  # heights are logarithms if the highest bar is more than this many times the median
ROUND = (1.0, 2.0, 2.5, 5.0)  # steps of a scale, times a power of ten


class Bar(NamedTuple):
    """The number of pairs between two values; `height` is relative to the highest bar."""

    low: float
    high: float
    pairs: int
    height: float


@dataclass(frozen=True)
class Histogram:
    """The number of pairs by value, and the probability of finding them."""

    low: float
    high: float
    bars: Sequence[Bar]
    log: bool  # heights are logarithms
    heights: Sequence[tuple[float, str]]  # marks of the vertical scale
    ticks: Sequence[float]  # marks of the horizontal scale
    curve: Sequence[tuple[float, float]]  # (value, probability of being found)

    def at(self, value: float) -> float:
        """Return the horizontal position of a value, from 0 to 100."""
        return 100 * (value - self.low) / (self.high - self.low)


def histogram(found: Values) -> Histogram:
    """Return the bars of all pairs, over a scale that includes the threshold."""
    low, high = scale_of(found)
    whole = found.values.dtype.kind in "iu" and high - low <= 2 * BARS
    if whole:  # one bar per number
        low, high = math.floor(low) - 0.5, math.ceil(high) + 0.5
        edges = np.arange(low, high + 1)
    else:  # rounded, so that 0.7 is 0.7
        edges = np.round(np.linspace(low, high, BARS + 1), min(300, 11 - math.floor(math.log10(high - low))))
        edges[0], edges[-1] = low, high
    counts, _ = np.histogram(found.drawn, edges)
    there = counts[counts > 0]
    log = bool(len(there)) and there.max() > STEEP * np.median(there)
    tall = np.log10(1 + counts) if log else counts.astype(float)
    top = float(tall.max(initial=0)) or 1.0
    bars = [
        Bar(float(a), float(b), int(count), float(height) / top)
        for a, b, count, height in zip(edges[:-1], edges[1:], counts, tall, strict=True)
        if count
    ]
    most = int(counts.max(initial=0))
    marks = [10**power for power in range(len(str(most)))] if log else whole_steps(1, most, 4)
    heights = [(float(math.log10(1 + mark) if log else mark) / top, f"{mark:,}") for mark in marks]
    points = np.linspace(low, high, 201)
    curve: list[tuple[float, float]] = []
    if found.probability is not None:
        inside = np.clip(points, max(low, 0.0) if found.rising else 0.0, high)
        curve = list(zip(points.tolist(), np.asarray(found.probability(inside)).tolist(), strict=True))
    ticks = round_steps(low, high, 6)
    if whole:
        ticks = [float(tick) for tick in whole_steps(math.ceil(low), math.floor(high), 6)]
    return Histogram(float(low), float(high), bars, log, heights, ticks, curve)


def scale_of(found: Values) -> tuple[float, float]:
    """Return the range of values to show: 0 to 1 for similarities with that limit, else past the threshold."""
    bounds = [] if found.cut is None else [min(max(found.cut, -FARTHEST), FARTHEST)]
    every = [float(found.drawn.min()), float(found.drawn.max()), *bounds] if len(found) else bounds or [0.0]
    low, high = min(0.0, *every), max(0.0, *every)
    if found.rising and not found.unlimited and high <= 1:
        return low, 1.0
    high *= 1.05 if found.rising else 1.25
    return low, high if high > low else 1.0


def round_steps(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from low to high, at most about `most` of them.

    >>> round_steps(0, 1, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if high <= low:
        return [low]
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(size * power for size in (*ROUND, 10.0) if size * power >= least * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(at * step, 12) for at in range(first, math.floor(high / step + 1e-9) + 1)]


def whole_steps(low: int, high: int, most: int) -> list[int]:
    """Return round whole numbers from low to high, at most about `most` of them.

    >>> whole_steps(1, 2, 4), whole_steps(0, 1873, 4)
    ([1, 2], [0, 500, 1000, 1500])
    """
    return [int(step) for step in round_steps(low, high, most) if step == int(step)] or [high]


def weakest(found: Values) -> float:
    """Return the value of the least similar pair."""
    return float(found.drawn.min() if found.rising else found.drawn.max())


class Chosen(NamedTuple):
    """The number of a pair to show, and whether it is one of those nearest to the threshold."""

    pair: int
    near: bool


def choose(found: Values) -> list[Chosen]:
    """Choose the pairs nearest to the threshold, then some spread evenly over all other values."""
    apart = np.abs(found.drawn - (weakest(found) if found.cut is None else found.cut))
    shuffled = np.random.default_rng(0).permutation(len(found))  # break ties at random
    order = shuffled[np.argsort(apart[shuffled], kind="stable")]
    near, others = order[:NEAR], order[NEAR:]
    low, high = scale_of(found)
    bins = np.floor((found.drawn[others] - low) / (high - low) * BARS)
    turn = np.empty(len(others), np.int64)  # the rank of each within its bin
    sizes = np.unique(bins, return_counts=True)[1]
    turn[np.argsort(bins, kind="stable")] = np.arange(len(others)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    spread = np.sort(np.argsort(turn, kind="stable")[:SPREAD])
    return [Chosen(int(at), True) for at in near] + [Chosen(int(at), False) for at in others[spread]]


@dataclass(frozen=True)
class ListedGroup:
    """One group: its size, some of its members, and the share of its pairs found, if known."""

    first: int
    size: int
    members: np.ndarray
    share: float | None


class Size(NamedTuple):
    """The number of groups between two sizes."""

    low: int
    high: int
    groups: int
    items: int


def sizes_of(label: np.ndarray) -> np.ndarray:
    """Return the sizes of groups of two or more."""
    sizes = np.bincount(label, minlength=1)
    return sizes[sizes > 1]


def size_bars(sizes: np.ndarray) -> list[Size]:
    """Count the groups of sizes 2, 3, 4 and 5, then over ever wider ranges of sizes."""
    bounds = [2, 3, 4, 5, 6, 11, 21, 51, 101]
    while bounds[-1] <= sizes.max(initial=0):
        bounds.append((bounds[-1] - 1) * 10 + 1)
    found = []
    for low, after in pairwise(bounds):
        inside = sizes[(sizes >= low) & (sizes < after)]
        if len(inside):
            found.append(Size(low, after - 1, len(inside), int(inside.sum())))
    return found


def largest_groups(finding: Finding) -> list[ListedGroup]:
    """Return the largest groups, larger first; the item that names a group is its first member."""
    label = finding.label
    if label is None:
        return []
    sizes = np.bincount(label, minlength=1)
    largest = np.argsort(-sizes, kind="stable")[:LARGEST]
    largest = largest[sizes[largest] > 1]
    pairs = None
    if finding.values is not None and finding.groups == "clusters":
        pairs = similar_inside(finding.values, label)
    found = []
    for first in largest.tolist():
        size = int(sizes[first])
        members = np.flatnonzero(label == first)
        members = np.concatenate(([first], members[members != first]))[:MEMBERS]
        share = None if pairs is None else 2 * int(pairs[first]) / (size * (size - 1))
        found.append(ListedGroup(first, size, members, share))
    return found


def similar_inside(found: Values, label: np.ndarray) -> np.ndarray:
    """Count the pairs within the threshold in each group; (a, b) and (b, a) are one pair."""
    left, right = found.left[found.within], found.right[found.within]
    together = label[left] == label[right]
    left, right = left[together], right[together]
    if (left > right).any():
        numbers = np.unique(np.minimum(left, right) * len(label) + np.maximum(left, right))
        left = numbers // len(label)
    return np.bincount(label[left], minlength=len(label))
