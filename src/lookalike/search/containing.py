"""Find the sets that are contained in others: post each under a few elements, look up all of the others'.

Say that a set A of n elements counts as contained in B if B has at least s of them. Then B has one of
any n - s + 1 elements of A, and the rarest of A are in few other sets. So each set is posted under
these, and B meets A when it looks up one of them; then the elements that they share are counted. This
finds every pair, at the cost of one look-up per element of B, however much larger than A it is.

With a recall below 1, the elements drawn from A stand for it (see `theory.drawing`): fewer are posted,
and no whole set needs to be in memory, as those of B are made one after another. Pairs that share
enough of the drawn elements are verified with their whole sets. So the result does not depend on which
elements were posted, on threads, or on memory.
"""

from functools import partial
from threading import local
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.arrays import join_arrays
from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run, slices
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sets import Sets
from lookalike.kernels.draws import contained, look_up, rarest
from lookalike.search.collection import Collection
from lookalike.search.joins import element_ranks
from lookalike.search.makers import ReadySets
from lookalike.theory.banding import too_many
from lookalike.theory.drawing import Draws
from lookalike.theory.sorting import sort_keys

DRAWN, POSTED = 20, 60  # bytes per drawn and per posted element while an index is made
PAIRS = 1 << 12  # verified per task
MOST_MET = 200_000_000  # pairs to verify
COUNTED = 256  # sets of another collection whose elements show which are rare


class ContainedPairs(NamedTuple):
    """Pairs of items, the first contained in the second."""

    left: np.ndarray
    right: np.ndarray
    shared: np.ndarray
    sizes: np.ndarray  # of the sets on the left
    compared: int


def contained_pairs(
    collection: Collection, heads: np.ndarray, limit: int, run: Run, storage: Storage
) -> ContainedPairs:
    """Return all pairs of heads of which the first is contained in the second; more than `limit` are an error."""
    inner, _ = collection.sides.apart(heads)
    draws, (p, q) = collection.plan.draws, collection.plan.threshold.as_integer_ratio()
    if draws is None:
        sets = collection.sets(inner, run)
        left, right, shared, compared = meetings(collection, heads, inner, sets, None, limit, run)
        return ContainedPairs(left, right, shared, sets.sizes[np.searchsorted(inner, left)], compared)

    def find() -> Arrays:
        found = []
        for block in _blocks(inner, draws, storage.memory):
            rows = inner[block]
            found.append(meetings(collection, heads, rows, collection.drawn(rows), draws, MOST_MET, run))
        left, right, _ = (np.concatenate([np.zeros(0, np.int64), *(one[i] for one in found)]) for i in range(3))
        return left, right, np.array([sum(one[3] for one in found)])

    left, right, tried = storage.made("met", find)
    members = np.unique(np.concatenate((left, right)))
    sets = collection.sets(members, run, "candidates")
    one, other = np.searchsorted(members, left), np.searchsorted(members, right)
    verify = partial(_verify, sets, one, other, p, q)
    with run.stage("verify", len(left)) as tick:
        checked = []
        for part, shared in zip(parts := slices(len(left), PAIRS), run.map(verify, parts), strict=True):
            checked.append(shared)
            tick(part.stop - part.start)
    shared = np.concatenate([np.zeros(0, np.int64), *checked])
    good = shared >= 0
    if np.count_nonzero(good) > limit:
        raise too_many(int(np.count_nonzero(good)), limit)
    return ContainedPairs(left[good], right[good], shared[good], sets.sizes[one[good]], int(tried[0]))


def meetings(
    collection: Collection, heads: np.ndarray, inner: np.ndarray, sets: Sets, draws: Draws | None, limit: int, run: Run
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return (left, right, shared, compared): the items `inner` that are contained in others, judging by `sets`.

    These are their whole sets, or the elements drawn from them.
    """
    _, outer = collection.sides.apart(heads)
    two, whole = collection.sides.two, draws is None  # two collections; whole sets
    p, q = collection.plan.threshold.as_integer_ratio()
    needs = np.maximum((p * sets.sizes + q - 1) // q, 1)
    if draws is not None:
        needs[sets.sizes == draws.size] = draws.need
    with run.stage("post"):
        some = [collection.sets(outer[:COUNTED], run)] if two else []
        index = post(sets, needs, some, whole and not two, run)
    maker, own = collection.maker, local()
    if whole and not two:  # the sets to look up are those posted
        maker, outer = ReadySets(sets, [sets]), np.arange(len(inner))

    def work(task: Any) -> tuple[int, tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
        if not hasattr(own, "met"):
            own.met = np.full(len(inner), -1)
        part, rows = maker.make(task), maker.rows(task)
        items = inner[rows] if maker is not collection.maker else rows
        posted = (*index, sets.indptr, sets.elements, needs, inner)
        left, right, shared, seen = look_up(items, part.indptr, part.elements, *posted, own.met, limit)
        if collection.grouping is not None and not collection.grouping.within:
            across = collection.sides.across(left, right)
            left, right, shared = left[across], right[across], shared[across]
        return len(rows), (left, right, shared, seen)

    columns: tuple[list[np.ndarray], ...] = ([], [], [])
    total, compared = 0, 0
    with run.stage("look up", len(outer)) as tick:
        for done, (*found, seen) in run.map(work, maker.tasks(outer, run)):
            tick(done)
            for column, values in zip(columns, found, strict=True):
                column.append(values)
            total, compared = total + len(found[0]), compared + seen
            if total > limit:
                raise too_many(total, limit) if whole else _too_many_met(total)
    left, right, shared = (join_arrays(column, run) for column in columns)
    return left, right, shared, compared


def post(sets: Sets, needs: np.ndarray, some: list[Sets], complete: bool, run: Run) -> tuple[Any, ...]:
    """Post each set under its rarest elements, all but needs - 1 of them: the index of `look_up`.

    `some` are sets that will be looked up, in which elements are counted too. If `complete`, no other
    sets than these are looked up, and elements of a single one are not posted.
    """
    ranks, shift = element_ranks(Sets.concatenate([sets, *some]), run)
    owners, tokens = rarest(sets.indptr, sets.elements, needs, ranks, shift, int(complete))
    ordered, mask = sort_keys(tokens, run)
    order = (ordered & mask).astype(np.int64)
    bits = max(1, len(tokens).bit_length())
    high = np.uint64(64 - bits)
    tokens, owners = tokens[order], owners[order]
    bounds = np.arange((1 << bits) + 1, dtype=np.int64)
    starts = np.searchsorted((tokens >> high).astype(np.int64), bounds)
    return starts, high, tokens, owners


def _blocks(rows: np.ndarray, draws: Draws, memory: int | None) -> list[slice]:
    """Cut rows so that the index of each slice fits into memory."""
    each = DRAWN * draws.size + POSTED * (draws.size - draws.need + 1)
    return slices(len(rows), max(1, len(rows) if memory is None else memory // each))


def _verify(sets: Sets, left: np.ndarray, right: np.ndarray, p: int, q: int, part: slice) -> np.ndarray:
    shared: np.ndarray = contained(sets.indptr, sets.elements, left[part], right[part], p, q)
    return shared


def _too_many_met(total: int) -> TooManyPairs:
    return TooManyPairs(
        f"at least {total:,} pairs to verify, more than {MOST_MET:,}: choose a stricter threshold, or remove "
        "near-duplicates first."
    )
