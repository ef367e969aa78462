"""The command `lookalike curve`: the probability that a pair becomes a candidate."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli.app import command
from lookalike.cli.axis import TWENTIETHS, Axis, axis_of, say, shown
from lookalike.cli.options import FamilyName, option
from lookalike.cli.plots import picture
from lookalike.core.errors import UsageError, whole
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from lookalike.theory.amplify import Curve


@command(
    "lookalike curve --bands 20 --rows 5 --plot curve.png",
    "lookalike curve --cascade 'And(4) >> Or(4) >> Or(4) >> And(4)'",
    "lookalike curve --bands 11 --rows 9 --family hyperplanes",
)
def curve(
    *,
    bands: Annotated[int | None, option(metavar="N", help="Number of bands.")] = None,
    rows: Annotated[int | None, option(metavar="N", help="Rows (hash functions) per band.")] = None,
    cascade: Annotated[
        str | None,
        option(
            metavar="STEPS",
            help="Instead of bands and rows: ANDs and ORs in any order, such as 'Or(4) >> And(4)'.",
        ),
    ] = None,
    family: FamilyName = "minhash",
    plot: Annotated[Path | None, option(metavar="FILE", help="Draw the curve: .png, .svg or .pdf.")] = None,
) -> None:
    """Show the probability that a pair becomes a candidate, by similarity or distance."""
    from lookalike.core.drawing import draw_curve

    combined, name = cascade_of(bands, rows, cascade)
    axis = axis_of(family)
    if axis.family and combined.functions > axis.family.most:
        most = f"{axis.family.most:,.0f} functions"
        raise UsageError(f"{name}: this needs {combined.functions:,} functions, but family {family} has only {most}.")

    def probability(value: Any) -> Any:
        return combined(axis.chance(value))

    if axis.end == math.inf:
        end = reach(probability)
        axis = axis._replace(end=end, steps=[float(f"{end * twentieth / 20:.3g}") for twentieth in TWENTIETHS])
    half = half_way(probability, axis.end)
    if plot is not None:
        with picture(plot) as axes:
            draw_curve(axes, probability, axis.end, half)
            axes.set(xlabel=axis_label(axis), title=name)
    print_curve(combined, name, axis, probability, half)


def cascade_of(bands: int | None, rows: int | None, cascade: str | None) -> "tuple[Curve, str]":
    """Return the curve that the options describe, and its name."""
    from lookalike.theory.amplify import And, Curve, Or

    if cascade is not None and bands is None and rows is None:
        combined = Curve.parse(cascade)
        return combined, str(combined)
    if cascade is None and bands is not None and rows is not None:
        combined = And(whole("rows", rows)) >> Or(whole("bands", bands))
        return combined, f"{counted(bands, 'band')} of {counted(rows, 'row')}"
    raise UsageError("give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'.")


def reach(probability: Callable[[Any], Any]) -> float:
    """Return a round distance beyond which hardly any pair becomes a candidate."""
    end = 1.0
    while probability(end) > 0.02 and end < 1e12:
        end *= 1.25
    while probability(end) <= 0.02 and end > 1e-12:
        end /= 1.25
    return float(f"{1.25 * end:.2g}")


def half_way(probability: Callable[[Any], Any], end: float) -> float | None:
    """Return where a rising or falling curve crosses one half; None if it does not."""
    low, high = 0.0, end
    rising = probability(high) > probability(low)
    if not min(probability(low), probability(high)) < 0.5 < max(probability(low), probability(high)):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (probability(middle) < 0.5) == rising else (low, middle)
    return (low + high) / 2


def axis_label(axis: Axis) -> str:
    """Return the full name of the measure."""
    labels = {"angle": "angle in degrees", "hamming": "Hamming distance", "euclidean": "Euclidean distance"}
    return labels[axis.family.measure] if axis.family else "Jaccard similarity"


def print_curve(
    combined: "Curve", name: str, axis: Axis, probability: Callable[[Any], Any], half: float | None
) -> None:
    """Print the curve as a table with bars, and its main facts."""
    from rich.table import Table

    from lookalike.cli.terminal import Terminal

    console = Terminal()
    table = Table(axis.measure, "candidate with probability", "", box=None, pad_edge=False)
    block = "█" if can_print(console, "█") else "#"
    width = max(10, min(40, console.width - 40))
    for value in axis.steps:
        p = probability(value)
        table.add_row(f"{value:.3g}" if axis.family else f"{value:.1f}", shown(p), block * round(width * p))
    say(console, f"{name}, {counted(combined.functions, *axis.functions)}")
    console.print(table)
    for line in describe(combined, axis, half):
        say(console, line)


def can_print(console: "Console", text: str) -> bool:
    """Return whether the encoding of the terminal has these characters."""
    try:
        text.encode(console.encoding)
    except UnicodeEncodeError:
        return False
    return True


def describe(combined: "Curve", axis: Axis, half: float | None) -> list[str]:
    """Return the main facts about a curve: midpoint, slope and fixed points."""
    from lookalike.theory.amplify import And, Or

    lines = []
    if half is not None:
        estimate = ""
        if axis.family is None and [type(step) for step in combined.steps] == [And, Or]:
            rows, bands = (step.count for step in combined.steps)
            estimate = f" (estimate: (1/b)^(1/r) = {(1 / bands) ** (1 / rows):.3f})"
        lines.append(f"half of the pairs at {axis.measure} {half:.3g} become candidates{estimate}")
    where, slope = combined.steepest()
    lines.append(f"steepest where one function agrees with probability {where:.3f}: slope {slope:.2f}")
    fixed = combined.fixed_points()
    if fixed:
        points = ", ".join(f"{p:.3f}" for p in fixed)
        lines.append(f"fixed point at {points}: lower probabilities are reduced, higher ones raised")
    return lines
