"""Choose tables of buckets or brute force from a threshold, a recall and a sample of vectors.

A family's law gives the probability that one function agrees on two items at each distance, so the
distances of a sample show how many pairs any number of rows would put into one bucket.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.core.errors import UsageError, argument, choice, fraction, parameter, whole, within
from lookalike.core.wording import about, counted
from lookalike.families import BitSampling, Hyperplanes, RandomLines
from lookalike.items.sides import ALONE, Sides
from lookalike.measures import MEASURES
from lookalike.measures.table import OF_VECTORS
from lookalike.search.effort import ONE_CORE, Effort
from lookalike.search.multiprobe import found
from lookalike.search.plan import Plan
from lookalike.search.spaces import BitSpace, Functions, Space, VectorSpace
from lookalike.theory.amplify import And, Bands, Or, bands_for

METHODS = ("auto", "lsh", "exact", "brute")
BRUTE = "brute force"
SAMPLE = 400  # items of each side whose distances are measured
MOST_ROWS = 40
MOST_FUNCTIONS = 4096
LEAST_BANDS = 4
MOST_TABLES = 512  # of a pigeonhole split
PROBES = (2, 8, 24)  # numbers that are tried
WIDTHS = (1, 1.5, 2, 3, 4, 6, 8)  # of a line's segments, in multiples of the threshold

# The cost of each step, in nanoseconds on one core.
PAIR, DIMENSION = 0.3, 0.022  # to compare two dense vectors, and per dimension
HELD = 1.5  # per component that a sparse vector holds
WORD = 0.1  # per 64 bits of a code
SORT, GATHER, DRAW = 200.0, 1.5, 0.28  # per item: sort its key, move a dimension, multiply one by a function
PROBE = 300.0  # to make the key of a probe
FOUND = 500.0  # to measure and sort a pair that is found
IN_BUCKETS = 2.0  # times the cost in one large block


@dataclass(frozen=True)
class VectorPlan(Plan):
    """A plan for near vectors or codes: by bands, by parts of codes, or by brute force."""

    width: float = 0.0  # of a line's segments
    parts: int = 0  # of codes
    probes: int = 0  # further buckets per table that an item looks into
    nearest: int = 0  # how many neighbours of each item are wanted; 0 for all
    bounded: bool = True  # whether the threshold limits what is found
    size: int = 0  # dimensions, or bits
    device: str = ""  # that compares all pairs, if not the processor
    cost: float = 0.0  # expected, in nanoseconds on one core; 0 if unknown

    def lines(self) -> list[str]:
        """Return the plan as two or three lines of text."""
        sign = ">=" if self.row.is_similarity else "<="
        unit = f" {self.row.unit}" if self.row.unit else ""
        aim = f"{self.measure} {sign} {float(self.threshold):g}{unit} of {self.what}"
        if not self.bounded:
            aim = f"the {self.nearest:,} nearest by {self.measure} of {self.what}"
        elif self.nearest:
            aim = f"the {self.nearest:,} nearest with {aim}"
        if self.method == "brute":
            where = f" on {self.device}" if self.device else ""
            return [f"plan: {aim}, exact: all pairs are compared{where}", *self._reasons()]
        expected = f"; {about(self.candidates, 'pair')} to compare" if self.items else ""
        if self.bands is None:
            agree = self.parts - int(self.threshold)
            how = f"{counted(self.parts, 'part')}, of which {agree} must agree ({counted(self.tables, 'table')})"
            return [f"plan: {aim}, exact: {how}", f"      every pair is found{expected}", *self._reasons()]
        bands, rows, recall = self.bands
        functions = counted(self.bands.hashes, self.row.function)
        cut = f", cut into segments of {self.width:g}" if self.width else ""
        cut += f"; {counted(self.probes, 'probe')} in each band" if self.probes else ""
        return [
            f"plan: {aim}, by {counted(bands, 'band')} of {counted(rows, 'row')} ({functions}{cut})",
            f"      finds a pair at the threshold with probability {recall:.4f}, closer pairs more often{expected}",
            *self._reasons(),
        ]

    def because(self, more: str) -> "VectorPlan":
        """Return the plan with one more reason."""
        return replace(self, reason=f"{self.reason}; {more}" if self.reason else more)

    @property
    def tables(self) -> int:
        """The number of tables."""
        if self.bands is not None:
            return self.bands.bands
        return math.comb(self.parts, int(self.threshold)) if self.parts else 1

    @property
    def has_curve(self) -> bool:
        """Whether the probability of finding a pair is known for each distance."""
        return self.bands is not None and not self.probes

    def probability(self, values: np.ndarray) -> np.ndarray:
        """Return the probability that bands without probes find pairs of these values."""
        assert self.bands is not None
        distances = np.asarray(values, float)
        if self.measure == "cosine_similarity":
            distances = np.degrees(np.arccos(np.clip(distances, -1, 1)))
        family: Functions = Hyperplanes(1)
        if self.measure == "euclidean":
            family = RandomLines(self.width, 1)
        elif self.measure == "hamming":
            family = BitSampling(self.size, 1)
        found: np.ndarray = self.bands.curve(family.collision(distances))
        return found

    def saved(self) -> dict[str, Any]:
        return {**super().saved(), "width": self.width, "parts": self.parts}

    def settings(self) -> dict[str, str]:
        own: dict[str, Any] = {"width": self.width, "parts": self.parts, "probes": self.probes, "nearest": self.nearest}
        return {**super().settings(), **{name: f"{value!r}" for name, value in own.items() if value}}


def make_vector_plan(
    *,
    threshold: object,
    measure: str,
    recall: float,
    method: str,
    seed: int,
    what: str,
    length: int,  # of codes
    nearest: int = 0,
    probes: int | None = None,
) -> VectorPlan:
    """Check the parameters; `fit_vectors` chooses the rest once it has seen the items."""
    choice("measure", measure, OF_VECTORS)
    choice("method", method, METHODS)
    recall = fraction("recall", recall)
    row = MEASURES[measure]
    if not row.function and (method == "lsh" or probes):
        raise UsageError(
            f"{argument('method', method) if method == 'lsh' else parameter('probes')} is not for {measure}: items can "
            "be more similar to others than to themselves, so no hash function makes similar ones collide. "
            f"Use {argument('method', 'exact')}."
        )
    if method == "lsh" and recall == 1:
        raise UsageError(
            f"recall must be below 1 for {argument('method', 'lsh')}; for recall 1 use {argument('method', 'exact')}."
        )
    exact = parse_distance(measure, threshold, length)
    wanted = recall if method in ("auto", "lsh") and row.function else 1.0
    if probes:
        if measure == "hamming":
            raise UsageError(f"bit codes do not support {parameter('probes')}.")
        if wanted == 1:
            raise UsageError(f"probes are for {argument('method', 'lsh')} with a recall below 1.")
    return VectorPlan(method, measure, exact, seed, what, wanted=wanted, nearest=nearest, size=length)


def parse_distance(measure: str, threshold: object, length: int) -> Fraction:
    """Return the threshold as typed: degrees, a cosine, a distance, or a number of bits."""
    try:
        if isinstance(threshold, bool | bytes):
            raise TypeError
        exact = Fraction(str(threshold))
        number = float(exact)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"threshold must be a number; got {threshold!r}.") from None
    row = MEASURES[measure]
    if row.counts:
        return Fraction(whole("threshold", int(exact) if exact.denominator == 1 else number, least=0, most=length))
    if row.is_similarity and not row.low <= number <= row.high:
        raise UsageError(f"threshold must be in [{row.low:g}, {row.high:g}]; got {number:g}.")
    if not row.is_similarity:
        within("threshold", number, row.high)
    return exact


def farthest(measure: str) -> float:
    """Return a threshold that bounds nothing, or one that is valid for codes of any length."""
    row = MEASURES[measure]
    return max(row.low, -1e300) if row.is_similarity or row.counts else min(row.high, 1e300)


@dataclass(frozen=True)
class VectorWork:
    """The work to do: items, pairs, the distances of a sample of the pairs, and the unit costs."""

    items: int
    pairs: float
    distances: np.ndarray
    probers: int  # items that can probe: all, or those of the first of two collections
    pair: float  # cost of comparing a pair
    move: float  # cost of moving an item to its bucket
    draw: float  # cost of a function of an item

    def mean(self, values: np.ndarray) -> float:
        """Return the mean over the sample's pairs; 0 if there are none."""
        return float(np.mean(values)) if len(values) else 0.0

    def cost(self, tables: int, functions: int, rate: float, probes: int = 0) -> float:
        """Return the cost of tables in each of which a share `rate` of all pairs meet."""
        each = tables * (SORT + self.move) + functions * self.draw
        probing = self.probers * tables * probes * (SORT + PROBE + self.move)
        return self.items * each + probing + tables * rate * self.pairs * self.pair * IN_BUCKETS


