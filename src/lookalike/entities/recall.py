"""Estimate how many of the true matches are among the candidates, by capture and recapture.

Fields are like traps: each finds some matches, by an equal or a near value. Of the matches that
other fields find, a share r is found by this one, too. So it finds a share r of all matches, if
errors in one field do not depend on those in another, and a share (1 - r1) (1 - r2) ... is found by
no field. Some of these are found all the same, since the records as a whole are near each other.

A field that is missing in one of two records finds nothing, and that is no error. So matches are
counted apart by the fields that both records have, and r is the share of those with the field.

W. E. Ricker, Computation and Interpretation of Biological Statistics of Fish Populations (1975).
"""

from collections.abc import Sequence

import numpy as np

from lookalike.core.run import slices
from lookalike.core.storage import FILLED
from lookalike.entities.candidates import MOST_STAGES, Stage

LEAST_MATCHES = 20  # that two fields find, or the estimate is too uncertain
MOST_FIELDS = 62  # fields that can be missing, as bits; further ones count as present
MOST_UNCLEAR = 0.1  # the share of matches of which no present field can be compared with another


def estimated_recall(
    stages: Sequence[Stage], found_by: np.ndarray, probability: np.ndarray, names: Sequence[str] = (),
    points: np.ndarray | None = None,
) -> float | None:  # fmt: skip
    """Estimate the share of true matches that are candidates; None if the data do not show it.

    `found_by` has a bit per stage for each pair, 0 if it is no candidate; `probability` is that of being a match.
    `points` (pairs x fields, called `names`) are nan where a field is missing; by default all are present.
    At least two fields must find pairs, and at least LEAST_MATCHES matches must be found by two.
    Errors that come together, such as typing errors of one careless clerk, make the estimate too
    high.

    >>> stages = [Stage("same name", 80, 80, field="name"), Stage("same phone", 50, 10, field="phone")]
    >>> found_by = np.repeat(np.array([1, 2, 3], np.uint64), [40, 10, 40])
    >>> estimated_recall(stages, found_by, np.ones(90))  # 40 of 50 by name and 40 of 80 by phone
    0.9
    """
    ways, lacking, matches = totals(found_by, probability, points)
    by_field: dict[str, int] = {}
    for at, stage in enumerate(stages):
        if stage.field:
            by_field[stage.field] = by_field.get(stage.field, 0) | 1 << min(at, MOST_STAGES - 1)
    found = [ways & np.uint64(bits) > 0 for bits in by_field.values()]
    fields = np.sum(found, axis=0) if found else np.zeros(len(ways))
    if float(matches[fields >= 2].sum()) < LEAST_MATCHES:
        return None
    missed, clear = np.ones(len(ways)), np.zeros(len(ways), bool)
    places = {name: at for at, name in enumerate(names[:MOST_FIELDS])}
    for name, one in zip(by_field, found, strict=True):
        there = lacking & np.int64(1 << places[name]) == 0 if name in places else np.ones(len(ways), bool)
        others = float(matches[there & (fields - one >= 1)].sum())
        if others > 0:
            missed[there] *= 1 - min(1.0, float(matches[one & (fields >= 2)].sum()) / others)
            clear |= there
    clear &= missed < 1
    if float(matches[~clear].sum()) > MOST_UNCLEAR * float(matches.sum()):
        return None
    every = possible = 0.0
    for some in np.unique(lacking[clear]).tolist():
        same = clear & (lacking == some)
        here = float(matches[same].sum())
        every += here
        possible += max(here, float(matches[same & (fields > 0)].sum() / (1 - missed[same][0])))
    return every / possible if possible else None


def totals(
    found_by: np.ndarray, values: np.ndarray, points: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different values of `found_by` that are not 0, with the fields that are missing (as bits), and sums.

    >>> [some.tolist() for some in totals(np.array([1, 3, 0, 1], np.uint64), np.array([0.5, 1, 1, 0.25]))]
    [[1, 3], [0, 0], [0.75, 1.0]]
    """
    sums: dict[tuple[int, int], float] = {}
    for part in slices(len(found_by), FILLED):
        ways, way = np.unique(found_by[part], return_inverse=True)
        lacking = np.zeros(len(way), np.int64)
        for at, column in enumerate([] if points is None else points[part].T[:MOST_FIELDS]):
            lacking |= np.isnan(column).astype(np.int64) << at
        patterns, pattern = np.unique(lacking, return_inverse=True)
        sizes = np.bincount(way * len(patterns) + pattern, values[part], len(ways) * len(patterns))
        for number in np.flatnonzero(sizes).tolist():
            key = int(ways[number // len(patterns)]), int(patterns[number % len(patterns)])
            sums[key] = sums.get(key, 0.0) + float(sizes[number])
    kept = [key for key in sums if key[0]]
    found, missing = (np.array([key[at] for key in kept], kind) for at, kind in ((0, np.uint64), (1, np.int64)))
    return found, missing, np.array([sums[key] for key in kept], float)
