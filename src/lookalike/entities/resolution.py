"""The result of entity resolution: scored pairs, the probability that each is a match, and why."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, argument, parameter
from lookalike.core.wording import counted
from lookalike.entities.candidates import CandidatePairs
from lookalike.entities.comparing import HOW_COMPARED, distances
from lookalike.entities.fields import Column, Field
from lookalike.entities.golden import Golden, golden, rules_of
from lookalike.entities.grouping import Links, RecordClusters, group
from lookalike.entities.labels import ENOUGH, MatchLabels
from lookalike.entities.learned import weights_table
from lookalike.entities.mixture import Mixture
from lookalike.entities.models import ResolveModel
from lookalike.entities.reading import RecordTables
from lookalike.entities.scores import FULL_POINTS, NEUTRAL, PENALTY
from lookalike.entities.validation import Validation
from lookalike.results import Explanation, Result
from lookalike.results.base import Holder
from lookalike.results.explanations import ExplainedRows


@dataclass(frozen=True, eq=False)
class Resolution(Result):
    """Pairs of records that are likely matches, best first; `every` holds all scored pairs.

    >>> import lookalike as la
    >>> people = ["Ann Lee/9 Elm Street/Ansel", "Bill Smith/3 Oak Road/Holm", "Smith, William/3 Oak Rd/Holm"]
    >>> people.append("Carla Diaz/12 High Street/Ansel")
    >>> records = [dict(zip(("name", "address", "town"), one.split("/"))) for one in people]
    >>> found = la.entities.resolve(records, fields=["name=name", "address", "town"])
    >>> found, found.explain(0)[0]["way"]
    (<1 match of 4 records>, 'same but for short forms')
    """

    left: np.ndarray  # positions in the first table
    right: np.ndarray  # positions in the second table, or in the only one
    score: np.ndarray  # weighted sum of the points of all fields; a missing field counts half
    points: np.ndarray  # pairs x fields, nan where missing
    probability: np.ndarray  # of being a match
    tables: RecordTables
    fields: Sequence[Field]  # with the kinds that were used
    columns: Sequence[Column]
    candidates: CandidatePairs
    cut_off: float  # pairs with at least this probability are matches
    basis: str  # what the probabilities are based on
    validated_by: Field | None = None
    validation: Validation | None = None
    mixture: Mixture | None = None
    labels: MatchLabels | None = None
    make_model: Callable[[], ResolveModel] | None = None  # from what was learned
    golden_by: Mapping[str, str] = field(default_factory=dict)  # the rules of golden records, unless others are given
    stats: dict[str, Any] = field(default_factory=dict)
    every: "Resolution | None" = None

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'match', 'es')} of {counted(self.candidates.records, 'record')}>"

    @property
    def ids(self) -> pa.Array:
        """Return the ids of the first table, or of the only one."""
        return self.tables.ids[0]

    @property
    def right_ids(self) -> pa.Array | None:
        """Return the ids of the second table."""
        return self.tables.ids[1] if self.tables.sides.two else None

    @property
    def missing(self) -> np.ndarray:
        """Count the fields of each pair that at least one of its records lacks."""
        return np.asarray(np.isnan(self.points).sum(axis=1))

    def to_arrow(self, *, show: bool = False) -> pa.Table:
        """Return one row per pair: ids, score, probability, missing fields, points per field.

        With `show`, the columns of both records follow, as they were read: `left_name`,
        `right_name`. A name that is taken gets an underscore.
        """
        found = super().to_arrow()
        return self._shown(found) if show else found

    def _shown(self, found: pa.Table) -> pa.Table:
        for side, rows, table, id in zip(("left", "right"), (self.left, self.right), *self._sides, strict=True):
            for at, column in enumerate(table.columns):
                name = f"{side}_{table.schema.names[at]}"
                while name in found.schema.names or name.endswith("_points"):  # columns of points are known by name
                    name += "_"
                if table.schema.names[at] != id:
                    found = found.append_column(name, column.take(pa.array(rows)))
        return found

    @property
    def _sides(self) -> tuple[list[pa.Table], list[str]]:
        """Return the table of each side, and the column of its ids; with one table, it is on both sides."""
        given, columns = self.tables.tables, self.tables.id_columns
        return [given[0], given[-1]], [columns[0], columns[-1]]

    def original(self, field: Field, side: int, row: int) -> str | None:
        """Return the value of a field in a record of the left or right side as read; None if it is missing or blank."""
        value = self._sides[0][side][field.right if side else field.left][row].as_py()
        return None if value is None or not str(value).strip() else str(value)

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

    def basis_table(self) -> pa.Table:
        """Return what the probabilities are based on: true matches by score, or the weights of a model."""
        if self.validation is not None:
            return self.validation.to_arrow()
        return (
            weights_table(len(self.fields))
            if self.mixture is None
            else self.mixture.weights([one.name for one in self.fields])
        )

    def model(self) -> ResolveModel:
        """Return what was learned, to resolve other records of the same kind by `resolve(..., model=)`."""
        assert self.make_model is not None
        return self.make_model()

    def save_model(self, path: str | Path) -> None:
        """Write what was learned to a file of JSON, for `resolve(..., model=path)`."""
        self.model().save(path)

    def cut_at(self, cut_off: float) -> "Resolution":
        """Return the same pairs with another cut-off, from which pairs are matches."""
        every = self.every or self
        rows = np.flatnonzero(every.probability >= cut_off)
        some = {name: getattr(every, name)[rows] for name in ("left", "right", "score", "points", "probability")}
        return replace(every, **some, cut_off=cut_off, every=replace(every, cut_off=cut_off))

    def clusters(self) -> RecordClusters:
        """Return the groups of records that the matches join, without chains of weak links.

        A match joins two groups only if all scored pairs between them, taken together, speak for it.
        """
        return self._clusters

    @cached_property
    def _clusters(self) -> RecordClusters:
        return self.clusters_from(None)

    def clusters_from(self, known: np.ndarray | None) -> RecordClusters:
        """Return the clusters if some records are in one already; `known` is the first record of each one's."""
        every, sides = self.every or self, self.candidates.sides
        numbers = [found.left * self.candidates.records + found.right for found in (every, self)]
        match = np.isin(numbers[0], numbers[1]) & (every.probability >= self.cut_off)
        right = every.right + sides.offset
        there = np.array([np.asarray(column.values.is_valid()) for column in self.columns])
        equal = ((every.points == FULL_POINTS) | ~(there[:, every.left] | there[:, right]).T).all(axis=1)
        links = Links.of(every.left, right, every.probability, every.score, match, equal, self.cut_off)
        groups = group(self.candidates.records, links, sides, known)
        return RecordClusters(
            ids=self.tables.all_ids, stats=self.stats, holder=ComparedRecords(every), sides=sides, **groups._asdict()
        )

    def golden(self, by: Mapping[str, str] | None = None) -> Golden:
        """Return the table without duplicates: each cluster merged into one record, by a rule for each column.

        Args:
            by: the rule of a column, "*" for all that are not named: "frequent", the default, takes
                the value that most records have, "complete" that of the record with the fewest
                missing values; also "longest", "first", "min", "max", and "newest:COLUMN" or
                "oldest:COLUMN" by another column. By default, the rules given to `resolve`.

        Returns:
            `Golden`: one row per person or thing, with all columns; records without a match as they are.
        """
        records = self.tables.stack([*self.fields, *([self.validated_by] if self.validated_by else [])])
        rules = rules_of(records, self.golden_by if by is None else by, self.tables.id_columns[0])
        return golden(records, self.clusters(), rules)

    def explain(self, row: int) -> Explanation:
        """Explain the score of a pair, one row per field: the values as read and as compared, the points."""
        pair = self._position(row)
        left, right = int(self.left[pair]), int(self.right[pair])
        rows = left, right + self.candidates.sides.offset
        out = []
        for at, (one, column) in enumerate(zip(self.fields, self.columns, strict=True)):
            values = [column.values[row].as_py() for row in rows]
            written = [column.canonical[row].as_py() for row in rows]
            shown: dict[str, Any] = {"field": one.name, "kind": column.kind}
            shown |= {"left": self.original(one, 0, left), "right": self.original(one, 1, right)}
            shown |= {"left_compared": values[0], "right_compared": values[1]}
            if None in values:
                shown |= {"points": NEUTRAL, "way": "missing, so neither for nor against"}
            else:
                apart, way = distances(column.kind, values[:1], values[1:], written[:1], written[1:])
                points = float(self.points[pair, at])
                shown |= {"points": points, "way": HOW_COMPARED[int(way[0])], "distance": float(apart[0])}
                counted_as = math.sqrt((FULL_POINTS - points) / PENALTY)
                if column.kind == "text" and points and counted_as < apart[0] - 1e-3:
                    shown |= {"way": "words in common", "distance": counted_as}
                elif column.kind == "name" and counted_as < apart[0] - 1e-3:
                    shown |= {"way": "given name and surname swapped", "distance": counted_as}
            out.append({**shown, "weight": one.weight})
        return ExplainedRows(out)

    @property
    def guess(self) -> bool:
        """Return whether the probabilities are only a guess: too few informative fields."""
        return bool(self.stats.get("guess"))

    def _expected(self) -> str:
        if self.guess:
            ways = f"compare more, set {parameter('validate')}, or give {ENOUGH} {parameter('labels')}"
            return f"too few informative fields to estimate how many are true: {ways}"
        return f"{self.probability.sum():,.0f} of them expected to be true, based on {self.basis}"

    def lines(self) -> list[str]:
        """Describe in words what was done and found."""
        matches = f"{counted(len(self), 'pair')} with probability >= {self.cut_off:.4g}; {self._expected()}"
        note = [f"note: {self.stats['note']}"] if self.stats.get("note") else []
        recall = self.stats.get("candidate_recall")
        share = [] if recall is None else [f"estimated recall of candidates: {math.floor(1000 * recall) / 1000:.3f}"]
        hint = f"; change them with {argument('fields')}" if self.stats.get("proposed") else ""
        fields = f"fields: {', '.join(map(str, self.fields))}{hint}"
        return [fields, *self.candidates.lines(), *share, f"matches: {matches}", *note]


class ComparedRecords(Holder):
    """The records of a resolution, to explain its clusters."""

    def __init__(self, found: Resolution) -> None:
        self.found = found

    def look(self, rows: np.ndarray) -> list[Any]:
        """Return the compared values of records, as they were read, in one line each."""
        first = len(self.found.ids)
        places = [(0, row) if row < first else (1, row - first) for row in rows.tolist()]
        values = [[self.found.original(one, *place) for one in self.found.fields] for place in places]
        return [" | ".join(value for value in one if value is not None) for one in values]

    def explain(self, left: int, right: int) -> Explanation:
        """Explain the score of two records, one row per field."""
        found, (left, right) = self.found, sorted((left, right))
        row = np.flatnonzero((found.left == left) & (found.right == right - found.candidates.sides.offset))
        if not len(row):
            raise DataError("these two records of the cluster were not compared: other records connect them.")
        return found.explain(int(row[0]))
