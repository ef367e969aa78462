"""Merge the records of each cluster into one, the golden record, by a rule for each column.

Every value of a golden record is the value of one of its records, as it is written there. So a rule
only puts the records of a cluster in order, and the first that has a value gives it:

    frequent        the value that most records have, case and punctuation aside; then as complete
    complete        the record with the fewest missing values
    first           the first record of the table
    longest         the value with the most characters
    newest:COLUMN   the record with the greatest value in COLUMN, such as a date; oldest: the least
    min, max        the least or the greatest value: of numbers, of dates, else of texts

What is equal by its rule stays in the order of the table. A missing value is null, empty or a word
that means missing ("n/a"), as for the fields that are compared.

By default a column is merged by `frequent`, and the id is the first record's. For the true clusters
of febrl3 (people with up to six copies), `frequent` returns 95.7% of the values of the original
records, `complete` 86.5%, `first` 85.4% and `longest` 80.6%; from the damaged copies alone, 87.7%,
78.0%, 78.5% and 74.3%.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, choice
from lookalike.core.wording import counted
from lookalike.entities.fields import as_days, as_numbers, normalise
from lookalike.entities.grouping import RecordClusters
from lookalike.entities.kinds import guess_kind
from lookalike.entities.stacking import Stacked, free
from lookalike.io.tables import is_binary, is_text, plain_type
from lookalike.results import Explanation, Result
from lookalike.results.explanations import ExplainedRows

RULES = ("frequent", "complete", "longest", "first", "newest", "oldest", "min", "max")
BY_COLUMN = ("newest", "oldest")
OF_RECORDS = ("complete", "first", *BY_COLUMN)  # compare records, not values, so they fit lists and bytes
DEFAULT = "frequent"
TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?(?: ?(?P<half>[AaPp])[Mm])?"
OTHERS = "*"  # stands for all columns that are not named


class GoldenRule(NamedTuple):
    """How to choose the value of a column: a name of RULES and, for newest and oldest, a column."""

    name: str
    column: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.column}" if self.column else self.name

    @classmethod
    def parse(cls, text: str, of: str) -> "GoldenRule":
        """Parse the rule of a column."""
        name, _, column = str(text).partition(":")
        choice(f"the rule for {of!r}", name, RULES)
        if bool(column) != (name in BY_COLUMN):
            how = f"{name}:COLUMN" if name in BY_COLUMN else name
            raise UsageError(f"the rule for {of!r} must be {how}; got {text!r}.")
        return cls(name, column)


def parse_rules(given: Sequence[str]) -> dict[str, str]:
    r"""Return the rule of each column from texts COLUMN=RULE; `\=` stands for = in a column's name.

    >>> parse_rules(["name=frequent", r"a\=b=newest:updated", "*=longest"])
    {'name': 'frequent', 'a=b': 'newest:updated', '*': 'longest'}
    """
    rules: dict[str, str] = {}
    for text in given:
        found = re.fullmatch(r"((?:[^=\\]|\\.)+)=(.+)", text)
        if found is None:
            raise UsageError(f"a rule for golden records must be COLUMN=RULE, such as name=frequent; got {text!r}.")
        column = re.sub(r"\\(.)", r"\1", found[1])
        if column in rules:
            raise UsageError(f"each column can have only one rule; got {column!r} twice.")
        GoldenRule.parse(found[2], column)
        rules[column] = found[2]
    return rules


def rules_of(records: Stacked, by: Mapping[str, str], id: str = "") -> dict[str, GoldenRule]:
    """Return the rule of each column, that of the id being first; raise an error for a column that is not there."""
    table = records.table
    others = GoldenRule.parse(by.get(OTHERS, DEFAULT), OTHERS)
    rules = {one.name: others if _fits(others, one.type) else GoldenRule("complete") for one in table.schema}
    rules |= {name: GoldenRule("first") for name in rules if name == id}
    for name, text in by.items():
        if name != OTHERS:
            rules[records.column(name, f"the rule {text!r}")] = GoldenRule.parse(text, name)
    for name, rule in rules.items():
        if rule.column:
            rule = rules[name] = GoldenRule(rule.name, records.column(rule.column, f"the rule {str(rule)!r}"))
        if not _fits(rule, table[name].type):
            allowed = ", ".join(OF_RECORDS)
            raise DataError(f"column {name!r} holds {table[name].type}, for which a rule must be one of {allowed}.")
        if rule.column and not _has_order(table[rule.column].type):
            raise DataError(f"column {rule.column!r} for the rule {str(rule)!r} holds {table[rule.column].type}.")
    return rules


def _fits(rule: GoldenRule, kind: pa.DataType) -> bool:
    return rule.name in OF_RECORDS or _has_order(kind)


def _has_order(kind: pa.DataType) -> bool:
    """Return whether values can be compared and written as texts."""
    plain = plain_type(kind)
    return not (pa.types.is_nested(plain) or is_binary(plain) or pa.types.is_interval(plain))


# --- the records of clusters in order ---


class Cells:
    """The values of a column in records of clusters, in the order of the table."""

    def __init__(self, column: pa.ChunkedArray, rows: np.ndarray) -> None:
        values = column.take(pa.array(rows))
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if not _has_order(column.type):
            self.missing = np.asarray(values.is_null())
            return
        coded = values.cast(plain_type(values.type)).dictionary_encode()
        texts = coded.dictionary.cast(pa.large_string())
        read = normalise(texts, "text").values if is_text(coded.dictionary.type) else texts
        lost = read.is_null() if read is not texts else pc.equal(texts, "nan")
        alike = read.dictionary_encode().indices.fill_null(-1)  # the same but for case and punctuation
        self.codes = np.asarray(coded.indices.fill_null(len(texts))).astype(np.int64)  # of each distinct value
        self.missing = np.append(np.asarray(lost), True)[self.codes]
        self.alike = np.append(np.asarray(alike), -1)[self.codes].astype(np.int64)
        self.length = np.append(np.asarray(pc.utf8_length(texts)), 0)[self.codes]


def ranks(name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers in the order of the values, which are dates, numbers or texts; nan where there is none."""
    kind = plain_type(column.type)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind) or pa.types.is_float16(kind):  # Arrow cannot rank them
        kind = pa.float32()
    column = column.cast(kind)
    by_value = pc.rank(column.combine_chunks(), sort_keys="ascending", tiebreaker="dense").to_numpy().astype(float)
    by_value[np.asarray(column.is_null())] = np.nan
    if pa.types.is_floating(kind):
        by_value[np.isnan(np.asarray(column, float))] = np.nan
    if not is_text(kind):
        return np.asarray(by_value)
    guessed = guess_kind(name, column)
    read = normalise(column, guessed if guessed in ("date", "number") else "text").values
    if guessed == "date":
        return np.asarray(as_days(read) + time_of_day(column.combine_chunks()))
    return as_numbers(read) if guessed == "number" else np.where(np.asarray(read.is_null()), np.nan, by_value)


