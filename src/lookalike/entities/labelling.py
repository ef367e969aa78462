"""Choose the pairs whose labels say most, and keep the answers in a file.

A label says most where the probability is uncertain: the variance of the answer is p (1 - p). But if
only such pairs were chosen, nobody would notice that a model is sure and wrong. So a share EVEN of
the pairs is spread evenly over STRATA of probability.
"""

import csv
import errno
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.errors import LARGEST_SEED, DataError, whole
from lookalike.entities.labels import COLUMNS, ENOUGH
from lookalike.entities.resolution import Resolution
from lookalike.entities.scores import FULL_POINTS
from lookalike.report.beside import Stretch, pieces

STRATA = (1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 0.9999)  # where the next stratum of probability begins
EVEN = 0.4
HEADER = ",".join(COLUMNS)
DIFFERENT, NOTE = "different", "note"
LONGEST_HEAD = 200  # bytes of the first line of a file


def pairs_to_label(found: Resolution, count: int = ENOUGH, *, seed: int = 1) -> list[tuple[Any, Any]]:
    """Choose the scored pairs whose labels would correct the probabilities most.

    Args:
        found: the result of `resolve`; pairs that have a label there are not chosen.
        count: how many pairs to choose; fewer are returned if there are fewer.
        seed: the seed of the choice and of its order, which is random: the first answers alone are
            as good a sample as all of them.

    Returns:
        The ids of the pairs, left and right.

    >>> from lookalike.entities import resolve
    >>> people = [{"name": name, "town": "Ansel"} for name in ("Ann Lee", "Anne Lee", "Bob Ray")]
    >>> len(pairs_to_label(resolve(people, fields=["name=name", "town"]), 2))
    2
    """
    every = found.every or found
    rows = informative(every, whole("count", count), whole("seed", seed, least=0, most=LARGEST_SEED))
    return [ids_of_pair(every, row) for row in rows.tolist()]


def informative(every: Resolution, count: int, seed: int) -> np.ndarray:
    """Draw rows of scored pairs without a label, in random order; `every` is sorted by probability and score."""
    number = every.left * every.candidates.records + every.right + every.candidates.sides.offset
    rows = np.arange(len(every)) if every.labels is None else np.flatnonzero(~np.isin(number, every.labels.numbers))
    rng = np.random.default_rng(seed)
    return rng.permutation(rows[spread(usefulness(every.probability[rows]), min(count, len(rows)), rng)])


def usefulness(probability: np.ndarray) -> np.ndarray:
    """Return how often each pair is to be drawn: more often if it is uncertain; the sum is 1.

    >>> usefulness(np.array([0.5, 0.99, 1e-5, 1e-5])).round(3).tolist()
    [0.71, 0.156, 0.067, 0.067]
    """
    stratum = np.searchsorted(STRATA, probability, side="right")
    sizes = np.bincount(stratum)
    even = 1 / sizes[stratum] / len(np.unique(stratum))
    variance = np.asarray(probability * (1 - probability))
    return (1 - EVEN) * variance / np.sum(variance) + EVEN * even if variance.any() else even


