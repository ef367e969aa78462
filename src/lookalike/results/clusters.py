"""Groups of similar items."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.display import table
from lookalike.core.drawing import draw_sizes, new_axes
from lookalike.core.wording import counted
from lookalike.results.base import ALL, SHOWN, Grouped, Holder, explained
from lookalike.results.explanations import Explanation

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Clusters(Grouped):
    """Clusters of similar items; iteration gives the ids of each cluster of two items or more.

    >>> import lookalike as la
    >>> clusters = la.find_clusters([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5)
    >>> clusters, list(clusters)
    (<1 cluster among 3 items>, [[0, 1]])
    """

    label: np.ndarray  # of each item: the position of its cluster's first item
    ids: pa.Array
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None

    @cached_property
    def sizes(self) -> np.ndarray:
        """The size of each item's cluster."""
        sizes: np.ndarray = np.bincount(self.label, minlength=len(self.label))[self.label]
        return sizes

    def __len__(self) -> int:
        """Count the clusters of two items or more."""
        return int(np.count_nonzero(np.bincount(self.label, minlength=1) > 1))

    @cached_property
    def _items(self) -> np.ndarray:
        """The items of clusters of two or more, cluster by cluster."""
        items = np.flatnonzero(self.sizes > 1)
        return items[np.argsort(self.label[items], kind="stable")]

    def _members(self) -> tuple[np.ndarray, np.ndarray]:
        labels = self.label[self._items]
        return self._items, np.append(np.flatnonzero(np.diff(labels, prepend=-1)), len(labels))

    def _table(self, rows: Any) -> pa.Table:
        items = self._items[rows]
        first = self.ids.take(pa.array(self.label[items]))
        return pa.table({"cluster": first, "id": self.ids.take(pa.array(items)), "size": self.sizes[items]})

    def to_arrow(self) -> pa.Table:
        """Return one row per item of a cluster of two or more: `cluster` (the id of its first item), `id`, `size`."""
        return super().to_arrow()

    def marks(self, rows: slice = ALL) -> pa.Table:
        """Return the columns that mark items, one row per item: those of `marked` without the ids."""
        cluster = self.ids.take(pa.array(self.label[rows]))
        return pa.table({"cluster": cluster, "size": self.sizes[rows]})

    def marked(self) -> pa.Table:
        """Return one row per item, in the order of the collection: `id`, `cluster` and `size`.

        `cluster` is the id of the first item of its cluster. An item that is similar to no other is
        a cluster of its own, of size 1.

        >>> import lookalike as la
        >>> la.find_clusters([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5).marked()["size"].to_pylist()
        [2, 2, 1]
        """
        return self.marks().add_column(0, "id", self.ids)

    def explain(self, row: int, one: int = 0, other: int = 1) -> Explanation:
        """Explain what two members of a cluster share, by default its first two.

        A cluster connects its members by similar pairs, so two of its members need not be similar themselves.
        """
        inside = self._inside(row)
        return explained(self.holder, int(inside[one]), int(inside[other]))

    def plot(self, axes: Any = None) -> Any:
        """Draw how many clusters of each size there are, with matplotlib, on the axes given or on new ones."""
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
        return table(["items", "first items"], rows, str(self)[1:-1], more)