def time_of_day(texts: pa.Array) -> np.ndarray:
    """Return the times in texts as shares of a day, 0 without a time.

    >>> time_of_day(pa.array(["2020-01-02T06:00:00Z", "1/2/2020 9:00 PM", "2020-01-02"])).tolist()
    [0.25, 0.875, 0.0]
    """
    found = pc.extract_regex(texts.cast(pa.string()), TIME)
    parts = [pc.struct_field(found, name).fill_null("") for name in ("hour", "minute", "second", "half")]
    hour, minute, second = (
        np.asarray(pc.if_else(pc.equal(part, ""), "0", part).cast(pa.float64())) for part in parts[:3]
    )
    half = np.asarray(pc.utf8_upper(parts[3]))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "P"))
    return np.asarray(hour / 24 + minute / 1440 + second / 86400)


def merge(records: Stacked, label: np.ndarray, rules: Mapping[str, GoldenRule]) -> dict[str, np.ndarray]:
    """Return for each column the positions of the records that give its values, cluster by cluster.

    `label` is the first record of each one's cluster. O(records * columns * log(records)).
    """
    firsts = np.flatnonzero(label == np.arange(len(label)))
    rows = np.flatnonzero(np.bincount(label, minlength=len(label))[label] > 1)
    groups = label[rows]
    cells = {name: Cells(records.table[name], rows) for name in records.table.column_names}
    lacking = np.sum([one.missing for one in cells.values()], axis=0)

    @cache
    def place(column: str) -> np.ndarray:
        return ranks(column, records.table[column])[rows]

    def keys(name: str, rule: GoldenRule) -> list[np.ndarray]:
        one = cells[name]
        if rule.name == "frequent":
            return [-tally(groups, one.alike), -tally(groups, one.codes), lacking]
        if rule.name == "longest":
            return [-one.length]
        if rule.name in ("newest", "oldest", "min", "max"):
            where = place(rule.column or name)
            return [where if rule.name in ("oldest", "min") else -where]
        return [lacking] if rule.name == "complete" else []

    sources = {}
    for name, rule in rules.items():
        order = np.lexsort((rows, *reversed(keys(name, rule)), cells[name].missing, groups))
        ordered = groups[order]
        best = order[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])]
        source = firsts.copy()
        source[np.searchsorted(firsts, groups[best])] = rows[best]
        sources[name] = source
    return sources


