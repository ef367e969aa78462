"""Draw results and curves on matplotlib axes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lookalike.entities.validation import Validation
    from lookalike.search.plan import Plan

BLUE, ORANGE, GREEN, GREY, INK = "#1f6feb", "#d9730d", "#2da44e", "#8b949e", "#57606a"


def new_axes(axes: Any) -> Any:
    """Return the given axes, or new ones if there are none."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    _, made = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    made.spines[["top", "right"]].set_visible(False)
    return made


def draw_values(axes: Any, values: np.ndarray, kind: str, plan: "Plan | None") -> None:
    """Draw a histogram of the values, the threshold and the probability of being found."""
    best = [] if plan is not None and plan.row.unlimited else [1.0 if kind == "similarity" else 0.0]
    every = np.append(values, best if plan is None else [*best, float(plan.threshold)])
    axes.hist(values, bins=40, range=(every.min(), every.max()), color=BLUE, alpha=0.7)
    axes.set(xlabel=kind, ylabel="pairs")
    if plan is None:
        return
    axes.axvline(float(plan.threshold), color=ORANGE, linewidth=1, linestyle="--", label="threshold")
    if plan.has_curve and kind == "similarity":
        x = np.linspace(every.min(), 1, 201)
        other = axes.twinx()
        other.plot(x, plan.probability(x), color=GREEN, linewidth=1.5)
        other.set(ylim=(0, 1.02), ylabel="probability of being found")
        other.spines["top"].set_visible(False)


def draw_sizes(axes: Any, sizes: np.ndarray) -> None:
    """Draw how many clusters there are of each size."""
    different, counts = np.unique(sizes, return_counts=True)
    axes.vlines(different, 0, counts, color=BLUE, linewidth=2)
    axes.plot(different, counts, ".", color=BLUE)
    largest = int(different.max(initial=3))
    axes.set(xlabel="items in a cluster", ylabel="clusters", ylim=(0, None), xlim=(1, 1.05 * largest + 1))
    axes.xaxis.get_major_locator().set_params(integer=True)
    if largest > 50:
        axes.set_xscale("log")


def draw_curve(axes: Any, probability: Callable[[np.ndarray], np.ndarray], end: float, half: float | None) -> None:
    """Draw the probability of becoming a candidate over [0, end], and mark where it is one half."""
    x = np.linspace(0, end, 501)
    axes.plot(x, probability(x), color=BLUE, linewidth=2.2)
    axes.set(xlim=(0, end), ylim=(0, 1.01), ylabel="probability of becoming a candidate")
    if half is not None:
        axes.plot([half, half, 0], [0, 0.5, 0.5], color=GREY, linewidth=1, linestyle="--")
        axes.annotate(f"{half:.3g}", (half, 0.5), xytext=(10, -4), textcoords="offset points", color=INK)


def draw_shares(axes: Any, validation: "Validation", cut_off: float) -> None:
    """Draw the share of true matches by score with its confidence interval, and the cut-off."""
    middle = (validation.low_scores + validation.high_scores) / 2
    errors = np.abs(np.stack((validation.shares - validation.low, validation.high - validation.shares)))
    axes.errorbar(middle, validation.shares, errors, color=BLUE, linewidth=1.8, elinewidth=1, ecolor=GREY, marker=".")
    axes.set(ylim=(-0.02, 1.02), xlabel="score", ylabel="share of true matches")
    if np.isfinite(cut_off):
        axes.axhline(cut_off, color=ORANGE, linewidth=1, linestyle="--")
        at = (axes.get_xlim()[0], cut_off)
        axes.annotate(f"cut-off {cut_off:.3g}", at, xytext=(5, 4), textcoords="offset points", color=INK)


def draw_quality(axes: Any, curve: "pa.Table", by: str) -> None:
    """Draw precision, recall and F1 by threshold, with the 95% intervals of the first two."""
    at = curve["threshold"].to_numpy()
    for name, colour in (("precision", BLUE), ("recall", GREEN), ("f1", ORANGE)):
        label = "F1" if name == "f1" else name
        axes.plot(
            at, curve[name].to_numpy(), color=colour, linewidth=1.8, label=label, marker="." if len(at) < 30 else ""
        )
        if name != "f1":
            axes.fill_between(
                at, *(curve[f"{name}_{end}"].to_numpy() for end in ("low", "high")), color=colour, alpha=0.15
            )
    axes.set(ylim=(0, 1.02), xlabel=f"{'maximum' if by == 'distance' else 'minimum'} {by}", ylabel="share")
    axes.legend(frameon=False)


def draw_calibration(axes: Any, groups: "pa.Table") -> None:
    """Draw the actual share of true pairs by the mean stated probability, with 95% intervals.

    On the diagonal, the stated probabilities are right.
    """
    stated, actual, low, high = (groups[name].to_numpy() for name in ("stated", "actual", "low", "high"))
    axes.plot([0, 1], [0, 1], color=ORANGE, linewidth=1, linestyle="--", label="as stated")
    axes.errorbar(
        stated,
        actual,
        np.stack((actual - low, high - actual)).clip(0),
        color=BLUE,
        linewidth=0,
        elinewidth=1,
        ecolor=GREY,
    )
    axes.scatter(stated, actual, s=size_of_dots(groups["pairs"].to_numpy()), color=BLUE, zorder=3, label="actual")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="stated probability", ylabel="share of true pairs")
    axes.legend(frameon=False, loc="best")


def size_of_dots(counts: np.ndarray) -> np.ndarray:
    """Return areas of dots that grow with the logarithm of counts."""
    areas: np.ndarray = 12 + 12 * np.log10(np.maximum(counts, 1))
    return areas
