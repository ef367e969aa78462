"""Choose a method and its parameters from a threshold, a recall and a sample of the data."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.display import paragraphs, picture
from lookalike.core.drawing import ORANGE, draw_curve, new_axes
from lookalike.core.errors import UsageError, argument, choice, fraction, parameter, whole
from lookalike.core.wording import about, counted, percent
from lookalike.families import Family, MinHash, SimHash, WeightedMinHash
from lookalike.families.base import as_keys
from lookalike.items.sets import Sets
from lookalike.kernels.sketch import count_agreements
from lookalike.measures import LARGEST, MEASURES, Measure, exact_fraction
from lookalike.measures.table import BANDED, OF_SETS, SHORT, usual_names
from lookalike.search.joins import STAGES, Ranks, by_size, counters_for, element_ranks, estimate_work, index_prefixes
from lookalike.theory.amplify import And, Bands, Or, bands_for, fitting_bands
from lookalike.theory.drawing import SIZES, Draws, draws_for

POSTING = "posting"  # in place of a filter: sets are posted for those that contain them, see `containing`
METHODS = ("auto", "lsh", "exact")
SKETCHES = {"minhash": MinHash, "simhash": SimHash}  # families that can be banded
MOST_HASHES = 512
SAMPLE = 400  # items whose pairs show how similar the collection's items are
SAMPLE_HASHES = 256
SAMPLE_ELEMENTS = 200_000  # of the sets that are joined to estimate the cost of a join

# The cost of each step, in nanoseconds on one core of the machine on which they were measured; all can be shared by
# threads. They decide between methods; a prediction in seconds uses the speed of this machine: see `Effort`.
DRAW, BAND, CANDIDATE, ELEMENT = 2.0, 60.0, 300.0, 3.0  # for bands
SIGN = 0.45  # per element and function of simhash
RACE = 50.0  # per element, and per draw that fills the functions of weighted minhash
SHARE = 0.4  # of items that share a bucket, so that their sets are made
SORT = 12.0  # per element of a set
WEIGH = 150.0  # to look up the weight of an element
INDEX, COUNTER, TOKEN, WALK, COMPARE = 36.0, 4.0, 60.0, 4.0, 100.0  # for an exact join
DRAWN, POST, LOOK = 9.0, 25.0, 20.0  # for containment: per element to draw from, to post from, and to look up
PROGRAM, PREFIX, POSTED = 3e8, 44, 60  # bytes of memory: of the program, per element of a prefix, per posted element
NOWHERE = 0.75  # of the rarest elements of sets: they are in no other set of the collection, and are not posted
MOST_HELD = 4e9  # bytes of memory above which whole sets are not held to find what contains them, if draws are enough
STATED = 5e8  # bytes of memory above which a plan states them
MOST_LISTED = 5_000_000  # the most pairs to list if only clusters are wanted


class Effort(NamedTuple):
    """What any method must do with the items, and the threads that do it."""

    read: float = 0.0  # nanoseconds on one core, to read and check all items
    shingle: float = 0.0  # to shingle all texts once
    threads: int = 1
    speed: float = 1.0  # how many times as long this machine takes as stated
    waited: float = 0.0  # seconds that the user has waited already

    def seconds(self, cost: float) -> str:
        """Return how long the user waits in all, if the work costs `cost` nanoseconds on one core."""
        return f"{self.total(cost):.2g} s"

    def total(self, cost: float) -> float:
        """Return the seconds that the user waits in all, if the work costs `cost` nanoseconds on one core."""
        return self.waited + cost * self.speed / self.threads / 1e9

    def reason(self, way: str, cost: float, other: str, others: float, over: str = "") -> str:
        """Return the reason for choosing a way over another, with the time that both would take.

        >>> Effort(threads=2).reason("an exact join", 5e9, "10 bands", 9e9)
        'chosen: an exact join, about 2.5 s with 2 threads; 10 bands would take 4.5 s'
        """
        return f"{self.choice(way, cost)}; {other} would take {over}{self.seconds(others)}"

    def choice(self, way: str, cost: float) -> str:
        """Return which way was chosen, and the time it takes."""
        return f"chosen: {way}, about {self.seconds(cost)} with {counted(self.threads, 'thread')}"


ONE_CORE = Effort()


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


def fit(
    plan: Plan,
    sample: Sets,
    items: int,
    ranks: Callable[[], Ranks] | None = None,
    listing: bool = True,
    effort: Effort = ONE_CORE,
    places: np.ndarray | None = None,
    left: float | None = None,
) -> Plan:
    """Choose method, bands and rows for a collection of about `items` items, given a sample.

    `ranks` computes those of all elements if the sets are at hand; texts must be shingled first,
    all of them for an exact join, few for bands. If pairs need not be listed, as for clusters, a
    join that would list many is not chosen. `places` says from which place of the collection each
    item of the sample is: neighbours are more alike than others. `left` is the share of the elements
    that the first collection has, if there are two.
    """
    some = np.flatnonzero(sample.sizes)
    live = sample.take(some)
    if plan.posts:
        return fit_posting(plan, live, items, effort, ranks is not None, left)
    where = np.arange(len(live)) if places is None else places[some]
    if plan.method == "exact" and plan.weights is not None:
        return replace(plan, items=items)
    size = float(live.sizes.mean()) if len(live) else 1.0
    if plan.method == "exact":
        memory = join_memory(plan, live, items, ranks is not None)
        if plan.row.join is None or ranks is not None:  # nobody asks how long it takes for sets in memory
            return replace(plan, items=items, memory=memory)
        cost = indexing_cost(items, size, effort, False)
        if items > len(live):  # otherwise the sample is all there is
            cost += joining_cost(plan, live, items, size, None, places if places is None else where)[0]
        return replace(plan, items=items, memory=memory, seconds=effort.total(cost))
    family = plan.functions(SAMPLE_HASHES)
    few = np.arange(min(len(live), SAMPLE))
    found = cheapest_bands(family, plan.chance, plan.wanted, live.take(few), items, size, where[few])
    made = items * size * (SORT if plan.weights is None else SORT + WEIGH)  # to make all sets, once shingled
    banded_cost = effort.read + effort.shingle + found.cost + SHARE * (effort.shingle + made)
    banded_cost += 0.0 if plan.weights is None else made  # to sketch them
    seconds = effort.total(banded_cost)
    banded = replace(plan, method="lsh", bands=found.bands, items=items, candidates=found.candidates, seconds=seconds)
    if plan.method == "lsh" or plan.weights is not None:
        return banded
    if ranks is None and not listing:  # the start of a file says little about all its pairs
        return banded
    width = f"{counted(found.bands.bands, 'band')} of {counted(found.bands.rows, 'row')}"
    join = "an exact join"
    cost = indexing_cost(items, size, effort, ranks is not None)
    if cost > banded_cost:
        return replace(banded, reason=effort.reason(width, banded_cost, join, cost, "over "))
    more, compared = joining_cost(plan, live, items, size, ranks, places if places is None else where)
    cost += more
    if cost <= banded_cost and (listing or compared < MOST_LISTED):
        memory = join_memory(plan, live, items, ranks is not None)
        exact = replace(plan, method="exact", bands=None, items=items, candidates=compared, memory=memory)
        return replace(exact, reason=effort.reason(join, cost, width, banded_cost), seconds=effort.total(cost))
    listed = "" if cost > banded_cost else f" and list {about(compared, 'pair')}"
    return replace(banded, reason=effort.reason(width, banded_cost, join, cost) + listed)


def indexing_cost(items: int, size: float, effort: Effort, given: bool) -> float:
    """Estimate the nanoseconds that an exact join takes before it joins; `given` sets need not be made."""
    made = 0.0 if given else items * size * SORT
    return effort.read + effort.shingle + items * size * INDEX + COUNTER * counters_for(items * size) + made


def joining_cost(
    plan: Plan, sample: Sets, items: int, size: float, ranks: Callable[[], Ranks] | None, places: np.ndarray | None
) -> tuple[float, float]:
    """Estimate the nanoseconds that an exact join takes to join, and the pairs that it compares, from a sample."""
    near = np.arange(min(len(sample), max(200, int(SAMPLE_ELEMENTS / size))))
    known = element_ranks(sample) if ranks is None else ranks()
    work = estimate_work(sample.take(near), items, known, plan.join, None if places is None else places[near])
    cost = work.tokens * TOKEN + work.walks * WALK + work.compared * (COMPARE + ELEMENT * size)
    return cost, work.compared


def fit_posting(plan: Plan, sample: Sets, items: int, effort: Effort, given: bool, left: float | None) -> Plan:
    """Choose between whole sets and draws, to find which sets are contained in others: see `containing`.

    `given` sets are in memory; texts must be shingled, twice unless their sets are kept.
    """
    elements = items * float(sample.sizes.mean()) if len(sample) else 0.0
    inner = elements if left is None else left * elements  # to post
    made = 0.0 if given else SORT
    again = 0.0 if given else effort.shingle
    posted = inner * (1 - float(plan.threshold)) * (1 if left is not None else 1 - NOWHERE)
    base = effort.read + effort.shingle
    whole = base + inner * (made + POST) + elements * LOOK
    if left is not None:  # the other sets are made to be looked up, and not kept
        whole += (1 - left) * (again + elements * made)
    memory = float(PROGRAM + 16 * inner + 5 * counters_for(inner) + POSTED * posted)
    exact = replace(plan, method="exact", draws=None, items=items, memory=memory, seconds=effort.total(whole))
    if plan.draws is None:
        return exact
    drawn = base + inner * DRAWN + again + elements * (made + LOOK) + SHARE * (again + elements * made)
    some = replace(plan, method="lsh", items=items, seconds=effort.total(drawn))
    if plan.method == "lsh":
        return some
    ways = ("whole sets", f"{plan.draws.size} elements of each set")
    if memory > MOST_HELD:
        needs = f"{ways[0]} would need about {memory / 1e9:.1f} GB of memory"
        return replace(some, reason=f"{effort.choice(ways[1], drawn)}; {needs}")
    if whole <= drawn:
        return replace(exact, reason=effort.reason(ways[0], whole, ways[1], drawn))
    return replace(some, reason=effort.reason(ways[1], drawn, ways[0], whole))


def join_memory(plan: Plan, sample: Sets, items: int, given: bool) -> float:
    """Estimate the bytes that an exact join of sets needs, from a sample; `given` sets are copied.

    They are those of the elements, and then of their counts, or of the prefixes and their index.
    """
    if plan.row.moves or not len(sample):
        return 0.0
    times = items / len(sample)
    elements = times * len(sample.elements)
    counts = counters_for(elements)
    prefixes = times * len(index_prefixes(sample, by_size(sample), element_ranks(sample), plan.join)[1])
    return float(PROGRAM + 8 * elements * (1 + given) + max(5 * counts, counts + PREFIX * prefixes))


def filling(bins: int) -> float:
    """Estimate how many draws fill this many bins."""
    return bins * (1 + math.log(bins))


class Choice(NamedTuple):
    """Bands, their expected cost in nanoseconds on one core, and their expected candidates."""

    bands: Bands
    cost: float
    candidates: float


def cheapest_bands(
    family: Family,
    chance: float,
    recall: float,
    sample: Any,
    items: int,
    size: float,
    places: np.ndarray | None = None,
) -> Choice:
    """Return the cheapest bands, for any family.

    `chance` is the probability that one function agrees on a pair right at the threshold, and
    `size` the cost of hashing or comparing an item. Any number of rows reaches the recall, given
    enough bands. More rows cost more functions and bands; fewer rows cost more false positives,
    which the curve predicts from the share of functions on which each pair of the sample agrees.
    Pairs from one of the sample's `places` stand for neighbours, of which there are as many per item.
    """
    signatures = as_keys(family.signatures(sample))
    far, near = count_agreements(signatures, np.arange(len(signatures)) if places is None else places)
    shares = np.arange(family.hashes + 1) / family.hashes
    pairs = items * (items - 1) / 2
    most = int(min(MOST_HASHES, family.most))
    best: Choice | None = None
    for bands in fitting_bands(chance, recall, most):
        if bands.bands == 1 and chance < 1 and 2 * bands.rows <= most:  # a single band of a sketch finds slightly less
            bands = Bands(2, bands.rows, (And(bands.rows) >> Or(2))(chance))
        found = bands.curve(shares)
        neighbours = float(near @ found) / max(1, len(signatures))  # per item
        candidates = pairs * float(far @ found) / max(1, far.sum()) + items * neighbours
        draws = size * bands.hashes * SIGN if isinstance(family, SimHash) else DRAW * (size + filling(bands.hashes))
        draws = RACE * (size + filling(bands.hashes)) if isinstance(family, WeightedMinHash) else draws
        cost = items * draws + BAND * items * bands.bands + candidates * (CANDIDATE + ELEMENT * size)
        if best is None or cost < best.cost:
            best = Choice(bands, cost, candidates)
    if best is None:
        raise UsageError(
            f"recall {recall:g} at this threshold needs more than {counted(most, 'hash function')}; "
            "lower the recall or choose a stricter threshold."
        )
    return best
