"""Decide in which order to keep similar items: by rules, by columns of the inputs, or by given values.

An item is kept if no similar one comes before it in this order.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, UsageError, choice, warn
from lookalike.core.run import Run
from lookalike.io.documents import Source

RULES = ("lowest-id", "first", "longest")
MOST, LEAST = "max", "min"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


class Rule(NamedTuple):
    """One of RULES, or the name of a column and whether its greatest value comes first."""

    name: str
    greatest: bool = True

    @property
    def is_column(self) -> bool:
        """Return whether the rule is a column."""
        return self.name not in RULES


@dataclass(frozen=True)
class Keeping:
    """The rules, the first of which decides, and where they are needed the values of all items."""

    rules: tuple[Rule, ...]  # none if values are given
    columns: tuple[Any, ...] = ()  # the values of those rules that are columns, or the values given

    @classmethod
    def of(cls, keep: Any) -> "Keeping":
        """Parse what the user gave: one rule or several, or one value per item.

        >>> Keeping.of("score:max,date:min,longest").rules
        (Rule(name='score', greatest=True), Rule(name='date', greatest=False), Rule(name='longest', greatest=True))
        >>> Keeping.of([("score", "max")]) == Keeping.of("score")
        True
        """
        if isinstance(keep, str):
            rules = tuple(_rule(part.strip()) for part in keep.split(","))
            if not all(rule.name for rule in rules):
                raise UsageError(f"keep must be rules such as longest, score:max or date:min; got {keep!r}.")
            return cls(rules)
        if isinstance(keep, list | tuple) and len(keep) and all(_is_rule(part) for part in keep):
            return cls(tuple(Rule(name, direction == MOST) for name, direction in keep))
        return cls((), (keep,))

    def read(self, items: Any, run: Run) -> "Keeping":
        """Return the same with the columns, read from the inputs of the items."""
        named = [rule for rule in self.rules if rule.is_column]
        if not named:
            return self
        if not isinstance(items, Source) or not (_other_columns(items) or items.is_bare()):
            choice("keep", named[0].name, RULES)
        with run.stage("order"):
            columns = (sortable(items.column(rule.name, " to keep by", run), rule.name) for rule in named)
            return replace(self, columns=tuple(columns))

    def order(self, ids: pa.Array, lengths: np.ndarray) -> np.ndarray | None:
        """Return all items in the order in which to keep them; None if it is their own order.

        Ids decide between items that are alike in everything, so that the order of the input, which
        Spark does not know, makes no difference.
        """
        first = self.rules[0].name if self.rules else ""
        if first == "first" or (first == "lowest-id" and ascending(ids)):
            return None
        values = iter(self.columns)
        keys = [("value", "descending")] if not self.rules else []
        table = {"id": ids} if self.rules else {"value": as_values(next(values), len(ids)), "id": ids}
        for at, rule in enumerate(self.rules):
            if rule.name == "lowest-id":
                break
            ascend = rule.name == "first" or not rule.greatest
            keys.append((f"value{at}", "ascending" if ascend else "descending"))
            if rule.is_column:
                table[f"value{at}"] = as_values(next(values), len(ids))
            else:
                table[f"value{at}"] = pa.array(np.arange(len(ids)) if rule.name == "first" else lengths)
        places = pc.sort_indices(pa.table(table), sort_keys=[*keys, ("id", "ascending")])
        order: np.ndarray = places.to_numpy().astype(np.int64)
        return order


def _rule(written: str) -> Rule:
    """Return the rule that a text describes.

    >>> _rule("url:host"), _rule("score:min")
    (Rule(name='url:host', greatest=True), Rule(name='score', greatest=False))
    """
    name, _, direction = written.rpartition(":")
    return Rule(name, direction == MOST) if direction in (MOST, LEAST) and name else Rule(written)


def _is_rule(part: Any) -> bool:
    """Return whether a value is a rule such as ("score", "max")."""
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) and part[1] in (MOST, LEAST)


def _other_columns(source: Source) -> set[str]:
    """Return the names of the columns of a source besides the text."""
    return {*source.column_names()} - {*source.text_columns()}


def sortable(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as values that can be sorted; strings become numbers if all of them are, as in CSV.

    Empty strings are missing values: that is how CSV writes them.
    """
    if pa.types.is_nested(values.type):
        raise DataError(f"column {name!r} holds {values.type}, which has no order to keep the greatest by.")
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        present = pc.if_else(pc.equal(values, ""), None, values)
        try:
            return present.cast(pa.float64())
        except pa.ArrowInvalid:
            _warn_of_mixed(present, name)
            return present
    return values


def _warn_of_mixed(values: pa.ChunkedArray, name: str) -> None:
    """Warn if only some values are numbers: texts are in another order, in which 9 comes after 10."""
    numeric = pc.match_substring_regex(values, NUMBER)
    if pc.any(numeric).as_py():
        other = values.filter(pc.invert(numeric))[0].as_py()
        warn(f"not all values of column {name!r} are numbers ({other!r} is not), so they are compared as text.")


def as_values(given: Any, items: int) -> pa.Array | pa.ChunkedArray:
    """Return the values of a column, of which there must be one per item."""
    values = given if isinstance(given, pa.Array | pa.ChunkedArray) else pa.array(given)
    if pa.types.is_nested(values.type):
        raise TypeError
    if len(values) != items:
        raise DataError(f"keep must have a value for each of the {items:,} items; got {len(values):,}.")
    return values


def ascending(ids: pa.Array) -> bool:
    """Return whether each id is greater than the one before it."""
    return len(ids) < 2 or bool(pc.all(pc.less(ids.slice(0, len(ids) - 1), ids.slice(1))).as_py())


def last(order: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return the same order, but for these items, which come last.

    >>> last(np.array([3, 0, 2, 1]), np.array([0, 3]))
    array([2, 1, 3, 0])
    """
    later = np.isin(order, items, kind="table")
    return np.concatenate((order[~later], order[later]))


def first_members(centre: np.ndarray, order: np.ndarray, copies: int) -> np.ndarray:
    """Return which items are among the first `copies` of their group in an order.

    `centre` is the item that stands for each item's group. Items that are not in the order are
    alone in their groups.

    >>> first_members(np.array([0, 0, 2, 0]), np.array([0, 3, 1]), 2)
    array([ True, False,  True,  True])
    """
    kept: np.ndarray = centre == np.arange(len(centre))
    grouped = order[np.argsort(centre[order], kind="stable")]
    groups = centre[grouped]
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    rank = np.arange(len(grouped)) - np.repeat(starts, np.diff(np.append(starts, len(grouped))))
    kept[grouped[rank < copies]] = True
    return kept
