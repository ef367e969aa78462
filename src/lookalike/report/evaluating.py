"""Reads a result and the truth about it, and compares them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core import errors
from lookalike.core.errors import DataError, UsageError, argument, choice, one_column, whole
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.records import read_table
from lookalike.report.load import KINDS, MEASURED, ResultFile
from lookalike.report.truth import (
    GROUPS,
    KINDS_OF_TRUTH,
    NO_IDS,
    Truth,
    clusters_of,
    compared_as_text,
    ids_in,
    numbered,
    true_clusters,
)
from lookalike.results import Result
from lookalike.results.evaluation import DISTANCE, PROBABILITY, Evaluation, clusters_evaluated, pairs_evaluated
from lookalike.results.files import sides_of

UNCLEAR = "true clusters do not say in which of two tables an id is; give the truth as pairs of ids."
TEXTS = "ids are compared as texts, since their types differ"


def evaluate(
    result: Any,
    truth: Any,
    *,
    truth_kind: str | None = None,
    truth_columns: Sequence[str] | None = None,
    tables: int | None = None,
    by: str | None = None,
    threshold: float | None = None,
    run: Run | None = None,
) -> Evaluation:
    """Compare pairs, matches, clusters or removed items with the truth.

    Ids are compared as they are if both sides hold integers or both strings, and otherwise as texts.

    Args:
        result: a result of this package, the path of a file with one, or a table with its columns.
        truth: the true pairs, two columns of ids; or the true clusters, a column of ids and a column that says in which
            cluster each is: a table, a data frame, a list of pairs, a list of dictionaries or a path.
        truth_kind: "pairs" or "clusters"; by default inferred from the names of the columns and, if they are unusual,
            from their values.
        truth_columns: the names of the two columns; by default left and right, or id and cluster, else the first two.
        tables: 2 if the left and the right ids of pairs belong to two tables, 1 if they belong to one, where the order
            within a pair does not matter; by default as the result says, else inferred from its ids.
        by: the column that ranks the pairs for the curve: the smaller the better for `distance`, the larger the better
            for others; by default the first that the result has of probability, similarity and distance.
        threshold: count only the pairs of the result that are at least this good by that column; the curve and the
            calibration cover all pairs.
        run: a `lookalike.core.run.Run`; a subclass can show progress.

    Returns:
        `Evaluation`: precision, recall and F1 with intervals, `curve()`, `calibration()` and `lines()`.

    >>> import lookalike as la
    >>> matches = [{"left": 1, "right": 7, "probability": 0.9}, {"left": 2, "right": 8, "probability": 0.6}]
    >>> found = la.evaluate(matches, [(1, 7), (3, 9)])
    >>> found.precision, found.recall, found.expected
    (0.5, 0.5, 1.5)
    """
    run = Run() if run is None else run
    if truth_kind is not None:
        choice("truth_kind", truth_kind, KINDS_OF_TRUTH)
    if tables is not None:
        whole("tables", tables, 1, 2)
    found = result_table(result, run)
    known = read_table(as_columns(truth), "the truth", run)
    with run.stage("compare"):
        if found.has("left", "right"):
            ranked = Ranked.of(found, by, threshold)
            true = Truth.of(known, truth_kind, truth_columns, ids_in(found.table, "right", found.name))
            return pairs_against(found, ranked, true, tables)
        for name, value in (("by", by), ("threshold", threshold), ("tables", tables)):
            if value is not None:
                raise UsageError(f"{name} is for pairs and matches; {found.name} has {', '.join(found.columns)}.")
        ids, groups = groups_of(found)
        return clusters_against(found, ids, groups, Truth.of(known, truth_kind, truth_columns, ids))


def result_table(result: Any, run: Run) -> ResultFile:
    """Return the table of a result, and the settings that say how it was made."""
    if isinstance(result, str | Path):
        found = ResultFile.read(str(result), run)
        if found.columns:
            return found
        return replace(found, table=pa.table({"left": NO_IDS, "right": NO_IDS}))  # an empty file of JSON lines
    if not isinstance(result, Result):
        return ResultFile("the result", read_table(result, "the result", run), {})
    sides = [getattr(result, name, None) for name in ("ids", "right_ids")]
    read = " ".join(str(len(ids)) for ids in sides if ids is not None)
    return ResultFile("the result", result.to_arrow(), {"read": read})


def as_columns(truth: Any) -> Any:
    """Return a list or set of pairs as a table; anything else as it is."""
    if not isinstance(truth, list | set | frozenset):
        return truth
    pairs = list(truth)
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        return truth
    try:
        return pa.table({"left": pa.array([a for a, _ in pairs]), "right": pa.array([b for _, b in pairs])})
    except (pa.ArrowException, OverflowError) as error:
        raise UsageError(
            f"the ids of true pairs must be all texts or all 64-bit integers: {' '.join(str(error).split())}."
        ) from None


@dataclass(frozen=True, eq=False)
class Ranked:
    """What ranks the pairs of a result, its probabilities if it states any, and the threshold."""

    by: str
    values: np.ndarray | None
    probability: np.ndarray | None
    threshold: float | None

    @classmethod
    def of(cls, found: ResultFile, by: str | None, threshold: float | None) -> "Ranked":
        """Read the columns of values."""
        stated = None
        if found.has(PROBABILITY) and (not len(found.table) or found.table[PROBABILITY].null_count < len(found.table)):
            stated = errors.within(PROBABILITY, found.numbers(PROBABILITY), 1.0)
        if by is not None:
            one_column(found.columns, by, f"{found.name} has", "")
        usual = [PROBABILITY] * (stated is not None) + [name for name in MEASURED if found.has(name)]
        name = by or next(iter(usual), "")
        if threshold is not None and not name:
            raise UsageError(
                f"threshold is for pairs with a column of values; {found.name} has {', '.join(found.columns)}."
            )
        return cls(name, found.numbers(name).astype(float) if name else None, stated, threshold)

    def at(self, rows: np.ndarray) -> "Ranked":
        """Return the values of some of the pairs."""
        values, stated = (None if one is None else one[rows] for one in (self.values, self.probability))
        return Ranked(self.by, values, stated, self.threshold)

    def better_first(self) -> np.ndarray:
        """Return ranks by which better pairs come first; all zero if the pairs are not ranked."""
        if self.values is None:
            return np.zeros(1)
        return self.values if self.by == DISTANCE else -self.values


def pairs_against(found: ResultFile, ranked: Ranked, truth: Truth, tables: int | None) -> Evaluation:
    """Compare pairs with the truth."""
    left, right = (ids_in(found.table, name, found.name) for name in ("left", "right"))
    notes = [TEXTS] if compared_as_text(left.type, truth.first.type) else []
    ids = [truth.first, truth.second] if truth.kind == "pairs" else [truth.first]
    one, other, *known = numbered(left, right, *ids)
    two = tables == 2 if tables is not None else in_two_tables(found, one, other, known, notes)
    if two and truth.kind == "clusters":
        raise DataError(UNCLEAR)
    items = 1 + max(int(part.max(initial=-1)) for part in (one, other, *known))
    if two:
        notes += missing_ids(list(zip(known, (one, other), strict=True)), items)
    else:
        notes += missing_ids([(np.concatenate(known), np.concatenate((one, other)))], items)
    rows, numbers = distinct(one, other, items, two, ranked, notes)
    notes += below_cut_off(found, ranked)
    if truth.kind == "pairs":
        true = np.sort(pair_numbers(known[0], known[1], items, two))
        true = true[first_of_equals(true)]
        place = np.searchsorted(true, numbers)
        hits, total = np.append(true, -1)[place] == numbers, len(true)
    else:
        cluster = true_clusters(truth, known[0], numbered(truth.second)[0], items)
        sizes = np.bincount(cluster)
        hits, total = cluster[one[rows]] == cluster[other[rows]], int((sizes * (sizes - 1) // 2).sum())
    best = ranked.at(rows)
    return pairs_evaluated(hits, total, best.by, best.values, best.probability, best.threshold, notes)


def below_cut_off(found: ResultFile, ranked: Ranked) -> list[str]:
    """Return the note on a file of all scored pairs, most of which its job did not call matches."""
    with suppress(ValueError):
        cut = float(found.settings.get("cut_off", ""))
        if ranked.threshold is None and ranked.probability is not None and (ranked.probability < cut).any():
            how = argument("threshold", f"{cut:g}")
            return [f"the result has pairs below its cut-off, which are no matches; use {how} to leave them out"]
    return []


def pair_numbers(one: np.ndarray, other: np.ndarray, items: int, two: bool) -> np.ndarray:
    """Return a number for each pair of different items; within one table, the order within a pair does not matter."""
    if not two:
        different = one != other
        one, other = np.minimum(one, other)[different], np.maximum(one, other)[different]
    numbers: np.ndarray = one * items + other
    return numbers


def distinct(
    one: np.ndarray, other: np.ndarray, items: int, two: bool, ranked: Ranked, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the distinct pairs, and their ascending numbers; of repeated pairs, the best one stays."""
    rows = np.arange(len(one)) if two else np.flatnonzero(one != other)
    if len(rows) < len(one):
        notes.append(f"{counted(len(one) - len(rows), 'pair')} of an item with itself left out")
    numbers = pair_numbers(one, other, items, two)
    order = np.argsort(numbers, kind="stable")
    first = first_of_equals(numbers[order])
    if not first.all():
        notes.append(f"{counted(int(np.count_nonzero(~first)), 'repeated pair')} left out; the best of each counts")
        ranks = np.broadcast_to(ranked.better_first(), len(one))[rows[order]]
        best = np.minimum.reduceat(ranks, np.flatnonzero(first))[np.cumsum(first) - 1]
        order = order[ranks == best]
        order = order[first_of_equals(numbers[order])]
    return rows[order], numbers[order]


