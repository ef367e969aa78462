"""Why two items are as similar as they are, in a form to print or to go through row by row."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SHOWN = 5  # elements or rows that a printed explanation lists


class Explanation(ABC):
    """Why a pair is as similar as it is. Print it, or iterate over its rows, which are dicts."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return what speaks for and against the pair, one dict per element, component or field."""

    def __len__(self) -> int:
        return len(self.rows())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __getitem__(self, row: int) -> dict[str, Any]:
        return self.rows()[row]

    def __str__(self) -> str:
        rows = [", ".join(f"{name} {_short(value)}" for name, value in row.items()) for row in self.rows()[:SHOWN]]
        more = len(self) - len(rows)
        return "\n".join([*rows, *([f"and {more:,} more"] if more else [])])


@dataclass(frozen=True)
class SharedElements(Explanation):
    """The elements that both items have, and those that only one of them has.

    The elements of texts are shingles that can be read. The elements of sets are those given, or hashes of them.
    """

    both: list[Any]
    left_only: list[Any]
    right_only: list[Any]
    bands: list[int] | None = None  # in which the two shared a bucket, counted from 0; None without bands
    weights: Mapping[Any, float] | None = None  # of the elements; None if all count the same

    @classmethod
    def of(cls, left: Iterable[Any], right: Iterable[Any]) -> "SharedElements":
        """Compare the elements of two items; bags come as Counters."""
        a, b = Counter(left), Counter(right)
        both, left_only, right_only = (sorted(part.elements()) for part in (a & b, a - b, b - a))
        return cls(both, left_only, right_only)

    @property
    def similarity(self) -> float:
        """Jaccard similarity: both / all, by their weights if they have any."""
        if self.weights is not None:
            shared = sum(self.weights[element] for element in self.both)
            apart = sum(self.weights[element] for element in [*self.left_only, *self.right_only])
            return shared / (shared + apart) if shared else 0.0
        return len(self.both) / max(1, len(self.both) + len(self.left_only) + len(self.right_only))

    def rows(self) -> list[dict[str, Any]]:
        parts = (("both", self.both), ("left only", self.left_only), ("right only", self.right_only))
        weights = self.weights
        if weights is not None:
            return [{"element": x, "in": where, "weight": weights[x]} for where, some in parts for x in some]
        return [{"element": element, "in": where} for where, elements in parts for element in elements]

    def __str__(self) -> str:
        parts = (("both", self.both), ("left only", self.left_only), ("right only", self.right_only))
        met = [] if self.bands is None else [f"shared bands: {', '.join(map(str, self.bands)) or 'none'}"]
        return "\n".join([*(f"{name}: {len(some):,}, such as {some[:SHOWN]}" for name, some in parts), *met])


@dataclass(frozen=True, eq=False)
class ComparedComponents(Explanation):
    """Two vectors, component by component; the rows begin with the largest difference."""

    left: np.ndarray
    right: np.ndarray

    def rows(self) -> list[dict[str, Any]]:
        apart = np.abs(self.left - self.right)
        order = np.argsort(-apart, kind="stable")
        columns = (order, self.left[order], self.right[order], apart[order])
        names = ("component", "left", "right", "difference")
        return [dict(zip(names, row, strict=True)) for row in zip(*(one.tolist() for one in columns), strict=True)]


@dataclass(frozen=True)
class ExplainedRows(Explanation):
    """An explanation whose rows were made with it, such as the fields of two records."""

    given: list[dict[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        return self.given


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
