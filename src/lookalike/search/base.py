"""What the pipeline asks of a collection, whatever its items are."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lookalike.core.errors import TooManyPairs
from lookalike.core.run import Run
from lookalike.results import Holder
from lookalike.search.audit import Audit
from lookalike.search.cluster import choose_apart
from lookalike.search.identical import Groups
from lookalike.search.plan import Plan

MAX_LISTED = 100_000_000  # pairs that may be listed only to group their items

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # left, right, values; and the heads' own values
IsFound = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of pairs of positions, left before right


class Search(Holder):
    """One collection taken in, or two to be matched, one after the other."""

    run: Run
    plan: Plan
    ids: list[pa.Array]  # of the one collection, or of each of two
    split: int  # where the second begins; ONE if there is none
    live: np.ndarray  # the items that may be similar to another, if only to one identical
    contents: np.ndarray  # items x 2: equal just for equal items
    lengths: np.ndarray  # of each item, for the longest to be kept
    candidates = 0  # pairs that were compared
    crowded = 0  # items that were not compared with all they could be

    def __len__(self) -> int:
        return len(self.contents)

    @abstractmethod
    def pairs(self, groups: Groups, limit: int) -> Found:
        """The similar pairs of items that stand for a group; more than `limit` are an error."""

    @abstractmethod
    def labels(self, groups: Groups) -> np.ndarray:
        """The least item that each item which stands for a group is connected with by similar pairs."""

    @abstractmethod
    def audit(self, size: int, found: IsFound) -> Audit:
        """Compare a sample of so many items with all, and ask which of the similar pairs have been found."""

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """What was read."""

    def stars(self, groups: Groups, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The kept item that stands for each one, and its similarity or distance to that: see `choose_apart`."""
        centre = np.arange(len(self))
        left, right, measured, own = self.listed(groups)
        values = (np.ones if self.plan.kind == "similarity" else np.zeros)(len(centre), own.dtype)
        values[groups.heads] = own
        choose_apart(order[groups.first[order] == order], left, right, measured, centre, values, self.plan.directed)
        return centre, values

    def listed(self, groups: Groups) -> Found:
        """`pairs`, for groups to be made of them."""
        try:
            return self.pairs(groups, MAX_LISTED)
        except TooManyPairs:
            raise TooManyPairs(
                f"more than {MAX_LISTED:,} similar pairs, all of which an exact method has to list; "
                "with method 'lsh' and a recall under 1 they need not be listed."
            ) from None

    def split_among(self, rows: np.ndarray) -> int:
        """How many of the ascending rows are of the first of two collections; `split` if there is just one."""
        return self.split if self.split < 0 else int(np.searchsorted(rows, self.split))
