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

    centre: np.ndarray  # of each item: itself if it is kept, else the kept item it is similar to
    values: np.ndarray  # its similarity or distance to that item
    ids: pa.Array
    kind: str = "similarity"  # or "distance"
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None

    @property
    def keep(self) -> np.ndarray:
        """Whether each item is kept."""
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
        kept = self.ids.take(pa.array(self.centre[removed]))
        return pa.table({"id": self.ids.take(pa.array(removed)), "kept": kept, self.kind: self.values[removed]})

    def to_arrow(self) -> pa.Table:
        """Return one row per removed item: `id`, `kept` (the id kept instead), `similarity` or `distance`."""
        return super().to_arrow()

    @cached_property
    def _copies(self) -> np.ndarray:
        """How many items each item's group has, itself included."""
        copies: np.ndarray = np.bincount(self.centre, minlength=len(self.centre))[self.centre]
        return copies

    def marks(self, rows: slice = ALL) -> pa.Table:
        """Return the columns that mark items, one row per item: those of `marked` without the ids."""
        centre, removed = self.centre[rows], ~self.keep[rows]
        cluster = self.ids.take(pa.array(centre))
        nothing = pa.scalar(None, cluster.type)
        columns = {
            "duplicate_of": pc.if_else(pa.array(removed), cluster, nothing),
            self.kind: pa.array(self.values[rows], mask=~removed),
            "cluster": cluster,
            "copies": pa.array(self._copies[rows]),
        }
        return pa.table(columns)

    def marked(self) -> pa.Table:
        """Return one row per item, kept or removed, in the order of the collection.

        The columns are `id`, `duplicate_of` (the id of the item kept instead; null for a kept item),
        `similarity` or `distance` to that item, `cluster` (the id of the kept item that stands for
        the group) and `copies` (how many items the group has).

        >>> import lookalike as la
        >>> la.dedup([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5).marked().to_pylist()[1]
        {'id': 1, 'duplicate_of': 0, 'similarity': 0.8, 'cluster': 0, 'copies': 2}
        """
        return self.marks().add_column(0, "id", self.ids)

    def explain(self, row: int) -> Explanation:
        """Explain why an item was removed: what it shares with the item kept instead."""
        removed = int(self._removed[self._position(row)])
        return explained(self.holder, int(self.centre[removed]), removed)

    def __repr__(self) -> str:
        return (
            f"<{len(self.kept):,} of {counted(len(self.ids), 'item')} kept, {len(self.ids) - len(self.kept):,} removed>"
        )
