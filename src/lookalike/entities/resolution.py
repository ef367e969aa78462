"""The result of resolving records: scored pairs, how likely each is a match, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError
from lookalike.core.wording import counted
from lookalike.entities.candidates import CandidatePairs
from lookalike.entities.fields import Column, Field
from lookalike.entities.mixture import Mixture
from lookalike.entities.scores import FULL_POINTS, HOW_COMPARED, NEUTRAL, PENALTY, distances
from lookalike.entities.validation import Validation
from lookalike.kernels.buckets import join_pairs, roots
from lookalike.results import Clusters, Reportable


@dataclass(frozen=True, eq=False)
class Resolution(Reportable):
    """Pairs of records that are likely matches, best first; `every` holds all pairs that were scored."""

    left: np.ndarray  # positions in the first table
    right: np.ndarray  # in the second, or in the same
    score: np.ndarray  # points of all fields times their weights; a missing one counts half
    points: np.ndarray  # pairs x fields, nan where missing
    probability: np.ndarray  # that the pair is a match
    ids: pa.Array
    right_ids: pa.Array | None
    fields: Sequence[Field]
    columns: Sequence[Column]
    candidates: CandidatePairs
    cut_off: float  # the least probability of a match
    basis: str  # what the probabilities come from
    validation: Validation | None = None
    mixture: Mixture | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    every: "Resolution | None" = None

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'match', 'es')} of {counted(self.candidates.records, 'record')}>"

    @property
    def missing(self) -> np.ndarray:
        """Count the fields that each pair could not be compared by."""
        return np.asarray(np.isnan(self.points).sum(axis=1))

    def to_arrow(self) -> pa.Table:
        """Return one row per pair: `left`, `right` (ids), `score`, `probability`, `missing`, and points by field."""
        right_ids = self.ids if self.right_ids is None else self.right_ids
        columns: dict[str, Any] = {
            "left": self.ids.take(pa.array(self.left)),
            "right": right_ids.take(pa.array(self.right)),
            "score": np.round(self.score, 4),
            "probability": self.probability,
            "missing": self.missing,
        }
        for at, one in enumerate(self.fields):
            columns[f"{one.name}_points"] = pa.array(self.points[:, at], from_pandas=True)
        return pa.table(columns)

    def clusters(self) -> Clusters:
        """Return the connected components of the matches within one table."""
        if self.right_ids is not None:
            raise DataError("matches between two tables have no clusters; resolve one table.")
        parent = np.arange(len(self.ids))
        join_pairs(self.left, self.right, parent)
        return Clusters(roots(parent), self.ids, stats=self.stats)

    def explain(self, pair: int) -> list[dict[str, Any]]:
        """Explain the score of a pair, field by field."""
        rows = int(self.left[pair]), int(self.right[pair]) + max(self.candidates.split, 0)
        out = []
        for at, (one, column) in enumerate(zip(self.fields, self.columns, strict=True)):
            values = [column.values[row].as_py() for row in rows]
            written = [column.canonical[row].as_py() for row in rows]
            shown: dict[str, Any] = {"field": one.name, "kind": column.kind, "left": values[0], "right": values[1]}
            if None in values:
                shown |= {"points": NEUTRAL, "way": "missing, so neither for nor against"}
            else:
                apart, way = distances(column.kind, values[:1], values[1:], written[:1], written[1:])
                points = float(self.points[pair, at])
                shown |= {"points": points, "way": HOW_COMPARED[int(way[0])], "distance": float(apart[0])}
                counted_as = math.sqrt((FULL_POINTS - points) / PENALTY)
                if column.kind == "text" and points and counted_as < apart[0] - 1e-3:
                    shown |= {"way": "words in common", "distance": counted_as}
            out.append({**shown, "weight": one.weight})
        return out

    @property
    def guess(self) -> bool:
        """Say whether the probabilities are no more than a guess, as too few fields were compared to learn from."""
        return bool(self.stats.get("guess"))

    def _expected(self) -> str:
        if self.guess:
            return "how many are true cannot be told from so few fields: compare more, or --validate"
        return f"{self.probability.sum():,.0f} of them expected to be true, by {self.basis}"

    def lines(self) -> list[str]:
        """Describe what was done and found, for people to read."""
        matches = f"{counted(len(self), 'pair')} from probability {self.cut_off:.4g} on; {self._expected()}"
        note = [f"note: {self.stats['note']}"] if self.stats.get("note") else []
        return [*self.candidates.lines(), f"matches: {matches}", *note]
