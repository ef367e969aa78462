"""Correct probabilities by labels: pairs of which someone has said whether they are a match.

The log odds x of a pair become x + f(x) + g(s), where s is the share of all points that it scored.
The corrections f and g are curves through values at KNOTS and SCORE_KNOTS, by logistic regression
of the labels. Without labels they are 0; a Gaussian prior keeps them small and smooth until labels
say otherwise, so that a few labels cannot do harm.

Labelled pairs are no random sample: the most informative ones have a probability near 0.5. The
regression is conditional on x and s. Which pairs `labelling` chooses depends on the data only
through x and s, so the share of matches at given x and s is the same among labelled pairs as among
all, and labels need no weights. That would be wrong if the form of the model were: a straight line
fitted to doubtful pairs says little about sure ones. Curves bend where the labels want it.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.errors import DataError, argument, did_you_mean, one_column
from lookalike.core.run import Run
from lookalike.core.wording import counted
from lookalike.entities.probabilities import Probabilities
from lookalike.entities.reading import RecordTables
from lookalike.io.records import read_table
from lookalike.io.tables import is_text

COLUMNS = ("left", "right", "match")
ANSWERS = {"yes": 1.0, "no": 0.0, "unsure": np.nan}
ENOUGH = 50  # labels that turn a guess into an estimate
MOST_ODDS = 12.0  # log odds beyond it count as this
KNOTS = np.array([-12, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 8, 12])
SCORE_KNOTS = np.array([0, 0.25, 0.5, 0.65, 0.75, 0.85, 0.95, 1])
# The standard deviations of the prior, chosen by measurement: models that were learned from known
# matches have probabilities that are nearly true; those of a mixture can be far off.
SHIFT, TILT, BEND = 0.2, 0.07, 0.15  # of f: a constant, a multiple of x, and a smooth curve
LOOSE = 5.0  # times as much if the probabilities are only a guess
BEND_WIDTH, SCORE_WIDTH = 3.0, 0.25  # how far apart the values of a smooth curve can differ
BY_SCORE, BY_SCORE_OF_MIXTURE = 0.3, 3.0  # of g
STEPS = 100


@dataclass(frozen=True, eq=False)
class MatchLabels:
    """Pairs of records with an answer, each pair once, in ascending order."""

    left: np.ndarray  # positions of records, those of the second table following the first
    right: np.ndarray
    match: np.ndarray  # 1, 0, or nan where the answer is unsure
    records: int

    @property
    def numbers(self) -> np.ndarray:
        """Return the pairs as numbers left * records + right, ascending."""
        return np.asarray(self.left * self.records + self.right)


class Correction(NamedTuple):
    """What labels say on other pairs: the values of both curves at their knots."""

    by_odds: np.ndarray
    by_score: np.ndarray

    def apply(self, values: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Correct the probabilities of pairs, given the share of all points that each scored."""
        odds = log_odds(values)
        return probability(odds + np.interp(odds, KNOTS, self.by_odds) + np.interp(share, SCORE_KNOTS, self.by_score))

    def to_json(self) -> dict[str, Any]:
        """Return the curves as values that JSON can hold."""
        return {"by_odds": self.by_odds.tolist(), "by_score": self.by_score.tolist()}

    @classmethod
    def of_json(cls, facts: dict[str, Any]) -> Self:
        """Restore the curves."""
        curves = [np.array(facts[name], float) for name in cls._fields]
        if [len(one) for one in curves] != [len(KNOTS), len(SCORE_KNOTS)]:
            raise ValueError("the curves of labels have other knots")
        return cls(*curves)


# --- read ---


