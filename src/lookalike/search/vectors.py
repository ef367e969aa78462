"""Search for near vectors and codes with tables of buckets or brute force."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DeviceError, TooManyPairs, UsageError, argument, choice
from lookalike.core.run import Run
from lookalike.core.storage import Storage
from lookalike.core.wording import counted
from lookalike.devices.base import Device
from lookalike.items.bits import Bits
from lookalike.items.sides import Sides
from lookalike.items.vectors import NO_DIRECTION, Vectors, zero_rows
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.measures import MEASURES
from lookalike.measures.table import OF_VECTORS, vector_measure
from lookalike.results import Explanation
from lookalike.results.explanations import ComparedComponents, SharedElements
from lookalike.search.audit import Audit
from lookalike.search.base import Found, IsFound, Labels, Search, Stars
from lookalike.search.device_plan import asked_device, on_device, worthwhile_device
from lookalike.search.effort import Effort
from lookalike.search.identical import Groups
from lookalike.search.ids import unique_ids
from lookalike.search.in_turn import keep_in_turn
from lookalike.search.inputs import no_threshold
from lookalike.search.keeping import Keeping
from lookalike.search.nearest import last_of, nearest
from lookalike.search.on_device import Joiner
from lookalike.search.settings import Settings
from lookalike.search.spaces import BitSpace, Space, VectorSpace, space_of
from lookalike.search.tables import (
    Tables,
    band_tables,
    check,
    distinct,
    near_numbers,
    near_pairs,
    near_some,
    part_tables,
)
from lookalike.search.vector_plan import VectorPlan, farthest, fit_vectors, make_vector_plan

Result = TypeVar("Result")
SHORTEN = 256  # after pairs of one in SHORTEN items have been joined, labels lead to the first item again
SAMPLE = 200  # items whose neighbours are found to see how far away they are


def start(items: list[Vectors] | list[Bits], settings: Settings) -> "VectorSearch":
    """Prepare vectors or codes and plan for them; with `k`, for each item's nearest."""
    of_sets = ("filter", "order", "shingles", "weights", "drop_common", "sketch", "workdir", "within")
    for name in (*of_sets, "across"):
        if settings.given(name):
            raise UsageError(f"{name} is for sets and texts, not for vectors or bits.")
    if settings.given("memory") and settings.device == "cpu":
        raise UsageError(
            f"memory is for texts, and for vectors on a card; leave it out with {argument('device', 'cpu')}."
        )
    if "longest" in [rule.name for rule in Keeping.of(settings.keep).rules]:
        raise UsageError(
            "keep must be 'lowest-id', 'first' or one value per item: vectors and bits all have the same length."
        )
    measure, run = choice("measure", vector_measure(settings.measure), OF_VECTORS), settings.run
    if settings.threshold is None and settings.k is None:
        raise no_threshold(measure)
    same = settings.nearest and len(items) == 1
    sides = [fit_for(side, measure, run) for side in items] * (1 + same)
    size = sides[0].length if isinstance(sides[0], Bits) else sides[0].dimensions
    plan = make_vector_plan(
        threshold=farthest(measure) if settings.threshold is None else settings.threshold,
        measure=measure,
        recall=settings.recall,
        method=settings.method,
        seed=settings.seed,
        what=f"codes of {counted(size, 'bit')}" if measure == "hamming" else f"vectors of {counted(size, 'dimension')}",
        length=size,
        nearest=settings.k or 0,
        probes=settings.probes,
    )
    ids = [
        pa.array(np.arange(len(side))) if side.ids is None else unique_ids([pa.chunked_array([side.ids])])
        for side in sides
    ]
    skipped = sum(side.skipped for side in sides[: len(items)])
    device = asked_device(settings, sides)
    with run.stage("prepare"):
        space = space_of(sides, measure, float(plan.threshold), run)
        search = VectorSearch(plan, space, space.contents(), ids, settings, skipped, same)
    with run.stage("plan"):
        search.choose(settings, device)
    for line in search.plan.lines():
        run.say(line)
    return search


