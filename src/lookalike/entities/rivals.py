"""Compare the log odds of each pair with those of its rivals: the evidence of the second round.

After the first round each pair has log odds, which weigh everything that was measured of it. They
say more about a rival than its nearness does: a candidate that shares many words, but not the year,
is no rival. So the leads are measured again, in log odds. A record with a match in sight leaves
little to its other candidates.

Pairs that the first round finds very unlikely (FAR) take no part in the second one, except as
rivals.
"""

from typing import NamedTuple, Self

import numpy as np

from lookalike.kernels.overlaps import two_best

MOST_ODDS = 12.0  # log odds beyond it count as this
FAR = -6.0  # the least log odds of a pair in the second round
MOST_MATCHES = 3.0  # expected of a record's other candidates; more count as this

# What is measured of each pair, in addition to that of the first round.
RIVALRY = (
    "odds", "odds above 0",
    "lead in odds for left", "odds of the rival for left above 0", "matches expected of left elsewhere",
    "lead in odds for right", "odds of the rival for right above 0", "matches expected of right elsewhere",
    "smaller lead in odds", "larger lead in odds", "smaller lead in odds above 0",
)  # fmt: skip


class Rivalry(NamedTuple):
    """The log odds of all pairs, the two best of each record, and the matches expected of it."""

    left: np.ndarray
    right: np.ndarray
    odds: np.ndarray
    best: np.ndarray
    second: np.ndarray
    expected: np.ndarray

    @classmethod
    def of(
        cls, left: np.ndarray, right: np.ndarray, odds: np.ndarray, records: int, once: np.ndarray | slice = slice(None)
    ) -> Self:
        """Let the pairs of each record compete, of some only those in `once`; log odds are within MOST_ODDS."""
        runners = left[once], right[once], odds[once]
        likely = logistic(runners[2])
        expected = sum(np.bincount(side, likely, records) for side in runners[:2])
        best, second = two_best(*runners, records)
        return cls(left, right, odds, best, second, np.asarray(expected))

    def near(self) -> np.ndarray:
        """Return the pairs of the second round."""
        return np.flatnonzero(self.odds >= FAR)

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Return RIVALRY (columns) of some pairs (rows)."""
        odds = self.odds[rows]
        columns, leads = [odds, np.maximum(0, odds)], []
        for records in (self.left[rows], self.right[rows]):
            rival = np.where(odds >= self.best[records], self.second[records], self.best[records])
            rival = np.maximum(rival, -MOST_ODDS)
            leads.append(odds - rival)
            elsewhere = np.minimum(self.expected[records] - logistic(odds), MOST_MATCHES)
            columns += [leads[-1], np.maximum(0, rival), elsewhere]
        smaller, larger = np.minimum(*leads), np.maximum(*leads)
        return np.column_stack([*columns, smaller, larger, np.maximum(0, smaller)])


def logistic(odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of log odds.

    >>> logistic(np.array([0.0, 2e3, -2e3])).tolist()
    [0.5, 1.0, 0.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-odds)))
