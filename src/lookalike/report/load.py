"""Results read back from the files that commands have written, so that they can be looked at later.

Parquet and Arrow files tell how they were made; of CSV and JSON lines there is just what is listed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.records import RecordSource
from lookalike.report.beside import Beside, FieldRow, Fields, visible
from lookalike.report.choosing import sizes_of
from lookalike.report.describe import finding_of, in_brief
from lookalike.report.finding import Finding, Values
from lookalike.report.items import ItemsById
from lookalike.results import Clusters, Dedup, Pairs
from lookalike.results.files import audit_of, sides_of, stats_of
from lookalike.search.audit import Audit
from lookalike.search.plan import Plan
from lookalike.search.saved import plan_of

MEASURED = ("similarity", "distance")
PREFIX = "lookalike."  # of what files tell
ENDING = "_points"  # at the end of the column of a field
KINDS = "pairs (left, right, similarity), clusters (cluster, id), or what was dropped (id, kept, similarity)"


@dataclass(frozen=True, eq=False)
class ResultFile:
    """The table of a result, and what the file tells of how it was made."""

    name: str
    table: pa.Table
    settings: Mapping[str, str]

    @classmethod
    def read(cls, path: str, run: Run) -> "ResultFile":
        """From a file, or a folder of files, in any format that results are written in."""
        source = RecordSource(path)
        table = source.read(run)
        known = {
            name.decode(): value.decode()
            for name, value in source.metadata().items()
            if name.startswith(PREFIX.encode())
        }
        return cls(Path(path).name, table, {name.removeprefix(PREFIX): value for name, value in known.items()})

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        names: list[str] = self.table.column_names
        return names

    @property
    def fields(self) -> list[str]:
        """The fields that matches have points for."""
        return [name.removesuffix(ENDING) for name in self.columns if name.endswith(ENDING)]

    def has(self, *names: str) -> bool:
        """Whether these are columns of it."""
        return set(names) <= set(self.columns)

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers, which CSV writes as text."""
        kinds = (pa.float64(),) if pa.types.is_floating(self.table[name].type) else (pa.int64(), pa.float64())
        for kind in kinds:
            try:
                column = self.table[name].cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
            numbers: np.ndarray = column.to_numpy()
            if not column.null_count and np.isfinite(numbers).all():
                return numbers if numbers.max(initial=0) > 1 else numbers.astype(float)  # all 1 may be shares, too
        raise DataError(f"{self.name}: the column {name!r} must hold a number in each row.")

    def positions(self, *names: str) -> tuple[pa.Array, list[np.ndarray]]:
        """The distinct ids of some columns, and for each column their places among those."""
        try:
            columns = [self.table[name].cast(pa.string()) for name in names]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns = []
        if not columns or any(column.null_count for column in columns):
            raise DataError(f"{self.name}: the columns {', '.join(names)} must hold an id in each row.")
        every = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
        coded = every.combine_chunks().dictionary_encode()
        places = coded.indices.to_numpy().astype(np.int64)
        return coded.dictionary, np.split(places, np.cumsum([len(column) for column in columns])[:-1])

    @property
    def two(self) -> bool:
        """Whether its pairs are of two collections: the file tells, or one is a pair of itself."""
        sides = sides_of(self.settings)
        if sides:
            return len(sides) > 1
        one, other = self.positions("left", "right")[1]
        return bool((one == other).any())

    def finding(self, items: ItemsById | None) -> Finding:
        """What a report tells of it."""
        if not self.columns:  # lines of JSON, of which there are none
            none = pa.array([], pa.string())
            return replace(self, table=pa.table({"left": none, "right": none, "similarity": []})).finding(items)
        kind = next((kind for kind in MEASURED if self.has(kind)), None)
        if self.has("left", "right", "probability", "score"):
            return self._matches(items)
        if self.has("left", "right") and kind is not None:
            return self._titled(finding_of(self._pairs(kind, items)), "pair")
        if self.has("id", "kept") and kind is not None:
            found = finding_of(self._dedup(kind, items))
            facts = {name: value for name, value in found.facts.items() if name != "kept"}
            return replace(found, facts=facts, title=f"{len(self.table):,} dropped, each similar to one that is kept")
        if self.has("id") and (self.has("cluster") or self.has("group")):
            found = finding_of(self._clusters("cluster" if self.has("cluster") else "group", items))
            return self._titled(found, "cluster")
        raise DataError(f"{self.name}: has the columns {', '.join(self.columns)}; a report is of {KINDS}.")

    def _titled(self, finding: Finding, what: str) -> Finding:
        """With what was read in the title, of which the file lists a part."""
        found = len(self.table)
        if finding.label is not None and what == "cluster":
            found = len(sizes_of(finding.label))
        read = sides_of(self.settings)
        sides = " and ".join(f"{count:,}" for count in read)
        among = f" among {sides} {finding.item}{'s' * (read != [1])}" if read else ""
        return replace(finding, title=f"{counted(found, what)}{among}")

    def _pairs(self, kind: str, items: ItemsById | None) -> Pairs:
        told: Any = {"kind": kind, **self._told()}
        if self.two or (items is not None and items.two):
            if items is not None and not items.two:
                raise UsageError(f"{self.name}: has pairs of two collections; name both, each with --items.")
            (ids, (one,)), (right_ids, (other,)) = self.positions("left"), self.positions("right")
            both = None if items is None else items.holder(ids, right_ids)
            return Pairs(one, other, self.numbers(kind), ids, right_ids, holder=both, **told)
        ids, (one, other) = self.positions("left", "right")
        return Pairs(one, other, self.numbers(kind), ids, holder=None if items is None else items.holder(ids), **told)

    def _dedup(self, kind: str, items: ItemsById | None) -> Dedup:
        ids, (dropped, kept) = self.positions("id", "kept")
        centre, values = np.arange(len(ids)), np.zeros(len(ids))
        centre[dropped], values[dropped] = kept, self.numbers(kind)
        told: Any = {"kind": kind, **self._told()}
        return Dedup(centre, values, ids, holder=None if items is None else items.holder(ids), **told)

    def _clusters(self, name: str, items: ItemsById | None) -> Clusters:
        ids, (places,) = self.positions("id")
        groups = self.positions(name)[1][0]
        first = np.full(len(groups), len(ids))
        np.minimum.at(first, groups, places)  # a cluster goes by its first item
        label = np.arange(len(ids))
        label[places] = first[groups]
        return Clusters(label, ids, holder=None if items is None else items.holder(ids), **self._told())

    def _matches(self, items: ItemsById | None) -> Finding:
        """Matches of records, of which the file has the points of each field."""
        names = self.fields
        (ids, (left,)), (right_ids, (right,)) = self.positions("left"), self.positions("right")
        cut = float(self.settings["cut_off"]) if "cut_off" in self.settings else None
        name = "least likely of them" if cut is None else "cut-off"
        likely = self.numbers("probability")
        pairs = Values(left, right + len(ids), likely, "probability of a match", cut=cut, cut_name=name)
        score = self.numbers("score")
        holder = None if items is None else items.holder(ids, right_ids)
        points = [self.table[f"{name}{ENDING}"].cast(pa.float64()).to_pylist() for name in names]

        def show(numbers: np.ndarray) -> list[Beside]:
            rows = np.unique(np.concatenate((pairs.left[numbers], pairs.right[numbers])))
            records = [None] * len(rows) if holder is None else holder.look(rows)
            at = dict(zip(rows.tolist(), records, strict=True))
            each = zip(numbers.tolist(), pairs.left[numbers].tolist(), pairs.right[numbers].tolist(), strict=True)
            return [
                Fields(
                    field_rows(names, at[one], at[other], [given[pair] for given in points]), f"score {score[pair]:.4g}"
                )
                for pair, one, other in each
            ]

        fields = self.settings.get("fields", ", ".join(names))
        true = f"{likely[pairs.within].sum():,.1f} of the matches are expected to be true"
        notes = [f"{self.settings['note']}."] if "note" in self.settings else []
        return Finding(
            title=f"{counted(int(pairs.within.sum()), 'match', 'es')} of records",
            ids=[ids, right_ids],
            item="record",
            plan=[f"Asked for: records alike by {fields}."],
            facts={"pairs listed": f"{len(self.table):,}"},
            recall=[f"{true}, by {self.settings.get('basis', 'their probabilities')}.", *notes],
            values=pairs,
            beside=show,
            look=in_brief(holder),
        )

    def _told(self) -> Any:
        """What the file tells of how the result came about."""
        audit = audit_of(self.settings)
        return {"plan": self._plan(), "audit": audit and Audit(*audit), "stats": stats_of(self.settings)}

    def _plan(self) -> Plan | None:
        """The plan, if the file tells one that can be understood."""
        with suppress(ValueError, ZeroDivisionError):
            return plan_of(self.settings)
        return None


def field_rows(names: list[str], left: Any, right: Any, points: list[float | None]) -> list[FieldRow]:
    """Two records, whose values may not be at hand, by field."""
    rows = []
    for at, (name, given) in enumerate(zip(names, points, strict=True)):
        values = (None if record is None or record[at] is None else str(record[at]) for record in (left, right))
        one, other = (None if value is None else visible(value) for value in values)
        told = "missing" if given is None else f"{given:.0f}"
        rows.append(FieldRow(visible(name), one, other, told, "", 0.5 if given is None else given / 100))
    return rows
