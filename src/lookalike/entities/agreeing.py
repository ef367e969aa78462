"""Turn the points of pairs into levels: how well the values of each field agree.

Level 0 are values that differ, 1 and 2 those that agree somewhat or nearly. From SAME on they are the
same, and the level says how rare the value is (`Rarity`): two discs by "Various" have less in common
than two by an artist with three discs. The rarest values have the top level.

Two texts that both have a number which the other lacks differ, however similar they are: Vol. 2 and
Vol. 3, W810 and W830. In values that consist mostly of digits, a digit counts as any letter does.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.core.run import Run, slices
from lookalike.entities.fields import WORDS
from lookalike.entities.neighbours import ElementRows
from lookalike.entities.patterns import MISSING_LEVEL
from lookalike.entities.rarities import Rarity
from lookalike.entities.scores import FieldComparison
from lookalike.entities.whole import WeighedRows

LEVEL_POINTS = (40.0, 75.0, 99.0)  # the least points with which a field agrees somewhat, nearly, fully
SAME = len(LEVEL_POINTS)  # the first level of values that are the same
PAIRS_PER_TASK = 1 << 16
DIGITS = re.compile("[0-9]+")


class FieldLevels:
    """Fields, ready to say how well pairs of records agree in them."""

    def __init__(self, comparisons: Sequence[FieldComparison], rarities: Sequence[Rarity], run: Run) -> None:
        self.comparisons, self.rarities, self.run = comparisons, tuple(rarities), run
        self.classes = [one.classes(field.texts) for one, field in zip(rarities, comparisons, strict=True)]
        self.numbers = [numbers_of(field.texts, run) if field.forms.kind == "text" else None for field in comparisons]

    def levels(self, points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the levels of pairs (rows) in all fields (columns), given their points."""
        out = np.empty(points.shape, np.uint8)

        def work(part: slice) -> None:
            out[part] = self._levels(points[part], left[part], right[part])

        for _ in self.run.map(work, slices(len(points), PAIRS_PER_TASK)):
            pass
        return out

    def _levels(self, points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        out = levels_of(points)
        for at, field in enumerate(self.comparisons):
            levels, one, other = out[:, at], field.codes[left], field.codes[right]
            rows = np.flatnonzero(levels == SAME)
            classes = np.maximum(self.classes[at][one[rows]], self.classes[at][other[rows]])
            levels[rows] += (len(self.rarities[at].records) - 1 - classes).astype(np.uint8)
            if (numbers := self.numbers[at]) is not None:
                rows = np.flatnonzero((levels > 0) & (levels != MISSING_LEVEL) & (one != other))
                common = numbers.common(one[rows], other[rows])
                apart = (common < numbers.sums[one[rows]]) & (common < numbers.sums[other[rows]])
                levels[rows[apart]] = 0
        return out


def levels_of(points: np.ndarray) -> np.ndarray:
    """Return the levels by points alone, up to SAME."""
    levels: np.ndarray = np.searchsorted(LEVEL_POINTS, np.nan_to_num(points), side="right").astype(np.uint8)
    levels[np.isnan(points)] = MISSING_LEVEL
    return levels


def numbers_of(texts: np.ndarray, run: Run) -> WeighedRows:
    """Return the numbers in texts, each with weight 1."""
    rows = ElementRows.of(pa.array(map(numbers_in, texts.tolist()), pa.large_string()), run, (WORDS,))
    return WeighedRows.of(rows, np.ones(len(rows.weights)))


def numbers_in(text: str) -> str:
    """Return the numbers in a text, all of them different; none if most letters are digits.

    >>> numbers_in("vol 2 cd 02"), numbers_in("kx w810"), numbers_in("0151 496")
    ('2 2x1', '810', '')
    """
    found = DIGITS.findall(text)
    if 2 * sum(map(len, found)) > len(text):
        return ""
    seen: Counter[str] = Counter()
    words = []
    for number in found:
        value = number.lstrip("0")
        words.append(f"{value}x{seen[value]}" if seen[value] else value or "0")
        seen[value] += 1
    return " ".join(words)
