"""What all results share: their values, the items they are of, and how they are shown."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import UsageError
from lookalike.items.shingles import Shingles

if TYPE_CHECKING:
    pass

SHOWN = 10  # rows of a table in a notebook


class Reportable:
    """A result, which a page can show."""

    stats: dict[str, Any]

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write a page of HTML that shows the result, how it was found, and what to make of it."""
        from lookalike.report import finding_of, write_report  # loaded only when a page is asked for

        write_report(finding_of(self), path, title)


class Measured(Reportable):
    """Results that hold a measure: `values`, which are similarities or distances as `kind` says."""

    values: np.ndarray
    kind: str

    @property
    def similarity(self) -> np.ndarray:
        """The similarities, if the measure is one."""
        return self._of("similarity")

    @property
    def distance(self) -> np.ndarray:
        """The distances, if the measure is one."""
        return self._of("distance")

    def _of(self, kind: str) -> np.ndarray:
        if self.kind != kind:
            raise UsageError(f"the measure is a {self.kind}, not a {kind}.")
        return self.values


@dataclass(frozen=True)
class Explanation:
    """Why a pair is as similar as it is: the elements that both have and that one of them has.

    Of texts the elements are shingles one can read; of sets they are those that were given, or hashes of them.
    """

    both: list[Any]
    left_only: list[Any]
    right_only: list[Any]
    bands: list[int] | None = None  # in which the two shared a bucket, counted from 0; None if there were none

    @property
    def similarity(self) -> float:
        """Jaccard similarity: both / all."""
        return len(self.both) / max(1, len(self.both) + len(self.left_only) + len(self.right_only))

    @classmethod
    def of(cls, left: Iterable[Any], right: Iterable[Any]) -> "Explanation":
        """From the elements of the two items; bags as Counters."""
        a, b = Counter(left), Counter(right)
        return cls(*(sorted(part.elements()) for part in (a & b, a - b, b - a)))

    def __str__(self) -> str:
        parts = (("both", self.both), ("left only", self.left_only), ("right only", self.right_only))
        met = [] if self.bands is None else [f"met in bands: {', '.join(map(str, self.bands)) or 'none'}"]
        return "\n".join([*(f"{name}: {len(some):,} such as {some[:5]}" for name, some in parts), *met])


class Holder(ABC):
    """Whatever holds the items of a result, so that they can be looked at."""

    shingles: Shingles | None = None  # of texts, what they are compared by

    @abstractmethod
    def look(self, rows: np.ndarray) -> list[Any]:
        """What the items at ascending positions are: texts, collections of elements, or vectors."""

    def elements(self, item: Any) -> Iterable[Any]:
        """What an item is made of, as `look` gives it: the shingles of a text, or the elements themselves."""
        return item if self.shingles is None else self.shingles.of(item)

    def explain(self, left: int, right: int) -> Explanation:
        """What two items share, and what each has alone."""
        rows = np.unique([left, right])
        items = dict(zip(rows.tolist(), self.look(rows), strict=True))
        return Explanation.of(*(self.elements(items[row]) for row in (left, right)))
