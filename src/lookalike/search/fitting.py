"""Fit a plan to a sample: choose the method, bands and rows that take the least time."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.errors import UsageError
from lookalike.core.wording import about, counted
from lookalike.families import Family, SimHash, WeightedMinHash
from lookalike.families.base import as_keys
from lookalike.items.sets import Sets
from lookalike.kernels.sketch import count_agreements
from lookalike.search.effort import ONE_CORE, Effort
from lookalike.search.joins import Ranks, by_size, counters_for, element_ranks, estimate_work, index_prefixes
from lookalike.search.plan import MOST_HASHES, Plan
from lookalike.theory.amplify import And, Bands, Or, fitting_bands

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
MOST_LISTED = 5_000_000  # the most pairs to list if only clusters are wanted


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
    apart = None if places is None else where
    size = float(live.sizes.mean()) if len(live) else 1.0
    if plan.method == "exact":
        return _fit_join(plan, live, items, size, ranks is not None, effort, apart)
    banded, cost = _fit_bands(plan, live, items, size, effort, where)
    if plan.method == "lsh" or plan.weights is not None:
        return banded
    if ranks is None and not listing:  # the start of a file says little about all its pairs
        return banded
    assert banded.bands is not None
    width = f"{counted(banded.bands.bands, 'band')} of {counted(banded.bands.rows, 'row')}"
    join, joined = "an exact join", indexing_cost(items, size, effort, ranks is not None)
    if joined > cost:
        return replace(banded, reason=effort.reason(width, cost, join, joined, "over "))
    more, compared = joining_cost(plan, live, items, size, ranks, apart)
    joined += more
    if joined <= cost and (listing or compared < MOST_LISTED):
        memory = join_memory(plan, live, items, ranks is not None)
        exact = replace(plan, method="exact", bands=None, items=items, candidates=compared, memory=memory)
        return replace(exact, reason=effort.reason(join, joined, width, cost), seconds=effort.total(joined))
    listed = "" if joined > cost else f" and list {about(compared, 'pair')}"
    return replace(banded, reason=effort.reason(width, cost, join, joined) + listed)


def _fit_join(
    plan: Plan, sample: Sets, items: int, size: float, given: bool, effort: Effort, places: np.ndarray | None
) -> Plan:
    """Predict what an exact join needs; nobody asks how long it takes for `given` sets."""
    if plan.weights is not None:
        return replace(plan, items=items)
    memory = join_memory(plan, sample, items, given)
    if plan.row.join is None or given:
        return replace(plan, items=items, memory=memory)
    cost = indexing_cost(items, size, effort, given)
    if items > len(sample):  # otherwise the sample is all there is
        cost += joining_cost(plan, sample, items, size, None, places)[0]
    return replace(plan, items=items, memory=memory, seconds=effort.total(cost))


def _fit_bands(
    plan: Plan, sample: Sets, items: int, size: float, effort: Effort, places: np.ndarray
) -> tuple[Plan, float]:
    """Choose bands and rows; also return what finding the pairs with them costs."""
    few = np.arange(min(len(sample), SAMPLE))
    family = plan.functions(SAMPLE_HASHES)
    found = cheapest_bands(family, plan.chance, plan.wanted, sample.take(few), items, size, places[few])
    made = items * size * (SORT if plan.weights is None else SORT + WEIGH)  # to make all sets, once shingled
    cost = effort.read + effort.shingle + found.cost + SHARE * (effort.shingle + made)
    cost += 0.0 if plan.weights is None else made  # to sketch them
    seconds = effort.total(cost)
    return replace(
        plan, method="lsh", bands=found.bands, items=items, candidates=found.candidates, seconds=seconds
    ), cost


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
