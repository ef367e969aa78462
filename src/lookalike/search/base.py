"""What the pipeline asks of a collection that has been read and planned for, whatever its items are."""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, TooManyPairs
from lookalike.core.run import Run
from lookalike.core.storage import Storage
from lookalike.items.sides import Sides
from lookalike.results import Holder
from lookalike.search.audit import Audit
from lookalike.search.cluster import choose_apart
from lookalike.search.identical import Groups, group_identical
from lookalike.search.plan import Plan
from lookalike.search.settings import Settings

MAX_LISTED = 100_000_000  # pairs that may be listed only to group their items

IsFound = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of pairs of positions, left before right


class Found(NamedTuple):
    """Similar pairs of items that stand for a group of identical ones."""

    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    own: np.ndarray  # of each such item: the value of it and one identical to it
    candidates: int  # pairs that were compared


class Labels(NamedTuple):
    """The least item that each item which stands for a group is connected with by similar pairs."""

    label: np.ndarray
    candidates: int = 0
    crowded: int = 0  # items that were not compared with all they could be


class Stars(NamedTuple):
    """The kept item that stands for each one, and its similarity or distance to that."""

    centre: np.ndarray
    values: np.ndarray
    candidates: int = 0
    crowded: int = 0


class Search(Holder):
    """One collection that has been read, or two to be matched, one after the other."""

    run: Run
    plan: Plan
    storage: Storage
    ids: list[pa.Array]  # of the one collection, or of each of two
    sides: Sides
    live: np.ndarray  # the items that may be similar to another, if only to one identical
    contents: np.ndarray  # items x 2: equal just for equal items
    lengths: np.ndarray  # of each item, for the longest to be kept

    def __len__(self) -> int:
        return len(self.contents)

    @abstractmethod
    def pairs(self, groups: Groups, limit: int) -> Found:
        """Find the similar pairs of items that stand for a group; more than `limit` are an error."""

    @abstractmethod
    def labels(self, groups: Groups) -> Labels:
        """Connect the items that stand for a group by their similar pairs."""

    @abstractmethod
    def audit(self, size: int, found: IsFound) -> Audit:
        """Compare a sample of items with all, and ask which of the similar pairs have been found."""

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """What was read."""

    def identical(self, order: np.ndarray | None = None) -> Groups:
        """Group identical items; the first in `order`, or in the collection, stands for its group."""
        return group_identical(self.contents, self.live if order is None else order, self.sides, self.storage.memory)

    def order(self, settings: Settings) -> np.ndarray:
        """The items that may be similar to another, the ones to be kept first."""
        keep = settings.keep
        if isinstance(keep, str) and keep == "first":
            return self.live
        try:
            given = self.lengths if isinstance(keep, str) else keep
            values = given if isinstance(given, pa.Array | pa.ChunkedArray) else pa.array(given)
            places = pc.sort_indices(values, sort_keys=[("", "descending")])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
            raise DataError(f"keep must be values of one kind that can be ordered: {error}") from error
        if len(values) != len(self):
            raise DataError(f"keep must have a value for each of the {len(self):,} items; it has {len(values):,}.")
        order = places.to_numpy().astype(np.int64)
        live: np.ndarray = order[np.isin(order, self.live, kind="table")]
        return live

    def stars(self, groups: Groups, order: np.ndarray) -> Stars:
        """Keep items that are similar to none kept before: see `choose_apart`."""
        found = self.listed(groups)
        centre = np.arange(len(self))
        values = (np.ones if self.plan.row.is_similarity else np.zeros)(len(centre), found.own.dtype)
        values[groups.heads] = found.own
        heads = order[groups.first[order] == order]
        choose_apart(heads, found.left, found.right, found.values, centre, values, self.plan.directed)
        return Stars(centre, values, found.candidates)

    def listed(self, groups: Groups) -> Found:
        """`pairs`, for groups to be made of them."""
        try:
            return self.pairs(groups, MAX_LISTED)
        except TooManyPairs:
            raise TooManyPairs(
                f"more than {MAX_LISTED:,} similar pairs, all of which an exact method has to list; "
                "with method 'lsh' and a recall under 1 they need not be listed."
            ) from None

    def audit_pairs(self, size: int, left: np.ndarray, right: np.ndarray, values: np.ndarray) -> Audit:
        """Audit pairs that are listed in order."""
        numbers = left * len(self) + right
        return self.audit(size, lambda a, b: _contains(numbers, a * len(self) + b))


def _contains(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether each value is in the ascending array."""
    at = np.searchsorted(ordered, values)
    inside: np.ndarray = at < len(ordered)
    inside[inside] = ordered[at[inside]] == values[inside]
    return inside
