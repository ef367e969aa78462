"""Which items to keep and which to remove."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.wording import counted
from lookalike.results.base import ALL, Holder, Measured, explained
from lookalike.results.explanations import Explanation

if TYPE_CHECKING:
    from lookalike.results.pairs import Pairs
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Dedup(Measured):
    """Which items to keep and which to remove: each removed item is verified similar to one that is kept.

    Its rows are the removed items: (id, id of the item kept instead, similarity or distance).

    >>> import lookalike as la
    >>> result = la.dedup([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5)
    >>> result, result.kept.to_pylist(), list(result)
    (<2 of 3 items kept, 1 removed>, [0, 2], [(1, 0, 0.8)])
    """

    centre: np.ndarray  # of each item: itself if it is kept, else the kept item it is similar to; then earlier items
    values: np.ndarray  # its similarity or distance to that item
    ids: pa.Array
    kind: str = "similarity"  # or "distance"
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None
    among: np.ndarray | None = None  # which items are kept, if not just the centres
    earlier: "Pairs | None" = None  # of items and the earlier ones that they are most similar to, all in `holder`
    drop_all: bool = False  # whether all items of a group are removed; `centre` is then the first item of its cluster

    @property
    def keep(self) -> np.ndarray:
        """Whether each item is kept."""
        if self.among is not None:
            return self.among
        kept: np.ndarray = self.centre == np.arange(len(self.centre))
        return kept

    @property
    def kept(self) -> pa.Array:
        """The ids of the kept items."""
        return self.ids.filter(pa.array(self.keep))

    @cached_property
    def _removed(self) -> np.ndarray:
        return np.flatnonzero(~self.keep)

    def __len__(self) -> int:
        """Count the removed items."""
        return len(self._removed)

    def _table(self, rows: Any) -> pa.Table:
        removed = self._removed[rows]
        if self.drop_all:
            return self._marks(removed).add_column(0, "id", self.ids.take(pa.array(removed)))
        centre = self.centre[removed]
        kept = self._centres.take(pa.array(centre))
        rows = pa.table({"id": self.ids.take(pa.array(removed)), "kept": kept, self.kind: self.values[removed]})
        return rows if self.earlier is None else rows.append_column("earlier", pa.array(centre >= len(self.ids)))

    def to_arrow(self) -> pa.Table:
        """Return one row per removed item: `id`, `kept` (the id kept instead), `similarity` or `distance`.

        If earlier items were given, `earlier` says whether the one in `kept` is one of them. With
        `drop_all`, no item of a group is kept, and the columns are `id`, `cluster` (the id of the
        first item of its cluster) and `copies` (how many it has).
        """
        return super().to_arrow()

    @cached_property
    def _centres(self) -> pa.Array:
        """The ids of all items that can be kept: those of the collection, then the earlier ones."""
        if self.earlier is None:
            return self.ids
        assert self.earlier.right_ids is not None
        both = [self.ids, self.earlier.right_ids]
        if both[0].type != both[1].type:
            both = [ids.cast(pa.large_string()) for ids in both]
        return pa.concat_arrays(both)

    @cached_property
    def _copies(self) -> np.ndarray:
        """How many items each item's group has, itself included, and the earlier one that it is similar to."""
        copies: np.ndarray = np.bincount(self.centre, minlength=len(self.centre))[self.centre]
        return copies + (self.centre >= len(self.ids))

    def marks(self, rows: slice = ALL) -> pa.Table:
        """Return the columns that mark items, one row per item: those of `marked` without the ids."""
        return self._marks(np.arange(len(self.centre))[rows])

    def _marks(self, items: np.ndarray) -> pa.Table:
        centre, removed = self.centre[items], ~self.keep[items]
        cluster = self._centres.take(pa.array(centre))
        group = {"cluster": cluster, "copies": pa.array(self._copies[items])}
        if self.drop_all:
            return pa.table(group)
        nothing = pa.scalar(None, cluster.type)
        columns = {
            "duplicate_of": pc.if_else(pa.array(removed), cluster, nothing),
            self.kind: pa.array(self.values[items], mask=~removed),
        }
        if self.earlier is not None:
            group["earlier"] = pa.array(centre >= len(self.ids))
        return pa.table(columns | group)

    def marked(self) -> pa.Table:
        """Return one row per item, kept or removed, in the order of the collection.

        The columns are `id`, `duplicate_of` (the id of the item kept instead; null for a kept item),
        `similarity` or `distance` to that item, `cluster` (the id of the kept item that stands for
        the group) and `copies` (how many items the group has), and if earlier items were given,
        `earlier` (whether the one that stands for the group is one of them). With `drop_all` there are only `id`,
        `cluster` and `copies`.

        >>> import lookalike as la
        >>> la.dedup([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5).marked().to_pylist()[1]
        {'id': 1, 'duplicate_of': 0, 'similarity': 0.8, 'cluster': 0, 'copies': 2}
        """
        return self.marks().add_column(0, "id", self.ids)

    def explain(self, row: int) -> Explanation:
        """Explain why an item was removed: what it shares with the item kept instead.

        With `drop_all`, it is compared with the first other item of its cluster, which connects its
        items by similar pairs: two of them need not be similar themselves.
        """
        removed = int(self._removed[self._position(row)])
        other = int(self.centre[removed])
        if other == removed:
            other = int(np.flatnonzero(self.centre == removed)[1])
        return explained(self.holder, other, removed)

    def __repr__(self) -> str:
        return (
            f"<{len(self.kept):,} of {counted(len(self.ids), 'item')} kept, {len(self.ids) - len(self.kept):,} removed>"
        )