def first_of_equals(ascending: np.ndarray) -> np.ndarray:
    """Return which of the ascending numbers differ from the one before."""
    return np.append(np.ones(min(1, len(ascending)), bool), ascending[1:] != ascending[:-1])


def in_two_tables(
    found: ResultFile, one: np.ndarray, other: np.ndarray, known: list[np.ndarray], notes: list[str]
) -> bool:
    """Return whether left and right ids belong to two tables, by the settings of the result or a pair of equal ids."""
    sides = sides_of(found.settings)
    if sides:
        return len(sides) > 1
    if (one == other).any() or (len(known) > 1 and (known[0] == known[1]).any()):
        return True
    items = 1 + int(max(one.max(initial=-1), other.max(initial=-1)))
    if len(known) > 1 and (occurring(one, items) & occurring(other, items)).any():
        how = f"if they belong to two tables, use {argument('tables', 2)}"
        notes.append(f"left and right have ids in common, so all are treated as ids of one table; {how}")
    return False


def occurring(numbers: np.ndarray, items: int) -> np.ndarray:
    """Return which of the numbers below `items` occur."""
    there = np.zeros(items, bool)
    there[numbers] = True
    return there


def missing_ids(sides: list[tuple[np.ndarray, np.ndarray]], items: int) -> list[str]:
    """Return the note on ids of the truth that the result does not have, if there are any."""
    total = missing = 0
    for known, found in sides:
        named = occurring(known, items)
        total += int(np.count_nonzero(named))
        missing += int(np.count_nonzero(named & ~occurring(found, items)))
    if not missing:
        return []
    if missing == total:
        return [f"none of the {counted(total, 'id')} in the truth occurs in the result; are they ids of the same kind?"]
    return [f"{missing:,} of {counted(total, 'id')} in the truth do not occur in the result"]


