"""The result of entity resolution: scored pairs, the probability that each is a match, and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, parameter
from lookalike.core.wording import counted
from lookalike.entities.candidates import CandidatePairs
from lookalike.entities.comparing import HOW_COMPARED, distances
from lookalike.entities.fields import Column, Field
from lookalike.entities.golden import Golden, golden, rules_of
from lookalike.entities.grouping import Links, RecordClusters, group
from lookalike.entities.mixture import Mixture
from lookalike.entities.scores import FULL_POINTS, NEUTRAL, PENALTY
from lookalike.entities.stacking import Stacked, stacked
from lookalike.entities.validation import Validation
from lookalike.results import Explanation, Result
from lookalike.results.base import Holder
from lookalike.results.explanations import ExplainedRows


@dataclass(frozen=True, eq=False)
class Resolution(Result):
    """Pairs of records that are likely matches, best first; `every` holds all scored pairs.

    >>> import lookalike as la
    >>> people = [("Ann Lee", "9 Elm Street"), ("Bill Smith", "3 Oak Road"), ("Smith, William", "3 Oak Rd")]
    >>> records = [{"name": name, "address": address, "town": "Ansel"} for name, address in people]
    >>> found = la.entities.resolve(records, fields=["name=name", "address", "town"])
    >>> found, found.explain(0)[0]["way"]
    (<1 match of 3 records>, 'same but for short forms')
    """

    left: np.ndarray  # positions in the first table
    right: np.ndarray  # positions in the second table, or in the only one
    score: np.ndarray  # weighted sum of the points of all fields; a missing field counts half
    points: np.ndarray  # pairs x fields, nan where missing
    probability: np.ndarray  # of being a match
    ids: pa.Array
    right_ids: pa.Array | None
    fields: Sequence[Field]
    columns: Sequence[Column]
    candidates: CandidatePairs
    cut_off: float  # pairs with at least this probability are matches
    basis: str  # what the probabilities are based on
    validation: Validation | None = None
    mixture: Mixture | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    every: "Resolution | None" = None
    tables: Sequence[pa.Table] = ()  # as given
    same: Sequence[tuple[str, str]] = ()  # columns of both tables that belong together: ids, fields, validation
    id: str = "-"  # the column of the ids in the first table

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'match', 'es')} of {counted(self.candidates.records, 'record')}>"

    @property
    def missing(self) -> np.ndarray:
        """Count the fields of each pair that at least one of its records lacks."""
        return np.asarray(np.isnan(self.points).sum(axis=1))

    def to_arrow(self) -> pa.Table:
        """Return one row per pair: ids, score, probability, missing fields, points per field."""
        return super().to_arrow()

    def _listed(self, rows: np.ndarray) -> list[Any]:
        found = self._table(rows)
        return list(zip(*(found[name].to_pylist() for name in ("left", "right", "probability")), strict=True))

    def _table(self, rows: Any) -> pa.Table:
        right_ids = self.ids if self.right_ids is None else self.right_ids
        columns: dict[str, Any] = {
            "left": self.ids.take(pa.array(self.left[rows])),
            "right": right_ids.take(pa.array(self.right[rows])),
            "score": np.round(self.score[rows], 4),
            "probability": self.probability[rows],
            "missing": self.missing[rows],
        }
        for at, one in enumerate(self.fields):
            columns[f"{one.name}_points"] = pa.array(self.points[rows, at], from_pandas=True)
        return pa.table(columns)

    def clusters(self) -> RecordClusters:
        """Return the groups of records that the matches join, without chains of weak links.

        A match joins two groups only if all scored pairs between them, taken together, speak for it.
        """
        return self._clusters

    @cached_property
    def _clusters(self) -> RecordClusters:
        every, sides = self.every or self, self.candidates.sides
        numbers = [found.left * self.candidates.records + found.right for found in (every, self)]
        match = np.isin(numbers[0], numbers[1]) & (every.probability >= self.cut_off)
        right = every.right + sides.offset
        there = np.array([np.asarray(column.values.is_valid()) for column in self.columns])
        equal = ((every.points == FULL_POINTS) | ~(there[:, every.left] | there[:, right]).T).all(axis=1)
        links = Links.of(every.left, right, every.probability, every.score, match, equal, self.cut_off)
        groups = group(self.candidates.records, links, sides)
        ids = self.ids if self.right_ids is None else stacked(self.ids, self.right_ids, "id").combine_chunks()
        return RecordClusters(ids=ids, stats=self.stats, holder=ComparedRecords(every), sides=sides, **groups._asdict())

    def golden(self, by: Mapping[str, str] | None = None) -> Golden:
        """Return the table without duplicates: each cluster merged into one record, by a rule for each column.

        Args:
            by: the rule of a column, "*" for all that are not named: "frequent", the default, takes
                the value that most records have, "complete" that of the record with the fewest
                missing values; also "longest", "first", "min", "max", and "newest:COLUMN" or
                "oldest:COLUMN" by another column.

        Returns:
            `Golden`: one row per person or thing, with all columns; records without a match as they are.
        """
        records = Stacked.of(self.tables, self.same)
        return golden(records, self.clusters(), rules_of(records, by or {}, self.id))

    def explain(self, row: int) -> Explanation:
        """Explain the score of a pair, one row per field."""
        pair = self._position(row)
        rows = int(self.left[pair]), int(self.right[pair]) + self.candidates.sides.offset
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
        return ExplainedRows(out)

    @property
    def guess(self) -> bool:
        """Return whether the probabilities are only a guess: too few informative fields."""
        return bool(self.stats.get("guess"))

    def _expected(self) -> str:
        if self.guess:
            remedy = f"compare more, or set {parameter('validate')}"
            return f"too few informative fields to estimate how many are true: {remedy}"
        return f"{self.probability.sum():,.0f} of them expected to be true, based on {self.basis}"

    def lines(self) -> list[str]:
        """Describe in words what was done and found."""
        matches = f"{counted(len(self), 'pair')} with probability >= {self.cut_off:.4g}; {self._expected()}"
        note = [f"note: {self.stats['note']}"] if self.stats.get("note") else []
        return [*self.candidates.lines(), f"matches: {matches}", *note]


class ComparedRecords(Holder):
    """The records of a resolution, to explain its clusters."""

    def __init__(self, found: Resolution) -> None:
        self.found = found

    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the values of records, as they are compared, in one line each."""
        values = [[column.values[row].as_py() for column in self.found.columns] for row in rows.tolist()]
        return [" | ".join(value for value in one if value is not None) for one in values]

    def explain(self, left: int, right: int) -> Explanation:
        """Explain the score of two records, one row per field."""
        found, (left, right) = self.found, sorted((left, right))
        row = np.flatnonzero((found.left == left) & (found.right == right - found.candidates.sides.offset))
        if not len(row):
            raise DataError("these two records of the cluster were not compared: other records connect them.")
        return found.explain(int(row[0]))