class VectorSearch(Search):
    """A search among vectors or codes."""

    plan: VectorPlan

    def __init__(
        self,
        plan: VectorPlan,
        space: Space,
        contents: np.ndarray,
        ids: list[pa.Array],
        settings: Settings,
        skipped: int,
        same: bool,
    ):
        self.plan, self.space, self.contents, self.ids = plan, space, contents, ids
        self.run, self.probes, self.skipped, self.storage = settings.run, settings.probes, skipped, Storage()
        self.sides = replace(Sides.of([len(side) for side in ids]), same=same)
        self.unbounded = settings.nearest  # no threshold was given
        self.joiner: Joiner | None = None  # if a device compares all pairs
        self.spare: VectorPlan | None = None  # the plan without the device, if the user did not ask for it
        self.live = np.arange(len(space))
        self.lengths = np.zeros(len(space), np.int64)

    def choose(self, settings: Settings, device: Device | None) -> None:
        """Choose the method, on the device if one is given; otherwise on a card if that takes less time."""
        plan, reason, bounded = self.plan, "", settings.threshold is not None
        if device is None:
            self.plan = self.fit(plan) if bounded else self.plan_nearest()
            found = worthwhile_device(settings, self.plan, self.space, self.live, self.sides, self._effort)
            device, reason = found
            if reason and device is None:
                self.plan = self.plan.because(reason)
            self.spare = self.plan
        if device is not None:
            self.space.look(float(plan.threshold))  # planning for neighbours has looked nearer
            self.plan = on_device(replace(plan, items=len(self)), device, bounded, reason)
            self.joiner = Joiner(device, self.space, self.run)

    @property
    def _effort(self) -> Effort:
        return Effort(threads=self.run.threads, waited=self.run.waited())

    def fit(self, plan: VectorPlan) -> VectorPlan:
        """Choose the cheapest method for the items."""
        return fit_vectors(plan, self.space, self.live, self.sides, self.probes, self._effort)

    def plan_nearest(self) -> VectorPlan:
        """Plan to miss half of what the recall allows by looking no farther, and half by tables; or brute force.

        A sample of items shows how far away neighbours are. Brute force needs no bound.
        """
        plan = self.plan
        left, right = self.sides.apart(self.live)
        brute = replace(plan, method="brute", bounded=False)
        if not len(left) or not len(right) or plan.wanted == 1:
            return brute
        few = np.sort(np.random.default_rng(0).permutation(left)[:SAMPLE])
        values = nearest(self.space, few, right, self._looked_for, self.run)[2].reshape(len(few), -1)
        ordered = np.sort(values[:, int(self.sides.same) :], axis=None)  # without the item itself
        if not len(ordered):
            return brute
        missed = (1 - plan.wanted) / 2
        beyond = int(missed * len(ordered))
        self.space.look(float(ordered[beyond] if self.space.alike else ordered[-1 - beyond]))
        found = self.fit(replace(plan, threshold=Fraction(str(self.space.threshold)), wanted=1 - missed))
        return replace(found, wanted=plan.wanted, bounded=found.method != "brute")

    @property
    def _looked_for(self) -> int:
        """How many neighbours are looked for: within one collection, an item finds itself first."""
        return self.plan.nearest + self.sides.same

    def _tables(self, rows: np.ndarray) -> Tables | None:
        """Return the plan's tables, or None for brute force."""
        plan, space = self.plan, self.space
        if plan.bands is not None:
            family = space.family(plan.bands.hashes, plan.seed, plan.width)
            probers = self.sides.among(rows).offset if self.sides.two else len(rows)
            some = (plan.probes, probers) if plan.probes else (0, 0)
            return band_tables(space, family, plan.bands.rows, rows, self.run, *some)
        if plan.parts:
            assert isinstance(space, BitSpace)
            distance = int(plan.threshold)
            return part_tables(space.words, space.dimensions, plan.parts, distance, plan.seed, rows, self.run)
        return None

    def _with_device(self, work: Callable[[], Result]) -> Result:
        """Do the work on the device, if there is one, and free it; if one that was not asked for fails, do without."""
        if self.joiner is None:
            return work()
        try:
            found = work()
            if self.joiner.skipped:
                share = f"{self.joiner.share_skipped:.0%}"
                self.run.say(f"      {share} of the pairs of blocks of rows hold no near pair, and were skipped")
            return found
        except DeviceError as error:
            if self.spare is None:
                raise
            self.run.say(f"      {error} The processor compares them now.")
            self.plan = self.spare
            self.space.look(float(self.plan.threshold))
        finally:
            self.joiner.close()
        self.joiner = None
        return work()

    def pairs(self, groups: Groups, limit: int) -> Found:
        return self._with_device(lambda: self._pairs(groups, limit))

    def _pairs(self, groups: Groups, limit: int) -> Found:
        rows = groups.heads
        if not self.plan.bounded:
            return self._nearest(rows)
        compared: list[int] = []
        tables = self._tables(rows)
        found = near_pairs(self.space, rows, tables, self.sides, limit, self.run, compared.append, self.joiner)
        return Found(*found, self._with_itself(rows), sum(compared))

    def stars(self, groups: Groups, order: np.ndarray) -> Stars:
        try:
            return super().stars(groups, order)
        except TooManyPairs:
            if self.plan.method != "brute":
                raise
        self.run.say("      too many pairs to list: items are compared with those kept before, in turn")
        heads = order[groups.first[order] == order]
        centre, compared = self._with_device(lambda: keep_in_turn(self.space, heads, self.run, self.joiner))
        values = self._with_itself(np.arange(len(self)))
        gone = np.flatnonzero(centre != np.arange(len(self)))
        values[gone] = self.space.measured(np.minimum(gone, centre[gone]), np.maximum(gone, centre[gone]))
        return Stars(centre, values, compared)

    def _nearest(self, rows: np.ndarray) -> Found:
        """Find the k nearest by brute force."""
        left, right = self.sides.apart(rows)
        with self.run.stage("compare", len(left)) as tick:
            found = nearest(self.space, left, right, self._looked_for, self.run, tick, self.joiner)
        return Found(*found, self._with_itself(rows), len(left) * len(right))

    def _with_itself(self, rows: np.ndarray) -> np.ndarray:
        """Return the measure of each row with itself: 1 if it is a similarity with a limit, 0 if it is a distance."""
        if self.plan.row.unlimited:
            return self.space.measured(rows, rows)
        return np.full(len(rows), 1 if self.space.alike else 0, self.space.measured(rows[:0], rows[:0]).dtype)

    def labels(self, groups: Groups) -> Labels:
        return self._with_device(lambda: self._labels(groups))

    def _labels(self, groups: Groups) -> Labels:
        label = np.arange(len(self))  # leads to the first item of a component, in one or more steps
        rows = groups.heads
        compared: list[int] = []

        def joining(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return the near pairs that are not known to be connected; labels can lag behind."""
            left, right = np.divmod(numbers, len(self))
            apart = numbers[label[left] != label[right]]
            left, right = np.divmod(check(self.space, distinct([apart]))[0], len(self))
            return left, right

        tables = self._tables(rows)
        joined = 0
        found = near_numbers(self.space, rows, tables, self.sides, self.run, compared.append, joining, self.joiner)
        for left, right in found:
            join_pairs(left, right, label)
            joined += len(left)
            if joined > len(self) // SHORTEN:
                label, joined = roots(label), 0
        return Labels(roots(label), sum(compared))

    def audit(self, size: int, found: IsFound) -> Audit:
        sample = self._sample(self.live, size)
        with self.run.stage("audit"):
            left, right, _ = near_some(self.space, sample, self.live, self.run)
        across = self.sides.across(left, right)
        left, right = left[across], right[across]
        return Audit(len(sample), len(left), int(np.count_nonzero(found(left, right))))

    def audit_pairs(self, size: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> Audit:
        """Audit listed pairs; for k nearest, count which of a sample's were found."""
        if not self.unbounded:
            return super().audit_pairs(size, left, right, values)
        k, same = self._looked_for, self.sides.same
        ours, others = self.sides.apart(self.live)
        sample = self._sample(ours, size)
        true = min(k, len(others))
        far = np.full(len(self), np.nan)
        with self.run.stage("audit"):
            far[sample] = last_of(nearest(self.space, sample, others, k, self.run)[2], len(sample)) if true else 0
        with np.errstate(invalid="ignore"):
            near = values >= far[left] if self.space.alike else values <= far[left]
        counts = np.minimum(np.bincount(left[near], minlength=len(self))[sample], true) - same
        return Audit(len(sample), len(sample) * (true - same), int(counts.sum()), nearest=self.plan.nearest)

    def _sample(self, rows: np.ndarray, size: int) -> np.ndarray:
        rng = np.random.default_rng(self.plan.seed)
        return np.sort(rng.choice(rows, min(size, len(rows)), replace=False))

    def explain(self, left: int, right: int) -> Explanation:
        """Compare two vectors component by component, or the bits that are set in two codes."""
        if isinstance(self.space, BitSpace):
            bits = self.space.bits.take(np.array([left, right])).matrix()
            return SharedElements.of(*(np.flatnonzero(row).tolist() for row in bits))
        rows = np.array([left, right])
        one, other = (row.toarray()[0] if hasattr(row, "toarray") else row for row in self.look(rows))
        return ComparedComponents(one, other)

    def look(self, rows: np.ndarray) -> list[Any]:
        if isinstance(self.space, BitSpace):
            return list(self.space.bits.take(rows).matrix())
        assert isinstance(self.space, VectorSpace)
        values = self.space.vectors.values
        return [values[[row]] for row in rows] if self.space.vectors.sparse else list(np.asarray(values[rows]))

    def counts(self) -> dict[str, int]:
        blocks = {"blocks": self.joiner.blocks, "blocks_skipped": self.joiner.skipped} if self.joiner else {}
        return {"items": len(self) // (1 + self.sides.same), "empty": 0, "skipped": self.skipped, **blocks}


def fit_for(side: Vectors | Bits, measure: str, run: Run | None = None) -> Vectors | Bits:
    """Return the side if it suits the measure; rows without an angle are an error or left out."""
    if isinstance(side, Bits) != (measure == "hamming"):
        got = "bits" if isinstance(side, Bits) else "vectors"
        *names, last = ["hamming"] if got == "bits" else [name for name in OF_VECTORS if name != "hamming"]
        of = f"{', '.join(names)} or {last}" if names else last
        raise UsageError(f"measure must be {of} for {got}; got {measure!r}.")
    if isinstance(side, Bits) or not MEASURES[measure].of_directions:
        return side
    zeros = zero_rows(side.values, run) if side.squares is None else np.flatnonzero(side.squares == 0)
    return side.without(zeros, NO_DIRECTION)