def spread(weight: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `count` positions, each in proportion to its weight, and evenly along the whole.

    From a random start on, a position is drawn each time the sum of weights has grown by a step
    (systematic sampling). Positions that would be drawn twice leave draws to the others.

    >>> spread(np.array([9.0, 1, 1, 1, 1]), 3, np.random.default_rng(1)).tolist()
    [0, 2, 4]
    """
    if not count:
        return np.zeros(0, np.int64)
    sums: np.ndarray = np.cumsum(weight)
    steps = (rng.random() + np.arange(count)) * (sums[-1] / count)
    drawn = np.unique(np.searchsorted(sums[:-1], steps, side="right"))
    rest = np.delete(np.arange(len(weight)), drawn)
    return np.concatenate([drawn, rest[spread(weight[rest], count - len(drawn), rng)]])


# --- a pair to look at ---


class SideBySide(NamedTuple):
    """A value of two records side by side."""

    name: str
    left: str | None
    right: str | None
    same: bool | None = None  # None: not compared, or missing in one of them


def side_by_side(every: Resolution, row: int) -> list[SideBySide]:
    """Return the values of both records of a pair: the fields, then the other columns without the ids."""
    shown = [
        SideBySide(
            one["field"] if field.left == field.right else f"{field.left} / {field.right}",
            one["left"],
            one["right"],
            None if None in (one["left_compared"], one["right_compared"]) else one["points"] == FULL_POINTS,
        )
        for field, one in zip(every.fields, every.explain(row), strict=True)
    ]
    tables, ids = every.tables.tables, every.tables.id_columns
    places = int(every.left[row]), int(every.right[row])
    values: list[dict[str, str]] = []
    for side, used in enumerate(({one.left for one in every.fields}, {one.right for one in every.fields})):
        record = tables[-side].slice(places[side], 1).to_pylist()[0]
        skipped = {*used, ids[-side], None, ""}
        values.append({name: str(value) for name, value in record.items() if name not in skipped and value is not None})
    names = dict.fromkeys([*values[0], *values[1]])
    return [*shown, *(SideBySide(name, values[0].get(name), values[1].get(name)) for name in names)]


class ShownPart(NamedTuple):
    """A part of a value to show."""

    text: str
    style: str  # "", DIFFERENT for words that the other value lacks, or NOTE for what was left out


def in_parts(one: SideBySide) -> tuple[list[ShownPart], list[ShownPart]]:
    """Return both values in parts; long ones are cut. Nothing differs in values that count as the same.

    >>> [[part.text for part in side] for side in in_parts(SideBySide("name", "Ann M. Lee", "Lee, Ann M."))]
    [['Ann M. ', 'Lee'], ['Lee,', ' Ann M.']]
    """
    left, right = one.left or "", one.right or ""
    if one.same or None in (one.left, one.right):
        return parts(pieces(left, []), ""), parts(pieces(right, []), "")
    common = {word.casefold() for word in left.split()} & {word.casefold() for word in right.split()}
    return parts(pieces(left, shared(left, common)), DIFFERENT), parts(pieces(right, shared(right, common)), DIFFERENT)


def parts(found: Iterable[Stretch], other: str) -> list[ShownPart]:
    """Return pieces as parts; those in no passage have the style `other`."""
    return [ShownPart(piece.text, NOTE if piece.note else "" if piece.passages else other) for piece in found]


def shared(text: str, common: set[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the passages (start, end, 0) of a text without the words that are not common."""
    start = 0
    for word in re.finditer(r"\S+", text):
        if word[0].casefold() not in common:
            if start < word.start():
                yield start, word.start(), 0
            start = word.end()
    if start < len(text):
        yield start, len(text), 0


def ids_of_pair(every: Resolution, row: int) -> tuple[Any, Any]:
    """Return the ids of a pair, left and right."""
    left, right = _ids_of_pair(every, row)
    return left[0].as_py(), right[0].as_py()


def written_ids(every: Resolution, row: int) -> tuple[str, str]:
    """Return the ids of a pair as texts, as a file of labels has them."""
    left, right = (ids.cast(pa.large_string()) for ids in _ids_of_pair(every, row))
    return left[0].as_py(), right[0].as_py()


def _ids_of_pair(every: Resolution, row: int) -> tuple[pa.Array, pa.Array]:
    right_ids = every.ids if every.right_ids is None else every.right_ids
    return every.ids.slice(int(every.left[row]), 1), right_ids.slice(int(every.right[row]), 1)


# --- the file of answers ---


class LabelFile:
    """A CSV file of labels that grows by one line per answer, so that an interruption loses none.

    Lines are appended and flushed to the disk one at a time; `undo` removes those of this session.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.lines: list[tuple[int, int]] = []  # where the answers of this session begin and end
        head = HEADER
        if self.path.exists():
            if not os.access(self.path, os.W_OK):
                raise DataError(f"{path}: cannot be written: permission denied.")
            with open(self.path, "rb") as file:
                head = file.readline(LONGEST_HEAD).decode("utf-8-sig", "replace").strip()
        if head not in ("", HEADER):
            raise DataError(
                f"{path}: to add labels, the file must be CSV and begin with the line {HEADER}; got {head!r}."
            )

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, left: str, right: str, match: str) -> None:
        """Append an answer; if it cannot be written, the file stays as it was."""
        line = io.StringIO()
        csv.writer(line).writerow([left, right, match])  # ends in CR LF, so that ids with either are quoted
        with open(self.path, "a+b", buffering=0) as file:
            start = file.seek(0, os.SEEK_END)
            content = (needed_before(file, start) + line.getvalue().removesuffix("\r\n") + "\n").encode()
            try:
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(start)
                raise
        self.lines.append((start, start + len(content)))

    def undo(self) -> None:
        """Remove the last answer of this session."""
        start, end = self.lines[-1]
        with open(self.path, "r+b") as file:
            if file.seek(0, os.SEEK_END) != end:
                raise DataError(
                    f"{self.path}: the last answer cannot be removed: another program has changed the file."
                )
            file.truncate(start)
        self.lines.pop()


def needed_before(file: BinaryIO, size: int) -> str:
    """Return what a file of this size needs before a line: the header, or the end of its last line."""
    if not size:
        return f"{HEADER}\n"
    file.seek(size - 1)
    return "" if file.read(1) == b"\n" else "\n"
