"""What a report is made of, whatever found it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.report.beside import Beside


@dataclass(frozen=True, eq=False)
class Values:
    """Pairs of positions with a value each, and what bounds them."""

    left: np.ndarray
    right: np.ndarray  # positions count on from the first of two collections through the second
    values: np.ndarray
    word: str  # what the values are, such as "Jaccard similarity"
    rising: bool = True  # whether greater ones are of pairs more alike
    cut: float | None = None  # the threshold
    cut_name: str = "threshold"
    probability: Callable[[np.ndarray], np.ndarray] | None = None  # of finding a pair of each value

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def within(self) -> np.ndarray:
        """Which pairs are within the threshold."""
        if self.cut is None:
            return np.ones(len(self), bool)
        inside: np.ndarray = self.values >= self.cut if self.rising else self.values <= self.cut
        return inside


@dataclass(frozen=True, eq=False)
class Finding:
    """What there is to tell of a result. Items go by their position; what cannot be told is left out."""

    title: str  # what was found, in a line
    ids: Sequence[pa.Array]  # of the one collection, or of each of two
    item: str = "item"  # what one of them is called
    made: str = ""  # the command that found it
    plan: Sequence[str] = ()  # what was asked and how it was done
    facts: Mapping[str, str] = field(default_factory=dict)  # what was read and found, by name
    recall: Sequence[str] = ()  # how much of all there is was found, in sentences
    advice: Sequence[str] = ()  # what to look at or to try next
    values: Values | None = None
    beside: Callable[[np.ndarray], Sequence[Beside | None]] | None = None  # pairs side by side, by their numbers
    label: np.ndarray | None = None  # of each item: the first of its group
    groups: str = "clusters"  # what the groups are called
    group_line: str = ""  # and what such a one is
    leads: str = "the first of them"  # what the item is that a group goes by
    look: Callable[[np.ndarray], Sequence[str]] | None = None  # what items at ascending positions are, in few words
    seconds: Mapping[str, float] = field(default_factory=dict)  # of each stage

    def names(self, positions: np.ndarray) -> list[Any]:
        """The ids of items."""
        split = len(self.ids[0])
        return [(self.ids[0][at] if at < split else self.ids[1][at - split]).as_py() for at in positions.tolist()]