def look_at(space: Space, rows: np.ndarray, sides: Sides) -> VectorWork:
    """Return the work among the given items, from the distances within a sample of them."""
    rng = np.random.default_rng(0)
    if not sides.two:
        some = rows[np.sort(rng.permutation(len(rows))[:SAMPLE])]
        distances = space.between(some, some)[np.triu_indices(len(some), 1)]
        pairs, probers = len(rows) * (len(rows) - 1) / 2, len(rows)
    else:
        both = sides.apart(rows)
        one, other = (side[np.sort(rng.permutation(len(side))[:SAMPLE])] for side in both)
        distances = space.between(one, other).ravel()
        pairs, probers = float(len(both[0]) * len(both[1])), len(both[0])
    if isinstance(space, BitSpace):
        words = space.words.shape[1]
        return VectorWork(len(rows), pairs, distances, probers, WORD * words, GATHER * words, 5.0)
    assert isinstance(space, VectorSpace)
    if space.vectors.sparse:
        held = space.vectors.values.nnz / max(1, len(space))
        return VectorWork(len(rows), pairs, distances, probers, HELD * held, 0.0, held)
    size = space.dimensions
    return VectorWork(len(rows), pairs, distances, probers, PAIR + DIMENSION * size, GATHER * size, DRAW * size)


