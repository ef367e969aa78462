"""Amplify families: functions that agree with probability p are combined to agree with curve(p).

An AND of r functions agrees if all do, with probability p**r; an OR of b agrees if any does, with
probability 1 - (1 - p)**b. `And(5) >> Or(20)` combines by AND, then by OR: 20 bands of 5 rows.
"""

import math
import re
from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lookalike.core.display import picture
from lookalike.core.drawing import draw_curve, new_axes
from lookalike.core.errors import UsageError, fraction, parameter, whole, within
from lookalike.core.statistics import Sensitivity
from lookalike.core.wording import counted

if TYPE_CHECKING:
    from lookalike.families import Family


class Curve:
    """A cascade of ANDs and ORs, as a function of the probability that one function agrees."""

    def __init__(self, steps: "tuple[And | Or, ...]"):
        self.steps = steps

    @classmethod
    def parse(cls, text: str) -> "Curve":
        """Parse a text such as "And(4) >> Or(4)", as `str` writes it.

        >>> Curve.parse("and(5) >> or(20)")
        And(5) >> Or(20)
        """
        steps = [re.fullmatch(r"\s*(and|or)\s*\(([^()]*)\)\s*", part, re.IGNORECASE) for part in text.split(">>")]
        if not all(steps):
            raise UsageError(f"a cascade must be ANDs and ORs such as 'And(4) >> Or(4)'; got {text!r}.")
        kinds = {"and": And, "or": Or}
        made: list[Curve] = [kinds[step[1].lower()](_count(step[2])) for step in steps if step]
        return reduce(cls.__rshift__, made)

    def __rshift__(self, other: "Curve") -> "Curve":
        """Return the cascade of this one and then the other."""
        if not isinstance(other, Curve):
            return NotImplemented
        return Curve(self.steps + other.steps)

    def __call__(self, p: Any) -> Any:
        """Return the probability that the cascade agrees, for numbers or arrays."""
        values = within("p", p, 1)
        for step in self.steps:
            values = step.apply(values)
        return values if np.ndim(p) else float(values)

    @property
    def functions(self) -> int:
        """Return how many functions of the family the cascade needs."""
        return math.prod(step.count for step in self.steps)

    def threshold(self) -> float:
        """Return the p at which the cascade agrees with probability 1/2."""
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self(middle) < 0.5 else (low, middle)
        return (low + high) / 2

    def steepest(self) -> tuple[float, float]:
        """Return the p where the curve is steepest, and the slope there."""
        low, high = 0.0, 1.0
        for _ in range(4):  # ever finer grids around the best point
            grid = np.linspace(low, high, 2001)
            slopes = self.slope(grid)
            best = int(np.argmax(slopes))
            low, high = grid[max(0, best - 1)], grid[min(2000, best + 1)]
        return float(grid[best]), float(slopes[best])

    def slope(self, p: Any) -> Any:
        """Return the derivative of the curve, by the chain rule."""
        values = within("p", p, 1)
        slope = np.ones_like(values)
        for step in self.steps:
            slope = slope * step.steepness(values)
            values = step.apply(values)
        return slope if np.ndim(p) else float(slope)

    def fixed_points(self) -> list[float]:
        """Return where curve(p) = p in (0, 1); an S-curve lowers p below it and raises p above."""
        if self.functions == 1:
            return []  # every point is fixed
        ends = np.geomspace(1e-15, 1e-4, 200)
        grid = np.concatenate((ends, np.linspace(0, 1, 10_001)[1:-1], 1 - ends[::-1]))
        above = self(grid) > grid
        points = []
        for at in np.flatnonzero(above[1:] != above[:-1]):
            low, high = float(grid[at]), float(grid[at + 1])
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if (self(middle) > middle) == above[at] else (low, middle)
            points.append((low + high) / 2)
        return points

    def amplify(self, sensitivity: Sensitivity) -> Sensitivity:
        """Turn the (d1, d2, p1, p2) of one function into that of the cascade."""
        d1, d2, p1, p2 = sensitivity
        return d1, d2, self(p1), self(p2)

    def candidates(self, family: "Family", items: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs on which the cascade agrees, in order, as positions (left < right).

        Its first step combines neighbouring functions of the family, the next step neighbouring
        results, and so on; surplus functions are not used. An AND followed by an OR is a set of
        bands, whose pairs are found by sorting keys. Later steps unite or intersect sets of pairs.

        >>> from lookalike.families import BitSampling
        >>> left, right = (And(2) >> Or(3)).candidates(BitSampling(6), ["000000", "110011", "010101", "011100"])
        >>> list(zip(left.tolist(), right.tolist()))
        [(0, 1), (0, 3), (2, 3)]
        """
        return self.pairs(family.signatures(items))

    def pairs(self, signatures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs that `candidates` finds, from an array of signatures, items x functions."""
        from lookalike.core.run import Run
        from lookalike.families.base import as_keys
        from lookalike.theory.banding import pairs_in_bands

        keys = as_keys(np.asarray(signatures))
        if keys.ndim != 2:
            raise UsageError(f"signatures must be a matrix, items x functions; got {keys.ndim} dimensions.")
        if keys.shape[1] < self.functions:
            raise UsageError(f"{self} needs {self.functions} functions; there are {keys.shape[1]}.")
        steps = list(self.steps)
        rows = steps.pop(0).count if isinstance(steps[0], And) else 1
        bands = steps.pop(0).count if steps and isinstance(steps[0], Or) else 1
        threads = Run(1 if steps else None)  # threads would take longer to start than many small parts

        def run(steps: "list[And | Or]", part: np.ndarray) -> np.ndarray:
            if not steps:
                return pairs_in_bands(part, bands, rows, threads)
            *inner, last = steps
            found = (run(inner, smaller) for smaller in np.hsplit(part, last.count))
            return reduce(np.union1d if isinstance(last, Or) else np.intersect1d, found)

        left, right = np.divmod(run(steps, keys[:, : self.functions]), max(1, len(keys)))
        return left, right

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve with matplotlib on the given axes or on new ones, and return them."""
        axes = new_axes(axes)
        draw_curve(axes, self, 1, self.threshold())
        axes.set(xlabel="probability that one function agrees", title=str(self))
        return axes

    def _repr_html_(self) -> str:
        return picture(self.plot, f"{self}: the probability that the cascade agrees")

    def __repr__(self) -> str:
        return " >> ".join(f"{type(step).__name__}({step.count})" for step in self.steps)


class And(Curve):
    """A combination of `count` functions that agrees if all of them do: p**count.

    >>> And(2)(0.5), (And(5) >> Or(20)).functions
    (0.25, 100)
    """

    def __init__(self, count: int):
        self.count = whole("the number in And", count)
        super().__init__((self,))

    def apply(self, p: np.ndarray) -> np.ndarray:
        """Return p**count, the probability that all functions agree."""
        power: np.ndarray = np.power(p, self.count)
        return power

    def steepness(self, p: np.ndarray) -> np.ndarray:
        """Return the derivative of `apply` at p."""
        slope: np.ndarray = self.count * np.power(p, self.count - 1)
        return slope


class Or(Curve):
    """A combination of `count` functions that agrees if any does: 1 - (1 - p)**count.

    >>> Or(2)(0.5), Or(2)(1e-20)
    (0.75, 2e-20)
    """

    def __init__(self, count: int):
        self.count = whole("the number in Or", count)
        super().__init__((self,))

    def apply(self, p: np.ndarray) -> np.ndarray:
        """Return 1 - (1 - p)**count, the probability that any function agrees."""
        with np.errstate(divide="ignore"):  # log(0) = -inf for p = 1, which gives 1
            any_of: np.ndarray = -np.expm1(self.count * np.log1p(-p))
        return any_of

    def steepness(self, p: np.ndarray) -> np.ndarray:
        """Return the derivative of `apply` at p."""
        slope: np.ndarray = self.count * np.power(1 - p, self.count - 1)
        return slope


def _count(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


class Bands(NamedTuple):
    """Bands of rows, and the probability that a pair exactly at the threshold shares a band."""

    bands: int
    rows: int
    recall: float

    @property
    def curve(self) -> Curve:
        """Return the probability of becoming a candidate, 1 - (1 - p**rows)**bands, as a curve."""
        return And(self.rows) >> Or(self.bands)

    @property
    def hashes(self) -> int:
        """Return how many functions of the family the bands need."""
        return self.bands * self.rows


def bands_for(p: float, rows: int, recall: float) -> Bands:
    """Return the fewest bands of `rows` rows with this recall, if one function agrees with p."""
    band = max(And(rows)(p), 1e-300)  # with more rows, no number of bands would be enough
    bands = 1 if band >= recall else math.ceil(math.log1p(-recall) / math.log1p(-band) - 1e-12)
    return Bands(bands, rows, (And(rows) >> Or(bands))(p))


def fitting_bands(p: float, recall: float, hashes: int) -> Iterator[Bands]:
    """Yield the fewest bands that reach the recall for 1, 2, ... rows, up to `hashes` functions."""
    for rows in range(1, hashes + 1):
        bands = bands_for(p, rows, recall)
        if bands.hashes > hashes:  # and more rows need even more
            return
        yield bands


def choose_bands(threshold: float, hashes: int = 128, recall: float = 0.99, family: "Family | None" = None) -> Bands:
    """Return the most selective bands of at most `hashes` functions that reach the recall.

    More rows give fewer false positives, and so do fewer bands: the result has the most rows and,
    for these, the fewest bands that reach the recall. The threshold is a value of the family's
    measure (for example degrees for `Hyperplanes`); the default is minhashes and Jaccard similarity.
    The recall assumes independent functions; those of `BitSampling` without repetition and of
    `FieldEquality` are only nearly independent.

    >>> choose_bands(threshold=0.8, hashes=128, recall=0.99)
    Bands(bands=16, rows=6, recall=0.9922812706923393)
    >>> from lookalike.families import Hyperplanes
    >>> choose_bands(threshold=20, hashes=128, recall=0.99, family=Hyperplanes())[:2]  # within 20 degrees
    (11, 9)
    """
    p, recall = family.chance(threshold) if family else fraction("threshold", threshold), fraction("recall", recall)
    most = family.most if family else math.inf
    hashes = int(min(whole("hashes", hashes), most))
    if recall == 1 and p < 1:
        raise UsageError("recall must be below 1 for bands; only an exact method, which has no bands, reaches 1.")
    fitting = list(fitting_bands(p, recall, hashes))
    if not fitting:
        more = f"Raise {parameter('hashes')} or lower the recall."
        hint = more if hashes < most else "The family has no more; lower the recall."
        raise UsageError(
            f"recall {recall:g} at threshold {threshold:g} needs more than {counted(hashes, 'hash function')}; "
            f"with {hashes:,}, it is at most {Or(hashes)(p):.4g}. {hint}"
        )
    return fitting[-1]