def groups_of(found: ResultFile) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the ids in groups, and the group of each: a cluster, or the kept item and those removed for it."""
    group = next((name for name in GROUPS if found.has("id", name)), None)
    if group is not None:
        return ids_in(found.table, "id", found.name), ids_in(found.table, group, found.name)
    if not found.has("id", "kept"):
        raise DataError(f"{found.name}: must list {KINDS}; it has {', '.join(found.columns)}.")
    removed, kept = (ids_in(found.table, name, found.name) for name in ("id", "kept"))
    once = pa.chunked_array([kept.unique()])
    both = pa.chunked_array([*removed.chunks, *once.chunks], kept.type)
    return both, pa.chunked_array([*kept.chunks, *once.chunks], kept.type)


def clusters_against(found: ResultFile, ids: pa.ChunkedArray, groups: pa.ChunkedArray, truth: Truth) -> Evaluation:
    """Compare clusters with the truth; true pairs connect items into true clusters."""
    notes = [TEXTS] if compared_as_text(ids.type, truth.first.type) else []
    named = [truth.first, truth.second] if truth.kind == "pairs" else [truth.first]
    numbers, *known = numbered(ids, *named)
    right = found.of_right
    if right is not None and truth.kind == "pairs":  # an id of the second table is another item
        numbers, *known = renumbered(numbers * 2 + right, known[0] * 2, known[1] * 2 + 1)
    elif right is not None and np.isin(numbers[right], numbers[~right]).any():
        raise DataError(UNCLEAR)
    items = 1 + max(int(part.max(initial=-1)) for part in (numbers, *known))
    notes += missing_ids([(np.concatenate(known), numbers)], items)
    second = known[-1] if truth.kind == "pairs" else numbered(truth.second)[0]
    cluster = clusters_of(ids, numbers, numbered(groups)[0], items)
    return clusters_evaluated(cluster, true_clusters(truth, known[0], second, items), notes)


def renumbered(*numbers: np.ndarray) -> list[np.ndarray]:
    """Return arrays of numbers in which those that occur become 0, 1, and so on."""
    together = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return np.split(together, np.cumsum([len(one) for one in numbers])[:-1])
