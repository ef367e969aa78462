"""Plan how pairs will be found: the method and its parameters, and what they are expected to find."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lookalike.core.display import paragraphs, picture
from lookalike.core.drawing import ORANGE, draw_curve, new_axes
from lookalike.core.errors import UsageError, argument, choice, fraction, parameter, whole
from lookalike.core.wording import about, counted, percent
from lookalike.families import MinHash, SimHash, WeightedMinHash
from lookalike.measures import LARGEST, MEASURES, Measure, exact_fraction
from lookalike.measures.table import BANDED, OF_SETS, SHORT, usual_names
from lookalike.search.joins import STAGES
from lookalike.theory.amplify import Bands, bands_for
from lookalike.theory.drawing import SIZES, Draws, draws_for

POSTING = "posting"  # in place of a filter: sets are posted for those that contain them, see `containing`
METHODS = ("auto", "lsh", "exact")
SKETCHES = {"minhash": MinHash, "simhash": SimHash}  # families that can be banded
MOST_HASHES = 512
STATED = 5e8  # bytes of memory above which a plan states them


@dataclass(frozen=True)
class Plan:
    """A plan: how pairs will be found, and what that is expected to find and cost."""

    method: str  # "lsh" or "exact"; "auto" before a sample has been seen
    measure: str
    threshold: Fraction
    seed: int
    what: str  # the shingles, or "sets"
    wanted: float = 1.0  # the requested recall
    filter: str = "suffix"  # the last filter of an exact join
    bands: Bands | None = None  # And(rows) >> Or(bands) of the measure's family
    items: int = 0  # approximate number
    candidates: float = 0.0  # approximate number of pairs to compare
    reason: str = ""  # why this method was chosen, if there was a choice
    sketch: str = "minhash"  # or "simhash": what is banded
    weights: str | None = None  # "idf" if elements have weights
    drop_common: Fraction | None = None  # elements in more than this share of the items are dropped
    memory: float = 0.0  # approximate bytes that an exact join needs, without those of texts; 0 if unknown
    draws: Draws | None = None  # elements of each set that stand for it, if it may be contained in others
    seconds: float = field(default=0.0, compare=False)  # approximate time in all, as this machine is now; 0 if unknown

    @property
    def recall(self) -> float:
        """The probability of finding a pair right at the threshold; higher for closer pairs."""
        found = self.bands or self.draws
        return found.recall if found else 1.0

    @property
    def exact(self) -> bool:
        """Whether every pair is found."""
        return self.bands is None and self.draws is None

    @property
    def posts(self) -> bool:
        """Whether sets are posted for those that contain them: see `containing`."""
        return self.filter == POSTING

    @property
    def row(self) -> Measure:
        """The measure's row in the table of measures."""
        return MEASURES[self.measure]

    @property
    def kind(self) -> str:
        """Whether the measure is a "similarity" or a "distance"."""
        return self.row.kind

    @property
    def directed(self) -> bool:
        """Whether the measure of two items depends on their order."""
        return self.row.directed

    @property
    def join(self) -> tuple[int, int, int]:
        """The kind of set similarity, and its p and q: see `kernels.bounds`."""
        assert self.row.join is not None
        return self.row.join, *self.threshold.as_integer_ratio()

    def functions(self, hashes: int) -> MinHash | SimHash | WeightedMinHash:
        """Return `hashes` functions of the sketch's family."""
        if self.weights is not None:
            return WeightedMinHash(hashes, self.seed)
        return MinHash(hashes, self.seed) if self.sketch == "minhash" else SimHash(hashes, self.seed)

    @property
    def chance(self) -> float:
        """The least probability that one function agrees on a pair right at the threshold."""
        functions = self.functions(1)
        if isinstance(functions, SimHash):
            return functions.chance_of_jaccard(float(self.threshold))
        return functions.chance(float(self.threshold))

    def lines(self) -> list[str]:
        """Return the plan as two or three lines of text."""
        sign = ">=" if self.row.is_similarity else "<="
        short = f"{float(self.threshold):g}"
        threshold = short if Fraction(short) == self.threshold else str(self.threshold)
        aim = f"{self.row.usual} {sign} {threshold} of {self.compared}"
        if self.draws is not None:
            size, need, recall = self.draws
            return [
                f"plan: {aim}, by {size} elements drawn from each, {need} of which the other must have",
                f"      finds a pair at the threshold with probability {recall:.4f}, closer pairs more often",
                *self._reasons(),
            ]
        if self.bands is None:
            ways = {
                POSTING: "index of the rarest elements",
                "length": "length filter",
                "prefix": "prefix index",
                "position": "prefix index with positions",
            }
            how = ways.get(self.filter, "prefix index with positions and lengths")
            how = "index of 2-grams" if self.row.moves else how
            how = "prefix index of the heaviest elements" if self.weights is not None else how
            needs = [f"      needs about {self.memory / 1e9:.1f} GB of memory"] if self.memory > STATED else []
            return [f"plan: {aim}, exact: {how}, every pair is found", *needs, *self._reasons()]
        bands, rows, recall = self.bands
        width = f"{counted(bands, 'band')} of {counted(rows, 'row')} ({counted(self.bands.hashes, self.sketch, 'es')})"
        return [
            f"plan: {aim}, by {width}",
            f"      finds a pair at the threshold with probability {recall:.4f}, closer pairs more often"
            + (f"; {about(self.candidates, 'candidate')} expected" if self.items else ""),
            *self._reasons(),
        ]

    @property
    def compared(self) -> str:
        """What is compared, in words."""
        rare = "" if self.drop_common is None else f" in at most {percent(self.drop_common)} of the items"
        return self.what + rare + ("" if self.weights is None else f" weighted by {self.weights}")

    @property
    def has_curve(self) -> bool:
        """Whether the probability of finding a pair is known for each value."""
        return self.measure in BANDED

    def probability(self, similarity: np.ndarray) -> np.ndarray:
        """Return the probability of finding pairs of these Jaccard similarities."""
        if self.bands is None:
            return (similarity >= float(self.threshold)).astype(float)
        functions = self.functions(1)
        if isinstance(functions, SimHash):
            agree = np.array([functions.chance_of_jaccard(one) for one in similarity.tolist()])
        else:
            agree = similarity
        found: np.ndarray = self.bands.curve(agree)
        return found

    def plot(self, axes: Any = None) -> Any:
        """Draw the probability of finding a pair with matplotlib; return the axes, given or new."""
        if not self.has_curve:
            raise UsageError(f"a plan for {self.row.usual!r} has no curve over similarities.")
        axes = new_axes(axes)
        draw_curve(axes, self.probability, 1, None)
        axes.axvline(float(self.threshold), color=ORANGE, linewidth=1, linestyle="--")
        axes.set(xlabel="Jaccard similarity", ylabel="probability of being found")
        return axes

    def _repr_html_(self) -> str:
        lines = paragraphs(self.lines())
        if self.measure not in BANDED:
            return lines
        return lines + picture(self.plot, "the probability of finding a pair, by its Jaccard similarity")

    def _reasons(self) -> list[str]:
        return [f"      {self.reason}"] if self.reason else []

    def _method(self) -> str:
        if self.draws is not None:
            return f"lsh {self.draws.need}/{self.draws.size}"
        return self.method if self.bands is None else f"lsh {self.bands.bands}x{self.bands.rows}"

    def saved(self) -> dict[str, Any]:
        """Return the settings that an index keeps to restore the plan: see `saved.plan_of`."""
        return {
            "measure": self.measure,
            "threshold": str(self.threshold),
            "recall": self.wanted,
            "seed": self.seed,
            "sketch": self.sketch,
            "bands": None if self.bands is None else list(self.bands),
        }

    def settings(self) -> dict[str, str]:
        """Return the settings of the plan that a result file keeps."""
        return {
            "format": "1",
            "measure": self.measure,
            "threshold": str(self.threshold),
            "items": self.what,
            "seed": str(self.seed),
            "method": self._method(),
            **({"sketch": self.sketch} if self.sketch != "minhash" else {}),
            **({"weights": self.weights} if self.weights is not None else {}),
            **({"drop_common": str(self.drop_common)} if self.drop_common is not None else {}),
        }