def read_labels(given: Any, tables: RecordTables, run: Run) -> MatchLabels:
    """Read a table or a file with the columns left, right (ids) and match (yes, no or unsure)."""
    table = read_table(given, "labels", run)
    for name in COLUMNS:
        one_column(table.schema.names, name, "the labels have", "")
    match = answers(table["match"])
    split = tables.sides.offset
    left = places(table["left"], tables.ids[0], "left", tables)
    right = places(table["right"], tables.ids[-1], "right", tables) + split
    if not tables.sides.two:
        left, right = np.minimum(left, right), np.maximum(left, right)
        if (left == right).any():
            row = int(np.argmax(left == right))
            raise DataError(f"labels must be of two records; row {row} has {table['left'][row].as_py()!r} twice.")
    records = sum(map(len, tables.ids))
    numbers, where = np.unique(left * records + right, return_inverse=True)
    said = [np.bincount(where, match == answer, len(numbers)) > 0 for answer in (1, 0)]
    if (both := said[0] & said[1]).any():
        first, last = np.flatnonzero(where == np.argmax(both))[[0, -1]].tolist()
        pair = " and ".join(repr(table[name][first].as_py()) for name in COLUMNS[:2])
        raise DataError(
            f"labels must not contradict each other; {pair} are a match by one row and none by another, of rows "
            f"{first} to {last}: remove one of them."
        )
    left, right = np.divmod(numbers, max(1, records))
    return MatchLabels(left, right, np.where(said[0], 1.0, np.where(said[1], 0.0, np.nan)), records)


def answers(column: pa.ChunkedArray) -> np.ndarray:
    """Return 1 for yes, 0 for no and nan for unsure."""
    texts = ["" if value is None else str(value).strip().lower() for value in column.to_pylist()]
    for row, text in enumerate(texts):
        if text not in ANSWERS:
            got = f"got {column[row].as_py()!r} in row {row}.{did_you_mean(text, ANSWERS) if text else ''}"
            raise DataError(f"labels must have yes, no or unsure in the column 'match'; {got}")
    return np.array([ANSWERS[text] for text in texts], float)


def places(column: pa.ChunkedArray, ids: pa.Array, side: str, tables: RecordTables) -> np.ndarray:
    """Return the position of each id, compared as text."""
    if pa.types.is_nested(column.type):
        raise DataError(f"column {side!r} of the labels holds {column.type}, which cannot be an id.")
    given = column.combine_chunks()
    if not is_text(given.type):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            given = given.cast(ids.type)  # so that equal values are written alike
    texts = given.cast(pa.large_string())
    found = pc.index_in(texts, value_set=ids.cast(pa.large_string()))
    if found.null_count or texts.null_count:
        row = int(np.argmax(np.asarray(pc.or_(found.is_null(), texts.is_null()))))
        where = tables.names[0 if side == "left" else -1]
        column_used = tables.id_columns[0 if side == "left" else -1]
        which = (
            f"column {column_used!r}" if column_used else f"row numbers; name another id column with {argument('id')}"
        )
        raise DataError(
            f"labels must have ids of the {where} in the column {side!r}; got {column[row].as_py()!r} in row {row}. "
            f"Its ids are {which}."
        )
    return np.asarray(found).astype(np.int64)


# --- the pairs of a run ---