def fit_vectors(
    plan: VectorPlan,
    space: Space,
    rows: np.ndarray,
    sides: Sides,
    probes: int | None = None,
    effort: Effort = ONE_CORE,
) -> VectorPlan:
    """Return the cheapest plan: brute force or, as method and recall allow, bands or parts.

    Bands use this number of `probes`; if None, as many as pay off.
    """
    work = look_at(space, rows, sides)
    plan = replace(plan, items=len(rows))
    all_pairs = work.pairs * work.pair + FOUND * work.probers * plan.nearest
    brute = replace(plan, method="brute", candidates=work.pairs, cost=all_pairs)
    tables = _tables(plan, space, work, probes) if plan.method != "brute" else []
    if not tables:
        if plan.method == "lsh":
            raise UsageError(
                f"{_too_loose(plan)} Use {argument('method', 'brute')}, a lower recall or a stricter threshold."
            )
        why = "no tables reach the recall" if plan.row.function else f"{plan.measure} has no tables"
        best, reason = brute, f"{effort.choice(BRUTE, all_pairs)}; {why}"
    else:
        cost, best = min(tables, key=cheap)
        best = replace(best, cost=cost)
        worth = 1.0
        if plan.nearest:  # tables list all pairs within the threshold and miss some of the nearest: they must pay
            cost += FOUND * work.pairs * work.mean(work.distances <= space.distance)
            worth = 2.0
        reason = effort.reason("these tables", cost, BRUTE, all_pairs)
        if plan.method != "lsh" and all_pairs <= worth * cost:
            best = brute
            reason = effort.reason(BRUTE, all_pairs, "the best tables", cost)
    if plan.method == "auto":
        best = replace(best, reason=reason)
    if plan.measure == "angle" and 0 < plan.threshold <= 1:
        note = "the threshold is an angle in degrees; for a cosine use measure 'cosine_similarity'"
        best = best.because(note)
    return best


def fit_tables(plan: VectorPlan, space: Space, items: int) -> VectorPlan:
    """Return the cheapest tables for about `items` items, of which the space holds some."""
    some = look_at(space, np.arange(len(space)), ALONE)
    tables = _tables(plan, space, replace(some, items=items, pairs=items * (items - 1) / 2, probers=items), 0)
    if not tables:
        raise UsageError(f"{_too_loose(plan)} Use a lower recall or a stricter threshold.")
    return replace(min(tables, key=cheap)[1], items=items)


def _too_loose(plan: VectorPlan) -> str:
    needed = f"recall {plan.wanted:g} needs more than {MOST_FUNCTIONS:,} hash functions"
    return f"threshold {float(plan.threshold):g} is too loose for hashing: {needed}."


def cheap(choice: tuple[float, VectorPlan]) -> float:
    """Return the cost of a choice."""
    return choice[0]


