"""The commands on curves: tables and plots of how likely a pair becomes a candidate."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table

from lookalike.cli.plots import picture
from lookalike.core.drawing import draw_curve
from lookalike.core.errors import UsageError, did_you_mean, whole
from lookalike.core.wording import counted
from lookalike.theory.amplify import And, Bands, Curve, Or, choose_bands, fitting_bands

if TYPE_CHECKING:
    from lookalike.families import Family

TWENTIETHS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # of the greatest distance in a table
NAMES = ("minhash", "hyperplanes", "bits", "lines")
FAMILIES = "minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH"


class Axis(NamedTuple):
    """What a curve is drawn over: a measure, and the chance of one function to agree at each value of it."""

    measure: str
    steps: list[float]  # values for a table
    end: float
    chance: Callable[[Any], Any]
    family: "Family | None" = None  # none for minhashes, which need not be imported
    functions: tuple[str, ...] = ("function",)  # for `counted`


def axis_of(spec: str) -> Axis:
    """From the name of a family, with its parameter after a colon."""
    name, _, given = spec.partition(":")
    if name == "minhash" and not given:
        return Axis("similarity", [i / 10 for i in range(1, 11)], 1.0, lambda s: s, None, ("minhash", "es"))
    from lookalike.families import BitSampling, Hyperplanes, RandomLines

    try:
        parameter = float(given or "nan")
    except ValueError:
        raise UsageError(f"family must have a number after its colon; got {spec!r}.") from None
    family: Family
    if name == "hyperplanes" and not given:
        family = Hyperplanes()
        return Axis("angle", [*range(0, 100, 10), 120, 150, 180], 180.0, family.collision, family)
    if name == "bits" and given:
        family = BitSampling(whole("dimensions", parameter))
        places: list[float] = sorted({round(family.farthest * share / 20) for share in TWENTIETHS})
        return Axis("distance", places, family.farthest, family.collision, family)
    if name == "lines" and given:
        family = RandomLines(parameter)
        return Axis("distance", [], math.inf, family.collision, family)  # steps and end as the curve asks for
    hint = "" if name in NAMES else did_you_mean(name, NAMES)
    raise UsageError(f"family must be {FAMILIES}; got {spec!r}.{hint}")


def cascade_of(bands: int | None, rows: int | None, cascade: str | None) -> tuple[Curve, str]:
    """The curve that was asked for, and its name."""
    if cascade is not None and bands is None and rows is None:
        curve = Curve.parse(cascade)
        return curve, str(curve)
    if cascade is None and bands is not None and rows is not None:
        curve = And(whole("rows", rows)) >> Or(whole("bands", bands))
        return curve, f"{counted(bands, 'band')} of {counted(rows, 'row')}"
    raise UsageError("give either --bands and --rows, or a --cascade such as 'And(4) >> Or(4)'.")


def show_curve(curve: Curve, name: str, family: str, plot: Path | None) -> None:
    """The curve as a table with bars, in words, and as a picture."""
    axis = axis_of(family)
    if axis.family and curve.functions > axis.family.most:
        most = f"{axis.family.most:,.0f} functions"
        raise UsageError(f"{name} takes {curve.functions:,} functions; family {family} has {most}.")

    def probability(value: Any) -> Any:
        return curve(axis.chance(value))

    if axis.end == math.inf:
        end = reach(probability)
        axis = axis._replace(end=end, steps=[float(f"{end * twentieth / 20:.3g}") for twentieth in TWENTIETHS])
    half = half_way(probability, axis.end)
    if plot is not None:
        with picture(plot) as axes:
            draw_curve(axes, probability, axis.end, half)
            axes.set(xlabel=axis_label(axis), title=name)
    console = Console(highlight=False)
    table = Table(axis.measure, "candidate with probability", "", box=None, pad_edge=False)
    block = "█" if can_print(console, "█") else "#"
    width = max(10, min(40, console.width - 40))
    for value in axis.steps:
        p = probability(value)
        table.add_row(f"{value:.3g}" if axis.family else f"{value:.1f}", shown(p), block * round(width * p))
    say(console, f"{name}, {counted(curve.functions, *axis.functions)}")
    console.print(table)
    for line in describe(curve, axis, half):
        say(console, line)


def reach(probability: Callable[[Any], Any]) -> float:
    """A distance, of three digits at most, at which hardly any pair is a candidate any more."""
    end = 1.0
    while probability(end) > 0.02 and end < 1e12:
        end *= 1.25
    while probability(end) <= 0.02 and end > 1e-12:
        end /= 1.25
    return float(f"{1.25 * end:.2g}")


def can_print(console: Console, text: str) -> bool:
    """Whether the terminal's encoding has these characters."""
    try:
        text.encode(console.encoding)
    except UnicodeEncodeError:
        return False
    return True


