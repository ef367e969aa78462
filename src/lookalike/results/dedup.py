"""What to keep and what to drop."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.wording import counted
from lookalike.results.base import Holder, Measured

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Dedup(Measured):
    """What to keep and what to drop: each dropped item is verified similar to one that is kept."""

    centre: np.ndarray  # of each item: itself if it is kept, else the kept item it is similar to
    values: np.ndarray  # its similarity to that item, or its distance
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

    def to_arrow(self) -> pa.Table:
        """A row for each dropped item: `id`, `kept` (the id of the item kept for it), `similarity` or `distance`."""
        dropped = np.flatnonzero(~self.keep)
        kept = self.ids.take(pa.array(self.centre[dropped]))
        return pa.table({"id": self.ids.take(pa.array(dropped)), "kept": kept, self.kind: self.values[dropped]})

    def __repr__(self) -> str:
        kept = int(self.keep.sum())
        return f"<{kept:,} of {counted(len(self.ids), 'item')} kept, {len(self.ids) - kept:,} dropped>"
