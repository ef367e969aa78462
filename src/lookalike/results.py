"""What comes out: pairs, clusters, and what to keep. Frozen, made of arrays, Arrow tables on demand."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.display import table
from lookalike.drawing import draw_sizes, draw_values, new_axes
from lookalike.errors import DataError, UsageError
from lookalike.findings import of_clusters, of_dedup, of_pairs
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.report import write_report
from lookalike.shingles import Shingles
from lookalike.wording import counted

if TYPE_CHECKING:
    from lookalike.audit import Audit
    from lookalike.plan import Plan


SHOWN = 10  # rows of a table in a notebook


class Measured:
    """Results that hold a measure: `values`, which are similarities or distances as `kind` says."""

    values: np.ndarray
    kind: str

    @property
    def similarity(self) -> np.ndarray:
        """The similarities, if the measure is one."""
        return self._of("similarity")

    @property
    def distance(self) -> np.ndarray:
        """The distances, if the measure is one."""
        return self._of("distance")

    def _of(self, kind: str) -> np.ndarray:
        if self.kind != kind:
            raise UsageError(f"the measure is a {self.kind}, not a {kind}.")
        return self.values


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
    holder: "Holder | None" = None  # of the items, by their positions in all that was read

    def __len__(self) -> int:
        return len(self.left)

    def explain(self, pair: int) -> "Explanation":
        """What the two items of the pair share, what each has alone, and in which bands they met."""
        if self.holder is None:
            raise DataError("the items of these pairs are no longer at hand.")
        offset = 0 if self.right_ids is None else len(self.ids)
        return self.holder.explain(int(self.left[pair]), int(self.right[pair]) + offset)

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write a page of HTML that shows the pairs, how they were found, and what to make of it."""
        write_report(of_pairs(self), path, title)

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

    def clusters(self) -> "Clusters":
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


@dataclass(frozen=True)
class Explanation:
    """Why a pair is as similar as it is: the elements that both have and that one of them has.

    Of texts the elements are shingles one can read; of sets they are those that were given, or hashes of them.
    """

    both: list[Any]
    left_only: list[Any]
    right_only: list[Any]
    bands: list[int] | None = None  # in which the two shared a bucket, counted from 0; None if there were none

    @property
    def similarity(self) -> float:
        """Jaccard similarity: both / all."""
        return len(self.both) / max(1, len(self.both) + len(self.left_only) + len(self.right_only))

    @classmethod
    def of(cls, left: Iterable[Any], right: Iterable[Any]) -> "Explanation":
        """From the elements of the two items; bags as Counters."""
        a, b = Counter(left), Counter(right)
        return cls(*(sorted(part.elements()) for part in (a & b, a - b, b - a)))

    def __str__(self) -> str:
        parts = (("both", self.both), ("left only", self.left_only), ("right only", self.right_only))
        met = [] if self.bands is None else [f"met in bands: {', '.join(map(str, self.bands)) or 'none'}"]
        return "\n".join([*(f"{name}: {len(some):,} such as {some[:5]}" for name, some in parts), *met])


class Holder(ABC):
    """Whatever holds the items of a result, so that they can be looked at."""

    shingles: Shingles | None = None  # of texts, what they are compared by

    @abstractmethod
    def look(self, rows: np.ndarray) -> list[Any]:
        """What the items at ascending positions are: texts, collections of elements, or vectors."""

    def elements(self, item: Any) -> Iterable[Any]:
        """What an item is made of, as `look` gives it: the shingles of a text, or the elements themselves."""
        return item if self.shingles is None else self.shingles.of(item)

    def explain(self, left: int, right: int) -> Explanation:
        """What two items share, and what each has alone."""
        rows = np.unique([left, right])
        items = dict(zip(rows.tolist(), self.look(rows), strict=True))
        return Explanation.of(*(self.elements(items[row]) for row in (left, right)))


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of similar items: `label` of an item is the position of its group's first item."""

    label: np.ndarray
    ids: pa.Array
    plan: "Plan | None" = None
    audit: "Audit | None" = None
    stats: dict[str, Any] = field(default_factory=dict)
    holder: Holder | None = None

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write a page of HTML that shows the clusters, how they were found, and what to make of it."""
        write_report(of_clusters(self), path, title)

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

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write a page of HTML that shows what is dropped and why, how it was found, and what to make of it."""
        write_report(of_dedup(self), path, title)

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
