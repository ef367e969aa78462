"""Groups of similar items."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.display import table
from lookalike.core.drawing import draw_sizes, new_axes
from lookalike.core.wording import counted
from lookalike.results.base import SHOWN, Holder, Reportable

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Clusters(Reportable):
    """Groups of similar items: `label` of an item is the position of its group's first item."""

    label: np.ndarray
    ids: pa.Array
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None

    @property
    def sizes(self) -> np.ndarray:
        """How many items each item's cluster has."""
        sizes: np.ndarray = np.bincount(self.label, minlength=len(self.label))[self.label]
        return sizes

    def __len__(self) -> int:
        """How many clusters have two items or more."""
        return len(np.unique(self.label[self.sizes > 1]))

    def __iter__(self) -> Iterator[list[Any]]:
        """The ids of each cluster of two items or more."""
        table = self.to_arrow()
        names = table["id"].to_pylist()
        stop = 0
        while stop < len(names):
            start, stop = stop, stop + table["size"][stop].as_py()
            yield names[start:stop]

    def to_arrow(self) -> pa.Table:
        """A row for each item of a cluster of two or more: `cluster` (the id of its first item), `id`, `size`."""
        sizes = self.sizes
        items = np.flatnonzero(sizes > 1)
        items = items[np.argsort(self.label[items], kind="stable")]
        first = self.ids.take(pa.array(self.label[items]))
        return pa.table({"cluster": first, "id": self.ids.take(pa.array(items)), "size": sizes[items]})

    def plot(self, axes: Any = None) -> Any:
        """Draw how many clusters there are of each size, with matplotlib, on axes of your own or on new ones."""
        axes = new_axes(axes)
        sizes = np.bincount(self.label)
        draw_sizes(axes, sizes[sizes > 1])
        return axes

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'cluster')} among {counted(len(self.ids), 'item')}>"

    def _repr_html_(self) -> str:
        sizes = np.bincount(self.label, minlength=1)
        largest = np.argsort(-sizes, kind="stable")[: min(SHOWN, len(self))]
        rows = []
        for label in largest.tolist():
            inside = np.flatnonzero(self.label == label)[:SHOWN]
            names = ", ".join(str(name) for name in self.ids.take(pa.array(inside)).to_pylist())
            rows.append([int(sizes[label]), names])
        more = f"and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
        return table(["items", "the first of them"], rows, str(self)[1:-1], more)
