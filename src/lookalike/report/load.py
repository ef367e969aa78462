"""Reads results back from files that commands have written, for a report.

Parquet and Arrow files say how they were made; CSV and JSON lines have just the rows.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.io.records import RecordSource
from lookalike.items.sides import SIDE_NAMES
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
PREFIX = "lookalike."  # of our keys in the metadata of files
ENDING = "_points"  # of the name of a field's column
KINDS = "pairs (left, right, similarity), clusters (cluster, id), or removed items (id, kept, similarity)"


@dataclass(frozen=True, eq=False)
class ResultFile:
    """The table of a result, and the settings it was made with, as far as the file has them."""

    name: str
    table: pa.Table
    settings: Mapping[str, str]

    @classmethod
    def read(cls, path: str, run: Run) -> "ResultFile":
        """Read a file, or a folder of files, in any format that results are written in."""
        source = RecordSource(path)
        table = source.read(run)
        known = {
            name.decode(errors="replace"): value.decode(errors="replace")
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
        """Return whether it has these columns."""
        return set(names) <= set(self.columns)

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of numbers, which CSV holds as text."""
        kinds = (pa.float64(),) if pa.types.is_floating(self.table[name].type) else (pa.int64(), pa.float64())
        for kind in kinds:
            try:
                column = self.table[name].cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
            numbers: np.ndarray = column.to_numpy()
            if not column.null_count and np.isfinite(numbers).all():
                return numbers if numbers.max(initial=0) > 1 else numbers.astype(float)  # 0 and 1 can be shares
        raise DataError(f"{self.name}: the column {name!r} must hold a number in each row.")

    def positions(self, *names: str) -> tuple[pa.Array, list[np.ndarray]]:
        """Return the distinct ids of some columns, and each column as positions among them."""
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
        """Whether its pairs are between two collections, by its settings or a pair of equal ids."""
        sides = sides_of(self.settings)
        if sides:
            return len(sides) > 1
        one, other = self.positions("left", "right")[1]
        return bool((one == other).any())

    @property
    def of_right(self) -> np.ndarray | None:
        """Which rows are of the second table, if these are clusters of records of two tables."""
        names = self.table["table"].to_pylist() if self.has("id", "table") else []
        return np.array(names) == SIDE_NAMES[1] if names and {*names} <= {*SIDE_NAMES} else None

    def members(self) -> tuple[list[pa.Array], np.ndarray]:
        """Return the distinct ids of each table in clusters, and each row as a position; the second table is last."""
        right = self.of_right
        if right is None:
            ids, (places,) = self.positions("id")
            return [ids], places
        tables = [replace(self, table=self.table.filter(pa.array(rows))) for rows in (~right, right)]
        (ids, (some,)), (right_ids, (others,)) = (part.positions("id") for part in tables)
        places = np.empty(len(right), np.int64)
        places[~right], places[right] = some, others + len(ids)
        return [ids, right_ids], places

    def finding(self, items: ItemsById | None) -> Finding:
        """Return what a report shows of it."""
        if not self.columns:  # an empty file of JSON lines
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
            return replace(found, facts=facts, title=f"{len(self.table):,} removed, each similar to one that is kept")
        if self.has("id") and (self.has("cluster") or self.has("group")):
            found = finding_of(self._clusters("cluster" if self.has("cluster") else "group", items))
            return self._titled(found, "cluster")
        raise DataError(f"{self.name}: must list {KINDS}; it has {', '.join(self.columns)}.")

    def _titled(self, finding: Finding, what: str) -> Finding:
        """Return the finding with the number of items read in its title, if the file has it."""
        found = len(self.table)
        if finding.label is not None and what == "cluster":
            found = len(sizes_of(finding.label))
        read = sides_of(self.settings)
        sides = " and ".join(f"{count:,}" for count in read)
        among = f" among {sides} {finding.item}{'s' * (read != [1])}" if read else ""
        return replace(finding, title=f"{counted(found, what)}{among}")

    def _pairs(self, kind: str, items: ItemsById | None) -> Pairs:
        made: Any = {"kind": kind, **self._made()}
        if self.two or (items is not None and items.two):
            if items is not None and not items.two:
                raise UsageError(f"{self.name}: has pairs of two collections; give both, each with --items.")
            (ids, (one,)), (right_ids, (other,)) = self.positions("left"), self.positions("right")
            both = None if items is None else items.holder(ids, right_ids)
            return Pairs(one, other, self.numbers(kind), ids, right_ids, holder=both, **made)
        ids, (one, other) = self.positions("left", "right")
        return Pairs(one, other, self.numbers(kind), ids, holder=None if items is None else items.holder(ids), **made)

    def _dedup(self, kind: str, items: ItemsById | None) -> Dedup:
        if self.has("earlier"):
            return self._dedup_against(kind, items)
        ids, (dropped, kept) = self.positions("id", "kept")
        centre, values = np.arange(len(ids)), np.zeros(len(ids))
        centre[dropped], values[dropped] = kept, self.numbers(kind)
        made: Any = {"kind": kind, **self._made()}
        return Dedup(centre, values, ids, holder=None if items is None else items.holder(ids), **made)

    def _dedup_against(self, kind: str, items: ItemsById | None) -> Dedup:
        """Return removed items, some of which are similar to one of another, earlier collection."""
        old = pc.equal(pc.utf8_lower(self.table["earlier"].cast(pa.string())), "true")
        if old.null_count:
            raise DataError(f"{self.name}: the column 'earlier' must be true or false in each row.")
        dropped, (places,) = self.positions("id")
        new, (heads,) = replace(self, table=self.table.filter(pc.invert(old))).positions("kept")
        earlier_ids, (right,) = replace(self, table=self.table.filter(old)).positions("kept")
        ids = pc.unique(pa.concat_arrays([dropped, new]))
        rows, values = old.to_numpy(), self.numbers(kind)
        centre, found = np.arange(len(ids)), np.zeros(len(ids))
        found[places] = values
        centre[places[~rows]] = pc.index_in(new, ids).to_numpy()[heads]
        centre[places[rows]] = len(ids) + right
        holder = None if items is None else items.holder(ids, earlier_ids)
        earlier = Pairs(places[rows], right, values[rows], ids, earlier_ids)
        made: Any = {"kind": kind, "earlier": earlier, **self._made()}
        return Dedup(centre, found, ids, holder=holder, **made)

    def _clusters(self, name: str, items: ItemsById | None) -> Clusters:
        sides, places = self.members()
        ids = pa.concat_arrays(sides)
        groups = self.positions(name)[1][0]
        first = np.full(len(groups), len(ids))
        np.minimum.at(first, groups, places)  # a cluster is named by its first item
        label = np.arange(len(ids))
        label[places] = first[groups]
        return Clusters(label, ids, holder=None if items is None else items.holder(*sides), **self._made())

    def _matches(self, items: ItemsById | None) -> Finding:
        """Describe matches of records, with the points of each field that the file has."""
        names = self.fields
        (ids, (left,)), (right_ids, (right,)) = self.positions("left"), self.positions("right")
        cut = float(self.settings["cut_off"]) if "cut_off" in self.settings else None
        name = "least likely match" if cut is None else "cut-off"
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
            title=f"{counted(int(pairs.within.sum()), 'match', 'es')} between records",
            ids=[ids, right_ids],
            item="record",
            plan=[f"Asked for: records similar by {fields}."],
            facts={"pairs listed": f"{len(self.table):,}"},
            recall=[f"{true}, by {self.settings.get('basis', 'their probabilities')}.", *notes],
            values=pairs,
            beside=show,
            look=in_brief(holder),
        )

    def _made(self) -> Any:
        """Return what the file says about how the result was made."""
        audit = audit_of(self.settings)
        return {"plan": self._plan(), "audit": audit and Audit(*audit), "stats": stats_of(self.settings)}

    def _plan(self) -> Plan | None:
        """Return the plan, if the file has one that can be parsed."""
        with suppress(ValueError, ZeroDivisionError):
            return plan_of(self.settings)
        return None


def field_rows(names: list[str], left: Any, right: Any, points: list[float | None]) -> list[FieldRow]:
    """Return two records field by field; their values can be missing."""
    rows = []
    for at, (name, given) in enumerate(zip(names, points, strict=True)):
        values = (None if record is None or record[at] is None else str(record[at]) for record in (left, right))
        one, other = (None if value is None else visible(value) for value in values)
        shown = "missing" if given is None else f"{given:.0f}"
        rows.append(FieldRow(visible(name), one, other, shown, "", 0.5 if given is None else given / 100))
    return rows
