"""Similar pairs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.drawing import draw_values, new_axes
from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.results.base import Holder, Measured, explained
from lookalike.results.clusters import Clusters
from lookalike.results.explanations import Explanation

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Pairs(Measured):
    """Similar pairs, each one verified: (left id, right id, similarity or distance).

    Within one collection left comes before right, and the pairs are in the order of the collection. If the measure
    has a direction, as containment has, or if the k nearest of each item were asked for, left can also come after
    right. To write the pairs to a file, convert them: `pairs.to_pandas().to_csv("pairs.csv", index=False)`,
    `pairs.to_polars().write_parquet("pairs.parquet")`, or any library that writes the table of `pairs.to_arrow()`.

    >>> import lookalike as la
    >>> pairs = la.find_pairs([{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {9}], threshold=0.5)
    >>> pairs, pairs[0], len(pairs)
    (<1 pair of 3 items>, (0, 1, 0.8), 1)
    """

    left: np.ndarray  # positions
    right: np.ndarray
    values: np.ndarray  # similarities or distances
    ids: pa.Array
    right_ids: pa.Array | None = None  # if two collections were matched
    kind: str = "similarity"  # or "distance"
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None  # of the items, by their positions in all that was read

    def __len__(self) -> int:
        return len(self.left)

    def _table(self, rows: Any) -> pa.Table:
        right_ids = self.ids if self.right_ids is None else self.right_ids
        columns = self.ids.take(pa.array(self.left[rows])), right_ids.take(pa.array(self.right[rows]))
        return pa.table({"left": columns[0], "right": columns[1], self.kind: self.values[rows]})

    def to_arrow(self) -> pa.Table:
        """Return a table of `left`, `right` (ids as given) and `similarity` or `distance`."""
        return super().to_arrow()

    def explain(self, row: int) -> Explanation:
        """Explain the pair at position `row`: what its items share, and what only one of them has.

        If bands were used, `bands` lists those in which the two items shared a bucket. Print the result, or
        iterate over its rows.
        """
        at = self._position(row)
        offset = 0 if self.right_ids is None else len(self.ids)
        return explained(self.holder, int(self.left[at]), int(self.right[at]) + offset)

    def clusters(self) -> Clusters:
        """Return the connected components of the pairs."""
        if self.right_ids is not None:
            raise DataError("pairs between two collections have no clusters; cluster one collection.")
        parent = np.arange(len(self.ids))
        join_pairs(self.left, self.right, parent)
        return Clusters(roots(parent), self.ids, plan=self.plan, stats=self.stats, holder=self.holder)

    def plot(self, axes: Any = None) -> Any:
        """Draw a histogram of the values with matplotlib, on the axes given or on new ones; return the axes."""
        axes = new_axes(axes)
        draw_values(axes, self.values, self.kind, self.plan)
        return axes

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'pair')} of {counted(len(self.ids), 'item')}>"
