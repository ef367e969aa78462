"""Score what a tool found in a data set with ground truth."""

from typing import Any, NamedTuple

import numpy as np
from record_sets import SETS, Tables

Result = dict[str, Any]


class Scores(NamedTuple):
    """What a tool found in a data set."""

    found: int
    true: int
    all_true: int
    stated: float  # nan: it states no probabilities
    single: float  # F1, one to one; nan where records can have several matches
    best: float
    candidates: float  # nan: only its matches are known
    reached: float  # the share of the true pairs among the candidates
    seconds: float

    @classmethod
    def of(cls, result: Result, tables: Tables) -> "Scores | None":
        """Count what is true; None if the tool failed."""
        if "error" in result:
            return None
        with np.load(result["out"]) as saved:
            numbers, probability, matches = saved["numbers"], saved["probability"], saved["matches"]
            single = saved.get("single")
        true = np.isin(numbers, tables.truth)
        listed = len(numbers) > len(matches) or not np.isnan(probability).all()
        ranked = len(numbers) > 0 and not np.isnan(probability).any()
        if single is None and ranked and tables.right is not None and result["set"] in SETS:
            likely = np.isin(numbers, matches)
            single = numbers[likely][best_first(numbers[likely], probability[likely], tables.width)]
        return cls(
            len(matches),
            int(np.isin(matches, tables.truth).sum()),
            len(tables.truth),
            result["stated"],
            np.nan if single is None else f1(int(np.isin(single, tables.truth).sum()), len(single), len(tables.truth)),
            best_f1(probability, true, len(tables.truth)) if ranked else np.nan,
            len(numbers) if listed else np.nan,
            float(true.sum()) / len(tables.truth) if listed else np.nan,
            result["seconds"],
        )

    @property
    def quality(self) -> tuple[float, float, float]:
        """Precision (nan without matches), recall and F1."""
        precision = self.true / self.found if self.found else np.nan
        return precision, self.true / self.all_true, f1(self.true, self.found, self.all_true)

    def short(self) -> list[str]:
        """Return the cells of a list of names."""
        scores = [shown(one) for one in self.quality]
        stated = [number(self.stated), f"{self.true:,}"]
        return [
            f"{self.found:,}",
            *scores,
            *stated,
            number(self.candidates),
            shown(self.reached),
            f"{self.seconds:.2f} s",
        ]


def shown(share: float) -> str:
    """Return a share with four digits, or - for nan."""
    return "-" if np.isnan(share) else f"{share:.4f}"


def number(count: float) -> str:
    """Return a rounded number, or - for nan."""
    return "-" if np.isnan(count) else f"{count:,.0f}"


def f1(true: int, found: int, all_true: int) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * true / max(1, found + all_true)


def best_f1(rank: np.ndarray, true: np.ndarray, all_true: int) -> float:
    """Return the best F1 of any cut-off, which keeps or drops pairs of equal rank together."""
    order = np.argsort(-rank, kind="stable")
    last = np.append(np.diff(rank[order]) != 0, True)
    found = np.cumsum(true[order])
    return float((2 * found / (np.arange(1, len(rank) + 1) + all_true))[last].max())


def best_first(numbers: np.ndarray, rank: np.ndarray, width: int, many_to_one: bool = False) -> np.ndarray:
    """Choose pairs from the best rank down such that no record is in two; return their places.

    With `many_to_one`, a record of the first table can be in several.
    """
    used: tuple[set[int], set[int]] = (set(), set())
    chosen = []
    for place in np.lexsort((numbers, -rank)).tolist():
        left, right = divmod(int(numbers[place]), width)
        if (many_to_one or left not in used[0]) and right not in used[1]:
            used[0].add(left)
            used[1].add(right)
            chosen.append(place)
    return np.array(chosen, np.int64)


def quality(true: np.ndarray, all_true: int) -> list[str]:
    """Return precision, recall and F1, given which pairs are true."""
    found, hits = len(true), int(np.count_nonzero(true))
    return [shown(hits / found if found else np.nan), shown(hits / all_true), shown(f1(hits, found, all_true))]
