"""Look up hash families by name and print probabilities, for `curve` and `tune`."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.errors import UsageError, did_you_mean, whole

if TYPE_CHECKING:
    from rich.console import Console

    from lookalike.families import Family

TWENTIETHS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)  # of the greatest distance: the rows of a table
NAMES = ("minhash", "hyperplanes", "bits", "lines")
FAMILIES = "minhash, hyperplanes, bits:DIMENSIONS or lines:WIDTH"


class Axis(NamedTuple):
    """The x-axis of a curve: a measure, and the probability that one function agrees at a value."""

    measure: str
    steps: list[float]  # values shown in a table
    end: float
    chance: Callable[[Any], Any]
    family: "Family | None" = None  # None: minhash, which needs no import
    functions: tuple[str, ...] = ("function",)  # singular and plural ending, for `counted`


def axis_of(spec: str) -> Axis:
    """Return the axis of a family, given as its name, or its name, a colon and its parameter."""
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
        return Axis("distance", [], math.inf, family.collision, family)  # steps and end depend on the curve
    hint = "" if name in NAMES else did_you_mean(name, NAMES)
    raise UsageError(f"family must be {FAMILIES}; got {spec!r}.{hint}")


def shown(p: float) -> str:
    """Return a probability in four digits, or in scientific notation if it is tiny."""
    return f"{p:.4f}" if p >= 1e-4 or p == 0 else f"{p:.1e}"


def say(console: "Console", text: str) -> None:
    """Print a sentence, wrapped only on a terminal."""
    console.print(text, soft_wrap=not console.is_terminal)
