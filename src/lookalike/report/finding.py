"""Defines what every report is made of: a finding, and its pairs with their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.report.beside import Beside

FARTHEST = 1e300  # value that is drawn


@dataclass(frozen=True, eq=False)
class Values:
    """Pairs of positions with one value per pair, and their threshold."""

    left: np.ndarray
    right: np.ndarray  # the second of two collections is numbered on from the end of the first
    values: np.ndarray
    word: str  # what the values are, such as "Jaccard similarity"
    rising: bool = True  # whether a greater value means more similar
    cut: float | None = None  # the threshold
    cut_name: str = "threshold"
    probability: Callable[[np.ndarray], np.ndarray] | None = None  # of finding a pair with each value
    unlimited: bool = False  # whether a similarity can be above 1

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def within(self) -> np.ndarray:
        """For each pair, whether it is within the threshold."""
        if self.cut is None:
            return np.ones(len(self), bool)
        inside: np.ndarray = self.values >= self.cut if self.rising else self.values <= self.cut
        return inside

    @cached_property
    def drawn(self) -> np.ndarray:
        """The values, those near or beyond the largest number brought onto a scale that can be drawn."""
        whole = self.values.dtype.kind in "iu"
        return self.values if whole else np.clip(self.values, -FARTHEST, FARTHEST)


@dataclass(frozen=True, eq=False)
class Finding:
    """The contents of a report. Items are given by position; unknown parts are empty or None."""

    title: str  # what was found, in one line
    ids: Sequence[pa.Array]  # of the one collection, or of each of two
    item: str = "item"  # the word for one item
    made: str = ""  # the command that found it
    plan: Sequence[str] = ()  # what was asked and how it was done
    facts: Mapping[str, str] = field(default_factory=dict)  # what was read and found, by name
    recall: Sequence[str] = ()  # sentences on how much was found
    advice: Sequence[str] = ()  # what to look at or try next
    values: Values | None = None
    beside: Callable[[np.ndarray], Sequence[Beside | None]] | None = None  # shows pairs, given by number, side by side
    label: np.ndarray | None = None  # for each item, the first item of its group
    groups: str = "clusters"  # the word for the groups
    group_line: str = ""  # what a group is
    leads: str = "first:"  # introduces the item that names a group
    look: Callable[[np.ndarray], Sequence[str]] | None = None  # describes items at ascending positions in a few words
    seconds: Mapping[str, float] = field(default_factory=dict)  # per stage

    def names(self, positions: np.ndarray) -> list[Any]:
        """Return the ids of the items at these positions."""
        split = len(self.ids[0])
        return [(self.ids[0][at] if at < split else self.ids[1][at - split]).as_py() for at in positions.tolist()]
