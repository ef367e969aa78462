"""The result of linking: the cluster of each new record, and the clusters that became one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.entities.resolution import Resolution
from lookalike.index.batches import same_type
from lookalike.index.records import Id
from lookalike.results import Explanation, Result

SEPARATOR = "; "  # of ids in one cell


@dataclass(frozen=True, eq=False)
class LinkedRecords(Result):
    """New records, each with its cluster; iteration gives (id, cluster).

    A cluster is named by the id of its oldest record. `replaced` has the ids of clusters that became
    part of an older one, because a new record belongs to both.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import lookalike as la
    >>> people = [{"id": "a", "name": "Ann Lee", "town": "Ansel"}, {"id": "b", "name": "Bob Ray", "town": "Orm"}]
    >>> found = la.entities.resolve(people, fields=["name=name", "town"])
    >>> with la.linking.RecordIndex.build(Path(mkdtemp()) / "people.index", found) as index:
    ...     linked = index.link([{"id": "c", "name": "Anne Lee", "town": "Ansel"}], update=True)
    >>> linked
    <1 record linked: 0 to known clusters, 1 new cluster>
    """

    ids: list[Id]
    clusters: list[Id]  # of each record
    matches: list[Id | None]  # the record's most probable match in its cluster
    probability: np.ndarray  # of that match; nan without one
    known: list[bool]  # whether the cluster, or one that it replaced, was there before
    replaced: dict[Id, Id]  # the cluster that each replaced one belongs to now
    updated: bool = False  # whether the records are in the index now
    repeated: bool = False  # whether the same records had been added before
    found: Resolution | None = None  # of the new records and those similar to them
    rows: list[int] = field(default_factory=list)  # of `found.every`: the match of each record, -1 without one
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<{self.lines()[0]}>"

    def _listed(self, rows: np.ndarray) -> list[Any]:
        return [(self.ids[row], self.clusters[row]) for row in rows]

    def _table(self, rows: Any) -> pa.Table:
        some = np.arange(len(self))[rows]
        replaced: dict[Id, list[str]] = {}
        for old, new in self.replaced.items():
            replaced.setdefault(new, []).append(str(old))
        names = [SEPARATOR.join(replaced.get(self.clusters[row], [])) or None for row in some]
        columns = [same_type([ids[row] for row in some]) for ids in (self.ids, self.clusters)]
        return pa.table({
            "id": columns[0], "cluster": columns[1], "known": pa.array([self.known[row] for row in some], pa.bool_()),
            "match": with_nulls([self.matches[row] for row in some]),
            "probability": pa.array(self.probability[some], from_pandas=True), "replaced": pa.array(names, pa.string()),
        })  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """Return one row per record: its id, its cluster, and whether that was known.

        `match` is its most probable match in the cluster, and `probability` that of this match.
        `replaced` has the ids of other clusters that this cluster has replaced.
        """
        return super().to_arrow()

    def explain(self, row: int) -> Explanation:
        """Explain why a record matches its most probable match, field by field."""
        at = self._position(row)
        if self.found is None:
            raise DataError("these records were added before; only the first run can explain them.")
        if self.rows[at] < 0:
            raise DataError(f"record {self.ids[at]!r} has no match.")
        return (self.found.every or self.found).explain(self.rows[at])

    def lines(self) -> list[str]:
        """Describe in words what was linked."""
        new = len({cluster for cluster, known in zip(self.clusters, self.known, strict=True) if not known})
        joined = f"; {counted(len(self.replaced), 'cluster')} replaced by an older one" if self.replaced else ""
        guess = bool(self.stats.get("guess"))
        linked = f"{sum(self.known):,} to known clusters, {counted(new, 'new cluster')}{joined}"
        return [
            f"{counted(len(self), 'record')} linked: {linked}",
            *(f"cluster {old!r} is now part of {new!r}" for old, new in self.replaced.items()),
            *(
                ["note: the index was built with too few informative fields: its probabilities are only a guess"]
                * guess
            ),
        ]


def with_nulls(ids: list[Id | None]) -> pa.Array:
    """Return ids in one array, null for None."""
    there = same_type([one for one in ids if one is not None])
    texts = pa.types.is_string(there.type)
    return pa.array([None if one is None else str(one) if texts else one for one in ids], there.type)