def _tables(plan: VectorPlan, space: Space, work: VectorWork, probes: int | None) -> list[tuple[float, VectorPlan]]:
    """Return all tables that method and recall allow, with their costs."""
    found: list[tuple[float, VectorPlan]] = []
    if isinstance(space, BitSpace) and plan.method != "lsh":
        found.extend(_splits(plan, space, work))
    banded = list(_banded(plan, space, work)) if plan.wanted < 1 else []
    if not probes:
        found.extend(banded)
    if banded and probes != 0 and plan.measure != "hamming":
        found.extend(_probed(plan, space, work, min(banded, key=cheap), probes))
    return found


def _banded(plan: VectorPlan, space: Space, work: VectorWork) -> Iterator[tuple[float, VectorPlan]]:
    """Yield the cost and plan of each number of rows and, for lines, of each width."""
    unit = max(space.distance, 1e-6 * float(np.median(work.distances)) if len(work.distances) else 0.0, 1e-300)
    for width in [unit * times for times in WIDTHS] if plan.measure == "euclidean" else [0.0]:
        family = space.family(1, plan.seed, width)
        chance, agree = family.collision(space.distance), family.collision(work.distances)
        if chance <= 0:
            continue
        power = np.ones(len(agree))
        for rows in range(1, MOST_ROWS + 1):
            bands = enough_bands(chance, rows, plan.wanted)
            if bands.hashes > MOST_FUNCTIONS:
                break
            power *= agree
            rate = work.mean(power)
            found = replace(plan, method="lsh", bands=bands, width=width, candidates=bands.bands * rate * work.pairs)
            yield work.cost(bands.bands, bands.hashes, rate), found


def enough_bands(chance: float, rows: int, recall: float) -> Bands:
    """Return enough bands for the recall, at least LEAST_BANDS: few bands miss pairs together."""
    bands = bands_for(chance, rows, recall)
    if bands.bands >= LEAST_BANDS or chance == 1:
        return bands
    return Bands(LEAST_BANDS, rows, (And(rows) >> Or(LEAST_BANDS))(chance))


def _probed(
    plan: VectorPlan, space: Space, work: VectorWork, banded: tuple[float, VectorPlan], probes: int | None
) -> Iterator[tuple[float, VectorPlan]]:
    """Yield the cost and plan of probing, near the best plan without it.

    If not asked for, it is tried only if not all items would probe and tables cost the most.
    """
    cost, best = banded
    assert best.bands is not None
    if probes is None and (
        work.probers == work.items or 2 * work.cost(best.bands.bands, best.bands.hashes, 0.0) < cost
    ):
        return
    family = space.family(1, plan.seed, best.width)
    agree = family.collision(work.distances)
    distance = space.distance / best.width if best.width else space.distance
    both = work.probers == work.items
    for count in PROBES if probes is None else [probes]:
        for rows in range(best.bands.rows, best.bands.rows + 7, 2):
            chance = found("euclidean" if best.width else "angle", distance, rows, count, both)
            if chance <= 0:
                continue
            bands = enough_bands(chance, 1, plan.wanted)
            if bands.bands * rows > MOST_FUNCTIONS:
                continue
            rate = work.mean(agree**rows) * (1 + count)
            tables = Bands(bands.bands, rows, bands.recall)
            some = replace(best, bands=tables, probes=count, candidates=tables.bands * rate * work.pairs)
            yield work.cost(tables.bands, tables.hashes, rate, count), some


def all_agree(length: int, distance: np.ndarray, bits: int) -> np.ndarray:
    """Return the probability that codes `distance` bits apart agree in `bits` random bits."""
    agree = np.ones(len(distance))
    for drawn in range(bits):
        agree *= np.maximum(length - distance - drawn, 0) / (length - drawn)
    return agree


def _splits(plan: VectorPlan, space: BitSpace, work: VectorWork) -> Iterator[tuple[float, VectorPlan]]:
    """Yield the cost and plan of each number of parts, of which `threshold` can differ."""
    distance = int(plan.threshold)
    counts = np.bincount(work.distances.astype(np.int64), minlength=1)
    for parts in range(distance + 1, space.dimensions + 1):
        tables = math.comb(parts, distance)
        if tables > MOST_TABLES:
            return
        bits = round(space.dimensions * (parts - distance) / parts)
        rate = float(all_agree(space.dimensions, np.arange(len(counts)), bits) @ counts) / max(1, counts.sum())
        found = replace(plan, method="pigeonhole", parts=parts, candidates=tables * rate * work.pairs)
        yield work.cost(tables, tables, rate), found