def with_labelled(
    labels: MatchLabels, left: np.ndarray, right: np.ndarray, found_by: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs with those that are labelled as matches; what found none of these is 0."""
    numbers = left * labels.records + right
    missing = np.setdiff1d(labels.numbers[labels.match == 1], numbers)
    every = np.concatenate([numbers, missing])
    order = np.argsort(every, kind="stable")
    left, right = np.divmod(every[order], max(1, labels.records))
    return left, right, np.concatenate([found_by, np.zeros(len(missing), found_by.dtype)])[order]


def recalibrate(
    found: Probabilities,
    labels: MatchLabels,
    left: np.ndarray,
    right: np.ndarray,
    share: np.ndarray,
    candidate: np.ndarray,
) -> Probabilities:
    """Correct the probabilities of pairs, whose numbers ascend; labelled pairs get their label.

    `share` is the share of all points that a pair scored. Pairs that are no `candidate` are there
    because they are labelled, so they say nothing on others.
    """
    numbers = left * labels.records + right
    known = ~np.isnan(labels.match)
    at = np.searchsorted(numbers, labels.numbers[known])
    there = at < len(numbers)
    there[there] = numbers[at[there]] == labels.numbers[known][there]
    at, match = at[there], labels.match[known][there]
    used = candidate[at]
    values, used_count = found.values.copy(), int(np.count_nonzero(used))
    notes, basis, guess, correction = [*found.notes], found.basis, found.guess, found.correction
    if (match[used] == 0).any():
        odds = log_odds(values)
        spread = BY_SCORE if found.mixture is None else BY_SCORE_OF_MIXTURE
        loose = LOOSE if found.guess else 1.0
        correction = Correction(*fit(odds[at[used]], share[at[used]], match[used], spread, loose))
        values = correction.apply(values, share)
        basis = f"{basis}, recalibrated by {counted(used_count, 'label')}"
        guess = guess and used_count < ENOUGH
    elif used_count:
        notes.append("all labels of candidates are yes, as in a list of known matches: they say nothing on other pairs")
    values[at] = match
    return replace(found, values=values, basis=basis, guess=guess, notes=notes, correction=correction)


# --- fit ---


def log_odds(values: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)), at most MOST_ODDS in size.

    >>> log_odds(np.array([0, 0.5, 1])).tolist()
    [-12.0, 0.0, 12.0]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(values) - np.log1p(-values), -MOST_ODDS, MOST_ODDS))


def probability(odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds."""
    return np.asarray(1 / (1 + np.exp(-odds)))


def fit(
    odds: np.ndarray, share: np.ndarray, match: np.ndarray, by_score: float, loose: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of both curves at their knots that are most likely, given the labels.

    `by_score` is the standard deviation of the second curve; that of the first is `loose` times the
    usual.

    The curves are K z, where K is a root of the prior's covariance, so the prior of z is N(0, 1).
    Newton's method finds the z that maximises the logarithm of the posterior, which is concave; a
    step that leads down is halved.
    """
    bends = SHIFT**2 + TILT**2 * np.outer(KNOTS, KNOTS) + BEND**2 * smooth(KNOTS, BEND_WIDTH)
    roots = loose * np.linalg.cholesky(bends), np.linalg.cholesky(by_score**2 * smooth(SCORE_KNOTS, SCORE_WIDTH))
    rows = np.hstack([at_knots(odds, KNOTS) @ roots[0], at_knots(share, SCORE_KNOTS) @ roots[1]])
    z = np.zeros(rows.shape[1])

    def loss(z: np.ndarray) -> float:
        fitted = odds + rows @ z
        return float((np.logaddexp(0, fitted) - match * fitted).sum() + z @ z / 2)

    now = loss(z)
    for _ in range(STEPS):
        p = probability(odds + rows @ z)
        hessian = (rows * (p * (1 - p))[:, None]).T @ rows + np.eye(len(z))
        step = np.linalg.solve(hessian, rows.T @ (match - p) - z)
        while (after := loss(z + step)) > now and np.abs(step).max() > 1e-9:
            step /= 2
        z, gain, now = z + step, now - after, after
        if gain < 1e-9:
            break
    return roots[0] @ z[: len(KNOTS)], roots[1] @ z[len(KNOTS) :]


def smooth(knots: np.ndarray, width: float) -> np.ndarray:
    """Return the correlations of a smooth curve's values at some knots."""
    apart = (knots[:, None] - knots) / width
    return np.asarray(np.exp(-(apart**2) / 2) + 1e-6 * np.eye(len(knots)))


def at_knots(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return how much the value of a curve at each knot counts at each value: one row per value.

    >>> at_knots(np.array([0.25, 2]), np.array([0, 1, 2])).tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]
    """
    return np.column_stack([np.interp(values, knots, one) for one in np.eye(len(knots))])
