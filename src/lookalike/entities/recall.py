"""Estimate how many of the true matches are among the candidates, by capture and recapture.

Fields are like traps: each finds some matches, by an equal or a near value. Of the matches that
other fields find, a share r is found by this one, too. So it finds a share r of all matches, if
errors in one field do not depend on those in another, and a share (1 - r1) (1 - r2) ... is found by
no field. Some of these are found all the same, since the records as a whole are near each other.

W. E. Ricker, Computation and Interpretation of Biological Statistics of Fish Populations (1975).
"""

from collections.abc import Sequence

import numpy as np

from lookalike.core.run import slices
from lookalike.core.storage import FILLED
from lookalike.entities.candidates import MOST_STAGES, Stage

LEAST_MATCHES = 20  # that two fields find, or the estimate is too uncertain


def estimated_recall(stages: Sequence[Stage], found_by: np.ndarray, probability: np.ndarray) -> float | None:
    """Estimate the share of true matches that are candidates; None if the data do not show it.

    `found_by` has a bit per stage for each pair, 0 if it is no candidate; `probability` is that of being a match.
    At least two fields must find pairs, and at least LEAST_MATCHES matches must be found by two.
    Errors that come together, such as a record whose fields are all missing, make the estimate too
    high.

    >>> stages = [Stage("same name", 80, 80, field="name"), Stage("same phone", 50, 10, field="phone")]
    >>> found_by = np.repeat(np.array([1, 2, 3], np.uint64), [40, 10, 40])
    >>> estimated_recall(stages, found_by, np.ones(90))  # 40 of 50 by name and 40 of 80 by phone
    0.9
    """
    found_by, probability = totals(found_by, probability)
    by_field: dict[str, int] = {}
    for at, stage in enumerate(stages):
        if stage.field:
            by_field[stage.field] = by_field.get(stage.field, 0) | 1 << min(at, MOST_STAGES - 1)
    found = [found_by & np.uint64(bits) > 0 for bits in by_field.values()]
    fields = np.sum(found, axis=0) if found else np.zeros(len(found_by))
    if float(probability[fields >= 2].sum()) < LEAST_MATCHES:
        return None
    missed = 1.0  # share of all matches
    for one in found:
        others = probability[fields - one >= 1]
        missed *= 1 - float(probability[one & (fields >= 2)].sum()) / max(float(others.sum()), 1e-9)
    by_fields, every = float(probability[fields > 0].sum()), float(probability.sum())
    return min(1.0, every * (1 - missed) / by_fields) if missed < 1 else None


def totals(found_by: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different values of `found_by` that are not 0, and the sum of the values of each.

    >>> [some.tolist() for some in totals(np.array([1, 3, 0, 1], np.uint64), np.array([0.5, 1, 1, 0.25]))]
    [[1, 3], [0.75, 1.0]]
    """
    sums: dict[int, float] = {}
    for part in slices(len(found_by), FILLED):
        ways, place = np.unique(found_by[part], return_inverse=True)
        for way, total in zip(ways.tolist(), np.bincount(place, values[part], len(ways)).tolist(), strict=True):
            sums[way] = sums.get(way, 0.0) + total
    sums.pop(0, None)
    return np.array([*sums], np.uint64), np.array([*sums.values()], float)
