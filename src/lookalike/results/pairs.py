"""Similar pairs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.display import table
from lookalike.core.drawing import draw_values, new_axes
from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.results.base import SHOWN, Explanation, Holder, Measured
from lookalike.results.clusters import Clusters

if TYPE_CHECKING:
    from lookalike.search.audit import Audit
    from lookalike.search.plan import Plan


@dataclass(frozen=True, eq=False)
class Pairs(Measured):
    """Similar pairs, every one verified: positions, left before right, in order, and their measure.

    Where the measure has a direction, as containment has, left may also come after right.
    """

    left: np.ndarray
    right: np.ndarray
    values: np.ndarray  # similarities or distances
    ids: pa.Array
    right_ids: pa.Array | None = None  # of a match between two collections
    kind: str = "similarity"  # or "distance"
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None  # of the items, by their positions in all that was read

    def __len__(self) -> int:
        return len(self.left)

    def explain(self, pair: int) -> Explanation:
        """What the two items of the pair share, what each has alone, and in which bands they met."""
        if self.holder is None:
            raise DataError("the items of these pairs are no longer at hand.")
        offset = 0 if self.right_ids is None else len(self.ids)
        return self.holder.explain(int(self.left[pair]), int(self.right[pair]) + offset)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """(left id, right id, similarity or distance) of each pair."""
        for batch in self.to_arrow().to_batches(max_chunksize=1 << 16):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def to_arrow(self) -> pa.Table:
        """A table of `left`, `right` (ids as given) and `similarity` or `distance`."""
        left = self.ids.take(pa.array(self.left))
        right = (self.ids if self.right_ids is None else self.right_ids).take(pa.array(self.right))
        return pa.table({"left": left, "right": right, self.kind: self.values})

    def to_pandas(self) -> Any:
        """The same table as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The same table as a polars data frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def clusters(self) -> Clusters:
        """Connected components of the pairs."""
        if self.right_ids is not None:
            raise DataError("pairs between two collections have no clusters; cluster one collection.")
        parent = np.arange(len(self.ids))
        join_pairs(self.left, self.right, parent)
        return Clusters(roots(parent), self.ids, plan=self.plan, stats=self.stats, holder=self.holder)

    def plot(self, axes: Any = None) -> Any:
        """Draw how many pairs there are of each value, with matplotlib, on axes of your own or on new ones."""
        axes = new_axes(axes)
        draw_values(axes, self.values, self.kind, self.plan)
        return axes

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'pair')} of {counted(len(self.ids), 'item')}>"

    def _repr_html_(self) -> str:
        rows = islice(self, SHOWN)
        more = f"and {len(self) - SHOWN:,} more" if len(self) > SHOWN else ""
        return table(["left", "right", self.kind], rows, str(self)[1:-1], more)