def make_plan(
    *,
    threshold: float | str | Fraction,
    measure: str = "jaccard",
    recall: float = 0.99,
    method: str = "auto",
    seed: int = 1,
    what: str = "sets",
    filter: str | None = None,
    sketch: str = "minhash",
    weights: str | None = None,
    drop_common: Fraction | None = None,
    advice: str = "",
) -> Plan:
    """Check the parameters; `fit` chooses the bands once it has seen a sample of the data.

    `advice` says what to do if bands cannot reach the recall, where the user cannot choose a method.
    """
    measure = SHORT.get(measure, measure)
    if measure not in OF_SETS:
        choice("measure", measure, usual_names("sets", "bags", "strings"))
    choice("method", method, METHODS)
    recall = fraction("recall", recall)
    choice("sketch", sketch, SKETCHES)
    plan = Plan("exact", measure, parse_threshold(measure, threshold), seed, what, wanted=recall, sketch=sketch)
    if weights is not None:
        _check_weights(plan, filter)
    if drop_common is not None and plan.row.moves:
        raise UsageError(f"{parameter('drop_common')} is for shingles and elements of sets; {plan.row.usual} has none.")
    plan = replace(plan, weights=weights, drop_common=drop_common)
    if filter is not None:
        plan = replace(plan, filter=choice("filter", filter, STAGES))
        if method == "lsh":
            raise UsageError(f"filter is for {argument('method', 'exact')}; got {argument('method', 'lsh')}.")
        return plan
    if measure not in BANDED and sketch != "minhash":
        raise UsageError(
            f"{argument('sketch', sketch)} is for the measures jaccard and bag; {plan.row.usual} has no sketches. "
            f"Leave out {parameter('sketch')}."
        )
    if plan.directed:
        return _with_draws(plan, method, advice)
    if measure not in BANDED:
        if method == "lsh":
            raise UsageError(
                f"{argument('method', 'lsh')} is for the measures jaccard, bag and containment; {plan.row.usual} has "
                f"no hash family. Use {argument('method', 'exact')}, which finds every pair."
            )
        return plan
    single = bands_for(plan.chance, 1, min(recall, 1 - 1e-15))
    if method == "exact" or (method == "auto" and (recall == 1 or single.hashes > MOST_HASHES)):
        return plan
    if recall == 1:
        raise _recall_of_one()
    if single.hashes > MOST_HASHES:
        given = "" if advice else f" for {argument('method', 'lsh')}"
        advice = advice or f"Use {argument('method', 'exact')}."
        raise UsageError(
            f"threshold must be higher{given}: {float(plan.threshold):g} at recall {recall:g} needs "
            f"{single.hashes:,} {sketch}es, more than {MOST_HASHES}. {advice}"
        )
    return replace(plan, method=method, bands=single)