def say(console: Console, text: str) -> None:
    """Print a sentence, broken at the width of the terminal if it is one."""
    console.print(text, soft_wrap=not console.is_terminal)


def describe(curve: Curve, axis: Axis, half: float | None) -> list[str]:
    """What there is to know of a curve, in a few lines."""
    lines = []
    if half is not None:
        estimate = ""
        if axis.family is None and [type(step) for step in curve.steps] == [And, Or]:
            rows, bands = (step.count for step in curve.steps)
            estimate = f" ((1/b)^(1/r) = {(1 / bands) ** (1 / rows):.3f})"
        lines.append(f"half of the pairs at {axis.measure} {half:.3g} become candidates{estimate}")
    where, slope = curve.steepest()
    lines.append(f"steepest where one function agrees with probability {where:.3f}: slope {slope:.2f}")
    fixed = curve.fixed_points()
    if fixed:
        points = ", ".join(f"{p:.3f}" for p in fixed)
        lines.append(f"fixed point at {points}: a pair less likely to agree gets less likely, a likelier one likelier")
    return lines


def half_way(probability: Callable[[Any], Any], end: float) -> float | None:
    """Where a rising or falling curve is one half; none if it is nowhere."""
    low, high = 0.0, end
    rising = probability(high) > probability(low)
    if not min(probability(low), probability(high)) < 0.5 < max(probability(low), probability(high)):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (probability(middle) < 0.5) == rising else (low, middle)
    return (low + high) / 2


def axis_label(axis: Axis) -> str:
    """The measure in full."""
    labels = {"cosine": "angle in degrees", "hamming": "Hamming distance", "euclidean": "Euclidean distance"}
    return labels[axis.family.measure] if axis.family else "Jaccard similarity"


def shown(p: float) -> str:
    """A probability with as many digits as it takes to see it."""
    return f"{p:.4f}" if p >= 1e-4 or p == 0 else f"{p:.1e}"


def show_choices(threshold: float, recall: float, hashes: int, family: str) -> None:
    """For each number of rows the fewest bands that reach the recall, and which of them to take and why."""
    axis = axis_of(family)
    best = choose_bands(threshold, hashes, recall, axis.family)
    chance = float(axis.chance(threshold))
    far = threshold / 2 if axis.family is None else min(2 * threshold or 1.0, axis.end)
    names = "".join(axis.functions) if axis.family is None else "functions"
    table = Table("rows", "bands", names, f"recall at {threshold:g}", f"at {far:g}", box=None, pad_edge=False)
    fitting = list(fitting_bands(chance, recall, best.hashes))
    for row in thinned(fitting):
        if row is None:
            table.add_row("...")
            continue
        false = shown(row.curve(axis.chance(far)))
        table.add_row(str(row.rows), str(row.bands), str(row.hashes), f"{row.recall:.4f}", false)
    console = Console(highlight=False)
    say(
        console,
        f"one of the {names} agrees on a pair at {axis.measure} {threshold:g} with probability {chance:.3g}.\n"
        f"these bands and rows find such a pair with probability {recall:g} or more, and one at\n"
        f"{far:g} as often as the last column says:",
    )
    console.print(table)
    say(
        console,
        f"more rows let fewer false candidates through and cost more {names}. Of at most {hashes:,}\n"
        f"the most selective choice is {counted(best.bands, 'band')} of {counted(best.rows, 'row')}: it finds "
        f"{best.recall:.2%} of the pairs at {threshold:g},\n"
        f"and a share of {shown(best.curve(axis.chance(far)))} of those at {far:g} become candidates too.",
    )
    if axis.family is None:
        say(console, "`pairs`, `dedup` and `clusters` look at the data and take the choice that costs least.")


def thinned(rows: list[Bands]) -> list[Bands | None]:
    """At most about twenty of the rows, the first and the last ones among them; None where some are left out."""
    if len(rows) <= 20:
        return [*rows]
    return [*rows[:12], None, *rows[-6:]]
