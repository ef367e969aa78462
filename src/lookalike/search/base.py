"""Define the interface of a search: a collection, read and planned for, whatever its items are."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, TooManyPairs, argument
from lookalike.core.run import Run
from lookalike.core.storage import Arrays, Storage
from lookalike.items.sides import Sides
from lookalike.measures.table import BANDED
from lookalike.results import Holder
from lookalike.search.audit import Audit
from lookalike.search.cluster import choose_apart
from lookalike.search.identical import Groups, group_identical
from lookalike.search.keeping import RULES, Keeping
from lookalike.search.plan import Plan

MAX_LISTED = 100_000_000  # the most pairs to list if only groups are wanted

IsFound = Callable[[np.ndarray, np.ndarray], np.ndarray]  # takes pairs of positions, left before right


class Found(NamedTuple):
    """Similar pairs of heads, the items that stand for a group of identical ones."""

    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    own: np.ndarray  # per head: its value with an identical item
    candidates: int  # pairs compared


class Labels(NamedTuple):
    """For each head, the first item that similar pairs connect it with."""

    label: np.ndarray
    candidates: int = 0
    crowded: int = 0  # items compared with only some of their candidates


class Stars(NamedTuple):
    """For each item, the kept item that stands for it, and their similarity or distance."""

    centre: np.ndarray
    values: np.ndarray
    candidates: int = 0
    crowded: int = 0


class Search(Holder):
    """One collection that has been read, or two to be matched, one after the other."""

    run: Run
    plan: Plan
    storage: Storage
    ids: list[pa.Array]  # one array per collection
    sides: Sides
    live: np.ndarray  # the items that can be similar to another, even if only to an identical one
    contents: np.ndarray  # items x 2 hashes, equal exactly for identical items
    lengths: np.ndarray  # of each item, to keep the longest

    def __len__(self) -> int:
        return len(self.contents)

    @abstractmethod
    def pairs(self, groups: Groups, limit: int) -> Found:
        """Return the similar pairs of heads; raise an error if there are more than `limit`."""

    @abstractmethod
    def labels(self, groups: Groups) -> Labels:
        """Connect the heads by their similar pairs."""

    @abstractmethod
    def audit(self, size: int, found: IsFound) -> Audit:
        """Compare a sample of items with all items, and count which similar pairs were found."""

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """Return how many items were read, and how many were empty or skipped."""

    def identical(self, order: np.ndarray | None = None) -> Groups:
        """Group identical items; the first one in `order`, or in the collection, is the head."""
        with self.run.stage("identical"):
            items = self.live if order is None else order

            def group() -> Arrays:
                found = group_identical(self.contents, items, self.sides, self.storage.memory, self.run)
                return found.first, found.heads

            return Groups(*self.storage.once("identical", group))

    def order(self, keep: Keeping) -> np.ndarray:
        """Return the items that can be similar to another, in the order in which to keep them."""
        try:
            order = keep.order(self.ids[0], self.lengths)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            rules = ", ".join(map(repr, RULES))
            given = keep.columns[0] if keep.columns else keep.rules
            raise DataError(f"keep must be {rules} or one value per item; {_odd_value(given)}.") from error
        if order is None:
            return self.live
        live: np.ndarray = order[np.isin(order, self.live, kind="table")]
        return live

    def stars(self, groups: Groups, order: np.ndarray) -> Stars:
        """Keep the items that are not similar to one kept before: see `choose_apart`."""
        found = self.listed(groups)
        centre = np.arange(len(self))
        values = (np.ones if self.plan.row.is_similarity else np.zeros)(len(centre), found.own.dtype)
        values[groups.heads] = found.own
        heads = order[groups.first[order] == order]
        choose_apart(heads, found.left, found.right, found.values, centre, values, self.plan.directed)
        return Stars(centre, values, found.candidates)

    def listed(self, groups: Groups) -> Found:
        """Return the similar pairs that groups are made from."""
        try:
            return self.pairs(groups, MAX_LISTED)
        except TooManyPairs:
            many = f"more than {MAX_LISTED:,} similar pairs"
            if self.plan.measure not in BANDED:
                raise TooManyPairs(f"{many}, too many to list; choose a stricter threshold.") from None
            raise TooManyPairs(
                f"{many}, all of which an exact method must list; "
                f"use {argument('method', 'lsh')} with a recall below 1, which does not list them."
            ) from None

    def audit_pairs(self, size: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> Audit:
        """Audit pairs that are listed in order."""
        numbers = left * len(self) + right
        return self.audit(size, lambda a, b: _contains(numbers, a * len(self) + b))


def _odd_value(keep: Any) -> str:
    """Return what is wrong with values that cannot be sorted."""
    if not hasattr(keep, "__len__"):
        return f"got {keep!r}"
    kinds = [type(value).__name__ for value in keep]
    odd = next((place for place, kind in enumerate(kinds) if kind not in (kinds[0], "NoneType")), None)
    if odd is None:
        return f"values of type {kinds[0]} cannot be sorted"
    return f"they must have one type: that of keep[0] is {kinds[0]}, that of keep[{odd}] is {kinds[odd]}"


def _contains(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which values are in the ascending array."""
    at = np.searchsorted(ordered, values)
    inside: np.ndarray = at < len(ordered)
    inside[inside] = ordered[at[inside]] == values[inside]
    return inside