def _check_weights(plan: Plan, filter: str | None) -> None:
    """Raise an error for settings that weights cannot have."""
    name = parameter("weights")
    if plan.measure != "jaccard":
        raise UsageError(f"{name} is for the measure jaccard; got {argument('measure', plan.row.usual)}.")
    if plan.sketch != "minhash":
        raise UsageError(f"{name} has a sketch of its own; leave out {parameter('sketch')}.")
    if filter is not None:
        raise UsageError(
            f"{name} has an exact join of its own; leave out {parameter('filter')} and {parameter('order')}."
        )


def _with_draws(plan: Plan, method: str, advice: str) -> Plan:
    """Choose how many elements to draw from each set, unless the plan must be exact."""
    plan = replace(plan, filter=POSTING)
    draws = None if plan.wanted == 1 or method == "exact" else draws_for(plan.threshold, plan.wanted)
    if method == "lsh" and draws is None:
        if plan.wanted == 1:
            raise _recall_of_one()
        given = "" if advice else f" for {argument('method', 'lsh')}"
        advice = advice or f"Use {argument('method', 'exact')}."
        raise UsageError(
            f"threshold must be higher{given}: at {float(plan.threshold):g} and recall {plan.wanted:g}, "
            f"{SIZES[-1]} elements drawn from a set do not show what contains it. {advice}"
        )
    return replace(plan, method="exact" if draws is None else method, draws=draws)


def _recall_of_one() -> UsageError:
    """Return the error for a recall that hashing does not reach."""
    return UsageError(
        f"recall must be below 1 for {argument('method', 'lsh')}; for recall 1 use {argument('method', 'exact')}."
    )


def parse_threshold(measure: str, threshold: float | str | Fraction) -> Fraction:
    """Return the threshold as typed: a similarity in (0, 1], or a number of elements or edits."""
    row = MEASURES[measure]
    if not row.counts:
        ratio = Fraction(*exact_fraction(threshold))
        if measure == "set_cosine" and ratio != Fraction(str(threshold)):
            raise UsageError(f"threshold must have at most nine decimals for cosine; got {threshold!r}.")
        return ratio
    given: object = threshold
    if isinstance(threshold, str):
        with suppress(ValueError):
            given = float(threshold)
    return Fraction(whole("threshold", given, least=1 if row.is_similarity else 0, most=LARGEST))