def tally(groups: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how often each code occurs in its group.

    >>> tally(np.array([0, 0, 0, 4]), np.array([7, 8, 7, 7])).tolist()
    [2, 1, 2, 1]
    """
    low = codes.min(initial=0)
    number = groups * (codes.max(initial=0) - low + 1) + codes - low
    _, where, counts = np.unique(number, return_inverse=True, return_counts=True)
    return np.asarray(counts[where])


# --- the result ---


@dataclass(frozen=True, eq=False)
class Golden(Result):
    """One record per person or thing: those of a cluster merged into one, all others as they are.

    >>> import lookalike as la
    >>> people = [("Ann Lee", "9 Elm Street"), ("Bill Smith", None), ("Smith, Bill", "3 Oak Rd")]
    >>> records = [{"name": name, "address": address, "phone": "555-0100"} for name, address in people]
    >>> found = la.entities.resolve(records, fields=["name=name", "phone"])
    >>> golden = found.golden(by={"name": "longest"})
    >>> golden
    <2 golden records of 3 records>
    """

    table: pa.Table
    sources: dict[str, np.ndarray]  # of each column: the record that gave each value
    rules: dict[str, GoldenRule]
    sizes: np.ndarray  # how many records were merged into each
    ids: pa.Array  # of all records
    stats: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'golden record')} of {counted(len(self.ids), 'record')}>"

    def _table(self, rows: Any) -> pa.Table:
        return self.table.take(pa.array(np.arange(len(self))[rows]))

    def to_arrow(self) -> pa.Table:
        """Return one row per person or thing, in the order of their first records.

        `cluster` is the id of the first record, `table` is left or right if there are two tables,
        and `records` counts what was merged; then all columns of the tables.
        """
        return super().to_arrow()

    def explain(self, row: int) -> Explanation:
        """Explain a golden record: which record each value comes from, and by which rule."""
        at = self._position(row)
        out = []
        for name, rule in self.rules.items():
            source = self.ids[int(self.sources[name][at])].as_py()
            out.append({"column": name, "value": self.table[name][at].as_py(), "from": source, "rule": str(rule)})
        return ExplainedRows(out)

    def lines(self) -> list[str]:
        """Describe in words how many records were merged."""
        merged = int(np.count_nonzero(self.sizes > 1))
        return [f"golden: {counted(len(self), 'record')} of {len(self.ids):,}; {merged:,} are merged from two or more"]


def golden(records: Stacked, clusters: RecordClusters, rules: Mapping[str, GoldenRule]) -> Golden:
    """Merge each cluster into one record, by the rule of each column."""
    sources = merge(records, clusters.label, rules)
    firsts = np.flatnonzero(clusters.label == np.arange(len(clusters.label)))
    first, sizes = pa.array(firsts), clusters.sizes[firsts]
    made = {"cluster": clusters.ids.take(first)}
    if clusters.sides.two:
        made["table"] = clusters.side_of(firsts)
    made["records"] = pa.array(sizes)
    columns = [*made.values(), *(records.table[name].take(pa.array(sources[name])) for name in rules)]
    table = pa.Table.from_arrays(columns, [*(free(name, rules) for name in made), *rules])
    return Golden(table, sources, dict(rules), sizes, clusters.ids, clusters.stats)
