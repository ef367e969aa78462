"""Resolve new records together with the records of an index to whose clusters they can belong."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run
from lookalike.entities.fields import Field
from lookalike.entities.grouping import RecordClusters
from lookalike.entities.models import ResolveModel
from lookalike.entities.pipeline import resolve
from lookalike.entities.resolution import Resolution
from lookalike.index.records import Id
from lookalike.linking.linked import LinkedRecords
from lookalike.linking.shelf import StoredRecord


class WorkingSet:
    """New records, and all records of the clusters to which they can belong."""

    def __init__(
        self, old: list[int], stored: list[StoredRecord], ids: list[Id], values: list[list[str | None]], size: int
    ) -> None:
        self.numbers = [*old, *range(size, size + len(ids))]  # ascending, so that the oldest comes first
        self.stored, self.ids, self.values = stored, ids, values

    def link(self, model: ResolveModel, cut_off: float, run: Run) -> tuple[LinkedRecords, list[list[int]]]:
        """Return the clusters of the new records, and the numbers of the records of each cluster that changes."""
        first = len(self.stored)
        rows = [*(one.values for one in self.stored), *self.values]
        names = compared(model.fields)
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        table = pa.table({name: pa.array(some, pa.large_string()) for name, some in zip(names, columns, strict=True)})
        found = resolve(table, id="-", model=model, run=run).cut_at(cut_off)
        places = {number: row for row, number in enumerate(self.numbers)}
        known = np.array([*(places[one.cluster] for one in self.stored), *range(first, len(rows))], np.int64)
        groups = found.clusters_from(known)
        label = groups.label
        names_of = [*(one.id for one in self.stored), *self.ids]
        matches, probability, pairs = best_matches(found, groups, first)
        has_old = np.zeros(len(rows), bool)
        has_old[label[:first]] = True
        gone = [row for row in range(first) if known[row] == row and label[row] != row]
        linked = LinkedRecords(
            ids=self.ids,
            clusters=[names_of[row] for row in label[first:].tolist()],
            matches=[None if row < 0 else names_of[row] for row in matches],
            probability=probability,
            known=has_old[label[first:]].tolist(),
            replaced={names_of[row]: names_of[label[row]] for row in gone},
            found=found,
            rows=pairs,
            stats=found.stats,
        )
        changed = set(label[first:].tolist())
        return linked, [numbers for numbers in groups_of(label, self.numbers) if places[numbers[0]] in changed]


def groups_of(label: np.ndarray, numbers: Sequence[int]) -> list[list[int]]:
    """Return the numbers of the records of each cluster of several, the oldest first; records have these numbers."""
    inside: dict[int, list[int]] = {}
    for row, cluster in enumerate(label.tolist()):
        inside.setdefault(cluster, []).append(numbers[row])
    return [group for group in inside.values() if len(group) > 1]


def best_matches(found: Resolution, groups: RecordClusters, first: int) -> tuple[list[int], np.ndarray, list[int]]:
    """Return the most probable match of each record from `first` on in its cluster: its row, probability and pair."""
    every, label = found.every or found, groups.label
    count = len(label) - first
    match, probability, pair = [-1] * count, np.full(count, np.nan), [-1] * count
    inside = np.flatnonzero((every.probability >= found.cut_off) & (label[every.left] == label[every.right]))
    for at in inside.tolist():  # the best come first
        one, other = int(every.left[at]), int(every.right[at])
        for row, to in ((one, other), (other, one)):
            if row >= first and match[row - first] < 0:
                match[row - first], probability[row - first], pair[row - first] = to, every.probability[at], at
    return match, probability, pair


def compared(fields: Sequence[Field]) -> list[str]:
    """Return the columns that are compared, each once."""
    return list(dict.fromkeys(one.left for one in fields))
